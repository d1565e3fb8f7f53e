// What is quantized by scales of its rows is stored in 16 bits, since both the
// scales and the codes read it, but a product's wide result only.
// RUN: frit-opt %s --precision=mode=fp16 | FileCheck %s

// CHECK-LABEL: func.func @rows
// CHECK: %[[G:.*]] = nn.gelu %{{.*}} -> tensor<4x6xf32>
// CHECK: %[[H:.*]] = nn.cast %[[G]] {to = f16}
// CHECK: %[[W:.*]] = nn.cast %[[H]] {to = f32}
// CHECK-NEXT: %[[A:.*]] = nn.abs %[[W]]
// CHECK-NEXT: nn.reduce %[[A]]
// CHECK: nn.div %[[W]]
func.func @rows(%x: tensor<4x8xf8E4M3FN>, %r: tensor<4x1xf32>) -> tensor<4x6xf8E4M3FN> {
  %w = nn.constant "w" dense<1.5> : tensor<6x8xf8E4M3FN>
  %0 = nn.cast %x {to = f32} : (tensor<4x8xf8E4M3FN>) -> tensor<4x8xf32>
  %1 = nn.mul %0, %r : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %2 = nn.cast %w {to = f32} : (tensor<6x8xf8E4M3FN>) -> tensor<6x8xf32>
  %3 = nn.matmul %1, %2 {transpose_b} : (tensor<4x8xf32>, tensor<6x8xf32>) -> tensor<4x6xf32>
  %4 = nn.gelu %3 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %5 = nn.abs %4 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %6 = nn.reduce %5 {axes = array<i64: 1>, kind = #nn<combiner max>} : (tensor<4x6xf32>) -> tensor<4x1xf32>
  %7 = nn.div %4, %6 : (tensor<4x6xf32>, tensor<4x1xf32>) -> tensor<4x6xf32>
  %8 = nn.cast %7 {to = f8E4M3FN} : (tensor<4x6xf32>) -> tensor<4x6xf8E4M3FN>
  return %8 : tensor<4x6xf8E4M3FN>
}
