// RUN: frit-opt %s --split-input-file --hoist-prepare | FileCheck %s

// The cast of the weight runs once. A view of a constant, a broadcast and a
// counter stay, and two readers share one prepared value.
// CHECK-LABEL: func.func @main
// CHECK-SAME:    (%[[X:[^:]*]]: tensor<2x4xf16> {nn.name = "x"}, %[[W:[^:]*]]: tensor<4x4xf16> {nn.prepared = 0 : i64}, %[[S:[^:]*]]: tensor<1x4xf16> {nn.prepared = 1 : i64})
// CHECK-NOT:     nn.constant "w"
// CHECK:         %[[B:.*]] = nn.constant "b"
// CHECK:         nn.reshape %[[B]]
// CHECK:         nn.iota
// CHECK:         nn.expand %[[S]]
// CHECK:         nn.matmul %[[X]], %[[W]]
// CHECK:         nn.matmul %{{.*}}, %[[W]]
// CHECK-LABEL: func.func @prepare() -> (tensor<4x4xf16>, tensor<1x4xf16>)
// CHECK:         %[[C:.*]] = nn.constant "w"
// CHECK:         %[[H:.*]] = nn.cast %[[C]]
// CHECK:         %[[N:.*]] = nn.neg
// CHECK:         return %[[H]], %[[N]]
func.func @main(%x: tensor<2x4xf16> {nn.name = "x"}) -> tensor<2x4xf16> {
  %w = nn.constant "w" dense<[[1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0]]> : tensor<4x4xf32>
  %b = nn.constant "b" dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf16>
  %zero = nn.constant dense<0.0> : tensor<f16>
  %one = nn.constant dense<1.0> : tensor<f16>
  %h = nn.cast %w {to = f16} : (tensor<4x4xf32>) -> tensor<4x4xf16>
  %r = nn.reshape %b {shape = array<i64: 1, 4>} : (tensor<4xf16>) -> tensor<1x4xf16>
  %n = nn.neg %r : (tensor<1x4xf16>) -> tensor<1x4xf16>
  %p = nn.iota %zero, %one {axis = 1 : i64, shape = array<i64: 2, 4>} : (tensor<f16>, tensor<f16>) -> tensor<2x4xf16>
  %e = nn.expand %n {shape = array<i64: 2, 4>} : (tensor<1x4xf16>) -> tensor<2x4xf16>
  %0 = nn.matmul %x, %h : (tensor<2x4xf16>, tensor<4x4xf16>) -> tensor<2x4xf16>
  %1 = nn.matmul %0, %h : (tensor<2x4xf16>, tensor<4x4xf16>) -> tensor<2x4xf16>
  %2 = nn.add %1, %r : (tensor<2x4xf16>, tensor<1x4xf16>) -> tensor<2x4xf16>
  %3 = nn.add %2, %p : (tensor<2x4xf16>, tensor<2x4xf16>) -> tensor<2x4xf16>
  %4 = nn.add %3, %e : (tensor<2x4xf16>, tensor<2x4xf16>) -> tensor<2x4xf16>
  return %4 : tensor<2x4xf16>
}

// -----

// A large splat is broadcast if that is free. A smaller one, a weight and the
// operand of a product stay.
// CHECK-LABEL: func.func @main
// CHECK-DAG:     %[[E:.*]] = nn.constant dense<2.000000e+00> : tensor<f32>
// CHECK-DAG:     %[[B:.*]] = nn.expand %[[E]] {shape = array<i64: 512, 512>}
// CHECK-DAG:     %[[C:.*]] = nn.constant dense<2.000000e+00> : tensor<512x512xf32>
// CHECK-DAG:     %[[S:.*]] = nn.constant dense<2.000000e+00> : tensor<512x1xf32>
// CHECK-DAG:     %[[W:.*]] = nn.constant "w" dense<2.000000e+00> : tensor<512x512xf32>
// CHECK:         %[[A:.*]] = nn.add %{{.*}}, %[[B]]
// CHECK:         %[[M:.*]] = nn.matmul %[[A]], %[[C]]
// CHECK:         nn.add %[[M]], %[[S]]
// CHECK:         %[[V:.*]] = nn.add %{{.*}}, %[[W]]
// CHECK:         return %[[V]], %[[B]]
func.func @main(%x: tensor<512x512xf32>) -> (tensor<512x512xf32>, tensor<512x512xf32>) {
  %c = nn.constant dense<2.0> : tensor<512x512xf32>
  %s = nn.constant dense<2.0> : tensor<512x1xf32>
  %w = nn.constant "w" dense<2.0> : tensor<512x512xf32>
  %0 = nn.add %x, %c : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %1 = nn.matmul %0, %c : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %2 = nn.add %1, %s : (tensor<512x512xf32>, tensor<512x1xf32>) -> tensor<512x512xf32>
  %3 = nn.add %2, %w : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  return %3, %c : tensor<512x512xf32>, tensor<512x512xf32>
}
