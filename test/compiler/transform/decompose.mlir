// RUN: frit-opt %s --decompose | FileCheck %s

// A mean is a sum and a division; softmax needs two rounds.
// CHECK-LABEL: func.func @mean
// CHECK-NOT:     nn.reduce_mean
// CHECK:         %[[SUM:.*]] = nn.reduce %{{.*}} {axes = array<i64: 1>, kind = #nn<combiner sum>}
// CHECK:         nn.div %[[SUM]]
func.func @mean(%x: tensor<4x8xf32>) -> tensor<4x1xf32> {
  %y = nn.reduce_mean %x {axes = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  return %y : tensor<4x1xf32>
}

// Composites on 16-bit floats compute in f32.
// CHECK-LABEL: func.func @softmax
// CHECK-NOT:     nn.softmax
// CHECK:         nn.cast {{.*}} -> tensor<4x8xf32>
// CHECK:         nn.reduce {{.*}}max
// CHECK:         nn.exp
// CHECK:         nn.reduce {{.*}}sum
// CHECK:         nn.cast {{.*}} -> tensor<4x8xf16>
func.func @softmax(%x: tensor<4x8xf16>) -> tensor<4x8xf16> {
  %y = nn.softmax %x : (tensor<4x8xf16>) -> tensor<4x8xf16>
  return %y : tensor<4x8xf16>
}

// In f32, the scale is applied in the softmax; the mask is causal.
// CHECK-LABEL: func.func @attention
// CHECK-SAME:    %[[Q:[^:]*]]: {{[^,]*}}, %[[K:[^:]*]]: {{[^,]*}}, %[[V:[^:]*]]:
// CHECK-NOT:     nn.attention
// CHECK:         %[[S:.*]] = nn.matmul %[[Q]], %[[K]] {transpose_b}
// CHECK:         nn.mul %[[S]]
// CHECK:         nn.where
// CHECK:         %[[P:.*]] = nn.div
// CHECK:         nn.matmul %[[P]], %[[V]]
func.func @attention(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x4x8xf32>, %v: tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32> {
  %y = nn.attention %q, %k, %v {scale = 0.5 : f32, causal} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32>
  return %y : tensor<1x2x4x8xf32>
}

// In 16 bits, q is scaled before the product, so that scores stay in range;
// queries that share keys become more rows of one head.
// CHECK-LABEL: func.func @shared_keys
// CHECK-SAME:    %[[Q:[^:]*]]: {{[^,]*}}, %[[K:[^:]*]]:
// CHECK:         %[[A:.*]] = nn.mul %[[Q]]
// CHECK:         %[[B:.*]] = nn.reshape %[[A]] {shape = array<i64: 1, 1, 8, 8>}
// CHECK:         nn.matmul %[[B]], %[[K]] {transpose_b} : {{.*}} -> tensor<1x1x8x4xf16>
// CHECK:         nn.reshape %{{.*}} {shape = array<i64: 1, 2, 4, 4>}
func.func @shared_keys(%q: tensor<1x2x4x8xf16>, %k: tensor<1x1x4x8xf16>, %v: tensor<1x1x4x8xf16>) -> tensor<1x2x4x8xf16> {
  %y = nn.attention %q, %k, %v {scale = 0.5 : f32} : (tensor<1x2x4x8xf16>, tensor<1x1x4x8xf16>, tensor<1x1x4x8xf16>) -> tensor<1x2x4x8xf16>
  return %y : tensor<1x2x4x8xf16>
}

// The place of the largest number; a NaN has one, too, or is none.
// CHECK-LABEL: func.func @places
// CHECK:         nn.is_nan
// CHECK:         return
// CHECK-LABEL: func.func @places_of_numbers
// CHECK-NOT:     nn.is_nan
// CHECK:         return
func.func @places(%x: tensor<2x9xf32>) -> tensor<2x1xi64> {
  %y = nn.arg_max %x {axis = 1 : si64} : (tensor<2x9xf32>) -> tensor<2x1xi64>
  return %y : tensor<2x1xi64>
}
func.func @places_of_numbers(%x: tensor<2x9xf32>, %long: tensor<2x8192xf32>) -> (tensor<2x1xi64>, tensor<2x1xi64>) {
  %y = nn.arg_max %x {axis = 1 : si64, nn.numbers_only} : (tensor<2x9xf32>) -> tensor<2x1xi64>
  %z = nn.arg_max %long {axis = 1 : si64, nn.numbers_only} : (tensor<2x8192xf32>) -> tensor<2x1xi64>
  return %y, %z : tensor<2x1xi64>, tensor<2x1xi64>
}
