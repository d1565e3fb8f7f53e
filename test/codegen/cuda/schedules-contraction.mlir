// RUN: frit-opt %s --split-input-file --print-cuda -o /dev/null | FileCheck %s

// Kernels have the numbers of schedules that are written by hand: contractions
// and what belongs to them.

// Seven outputs of four channels per thread, and four of two.
// CHECK: // k0 #cuda.depthwise<vector = 4, strip = 7, threads = 128> grid 28x1x1 block 128
// CHECK: // k1 #cuda.depthwise<vector = 2, strip = 4, threads = 64> grid 196x1x1 block 64
// CHECK: __launch_bounds__(128)
// CHECK: frit::depthwise<4, 7, false>(k0_body{x0, x1, y0}, x0, x1);
// CHECK: __launch_bounds__(64)
// CHECK: frit::depthwise<2, 4, false>(k1_body{x0, x1, y0}, x0, x1);
func.func @depthwise(%x: tensor<4x28x28x32xf16>, %y: tensor<3x3x32xf16>) {
  %p = nn.fusion(%x, %y) schedule(#cuda.depthwise<vector = 4, strip = 7, threads = 128>) : (tensor<4x28x28x32xf16>, tensor<3x3x32xf16>) -> tensor<4x28x28x32xf16> {
  ^bb0(%a: tensor<4x28x28x32xf16>, %b: tensor<3x3x32xf16>):
    %1 = nn.depthwise_conv %a, %b {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<4x28x28x32xf16>, tensor<3x3x32xf16>) -> tensor<4x28x28x32xf16>
    nn.yield %1 : tensor<4x28x28x32xf16>
  }
  %q = nn.fusion(%x, %y) schedule(#cuda.depthwise<vector = 2, strip = 4, threads = 64>) : (tensor<4x28x28x32xf16>, tensor<3x3x32xf16>) -> tensor<4x28x28x32xf16> {
  ^bb0(%a: tensor<4x28x28x32xf16>, %b: tensor<3x3x32xf16>):
    %1 = nn.depthwise_conv %a, %b {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<4x28x28x32xf16>, tensor<3x3x32xf16>) -> tensor<4x28x28x32xf16>
    nn.yield %1 : tensor<4x28x28x32xf16>
  }
  return
}

// -----

// Tiles of 64 by 64 and of 128 by 128.
// CHECK: // k0 #cuda.conv<tile_m = 64, tile_n = 64> grid 392x1x1 block 256
// CHECK: // k1 #cuda.conv<tile_m = 128, tile_n = 128> grid 196x1x1 block 256
// CHECK: tileM = 64, tileN = 64;
// CHECK: __launch_bounds__(256)
// CHECK: tileM = 128, tileN = 128;
// CHECK: __launch_bounds__(256)
func.func @conv(%x: tensor<8x56x56x64xf16>, %y: tensor<64x3x3x64xf16>) {
  %p = nn.fusion(%x, %y) schedule(#cuda.conv<tile_m = 64, tile_n = 64>) : (tensor<8x56x56x64xf16>, tensor<64x3x3x64xf16>) -> tensor<8x56x56x64xf16> {
  ^bb0(%a: tensor<8x56x56x64xf16>, %b: tensor<64x3x3x64xf16>):
    %1 = nn.conv %a, %b {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, channels_last} : (tensor<8x56x56x64xf16>, tensor<64x3x3x64xf16>) -> tensor<8x56x56x64xf16>
    nn.yield %1 : tensor<8x56x56x64xf16>
  }
  %q = nn.fusion(%x, %y) schedule(#cuda.conv<tile_m = 128, tile_n = 128>) : (tensor<8x56x56x64xf16>, tensor<64x3x3x64xf16>) -> tensor<8x56x56x64xf16> {
  ^bb0(%a: tensor<8x56x56x64xf16>, %b: tensor<64x3x3x64xf16>):
    %1 = nn.conv %a, %b {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, channels_last} : (tensor<8x56x56x64xf16>, tensor<64x3x3x64xf16>) -> tensor<8x56x56x64xf16>
    nn.yield %1 : tensor<8x56x56x64xf16>
  }
  return
}

// -----

// Two blocks per SM, and one in ping-pong, which takes several tiles.
// CHECK: // k0 #cuda.wgmma_conv<tile_m = 128, tile_n = 64, stages = 4, occupancy = 2, raster = 8> grid 196x1x1 block 288 shared
// CHECK: // k1 #cuda.wgmma_conv<tile_m = 128, tile_n = 64, stages = 6, pingpong = true, blocks = 100> grid 100x1x1 block 384 shared
// CHECK: tileM = 128, tileN = 64;
// CHECK: stages = 4, cluster = 1, split = 1, blocks = 2, raster = 8;
// CHECK: __launch_bounds__(288, 2)
// CHECK: tileM = 128, tileN = 64;
// CHECK: stages = 6, cluster = 1, split = 1, blocks = 1, raster = 1;
// CHECK: __launch_bounds__(384, 1)
func.func @wgmma_conv(%x: tensor<8x56x56x64xf16>, %y: tensor<64x3x3x64xf16>) {
  %p = nn.fusion(%x, %y) schedule(#cuda.wgmma_conv<tile_m = 128, tile_n = 64, stages = 4, occupancy = 2, raster = 8>) : (tensor<8x56x56x64xf16>, tensor<64x3x3x64xf16>) -> tensor<8x56x56x64xf16> {
  ^bb0(%a: tensor<8x56x56x64xf16>, %b: tensor<64x3x3x64xf16>):
    %1 = nn.conv %a, %b {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, channels_last} : (tensor<8x56x56x64xf16>, tensor<64x3x3x64xf16>) -> tensor<8x56x56x64xf16>
    nn.yield %1 : tensor<8x56x56x64xf16>
  }
  %q = nn.fusion(%x, %y) schedule(#cuda.wgmma_conv<tile_m = 128, tile_n = 64, stages = 6, pingpong = true, blocks = 100>) : (tensor<8x56x56x64xf16>, tensor<64x3x3x64xf16>) -> tensor<8x56x56x64xf16> {
  ^bb0(%a: tensor<8x56x56x64xf16>, %b: tensor<64x3x3x64xf16>):
    %1 = nn.conv %a, %b {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, channels_last} : (tensor<8x56x56x64xf16>, tensor<64x3x3x64xf16>) -> tensor<8x56x56x64xf16>
    nn.yield %1 : tensor<8x56x56x64xf16>
  }
  return
}

// -----

// Two convolutions that do not pay in one kernel: the schedule decides. Without
// `blocks`, each tile has its own.
// CHECK: // k0 #cuda.conv_b2b<warpgroups = 2, stages = 6, slots = 4, columns = 128, blocks = 132> grid 132x1x1 block 288 shared
// CHECK: // k1 #cuda.conv_b2b<warpgroups = 2, stages = 4, slots = 2, columns = 64> grid 448x1x1 block 288 shared
// CHECK: warpgroups = 2, stages = 6, slots = 4, columns = 128;
// CHECK: frit::convB2b<k0_problem>(
// CHECK: warpgroups = 2, stages = 4, slots = 2, columns = 64;
// CHECK: frit::convB2b<k1_problem>(
func.func @conv_b2b(%x: tensor<8x56x56x64xf16>, %y: tensor<64x3x3x64xf16>, %z: tensor<256x1x1x64xf16>) {
  %p = nn.fusion(%x, %y, %z) schedule(#cuda.conv_b2b<warpgroups = 2, stages = 6, slots = 4, columns = 128, blocks = 132>) : (tensor<8x56x56x64xf16>, tensor<64x3x3x64xf16>, tensor<256x1x1x64xf16>) -> tensor<8x56x56x256xf16> {
  ^bb0(%a: tensor<8x56x56x64xf16>, %b: tensor<64x3x3x64xf16>, %c: tensor<256x1x1x64xf16>):
    %1 = nn.conv %a, %b {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, channels_last} : (tensor<8x56x56x64xf16>, tensor<64x3x3x64xf16>) -> tensor<8x56x56x64xf16>
    %2 = nn.conv %1, %c {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, channels_last} : (tensor<8x56x56x64xf16>, tensor<256x1x1x64xf16>) -> tensor<8x56x56x256xf16>
    nn.yield %2 : tensor<8x56x56x256xf16>
  }
  %q = nn.fusion(%x, %y, %z) schedule(#cuda.conv_b2b<warpgroups = 2, stages = 4, slots = 2, columns = 64>) : (tensor<8x56x56x64xf16>, tensor<64x3x3x64xf16>, tensor<256x1x1x64xf16>) -> tensor<8x56x56x256xf16> {
  ^bb0(%a: tensor<8x56x56x64xf16>, %b: tensor<64x3x3x64xf16>, %c: tensor<256x1x1x64xf16>):
    %1 = nn.conv %a, %b {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, channels_last} : (tensor<8x56x56x64xf16>, tensor<64x3x3x64xf16>) -> tensor<8x56x56x64xf16>
    %2 = nn.conv %1, %c {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, channels_last} : (tensor<8x56x56x64xf16>, tensor<256x1x1x64xf16>) -> tensor<8x56x56x256xf16>
    nn.yield %2 : tensor<8x56x56x256xf16>
  }
  return
}

// -----

// Blocks of 128 threads, and of 64.
// CHECK: // k0 #cuda.merge_moments<threads = 128> grid 128x1x1 block 128
// CHECK: // k1 #cuda.merge_moments<threads = 64> grid 256x1x1 block 64
// CHECK: __launch_bounds__(128)
// CHECK: frit::mergeRows<4096, 16, 64>(x0, y0);
// CHECK: __launch_bounds__(64)
// CHECK: frit::mergeRows<4096, 16, 64>(x0, y0);
func.func @merge_moments(%x: tensor<4096x16x2xf32>) {
  %p = nn.fusion(%x) schedule(#cuda.merge_moments<threads = 128>) : (tensor<4096x16x2xf32>) -> tensor<4096x1x2xf32> {
  ^bb0(%a: tensor<4096x16x2xf32>):
    %1 = nn.merge_moments %a {width = 64 : si64} : (tensor<4096x16x2xf32>) -> tensor<4096x1x2xf32>
    nn.yield %1 : tensor<4096x1x2xf32>
  }
  %q = nn.fusion(%x) schedule(#cuda.merge_moments<threads = 64>) : (tensor<4096x16x2xf32>) -> tensor<4096x1x2xf32> {
  ^bb0(%a: tensor<4096x16x2xf32>):
    %1 = nn.merge_moments %a {width = 64 : si64} : (tensor<4096x16x2xf32>) -> tensor<4096x1x2xf32>
    nn.yield %1 : tensor<4096x1x2xf32>
  }
  return
}

// -----

// Eight columns of a thread, and two.
// CHECK: // k0 #cuda.segment_sum<vector = 8, threads = 64> grid 2x1x1 block 64
// CHECK: // k1 #cuda.segment_sum<vector = 2, threads = 128> grid 2x1x1 block 128
// CHECK: __launch_bounds__(64)
// CHECK: frit::segmentSum<frit::bf16, 64, 8, 96, 64, 50>(x0, x1, x2, y0);
// CHECK: __launch_bounds__(128)
// CHECK: frit::segmentSum<frit::bf16, 128, 2, 96, 64, 50>(x0, x1, x2, y0);
func.func @segment_sum(%x: tensor<64x96xbf16>, %y: tensor<64xi64>, %z: tensor<64xi64>) {
  %p = nn.fusion(%x, %y, %z) schedule(#cuda.segment_sum<vector = 8, threads = 64>) : (tensor<64x96xbf16>, tensor<64xi64>, tensor<64xi64>) -> tensor<50x96xbf16> {
  ^bb0(%a: tensor<64x96xbf16>, %b: tensor<64xi64>, %c: tensor<64xi64>):
    %1 = nn.segment_sum %a, %b, %c {size = 50 : i64} : (tensor<64x96xbf16>, tensor<64xi64>, tensor<64xi64>) -> tensor<50x96xbf16>
    nn.yield %1 : tensor<50x96xbf16>
  }
  %q = nn.fusion(%x, %y, %z) schedule(#cuda.segment_sum<vector = 2, threads = 128>) : (tensor<64x96xbf16>, tensor<64xi64>, tensor<64xi64>) -> tensor<50x96xbf16> {
  ^bb0(%a: tensor<64x96xbf16>, %b: tensor<64xi64>, %c: tensor<64xi64>):
    %1 = nn.segment_sum %a, %b, %c {size = 50 : i64} : (tensor<64x96xbf16>, tensor<64xi64>, tensor<64xi64>) -> tensor<50x96xbf16>
    nn.yield %1 : tensor<50x96xbf16>
  }
  return
}
