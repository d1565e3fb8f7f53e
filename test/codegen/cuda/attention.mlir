// RUN: frit-opt %s --print-cuda=arch=sm_80 -o /dev/null | FileCheck %s
// RUN: frit-opt %s --print-cuda=arch=sm_86 -o /dev/null | FileCheck %s --check-prefix=SMALL
// RUN: frit-opt %s --print-cuda=arch=sm_90a -o /dev/null | FileCheck %s --check-prefix=HOPPER

// Data movement becomes strides: packed Q, K and V, heads that share keys,
// broadcast masks, and a result with concatenated heads.

func.func @attention(%qkv: tensor<2x197x3x12x64xf16>, %m: tensor<2x1x1x384xi1>,
                     %p: tensor<32x384x3x16x64xf16>,
                     %q: tensor<1x8x1000x128xbf16>, %k: tensor<1x2x1000x128xbf16>,
                     %a: tensor<1000x1000xf32>) {
  %0 = nn.fusion(%qkv) : (tensor<2x197x3x12x64xf16>) -> tensor<2x197x12x64xf16> {
  ^bb0(%x: tensor<2x197x3x12x64xf16>):
    %t = nn.transpose %x {perm = array<i64: 2, 0, 3, 1, 4>} : (tensor<2x197x3x12x64xf16>) -> tensor<3x2x12x197x64xf16>
    %s0 = nn.slice %t {starts = array<i64: 0, 0, 0, 0, 0>, sizes = array<i64: 1, 2, 12, 197, 64>, steps = array<i64: 1, 1, 1, 1, 1>} : (tensor<3x2x12x197x64xf16>) -> tensor<1x2x12x197x64xf16>
    %s1 = nn.slice %t {starts = array<i64: 1, 0, 0, 0, 0>, sizes = array<i64: 1, 2, 12, 197, 64>, steps = array<i64: 1, 1, 1, 1, 1>} : (tensor<3x2x12x197x64xf16>) -> tensor<1x2x12x197x64xf16>
    %s2 = nn.slice %t {starts = array<i64: 2, 0, 0, 0, 0>, sizes = array<i64: 1, 2, 12, 197, 64>, steps = array<i64: 1, 1, 1, 1, 1>} : (tensor<3x2x12x197x64xf16>) -> tensor<1x2x12x197x64xf16>
    %r0 = nn.reshape %s0 {shape = array<i64: 2, 12, 197, 64>} : (tensor<1x2x12x197x64xf16>) -> tensor<2x12x197x64xf16>
    %r1 = nn.reshape %s1 {shape = array<i64: 2, 12, 197, 64>} : (tensor<1x2x12x197x64xf16>) -> tensor<2x12x197x64xf16>
    %r2 = nn.reshape %s2 {shape = array<i64: 2, 12, 197, 64>} : (tensor<1x2x12x197x64xf16>) -> tensor<2x12x197x64xf16>
    %y = nn.attention %r0, %r1, %r2 {scale = 0.125 : f32} : (tensor<2x12x197x64xf16>, tensor<2x12x197x64xf16>, tensor<2x12x197x64xf16>) -> tensor<2x12x197x64xf16>
    %o = nn.transpose %y {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x12x197x64xf16>) -> tensor<2x197x12x64xf16>
    nn.yield %o : tensor<2x197x12x64xf16>
  }
  %1 = nn.fusion(%q, %k, %a) : (tensor<1x8x1000x128xbf16>, tensor<1x2x1000x128xbf16>, tensor<1000x1000xf32>) -> tensor<1x8x1000x128xbf16> {
  ^bb0(%x: tensor<1x8x1000x128xbf16>, %z: tensor<1x2x1000x128xbf16>, %b: tensor<1000x1000xf32>):
    %y = nn.attention %x, %z, %z, %b {scale = 0.088388 : f32, causal} : (tensor<1x8x1000x128xbf16>, tensor<1x2x1000x128xbf16>, tensor<1x2x1000x128xbf16>, tensor<1000x1000xf32>) -> tensor<1x8x1000x128xbf16>
    nn.yield %y : tensor<1x8x1000x128xbf16>
  }
  %2 = nn.fusion(%p, %m) : (tensor<32x384x3x16x64xf16>, tensor<2x1x1x384xi1>) -> tensor<2x16x384x64xf16> {
  ^bb0(%x: tensor<32x384x3x16x64xf16>, %b: tensor<2x1x1x384xi1>):
    %s = nn.slice %x {starts = array<i64: 4, 0, 1, 0, 0>, sizes = array<i64: 2, 384, 1, 16, 64>, steps = array<i64: 1, 1, 1, 1, 1>} : (tensor<32x384x3x16x64xf16>) -> tensor<2x384x1x16x64xf16>
    %r = nn.reshape %s {shape = array<i64: 2, 384, 16, 64>} : (tensor<2x384x1x16x64xf16>) -> tensor<2x384x16x64xf16>
    %t = nn.transpose %r {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x384x16x64xf16>) -> tensor<2x16x384x64xf16>
    %y = nn.attention %t, %t, %t, %b {scale = 0.125 : f32} : (tensor<2x16x384x64xf16>, tensor<2x16x384x64xf16>, tensor<2x16x384x64xf16>, tensor<2x1x1x384xi1>) -> tensor<2x16x384x64xf16>
    nn.yield %y : tensor<2x16x384x64xf16>
  }
  return
}

// CHECK: // k0 #cuda.attention<tile_m = 64, tile_n = 112, splits = 2, rows_per_warp = 16> grid 96x1x1 block 256 shared 73728
// CHECK: // k1 #cuda.attention<
// CHECK: // k2 #cuda.attention<
// Less shared memory holds tiles of fewer keys.
// SMALL: // k1 #cuda.attention<tile_m = 64, tile_n = 32, splits = 2, rows_per_warp = 16>

// CHECK-LABEL: struct k0_problem {
// CHECK-NEXT: using T = frit::f16;
// CHECK-NEXT: using Mask = void;
// CHECK-NEXT: int batch = 2, heads = 12, groups = 12;
// CHECK-NEXT: int queries = 197, keys = 197, size = 64, valueSize = 64;
// CHECK-NEXT: float scale = 0.125f;
// CHECK-NEXT: bool causal = false;
// CHECK: using Q = frit::Strides<453888, 64, 2304>;
// CHECK-NEXT: using K = frit::Strides<453888, 64, 2304>;
// CHECK-NEXT: using V = frit::Strides<453888, 64, 2304>;
// CHECK-NEXT: using O = frit::Strides<151296, 64, 768>;
// CHECK-NEXT: using M = frit::Strides<0, 0, 0, 0>;
// CHECK-NEXT: int tileM = 64, tileN = 112, splits = 2;
// CHECK-NEXT: int rowsPerWarp = 16;
// CHECK: __launch_bounds__(256)
// CHECK-NEXT: k0(const frit::f16 *x0, frit::f16 *y0) {
// CHECK-NEXT: frit::attention<k0_problem>(x0, x0 + 768, x0 + 1536, nullptr, y0);

// CHECK-LABEL: struct k1_problem {
// CHECK-NEXT: using T = frit::bf16;
// CHECK-NEXT: using Mask = float;
// CHECK-NEXT: int batch = 1, heads = 8, groups = 2;
// CHECK: bool causal = true;
// CHECK: using K = frit::Strides<0, 128000, 128>;
// CHECK: using M = frit::Strides<0, 0, 1000, 1>;
// CHECK: frit::attention<k1_problem>(x0, x1, x1, x2, y0);

// CHECK-LABEL: struct k2_problem {
// CHECK: using Mask = frit::boolean;
// CHECK: using M = frit::Strides<384, 0, 0, 1>;
// CHECK: frit::attention<k2_problem>(x0 + 4719616, x0 + 4719616, x0 + 4719616, x1, y0);

// sm_90a uses TMA and WGMMA; on other GPUs, the same source does without them.
// HOPPER: // k0 #cuda.wgmma_attention<tile_m = 64, tile_n = 128, splits = 2, stages = 2> grid 96x1x1 block 384 shared 108800
// HOPPER-NEXT: //   m0 of 0: dims 64x197x12x2, strides 4608x128x907776, box 64x64x1x1
// HOPPER-NEXT: //   m1 of 0: dims 64x197x12x2, strides 4608x128x907776, box 64x128x1x1
// HOPPER-NEXT: //   m2 of 0: dims 64x197x12x2, strides 4608x128x907776, box 64x128x1x1
// HOPPER-NEXT: //   m3 of 1: dims 64x197x12x2, strides 1536x128x302592, box 64x16x1x1
// HOPPER: // k1
// HOPPER-NEXT: //   m0 of 0: dims 128x1000x8x1
// HOPPER-NEXT: //   m1 of 1: dims 128x1000x2x1
// HOPPER-LABEL: struct k0_problem {
// HOPPER: int tileM = 64, tileN = 128, splits = 2;
// HOPPER-NEXT: int stages = 2, blocks = 1;
// HOPPER: __launch_bounds__(384, 1)
// HOPPER-NEXT: k0({{.*}}frit::TensorMap m3) {
// HOPPER-NEXT: #ifdef FRIT_HAS_WGMMA
// HOPPER-NEXT: frit::wgmmaAttention<k0_problem>(&m0, &m1, &m2, &m3, nullptr);
// HOPPER-NEXT: #else
// HOPPER-NEXT: frit::attentionFloor<k0_problem>(x0, x0 + 768, x0 + 1536, nullptr, y0);
