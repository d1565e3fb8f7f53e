// The gradient of attention: operands are views of the projection, gradients
// are written side by side, and delta is read where a row's heads are
// neighbours.
// RUN: frit-opt %s --print-cuda=arch=sm_90a -o /dev/null | FileCheck %s

// CHECK:       // k0 #cuda.wgmma_attention_gradient<stages = 6> grid 32x1x1 block 384
// CHECK-NEXT:  // m0 of 0: dims 64x200x4x4, strides 1536x128x307200, box 64x64x1x1
// CHECK:       // m6 of 4: dims 64x200x4x4, strides 1536x128x307200, box 64x16x1x1
// CHECK:       // k1 #cuda.wgmma_attention_gradient<stages = 3, blocks = 3> grid 3x1x1
// CHECK:       struct k0_problem {
// CHECK-NEXT:    using T = frit::bf16;
// CHECK-NEXT:    static constexpr int batch = 4, heads = 4, groups = 4;
// CHECK-NEXT:    static constexpr int queries = 200, keys = 200, size = 64;
// CHECK-NEXT:    static constexpr float scale = 0.125f;
// CHECK-NEXT:    static constexpr bool causal = true;
// CHECK-NEXT:    using Mask = void;
// CHECK-NEXT:    using M = frit::Strides<0, 0, 0, 0>;
// CHECK-NEXT:    using Stats = frit::Strides<800, 200, 1>;
// CHECK-NEXT:    using Delta = frit::Strides<800, 1, 4>;
// CHECK-NEXT:    using Q = frit::Strides<153600, 64, 768>;
// CHECK-NEXT:    using K = frit::Strides<153600, 64, 768>;
// CHECK-NEXT:    using V = frit::Strides<153600, 64, 768>;
// CHECK-NEXT:    using Dy = frit::Strides<51200, 64, 256>;
// CHECK-NEXT:    using Dq = frit::Strides<153600, 64, 768>;
// CHECK-NEXT:    using Dk = frit::Strides<153600, 64, 768>;
// CHECK-NEXT:    using Dv = frit::Strides<153600, 64, 768>;
// CHECK-NEXT:    static constexpr bool sumsColumns = false;
// CHECK-NEXT:    static constexpr int stages = 6;
// CHECK:       __launch_bounds__(384, 1)
// CHECK:       const frit::GradientTensors<k0_problem> tensors = {x0, x0 + 256, x0 + 512, x2, y0, y0 + 256, y0 + 512, x3, x1, nullptr, nullptr};
// CHECK:       frit::wgmmaAttentionGradient<k0_problem>({&m0, &m1, &m2, &m3, &m4, &m5, &m6}, tensors);
// CHECK:       frit::attentionGradientFloor(tensors);

// A schedule by hand, heads that share keys, and a mask of keys.
// CHECK:       struct k1_problem {
// CHECK:         heads = 2, groups = 1;
// CHECK:         using Mask = float;
// CHECK-NEXT:    using M = frit::Strides<300, 0, 0, 1>;
// CHECK:         static constexpr int stages = 3;
// CHECK:         tensors = {x0, x1, x1, x0, y0, y0 + 11200, y0 + 35200, x2, x2, x3, nullptr};

// The sums of columns are a second result.
// CHECK:       struct k2_problem {
// CHECK:         static constexpr bool sumsColumns = true;
// CHECK:         tensors = {x0, x0, x0, x0, y0, y0 + 128, y0 + 256, x1, x1, nullptr, y1};
func.func @main(%qkv: tensor<4x200x12x64xbf16>, %delta: tensor<4x200x4xf32>,
                %dy: tensor<4x200x4x64xbf16>, %stats: tensor<4x4x200xf32>,
                %x: tensor<2x2x70x40xf16>, %k: tensor<2x1x300x40xf16>, %s: tensor<2x2x70xf32>, %m: tensor<2x1x1x300xf32>,
                %y: tensor<2x2x32x64xbf16>, %t: tensor<2x2x32xf32>) {
  %0 = nn.fusion(%qkv, %delta, %dy, %stats) : (tensor<4x200x12x64xbf16>, tensor<4x200x4xf32>, tensor<4x200x4x64xbf16>, tensor<4x4x200xf32>) -> tensor<4x200x12x64xbf16> {
  ^bb0(%a: tensor<4x200x12x64xbf16>, %b: tensor<4x200x4xf32>, %c: tensor<4x200x4x64xbf16>, %s0: tensor<4x4x200xf32>):
    %1 = nn.slice %a {sizes = array<i64: 4, 200, 4, 64>, starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : (tensor<4x200x12x64xbf16>) -> tensor<4x200x4x64xbf16>
    %q0 = nn.transpose %1 {perm = array<i64: 0, 2, 1, 3>} : (tensor<4x200x4x64xbf16>) -> tensor<4x4x200x64xbf16>
    %2 = nn.slice %a {sizes = array<i64: 4, 200, 4, 64>, starts = array<i64: 0, 0, 4, 0>, steps = array<i64: 1, 1, 1, 1>} : (tensor<4x200x12x64xbf16>) -> tensor<4x200x4x64xbf16>
    %k0 = nn.transpose %2 {perm = array<i64: 0, 2, 1, 3>} : (tensor<4x200x4x64xbf16>) -> tensor<4x4x200x64xbf16>
    %3 = nn.slice %a {sizes = array<i64: 4, 200, 4, 64>, starts = array<i64: 0, 0, 8, 0>, steps = array<i64: 1, 1, 1, 1>} : (tensor<4x200x12x64xbf16>) -> tensor<4x200x4x64xbf16>
    %v0 = nn.transpose %3 {perm = array<i64: 0, 2, 1, 3>} : (tensor<4x200x4x64xbf16>) -> tensor<4x4x200x64xbf16>
    %d0 = nn.transpose %b {perm = array<i64: 0, 2, 1>} : (tensor<4x200x4xf32>) -> tensor<4x4x200xf32>
    %dy0 = nn.transpose %c {perm = array<i64: 0, 2, 1, 3>} : (tensor<4x200x4x64xbf16>) -> tensor<4x4x200x64xbf16>
    %g = nn.attention_grad %q0, %k0, %v0, %d0, %dy0, %s0 {causal, scale = 0.125 : f32} : (tensor<4x4x200x64xbf16>, tensor<4x4x200x64xbf16>, tensor<4x4x200x64xbf16>, tensor<4x4x200xf32>, tensor<4x4x200x64xbf16>, tensor<4x4x200xf32>) -> tensor<4x200x12x64xbf16>
    nn.yield %g : tensor<4x200x12x64xbf16>
  }
  %1 = nn.fusion(%x, %k, %s, %m) schedule(#cuda.wgmma_attention_gradient<stages = 3, blocks = 3>) : (tensor<2x2x70x40xf16>, tensor<2x1x300x40xf16>, tensor<2x2x70xf32>, tensor<2x1x1x300xf32>) -> tensor<1480x40xf16> {
  ^bb0(%a: tensor<2x2x70x40xf16>, %b: tensor<2x1x300x40xf16>, %c: tensor<2x2x70xf32>, %d: tensor<2x1x1x300xf32>):
    %g = nn.attention_grad %a, %b, %b, %c, %a, %c, %d {scale = 0.125 : f32} : (tensor<2x2x70x40xf16>, tensor<2x1x300x40xf16>, tensor<2x1x300x40xf16>, tensor<2x2x70xf32>, tensor<2x2x70x40xf16>, tensor<2x2x70xf32>, tensor<2x1x1x300xf32>) -> tensor<1480x40xf16>
    nn.yield %g : tensor<1480x40xf16>
  }
  %2:2 = nn.fusion(%y, %t) : (tensor<2x2x32x64xbf16>, tensor<2x2x32xf32>) -> (tensor<2x32x6x64xbf16>, tensor<4x384xf32>) {
  ^bb0(%c: tensor<2x2x32x64xbf16>, %d: tensor<2x2x32xf32>):
    %g = nn.attention_grad %c, %c, %c, %d, %c, %d {scale = 0.125 : f32} : (tensor<2x2x32x64xbf16>, tensor<2x2x32x64xbf16>, tensor<2x2x32x64xbf16>, tensor<2x2x32xf32>, tensor<2x2x32x64xbf16>, tensor<2x2x32xf32>) -> tensor<2x32x6x64xbf16>
    %r = nn.reshape %g {shape = array<i64: 64, 384>} : (tensor<2x32x6x64xbf16>) -> tensor<64x384xbf16>
    %p = nn.column_sums %r {height = 16 : si64} : (tensor<64x384xbf16>) -> tensor<4x384xf32>
    nn.yield %g, %p : tensor<2x32x6x64xbf16>, tensor<4x384xf32>
  }
  return
}
