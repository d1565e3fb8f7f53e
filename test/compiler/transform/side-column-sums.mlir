// RUN: frit-opt %s --side-outputs | FileCheck %s

// The gradient of a product, and the sum of its columns in two steps.
// CHECK-LABEL: func.func @sum
// CHECK-NEXT:    %[[F:.*]]:2 = nn.fusion(%arg0, %arg1) : {{.*}} -> (tensor<4x64x96xbf16>, tensor<16x96xf32>)
// CHECK:           %[[M:.*]] = nn.matmul
// CHECK-NEXT:      %[[R:.*]] = nn.relu %[[M]]
// CHECK-NEXT:      %[[S:.*]] = nn.column_sums %[[R]] {height = 16 : si64} : (tensor<4x64x96xbf16>) -> tensor<16x96xf32>
// CHECK-NEXT:      nn.yield %[[R]], %[[S]]
// CHECK:         %[[T:.*]] = nn.fusion(%[[F]]#1) : (tensor<16x96xf32>) -> tensor<1x96xf32>
// CHECK:           nn.reduce %{{.*}} {axes = array<i64: 0>
// CHECK:         return %[[F]]#0, %[[T]]
func.func @sum(%a: tensor<4x64x32xbf16>, %b: tensor<32x96xbf16>) -> (tensor<4x64x96xbf16>, tensor<1x96xf32>) {
  %0 = nn.fusion(%a, %b) : (tensor<4x64x32xbf16>, tensor<32x96xbf16>) -> tensor<4x64x96xbf16> {
  ^bb0(%c: tensor<4x64x32xbf16>, %d: tensor<32x96xbf16>):
    %m = nn.matmul %c, %d : (tensor<4x64x32xbf16>, tensor<32x96xbf16>) -> tensor<4x64x96xbf16>
    %r = nn.relu %m : (tensor<4x64x96xbf16>) -> tensor<4x64x96xbf16>
    nn.yield %r : tensor<4x64x96xbf16>
  }
  %1 = nn.reshape %0 {shape = array<i64: 8, 32, 96>} : (tensor<4x64x96xbf16>) -> tensor<8x32x96xbf16>
  %2 = nn.fusion(%1) : (tensor<8x32x96xbf16>) -> tensor<8x1x96xf32> {
  ^bb0(%c: tensor<8x32x96xbf16>):
    %w = nn.cast %c {to = f32} : (tensor<8x32x96xbf16>) -> tensor<8x32x96xf32>
    %s = nn.reduce %w {axes = array<i64: 1>, kind = #nn<combiner sum>} : (tensor<8x32x96xf32>) -> tensor<8x1x96xf32>
    nn.yield %s : tensor<8x1x96xf32>
  }
  %3 = nn.reshape %2 {shape = array<i64: 8, 96>} : (tensor<8x1x96xf32>) -> tensor<8x96xf32>
  %4 = nn.fusion(%3) : (tensor<8x96xf32>) -> tensor<1x96xf32> {
  ^bb0(%c: tensor<8x96xf32>):
    %s = nn.reduce %c {axes = array<i64: 0>, kind = #nn<combiner sum>} : (tensor<8x96xf32>) -> tensor<1x96xf32>
    nn.yield %s : tensor<1x96xf32>
  }
  return %0, %4 : tensor<4x64x96xbf16>, tensor<1x96xf32>
}

// Products that the target does not sum the columns of, sums of other values
// and parts that are not just added stay as they are.
// CHECK-LABEL: func.func @apart
// CHECK-NOT:     nn.column_sums
func.func @apart(%a: tensor<256x32xbf16>, %b: tensor<32x32xbf16>, %e: tensor<32x96xbf16>)
    -> (tensor<1x32xf32>, tensor<8x1x96xf32>, tensor<8x96xf32>, tensor<1x96xf32>) {
  %0 = nn.fusion(%a, %b) : (tensor<256x32xbf16>, tensor<32x32xbf16>) -> tensor<256x32xbf16> {
  ^bb0(%c: tensor<256x32xbf16>, %d: tensor<32x32xbf16>):
    %m = nn.matmul %c, %d : (tensor<256x32xbf16>, tensor<32x32xbf16>) -> tensor<256x32xbf16>
    nn.yield %m : tensor<256x32xbf16>
  }
  %1 = nn.reshape %0 {shape = array<i64: 8, 32, 32>} : (tensor<256x32xbf16>) -> tensor<8x32x32xbf16>
  %2 = nn.fusion(%1) : (tensor<8x32x32xbf16>) -> tensor<8x1x32xf32> {
  ^bb0(%c: tensor<8x32x32xbf16>):
    %w = nn.cast %c {to = f32} : (tensor<8x32x32xbf16>) -> tensor<8x32x32xf32>
    %s = nn.reduce %w {axes = array<i64: 1>, kind = #nn<combiner sum>} : (tensor<8x32x32xf32>) -> tensor<8x1x32xf32>
    nn.yield %s : tensor<8x1x32xf32>
  }
  %3 = nn.reshape %2 {shape = array<i64: 8, 32>} : (tensor<8x1x32xf32>) -> tensor<8x32xf32>
  %4 = nn.fusion(%3) : (tensor<8x32xf32>) -> tensor<1x32xf32> {
  ^bb0(%c: tensor<8x32xf32>):
    %s = nn.reduce %c {axes = array<i64: 0>, kind = #nn<combiner sum>} : (tensor<8x32xf32>) -> tensor<1x32xf32>
    nn.yield %s : tensor<1x32xf32>
  }
  %5 = nn.fusion(%a, %e) : (tensor<256x32xbf16>, tensor<32x96xbf16>) -> tensor<256x96xbf16> {
  ^bb0(%c: tensor<256x32xbf16>, %d: tensor<32x96xbf16>):
    %m = nn.matmul %c, %d : (tensor<256x32xbf16>, tensor<32x96xbf16>) -> tensor<256x96xbf16>
    nn.yield %m : tensor<256x96xbf16>
  }
  %6 = nn.reshape %5 {shape = array<i64: 8, 32, 96>} : (tensor<256x96xbf16>) -> tensor<8x32x96xbf16>
  // The squares' sum.
  %7 = nn.fusion(%6) : (tensor<8x32x96xbf16>) -> tensor<8x1x96xf32> {
  ^bb0(%c: tensor<8x32x96xbf16>):
    %w = nn.cast %c {to = f32} : (tensor<8x32x96xbf16>) -> tensor<8x32x96xf32>
    %q = nn.mul %w, %w : (tensor<8x32x96xf32>, tensor<8x32x96xf32>) -> tensor<8x32x96xf32>
    %s = nn.reduce %q {axes = array<i64: 1>, kind = #nn<combiner sum>} : (tensor<8x32x96xf32>) -> tensor<8x1x96xf32>
    nn.yield %s : tensor<8x1x96xf32>
  }
  %8 = nn.fusion(%6) : (tensor<8x32x96xbf16>) -> tensor<8x1x96xf32> {
  ^bb0(%c: tensor<8x32x96xbf16>):
    %w = nn.cast %c {to = f32} : (tensor<8x32x96xbf16>) -> tensor<8x32x96xf32>
    %s = nn.reduce %w {axes = array<i64: 1>, kind = #nn<combiner sum>} : (tensor<8x32x96xf32>) -> tensor<8x1x96xf32>
    nn.yield %s : tensor<8x1x96xf32>
  }
  %9 = nn.reshape %8 {shape = array<i64: 8, 96>} : (tensor<8x1x96xf32>) -> tensor<8x96xf32>
  %10:2 = nn.fusion(%9) : (tensor<8x96xf32>) -> (tensor<8x96xf32>, tensor<1x96xf32>) {
  ^bb0(%c: tensor<8x96xf32>):
    %r = nn.relu %c : (tensor<8x96xf32>) -> tensor<8x96xf32>
    %s = nn.reduce %c {axes = array<i64: 0>, kind = #nn<combiner sum>} : (tensor<8x96xf32>) -> tensor<1x96xf32>
    nn.yield %r, %s : tensor<8x96xf32>, tensor<1x96xf32>
  }
  return %4, %7, %10#0, %10#1 : tensor<1x32xf32>, tensor<8x1x96xf32>, tensor<8x96xf32>, tensor<1x96xf32>
}

// The gradient of a projection's bias, which attention's gradient sums: columns
// are the elements of all heads of a position.
// CHECK-LABEL: func.func @attention
// CHECK-NEXT:    %[[F:.*]]:2 = nn.fusion(%arg0, %arg1) : {{.*}} -> (tensor<2x32x6x64xbf16>, tensor<4x384xf32>)
// CHECK:           %[[G:.*]] = nn.attention_grad
// CHECK-NEXT:      %[[R:.*]] = nn.reshape %[[G]] {shape = array<i64: 64, 384>}
// CHECK-NEXT:      %[[S:.*]] = nn.column_sums %[[R]] {height = 16 : si64} : (tensor<64x384xbf16>) -> tensor<4x384xf32>
// CHECK-NEXT:      nn.yield %[[G]], %[[S]]
// CHECK:         %[[T:.*]] = nn.fusion(%[[F]]#1) : (tensor<4x384xf32>) -> tensor<1x384xf32>
func.func @attention(%x: tensor<2x2x32x64xbf16>, %s: tensor<2x2x32xf32>) -> (tensor<2x32x6x64xbf16>, tensor<1x384xf32>) {
  %0 = nn.fusion(%x, %s) : (tensor<2x2x32x64xbf16>, tensor<2x2x32xf32>) -> tensor<2x32x6x64xbf16> {
  ^bb0(%c: tensor<2x2x32x64xbf16>, %d: tensor<2x2x32xf32>):
    %g = nn.attention_grad %c, %c, %c, %d, %c, %d {scale = 0.125 : f32} : (tensor<2x2x32x64xbf16>, tensor<2x2x32x64xbf16>, tensor<2x2x32x64xbf16>, tensor<2x2x32xf32>, tensor<2x2x32x64xbf16>, tensor<2x2x32xf32>) -> tensor<2x32x6x64xbf16>
    nn.yield %g : tensor<2x32x6x64xbf16>
  }
  %1 = nn.reshape %0 {shape = array<i64: 2, 32, 384>} : (tensor<2x32x6x64xbf16>) -> tensor<2x32x384xbf16>
  %2 = nn.fusion(%1) : (tensor<2x32x384xbf16>) -> tensor<2x1x384xf32> {
  ^bb0(%c: tensor<2x32x384xbf16>):
    %w = nn.cast %c {to = f32} : (tensor<2x32x384xbf16>) -> tensor<2x32x384xf32>
    %r = nn.reduce %w {axes = array<i64: 1>, kind = #nn<combiner sum>} : (tensor<2x32x384xf32>) -> tensor<2x1x384xf32>
    nn.yield %r : tensor<2x1x384xf32>
  }
  %3 = nn.reshape %2 {shape = array<i64: 2, 384>} : (tensor<2x1x384xf32>) -> tensor<2x384xf32>
  %4 = nn.fusion(%3) : (tensor<2x384xf32>) -> tensor<1x384xf32> {
  ^bb0(%c: tensor<2x384xf32>):
    %r = nn.reduce %c {axes = array<i64: 0>, kind = #nn<combiner sum>} : (tensor<2x384xf32>) -> tensor<1x384xf32>
    nn.yield %r : tensor<1x384xf32>
  }
  return %0, %4 : tensor<2x32x6x64xbf16>, tensor<1x384xf32>
}
