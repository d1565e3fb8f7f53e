// The cost model of matrix products chooses the tiles that were the fastest on
// an H200, or within a few percent of it.
// RUN: frit-opt %s --print-cuda -o /dev/null | FileCheck %s

func.func @tiles(%a: tensor<384x1024xf16>, %b: tensor<1024x1024xf16>,
                 %c: tensor<49x2048xf16>, %d: tensor<2048x512xf16>,
                 %e: tensor<12288x1024xf16>, %f: tensor<1024x3072xf16>,
                 %g: tensor<6304x768xf16>, %h: tensor<768x768xf16>,
                 %i: tensor<16384x768xf16>, %j: tensor<16384x3072xf16>,
                 %k: tensor<768x3072xf16>, %l: tensor<16384x1024xf16>) {
  // Few tiles: each has an SM of its own, and all its shared memory for
  // pipeline stages.
  // CHECK: // k0 #cuda.wgmma_gemm<tile_m = 64, tile_n = 64, stages = 13, raster = 12> grid 96x1x1
  %0 = nn.fusion(%a, %b) : (tensor<384x1024xf16>, tensor<1024x1024xf16>) -> tensor<384x1024xf16> {
  ^bb0(%x: tensor<384x1024xf16>, %w: tensor<1024x1024xf16>):
    %y = nn.matmul %x, %w : (tensor<384x1024xf16>, tensor<1024x1024xf16>) -> tensor<384x1024xf16>
    nn.yield %y : tensor<384x1024xf16>
  }
  // Very few tiles: split-K.
  // CHECK: // k1 #cuda.wgmma_gemm<tile_m = 64, tile_n = 64, stages = 13, split = 4, raster = 12> grid 32x1x1
  %1 = nn.fusion(%c, %d) : (tensor<49x2048xf16>, tensor<2048x512xf16>) -> tensor<49x512xf16> {
  ^bb0(%x: tensor<49x2048xf16>, %w: tensor<2048x512xf16>):
    %y = nn.matmul %x, %w : (tensor<49x2048xf16>, tensor<2048x512xf16>) -> tensor<49x512xf16>
    nn.yield %y : tensor<49x512xf16>
  }
  // Many tiles: warpgroups work on alternate tiles (ping-pong), one stage is
  // given up for buffers of results, and two blocks share B, since copies draw
  // power.
  // CHECK: // k2 #cuda.wgmma_gemm<tile_m = 128, tile_n = 192, stages = 4, cluster = 2, pingpong = true, raster = 8, blocks = 132> grid 132x1x1 block 384 shared 229888
  %2 = nn.fusion(%e, %f) : (tensor<12288x1024xf16>, tensor<1024x3072xf16>) -> tensor<12288x3072xf16> {
  ^bb0(%x: tensor<12288x1024xf16>, %w: tensor<1024x3072xf16>):
    %y = nn.matmul %x, %w : (tensor<12288x1024xf16>, tensor<1024x3072xf16>) -> tensor<12288x3072xf16>
    nn.yield %y : tensor<12288x3072xf16>
  }
  // Tile sizes that give every SM exactly one tile.
  // CHECK: // k3 #cuda.wgmma_gemm<tile_m = 192, tile_n = 192, stages = 3, raster = 12> grid 132x1x1
  %3 = nn.fusion(%g, %h) : (tensor<6304x768xf16>, tensor<768x768xf16>) -> tensor<6304x768xf16> {
  ^bb0(%x: tensor<6304x768xf16>, %w: tensor<768x768xf16>):
    %y = nn.matmul %x, %w : (tensor<6304x768xf16>, tensor<768x768xf16>) -> tensor<6304x768xf16>
    nn.yield %y : tensor<6304x768xf16>
  }
  // The gradient of a weight: split-K where the sums of other blocks take the
  // place of stages, of which there would be too few otherwise.
  // CHECK: // k4 #cuda.wgmma_gemm<tile_m = 192, tile_n = 192, stages = 4, split = 2, raster = 12> grid 128x1x1 block 416 shared 221696
  %4 = nn.fusion(%i, %j) : (tensor<16384x768xf16>, tensor<16384x3072xf16>) -> tensor<768x3072xf32> {
  ^bb0(%x: tensor<16384x768xf16>, %w: tensor<16384x3072xf16>):
    %y = nn.matmul %x, %w {transpose_a} : (tensor<16384x768xf16>, tensor<16384x3072xf16>) -> tensor<768x3072xf16>
    %z = nn.cast %y {to = f32} : (tensor<768x3072xf16>) -> tensor<768x3072xf32>
    nn.yield %z : tensor<768x3072xf32>
  }
  // More blocks split k where the loop would be too long for three stages.
  // CHECK: // k5 #cuda.wgmma_gemm<tile_m = 192, tile_n = 128, stages = 5, split = 4, raster = 10> grid 96x1x1
  %5 = nn.fusion(%i, %i) : (tensor<16384x768xf16>, tensor<16384x768xf16>) -> tensor<768x768xf32> {
  ^bb0(%x: tensor<16384x768xf16>, %w: tensor<16384x768xf16>):
    %y = nn.matmul %x, %w {transpose_a} : (tensor<16384x768xf16>, tensor<16384x768xf16>) -> tensor<768x768xf16>
    %z = nn.cast %y {to = f32} : (tensor<768x768xf16>) -> tensor<768x768xf32>
    nn.yield %z : tensor<768x768xf32>
  }
  // An epilogue that computes more needs more registers: smaller tiles.
  // CHECK: // k6 #cuda.wgmma_gemm<tile_m = 128, tile_n = 128, stages = 6, cluster = 2, pingpong = true, raster = 6, blocks = 132>
  %6 = nn.fusion(%i, %k, %j) : (tensor<16384x768xf16>, tensor<768x3072xf16>, tensor<16384x3072xf16>) -> tensor<16384x3072xf16> {
  ^bb0(%x: tensor<16384x768xf16>, %w: tensor<768x3072xf16>, %r: tensor<16384x3072xf16>):
    %y = nn.matmul %x, %w : (tensor<16384x768xf16>, tensor<768x3072xf16>) -> tensor<16384x3072xf16>
    %z = nn.gelu_grad %y, %r : (tensor<16384x3072xf16>, tensor<16384x3072xf16>) -> tensor<16384x3072xf16>
    nn.yield %z : tensor<16384x3072xf16>
  }
  // A product takes no longer than its stores.
  // CHECK: // k7 #cuda.wgmma_gemm<tile_m = 128, tile_n = 192, stages = 4, cluster = 2, pingpong = true, raster = 8, blocks = 132>
  %7 = nn.fusion(%i, %k, %j) : (tensor<16384x768xf16>, tensor<768x3072xf16>, tensor<16384x3072xf16>) -> tensor<16384x3072xf16> {
  ^bb0(%x: tensor<16384x768xf16>, %w: tensor<768x3072xf16>, %r: tensor<16384x3072xf16>):
    %y = nn.matmul %x, %w : (tensor<16384x768xf16>, tensor<768x3072xf16>) -> tensor<16384x3072xf16>
    %z = nn.mul %y, %r : (tensor<16384x3072xf16>, tensor<16384x3072xf16>) -> tensor<16384x3072xf16>
    nn.yield %z : tensor<16384x3072xf16>
  }
  // Not 32 clusters of four blocks, of which some cards run only 30 at a time:
  // 59 us instead of 100.
  // CHECK: // k8 #cuda.wgmma_gemm<tile_m = 128, tile_n = 128, stages = 5, split = 2, raster = 12> grid 128x1x1
  %8 = nn.fusion(%l, %l) : (tensor<16384x1024xf16>, tensor<16384x1024xf16>) -> tensor<1024x1024xf32> {
  ^bb0(%x: tensor<16384x1024xf16>, %w: tensor<16384x1024xf16>):
    %y = nn.matmul %x, %w {transpose_a} : (tensor<16384x1024xf16>, tensor<16384x1024xf16>) -> tensor<1024x1024xf16>
    %z = nn.cast %y {to = f32} : (tensor<1024x1024xf16>) -> tensor<1024x1024xf32>
    nn.yield %z : tensor<1024x1024xf32>
  }
  return
}
