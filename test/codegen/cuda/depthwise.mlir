// RUN: frit-opt %s --print-cuda -o /dev/null | FileCheck %s

// Any elementwise operators after a depthwise convolution are fused into its
// kernel. Large windows get fewer channels per thread, small images shorter
// strips.
func.func @depthwise(%x: tensor<32x57x56x144xf16>, %w: tensor<3x3x144xf16>,
                     %b: tensor<144xf16>, %r: tensor<32x57x56x144xf16>,
                     %y: tensor<1x14x14x384xbf16>, %v: tensor<7x7x384xbf16>,
                     %f: tensor<2x9x9x5xf32>, %u: tensor<3x2x5xf32>,
                     %l: tensor<1x900x4x8xf16>, %t: tensor<3x3x8xf16>,
                     %q: tensor<2x9x9x8xui8>, %k: tensor<8x3x3x1xi8>,
                     %qz: tensor<ui8>, %kz: tensor<i8>) {
  %0 = nn.fusion(%x, %w, %b, %r) : (tensor<32x57x56x144xf16>, tensor<3x3x144xf16>, tensor<144xf16>, tensor<32x57x56x144xf16>) -> tensor<32x57x56x144xf16> {
  ^bb0(%a: tensor<32x57x56x144xf16>, %c: tensor<3x3x144xf16>, %d: tensor<144xf16>, %e: tensor<32x57x56x144xf16>):
    %1 = nn.depthwise_conv %a, %c {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<32x57x56x144xf16>, tensor<3x3x144xf16>) -> tensor<32x57x56x144xf16>
    %2 = nn.add %1, %d : (tensor<32x57x56x144xf16>, tensor<144xf16>) -> tensor<32x57x56x144xf16>
    %3 = nn.silu %2 : (tensor<32x57x56x144xf16>) -> tensor<32x57x56x144xf16>
    %4 = nn.add %3, %e : (tensor<32x57x56x144xf16>, tensor<32x57x56x144xf16>) -> tensor<32x57x56x144xf16>
    nn.yield %4 : tensor<32x57x56x144xf16>
  }
  %5 = nn.fusion(%y, %v) : (tensor<1x14x14x384xbf16>, tensor<7x7x384xbf16>) -> tensor<1x14x14x384xbf16> {
  ^bb0(%a: tensor<1x14x14x384xbf16>, %c: tensor<7x7x384xbf16>):
    %1 = nn.depthwise_conv %a, %c {strides = array<i64: 1, 1>, pads = array<i64: 3, 3, 3, 3>, dilations = array<i64: 1, 1>} : (tensor<1x14x14x384xbf16>, tensor<7x7x384xbf16>) -> tensor<1x14x14x384xbf16>
    nn.yield %1 : tensor<1x14x14x384xbf16>
  }
  %6 = nn.fusion(%f, %u) : (tensor<2x9x9x5xf32>, tensor<3x2x5xf32>) -> tensor<2x6x4x5xf32> {
  ^bb0(%a: tensor<2x9x9x5xf32>, %c: tensor<3x2x5xf32>):
    %1 = nn.depthwise_conv %a, %c {strides = array<i64: 1, 2>, pads = array<i64: 1, 0, 0, 1>, dilations = array<i64: 2, 2>} : (tensor<2x9x9x5xf32>, tensor<3x2x5xf32>) -> tensor<2x6x4x5xf32>
    nn.yield %1 : tensor<2x6x4x5xf32>
  }
  // Large windows are emitted as loops.
  %7 = nn.fusion(%l, %t) : (tensor<1x900x4x8xf16>, tensor<3x3x8xf16>) -> tensor<1x100x2x8xf16> {
  ^bb0(%a: tensor<1x900x4x8xf16>, %c: tensor<3x3x8xf16>):
    %1 = nn.depthwise_conv %a, %c {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 400, 1>} : (tensor<1x900x4x8xf16>, tensor<3x3x8xf16>) -> tensor<1x100x2x8xf16>
    nn.yield %1 : tensor<1x100x2x8xf16>
  }
  %8 = nn.fusion(%q, %k, %qz, %kz) : (tensor<2x9x9x8xui8>, tensor<8x3x3x1xi8>, tensor<ui8>, tensor<i8>) -> tensor<2x9x9x8xf32> {
  ^bb0(%a: tensor<2x9x9x8xui8>, %c: tensor<8x3x3x1xi8>, %d: tensor<ui8>, %e: tensor<i8>):
    %1 = nn.quantized_conv %a, %c, %d, %e {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 8 : i64} : (tensor<2x9x9x8xui8>, tensor<8x3x3x1xi8>, tensor<ui8>, tensor<i8>) -> tensor<2x9x9x8xi32>
    %2 = nn.cast %1 {to = f32} : (tensor<2x9x9x8xi32>) -> tensor<2x9x9x8xf32>
    nn.yield %2 : tensor<2x9x9x8xf32>
  }
  return
}

// CHECK: // k0 #cuda.depthwise<vector = 4, strip = 8, threads = 128> grid 4032x1x1 block 128
// CHECK: // k1 #cuda.depthwise<vector = 2, strip = 1, threads = 128> grid 294x1x1 block 128
// CHECK: // k2 #cuda.depthwise<vector = 1, strip = 1, threads = 128> grid 2x1x1 block 128
// CHECK: // k3 #cuda.generic<
// CHECK: // k4 #cuda.depthwise<vector =

// CHECK-LABEL: struct k0_body {
// CHECK: static constexpr int n = 32, h = 57, w = 56, c = 144;
// CHECK-NEXT: static constexpr int r = 3, s = 3, p = 57, q = 56;
// CHECK-NEXT: static constexpr int strideH = 1, strideW = 1, dilationH = 1, dilationW = 1;
// CHECK-NEXT: static constexpr int padTop = 1, padLeft = 1;
// CHECK: void store(const float (&sum)[4], unsigned i) const {
// CHECK-DAG: frit::loadVector({{a[0-9]+}}, x2 + i % 144);
// CHECK-DAG: frit::loadVector({{a[0-9]+}}, x3 + i);
// CHECK: sum[v] + a
// CHECK: frit::storeVector(y0 + i, out0);
// CHECK: frit::depthwise<4, 8, false>(k0_body{x0, x1, x2, x3, y0}, x0, x1);
// CHECK-LABEL: struct k1_body {
// CHECK: frit::depthwise<2, 1, false>(k1_body{x0, x1, y0}, x0, x1);
// CHECK-LABEL: struct k2_body {
// CHECK: static constexpr int strideH = 1, strideW = 2, dilationH = 2, dilationW = 2;
// CHECK: void store(const float (&sum)[1], unsigned i) const {

// Of bytes, the body says which are signed and has their zero points.
// CHECK-LABEL: struct k4_body {
// CHECK: static constexpr bool signedX = false;
// CHECK-NEXT: __device__ float zeroX() const { return uint8_t(x2[0]); }
// CHECK-NEXT: static constexpr bool signedW = true;
// CHECK-NEXT: __device__ float zeroW() const { return int8_t(x3[0]); }
// CHECK: out0[v] = float(int(sum[v]));
