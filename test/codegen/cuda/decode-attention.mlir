// RUN: frit-opt %s -split-input-file --print-cuda -o /dev/null | FileCheck %s

// One query for many keys: the heads that share keys are the rows of one, and
// the blocks of a cluster divide the keys that a length in memory shows.
// CHECK: // k0 #cuda.attention<tile_m = 8, tile_n = 32, splits = 4, rows_per_warp = 8, cluster = 8> grid 64x1x1 block 128
// CHECK: using Mask = int;
// CHECK: static constexpr int batch = 1, heads = 8, groups = 8;
// CHECK-NEXT: static constexpr int queries = 4, keys = 4096, size = 64, valueSize = 64;
// CHECK: using Q = frit::Strides<0, 256, 64>;
// CHECK: using M = frit::Strides<0, 0, 0, 1>;
// CHECK: static constexpr int rowsPerWarp = 8;
// CHECK: static constexpr int cluster = 8;
// CHECK: __cluster_dims__(8, 1, 1) __launch_bounds__(128, 4)
func.func @decode(%q: tensor<1x32x1x64xbf16>, %k: tensor<1x8x4096x64xbf16>, %v: tensor<1x8x4096x64xbf16>, %m: tensor<1x1x1x2xi32>) {
  %0 = nn.fusion(%q, %k, %v, %m) : (tensor<1x32x1x64xbf16>, tensor<1x8x4096x64xbf16>, tensor<1x8x4096x64xbf16>, tensor<1x1x1x2xi32>) -> tensor<1x32x1x64xbf16> {
  ^bb0(%a: tensor<1x32x1x64xbf16>, %b: tensor<1x8x4096x64xbf16>, %c: tensor<1x8x4096x64xbf16>, %d: tensor<1x1x1x2xi32>):
    %1 = nn.attention %a, %b, %c, %d {scale = 0.125 : f32} : (tensor<1x32x1x64xbf16>, tensor<1x8x4096x64xbf16>, tensor<1x8x4096x64xbf16>, tensor<1x1x1x2xi32>) -> tensor<1x32x1x64xbf16>
    nn.yield %1 : tensor<1x32x1x64xbf16>
  }
  return
}

// -----

// Blocks that are few divide the keys further, and hold all that they read.
// CHECK: // k0 #cuda.attention<tile_m = 8, tile_n = 16, splits = 4, rows_per_warp = 8, cluster = 8, stages = 3> grid 64x1x1 block 128 shared 106624
// CHECK: static constexpr int stages = 3;
func.func @wide(%q: tensor<1x32x1x128xbf16>, %k: tensor<1x8x1536x128xbf16>, %v: tensor<1x8x1536x128xbf16>, %m: tensor<1x1x1x2xi32>) {
  %0 = nn.fusion(%q, %k, %v, %m) : (tensor<1x32x1x128xbf16>, tensor<1x8x1536x128xbf16>, tensor<1x8x1536x128xbf16>, tensor<1x1x1x2xi32>) -> tensor<1x32x1x128xbf16> {
  ^bb0(%a: tensor<1x32x1x128xbf16>, %b: tensor<1x8x1536x128xbf16>, %c: tensor<1x8x1536x128xbf16>, %d: tensor<1x1x1x2xi32>):
    %1 = nn.attention %a, %b, %c, %d {scale = 0.125 : f32} : (tensor<1x32x1x128xbf16>, tensor<1x8x1536x128xbf16>, tensor<1x8x1536x128xbf16>, tensor<1x1x1x2xi32>) -> tensor<1x32x1x128xbf16>
    nn.yield %1 : tensor<1x32x1x128xbf16>
  }
  return
}

// -----

// Many blocks do not.
// CHECK: // k0 #cuda.attention<tile_m = 8, tile_n = 16, splits = 4, rows_per_warp = 8, cluster = 4> grid 256x1x1 block 128 shared 71808
func.func @batch(%q: tensor<8x32x1x128xbf16>, %k: tensor<8x8x1536x128xbf16>, %v: tensor<8x8x1536x128xbf16>, %m: tensor<1x1x1x2xi32>) {
  %0 = nn.fusion(%q, %k, %v, %m) : (tensor<8x32x1x128xbf16>, tensor<8x8x1536x128xbf16>, tensor<8x8x1536x128xbf16>, tensor<1x1x1x2xi32>) -> tensor<8x32x1x128xbf16> {
  ^bb0(%a: tensor<8x32x1x128xbf16>, %b: tensor<8x8x1536x128xbf16>, %c: tensor<8x8x1536x128xbf16>, %d: tensor<1x1x1x2xi32>):
    %1 = nn.attention %a, %b, %c, %d {scale = 0.125 : f32} : (tensor<8x32x1x128xbf16>, tensor<8x8x1536x128xbf16>, tensor<8x8x1536x128xbf16>, tensor<1x1x1x2xi32>) -> tensor<8x32x1x128xbf16>
    nn.yield %1 : tensor<8x32x1x128xbf16>
  }
  return
}

// -----

// Queries are rows where a mask has a term for each score.
// CHECK: // k0 #cuda.attention<tile_m = 16, tile_n = 32, splits = 4, rows_per_warp = 16, cluster = 4> grid 32x1x1 block 128
// CHECK: __launch_bounds__(128)
func.func @masked(%q: tensor<1x32x1x64xbf16>, %k: tensor<1x8x1536x64xbf16>, %v: tensor<1x8x1536x64xbf16>, %m: tensor<1x1x1x1536xbf16>) {
  %0 = nn.fusion(%q, %k, %v, %m) : (tensor<1x32x1x64xbf16>, tensor<1x8x1536x64xbf16>, tensor<1x8x1536x64xbf16>, tensor<1x1x1x1536xbf16>) -> tensor<1x32x1x64xbf16> {
  ^bb0(%a: tensor<1x32x1x64xbf16>, %b: tensor<1x8x1536x64xbf16>, %c: tensor<1x8x1536x64xbf16>, %d: tensor<1x1x1x1536xbf16>):
    %1 = nn.attention %a, %b, %c, %d {scale = 0.125 : f32} : (tensor<1x32x1x64xbf16>, tensor<1x8x1536x64xbf16>, tensor<1x8x1536x64xbf16>, tensor<1x1x1x1536xbf16>) -> tensor<1x32x1x64xbf16>
    nn.yield %1 : tensor<1x32x1x64xbf16>
  }
  return
}
