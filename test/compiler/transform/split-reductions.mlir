// RUN: frit-opt %s --split-reductions | FileCheck %s

// Sums of bfloat16 are not rounded between the steps. What only the sum reads
// moves with it, statistics of rows and columns too.
// CHECK-LABEL: func.func @main
// CHECK-DAG:     %[[X:.*]] = nn.reshape %arg0 {shape = array<i64: [[P:[0-9]+]], [[K:[0-9]+]], 768>}
// CHECK-DAG:     %[[R:.*]] = nn.reshape %arg1 {shape = array<i64: [[P]], [[K]], 1>}
// CHECK:         %[[M:.*]] = nn.mul %[[X]], %[[R]] : {{.*}} -> tensor<[[P]]x[[K]]x768xbf16>
// CHECK:         %[[A:.*]] = nn.add %[[M]], %arg2
// CHECK:         %[[W:.*]] = nn.cast %[[A]] {to = f32}
// CHECK:         %[[S:.*]] = nn.reduce %[[W]] {axes = array<i64: 1>, kind = #nn<combiner sum>} : {{.*}} -> tensor<[[P]]x1x768xf32>
// CHECK:         %[[V:.*]] = nn.reshape %[[S]]
// CHECK:         nn.reduce %[[V]] {axes = array<i64: 0>, kind = #nn<combiner sum>} : {{.*}} -> tensor<1x768xf32>
func.func @main(%x: tensor<16384x768xbf16>, %r: tensor<16384x1xbf16>, %c: tensor<768xbf16>) -> tensor<1x768xbf16> {
  %0 = nn.mul %x, %r : (tensor<16384x768xbf16>, tensor<16384x1xbf16>) -> tensor<16384x768xbf16>
  %1 = nn.add %0, %c : (tensor<16384x768xbf16>, tensor<768xbf16>) -> tensor<16384x768xbf16>
  %2 = nn.reduce %1 {axes = array<i64: 0>, kind = #nn<combiner sum>} : (tensor<16384x768xbf16>) -> tensor<1x768xbf16>
  return %2 : tensor<1x768xbf16>
}

// Rows, and what is small, stay as they are.
// CHECK-LABEL: func.func @others
// CHECK-NEXT:    nn.reduce %arg0 {axes = array<i64: 1>
// CHECK-NEXT:    nn.reduce %arg1 {axes = array<i64: 0>
// CHECK-NEXT:    return
func.func @others(%x: tensor<16384x768xf32>, %y: tensor<64x64xf32>) -> (tensor<16384x1xf32>, tensor<1x64xf32>) {
  %0 = nn.reduce %x {axes = array<i64: 1>, kind = #nn<combiner sum>} : (tensor<16384x768xf32>) -> tensor<16384x1xf32>
  %1 = nn.reduce %y {axes = array<i64: 0>, kind = #nn<combiner sum>} : (tensor<64x64xf32>) -> tensor<1x64xf32>
  return %0, %1 : tensor<16384x1xf32>, tensor<1x64xf32>
}
