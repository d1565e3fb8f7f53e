// RUN: frit-opt %s --side-outputs | FileCheck %s
// RUN: frit-opt %s --side-outputs=activations=false | FileCheck %s --check-prefix=APART

// To save memory, the backward pass recomputes the operand.
// APART-LABEL: func.func @gelu
// APART:         nn.fusion(%arg0, %arg1, %arg2) : {{.*}} -> tensor<8x96xbf16>
// APART:         nn.fusion(%{{.*}}) : (tensor<8x96xbf16>) -> tensor<8x96xbf16>
// APART-NEXT:    ^bb0
// APART-NEXT:      nn.gelu

// The product's kernel stores GELU and its operand.
// CHECK-LABEL: func.func @gelu
// CHECK-NEXT:    %[[F:.*]]:2 = nn.fusion(%arg0, %arg1, %arg2) : {{.*}} -> (tensor<8x96xbf16>, tensor<8x96xbf16>)
// CHECK:           %[[M:.*]] = nn.matmul
// CHECK-NEXT:      %[[S:.*]] = nn.add %[[M]]
// CHECK-NEXT:      %[[G:.*]] = nn.gelu %[[S]]
// CHECK-NEXT:      nn.yield %[[G]], %[[S]]
// CHECK-NOT:     nn.fusion
// CHECK:         return %[[F]]#0, %[[F]]#1
func.func @gelu(%a: tensor<8x32xbf16>, %b: tensor<32x96xbf16>, %v: tensor<96xbf16>) -> (tensor<8x96xbf16>, tensor<8x96xbf16>) {
  %0 = nn.fusion(%a, %b, %v) : (tensor<8x32xbf16>, tensor<32x96xbf16>, tensor<96xbf16>) -> tensor<8x96xbf16> {
  ^bb0(%c: tensor<8x32xbf16>, %d: tensor<32x96xbf16>, %e: tensor<96xbf16>):
    %m = nn.matmul %c, %d : (tensor<8x32xbf16>, tensor<32x96xbf16>) -> tensor<8x96xbf16>
    %s = nn.add %m, %e : (tensor<8x96xbf16>, tensor<96xbf16>) -> tensor<8x96xbf16>
    nn.yield %s : tensor<8x96xbf16>
  }
  %1 = nn.fusion(%0) : (tensor<8x96xbf16>) -> tensor<8x96xbf16> {
  ^bb0(%c: tensor<8x96xbf16>):
    %g = nn.gelu %c : (tensor<8x96xbf16>) -> tensor<8x96xbf16>
    nn.yield %g : tensor<8x96xbf16>
  }
  return %1, %0 : tensor<8x96xbf16>, tensor<8x96xbf16>
}

// All that other kernels read of the operand is GELU's slope there, so that is
// stored, and multiplied by.
// CHECK-LABEL: func.func @slope
// CHECK-NEXT:    %[[F:.*]]:2 = nn.fusion(%arg0, %arg1)
// CHECK:           %[[M:.*]] = nn.matmul
// CHECK-NEXT:      %[[G:.*]] = nn.gelu %[[M]] {approximate = "tanh"}
// CHECK-NEXT:      %[[S:.*]] = nn.gelu_slope %[[M]] {approximate = "tanh"}
// CHECK-NEXT:      nn.yield %[[G]], %[[S]]
// CHECK:         nn.fusion(%arg2, %[[F]]#1)
// CHECK-NEXT:    ^bb0(%[[DY:.*]]: tensor<8x96xbf16>, %[[T:.*]]: tensor<8x96xbf16>):
// CHECK-NEXT:      nn.mul %[[DY]], %[[T]]
// CHECK:         return %[[F]]#0
func.func @slope(%a: tensor<8x32xbf16>, %b: tensor<32x96xbf16>, %dy: tensor<8x96xbf16>) -> (tensor<8x96xbf16>, tensor<8x96xbf16>) {
  %0 = nn.fusion(%a, %b) : (tensor<8x32xbf16>, tensor<32x96xbf16>) -> tensor<8x96xbf16> {
  ^bb0(%c: tensor<8x32xbf16>, %d: tensor<32x96xbf16>):
    %m = nn.matmul %c, %d : (tensor<8x32xbf16>, tensor<32x96xbf16>) -> tensor<8x96xbf16>
    nn.yield %m : tensor<8x96xbf16>
  }
  %1 = nn.fusion(%0) : (tensor<8x96xbf16>) -> tensor<8x96xbf16> {
  ^bb0(%c: tensor<8x96xbf16>):
    %g = nn.gelu %c {approximate = "tanh"} : (tensor<8x96xbf16>) -> tensor<8x96xbf16>
    nn.yield %g : tensor<8x96xbf16>
  }
  %2 = nn.fusion(%dy, %0) : (tensor<8x96xbf16>, tensor<8x96xbf16>) -> tensor<8x96xbf16> {
  ^bb0(%c: tensor<8x96xbf16>, %d: tensor<8x96xbf16>):
    %g = nn.gelu_grad %d, %c {approximate = "tanh"} : (tensor<8x96xbf16>, tensor<8x96xbf16>) -> tensor<8x96xbf16>
    nn.yield %g : tensor<8x96xbf16>
  }
  return %1, %2 : tensor<8x96xbf16>, tensor<8x96xbf16>
}

// The slope is that of another function.
// CHECK-LABEL: func.func @other_slope
// CHECK:           nn.gelu %{{.*}} :
// CHECK-NEXT:      nn.yield
// CHECK:           nn.gelu_grad
func.func @other_slope(%a: tensor<8x32xbf16>, %b: tensor<32x96xbf16>, %dy: tensor<8x96xbf16>) -> (tensor<8x96xbf16>, tensor<8x96xbf16>) {
  %0 = nn.fusion(%a, %b) : (tensor<8x32xbf16>, tensor<32x96xbf16>) -> tensor<8x96xbf16> {
  ^bb0(%c: tensor<8x32xbf16>, %d: tensor<32x96xbf16>):
    %m = nn.matmul %c, %d : (tensor<8x32xbf16>, tensor<32x96xbf16>) -> tensor<8x96xbf16>
    nn.yield %m : tensor<8x96xbf16>
  }
  %1 = nn.fusion(%0) : (tensor<8x96xbf16>) -> tensor<8x96xbf16> {
  ^bb0(%c: tensor<8x96xbf16>):
    %g = nn.gelu %c : (tensor<8x96xbf16>) -> tensor<8x96xbf16>
    nn.yield %g : tensor<8x96xbf16>
  }
  %2 = nn.fusion(%dy, %0) : (tensor<8x96xbf16>, tensor<8x96xbf16>) -> tensor<8x96xbf16> {
  ^bb0(%c: tensor<8x96xbf16>, %d: tensor<8x96xbf16>):
    %g = nn.gelu_grad %d, %c {approximate = "tanh"} : (tensor<8x96xbf16>, tensor<8x96xbf16>) -> tensor<8x96xbf16>
    nn.yield %g : tensor<8x96xbf16>
  }
  return %1, %2 : tensor<8x96xbf16>, tensor<8x96xbf16>
}

// Functions of two operators, of other types and of several tensors stay apart,
// as do products that the target does not take.
// CHECK-LABEL: func.func @apart
// CHECK-COUNT-6: nn.fusion(
func.func @apart(%a: tensor<8x32xbf16>, %b: tensor<32x96xbf16>, %w: tensor<32x32xbf16>)
    -> (tensor<8x96xbf16>, tensor<8x96xbf16>, tensor<8x96xf32>, tensor<8x96xbf16>, tensor<8x32xbf16>, tensor<8x32xbf16>) {
  %0 = nn.fusion(%a, %b) : (tensor<8x32xbf16>, tensor<32x96xbf16>) -> tensor<8x96xbf16> {
  ^bb0(%c: tensor<8x32xbf16>, %d: tensor<32x96xbf16>):
    %m = nn.matmul %c, %d : (tensor<8x32xbf16>, tensor<32x96xbf16>) -> tensor<8x96xbf16>
    nn.yield %m : tensor<8x96xbf16>
  }
  %1 = nn.fusion(%0) : (tensor<8x96xbf16>) -> tensor<8x96xbf16> {
  ^bb0(%c: tensor<8x96xbf16>):
    %g = nn.gelu %c : (tensor<8x96xbf16>) -> tensor<8x96xbf16>
    %r = nn.relu %g : (tensor<8x96xbf16>) -> tensor<8x96xbf16>
    nn.yield %r : tensor<8x96xbf16>
  }
  %2 = nn.fusion(%0) : (tensor<8x96xbf16>) -> tensor<8x96xf32> {
  ^bb0(%c: tensor<8x96xbf16>):
    %f = nn.cast %c {to = f32} : (tensor<8x96xbf16>) -> tensor<8x96xf32>
    nn.yield %f : tensor<8x96xf32>
  }
  %3 = nn.fusion(%0, %1) : (tensor<8x96xbf16>, tensor<8x96xbf16>) -> tensor<8x96xbf16> {
  ^bb0(%c: tensor<8x96xbf16>, %d: tensor<8x96xbf16>):
    %m = nn.mul %c, %d : (tensor<8x96xbf16>, tensor<8x96xbf16>) -> tensor<8x96xbf16>
    nn.yield %m : tensor<8x96xbf16>
  }
  %4 = nn.fusion(%a, %w) : (tensor<8x32xbf16>, tensor<32x32xbf16>) -> tensor<8x32xbf16> {
  ^bb0(%c: tensor<8x32xbf16>, %d: tensor<32x32xbf16>):
    %m = nn.matmul %c, %d : (tensor<8x32xbf16>, tensor<32x32xbf16>) -> tensor<8x32xbf16>
    nn.yield %m : tensor<8x32xbf16>
  }
  %5 = nn.fusion(%4) : (tensor<8x32xbf16>) -> tensor<8x32xbf16> {
  ^bb0(%c: tensor<8x32xbf16>):
    %g = nn.gelu %c : (tensor<8x32xbf16>) -> tensor<8x32xbf16>
    nn.yield %g : tensor<8x32xbf16>
  }
  return %0, %1, %2, %3, %4, %5 : tensor<8x96xbf16>, tensor<8x96xbf16>, tensor<8x96xf32>, tensor<8x96xbf16>, tensor<8x32xbf16>, tensor<8x32xbf16>
}
