// RUN: frit-opt %s --print-cuda -o /dev/null | FileCheck %s

// The gradient of an RMS norm with those of its scale and of a bias: the row's
// inputs are staged, the sums' terms are computed beside what is stored.
// CHECK: // k0 #cuda.row_columns<per_thread = 24, vector = 4, threads = 384> grid 128x1x1 block 384
// CHECK-LABEL: struct k0_body {
// CHECK: static void forInputs(Self &self, const Visit &visit) {
// CHECK-NEXT: visit(self.x0, 0);
// CHECK-NEXT: visit(self.x1, 2);
// CHECK-NEXT: }
// CHECK-NEXT: static constexpr int kStagedBytes = 4;
// CHECK-NEXT: static constexpr int kReductions = 1;
// CHECK: RowValues valuesOf(const float (&r)[1], unsigned row) const {
// CHECK: static constexpr int kSums = 2;
// CHECK: void add(const Element (&e)[4], const float (&r)[1], unsigned row, unsigned col, const RowValues &values, float (&sums)[kSums][4]) const {
// CHECK: sums[0][v] += e[v].a0 * e[v].a2 * values.a1;
// CHECK-NEXT: sums[1][v] +=
// CHECK: void storeSum(float x, unsigned part, unsigned col) const {
// CHECK-NEXT: if constexpr (S == 0)
// CHECK-NEXT: y1[part * 768 + col] = x;
// CHECK-NEXT: if constexpr (S == 1)
// CHECK-NEXT: y2[part * 768 + col] = x;
// CHECK: frit::storeVector(y0 + row * 768 + col, out0);
// CHECK: frit::rowColumns<k0_body, 24, 4, 384, 768>({x0, x1, x2, x3, y0, y1, y2}, 128);
func.func @norm(%dy: tensor<16384x768xbf16>, %x: tensor<16384x768xbf16>, %w: tensor<768xf32>, %f: tensor<16384x1xf32>) {
  %0:3 = nn.fusion(%dy, %x, %w, %f) : (tensor<16384x768xbf16>, tensor<16384x768xbf16>, tensor<768xf32>, tensor<16384x1xf32>) -> (tensor<16384x768xbf16>, tensor<128x1x768xf32>, tensor<128x1x768xf32>) {
  ^bb0(%a: tensor<16384x768xbf16>, %b: tensor<16384x768xbf16>, %c: tensor<768xf32>, %d: tensor<16384x1xf32>):
    %1 = nn.cast %a {to = f32} : (tensor<16384x768xbf16>) -> tensor<16384x768xf32>
    %2 = nn.cast %b {to = f32} : (tensor<16384x768xbf16>) -> tensor<16384x768xf32>
    %3 = nn.mul %1, %c : (tensor<16384x768xf32>, tensor<768xf32>) -> tensor<16384x768xf32>
    %4 = nn.mul %3, %2 : (tensor<16384x768xf32>, tensor<16384x768xf32>) -> tensor<16384x768xf32>
    %5 = nn.reduce %4 {axes = array<i64: 1>, kind = #nn<combiner sum>} : (tensor<16384x768xf32>) -> tensor<16384x1xf32>
    %6 = nn.mul %5, %d : (tensor<16384x1xf32>, tensor<16384x1xf32>) -> tensor<16384x1xf32>
    %7 = nn.mul %2, %6 : (tensor<16384x768xf32>, tensor<16384x1xf32>) -> tensor<16384x768xf32>
    %8 = nn.sub %3, %7 : (tensor<16384x768xf32>, tensor<16384x768xf32>) -> tensor<16384x768xf32>
    %9 = nn.cast %8 {storage, to = bf16} : (tensor<16384x768xf32>) -> tensor<16384x768xbf16>
    %10 = nn.reshape %1 {shape = array<i64: 128, 128, 768>} : (tensor<16384x768xf32>) -> tensor<128x128x768xf32>
    %11 = nn.reshape %b {shape = array<i64: 128, 128, 768>} : (tensor<16384x768xbf16>) -> tensor<128x128x768xbf16>
    %12 = nn.cast %11 {to = f32} : (tensor<128x128x768xbf16>) -> tensor<128x128x768xf32>
    %13 = nn.reshape %d {shape = array<i64: 128, 128, 1>} : (tensor<16384x1xf32>) -> tensor<128x128x1xf32>
    %14 = nn.mul %10, %12 : (tensor<128x128x768xf32>, tensor<128x128x768xf32>) -> tensor<128x128x768xf32>
    %15 = nn.mul %14, %13 : (tensor<128x128x768xf32>, tensor<128x128x1xf32>) -> tensor<128x128x768xf32>
    %16 = nn.reduce %15 {axes = array<i64: 1>, kind = #nn<combiner sum>} : (tensor<128x128x768xf32>) -> tensor<128x1x768xf32>
    %17 = nn.reshape %9 {shape = array<i64: 128, 128, 768>} : (tensor<16384x768xbf16>) -> tensor<128x128x768xbf16>
    %18 = nn.cast %17 {to = f32} : (tensor<128x128x768xbf16>) -> tensor<128x128x768xf32>
    %19 = nn.reduce %18 {axes = array<i64: 1>, kind = #nn<combiner sum>} : (tensor<128x128x768xf32>) -> tensor<128x1x768xf32>
    nn.yield %9, %16, %19 : tensor<16384x768xbf16>, tensor<128x1x768xf32>, tensor<128x1x768xf32>
  }
  return
}
