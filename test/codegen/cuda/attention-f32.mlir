// RUN: frit-opt %s --print-cuda=arch=sm_90a -o /dev/null | FileCheck %s
// RUN: frit-opt %s --print-cuda=arch=sm_86 -o /dev/null | FileCheck %s --check-prefix=SMALL

// Attention in f32, with three TF32 products per product, or one if the
// operator allows TF32.

func.func @attention(%p: tensor<32x384x3x16x64xf32>, %q: tensor<1x12x197x64xf32>,
                     %m: tensor<197x197xf32>, %l: tensor<4x16x2000x100xf32>) {
  %0 = nn.fusion(%p) : (tensor<32x384x3x16x64xf32>) -> tensor<32x384x16x64xf32> {
  ^bb0(%x: tensor<32x384x3x16x64xf32>):
    %t = nn.transpose %x {perm = array<i64: 2, 0, 3, 1, 4>} : (tensor<32x384x3x16x64xf32>) -> tensor<3x32x16x384x64xf32>
    %s0 = nn.slice %t {starts = array<i64: 0, 0, 0, 0, 0>, sizes = array<i64: 1, 32, 16, 384, 64>, steps = array<i64: 1, 1, 1, 1, 1>} : (tensor<3x32x16x384x64xf32>) -> tensor<1x32x16x384x64xf32>
    %s1 = nn.slice %t {starts = array<i64: 1, 0, 0, 0, 0>, sizes = array<i64: 1, 32, 16, 384, 64>, steps = array<i64: 1, 1, 1, 1, 1>} : (tensor<3x32x16x384x64xf32>) -> tensor<1x32x16x384x64xf32>
    %s2 = nn.slice %t {starts = array<i64: 2, 0, 0, 0, 0>, sizes = array<i64: 1, 32, 16, 384, 64>, steps = array<i64: 1, 1, 1, 1, 1>} : (tensor<3x32x16x384x64xf32>) -> tensor<1x32x16x384x64xf32>
    %r0 = nn.reshape %s0 {shape = array<i64: 32, 16, 384, 64>} : (tensor<1x32x16x384x64xf32>) -> tensor<32x16x384x64xf32>
    %r1 = nn.reshape %s1 {shape = array<i64: 32, 16, 384, 64>} : (tensor<1x32x16x384x64xf32>) -> tensor<32x16x384x64xf32>
    %r2 = nn.reshape %s2 {shape = array<i64: 32, 16, 384, 64>} : (tensor<1x32x16x384x64xf32>) -> tensor<32x16x384x64xf32>
    %y = nn.attention %r0, %r1, %r2 {scale = 0.125 : f32, tf32} : (tensor<32x16x384x64xf32>, tensor<32x16x384x64xf32>, tensor<32x16x384x64xf32>) -> tensor<32x16x384x64xf32>
    %o = nn.transpose %y {perm = array<i64: 0, 2, 1, 3>} : (tensor<32x16x384x64xf32>) -> tensor<32x384x16x64xf32>
    nn.yield %o : tensor<32x384x16x64xf32>
  }
  %1 = nn.fusion(%q, %m) : (tensor<1x12x197x64xf32>, tensor<197x197xf32>) -> tensor<1x12x197x64xf32> {
  ^bb0(%x: tensor<1x12x197x64xf32>, %b: tensor<197x197xf32>):
    %y = nn.attention %x, %x, %x, %b {scale = 0.125 : f32} : (tensor<1x12x197x64xf32>, tensor<1x12x197x64xf32>, tensor<1x12x197x64xf32>, tensor<197x197xf32>) -> tensor<1x12x197x64xf32>
    nn.yield %y : tensor<1x12x197x64xf32>
  }
  %2 = nn.fusion(%l) : (tensor<4x16x2000x100xf32>) -> tensor<4x16x2000x100xf32> {
  ^bb0(%x: tensor<4x16x2000x100xf32>):
    %y = nn.attention %x, %x, %x {scale = 0.1 : f32, causal} : (tensor<4x16x2000x100xf32>, tensor<4x16x2000x100xf32>, tensor<4x16x2000x100xf32>) -> tensor<4x16x2000x100xf32>
    nn.yield %y : tensor<4x16x2000x100xf32>
  }
  return
}

// CHECK: // k0 #cuda.attention<tile_m = 128, tile_n = 64, rows_per_warp = 32> grid 1536x1x1 block 128 shared 104448
// Few query rows: two sets of warps split the keys between them.
// CHECK: // k1 #cuda.attention<tile_m = 32, tile_n = 64, splits = 2, rows_per_warp = 16> grid 84x1x1 block 128 shared 147968
// In shared memory, query and key rows of 100 elements are padded to 104, and
// value rows to 128.
// CHECK: // k2 #cuda.attention<tile_m = 64, tile_n = 32, rows_per_warp = 16> grid 2048x1x1 block 128 shared 89088

// Less shared memory holds tiles of fewer keys.
// SMALL: // k0 #cuda.attention<tile_m = 128, tile_n = 32, rows_per_warp = 32>
// SMALL: // k1 #cuda.attention<tile_m = 64, tile_n = 32, splits = 2, rows_per_warp = 16>

// CHECK-LABEL: struct k0_problem {
// CHECK-NEXT: using T = float;
// CHECK-NEXT: bool tf32 = true;
// CHECK-NEXT: using Mask = void;
// CHECK: using Q = frit::Strides<1179648, 64, 3072>;
// CHECK: using O = frit::Strides<393216, 64, 1024>;
// CHECK: frit::attention<k0_problem>(x0, x0 + 1024, x0 + 2048, nullptr, y0);

// CHECK-LABEL: struct k1_problem {
// CHECK-NEXT: using T = float;
// CHECK-NEXT: bool tf32 = false;
// CHECK-NEXT: using Mask = float;
