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

// 16-bit floats are computed with in f32.
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
