// Codes are summed in f32, and what is elementwise after that stays f32. A value
// that a norm or a reduction reads is stored in 16 bits.
// RUN: frit-opt %s --precision=mode=fp16 | FileCheck %s

// CHECK-LABEL: func.func @read
// CHECK: %[[SUM:.*]] = nn.matmul {{.*}} -> tensor<4x6xf32>
// CHECK: %[[Y:.*]] = nn.add %[[SUM]], {{.*}} -> tensor<4x6xf32>
// CHECK-NEXT: %[[STORED:.*]] = nn.cast %[[Y]] {to = f16}
// CHECK-NEXT: %[[WIDE:.*]] = nn.cast %[[STORED]] {to = f32}
// CHECK-NEXT: nn.reduce %[[WIDE]]
// CHECK: nn.sub %[[STORED]]
func.func @read(%x: tensor<4x8xi8>, %b: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %w = nn.constant "w" dense<1> : tensor<6x8xi8>
  %s = nn.constant dense<0.25> : tensor<f32>
  %0 = nn.cast %x {to = f32} : (tensor<4x8xi8>) -> tensor<4x8xf32>
  %1 = nn.mul %0, %s : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %2 = nn.cast %w {to = f32} : (tensor<6x8xi8>) -> tensor<6x8xf32>
  %3 = nn.mul %2, %s : (tensor<6x8xf32>, tensor<f32>) -> tensor<6x8xf32>
  %4 = nn.matmul %1, %3 {transpose_b} : (tensor<4x8xf32>, tensor<6x8xf32>) -> tensor<4x6xf32>
  %5 = nn.add %4, %s : (tensor<4x6xf32>, tensor<f32>) -> tensor<4x6xf32>
  %6 = nn.reduce %5 {axes = array<i64: 1>, kind = #nn<combiner max>} : (tensor<4x6xf32>) -> tensor<4x1xf32>
  %7 = nn.sub %5, %6 : (tensor<4x6xf32>, tensor<4x1xf32>) -> tensor<4x6xf32>
  return %7 : tensor<4x6xf32>
}

// A chain to the next quantization has one kernel, and stays f32.
// CHECK-LABEL: func.func @chain
// CHECK-NOT: to = f16
// CHECK: nn.cast %{{.*}} {to = i8}
// CHECK-NOT: to = f16
// CHECK: return
func.func @chain(%x: tensor<4x8xi8>) -> tensor<4x6xi8> {
  %w = nn.constant "w" dense<1> : tensor<6x8xi8>
  %s = nn.constant dense<0.25> : tensor<f32>
  %0 = nn.cast %x {to = f32} : (tensor<4x8xi8>) -> tensor<4x8xf32>
  %1 = nn.mul %0, %s : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %2 = nn.cast %w {to = f32} : (tensor<6x8xi8>) -> tensor<6x8xf32>
  %3 = nn.mul %2, %s : (tensor<6x8xf32>, tensor<f32>) -> tensor<6x8xf32>
  %4 = nn.matmul %1, %3 {transpose_b} : (tensor<4x8xf32>, tensor<6x8xf32>) -> tensor<4x6xf32>
  %5 = nn.relu %4 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %6 = nn.round %5 : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %7 = nn.cast %6 {to = i8} : (tensor<4x6xf32>) -> tensor<4x6xi8>
  return %7 : tensor<4x6xi8>
}

// Channels of bytes that have filters of their own are convolved in f32: a
// kernel of bytes may.
// CHECK-LABEL: func.func @filters
// CHECK-NOT: to = f16
// CHECK: nn.conv {{.*}} -> tensor<1x4x6x6xf32>
// CHECK-NOT: to = f16
// CHECK: return
func.func @filters(%x: tensor<1x4x8x8xi8>) -> tensor<1x4x6x6xi8> {
  %w = nn.constant "w" dense<1> : tensor<4x1x3x3xi8>
  %s = nn.constant dense<0.25> : tensor<f32>
  %0 = nn.cast %x {to = f32} : (tensor<1x4x8x8xi8>) -> tensor<1x4x8x8xf32>
  %1 = nn.mul %0, %s : (tensor<1x4x8x8xf32>, tensor<f32>) -> tensor<1x4x8x8xf32>
  %2 = nn.cast %w {to = f32} : (tensor<4x1x3x3xi8>) -> tensor<4x1x3x3xf32>
  %3 = nn.mul %2, %s : (tensor<4x1x3x3xf32>, tensor<f32>) -> tensor<4x1x3x3xf32>
  %4 = nn.conv %1, %3 {dilations = array<i64: 1, 1>, group = 4 : i64, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x4x8x8xf32>, tensor<4x1x3x3xf32>) -> tensor<1x4x6x6xf32>
  %5 = nn.relu %4 : (tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %6 = nn.div %5, %s : (tensor<1x4x6x6xf32>, tensor<f32>) -> tensor<1x4x6x6xf32>
  %7 = nn.round %6 : (tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xf32>
  %8 = nn.cast %7 {to = i8} : (tensor<1x4x6x6xf32>) -> tensor<1x4x6x6xi8>
  return %8 : tensor<1x4x6x6xi8>
}
