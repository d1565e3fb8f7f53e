// RUN: frit-opt %s --print-cuda -o /dev/null | FileCheck %s

// Functions of the special function unit (SFU) are emitted as such, with no
// more precision than the stored type has.
func.func @formulas(%h: tensor<1024x1024xf16>, %x: tensor<1024x1024xf32>,
                    %p: tensor<4x35x35x288xf16>,
                    %c: tensor<128x64x112x111xf16>) {
  // An exact GELU is computed to the precision of its result type.
  %0 = nn.fusion(%h) : (tensor<1024x1024xf16>) -> tensor<1024x1024xf16> {
  ^bb0(%a: tensor<1024x1024xf16>):
    %1 = nn.gelu %a : (tensor<1024x1024xf16>) -> tensor<1024x1024xf16>
    nn.yield %1 : tensor<1024x1024xf16>
  }
  %2 = nn.fusion(%x) : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  ^bb0(%a: tensor<1024x1024xf32>):
    %1 = nn.gelu %a : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    nn.yield %1 : tensor<1024x1024xf32>
  }
  // (1 + tanh(x)) / 2 = logistic(2x).
  %3 = nn.fusion(%x) : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  ^bb0(%a: tensor<1024x1024xf32>):
    %1 = nn.gelu %a {approximate = "tanh"} : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    nn.yield %1 : tensor<1024x1024xf32>
  }
  %4 = nn.fusion(%x) : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  ^bb0(%a: tensor<1024x1024xf32>):
    %1 = nn.silu %a : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    nn.yield %1 : tensor<1024x1024xf32>
  }
  // All lanes skip padding together, and one division by the count serves all
  // of them.
  %5 = nn.fusion(%p) : (tensor<4x35x35x288xf16>) -> tensor<4x35x35x288xf16> {
  ^bb0(%a: tensor<4x35x35x288xf16>):
    %1 = nn.avg_pool %a {window = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, shape = array<i64: 35, 35>, channels_last} : (tensor<4x35x35x288xf16>) -> tensor<4x35x35x288xf16>
    nn.yield %1 : tensor<4x35x35x288xf16>
  }
  // Rows of odd length cannot be read as vectors. Each thread computes two
  // neighbours, which one instruction stores.
  %6 = nn.fusion(%c) : (tensor<128x64x112x111xf16>) -> tensor<128x64x56x56xf16> {
  ^bb0(%a: tensor<128x64x112x111xf16>):
    %1 = nn.max_pool %a {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, shape = array<i64: 56, 56>} : (tensor<128x64x112x111xf16>) -> tensor<128x64x56x56xf16>
    nn.yield %1 : tensor<128x64x56x56xf16>
  }
  // So is its slope.
  %7 = nn.fusion(%h) : (tensor<1024x1024xf16>) -> tensor<1024x1024xf16> {
  ^bb0(%a: tensor<1024x1024xf16>):
    %1 = nn.gelu_grad %a, %a : (tensor<1024x1024xf16>, tensor<1024x1024xf16>) -> tensor<1024x1024xf16>
    nn.yield %1 : tensor<1024x1024xf16>
  }
  %8 = nn.fusion(%x) : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  ^bb0(%a: tensor<1024x1024xf32>):
    %1 = nn.gelu_grad %a, %a : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    nn.yield %1 : tensor<1024x1024xf32>
  }
  %9 = nn.fusion(%x) : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  ^bb0(%a: tensor<1024x1024xf32>):
    %1 = nn.gelu_grad %a, %a {approximate = "tanh"} : (tensor<1024x1024xf32>, tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    nn.yield %1 : tensor<1024x1024xf32>
  }
  // Rounding to a multiple of a number needs no division.
  %10 = nn.fusion(%x) : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  ^bb0(%a: tensor<1024x1024xf32>):
    %s = nn.constant dense<0.3> : tensor<f32>
    %1 = nn.div %a, %s : (tensor<1024x1024xf32>, tensor<f32>) -> tensor<1024x1024xf32>
    %r = nn.round %1 : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    nn.yield %r : tensor<1024x1024xf32>
  }
  return
}

// CHECK: // k4 #cuda.generic<vector = 8, threads = 256>
// CHECK: // k5 #cuda.generic<vector = 2, threads = 256>

// CHECK: out0[v] = frit::geluTo16Bits(a0[v]);

// CHECK-LABEL: struct k1_body {
// CHECK: out0[v] = 0.5f * a0[v] * (1.0f + frit::erf(a0[v] * 0.70710677f));

// CHECK-LABEL: struct k2_body {
// CHECK: float [[TWICE:v[0-9]+]] = 2.0f * (0.7978846f * frit::fma(0.044715f * a0[v] * a0[v], a0[v], a0[v]));
// CHECK-NEXT: out0[v] = a0[v] * frit::logistic([[TWICE]]);

// CHECK-LABEL: struct k3_body {
// CHECK: out0[v] = a0[v] * frit::logistic(a0[v]);

// CHECK-LABEL: struct k4_body {
// CHECK: frit::loadVector(a0, x0 +
// CHECK-NEXT: if (v0 >= 0 && v0 < 35 && (v1 >= 0 && v1 < 35)) {
// CHECK-NEXT: #pragma unroll
// CHECK-NEXT: for (int v = 0; v < 8; ++v) {
// CHECK-NEXT: r0[v] += a0[v];
// CHECK: float [[SHARE:v[0-9]+]] = 1.0f / float(
// CHECK: out0[v] = r0[v] * [[SHARE]];

// CHECK-LABEL: struct k5_body {
// CHECK: r0[v] = frit::maximum(r0[v], frit::load(x0[
// CHECK: frit::storeVector(y0 + i, out0);

// CHECK-LABEL: struct k6_body {
// CHECK: out0[v] = a0[v] * frit::geluSlopeTo16Bits(a0[v]);

// CHECK-LABEL: struct k7_body {
// CHECK: frit::erf(

// CHECK-LABEL: struct k8_body {
// CHECK: frit::logistic(

// CHECK-LABEL: struct k9_body {
// CHECK: out0[v] = frit::roundQuotient(a0[v], 0.3f, 3.3333333f);
