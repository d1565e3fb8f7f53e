// RUN: frit-opt %s --align-columns | FileCheck %s

// A loss of 1002 classes and its gradients: columns become 1008. The weight has
// rows behind it, which the products read too.
// CHECK-LABEL: func.func @loss
// CHECK: %[[W:.*]] = nn.slice %{{.*}} {sizes = array<i64: 1008, 64>, starts = array<i64: 8, 0>
// CHECK: %[[X:.*]] = nn.matmul %{{.*}}, %[[W]] {transpose_b} : {{.*}} -> tensor<4x8x1008xbf16>
// CHECK: %[[WIDE:.*]] = nn.cast %[[X]] {to = f32}
// CHECK: %[[FLAT:.*]] = nn.reshape %[[WIDE]] {shape = array<i64: 32, 1008>}
// Reductions and products do not see the columns that were added.
// CHECK: %[[VALID:.*]] = nn.less
// CHECK: %[[MOST:.*]] = nn.where %[[VALID]], %[[FLAT]], %{{.*}}
// CHECK: nn.reduce %[[MOST]] {{.*}}max{{.*}} -> tensor<32x1xf32>
// CHECK: %[[E:.*]] = nn.exp
// CHECK: nn.where %{{.*}}, %[[E]], %{{.*}}
// CHECK: %[[S:.*]] = nn.reduce {{.*}}sum{{.*}} -> tensor<32x1xf32>
// CHECK: nn.iota {{.*}}shape = array<i64: 1, 1008>
// CHECK: %[[D:.*]] = nn.sub
// CHECK: %[[ZEROED:.*]] = nn.where %{{.*}}, %[[D]], %{{.*}}
// CHECK: %[[G:.*]] = nn.cast %[[ZEROED]] {{.*}}to = bf16
// CHECK: nn.matmul %[[G]], %[[W]] : (tensor<32x1008xbf16>, tensor<1008x64xbf16>) -> tensor<32x64xbf16>
// CHECK: %[[DW:.*]] = nn.matmul %[[G]], %{{.*}} {transpose_a} : {{.*}} -> tensor<1008x64xbf16>
// CHECK: nn.slice %[[DW]] {sizes = array<i64: 1002, 64>
func.func @loss(%a: tensor<4x8x64xbf16>, %rows: tensor<2048x64xbf16>, %labels: tensor<32x1xi64>)
    -> (tensor<32x1xf32>, tensor<32x64xbf16>, tensor<1002x64xbf16>) {
  %zero = nn.constant dense<0> : tensor<i64>
  %one = nn.constant dense<1> : tensor<i64>
  %w = nn.slice %rows {starts = array<i64: 8, 0>, sizes = array<i64: 1002, 64>, steps = array<i64: 1, 1>} : (tensor<2048x64xbf16>) -> tensor<1002x64xbf16>
  %x = nn.matmul %a, %w {transpose_b} : (tensor<4x8x64xbf16>, tensor<1002x64xbf16>) -> tensor<4x8x1002xbf16>
  %c = nn.cast %x {to = f32} : (tensor<4x8x1002xbf16>) -> tensor<4x8x1002xf32>
  %f = nn.reshape %c {shape = array<i64: 32, 1002>} : (tensor<4x8x1002xf32>) -> tensor<32x1002xf32>
  %m = nn.reduce %f {kind = #nn<combiner max>, axes = array<i64: 1>} : (tensor<32x1002xf32>) -> tensor<32x1xf32>
  %s = nn.sub %f, %m : (tensor<32x1002xf32>, tensor<32x1xf32>) -> tensor<32x1002xf32>
  %e = nn.exp %s : (tensor<32x1002xf32>) -> tensor<32x1002xf32>
  %t = nn.reduce %e {kind = #nn<combiner sum>, axes = array<i64: 1>} : (tensor<32x1002xf32>) -> tensor<32x1xf32>
  %p = nn.div %e, %t : (tensor<32x1002xf32>, tensor<32x1xf32>) -> tensor<32x1002xf32>
  %i = nn.iota %zero, %one {axis = 1 : i64, shape = array<i64: 1, 1002>} : (tensor<i64>, tensor<i64>) -> tensor<1x1002xi64>
  %q = nn.equal %i, %labels : (tensor<1x1002xi64>, tensor<32x1xi64>) -> tensor<32x1002xi1>
  %h = nn.cast %q {to = f32} : (tensor<32x1002xi1>) -> tensor<32x1002xf32>
  %d = nn.sub %p, %h : (tensor<32x1002xf32>, tensor<32x1002xf32>) -> tensor<32x1002xf32>
  %g = nn.cast %d {to = bf16, storage} : (tensor<32x1002xf32>) -> tensor<32x1002xbf16>
  %da = nn.matmul %g, %w : (tensor<32x1002xbf16>, tensor<1002x64xbf16>) -> tensor<32x64xbf16>
  %r = nn.reshape %a {shape = array<i64: 32, 64>} : (tensor<4x8x64xbf16>) -> tensor<32x64xbf16>
  %dw = nn.matmul %g, %r {transpose_a} : (tensor<32x1002xbf16>, tensor<32x64xbf16>) -> tensor<1002x64xbf16>
  return %t, %da, %dw : tensor<32x1xf32>, tensor<32x64xbf16>, tensor<1002x64xbf16>
}

// Nothing is behind this weight: the kernel that casts it writes zeros, and
// others read its first rows.
// CHECK-LABEL: func.func @padded
// CHECK: %[[C:.*]] = nn.cast %arg1
// CHECK: %[[W:.*]] = nn.pad %[[C]] {high = array<i64: 6, 0>, low = array<i64: 0, 0>}
// CHECK: %[[FIRST:.*]] = nn.slice %[[W]] {sizes = array<i64: 1002, 64>
// CHECK: nn.matmul %{{.*}}, %[[W]] {transpose_b} : {{.*}} -> tensor<32x1008xbf16>
// CHECK: nn.neg %[[FIRST]]
func.func @padded(%a: tensor<32x64xbf16>, %v: tensor<1002x64xf32>) -> (tensor<32x64xbf16>, tensor<1002x64xbf16>) {
  %w = nn.cast %v {to = bf16} : (tensor<1002x64xf32>) -> tensor<1002x64xbf16>
  %x = nn.matmul %a, %w {transpose_b} : (tensor<32x64xbf16>, tensor<1002x64xbf16>) -> tensor<32x1002xbf16>
  %g = nn.exp %x : (tensor<32x1002xbf16>) -> tensor<32x1002xbf16>
  %da = nn.matmul %g, %w : (tensor<32x1002xbf16>, tensor<1002x64xbf16>) -> tensor<32x64xbf16>
  %n = nn.neg %w : (tensor<1002x64xbf16>) -> tensor<1002x64xbf16>
  return %da, %n : tensor<32x64xbf16>, tensor<1002x64xbf16>
}

// An element of each row is read by its column; indices count from the columns
// that there were.
// CHECK-LABEL: func.func @gather
// CHECK: %[[X:.*]] = nn.matmul {{.*}} -> tensor<32x1008xbf16>
// CHECK: %[[COUNT:.*]] = nn.constant dense<1002>
// CHECK-NEXT: nn.add %arg2, %[[COUNT]]
// CHECK: %[[LAST:.*]] = nn.constant dense<1001>
// CHECK-NEXT: %[[PLACE:.*]] = nn.min %{{.*}}, %[[LAST]]
// CHECK: nn.gather_elements %[[X]], %[[PLACE]] {axis = 1 : si64}
func.func @gather(%a: tensor<32x64xbf16>, %w: tensor<1002x64xbf16>, %i: tensor<32x1xi64>) -> (tensor<32x64xbf16>, tensor<32x1xbf16>) {
  %x = nn.matmul %a, %w {transpose_b} : (tensor<32x64xbf16>, tensor<1002x64xbf16>) -> tensor<32x1002xbf16>
  %e = nn.gather_elements %x, %i {axis = 1 : si64} : (tensor<32x1002xbf16>, tensor<32x1xi64>) -> tensor<32x1xbf16>
  %g = nn.exp %x : (tensor<32x1002xbf16>) -> tensor<32x1002xbf16>
  %da = nn.matmul %g, %w : (tensor<32x1002xbf16>, tensor<1002x64xbf16>) -> tensor<32x64xbf16>
  return %da, %e : tensor<32x64xbf16>, tensor<32x1xbf16>
}

// A bias gets zeros, and its gradient is a part of the sums.
// CHECK-LABEL: func.func @bias
// CHECK: %[[B:.*]] = nn.pad %arg2 {high = array<i64: 6>, low = array<i64: 0>}
// CHECK: nn.add %{{.*}}, %[[B]] : (tensor<32x1008xbf16>, tensor<1008xbf16>)
// CHECK: %[[G:.*]] = nn.where
// CHECK: nn.matmul %[[G]],
// CHECK: %[[SUMS:.*]] = nn.reduce %[[G]] {axes = array<i64: 0>
// CHECK: nn.slice %[[SUMS]] {sizes = array<i64: 1, 1002>
func.func @bias(%a: tensor<32x64xbf16>, %w: tensor<1002x64xbf16>, %b: tensor<1002xbf16>) -> (tensor<32x64xbf16>, tensor<1x1002xbf16>) {
  %x = nn.matmul %a, %w {transpose_b} : (tensor<32x64xbf16>, tensor<1002x64xbf16>) -> tensor<32x1002xbf16>
  %y = nn.add %x, %b : (tensor<32x1002xbf16>, tensor<1002xbf16>) -> tensor<32x1002xbf16>
  %g = nn.exp %y : (tensor<32x1002xbf16>) -> tensor<32x1002xbf16>
  %da = nn.matmul %g, %w : (tensor<32x1002xbf16>, tensor<1002x64xbf16>) -> tensor<32x64xbf16>
  %db = nn.reduce %g {kind = #nn<combiner sum>, axes = array<i64: 0>} : (tensor<32x1002xbf16>) -> tensor<1x1002xbf16>
  return %da, %db : tensor<32x64xbf16>, tensor<1x1002xbf16>
}

// Logits that are also returned, or that no gradient reads, stay as they are.
// CHECK-LABEL: func.func @stays
// CHECK-NOT: 1008
func.func @stays(%a: tensor<32x64xbf16>, %w: tensor<1002x64xbf16>) -> (tensor<32x1002xbf16>, tensor<32x64xbf16>, tensor<32x1xbf16>) {
  %x = nn.matmul %a, %w {transpose_b} : (tensor<32x64xbf16>, tensor<1002x64xbf16>) -> tensor<32x1002xbf16>
  %g = nn.exp %x : (tensor<32x1002xbf16>) -> tensor<32x1002xbf16>
  %da = nn.matmul %g, %w : (tensor<32x1002xbf16>, tensor<1002x64xbf16>) -> tensor<32x64xbf16>
  %y = nn.matmul %da, %w {transpose_b} : (tensor<32x64xbf16>, tensor<1002x64xbf16>) -> tensor<32x1002xbf16>
  %s = nn.reduce %y {kind = #nn<combiner sum>, axes = array<i64: 1>} : (tensor<32x1002xbf16>) -> tensor<32x1xbf16>
  return %x, %da, %s : tensor<32x1002xbf16>, tensor<32x64xbf16>, tensor<32x1xbf16>
}

// A product of two vectors is a number.
// CHECK-LABEL: func.func @number
// CHECK: nn.matmul {{.*}} -> tensor<f32>
func.func @number(%a: tensor<8xf32>, %b: tensor<8xf32>) -> tensor<f32> {
  %y = nn.matmul %a, %b : (tensor<8xf32>, tensor<8xf32>) -> tensor<f32>
  return %y : tensor<f32>
}
