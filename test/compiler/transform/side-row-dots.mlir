// RUN: frit-opt %s --side-outputs | FileCheck %s

// What the gradient of attention needs of dy, which a product computes, and of
// y, which is stored with the heads of a position side by side.
// CHECK-LABEL: func.func @dots
// CHECK:         %[[Y:.*]] = nn.reshape %arg2 {shape = array<i64: 2, 16, 128>} : (tensor<2x16x2x64xbf16>) -> tensor<2x16x128xbf16>
// CHECK-NEXT:    %[[F:.*]]:2 = nn.fusion(%arg0, %arg1, %[[Y]]) : {{.*}} -> (tensor<2x16x128xbf16>, tensor<32x2xf32>)
// CHECK-NEXT:    ^bb0(%{{.*}}: tensor<2x16x32xbf16>, %{{.*}}: tensor<32x128xbf16>, %[[FACTOR:.*]]: tensor<2x16x128xbf16>):
// CHECK-NEXT:      %[[M:.*]] = nn.matmul
// CHECK-NEXT:      %[[D:.*]] = nn.row_dots %[[M]], %[[FACTOR]] {width = 64 : si64} : (tensor<2x16x128xbf16>, tensor<2x16x128xbf16>) -> tensor<32x2xf32>
// CHECK-NEXT:      nn.yield %[[M]], %[[D]]
// CHECK-NOT:     nn.fusion
// CHECK:         %[[HEADS:.*]] = nn.reshape %[[F]]#0 {shape = array<i64: 2, 16, 2, 64>}
// CHECK:         %[[DELTA:.*]] = nn.reshape %[[F]]#1 {shape = array<i64: 2, 16, 2, 1>}
// CHECK:         return %[[HEADS]], %[[DELTA]]
func.func @dots(%a: tensor<2x16x32xbf16>, %b: tensor<32x128xbf16>, %y: tensor<2x16x2x64xbf16>) -> (tensor<2x16x2x64xbf16>, tensor<2x16x2x1xf32>) {
  %0 = nn.fusion(%a, %b) : (tensor<2x16x32xbf16>, tensor<32x128xbf16>) -> tensor<2x16x128xbf16> {
  ^bb0(%c: tensor<2x16x32xbf16>, %d: tensor<32x128xbf16>):
    %m = nn.matmul %c, %d : (tensor<2x16x32xbf16>, tensor<32x128xbf16>) -> tensor<2x16x128xbf16>
    nn.yield %m : tensor<2x16x128xbf16>
  }
  %1 = nn.reshape %0 {shape = array<i64: 2, 16, 2, 64>} : (tensor<2x16x128xbf16>) -> tensor<2x16x2x64xbf16>
  %2 = nn.fusion(%y, %1) : (tensor<2x16x2x64xbf16>, tensor<2x16x2x64xbf16>) -> tensor<2x16x2x1xf32> {
  ^bb0(%c: tensor<2x16x2x64xbf16>, %d: tensor<2x16x2x64xbf16>):
    %v = nn.cast %c {to = f32} : (tensor<2x16x2x64xbf16>) -> tensor<2x16x2x64xf32>
    %w = nn.cast %d {to = f32} : (tensor<2x16x2x64xbf16>) -> tensor<2x16x2x64xf32>
    %m = nn.mul %v, %w : (tensor<2x16x2x64xf32>, tensor<2x16x2x64xf32>) -> tensor<2x16x2x64xf32>
    %s = nn.reduce %m {axes = array<i64: 3>, kind = #nn<combiner sum>} : (tensor<2x16x2x64xf32>) -> tensor<2x16x2x1xf32>
    nn.yield %s : tensor<2x16x2x1xf32>
  }
  return %1, %2 : tensor<2x16x2x64xbf16>, tensor<2x16x2x1xf32>
}

// The product's result may come first, and the rest of its kernel stays. Of two
// products, the later one reads the earlier one's result.
// CHECK-LABEL: func.func @products
// CHECK:         %[[Y:.*]] = nn.fusion(%arg0, %arg1)
// CHECK:         %[[F:.*]]:2 = nn.fusion(%arg0, %arg1, %[[Y]]) : {{.*}} -> (tensor<32x128xf16>, tensor<32x2xf32>)
// CHECK:           %[[R:.*]] = nn.relu
// CHECK-NEXT:      nn.row_dots %[[R]], %
// CHECK-NOT:     nn.fusion
// CHECK:         return %[[F]]#0
func.func @products(%a: tensor<32x32xf16>, %b: tensor<32x128xf16>) -> (tensor<32x128xf16>, tensor<32x2x1xf32>) {
  %0 = nn.fusion(%a, %b) : (tensor<32x32xf16>, tensor<32x128xf16>) -> tensor<32x128xf16> {
  ^bb0(%c: tensor<32x32xf16>, %d: tensor<32x128xf16>):
    %m = nn.matmul %c, %d : (tensor<32x32xf16>, tensor<32x128xf16>) -> tensor<32x128xf16>
    nn.yield %m : tensor<32x128xf16>
  }
  %1 = nn.fusion(%a, %b) : (tensor<32x32xf16>, tensor<32x128xf16>) -> tensor<32x128xf16> {
  ^bb0(%c: tensor<32x32xf16>, %d: tensor<32x128xf16>):
    %m = nn.matmul %c, %d : (tensor<32x32xf16>, tensor<32x128xf16>) -> tensor<32x128xf16>
    %r = nn.relu %m : (tensor<32x128xf16>) -> tensor<32x128xf16>
    nn.yield %r : tensor<32x128xf16>
  }
  %2 = nn.reshape %0 {shape = array<i64: 32, 2, 64>} : (tensor<32x128xf16>) -> tensor<32x2x64xf16>
  %3 = nn.reshape %1 {shape = array<i64: 32, 2, 64>} : (tensor<32x128xf16>) -> tensor<32x2x64xf16>
  %4 = nn.fusion(%2, %3) : (tensor<32x2x64xf16>, tensor<32x2x64xf16>) -> tensor<32x2x1xf32> {
  ^bb0(%c: tensor<32x2x64xf16>, %d: tensor<32x2x64xf16>):
    %v = nn.cast %c {to = f32} : (tensor<32x2x64xf16>) -> tensor<32x2x64xf32>
    %w = nn.cast %d {to = f32} : (tensor<32x2x64xf16>) -> tensor<32x2x64xf32>
    %m = nn.mul %w, %v : (tensor<32x2x64xf32>, tensor<32x2x64xf32>) -> tensor<32x2x64xf32>
    %s = nn.reduce %m {axes = array<i64: 2>, kind = #nn<combiner sum>} : (tensor<32x2x64xf32>) -> tensor<32x2x1xf32>
    nn.yield %s : tensor<32x2x1xf32>
  }
  return %1, %4 : tensor<32x128xf16>, tensor<32x2x1xf32>
}

// Parts that the target does not take, or that are not whole in a row, squares,
// another function of the products, and a factor that is computed after the
// product stay apart.
// CHECK-LABEL: func.func @apart
// CHECK-NOT:     nn.row_dots
func.func @apart(%a: tensor<32x32xbf16>, %b: tensor<32x128xbf16>, %e: tensor<32x96xbf16>, %y: tensor<32x4x32xbf16>, %z: tensor<48x64xbf16>, %x: tensor<32x128xbf16>)
    -> (tensor<32x4x1xf32>, tensor<48x1xf32>, tensor<32x2x1xf32>, tensor<32x2x1xf32>, tensor<32x2x1xf32>) {
  %0 = nn.fusion(%a, %b) : (tensor<32x32xbf16>, tensor<32x128xbf16>) -> tensor<32x128xbf16> {
  ^bb0(%c: tensor<32x32xbf16>, %d: tensor<32x128xbf16>):
    %m = nn.matmul %c, %d : (tensor<32x32xbf16>, tensor<32x128xbf16>) -> tensor<32x128xbf16>
    nn.yield %m : tensor<32x128xbf16>
  }
  // Parts of 32.
  %1 = nn.reshape %0 {shape = array<i64: 32, 4, 32>} : (tensor<32x128xbf16>) -> tensor<32x4x32xbf16>
  %2 = nn.fusion(%y, %1) : (tensor<32x4x32xbf16>, tensor<32x4x32xbf16>) -> tensor<32x4x1xf32> {
  ^bb0(%c: tensor<32x4x32xbf16>, %d: tensor<32x4x32xbf16>):
    %v = nn.cast %c {to = f32} : (tensor<32x4x32xbf16>) -> tensor<32x4x32xf32>
    %w = nn.cast %d {to = f32} : (tensor<32x4x32xbf16>) -> tensor<32x4x32xf32>
    %m = nn.mul %v, %w : (tensor<32x4x32xf32>, tensor<32x4x32xf32>) -> tensor<32x4x32xf32>
    %s = nn.reduce %m {axes = array<i64: 2>, kind = #nn<combiner sum>} : (tensor<32x4x32xf32>) -> tensor<32x4x1xf32>
    nn.yield %s : tensor<32x4x1xf32>
  }
  // 64 neighbours in rows of 96.
  %3 = nn.fusion(%a, %e) : (tensor<32x32xbf16>, tensor<32x96xbf16>) -> tensor<32x96xbf16> {
  ^bb0(%c: tensor<32x32xbf16>, %d: tensor<32x96xbf16>):
    %m = nn.matmul %c, %d : (tensor<32x32xbf16>, tensor<32x96xbf16>) -> tensor<32x96xbf16>
    nn.yield %m : tensor<32x96xbf16>
  }
  %4 = nn.reshape %3 {shape = array<i64: 48, 64>} : (tensor<32x96xbf16>) -> tensor<48x64xbf16>
  %5 = nn.fusion(%z, %4) : (tensor<48x64xbf16>, tensor<48x64xbf16>) -> tensor<48x1xf32> {
  ^bb0(%c: tensor<48x64xbf16>, %d: tensor<48x64xbf16>):
    %v = nn.cast %c {to = f32} : (tensor<48x64xbf16>) -> tensor<48x64xf32>
    %w = nn.cast %d {to = f32} : (tensor<48x64xbf16>) -> tensor<48x64xf32>
    %m = nn.mul %v, %w : (tensor<48x64xf32>, tensor<48x64xf32>) -> tensor<48x64xf32>
    %s = nn.reduce %m {axes = array<i64: 1>, kind = #nn<combiner sum>} : (tensor<48x64xf32>) -> tensor<48x1xf32>
    nn.yield %s : tensor<48x1xf32>
  }
  // Squares.
  %6 = nn.reshape %0 {shape = array<i64: 32, 2, 64>} : (tensor<32x128xbf16>) -> tensor<32x2x64xbf16>
  %7 = nn.fusion(%6) : (tensor<32x2x64xbf16>) -> tensor<32x2x1xf32> {
  ^bb0(%c: tensor<32x2x64xbf16>):
    %v = nn.cast %c {to = f32} : (tensor<32x2x64xbf16>) -> tensor<32x2x64xf32>
    %m = nn.mul %v, %v : (tensor<32x2x64xf32>, tensor<32x2x64xf32>) -> tensor<32x2x64xf32>
    %s = nn.reduce %m {axes = array<i64: 2>, kind = #nn<combiner sum>} : (tensor<32x2x64xf32>) -> tensor<32x2x1xf32>
    nn.yield %s : tensor<32x2x1xf32>
  }
  // The largest product.
  %8 = nn.reshape %x {shape = array<i64: 32, 2, 64>} : (tensor<32x128xbf16>) -> tensor<32x2x64xbf16>
  %9 = nn.fusion(%8, %6) : (tensor<32x2x64xbf16>, tensor<32x2x64xbf16>) -> tensor<32x2x1xf32> {
  ^bb0(%c: tensor<32x2x64xbf16>, %d: tensor<32x2x64xbf16>):
    %v = nn.cast %c {to = f32} : (tensor<32x2x64xbf16>) -> tensor<32x2x64xf32>
    %w = nn.cast %d {to = f32} : (tensor<32x2x64xbf16>) -> tensor<32x2x64xf32>
    %m = nn.mul %v, %w : (tensor<32x2x64xf32>, tensor<32x2x64xf32>) -> tensor<32x2x64xf32>
    %s = nn.reduce %m {axes = array<i64: 2>, kind = #nn<combiner max>} : (tensor<32x2x64xf32>) -> tensor<32x2x1xf32>
    nn.yield %s : tensor<32x2x1xf32>
  }
  // A function of the product's result.
  %10 = nn.fusion(%6) : (tensor<32x2x64xbf16>) -> tensor<32x2x64xbf16> {
  ^bb0(%c: tensor<32x2x64xbf16>):
    %r = nn.relu %c : (tensor<32x2x64xbf16>) -> tensor<32x2x64xbf16>
    nn.yield %r : tensor<32x2x64xbf16>
  }
  %11 = nn.fusion(%10, %6) : (tensor<32x2x64xbf16>, tensor<32x2x64xbf16>) -> tensor<32x2x1xf32> {
  ^bb0(%c: tensor<32x2x64xbf16>, %d: tensor<32x2x64xbf16>):
    %v = nn.cast %c {to = f32} : (tensor<32x2x64xbf16>) -> tensor<32x2x64xf32>
    %w = nn.cast %d {to = f32} : (tensor<32x2x64xbf16>) -> tensor<32x2x64xf32>
    %m = nn.mul %v, %w : (tensor<32x2x64xf32>, tensor<32x2x64xf32>) -> tensor<32x2x64xf32>
    %s = nn.reduce %m {axes = array<i64: 2>, kind = #nn<combiner sum>} : (tensor<32x2x64xf32>) -> tensor<32x2x1xf32>
    nn.yield %s : tensor<32x2x1xf32>
  }
  return %2, %5, %7, %9, %11 : tensor<32x4x1xf32>, tensor<48x1xf32>, tensor<32x2x1xf32>, tensor<32x2x1xf32>, tensor<32x2x1xf32>
}
