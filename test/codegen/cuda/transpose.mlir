// RUN: frit-opt %s --print-cuda -o /dev/null | FileCheck %s

func.func @transpose(%x: tensor<2x64x56x56xf32>, %q: tensor<2x128x12x64xf16>) {
  // Channels last, and a cast on the way.
  %0 = nn.fusion(%x) : (tensor<2x64x56x56xf32>) -> tensor<2x56x56x64xf16> {
  ^bb0(%a: tensor<2x64x56x56xf32>):
    %1 = nn.transpose %a {perm = array<i64: 0, 2, 3, 1>} : (tensor<2x64x56x56xf32>) -> tensor<2x56x56x64xf32>
    %2 = nn.cast %1 {to = f16} : (tensor<2x56x56x64xf32>) -> tensor<2x56x56x64xf16>
    nn.yield %2 : tensor<2x56x56x64xf16>
  }
  // The innermost dimension stays, so vectors stay vectors.
  %3 = nn.fusion(%q) : (tensor<2x128x12x64xf16>) -> tensor<2x12x128x64xf16> {
  ^bb0(%a: tensor<2x128x12x64xf16>):
    %1 = nn.transpose %a {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x128x12x64xf16>) -> tensor<2x12x128x64xf16>
    nn.yield %1 : tensor<2x12x128x64xf16>
  }
  return
}

// CHECK: // k0 #nn.schedule<skeleton = transpose> grid 98x1x1 block 256
// CHECK: // k1 #nn.schedule<skeleton = map, vector = 2>

// CHECK: float load(size_t i) const {
// CHECK-NEXT: return x0[i];
// CHECK: void store(size_t i, float value) const {
// CHECK-NEXT: frit::store(y0[i], value);
// CHECK: frit::transpose<k0_body, 64>({x0, y0}, 2, 64, 3136);

// CHECK: frit::loadVector(a0, x0 + i / 98304 * 98304 + i / 64 % 128 * 768 + i / 8192 % 12 * 64 + i % 64);
