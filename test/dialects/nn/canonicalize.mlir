// RUN: frit-opt %s --canonicalize | FileCheck %s

// CHECK-LABEL: @transposes(
// CHECK: %[[Y:.*]] = nn.transpose %{{.*}} {perm = array<i64: 1, 2, 0>}
// CHECK-NEXT: return %{{.*}}, %[[Y]]
func.func @transposes(%x: tensor<2x3x4xf32>) -> (tensor<2x3x4xf32>, tensor<3x4x2xf32>) {
  %0 = nn.transpose %x {perm = array<i64: 2, 0, 1>} : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  %1 = nn.transpose %0 {perm = array<i64: 1, 2, 0>} : (tensor<4x2x3xf32>) -> tensor<2x3x4xf32>
  %2 = nn.transpose %0 {perm = array<i64: 2, 0, 1>} : (tensor<4x2x3xf32>) -> tensor<3x4x2xf32>
  return %1, %2 : tensor<2x3x4xf32>, tensor<3x4x2xf32>
}

// CHECK-LABEL: @only_ones_move(
// CHECK-NEXT: nn.reshape %{{.*}} {shape = array<i64: 3, 4, 1>}
func.func @only_ones_move(%x: tensor<3x1x4xf32>) -> tensor<3x4x1xf32> {
  %0 = nn.transpose %x {perm = array<i64: 0, 2, 1>} : (tensor<3x1x4xf32>) -> tensor<3x4x1xf32>
  return %0 : tensor<3x4x1xf32>
}

// CHECK-LABEL: @reshapes(
// CHECK-NEXT: return %arg0
func.func @reshapes(%x: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = nn.reshape %x {shape = array<i64: 12>} : (tensor<3x4xf32>) -> tensor<12xf32>
  %1 = nn.reshape %0 {shape = array<i64: 3, 4>} : (tensor<12xf32>) -> tensor<3x4xf32>
  return %1 : tensor<3x4xf32>
}

// CHECK-LABEL: @expands(
// CHECK-NEXT: nn.expand %arg0 {shape = array<i64: 2, 3, 4>} : (tensor<4xf32>)
func.func @expands(%x: tensor<4xf32>) -> tensor<2x3x4xf32> {
  %0 = nn.expand %x {shape = array<i64: 3, 4>} : (tensor<4xf32>) -> tensor<3x4xf32>
  %1 = nn.expand %0 {shape = array<i64: 2, 1, 1>} : (tensor<3x4xf32>) -> tensor<2x3x4xf32>
  return %1 : tensor<2x3x4xf32>
}

// Operators that change nothing are removed; others that look like it stay.
// CHECK-LABEL: @nothing(
// CHECK-NEXT: %[[R:.*]] = nn.slice %arg0 {{.*}}steps = array<i64: -1>
// CHECK-NEXT: return %[[R]], %arg0
func.func @nothing(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = nn.slice %x {starts = array<i64: 3>, sizes = array<i64: 4>, steps = array<i64: -1>} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = nn.slice %x {starts = array<i64: 0>, sizes = array<i64: 4>, steps = array<i64: 1>} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = nn.expand %1 {shape = array<i64: 4>} : (tensor<4xf32>) -> tensor<4xf32>
  %3 = nn.pad %2 {low = array<i64: 0>, high = array<i64: 0>} : (tensor<4xf32>) -> tensor<4xf32>
  %4 = nn.concat %3 {axis = 0 : si64} : (tensor<4xf32>) -> tensor<4xf32>
  %5 = nn.cast %4 {to = f32} : (tensor<4xf32>) -> tensor<4xf32>
  %6 = nn.reduce %5 {kind = #nn<combiner sum>, axes = array<i64>} : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %6 : tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: @empty_operands(
// CHECK-NEXT: nn.concat %arg0, %arg0 {axis = 0 : si64} : (tensor<2xf32>, tensor<2xf32>)
func.func @empty_operands(%x: tensor<2xf32>, %e: tensor<0xf32>) -> tensor<4xf32> {
  %0 = nn.concat %x, %e, %x {axis = 0 : si64} : (tensor<2xf32>, tensor<0xf32>, tensor<2xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
