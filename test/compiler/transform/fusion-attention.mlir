// The test target keeps attention with heads of 64 elements whole; it may read
// any view whose last stride is 1.
// RUN: frit-opt %s --decompose --fusion -split-input-file | FileCheck %s

// No data movement: one kernel reads a projection at three offsets and writes
// what the next product reads. Views at either end stay outside.
// CHECK-LABEL: func.func @packed
// CHECK-SAME:    %[[P:[^:]*]]:
// CHECK-NEXT:    %[[R:.*]] = nn.reshape %[[P]] {shape = array<i64: 2, 5, 6, 64>}
// CHECK-NEXT:    %[[F:.*]] = nn.fusion(%[[R]]) : (tensor<2x5x6x64xf16>) -> tensor<2x5x2x64xf16> {
// CHECK-COUNT-3: nn.slice
// CHECK:         %[[Y:.*]] = nn.attention
// CHECK-NEXT:    %[[T:.*]] = nn.transpose %[[Y]]
// CHECK-NEXT:    nn.yield %[[T]]
// CHECK:         %[[O:.*]] = nn.reshape %[[F]] {shape = array<i64: 2, 5, 128>}
// CHECK-NEXT:    return %[[O]]
func.func @packed(%p: tensor<2x5x384xf16>) -> tensor<2x5x128xf16> {
  %0 = nn.reshape %p {shape = array<i64: 2, 5, 6, 64>} : (tensor<2x5x384xf16>) -> tensor<2x5x6x64xf16>
  %1 = nn.slice %0 {starts = array<i64: 0, 0, 0, 0>, sizes = array<i64: 2, 5, 2, 64>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x5x6x64xf16>) -> tensor<2x5x2x64xf16>
  %2 = nn.slice %0 {starts = array<i64: 0, 0, 2, 0>, sizes = array<i64: 2, 5, 2, 64>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x5x6x64xf16>) -> tensor<2x5x2x64xf16>
  %3 = nn.slice %0 {starts = array<i64: 0, 0, 4, 0>, sizes = array<i64: 2, 5, 2, 64>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x5x6x64xf16>) -> tensor<2x5x2x64xf16>
  %q = nn.transpose %1 {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x5x2x64xf16>) -> tensor<2x2x5x64xf16>
  %k = nn.transpose %2 {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x5x2x64xf16>) -> tensor<2x2x5x64xf16>
  %v = nn.transpose %3 {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x5x2x64xf16>) -> tensor<2x2x5x64xf16>
  %y = nn.attention %q, %k, %v {scale = 0.125 : f32, causal} : (tensor<2x2x5x64xf16>, tensor<2x2x5x64xf16>, tensor<2x2x5x64xf16>) -> tensor<2x2x5x64xf16>
  %4 = nn.transpose %y {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x2x5x64xf16>) -> tensor<2x5x2x64xf16>
  %5 = nn.reshape %4 {shape = array<i64: 2, 5, 128>} : (tensor<2x5x2x64xf16>) -> tensor<2x5x128xf16>
  return %5 : tensor<2x5x128xf16>
}

// -----

// Keys with non-contiguous elements are copied before, as is a result with
// other readers; a mask is broadcast when it is read.
// CHECK-LABEL: func.func @apart
// CHECK-SAME:    %[[Q:[^:]*]]: {{[^,]*}}, %[[K:[^:]*]]: {{[^,]*}}, %[[M:[^:]*]]:
// CHECK:         %[[T:.*]] = nn.fusion(%[[K]])
// CHECK:           nn.transpose
// CHECK:         %[[Y:.*]] = nn.fusion(%[[M]], %[[Q]], %[[T]])
// CHECK-NEXT:    ^bb0(%[[C:.*]]: tensor<2x1x1x5xf16>, %[[A:.*]]: tensor<2x2x5x64xf16>, %[[B:.*]]: tensor<2x2x5x64xf16>):
// CHECK-NEXT:      %[[E:.*]] = nn.expand %[[C]]
// CHECK-NEXT:      %[[Z:.*]] = nn.attention %[[A]], %[[B]], %[[B]], %[[E]]
// CHECK-NEXT:      nn.yield %[[Z]]
// CHECK:         nn.fusion(%[[Y]])
// CHECK:           nn.transpose
func.func @apart(%q: tensor<2x2x5x64xf16>, %k: tensor<2x2x64x5xf16>, %m: tensor<2x1x1x5xf16>) -> (tensor<2x2x5x64xf16>, tensor<2x5x2x64xf16>) {
  %0 = nn.transpose %k {perm = array<i64: 0, 1, 3, 2>} : (tensor<2x2x64x5xf16>) -> tensor<2x2x5x64xf16>
  %1 = nn.expand %m {shape = array<i64: 2, 1, 5, 5>} : (tensor<2x1x1x5xf16>) -> tensor<2x1x5x5xf16>
  %y = nn.attention %q, %0, %0, %1 {scale = 0.125 : f32} : (tensor<2x2x5x64xf16>, tensor<2x2x5x64xf16>, tensor<2x2x5x64xf16>, tensor<2x1x5x5xf16>) -> tensor<2x2x5x64xf16>
  %2 = nn.transpose %y {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x2x5x64xf16>) -> tensor<2x5x2x64xf16>
  return %y, %2 : tensor<2x2x5x64xf16>, tensor<2x5x2x64xf16>
}

// -----

// A scalar mask is read from memory too, as are views of it.
// CHECK-LABEL: func.func @number
// CHECK-SAME:    %[[Q:[^:]*]]:
// CHECK-DAG:     %[[Z:.*]] = nn.constant dense<0.000000e+00>
// CHECK-DAG:     %[[M:.*]] = nn.constant "m"
// CHECK:         nn.fusion(%[[Z]], %[[Q]], %[[M]])
// CHECK-NEXT:    ^bb0(%[[B:.*]]: tensor<2x1x5x64xf16>, %[[A:.*]]: tensor<2x2x5x64xf16>, %[[C:.*]]: tensor<1x1x1x1xf16>):
// CHECK-NEXT:      %[[E:.*]] = nn.expand %[[B]]
// CHECK-NEXT:      nn.attention %[[A]], %[[A]], %[[E]], %[[C]]
func.func @number(%q: tensor<2x2x5x64xf16>) -> tensor<2x2x5x64xf16> {
  %0 = nn.constant dense<0.0> : tensor<2x1x5x64xf16>
  %m = nn.constant "m" dense<0.125> : tensor<1x1x1x1xf16>
  %1 = nn.expand %0 {shape = array<i64: 2, 2, 5, 64>} : (tensor<2x1x5x64xf16>) -> tensor<2x2x5x64xf16>
  %y = nn.attention %q, %q, %1, %m {scale = 0.125 : f32} : (tensor<2x2x5x64xf16>, tensor<2x2x5x64xf16>, tensor<2x2x5x64xf16>, tensor<1x1x1x1xf16>) -> tensor<2x2x5x64xf16>
  return %y : tensor<2x2x5x64xf16>
}

// -----

// Statistics are another result of the attention's kernel, and the gradient
// reads the result in its transposed layout.
// CHECK-LABEL: func.func @stats
// CHECK-SAME:    %[[Q:.*]]: tensor<2x2x5x64xf16>, %[[K:.*]]: tensor<2x2x5x64xf16>, %[[D:[^:]*]]:
// CHECK-NEXT:    %[[F:.*]]:2 = nn.fusion(%[[Q]], %[[K]]) : {{.*}} -> (tensor<2x2x5xf32>, tensor<2x5x2x64xf16>) {
// CHECK-NEXT:    ^bb0(%[[A:.*]]: tensor<2x2x5x64xf16>, %[[B:.*]]: tensor<2x2x5x64xf16>):
// CHECK-NEXT:      %[[Y:.*]] = nn.attention %[[A]], %[[B]], %[[B]]
// CHECK-NEXT:      %[[S:.*]] = nn.attention_stats %[[A]], %[[B]]
// CHECK-NEXT:      %[[T:.*]] = nn.transpose %[[Y]]
// CHECK-NEXT:      nn.yield %[[S]], %[[T]]
// CHECK:         nn.fusion(%[[F]]#1, %[[Q]], %[[K]], %[[D]], %[[F]]#0)
// CHECK:           %[[Z:.*]] = nn.transpose
// CHECK-NEXT:      nn.attention_grad %{{.*}}, %{{.*}}, %{{.*}}, %[[Z]],
func.func @stats(%q: tensor<2x2x5x64xf16>, %k: tensor<2x2x5x64xf16>, %d: tensor<2x2x5x64xf16>) -> (tensor<2x5x128xf16>, tensor<2x5x6x64xf16>) {
  %y = nn.attention %q, %k, %k {scale = 1.0 : f32} : (tensor<2x2x5x64xf16>, tensor<2x2x5x64xf16>, tensor<2x2x5x64xf16>) -> tensor<2x2x5x64xf16>
  %t = nn.transpose %y {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x2x5x64xf16>) -> tensor<2x5x2x64xf16>
  %r = nn.reshape %t {shape = array<i64: 2, 5, 128>} : (tensor<2x5x2x64xf16>) -> tensor<2x5x128xf16>
  %s = nn.attention_stats %q, %k {scale = 1.0 : f32} : (tensor<2x2x5x64xf16>, tensor<2x2x5x64xf16>) -> tensor<2x2x5xf32>
  %g = nn.attention_grad %q, %k, %k, %y, %d, %s {scale = 1.0 : f32} : (tensor<2x2x5x64xf16>, tensor<2x2x5x64xf16>, tensor<2x2x5x64xf16>, tensor<2x2x5x64xf16>, tensor<2x2x5x64xf16>, tensor<2x2x5xf32>) -> tensor<2x5x6x64xf16>
  return %r, %g : tensor<2x5x128xf16>, tensor<2x5x6x64xf16>
}

// -----

// Statistics without their attention are decomposed.
// CHECK-LABEL: func.func @stats_alone
// CHECK-NOT:     nn.attention_stats
// CHECK:         nn.matmul
// CHECK-NOT:     nn.attention_stats
// CHECK:         nn.log
func.func @stats_alone(%q: tensor<2x2x5x64xf16>, %k: tensor<2x2x5x64xf16>) -> tensor<2x2x5xf32> {
  %s = nn.attention_stats %q, %k {scale = 1.0 : f32} : (tensor<2x2x5x64xf16>, tensor<2x2x5x64xf16>) -> tensor<2x2x5xf32>
  return %s : tensor<2x2x5xf32>
}

// -----

// Nothing computes statistics that nothing reads.
// CHECK-LABEL: func.func @stats_unread
// CHECK-NOT:     nn.attention_stats
// CHECK-NOT:     nn.log
// CHECK:         return
func.func @stats_unread(%q: tensor<2x2x5x64xf16>, %k: tensor<2x2x5x64xf16>) -> tensor<2x2x5x64xf16> {
  %y = nn.attention %q, %k, %k {scale = 1.0 : f32} : (tensor<2x2x5x64xf16>, tensor<2x2x5x64xf16>, tensor<2x2x5x64xf16>) -> tensor<2x2x5x64xf16>
  %s = nn.attention_stats %q, %k {scale = 1.0 : f32} : (tensor<2x2x5x64xf16>, tensor<2x2x5x64xf16>) -> tensor<2x2x5xf32>
  return %y : tensor<2x2x5x64xf16>
}
