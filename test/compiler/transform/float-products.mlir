// Products of 8-bit floats become one operator, and their scales follow it.
// RUN: frit-opt %s --quantized-convs --cse -split-input-file | FileCheck %s

// The left operand has one scale, the right one has one for each column.
// CHECK-LABEL: func @columns
// CHECK-SAME: %[[Q:.*]]: tensor<2x3x8xf8E4M3FN>
// CHECK-DAG: %[[W:.*]] = nn.constant "w"
// CHECK-DAG: %[[T:.*]] = nn.constant "t"
// CHECK-DAG: %[[S:.*]] = nn.constant dense<5.000000e-01>
// CHECK-DAG: %[[X:.*]] = nn.reshape %[[Q]] {shape = array<i64: 6, 8>}
// CHECK-DAG: %[[F:.*]] = nn.transpose %[[W]] {perm = array<i64: 1, 0>}
// CHECK-DAG: %[[ST:.*]] = nn.mul %{{.*}}, %{{.*}} : (tensor<f32>, tensor<6xf32>) -> tensor<6xf32>
// CHECK: %[[Y:.*]] = nn.quantized_conv %[[X]], %[[F]] {
// CHECK-SAME: -> tensor<6x6xf32>
// CHECK: %[[Z:.*]] = nn.reshape %[[Y]] {shape = array<i64: 2, 3, 6>}
// CHECK: nn.mul %[[Z]], %[[ST]]
// CHECK-NOT: nn.matmul
func.func @columns(%q: tensor<2x3x8xf8E4M3FN>) -> tensor<2x3x6xf32> {
  %w = nn.constant "w" dense<1.5> : tensor<8x6xf8E5M2>
  %t = nn.constant "t" dense<[0.1, 0.2, 0.3, 0.4, 0.5, 0.6]> : tensor<6xf32>
  %s = nn.constant dense<0.5> : tensor<f32>
  %0 = nn.cast %q {to = f32} : (tensor<2x3x8xf8E4M3FN>) -> tensor<2x3x8xf32>
  %x = nn.mul %0, %s : (tensor<2x3x8xf32>, tensor<f32>) -> tensor<2x3x8xf32>
  %1 = nn.cast %w {to = f32} : (tensor<8x6xf8E5M2>) -> tensor<8x6xf32>
  %f = nn.mul %1, %t : (tensor<8x6xf32>, tensor<6xf32>) -> tensor<8x6xf32>
  %y = nn.matmul %x, %f : (tensor<2x3x8xf32>, tensor<8x6xf32>) -> tensor<2x3x6xf32>
  return %y : tensor<2x3x6xf32>
}

// -----

// Each row has a scale. Dequantized numbers that were rounded to 16 bits are
// not: the product of the floats is more precise.
// CHECK-LABEL: func @rows
// CHECK-SAME: %[[Q:.*]]: tensor<4x8xf8E4M3FN>, %[[R:.*]]: tensor<4x1xf32>
// CHECK: %[[Y:.*]] = nn.quantized_conv %[[Q]], %{{.*}} {
// CHECK: %[[Z:.*]] = nn.mul %[[Y]], %{{.*}} : (tensor<4x6xf32>, tensor<f32>)
// CHECK: nn.mul %[[Z]], %[[R]]
func.func @rows(%q: tensor<4x8xf8E4M3FN>, %r: tensor<4x1xf32>) -> tensor<4x6xf32> {
  %w = nn.constant "w" dense<1.5> : tensor<6x8xf8E4M3FN>
  %t = nn.constant dense<0.25> : tensor<f32>
  %0 = nn.cast %q {to = f32} : (tensor<4x8xf8E4M3FN>) -> tensor<4x8xf32>
  %1 = nn.mul %0, %r : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %2 = nn.cast %1 {to = f16} : (tensor<4x8xf32>) -> tensor<4x8xf16>
  %x = nn.cast %2 {to = f32} : (tensor<4x8xf16>) -> tensor<4x8xf32>
  %3 = nn.cast %w {to = f32} : (tensor<6x8xf8E4M3FN>) -> tensor<6x8xf32>
  %f = nn.mul %3, %t : (tensor<6x8xf32>, tensor<f32>) -> tensor<6x8xf32>
  %y = nn.matmul %x, %f {transpose_b} : (tensor<4x8xf32>, tensor<6x8xf32>) -> tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}

// -----

// A scale for each column of the left operand is no factor of the result.
// CHECK-LABEL: func @left
// CHECK-NOT: nn.quantized_conv
// CHECK: nn.matmul
func.func @left(%q: tensor<4x8xf8E4M3FN>, %r: tensor<8xf32>) -> tensor<4x6xf32> {
  %w = nn.constant "w" dense<1.5> : tensor<6x8xf8E4M3FN>
  %0 = nn.cast %q {to = f32} : (tensor<4x8xf8E4M3FN>) -> tensor<4x8xf32>
  %x = nn.mul %0, %r : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %f = nn.cast %w {to = f32} : (tensor<6x8xf8E4M3FN>) -> tensor<6x8xf32>
  %y = nn.matmul %x, %f {transpose_b} : (tensor<4x8xf32>, tensor<6x8xf32>) -> tensor<4x6xf32>
  return %y : tensor<4x6xf32>
}
