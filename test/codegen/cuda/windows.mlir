// RUN: frit-opt %s --print-cuda -o /dev/null | FileCheck %s

// Windows of neighbouring outputs in a row: each input row is read once, most
// of it as a vector, and only the element that padding shifts by itself.
func.func @windows(%x: tensor<16x64x32x64xf16>, %y: tensor<16x64x32x64xf32>,
                   %z: tensor<16x64x32x63xf16>) {
  %0 = nn.fusion(%x) : (tensor<16x64x32x64xf16>) -> tensor<16x64x16x32xf16> {
  ^bb0(%a: tensor<16x64x32x64xf16>):
    %1 = nn.max_pool %a {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, shape = array<i64: 16, 32>} : (tensor<16x64x32x64xf16>) -> tensor<16x64x16x32xf16>
    %2 = nn.relu %1 : (tensor<16x64x16x32xf16>) -> tensor<16x64x16x32xf16>
    nn.yield %2 : tensor<16x64x16x32xf16>
  }
  %3 = nn.fusion(%y) : (tensor<16x64x32x64xf32>) -> tensor<16x64x16x32xf32> {
  ^bb0(%a: tensor<16x64x32x64xf32>):
    %1 = nn.avg_pool %a {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, shape = array<i64: 16, 32>} : (tensor<16x64x32x64xf32>) -> tensor<16x64x16x32xf32>
    nn.yield %1 : tensor<16x64x16x32xf32>
  }
  // Rows of odd length cannot be read as vectors.
  %4 = nn.fusion(%z) : (tensor<16x64x32x63xf16>) -> tensor<16x64x16x32xf16> {
  ^bb0(%a: tensor<16x64x32x63xf16>):
    %1 = nn.max_pool %a {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, shape = array<i64: 16, 32>} : (tensor<16x64x32x63xf16>) -> tensor<16x64x16x32xf16>
    nn.yield %1 : tensor<16x64x16x32xf16>
  }
  return
}

// CHECK: // k0 #cuda.windows<width = 4, threads = 256>
// CHECK: // k1 #cuda.windows<width = 2, threads = 256>
// CHECK: // k2 #cuda.generic<

// CHECK-LABEL: struct k0_body {
// CHECK: unsigned group = i / 4;
// CHECK-COUNT-3: frit::loadVector(w{{[0-9]}}, x0 + group
// CHECK-NOT: loadVector
// CHECK-COUNT-3: frit::load(x0[
// CHECK-NOT: frit::load(
// CHECK: out0[3] = frit::maximum(
// CHECK: frit::storeVector(y0 + i, out0);
// CHECK: frit::map<4>(k0_body{x0, y0}, 524288u);

// CHECK-LABEL: struct k1_body {
// CHECK: float w0[4];
// CHECK: float w1[4];
// CHECK: out0[1] = (0.0f + w0[2] + w0[3] + w1[2] + w1[3]) / 4.0f;

// CHECK-LABEL: struct k2_body {
// CHECK: for (int k0 = 0; k0 < 3; ++k0)
