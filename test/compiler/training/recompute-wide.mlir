// RUN: frit-opt %s --recompute-wide | FileCheck %s
// RUN: frit-opt %s --recompute-wide --fusion | FileCheck %s --check-prefix=FUSED

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

// The relu's result is stored for the product. Its gradient, whose other
// readers read %x too, computes it again.
// CHECK-LABEL: func.func @relu
// CHECK:         nn.matmul
// CHECK:         nn.relu %{{.*}} {nn.recomputed}
// CHECK:         nn.where {{.*}} {nn.recomputed}
// CHECK-NEXT:    nn.reduce
// CHECK:         nn.relu %{{.*}} {nn.recomputed}
// CHECK:         nn.where {{.*}} {nn.recomputed}
// CHECK-NEXT:    nn.mul
func.func @relu(%x: tensor<512x768xbf16>, %s: tensor<768xf32>, %w: tensor<768x8xbf16>, %dy: tensor<512x768xbf16>) -> (tensor<512x8xbf16>, tensor<1x768xf32>, tensor<512x768xf32>) {
  %z = nn.constant dense<0.0> : tensor<f32>
  %0 = nn.cast %x {to = f32} : (tensor<512x768xbf16>) -> tensor<512x768xf32>
  %1 = nn.mul %0, %s : (tensor<512x768xf32>, tensor<768xf32>) -> tensor<512x768xf32>
  %2 = nn.cast %1 {to = bf16} : (tensor<512x768xf32>) -> tensor<512x768xbf16>
  %3 = nn.relu %2 : (tensor<512x768xbf16>) -> tensor<512x768xbf16>
  %4 = nn.matmul %3, %w : (tensor<512x768xbf16>, tensor<768x8xbf16>) -> tensor<512x8xbf16>
  %5 = nn.cast %3 {to = f32} : (tensor<512x768xbf16>) -> tensor<512x768xf32>
  %6 = nn.greater %5, %z : (tensor<512x768xf32>, tensor<f32>) -> tensor<512x768xi1>
  %7 = nn.cast %dy {to = f32} : (tensor<512x768xbf16>) -> tensor<512x768xf32>
  %8 = nn.where %6, %7, %z : (tensor<512x768xi1>, tensor<512x768xf32>, tensor<f32>) -> tensor<512x768xf32>
  %9 = nn.reduce %8 {axes = array<i64: 0>, kind = #nn<combiner sum>} : (tensor<512x768xf32>) -> tensor<1x768xf32>
  %10 = nn.cast %x {to = f32} : (tensor<512x768xbf16>) -> tensor<512x768xf32>
  %11 = nn.mul %8, %10 : (tensor<512x768xf32>, tensor<512x768xf32>) -> tensor<512x768xf32>
  return %4, %9, %11 : tensor<512x8xbf16>, tensor<1x768xf32>, tensor<512x768xf32>
}

// A selection from two tensors that its readers do not read is stored, in the
// type of its operands.
// CHECK-LABEL: func.func @selection
// CHECK:         %[[W:.*]] = nn.where
// CHECK-NEXT:    %[[N:.*]] = nn.cast %[[W]] {to = bf16}
// CHECK-NEXT:    %[[A:.*]] = nn.cast %[[N]] {nn.recomputed, to = f32}
// CHECK-NEXT:    nn.reduce %[[A]]
// CHECK-NEXT:    %[[B:.*]] = nn.cast %[[N]] {nn.recomputed, to = f32}
// CHECK-NEXT:    nn.neg %[[B]]
func.func @selection(%y: tensor<512x768xbf16>, %dy: tensor<512x768xbf16>) -> (tensor<1x768xf32>, tensor<512x768xf32>) {
  %z = nn.constant dense<0.0> : tensor<f32>
  %0 = nn.cast %y {to = f32} : (tensor<512x768xbf16>) -> tensor<512x768xf32>
  %1 = nn.greater %0, %z : (tensor<512x768xf32>, tensor<f32>) -> tensor<512x768xi1>
  %2 = nn.cast %dy {to = f32} : (tensor<512x768xbf16>) -> tensor<512x768xf32>
  %3 = nn.where %1, %2, %z : (tensor<512x768xi1>, tensor<512x768xf32>, tensor<f32>) -> tensor<512x768xf32>
  %4 = nn.reduce %3 {axes = array<i64: 0>, kind = #nn<combiner sum>} : (tensor<512x768xf32>) -> tensor<1x768xf32>
  %5 = nn.neg %3 : (tensor<512x768xf32>) -> tensor<512x768xf32>
  return %4, %5 : tensor<1x768xf32>, tensor<512x768xf32>
}

// A product is stored in 16 bits for a reduction that reads it reshaped.
// CHECK-LABEL: func.func @reshaped
// CHECK-NEXT:    %[[Y:.*]] = nn.matmul %arg0, %arg1
// CHECK-NEXT:    %[[R:.*]] = nn.reshape %[[Y]]
// CHECK-NEXT:    %[[W:.*]] = nn.cast %[[R]] {nn.recomputed, to = f32}
// CHECK-NEXT:    nn.reduce %[[W]]
// CHECK-NEXT:    return
// FUSED-LABEL: func.func @reshaped
// FUSED:         nn.matmul {{.*}} -> tensor<8x64x768xbf16>
// FUSED-NEXT:    nn.yield
// FUSED:         nn.cast
// FUSED-NEXT:    nn.reduce
func.func @reshaped(%x: tensor<8x64x32xbf16>, %w: tensor<32x768xbf16>) -> tensor<512x1xf32> {
  %0 = nn.matmul %x, %w : (tensor<8x64x32xbf16>, tensor<32x768xbf16>) -> tensor<8x64x768xbf16>
  %1 = nn.cast %0 {to = f32} : (tensor<8x64x768xbf16>) -> tensor<8x64x768xf32>
  %2 = nn.reshape %1 {shape = array<i64: 512, 768>} : (tensor<8x64x768xf32>) -> tensor<512x768xf32>
  %3 = nn.reduce %2 {axes = array<i64: 1>, kind = #nn<combiner sum>} : (tensor<512x768xf32>) -> tensor<512x1xf32>
  return %3 : tensor<512x1xf32>
}

// A sum that a composite reads is in memory; the result of a silu behind it is
// computed again.
// CHECK-LABEL: func.func @stored_sum
// CHECK:         %[[S:.*]] = nn.add %arg0, %arg1
// CHECK:         nn.group_mean %[[S]]
// CHECK:         nn.cast %[[S]] {nn.recomputed, to = f32}
// CHECK:         nn.mul {{.*}} {nn.recomputed}
// CHECK:         nn.sigmoid
// CHECK:         nn.cast %[[S]] {nn.recomputed, to = f32}
// CHECK:         nn.mul {{.*}} {nn.recomputed}
// CHECK:         nn.neg
// CHECK-NEXT:    return
func.func @stored_sum(%x: tensor<512x768xbf16>, %r: tensor<512x768xbf16>, %s: tensor<768xf32>) -> (tensor<512x4x1xf32>, tensor<512x768xbf16>, tensor<512x768xf32>, tensor<512x768xf32>) {
  %0 = nn.add %x, %r : (tensor<512x768xbf16>, tensor<512x768xbf16>) -> tensor<512x768xbf16>
  %1 = nn.group_mean %0 {groups = 4 : si64} : (tensor<512x768xbf16>) -> tensor<512x4x1xf32>
  %2 = nn.cast %0 {to = f32} : (tensor<512x768xbf16>) -> tensor<512x768xf32>
  %3 = nn.mul %2, %s : (tensor<512x768xf32>, tensor<768xf32>) -> tensor<512x768xf32>
  %4 = nn.cast %3 {to = bf16} : (tensor<512x768xf32>) -> tensor<512x768xbf16>
  %5 = nn.silu %4 : (tensor<512x768xbf16>) -> tensor<512x768xbf16>
  %6 = nn.cast %4 {to = f32} : (tensor<512x768xbf16>) -> tensor<512x768xf32>
  %7 = nn.sigmoid %6 : (tensor<512x768xf32>) -> tensor<512x768xf32>
  %8 = nn.neg %6 : (tensor<512x768xf32>) -> tensor<512x768xf32>
  return %1, %5, %7, %8 : tensor<512x4x1xf32>, tensor<512x768xbf16>, tensor<512x768xf32>, tensor<512x768xf32>
}
