// RUN: frit-opt %s --print-cuda='arch=sm_80 libraries=false' -o /dev/null | FileCheck %s --check-prefixes=CHECK,SM80
// RUN: frit-opt %s --print-cuda='arch=sm_89 libraries=false' -o /dev/null | FileCheck %s --check-prefixes=CHECK,SM89
// RUN: frit-opt %s --print-cuda='arch=sm_90a libraries=false' -o /dev/null | FileCheck %s --check-prefixes=CHECK,SM90
// RUN: frit-opt %s --print-cuda='arch=sm_100 libraries=false' -o /dev/null | FileCheck %s --check-prefixes=CHECK,SM100
// RUN: frit-opt %s --print-cuda='arch=sm_121 libraries=false' -o /dev/null | FileCheck %s --check-prefixes=CHECK,SM121

// Each architecture's schedules follow its own SM count and shared memory per
// block.

// 108 tiles of 128 x 128 fill an A100, and the 48 SMs of a GB10.
// SM80:  // k0 #cuda.gemm<tile_m = 128, tile_n = 128>
// SM89:  // k0 #cuda.gemm<tile_m = 64, tile_n = 64>
// SM90:  // k0 #cuda.gemm<tile_m = 64, tile_n = 64>
// SM100: // k0 #cuda.gemm<tile_m = 64, tile_n = 64>
// SM121: // k0 #cuda.gemm<tile_m = 128, tile_n = 128>

// Only sm_90a has WGMMA.
// SM80:  // k1 #cuda.gemm<tile_m = 128, tile_n = 128>
// SM89:  // k1 #cuda.gemm<tile_m = 64, tile_n = 64>
// SM90:  // k1 #cuda.wgmma_gemm<
// SM100: // k1 #cuda.gemm<tile_m = 64, tile_n = 64>
// SM121: // k1 #cuda.gemm<tile_m = 128, tile_n = 128>

// Four elements per thread leave enough threads for an A100, and for an L40S,
// whose SMs have fewer.
// SM80:  // k2 #cuda.generic<interleave = 4, threads = 256>
// SM89:  // k2 #cuda.generic<interleave = 4, threads = 256>
// SM90:  // k2 #cuda.generic<threads = 256>
// SM100: // k2 #cuda.generic<threads = 256>
// SM121: // k2 #cuda.generic<interleave = 4, threads = 256>

// Tiles of 64 keys do not fit the 99 KB of an L40S.
// SM80:  // k3 #cuda.attention<tile_m = 128, tile_n = 64, rows_per_warp = 32>
// SM89:  // k3 #cuda.attention<tile_m = 128, tile_n = 32, rows_per_warp = 32>
// SM90:  // k3 #cuda.attention<tile_m = 128, tile_n = 64, rows_per_warp = 32>
// SM100: // k3 #cuda.attention<tile_m = 128, tile_n = 64, rows_per_warp = 32>
// SM121: // k3 #cuda.attention<tile_m = 128, tile_n = 32, rows_per_warp = 32>

// Rows of 195 KB and columns of 100 KB fit the shared memory that an H200 has for
// one block on an SM, and for each of two.
// SM80:  // k4 #cuda.row_streamed<
// SM89:  // k4 #cuda.row_streamed<
// SM90:  // k4 #cuda.row_shared<
// SM100: // k4 #cuda.row_shared<
// SM121: // k4 #cuda.row_streamed<
// SM80:  // k5 #cuda.column<
// SM89:  // k5 #cuda.column<
// SM90:  // k5 #cuda.column_shared<
// SM100: // k5 #cuda.column_shared<
// SM121: // k5 #cuda.column<

// CHECK: extern "C"
func.func @archs(%a: tensor<1536x64xf32>, %b: tensor<64x1152xf32>,
                 %c: tensor<1536x64xf16>, %d: tensor<64x1152xf16>,
                 %x: tensor<947x977xf32>, %i: tensor<947xi64>,
                 %q: tensor<32x12x512x64xf32>, %s: tensor<64x50000xf32>,
                 %t: tensor<256x800x64xf32>) {
  %0 = nn.fusion(%a, %b) : (tensor<1536x64xf32>, tensor<64x1152xf32>) -> tensor<1536x1152xf32> {
  ^bb0(%x0: tensor<1536x64xf32>, %x1: tensor<64x1152xf32>):
    %y = nn.matmul %x0, %x1 : (tensor<1536x64xf32>, tensor<64x1152xf32>) -> tensor<1536x1152xf32>
    nn.yield %y : tensor<1536x1152xf32>
  }
  %1 = nn.fusion(%c, %d) : (tensor<1536x64xf16>, tensor<64x1152xf16>) -> tensor<1536x1152xf16> {
  ^bb0(%x0: tensor<1536x64xf16>, %x1: tensor<64x1152xf16>):
    %y = nn.matmul %x0, %x1 : (tensor<1536x64xf16>, tensor<64x1152xf16>) -> tensor<1536x1152xf16>
    nn.yield %y : tensor<1536x1152xf16>
  }
  %2 = nn.fusion(%x, %i) : (tensor<947x977xf32>, tensor<947xi64>) -> tensor<947x977xf32> {
  ^bb0(%x0: tensor<947x977xf32>, %x1: tensor<947xi64>):
    %y = nn.gather %x0, %x1 {axis = 0 : si64} : (tensor<947x977xf32>, tensor<947xi64>) -> tensor<947x977xf32>
    nn.yield %y : tensor<947x977xf32>
  }
  %3 = nn.fusion(%q, %q, %q) : (tensor<32x12x512x64xf32>, tensor<32x12x512x64xf32>, tensor<32x12x512x64xf32>) -> tensor<32x12x512x64xf32> {
  ^bb0(%x0: tensor<32x12x512x64xf32>, %x1: tensor<32x12x512x64xf32>, %x2: tensor<32x12x512x64xf32>):
    %y = nn.attention %x0, %x1, %x2 {scale = 0.125 : f32} : (tensor<32x12x512x64xf32>, tensor<32x12x512x64xf32>, tensor<32x12x512x64xf32>) -> tensor<32x12x512x64xf32>
    nn.yield %y : tensor<32x12x512x64xf32>
  }
  %4 = nn.fusion(%s) : (tensor<64x50000xf32>) -> tensor<64x50000xf32> {
  ^bb0(%x0: tensor<64x50000xf32>):
    %max = nn.reduce %x0 {axes = array<i64: 1>, kind = #nn<combiner max>} : (tensor<64x50000xf32>) -> tensor<64x1xf32>
    %diff = nn.sub %x0, %max : (tensor<64x50000xf32>, tensor<64x1xf32>) -> tensor<64x50000xf32>
    %exp = nn.exp %diff : (tensor<64x50000xf32>) -> tensor<64x50000xf32>
    %sum = nn.reduce %exp {axes = array<i64: 1>, kind = #nn<combiner sum>} : (tensor<64x50000xf32>) -> tensor<64x1xf32>
    %y = nn.div %exp, %sum : (tensor<64x50000xf32>, tensor<64x1xf32>) -> tensor<64x50000xf32>
    nn.yield %y : tensor<64x50000xf32>
  }
  %5 = nn.fusion(%t) : (tensor<256x800x64xf32>) -> tensor<256x800x64xf32> {
  ^bb0(%x0: tensor<256x800x64xf32>):
    %max = nn.reduce %x0 {axes = array<i64: 1>, kind = #nn<combiner max>} : (tensor<256x800x64xf32>) -> tensor<256x1x64xf32>
    %diff = nn.sub %x0, %max : (tensor<256x800x64xf32>, tensor<256x1x64xf32>) -> tensor<256x800x64xf32>
    %exp = nn.exp %diff : (tensor<256x800x64xf32>) -> tensor<256x800x64xf32>
    %sum = nn.reduce %exp {axes = array<i64: 1>, kind = #nn<combiner sum>} : (tensor<256x800x64xf32>) -> tensor<256x1x64xf32>
    %y = nn.div %exp, %sum : (tensor<256x800x64xf32>, tensor<256x1x64xf32>) -> tensor<256x800x64xf32>
    nn.yield %y : tensor<256x800x64xf32>
  }
  return
}
