// RUN: frit-opt %s --recompute-wide | FileCheck %s

// Both readers compute the centred values from the 16-bit tensor.
// CHECK-LABEL: func.func @main
// CHECK:         %[[A:.*]] = nn.cast %arg0 {nn.recomputed, to = f32}
// CHECK-NEXT:    %[[B:.*]] = nn.sub %[[A]], %arg1 {nn.recomputed}
// CHECK-NEXT:    nn.reduce %[[B]]
// CHECK-NEXT:    %[[C:.*]] = nn.cast %arg0 {nn.recomputed, to = f32}
// CHECK-NEXT:    %[[D:.*]] = nn.sub %[[C]], %arg1 {nn.recomputed}
// CHECK-NEXT:    nn.mul %[[D]], %arg2
// CHECK-NEXT:    return
func.func @main(%x: tensor<512x768xbf16>, %mean: tensor<512x1xf32>, %s: tensor<768xf32>) -> (tensor<512x1xf32>, tensor<512x768xf32>) {
  %0 = nn.cast %x {to = f32} : (tensor<512x768xbf16>) -> tensor<512x768xf32>
  %1 = nn.sub %0, %mean : (tensor<512x768xf32>, tensor<512x1xf32>) -> tensor<512x768xf32>
  %2 = nn.reduce %1 {axes = array<i64: 1>, kind = #nn<combiner sum>} : (tensor<512x768xf32>) -> tensor<512x1xf32>
  %3 = nn.mul %1, %s : (tensor<512x768xf32>, tensor<768xf32>) -> tensor<512x768xf32>
  return %2, %3 : tensor<512x1xf32>, tensor<512x768xf32>
}

// Functions of f32 tensors, and results of products, are stored once.
// CHECK-LABEL: func.func @kept
// CHECK-NEXT:    %[[E:.*]] = nn.exp %arg0
// CHECK-NEXT:    nn.neg %[[E]]
// CHECK-NEXT:    nn.abs %[[E]]
// CHECK-NEXT:    return
func.func @kept(%x: tensor<512x768xf32>) -> (tensor<512x768xf32>, tensor<512x768xf32>) {
  %0 = nn.exp %x : (tensor<512x768xf32>) -> tensor<512x768xf32>
  %1 = nn.neg %0 : (tensor<512x768xf32>) -> tensor<512x768xf32>
  %2 = nn.abs %0 : (tensor<512x768xf32>) -> tensor<512x768xf32>
  return %1, %2 : tensor<512x768xf32>, tensor<512x768xf32>
}
