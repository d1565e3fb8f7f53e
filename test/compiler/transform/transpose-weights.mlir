// RUN: frit-opt %s --transpose-weights | FileCheck %s

// Products of few rows that read a weight share its transpose. One of many rows
// reads it as it is.
// CHECK-LABEL: func @recurrent
// CHECK:         %[[W:.*]] = nn.constant
// CHECK-NEXT:    %[[T:.*]] = nn.transpose %[[W]] {{.*}} : (tensor<8x4xf32>) -> tensor<4x8xf32>
// CHECK-NEXT:    nn.matmul %arg0, %[[T]] : (
// CHECK-NEXT:    nn.matmul %arg1, %[[T]] : (
// CHECK-NEXT:    nn.matmul %arg2, %[[W]] {transpose_b}
func.func @recurrent(%x: tensor<1x4xf32>, %y: tensor<2x4xf32>, %z: tensor<64x4xf32>) -> (tensor<1x8xf32>, tensor<2x8xf32>, tensor<64x8xf32>) {
  %w = nn.constant "w" dense_resource<__elided__> : tensor<8x4xf32>
  %0 = nn.matmul %x, %w {transpose_b} : (tensor<1x4xf32>, tensor<8x4xf32>) -> tensor<1x8xf32>
  %1 = nn.matmul %y, %w {transpose_b} : (tensor<2x4xf32>, tensor<8x4xf32>) -> tensor<2x8xf32>
  %2 = nn.matmul %z, %w {transpose_b} : (tensor<64x4xf32>, tensor<8x4xf32>) -> tensor<64x8xf32>
  return %0, %1, %2 : tensor<1x8xf32>, tensor<2x8xf32>, tensor<64x8xf32>
}

// A weight that is an argument, and trains, stays.
// CHECK-LABEL: func @argument
// CHECK:         nn.matmul %arg0, %arg1 {transpose_b}
func.func @argument(%x: tensor<1x4xf32>, %w: tensor<8x4xf32>) -> tensor<1x8xf32> {
  %0 = nn.matmul %x, %w {transpose_b} : (tensor<1x4xf32>, tensor<8x4xf32>) -> tensor<1x8xf32>
  return %0 : tensor<1x8xf32>
}
