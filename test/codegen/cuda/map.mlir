// RUN: frit-opt %s --print-cuda -o /dev/null | FileCheck %s

// Elementwise fusions: contiguous operands are loaded in vectors, broadcast
// ones once or along the row, and everything is computed in registers. Small
// operands that no other kernel writes are prefetched before the preceding
// kernels end.
func.func @map(%x: tensor<4x1024x768xf16>, %bias: tensor<768xf16>,
               %scale: tensor<4x1024x1xf16>, %odd: tensor<7x3xf32>,
               %other: tensor<7x1xf32>, %i: tensor<1x9xi8>,
               %w: tensor<3000x768xf16>, %ids: tensor<4x1024xi64>,
               %n: tensor<1x9xi32>, %f: tensor<1x9xf64>) {
  %0 = nn.fusion(%x, %bias, %scale) {plan.constant_inputs = array<i64: 0, 1>} : (tensor<4x1024x768xf16>, tensor<768xf16>, tensor<4x1024x1xf16>) -> tensor<4x1024x768xf16> {
  ^bb0(%a: tensor<4x1024x768xf16>, %b: tensor<768xf16>, %c: tensor<4x1024x1xf16>):
    %1 = nn.add %a, %b : (tensor<4x1024x768xf16>, tensor<768xf16>) -> tensor<4x1024x768xf16>
    %2 = nn.gelu %1 : (tensor<4x1024x768xf16>) -> tensor<4x1024x768xf16>
    %3 = nn.mul %2, %c : (tensor<4x1024x768xf16>, tensor<4x1024x1xf16>) -> tensor<4x1024x768xf16>
    nn.yield %3 : tensor<4x1024x768xf16>
  }
  // Two outputs of sizes that no vector width divides.
  %4:2 = nn.fusion(%odd, %other) : (tensor<7x3xf32>, tensor<7x1xf32>) -> (tensor<7x3xf32>, tensor<7x3xi1>) {
  ^bb0(%a: tensor<7x3xf32>, %b: tensor<7x1xf32>):
    %1 = nn.sub %a, %b : (tensor<7x3xf32>, tensor<7x1xf32>) -> tensor<7x3xf32>
    %c = nn.constant dense<0x7F800000> : tensor<f32>
    %2 = nn.less %1, %c : (tensor<7x3xf32>, tensor<f32>) -> tensor<7x3xi1>
    nn.yield %1, %2 : tensor<7x3xf32>, tensor<7x3xi1>
  }
  // Small integers wrap around in their own type.
  %5 = nn.fusion(%i) : (tensor<1x9xi8>) -> tensor<1x9xi8> {
  ^bb0(%a: tensor<1x9xi8>):
    %1 = nn.add %a, %a : (tensor<1x9xi8>, tensor<1x9xi8>) -> tensor<1x9xi8>
    %2 = nn.mul %1, %a : (tensor<1x9xi8>, tensor<1x9xi8>) -> tensor<1x9xi8>
    nn.yield %2 : tensor<1x9xi8>
  }
  // An embedding: all elements of a vector are in the same row.
  %6 = nn.fusion(%w, %ids) : (tensor<3000x768xf16>, tensor<4x1024xi64>) -> tensor<4x1024x768xf16> {
  ^bb0(%a: tensor<3000x768xf16>, %b: tensor<4x1024xi64>):
    %1 = nn.gather %a, %b : (tensor<3000x768xf16>, tensor<4x1024xi64>) -> tensor<4x1024x768xf16>
    nn.yield %1 : tensor<4x1024x768xf16>
  }
  // The shift count is a ?: expression, which needs parentheses in C++.
  %7 = nn.fusion(%n) : (tensor<1x9xi32>) -> tensor<1x9xi32> {
  ^bb0(%a: tensor<1x9xi32>):
    %1 = nn.bit_shift %a, %a {direction = "LEFT"} : (tensor<1x9xi32>, tensor<1x9xi32>) -> tensor<1x9xi32>
    nn.yield %1 : tensor<1x9xi32>
  }
  // Unsigned integers are kept in signed types and converted as unsigned.
  %8:3 = nn.fusion(%f) : (tensor<1x9xf64>) -> (tensor<1x9xui8>, tensor<1x9xui32>, tensor<1x9xui64>) {
  ^bb0(%a: tensor<1x9xf64>):
    %1 = nn.cast %a {to = ui8} : (tensor<1x9xf64>) -> tensor<1x9xui8>
    %2 = nn.cast %a {to = ui32} : (tensor<1x9xf64>) -> tensor<1x9xui32>
    %3 = nn.cast %a {to = ui64} : (tensor<1x9xf64>) -> tensor<1x9xui64>
    nn.yield %1, %2, %3 : tensor<1x9xui8>, tensor<1x9xui32>, tensor<1x9xui64>
  }
  return
}

// CHECK: // k0 #cuda.map<vector = 8, threads = 256> grid 1536x1x1 block 256 scalars 3145728
// CHECK: // k1 #cuda.generic<threads = 64>
// CHECK: #include "frit/map.cuh"
// CHECK-NOT: #include

// CHECK-LABEL: struct k0_body {
// CHECK-NEXT: const frit::f16 *x0;
// CHECK-NEXT: const frit::f16 *x1;
// CHECK-NEXT: const frit::f16 *x2;
// CHECK-NEXT: frit::f16 *y0;
// CHECK: __device__ void operator()(unsigned i) const {
// CHECK-NEXT: float a0[8];
// CHECK-NEXT: frit::loadVector(a0, x0 + i);
// CHECK-NEXT: float a1[8];
// CHECK-NEXT: frit::loadVector(a1, x1 + i % 768);
// CHECK-NEXT: float [[ROW:v[0-9]+]] = frit::load(x2[i / 768]);
// CHECK: for (int v = 0; v < 8; ++v) {
// CHECK-NEXT: out0[v] = frit::geluTo16Bits(a0[v] + a1[v]) * [[ROW]];
// CHECK: frit::storeVector(y0 + i, out0);
// CHECK: extern "C" __global__ void __launch_bounds__(256)
// CHECK-NEXT: k0(const frit::f16 *x0, const frit::f16 *x1, const frit::f16 *x2, frit::f16 *y0, unsigned n0) {
// CHECK-NEXT: frit::pdlTrigger();
// CHECK-NEXT: frit::prefetchL2(x1, 1536);
// CHECK-NEXT: frit::pdlWait();
// CHECK-NEXT: frit::map<8>(k0_body{x0, x1, x2, y0}, n0);

// CHECK-LABEL: struct k1_body {
// CHECK: frit::boolean *y1;
// CHECK: float [[DIFFERENCE:v[0-9]+]] = x0[i] - x1[i / 3];
// CHECK-NEXT: y0[i] = [[DIFFERENCE]];
// CHECK-NEXT: frit::store(y1[i], [[DIFFERENCE]] < INFINITY);

// CHECK-LABEL: struct k2_body {
// CHECK: y0[i] = int8_t(int8_t(v0 + v0) * v0);

// CHECK-LABEL: struct k3_body {
// CHECK: int64_t v0 = x1[i / 768];
// CHECK-NEXT: int v1 = frit::minimum<int64_t>(frit::maximum<int64_t>(v0 < 0 ? v0 + 3000 : v0, 0), 2999);
// CHECK: frit::loadVector(a0, x0 + i % 768 + v1 * 768);
// CHECK-NEXT: frit::storeVector(y0 + i, a0);

// CHECK-LABEL: struct k4_body {
// CHECK: y0[i] = v1 ? int(unsigned(v0) << (v1 ? v0 : 0)) : 0;

// CHECK-LABEL: struct k5_body {
// CHECK-DAG: int8_t(uint8_t(
// CHECK-DAG: int(unsigned(
// CHECK-DAG: int64_t(uint64_t(
