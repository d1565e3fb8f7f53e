// RUN: frit-opt %s --split-input-file --verify-diagnostics --print-cuda -o /dev/null

// A schedule that no kernel could have is refused by the parser; one that does
// not fit its fusion, by emission.

// expected-error@+1 {{'vector' must be 1, 2, 4 or 8}}
#vector = #cuda.map<vector = 3, threads = 64>

// -----

// expected-error@+1 {{'threads' must be a multiple of 32 of at most 1024}}
#threads = #cuda.generic<threads = 100>

// -----

// expected-error@+1 {{'team' must be a power of two of at most 32, or `threads`}}
#team = #cuda.row<team = 48, per_thread = 4, vector = 4, threads = 128>

// -----

// expected-error@+1 {{'tile_m' must be 64, 128 or 192}}
#tile = #cuda.wgmma_gemm<tile_m = 96, tile_n = 64, stages = 4>

// -----

// expected-error@+1 {{'fallback' must be the schedule of a kernel}}
#library = #cuda.cublas_gemm<fallback = 7 : i64>

// -----

func.func @count(%x: tensor<6xf32>) {
  // expected-error@+1 {{has no CUDA kernel: its number of elements is not a multiple of the vector width (schedule #cuda.map<vector = 4, threads = 64>)}}
  %0 = nn.fusion(%x) schedule(#cuda.map<vector = 4, threads = 64>) : (tensor<6xf32>) -> tensor<6xf32> {
  ^bb0(%a: tensor<6xf32>):
    %1 = nn.relu %a : (tensor<6xf32>) -> tensor<6xf32>
    nn.yield %1 : tensor<6xf32>
  }
  return
}

// -----

func.func @long(%x: tensor<8x512xf32>) {
  // expected-error@+1 {{has no CUDA kernel: its rows are longer than what a team keeps}}
  %0 = nn.fusion(%x) schedule(#cuda.row<team = 32, per_thread = 4, vector = 4, threads = 128>) : (tensor<8x512xf32>) -> tensor<8x1xf32> {
  ^bb0(%a: tensor<8x512xf32>):
    %1 = nn.reduce %a {kind = #nn<combiner sum>, axes = array<i64: 1>} : (tensor<8x512xf32>) -> tensor<8x1xf32>
    nn.yield %1 : tensor<8x1xf32>
  }
  return
}

// -----

func.func @other(%x: tensor<8xf32>) {
  // expected-error@+1 {{has no schedule of a CUDA kernel}}
  %0 = nn.fusion(%x) schedule(#cpu.loops) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %1 = nn.relu %a : (tensor<8xf32>) -> tensor<8xf32>
    nn.yield %1 : tensor<8xf32>
  }
  return
}
