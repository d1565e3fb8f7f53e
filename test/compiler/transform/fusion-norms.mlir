// A kernel of a group norm takes elementwise operators before it, which nothing
// else reads, and after it.
// RUN: frit-opt %s --fusion -split-input-file | FileCheck %s

// CHECK-LABEL: func.func @both
// CHECK:         nn.fusion
// CHECK:           nn.slice
// CHECK-NEXT:      nn.add
// CHECK-NEXT:      nn.group_norm
// CHECK-NEXT:      nn.silu
// CHECK-NEXT:      nn.yield
// CHECK-NOT:     nn.fusion
func.func @both(%x: tensor<2x8x8x64xf16>, %e: tensor<2x1x1x128xf16>, %s: tensor<64xf32>, %b: tensor<64xf32>) -> tensor<2x8x8x64xf16> {
  %0 = nn.slice %e {sizes = array<i64: 2, 1, 1, 64>, starts = array<i64: 0, 0, 0, 64>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x1x1x128xf16>) -> tensor<2x1x1x64xf16>
  %1 = nn.add %x, %0 : (tensor<2x8x8x64xf16>, tensor<2x1x1x64xf16>) -> tensor<2x8x8x64xf16>
  %2 = nn.group_norm %1, %s, %b {groups = 8 : si64} : (tensor<2x8x8x64xf16>, tensor<64xf32>, tensor<64xf32>) -> tensor<2x8x8x64xf16>
  %3 = nn.silu %2 : (tensor<2x8x8x64xf16>) -> tensor<2x8x8x64xf16>
  return %3 : tensor<2x8x8x64xf16>
}

// -----

// What the shortcut reads too is in memory anyway, and so is a scale.
// CHECK-LABEL: func.func @apart
// CHECK:         nn.fusion
// CHECK:           nn.mul
// CHECK-NEXT:      nn.yield
// CHECK:         nn.fusion
// CHECK:           nn.add
// CHECK-NEXT:      nn.yield
// CHECK:         nn.fusion
// CHECK:           nn.group_norm
// CHECK-NEXT:      nn.add
// CHECK-NEXT:      nn.yield
func.func @apart(%x: tensor<2x8x8x64xf16>, %e: tensor<2x1x1x64xf16>, %s: tensor<64xf32>, %b: tensor<64xf32>) -> tensor<2x8x8x64xf16> {
  %0 = nn.mul %s, %s : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %1 = nn.add %x, %e : (tensor<2x8x8x64xf16>, tensor<2x1x1x64xf16>) -> tensor<2x8x8x64xf16>
  %2 = nn.group_norm %1, %0, %b {groups = 8 : si64} : (tensor<2x8x8x64xf16>, tensor<64xf32>, tensor<64xf32>) -> tensor<2x8x8x64xf16>
  %3 = nn.add %2, %1 : (tensor<2x8x8x64xf16>, tensor<2x8x8x64xf16>) -> tensor<2x8x8x64xf16>
  return %3 : tensor<2x8x8x64xf16>
}

// -----

// A quantization after it is several operators.
// CHECK-LABEL: func.func @quantized
// CHECK:         nn.fusion
// CHECK:           nn.group_norm
// CHECK:           nn.silu
// CHECK:           nn.mul
// CHECK:           nn.cast {{.*}} -> tensor<2x8x8x64xi8>
// CHECK-NEXT:      nn.yield
// CHECK-NOT:     nn.fusion
func.func @quantized(%x: tensor<2x8x8x64xf16>, %s: tensor<64xf32>) -> tensor<2x8x8x64xi8> {
  %0 = nn.group_norm %x, %s, %s {groups = 8 : si64} : (tensor<2x8x8x64xf16>, tensor<64xf32>, tensor<64xf32>) -> tensor<2x8x8x64xf16>
  %1 = nn.cast %0 {to = f32} : (tensor<2x8x8x64xf16>) -> tensor<2x8x8x64xf32>
  %2 = nn.silu %1 : (tensor<2x8x8x64xf32>) -> tensor<2x8x8x64xf32>
  %3 = nn.constant dense<5.0e+01> : tensor<f32>
  %4 = nn.mul %2, %3 : (tensor<2x8x8x64xf32>, tensor<f32>) -> tensor<2x8x8x64xf32>
  %5 = nn.cast %4 {to = i8} : (tensor<2x8x8x64xf32>) -> tensor<2x8x8x64xi8>
  return %5 : tensor<2x8x8x64xi8>
}

// -----

// f32 that another kernel reads is not stored.
// CHECK-LABEL: func.func @widened
// CHECK:         nn.fusion
// CHECK:           nn.group_norm
// CHECK-NEXT:      nn.yield
// CHECK:         nn.fusion
// CHECK:           nn.reduce
func.func @widened(%x: tensor<2x8x8x64xf16>, %s: tensor<64xf32>) -> tensor<2x8x8x1xf32> {
  %0 = nn.group_norm %x, %s, %s {groups = 8 : si64} : (tensor<2x8x8x64xf16>, tensor<64xf32>, tensor<64xf32>) -> tensor<2x8x8x64xf16>
  %1 = nn.cast %0 {to = f32} : (tensor<2x8x8x64xf16>) -> tensor<2x8x8x64xf32>
  %2 = nn.reduce %1 {axes = array<i64: 3>, kind = #nn<combiner max>} : (tensor<2x8x8x64xf32>) -> tensor<2x8x8x1xf32>
  return %2 : tensor<2x8x8x1xf32>
}
