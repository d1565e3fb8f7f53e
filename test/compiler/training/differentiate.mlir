// RUN: frit-opt %s --differentiate --simplify --split-input-file --verify-diagnostics | FileCheck %s

// A layer: the gradient of the bias is a sum over rows, that of the weight one
// product.

// CHECK-LABEL: func.func @main(
// CHECK-SAME: %[[X:[^:]+]]: tensor<4x3xf32>, %[[W:[^:]+]]: tensor<3x5xf32>, %[[B:[^:]+]]: tensor<5xf32>)
// CHECK: %[[H:.*]] = nn.relu
// CHECK: %[[ON:.*]] = nn.greater %[[H]]
// CHECK: %[[DH:.*]] = nn.where %[[ON]]
// CHECK: %[[ROW:.*]] = nn.reduce %[[DH]] {axes = array<i64: 0>, kind = #nn<combiner sum>}
// CHECK: %[[DB:.*]] = nn.reshape %[[ROW]]
// CHECK: %[[DW:.*]] = nn.matmul %[[X]], %[[DH]] {transpose_a}
// CHECK: return %{{.*}}, %[[DW]], %[[DB]]
func.func @main(%x: tensor<4x3xf32>, %w: tensor<3x5xf32> {nn.differentiate},
                %b: tensor<5xf32> {nn.differentiate}) -> tensor<f32> {
  %0 = nn.matmul %x, %w : (tensor<4x3xf32>, tensor<3x5xf32>) -> tensor<4x5xf32>
  %1 = nn.add %0, %b : (tensor<4x5xf32>, tensor<5xf32>) -> tensor<4x5xf32>
  %2 = nn.relu %1 : (tensor<4x5xf32>) -> tensor<4x5xf32>
  %3 = nn.reduce %2 {kind = #nn<combiner sum>, axes = array<i64: 0, 1>} : (tensor<4x5xf32>) -> tensor<1x1xf32>
  %4 = nn.reshape %3 {shape = array<i64>} : (tensor<1x1xf32>) -> tensor<f32>
  return %4 : tensor<f32>
}

// -----

// A value with two readers: their gradients are added. A composite without a
// gradient of its own is decomposed.

// CHECK-LABEL: func.func @main(
// CHECK: %[[HALF:.*]] = nn.mul %arg0, %{{.*}} : (tensor<4xf32>, tensor<1xf32>)
// CHECK: nn.add %[[HALF]], %[[HALF]]
func.func @main(%x: tensor<4xf32> {nn.differentiate}) -> tensor<1xf32> {
  %0 = nn.mul %x, %x : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = nn.reduce_mean %0 {axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<1xf32>
  return %1 : tensor<1xf32>
}

// -----

// No gradient where none is needed, and none through integers.

// CHECK-LABEL: func.func @main(
// CHECK: %[[ZERO:.*]] = nn.constant dense<0.0
// CHECK: return %{{.*}}, %[[ZERO]]
func.func @main(%x: tensor<1xf32> {nn.differentiate}) -> tensor<1xf32> {
  %0 = nn.cast %x {to = i64} : (tensor<1xf32>) -> tensor<1xi64>
  %1 = nn.cast %0 {to = f32} : (tensor<1xi64>) -> tensor<1xf32>
  return %1 : tensor<1xf32>
}

// -----

func.func @main(%x: tensor<1xf32> {nn.differentiate}) -> tensor<1xf32> {
  // expected-error @+1 {{'nn.gelu_grad' has no gradient, and what needs one lies before it}}
  %0 = nn.gelu_grad %x, %x : (tensor<1xf32>, tensor<1xf32>) -> tensor<1xf32>
  // expected-note @+1 {{the loss reads it through here}}
  %1 = nn.neg %0 : (tensor<1xf32>) -> tensor<1xf32>
  return %1 : tensor<1xf32>
}

// -----

// expected-error @+1 {{its first result is not a single number}}
func.func @main(%x: tensor<2xf32> {nn.differentiate}) -> tensor<2xf32> {
  return %x : tensor<2xf32>
}
