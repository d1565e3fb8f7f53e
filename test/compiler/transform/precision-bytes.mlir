// Products of bytes that a model dequantizes to 16 bits multiply what it
// rounded, so that they can multiply bytes, and their results are rounded.
// RUN: frit-opt %s --precision=mode=fp32 | FileCheck %s
// RUN: frit-opt %s --precision=mode=fp32 --quantized-convs --canonicalize \
// RUN:   | FileCheck %s --check-prefix=BYTES

// CHECK-LABEL: func.func @bytes
// CHECK: %[[X:.*]] = nn.mul {{.*}} -> tensor<4x8xf32>
// CHECK: %[[W:.*]] = nn.mul {{.*}} -> tensor<6x8xf32>
// CHECK: %[[Y:.*]] = nn.matmul %[[X]], %[[W]] {transpose_b} {{.*}} -> tensor<4x6xf32>
// CHECK: nn.cast %[[Y]] {storage, to = f16}
// BYTES-LABEL: func.func @bytes
// BYTES: nn.quantized_conv
func.func @bytes(%x: tensor<4x8xi8>, %s: tensor<f16>) -> tensor<4x6xf16> {
  %w = nn.constant "w" dense<3> : tensor<6x8xi8>
  %t = nn.constant "t" dense<0.5> : tensor<6x1xf32>
  %z = nn.constant dense<3> : tensor<i32>
  %0 = nn.cast %x {to = i32} : (tensor<4x8xi8>) -> tensor<4x8xi32>
  %1 = nn.sub %0, %z : (tensor<4x8xi32>, tensor<i32>) -> tensor<4x8xi32>
  %2 = nn.cast %1 {to = f32} : (tensor<4x8xi32>) -> tensor<4x8xf32>
  %3 = nn.cast %s {to = f32} : (tensor<f16>) -> tensor<f32>
  %4 = nn.mul %2, %3 : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %5 = nn.cast %4 {to = f16} : (tensor<4x8xf32>) -> tensor<4x8xf16>
  %6 = nn.cast %w {to = f32} : (tensor<6x8xi8>) -> tensor<6x8xf32>
  %7 = nn.mul %6, %t : (tensor<6x8xf32>, tensor<6x1xf32>) -> tensor<6x8xf32>
  %8 = nn.cast %7 {to = f16} : (tensor<6x8xf32>) -> tensor<6x8xf16>
  %9 = nn.matmul %5, %8 {transpose_b} : (tensor<4x8xf16>, tensor<6x8xf16>) -> tensor<4x6xf16>
  return %9 : tensor<4x6xf16>
}

// Weights alone stay in 16 bits.
// CHECK-LABEL: func.func @weights
// CHECK: nn.matmul {{.*}} -> tensor<4x6xf16>
// BYTES-LABEL: func.func @weights
// BYTES: nn.matmul
func.func @weights(%x: tensor<4x8xf16>) -> tensor<4x6xf16> {
  %w = nn.constant "w" dense<3> : tensor<6x8xi8>
  %t = nn.constant "t" dense<0.5> : tensor<6x1xf32>
  %6 = nn.cast %w {to = f32} : (tensor<6x8xi8>) -> tensor<6x8xf32>
  %7 = nn.mul %6, %t : (tensor<6x8xf32>, tensor<6x1xf32>) -> tensor<6x8xf32>
  %8 = nn.cast %7 {to = f16} : (tensor<6x8xf32>) -> tensor<6x8xf16>
  %9 = nn.matmul %x, %8 {transpose_b} : (tensor<4x8xf16>, tensor<6x8xf16>) -> tensor<4x6xf16>
  return %9 : tensor<4x6xf16>
}
