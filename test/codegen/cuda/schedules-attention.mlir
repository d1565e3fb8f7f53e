// RUN: frit-opt %s --split-input-file --print-cuda -o /dev/null | FileCheck %s

// Kernels have the numbers of schedules that are written by hand: attention.

// Two groups of warps for a tile's keys, and 32 queries of a warp.
// CHECK: // k0 #cuda.attention<tile_m = 64, tile_n = 112, splits = 2, rows_per_warp = 16> grid 64x1x1 block 256 shared
// CHECK: // k1 #cuda.attention<tile_m = 128, tile_n = 64, rows_per_warp = 32> grid 32x1x1 block 128 shared
// CHECK: tileM = 64, tileN = 112, splits = 2;
// CHECK: rowsPerWarp = 16;
// CHECK: __launch_bounds__(256)
// CHECK: tileM = 128, tileN = 64, splits = 1;
// CHECK: rowsPerWarp = 32;
// CHECK: __launch_bounds__(128)
func.func @attention(%x: tensor<2x8x256x64xf16>, %y: tensor<2x8x256x64xf16>) {
  %p = nn.fusion(%x, %y) schedule(#cuda.attention<tile_m = 64, tile_n = 112, splits = 2, rows_per_warp = 16>) : (tensor<2x8x256x64xf16>, tensor<2x8x256x64xf16>) -> tensor<2x8x256x64xf16> {
  ^bb0(%a: tensor<2x8x256x64xf16>, %b: tensor<2x8x256x64xf16>):
    %1 = nn.attention %a, %b, %b {scale = 0.125 : f32} : (tensor<2x8x256x64xf16>, tensor<2x8x256x64xf16>, tensor<2x8x256x64xf16>) -> tensor<2x8x256x64xf16>
    nn.yield %1 : tensor<2x8x256x64xf16>
  }
  %q = nn.fusion(%x, %y) schedule(#cuda.attention<tile_m = 128, tile_n = 64, rows_per_warp = 32>) : (tensor<2x8x256x64xf16>, tensor<2x8x256x64xf16>) -> tensor<2x8x256x64xf16> {
  ^bb0(%a: tensor<2x8x256x64xf16>, %b: tensor<2x8x256x64xf16>):
    %1 = nn.attention %a, %b, %b {scale = 0.125 : f32} : (tensor<2x8x256x64xf16>, tensor<2x8x256x64xf16>, tensor<2x8x256x64xf16>) -> tensor<2x8x256x64xf16>
    nn.yield %1 : tensor<2x8x256x64xf16>
  }
  return
}

// -----

// A warpgroup for 64 queries, and two that share the keys. 20 blocks take 32
// tiles in turn.
// CHECK: // k0 #cuda.wgmma_attention<tile_m = 128, tile_n = 128, stages = 2, blocks = 20> grid 20x1x1 block 384 shared
// CHECK: // k1 #cuda.wgmma_attention<tile_m = 64, tile_n = 64, splits = 2, stages = 4, occupancy = 2> grid 64x1x1 block 384 shared
// CHECK: tileM = 128, tileN = 128, splits = 1;
// CHECK: stages = 2, blocks = 1;
// CHECK: __launch_bounds__(384, 1)
// CHECK: tileM = 64, tileN = 64, splits = 2;
// CHECK: stages = 4, blocks = 2;
// CHECK: __launch_bounds__(384, 2)
func.func @wgmma_attention(%x: tensor<2x8x256x64xf16>, %y: tensor<2x8x256x64xf16>) {
  %p = nn.fusion(%x, %y) schedule(#cuda.wgmma_attention<tile_m = 128, tile_n = 128, stages = 2, blocks = 20>) : (tensor<2x8x256x64xf16>, tensor<2x8x256x64xf16>) -> tensor<2x8x256x64xf16> {
  ^bb0(%a: tensor<2x8x256x64xf16>, %b: tensor<2x8x256x64xf16>):
    %1 = nn.attention %a, %b, %b {scale = 0.125 : f32} : (tensor<2x8x256x64xf16>, tensor<2x8x256x64xf16>, tensor<2x8x256x64xf16>) -> tensor<2x8x256x64xf16>
    nn.yield %1 : tensor<2x8x256x64xf16>
  }
  %q = nn.fusion(%x, %y) schedule(#cuda.wgmma_attention<tile_m = 64, tile_n = 64, splits = 2, stages = 4, occupancy = 2>) : (tensor<2x8x256x64xf16>, tensor<2x8x256x64xf16>) -> tensor<2x8x256x64xf16> {
  ^bb0(%a: tensor<2x8x256x64xf16>, %b: tensor<2x8x256x64xf16>):
    %1 = nn.attention %a, %b, %b {scale = 0.125 : f32} : (tensor<2x8x256x64xf16>, tensor<2x8x256x64xf16>, tensor<2x8x256x64xf16>) -> tensor<2x8x256x64xf16>
    nn.yield %1 : tensor<2x8x256x64xf16>
  }
  return
}
