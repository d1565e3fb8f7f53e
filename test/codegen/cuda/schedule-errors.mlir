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

// expected-error@+1 {{'threads' must be 8 times `team`}}
#width = #cuda.column_shared<team = 32, vector = 8, threads = 512, occupancy = 2>

// -----

// expected-error@+1 {{'joint' must be false unless `per_thread` is 0}}
#joint = #cuda.column<team = 8, per_thread = 13, vector = 2, threads = 256, joint = true>

// -----

// expected-error@+1 {{'tile_m' must be 64, 128 or 192}}
#tile = #cuda.wgmma_gemm<tile_m = 96, tile_n = 64, stages = 4>

// -----

// expected-error@+1 {{'blocks' must be a multiple of `cluster`}}
#cluster = #cuda.wgmma_gemm<tile_m = 128, tile_n = 128, stages = 4, cluster = 2, blocks = 131>

// -----

// expected-error@+1 {{'cluster' must be 1 if `split` is 8}}
#both = #cuda.wgmma_gemm<tile_m = 64, tile_n = 128, stages = 4, cluster = 2, split = 8>

// -----

// expected-error@+1 {{'blocks' must be 0 unless `split` is 1}}
#split = #cuda.wgmma_conv<tile_m = 64, tile_n = 128, stages = 4, split = 2, blocks = 66>

// -----

// The warpgroups hold two stages while they wait for a third.
// expected-error@+1 {{'stages' must be from 3 to 8}}
#gradient = #cuda.wgmma_attention_gradient<stages = 2>

// -----

// expected-error@+1 {{'blocks' must be from 0 to 65536}}
#attention = #cuda.wgmma_attention<tile_m = 128, tile_n = 128, stages = 2, blocks = -1>

// -----

// expected-error@+1 {{'blocks' must be from 0 to 65536}}
#convs = #cuda.conv_b2b<warpgroups = 2, stages = 6, slots = 4, columns = 128, blocks = 4611686018427387904>

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

// -----

// expected-error@+1 {{'vector' must be 1, 2, 4 or 8}}
#zero = #cuda.row<team = 32, per_thread = 4, vector = 0, threads = 128>

// -----

// expected-error@+1 {{'stages' must be from 2 to 64}}
#stages = #cuda.wgmma_gemm<tile_m = 128, tile_n = 128, stages = 4611686018427387904>

// -----

// expected-error@+1 {{'width' must be no multiple of 8}}
#width = #cuda.transpose_flat<length = 64, width = 8, load_vector = 1, store_vector = 1, tall = true>

// -----

// One pass reads the columns, so that shared memory would gain nothing.
func.func @column_shared(%x: tensor<4x256x64xf16>) {
  // expected-error@+1 {{has no CUDA kernel: its columns cannot be kept in shared memory (schedule #cuda.column_shared<}}
  %0 = nn.fusion(%x) schedule(#cuda.column_shared<team = 32, vector = 8, threads = 256, occupancy = 4>) : (tensor<4x256x64xf16>) -> tensor<4x1x64xf16> {
  ^bb0(%a: tensor<4x256x64xf16>):
    %1 = nn.reduce %a {kind = #nn<combiner max>, axes = array<i64: 1>} : (tensor<4x256x64xf16>) -> tensor<4x1x64xf16>
    nn.yield %1 : tensor<4x1x64xf16>
  }
  return
}

// -----

func.func @column_joint(%x: tensor<4x100x96xf16>) {
  // expected-error@+1 {{has no CUDA kernel: one pass over its columns cannot compute it (schedule #cuda.column<}}
  %0 = nn.fusion(%x) schedule(#cuda.column<team = 4, vector = 4, threads = 128, joint = true>) : (tensor<4x100x96xf16>) -> tensor<4x100x96xf16> {
  ^bb0(%a: tensor<4x100x96xf16>):
    %1 = nn.reduce %a {kind = #nn<combiner max>, axes = array<i64: 1>} : (tensor<4x100x96xf16>) -> tensor<4x1x96xf16>
    %2 = nn.sub %a, %1 : (tensor<4x100x96xf16>, tensor<4x1x96xf16>) -> tensor<4x100x96xf16>
    nn.yield %2 : tensor<4x100x96xf16>
  }
  return
}

// -----

func.func @bytes(%x: tensor<64x90xi8>) {
  // expected-error@+1 {{has no CUDA kernel: it moves no bytes in whole vectors (schedule #cuda.transpose_bytes<}}
  %0 = nn.fusion(%x) schedule(#cuda.transpose_bytes<occupancy = 4>) : (tensor<64x90xi8>) -> tensor<90x64xi8> {
  ^bb0(%a: tensor<64x90xi8>):
    %1 = nn.transpose %a {perm = array<i64: 1, 0>} : (tensor<64x90xi8>) -> tensor<90x64xi8>
    nn.yield %1 : tensor<90x64xi8>
  }
  return
}

// -----

// expected-error@+1 {{'occupancy' must be from 1 to 8}}
#blocks = #cuda.transpose_bytes<occupancy = 9>

// -----

func.func @words(%x: tensor<64x95xf16>) {
  // expected-error@+1 {{has no CUDA kernel: its tile does not consist of such words (schedule #cuda.transpose<}}
  %0 = nn.fusion(%x) schedule(#cuda.transpose<tile_rows = 64, tile_cols = 64, load_vector = 1, store_vector = 8, word = 2>) : (tensor<64x95xf16>) -> tensor<95x64xf16> {
  ^bb0(%a: tensor<64x95xf16>):
    %1 = nn.transpose %a {perm = array<i64: 1, 0>} : (tensor<64x95xf16>) -> tensor<95x64xf16>
    nn.yield %1 : tensor<95x64xf16>
  }
  return
}

// -----

#rows = #nn.custom<name = "com.example::Rows", types = ["T", "T"],
                   variables = {T = [f16]},
                   device = <name = "rows_kernel", path = "rows.cu", text = "// the file">>

func.func @user(%x: tensor<4x8xf16>) {
  // expected-error@+1 {{has no CUDA kernel: it contains an operator that other skeletons compute (schedule #cuda.map<threads = 64>)}}
  %0:2 = nn.fusion(%x) schedule(#cuda.map<threads = 64>) : (tensor<4x8xf16>) -> (tensor<4x8xf16>, tensor<64xi8>) {
  ^bb0(%a: tensor<4x8xf16>):
    %y:2 = nn.custom %a {custom = #rows, constants = [], grid = array<i64: 4, 1, 1>, block = array<i64: 32, 1, 1>, shared_bytes = 16 : i64, workspace} : (tensor<4x8xf16>) -> (tensor<4x8xf16>, tensor<64xi8>)
    nn.yield %y#0, %y#1 : tensor<4x8xf16>, tensor<64xi8>
  }
  return
}

// -----

func.func @whole(%x: tensor<4096x16x2xf32>) {
  // expected-error@+1 {{has no CUDA kernel: it contains an operator that other skeletons compute}}
  %0 = nn.fusion(%x) schedule(#cuda.map<threads = 64>) : (tensor<4096x16x2xf32>) -> tensor<4096x1x2xf32> {
  ^bb0(%a: tensor<4096x16x2xf32>):
    %1 = nn.merge_moments %a {width = 64 : si64} : (tensor<4096x16x2xf32>) -> tensor<4096x1x2xf32>
    nn.yield %1 : tensor<4096x1x2xf32>
  }
  return
}

// -----

func.func @blocks(%x: tensor<512x768xf16>, %w: tensor<768x3072xf16>) {
  // expected-error@+1 {{has no CUDA kernel: it has more blocks than tiles (schedule #cuda.wgmma_gemm<}}
  %0 = nn.fusion(%x, %w) schedule(#cuda.wgmma_gemm<tile_m = 128, tile_n = 128, stages = 4, blocks = 97>) : (tensor<512x768xf16>, tensor<768x3072xf16>) -> tensor<512x3072xf16> {
  ^bb0(%a: tensor<512x768xf16>, %b: tensor<768x3072xf16>):
    %y = nn.matmul %a, %b : (tensor<512x768xf16>, tensor<768x3072xf16>) -> tensor<512x3072xf16>
    nn.yield %y : tensor<512x3072xf16>
  }
  return
}

// -----

// expected-error@+1 {{'tile_m' must be 8 if `rows_per_warp` is}}
#columns = #cuda.attention<tile_m = 16, tile_n = 32, splits = 4, rows_per_warp = 8>

// -----

// expected-error@+1 {{'stages' must be from 1 to 4}}
#held = #cuda.attention<tile_m = 16, tile_n = 32, splits = 4, rows_per_warp = 16, stages = 5>

// -----

func.func @attention_columns(%x: tensor<2x8x256x64xf32>) {
  // expected-error@+1 {{has no CUDA kernel: its queries are no columns of products (schedule #cuda.attention<}}
  %0 = nn.fusion(%x) schedule(#cuda.attention<tile_m = 8, tile_n = 32, splits = 4, rows_per_warp = 8>) : (tensor<2x8x256x64xf32>) -> tensor<2x8x256x64xf32> {
  ^bb0(%a: tensor<2x8x256x64xf32>):
    %y = nn.attention %a, %a, %a {scale = 0.125 : f32} : (tensor<2x8x256x64xf32>, tensor<2x8x256x64xf32>, tensor<2x8x256x64xf32>) -> tensor<2x8x256x64xf32>
    nn.yield %y : tensor<2x8x256x64xf32>
  }
  return
}

// -----

func.func @attention_blocks(%x: tensor<2x8x256x64xf16>) {
  // expected-error@+1 {{has no CUDA kernel: it has more blocks than tiles (schedule #cuda.wgmma_attention<}}
  %0 = nn.fusion(%x) schedule(#cuda.wgmma_attention<tile_m = 128, tile_n = 128, stages = 2, blocks = 33>) : (tensor<2x8x256x64xf16>) -> tensor<2x8x256x64xf16> {
  ^bb0(%a: tensor<2x8x256x64xf16>):
    %y = nn.attention %a, %a, %a {scale = 0.125 : f32} : (tensor<2x8x256x64xf16>, tensor<2x8x256x64xf16>, tensor<2x8x256x64xf16>) -> tensor<2x8x256x64xf16>
    nn.yield %y : tensor<2x8x256x64xf16>
  }
  return
}

// -----

func.func @gradient_result(%x: tensor<2x8x256x64xf16>, %s: tensor<2x8x256xf32>) {
  // expected-error@+1 {{has no CUDA kernel: it has no sums of y · dy (schedule #cuda.wgmma_attention_gradient<}}
  %0 = nn.fusion(%x, %s) schedule(#cuda.wgmma_attention_gradient<stages = 6>) : (tensor<2x8x256x64xf16>, tensor<2x8x256xf32>) -> tensor<2x256x24x64xf16> {
  ^bb0(%a: tensor<2x8x256x64xf16>, %b: tensor<2x8x256xf32>):
    %g = nn.attention_grad %a, %a, %a, %a, %a, %b {scale = 0.125 : f32} : (tensor<2x8x256x64xf16>, tensor<2x8x256x64xf16>, tensor<2x8x256x64xf16>, tensor<2x8x256x64xf16>, tensor<2x8x256x64xf16>, tensor<2x8x256xf32>) -> tensor<2x256x24x64xf16>
    nn.yield %g : tensor<2x256x24x64xf16>
  }
  return
}

// -----

func.func @gradient_size(%x: tensor<2x8x256x32xf16>, %s: tensor<2x8x256xf32>) {
  // expected-error@+1 {{has no CUDA kernel: WGMMA computes gradients of 16-bit attention with heads of 40 to 64 elements and masks of all keys, or ranges of them (schedule #cuda.wgmma_attention_gradient<}}
  %0 = nn.fusion(%x, %s) schedule(#cuda.wgmma_attention_gradient<stages = 6>) : (tensor<2x8x256x32xf16>, tensor<2x8x256xf32>) -> tensor<2x256x24x32xf16> {
  ^bb0(%a: tensor<2x8x256x32xf16>, %b: tensor<2x8x256xf32>):
    %g = nn.attention_grad %a, %a, %a, %b, %a, %b {scale = 0.125 : f32} : (tensor<2x8x256x32xf16>, tensor<2x8x256x32xf16>, tensor<2x8x256x32xf16>, tensor<2x8x256xf32>, tensor<2x8x256x32xf16>, tensor<2x8x256xf32>) -> tensor<2x256x24x32xf16>
    nn.yield %g : tensor<2x256x24x32xf16>
  }
  return
}

// -----

func.func @gradient_sums(%x: tensor<2x2x24x64xf16>, %s: tensor<2x2x24xf32>) {
  // expected-error@+1 {{has no CUDA kernel: it sums columns in parts that are not 16 queries (schedule #cuda.wgmma_attention_gradient<}}
  %0:2 = nn.fusion(%x, %s) schedule(#cuda.wgmma_attention_gradient<stages = 6>) : (tensor<2x2x24x64xf16>, tensor<2x2x24xf32>) -> (tensor<2x24x6x64xf16>, tensor<3x384xf32>) {
  ^bb0(%c: tensor<2x2x24x64xf16>, %d: tensor<2x2x24xf32>):
    %g = nn.attention_grad %c, %c, %c, %d, %c, %d {scale = 0.125 : f32} : (tensor<2x2x24x64xf16>, tensor<2x2x24x64xf16>, tensor<2x2x24x64xf16>, tensor<2x2x24xf32>, tensor<2x2x24x64xf16>, tensor<2x2x24xf32>) -> tensor<2x24x6x64xf16>
    %r = nn.reshape %g {shape = array<i64: 48, 384>} : (tensor<2x24x6x64xf16>) -> tensor<48x384xf16>
    %p = nn.column_sums %r {height = 16 : si64} : (tensor<48x384xf16>) -> tensor<3x384xf32>
    nn.yield %g, %p : tensor<2x24x6x64xf16>, tensor<3x384xf32>
  }
  return
}

// -----

func.func @conv_b2b_blocks(%x: tensor<8x56x56x64xf16>, %v: tensor<64x3x3x64xf16>, %w: tensor<256x1x1x64xf16>) {
  // expected-error@+1 {{has no CUDA kernel: it has more blocks than tiles (schedule #cuda.conv_b2b<}}
  %0 = nn.fusion(%x, %v, %w) schedule(#cuda.conv_b2b<warpgroups = 2, stages = 6, slots = 4, columns = 128, blocks = 449>) : (tensor<8x56x56x64xf16>, tensor<64x3x3x64xf16>, tensor<256x1x1x64xf16>) -> tensor<8x56x56x256xf16> {
  ^bb0(%a: tensor<8x56x56x64xf16>, %b: tensor<64x3x3x64xf16>, %c: tensor<256x1x1x64xf16>):
    %1 = nn.conv %a, %b {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, channels_last} : (tensor<8x56x56x64xf16>, tensor<64x3x3x64xf16>) -> tensor<8x56x56x64xf16>
    %2 = nn.conv %1, %c {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, channels_last} : (tensor<8x56x56x64xf16>, tensor<256x1x1x64xf16>) -> tensor<8x56x56x256xf16>
    nn.yield %2 : tensor<8x56x56x256xf16>
  }
  return
}

// -----

func.func @wgmma_f32(%x: tensor<64x64xf32>, %y: tensor<64x64xf32>) {
  // expected-error@+1 {{has no CUDA kernel: WGMMA multiplies 16-bit floats of one type (schedule #cuda.wgmma_gemm<}}
  %0 = nn.fusion(%x, %y) schedule(#cuda.wgmma_gemm<tile_m = 64, tile_n = 64, stages = 4>) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>):
    %m = nn.matmul %a, %b : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    nn.yield %m : tensor<64x64xf32>
  }
  return
}

// -----

func.func @wgmma_rows(%x: tensor<64x60xf16>, %y: tensor<60x64xf16>) {
  // expected-error@+1 {{has no CUDA kernel: rows of its operands do not begin at multiples of 16 bytes (schedule #cuda.wgmma_gemm<}}
  %0 = nn.fusion(%x, %y) schedule(#cuda.wgmma_gemm<tile_m = 64, tile_n = 64, stages = 4>) : (tensor<64x60xf16>, tensor<60x64xf16>) -> tensor<64x64xf16> {
  ^bb0(%a: tensor<64x60xf16>, %b: tensor<60x64xf16>):
    %m = nn.matmul %a, %b : (tensor<64x60xf16>, tensor<60x64xf16>) -> tensor<64x64xf16>
    nn.yield %m : tensor<64x64xf16>
  }
  return
}

// -----

func.func @wgmma_dots(%x: tensor<64x64xf16>, %y: tensor<64x64xf16>, %w: tensor<64x64xf16>) {
  // expected-error@+1 {{has no CUDA kernel: its parts are none that the kernels reduce (schedule #cuda.wgmma_gemm<}}
  %0:2 = nn.fusion(%x, %y, %w) schedule(#cuda.wgmma_gemm<tile_m = 64, tile_n = 64, stages = 4>) : (tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf16>) -> (tensor<64x64xf16>, tensor<64x2xf32>) {
  ^bb0(%a: tensor<64x64xf16>, %b: tensor<64x64xf16>, %c: tensor<64x64xf16>):
    %m = nn.matmul %a, %b : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16>
    %s = nn.row_dots %m, %c {width = 32 : si64} : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x2xf32>
    nn.yield %m, %s : tensor<64x64xf16>, tensor<64x2xf32>
  }
  return
}

// -----

func.func @wgmma_two_operands(%x: tensor<64x64xf16>, %y: tensor<64x64xf16>, %w: tensor<64x64xf16>, %u: tensor<64x64xf16>) {
  // expected-error@+1 {{has no CUDA kernel: it has both a residual and a factor (schedule #cuda.wgmma_gemm<}}
  %0:2 = nn.fusion(%x, %y, %w, %u) schedule(#cuda.wgmma_gemm<tile_m = 64, tile_n = 64, stages = 4>) : (tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf16>) -> (tensor<64x64xf16>, tensor<64x1xf32>) {
  ^bb0(%a: tensor<64x64xf16>, %b: tensor<64x64xf16>, %c: tensor<64x64xf16>, %d: tensor<64x64xf16>):
    %m = nn.matmul %a, %b : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16>
    %r = nn.add %m, %d : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16>
    %s = nn.row_dots %r, %c {width = 64 : si64} : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x1xf32>
    nn.yield %r, %s : tensor<64x64xf16>, tensor<64x1xf32>
  }
  return
}

// -----

func.func @wgmma_odd_sums(%x: tensor<64x64xf16>, %y: tensor<63x64xf16>) {
  // expected-error@+1 {{has no CUDA kernel: it sums an odd number of columns (schedule #cuda.wgmma_gemm<}}
  %0:2 = nn.fusion(%x, %y) schedule(#cuda.wgmma_gemm<tile_m = 64, tile_n = 64, stages = 4>) : (tensor<64x64xf16>, tensor<63x64xf16>) -> (tensor<64x63xf16>, tensor<4x63xf32>) {
  ^bb0(%a: tensor<64x64xf16>, %b: tensor<63x64xf16>):
    %m = nn.matmul %a, %b {transpose_b} : (tensor<64x64xf16>, tensor<63x64xf16>) -> tensor<64x63xf16>
    %s = nn.column_sums %m {height = 16 : si64} : (tensor<64x63xf16>) -> tensor<4x63xf32>
    nn.yield %m, %s : tensor<64x63xf16>, tensor<4x63xf32>
  }
  return
}

// -----

func.func @wgmma_batches(%x: tensor<2x64x64xf16>, %y: tensor<2x64x64xf16>) {
  // expected-error@+1 {{has no CUDA kernel: it reduces several matrices (schedule #cuda.wgmma_gemm<}}
  %0:2 = nn.fusion(%x, %y) schedule(#cuda.wgmma_gemm<tile_m = 64, tile_n = 64, stages = 4>) : (tensor<2x64x64xf16>, tensor<2x64x64xf16>) -> (tensor<2x64x64xf16>, tensor<8x64xf32>) {
  ^bb0(%a: tensor<2x64x64xf16>, %b: tensor<2x64x64xf16>):
    %m = nn.matmul %a, %b : (tensor<2x64x64xf16>, tensor<2x64x64xf16>) -> tensor<2x64x64xf16>
    %s = nn.column_sums %m {height = 16 : si64} : (tensor<2x64x64xf16>) -> tensor<8x64xf32>
    nn.yield %m, %s : tensor<2x64x64xf16>, tensor<8x64xf32>
  }
  return
}

// -----

func.func @wgmma_two_results(%x: tensor<64x64xf16>, %y: tensor<60x64xf16>) {
  // expected-error@+1 {{has no CUDA kernel: rows of its second result are no multiple of 16 bytes (schedule #cuda.wgmma_gemm<}}
  %0:2 = nn.fusion(%x, %y) schedule(#cuda.wgmma_gemm<tile_m = 64, tile_n = 64, stages = 4>) : (tensor<64x64xf16>, tensor<60x64xf16>) -> (tensor<64x60xf16>, tensor<64x60xf16>) {
  ^bb0(%a: tensor<64x64xf16>, %b: tensor<60x64xf16>):
    %m = nn.matmul %a, %b {transpose_b} : (tensor<64x64xf16>, tensor<60x64xf16>) -> tensor<64x60xf16>
    %g = nn.gelu %m : (tensor<64x60xf16>) -> tensor<64x60xf16>
    nn.yield %g, %m : tensor<64x60xf16>, tensor<64x60xf16>
  }
  return
}

// -----

func.func @wgmma_second_beside_residual(%x: tensor<64x64xf16>, %y: tensor<64x64xf16>, %w: tensor<64x64xf16>) {
  // expected-error@+1 {{has no CUDA kernel: it has both a residual and a second result (schedule #cuda.wgmma_gemm<}}
  %0:2 = nn.fusion(%x, %y, %w) schedule(#cuda.wgmma_gemm<tile_m = 64, tile_n = 64, stages = 4>) : (tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf16>) -> (tensor<64x64xf16>, tensor<64x64xf16>) {
  ^bb0(%a: tensor<64x64xf16>, %b: tensor<64x64xf16>, %c: tensor<64x64xf16>):
    %m = nn.matmul %a, %b : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16>
    %r = nn.add %m, %c : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16>
    %g = nn.gelu %r : (tensor<64x64xf16>) -> tensor<64x64xf16>
    nn.yield %g, %r : tensor<64x64xf16>, tensor<64x64xf16>
  }
  return
}

// -----

func.func @wgmma_no_conv(%x: tensor<64x64xf16>, %y: tensor<64x64xf16>) {
  // expected-error@+1 {{has no CUDA kernel: nn.matmul comes before the contraction (schedule #cuda.wgmma_conv<}}
  %0 = nn.fusion(%x, %y) schedule(#cuda.wgmma_conv<tile_m = 64, tile_n = 64, stages = 4>) : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16> {
  ^bb0(%a: tensor<64x64xf16>, %b: tensor<64x64xf16>):
    %m = nn.matmul %a, %b : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16>
    nn.yield %m : tensor<64x64xf16>
  }
  return
}

// -----

func.func @wgmma_conv_channels(%x: tensor<1x8x8x4xf16>, %w: tensor<64x3x3x4xf16>) {
  // expected-error@+1 {{has no CUDA kernel: TMA reads channels that are last, in one group and a multiple of 8 (schedule #cuda.wgmma_conv<}}
  %0 = nn.fusion(%x, %w) schedule(#cuda.wgmma_conv<tile_m = 64, tile_n = 64, stages = 4>) : (tensor<1x8x8x4xf16>, tensor<64x3x3x4xf16>) -> tensor<1x8x8x64xf16> {
  ^bb0(%a: tensor<1x8x8x4xf16>, %b: tensor<64x3x3x4xf16>):
    %m = nn.conv %a, %b {channels_last, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x8x8x4xf16>, tensor<64x3x3x4xf16>) -> tensor<1x8x8x64xf16>
    nn.yield %m : tensor<1x8x8x64xf16>
  }
  return
}

// -----

func.func @wgmma_conv_points(%x: tensor<1x8x8x64xf16>, %w: tensor<64x1x1x64xf16>) {
  // expected-error@+1 {{has no CUDA kernel: it is a product: use #cuda.wgmma_gemm (schedule #cuda.wgmma_conv<}}
  %0 = nn.fusion(%x, %w) schedule(#cuda.wgmma_conv<tile_m = 64, tile_n = 64, stages = 4>) : (tensor<1x8x8x64xf16>, tensor<64x1x1x64xf16>) -> tensor<1x8x8x64xf16> {
  ^bb0(%a: tensor<1x8x8x64xf16>, %b: tensor<64x1x1x64xf16>):
    %m = nn.conv %a, %b {channels_last, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x8x8x64xf16>, tensor<64x1x1x64xf16>) -> tensor<1x8x8x64xf16>
    nn.yield %m : tensor<1x8x8x64xf16>
  }
  return
}

// -----

func.func @wgmma_conv_strides(%x: tensor<1x90x90x64xf16>, %w: tensor<64x1x1x64xf16>) {
  // expected-error@+1 {{has no CUDA kernel: its windows or strides are too large for TMA (schedule #cuda.wgmma_conv<}}
  %0 = nn.fusion(%x, %w) schedule(#cuda.wgmma_conv<tile_m = 64, tile_n = 64, stages = 4>) : (tensor<1x90x90x64xf16>, tensor<64x1x1x64xf16>) -> tensor<1x10x10x64xf16> {
  ^bb0(%a: tensor<1x90x90x64xf16>, %b: tensor<64x1x1x64xf16>):
    %m = nn.conv %a, %b {channels_last, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 9, 9>} : (tensor<1x90x90x64xf16>, tensor<64x1x1x64xf16>) -> tensor<1x10x10x64xf16>
    nn.yield %m : tensor<1x10x10x64xf16>
  }
  return
}

// -----

func.func @wgmma_gemm_of_windows(%x: tensor<1x8x8x64xf16>, %w: tensor<64x3x3x64xf16>) {
  // expected-error@+1 {{has no CUDA kernel: it is no product, nor a pointwise convolution (schedule #cuda.wgmma_gemm<}}
  %0 = nn.fusion(%x, %w) schedule(#cuda.wgmma_gemm<tile_m = 64, tile_n = 64, stages = 4>) : (tensor<1x8x8x64xf16>, tensor<64x3x3x64xf16>) -> tensor<1x8x8x64xf16> {
  ^bb0(%a: tensor<1x8x8x64xf16>, %b: tensor<64x3x3x64xf16>):
    %m = nn.conv %a, %b {channels_last, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x8x8x64xf16>, tensor<64x3x3x64xf16>) -> tensor<1x8x8x64xf16>
    nn.yield %m : tensor<1x8x8x64xf16>
  }
  return
}

// -----

func.func @wgmma_norm_parts(%x: tensor<64x64xf16>, %y: tensor<64x64xf16>, %w: tensor<64x6x2xf32>, %u: tensor<64xf32>, %v: tensor<64xf16>) {
  // expected-error@+1 {{has no CUDA kernel: lanes cannot share the moments of a row equally (schedule #cuda.wgmma_gemm<}}
  %0 = nn.fusion(%x, %y, %w, %u, %v) schedule(#cuda.wgmma_gemm<tile_m = 64, tile_n = 64, stages = 4>) : (tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x6x2xf32>, tensor<64xf32>, tensor<64xf16>) -> tensor<64x64xf16> {
  ^bb0(%a: tensor<64x64xf16>, %b: tensor<64x64xf16>, %c: tensor<64x6x2xf32>, %d: tensor<64xf32>, %e: tensor<64xf16>):
    %m = nn.matmul %a, %b : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16>
    %n = nn.normalize_product %m, %c, %d, %e {width = 64 : si64, epsilon = 1.0e-05 : f32} : (tensor<64x64xf16>, tensor<64x6x2xf32>, tensor<64xf32>, tensor<64xf16>) -> tensor<64x64xf16>
    nn.yield %n : tensor<64x64xf16>
  }
  return
}

// -----

func.func @wgmma_norm_batches(%x: tensor<2x64x64xf16>, %y: tensor<2x64x64xf16>, %w: tensor<2x64x4x2xf32>, %u: tensor<64xf32>, %v: tensor<64xf16>) {
  // expected-error@+1 {{has no CUDA kernel: it normalizes rows of several matrices (schedule #cuda.wgmma_gemm<}}
  %0 = nn.fusion(%x, %y, %w, %u, %v) schedule(#cuda.wgmma_gemm<tile_m = 64, tile_n = 64, stages = 4>) : (tensor<2x64x64xf16>, tensor<2x64x64xf16>, tensor<2x64x4x2xf32>, tensor<64xf32>, tensor<64xf16>) -> tensor<2x64x64xf16> {
  ^bb0(%a: tensor<2x64x64xf16>, %b: tensor<2x64x64xf16>, %c: tensor<2x64x4x2xf32>, %d: tensor<64xf32>, %e: tensor<64xf16>):
    %m = nn.matmul %a, %b : (tensor<2x64x64xf16>, tensor<2x64x64xf16>) -> tensor<2x64x64xf16>
    %n = nn.normalize_product %m, %c, %d, %e {width = 64 : si64, epsilon = 1.0e-05 : f32} : (tensor<2x64x64xf16>, tensor<2x64x4x2xf32>, tensor<64xf32>, tensor<64xf16>) -> tensor<2x64x64xf16>
    nn.yield %n : tensor<2x64x64xf16>
  }
  return
}

// -----

func.func @wgmma_two_batches(%x: tensor<2x64x64xf16>, %y: tensor<2x64x64xf16>) {
  // expected-error@+1 {{has no CUDA kernel: it stores two results of several matrices (schedule #cuda.wgmma_gemm<}}
  %0:2 = nn.fusion(%x, %y) schedule(#cuda.wgmma_gemm<tile_m = 64, tile_n = 64, stages = 4>) : (tensor<2x64x64xf16>, tensor<2x64x64xf16>) -> (tensor<2x64x64xf16>, tensor<2x64x64xf16>) {
  ^bb0(%a: tensor<2x64x64xf16>, %b: tensor<2x64x64xf16>):
    %m = nn.matmul %a, %b : (tensor<2x64x64xf16>, tensor<2x64x64xf16>) -> tensor<2x64x64xf16>
    %g = nn.gelu %m : (tensor<2x64x64xf16>) -> tensor<2x64x64xf16>
    nn.yield %g, %m : tensor<2x64x64xf16>, tensor<2x64x64xf16>
  }
  return
}

// -----

func.func @wgmma_conv_sums(%x: tensor<1x8x8x64xf16>, %y: tensor<64x3x3x64xf16>) {
  // expected-error@+1 {{has no CUDA kernel: of a convolution only moments of columns are taken (schedule #cuda.wgmma_conv<}}
  %0:2 = nn.fusion(%x, %y) schedule(#cuda.wgmma_conv<tile_m = 64, tile_n = 64, stages = 4>) : (tensor<1x8x8x64xf16>, tensor<64x3x3x64xf16>) -> (tensor<1x8x8x64xf16>, tensor<4x64xf32>) {
  ^bb0(%a: tensor<1x8x8x64xf16>, %b: tensor<64x3x3x64xf16>):
    %m = nn.conv %a, %b {channels_last, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x8x8x64xf16>, tensor<64x3x3x64xf16>) -> tensor<1x8x8x64xf16>
    %s = nn.column_sums %m {height = 16 : si64} : (tensor<1x8x8x64xf16>) -> tensor<4x64xf32>
    nn.yield %m, %s : tensor<1x8x8x64xf16>, tensor<4x64xf32>
  }
  return
}

// -----

func.func @wgmma_conv_results(%x: tensor<1x8x8x64xf16>, %y: tensor<64x3x3x64xf16>) {
  // expected-error@+1 {{has no CUDA kernel: a convolution has one result (schedule #cuda.wgmma_conv<}}
  %0:2 = nn.fusion(%x, %y) schedule(#cuda.wgmma_conv<tile_m = 64, tile_n = 64, stages = 4>) : (tensor<1x8x8x64xf16>, tensor<64x3x3x64xf16>) -> (tensor<1x8x8x64xf16>, tensor<1x8x8x64xf16>) {
  ^bb0(%a: tensor<1x8x8x64xf16>, %b: tensor<64x3x3x64xf16>):
    %m = nn.conv %a, %b {channels_last, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x8x8x64xf16>, tensor<64x3x3x64xf16>) -> tensor<1x8x8x64xf16>
    %g = nn.gelu %m : (tensor<1x8x8x64xf16>) -> tensor<1x8x8x64xf16>
    nn.yield %g, %m : tensor<1x8x8x64xf16>, tensor<1x8x8x64xf16>
  }
  return
}

// -----

func.func @wgmma_conv_few_channels(%x: tensor<1x9x9x16xf16>, %y: tensor<64x2x2x16xf16>, %w: tensor<1x8x8x16xf16>, %u: tensor<64x1x1x16xf16>) {
  // expected-error@+1 {{has no CUDA kernel: two convolutions of few channels are added (schedule #cuda.wgmma_conv<}}
  %0 = nn.fusion(%x, %y, %w, %u) schedule(#cuda.wgmma_conv<tile_m = 64, tile_n = 64, stages = 4>) : (tensor<1x9x9x16xf16>, tensor<64x2x2x16xf16>, tensor<1x8x8x16xf16>, tensor<64x1x1x16xf16>) -> tensor<1x8x8x64xf16> {
  ^bb0(%a: tensor<1x9x9x16xf16>, %b: tensor<64x2x2x16xf16>, %c: tensor<1x8x8x16xf16>, %d: tensor<64x1x1x16xf16>):
    %m = nn.conv %a, %b {channels_last, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x9x9x16xf16>, tensor<64x2x2x16xf16>) -> tensor<1x8x8x64xf16>
    %n = nn.conv %c, %d {channels_last, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x8x8x16xf16>, tensor<64x1x1x16xf16>) -> tensor<1x8x8x64xf16>
    %s = nn.add %m, %n : (tensor<1x8x8x64xf16>, tensor<1x8x8x64xf16>) -> tensor<1x8x8x64xf16>
    nn.yield %s : tensor<1x8x8x64xf16>
  }
  return
}

// -----

func.func @wgmma_conv_moments_of_sum(%x: tensor<1x8x8x64xf16>, %y: tensor<64x3x3x64xf16>, %w: tensor<1x8x8x64xf16>, %u: tensor<64x1x1x64xf16>) {
  // expected-error@+1 {{has no CUDA kernel: it reduces a sum of two convolutions (schedule #cuda.wgmma_conv<}}
  %0:2 = nn.fusion(%x, %y, %w, %u) schedule(#cuda.wgmma_conv<tile_m = 64, tile_n = 64, stages = 4>) : (tensor<1x8x8x64xf16>, tensor<64x3x3x64xf16>, tensor<1x8x8x64xf16>, tensor<64x1x1x64xf16>) -> (tensor<1x8x8x64xf16>, tensor<2x1x64xf32>) {
  ^bb0(%a: tensor<1x8x8x64xf16>, %b: tensor<64x3x3x64xf16>, %c: tensor<1x8x8x64xf16>, %d: tensor<64x1x1x64xf16>):
    %m = nn.conv %a, %b {channels_last, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x8x8x64xf16>, tensor<64x3x3x64xf16>) -> tensor<1x8x8x64xf16>
    %n = nn.conv %c, %d {channels_last, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x8x8x64xf16>, tensor<64x1x1x64xf16>) -> tensor<1x8x8x64xf16>
    %s = nn.add %m, %n : (tensor<1x8x8x64xf16>, tensor<1x8x8x64xf16>) -> tensor<1x8x8x64xf16>
    %t = nn.column_moments %s {height = 64 : si64} : (tensor<1x8x8x64xf16>) -> tensor<2x1x64xf32>
    nn.yield %s, %t : tensor<1x8x8x64xf16>, tensor<2x1x64xf32>
  }
  return
}

// -----

// expected-error@+1 {{'warp_n' must be 16, 32 or 64, at most `tile_n`}}
#bytes = #cuda.integer_gemm<tile_m = 64, tile_n = 32, warp_m = 32, warp_n = 64, depth = 64, stages = 3>

// -----

// expected-error@+1 {{'split' must be a power of 2 up to `depth` / 32}}
#bytes = #cuda.integer_gemm<tile_m = 64, tile_n = 32, warp_m = 32, warp_n = 32, depth = 64, stages = 3, split = 4>

// -----

// expected-error@+1 {{'cluster' must be 1, 2, 4 or 8}}
#bytes = #cuda.integer_gemm<tile_m = 64, tile_n = 32, warp_m = 32, warp_n = 32, depth = 64, stages = 3, cluster = 3>

// -----

// expected-error@+1 {{'depth' must be 128 with `wgmma`}}
#bytes = #cuda.integer_gemm<tile_m = 64, tile_n = 32, warp_m = 16, warp_n = 32, depth = 64, stages = 3, wgmma = true>

// -----

func.func @bytes_shared(%x: tensor<64x64xi8>, %z: tensor<i8>) {
  // expected-error@+1 {{has no CUDA kernel: its stages need more shared memory than a block has (schedule #cuda.integer_gemm<}}
  %0 = nn.fusion(%x, %z) schedule(#cuda.integer_gemm<tile_m = 128, tile_n = 128, warp_m = 64, warp_n = 64, depth = 128, stages = 8>) : (tensor<64x64xi8>, tensor<i8>) -> tensor<64x64xi32> {
  ^bb0(%a: tensor<64x64xi8>, %c: tensor<i8>):
    %1 = nn.quantized_conv %a, %a, %c, %c {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<64x64xi8>, tensor<64x64xi8>, tensor<i8>, tensor<i8>) -> tensor<64x64xi32>
    nn.yield %1 : tensor<64x64xi32>
  }
  return
}

// -----

func.func @bytes_occupancy(%x: tensor<64x64xi8>, %z: tensor<i8>) {
  // expected-error@+1 {{has no CUDA kernel: an SM has no threads for so many blocks (schedule #cuda.integer_gemm<}}
  %0 = nn.fusion(%x, %z) schedule(#cuda.integer_gemm<tile_m = 128, tile_n = 128, warp_m = 32, warp_n = 32, depth = 64, stages = 2, occupancy = 8>) : (tensor<64x64xi8>, tensor<i8>) -> tensor<64x64xi32> {
  ^bb0(%a: tensor<64x64xi8>, %c: tensor<i8>):
    %1 = nn.quantized_conv %a, %a, %c, %c {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<64x64xi8>, tensor<64x64xi8>, tensor<i8>, tensor<i8>) -> tensor<64x64xi32>
    nn.yield %1 : tensor<64x64xi32>
  }
  return
}

// -----

func.func @bytes_end(%x: tensor<64x64xi8>, %z: tensor<i8>, %s: tensor<f32>) {
  // expected-error@+1 {{has no CUDA kernel: other operators compute what follows the sums (schedule #cuda.integer_gemm<}}
  %0 = nn.fusion(%x, %z, %s) schedule(#cuda.integer_gemm<tile_m = 128, tile_n = 128, warp_m = 32, warp_n = 32, depth = 64, stages = 2>) : (tensor<64x64xi8>, tensor<i8>, tensor<f32>) -> tensor<64x64xf32> {
  ^bb0(%a: tensor<64x64xi8>, %c: tensor<i8>, %d: tensor<f32>):
    %1 = nn.quantized_conv %a, %a, %c, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 1, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<64x64xi8>, tensor<64x64xi8>, tensor<i8>, tensor<i8>, tensor<f32>) -> tensor<64x64xf32>
    nn.yield %1 : tensor<64x64xf32>
  }
  return
}

// -----

// expected-error@+1 {{'run' must be from 1 to 8}}
#groups = #cuda.group_norm<run = 9, threads = 256>

// -----

// expected-error@+1 {{'cluster' must be 1, 2, 4 or 8}}
#clusters = #cuda.group_norm<run = 1, cluster = 3, threads = 256>

// -----

func.func @norm_of_part(%x: tensor<1x8x8x40xf16>, %s: tensor<40xf32>) {
  // expected-error@+1 {{has no CUDA kernel: its runs of groups are not whole vectors (schedule #cuda.}}
  %0 = nn.fusion(%x, %s) schedule(#cuda.group_norm<run = 2, threads = 256>) : (tensor<1x8x8x40xf16>, tensor<40xf32>) -> tensor<1x8x8x40xf16> {
  ^bb0(%a: tensor<1x8x8x40xf16>, %c: tensor<40xf32>):
    %1 = nn.group_norm %a, %c, %c {groups = 4 : si64} : (tensor<1x8x8x40xf16>, tensor<40xf32>, tensor<40xf32>) -> tensor<1x8x8x40xf16>
    nn.yield %1 : tensor<1x8x8x40xf16>
  }
  return
}

// -----

func.func @norm_of_no_pixels(%x: tensor<1x1x5x40xf16>, %s: tensor<40xf32>) {
  // expected-error@+1 {{has no CUDA kernel: a block has no pixels (schedule #cuda.}}
  %0 = nn.fusion(%x, %s) schedule(#cuda.group_norm<run = 4, cluster = 4, threads = 256>) : (tensor<1x1x5x40xf16>, tensor<40xf32>) -> tensor<1x1x5x40xf16> {
  ^bb0(%a: tensor<1x1x5x40xf16>, %c: tensor<40xf32>):
    %1 = nn.group_norm %a, %c, %c {groups = 4 : si64} : (tensor<1x1x5x40xf16>, tensor<40xf32>, tensor<40xf32>) -> tensor<1x1x5x40xf16>
    nn.yield %1 : tensor<1x1x5x40xf16>
  }
  return
}

// -----

func.func @norm_of_many(%x: tensor<1x64x64x40xf16>, %s: tensor<40xf32>) {
  // expected-error@+1 {{has no CUDA kernel: a thread has more vectors than registers (schedule #cuda.}}
  %0 = nn.fusion(%x, %s) schedule(#cuda.group_norm<run = 4, threads = 256>) : (tensor<1x64x64x40xf16>, tensor<40xf32>) -> tensor<1x64x64x40xf16> {
  ^bb0(%a: tensor<1x64x64x40xf16>, %c: tensor<40xf32>):
    %1 = nn.group_norm %a, %c, %c {groups = 4 : si64} : (tensor<1x64x64x40xf16>, tensor<40xf32>, tensor<40xf32>) -> tensor<1x64x64x40xf16>
    nn.yield %1 : tensor<1x64x64x40xf16>
  }
  return
}
