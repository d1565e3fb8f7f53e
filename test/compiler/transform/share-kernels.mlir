// RUN: frit-opt %s --pass-pipeline='builtin.module(share-kernels{most-loops=2})' --split-input-file | FileCheck %s
// RUN: frit-opt %s --share-kernels --split-input-file | FileCheck %s --check-prefix=FEW

// Few loops stay as they are.
// FEW-COUNT-3: nn.fusion(%arg0) :
// FEW-COUNT-2: nn.fusion
// FEW-NOT:     nn.fusion
// FEW:         func.func @sequence
// FEW:         nn.fusion
// FEW-NOT:     nn.fusion
// FEW:         func.func @products

// Kernels that differ in their number alone read it. A quotient keeps its
// number, by which its code is chosen.
// CHECK-LABEL: func.func @numbers
// CHECK:         %[[TWO:.*]] = nn.constant dense<2.000000e+00> : tensor<f32>
// CHECK-NEXT:    nn.fusion(%arg0, %[[TWO]])
// CHECK-NEXT:    ^bb0(%[[X:.*]]: tensor<4x8xf32>, %[[C:.*]]: tensor<f32>):
// CHECK-NEXT:      nn.mul %[[X]], %[[C]]
// CHECK-NEXT:      nn.yield
// CHECK:         %[[THREE:.*]] = nn.constant dense<3.000000e+00> : tensor<f32>
// CHECK-NEXT:    nn.fusion(%arg0, %[[THREE]])
// CHECK:         nn.fusion(%arg0) :
// CHECK:           nn.constant "c3"
// CHECK:           nn.div
func.func @numbers(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) {
  %1 = nn.fusion(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%y: tensor<4x8xf32>):
    %c = nn.constant "c2" dense<2.0> : tensor<f32>
    %p = nn.mul %y, %c : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    nn.yield %p : tensor<4x8xf32>
  }
  %2 = nn.fusion(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%y: tensor<4x8xf32>):
    %c = nn.constant "c3" dense<3.0> : tensor<f32>
    %p = nn.mul %y, %c : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    nn.yield %p : tensor<4x8xf32>
  }
  %3 = nn.fusion(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%y: tensor<4x8xf32>):
    %c = nn.constant "c3" dense<3.0> : tensor<f32>
    %p = nn.div %y, %c : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    nn.yield %p : tensor<4x8xf32>
  }
  return %1, %2, %3 : tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>
}

// -----

// A concat has an input for each operand, equal or not.
// CHECK-LABEL: func.func @concats
// CHECK:         nn.fusion(%arg0, %arg1, %arg0)
// CHECK-NEXT:    ^bb0(%[[A:.*]]: tensor<4x8xf32>, %[[B:.*]]: tensor<4x8xf32>, %[[C:.*]]: tensor<4x8xf32>):
// CHECK-NEXT:      nn.concat %[[A]], %[[B]], %[[C]]
// CHECK:         nn.fusion(%arg0, %arg1, %arg1)
func.func @concats(%x: tensor<4x8xf32>, %z: tensor<4x8xf32>) -> (tensor<12x8xf32>, tensor<12x8xf32>) {
  %1 = nn.fusion(%x, %z) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<12x8xf32> {
  ^bb0(%y: tensor<4x8xf32>, %w: tensor<4x8xf32>):
    %p = nn.concat %y, %w, %y {axis = 0 : si64} : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<12x8xf32>
    nn.yield %p : tensor<12x8xf32>
  }
  %2 = nn.fusion(%x, %z) : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<12x8xf32> {
  ^bb0(%y: tensor<4x8xf32>, %w: tensor<4x8xf32>):
    %p = nn.concat %y, %w, %w {axis = 0 : si64} : (tensor<4x8xf32>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<12x8xf32>
    nn.yield %p : tensor<12x8xf32>
  }
  return %1, %2 : tensor<12x8xf32>, tensor<12x8xf32>
}

// -----

// Of eight reductions or more that depend on each other, each has a kernel,
// with the operators before the next.
// CHECK-LABEL: func.func @sequence
// CHECK:         nn.fusion
// CHECK:           nn.reduce
// CHECK-NEXT:      nn.sub
// CHECK-NEXT:      nn.constant
// CHECK-NEXT:      nn.add
// CHECK-NEXT:      nn.yield
// CHECK-COUNT-7: nn.fusion
// CHECK-NOT:     nn.fusion
// CHECK:         return
func.func @sequence(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = nn.fusion(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%x0: tensor<4x8xf32>):
    %e = nn.constant dense<0.5> : tensor<f32>
    %m0 = nn.reduce %x0 {axes = array<i64: 1>, kind = #nn<combiner max>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
    %s0 = nn.sub %x0, %m0 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
    %x1 = nn.add %s0, %e : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    %m1 = nn.reduce %x1 {axes = array<i64: 1>, kind = #nn<combiner max>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
    %s1 = nn.sub %x1, %m1 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
    %x2 = nn.add %s1, %e : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    %m2 = nn.reduce %x2 {axes = array<i64: 1>, kind = #nn<combiner max>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
    %s2 = nn.sub %x2, %m2 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
    %x3 = nn.add %s2, %e : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    %m3 = nn.reduce %x3 {axes = array<i64: 1>, kind = #nn<combiner max>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
    %s3 = nn.sub %x3, %m3 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
    %x4 = nn.add %s3, %e : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    %m4 = nn.reduce %x4 {axes = array<i64: 1>, kind = #nn<combiner max>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
    %s4 = nn.sub %x4, %m4 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
    %x5 = nn.add %s4, %e : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    %m5 = nn.reduce %x5 {axes = array<i64: 1>, kind = #nn<combiner max>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
    %s5 = nn.sub %x5, %m5 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
    %x6 = nn.add %s5, %e : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    %m6 = nn.reduce %x6 {axes = array<i64: 1>, kind = #nn<combiner max>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
    %s6 = nn.sub %x6, %m6 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
    %x7 = nn.add %s6, %e : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    %m7 = nn.reduce %x7 {axes = array<i64: 1>, kind = #nn<combiner max>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
    %s7 = nn.sub %x7, %m7 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
    %x8 = nn.add %s7, %e : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
    nn.yield %x8 : tensor<4x8xf32>
  }
  return %y : tensor<4x8xf32>
}

// -----

// A product's kernel depends on its numbers.
// CHECK-LABEL: func.func @products
// CHECK:         nn.fusion(%arg0) :
// CHECK:         nn.fusion(%arg0) :
func.func @products(%x: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>) {
  %1 = nn.fusion(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%y: tensor<8x8xf32>):
    %c = nn.constant dense<2.0> : tensor<f32>
    %p = nn.matmul %y, %y : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %q = nn.mul %p, %c : (tensor<8x8xf32>, tensor<f32>) -> tensor<8x8xf32>
    nn.yield %q : tensor<8x8xf32>
  }
  %2 = nn.fusion(%x) : (tensor<8x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%y: tensor<8x8xf32>):
    %c = nn.constant dense<3.0> : tensor<f32>
    %p = nn.matmul %y, %y : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
    %q = nn.mul %p, %c : (tensor<8x8xf32>, tensor<f32>) -> tensor<8x8xf32>
    nn.yield %q : tensor<8x8xf32>
  }
  return %1, %2 : tensor<8x8xf32>, tensor<8x8xf32>
}
