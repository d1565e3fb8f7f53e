// RUN: frit-opt %s --split-reductions | FileCheck %s

// Sums of bfloat16 are not rounded between the steps. Operators that only the
// sum reads move with it, statistics of rows and columns too.
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

// Sums of rows, and small sums, stay as they are.
// CHECK-LABEL: func.func @others
// CHECK-NEXT:    nn.reduce %arg0 {axes = array<i64: 1>
// CHECK-NEXT:    nn.reduce %arg1 {axes = array<i64: 0>
// CHECK-NEXT:    return
func.func @others(%x: tensor<16384x768xf32>, %y: tensor<64x64xf32>) -> (tensor<16384x1xf32>, tensor<1x64xf32>) {
  %0 = nn.reduce %x {axes = array<i64: 1>, kind = #nn<combiner sum>} : (tensor<16384x768xf32>) -> tensor<16384x1xf32>
  %1 = nn.reduce %y {axes = array<i64: 0>, kind = #nn<combiner sum>} : (tensor<64x64xf32>) -> tensor<1x64xf32>
  return %0, %1 : tensor<16384x1xf32>, tensor<1x64xf32>
}

// Of leading and trailing dimensions, the trailing ones go first.
// CHECK-LABEL: func.func @channels_first
// CHECK-NEXT:    %[[W:.*]] = nn.cast %arg0 {to = f32}
// CHECK-NEXT:    %[[R:.*]] = nn.reduce %[[W]] {axes = array<i64: 2, 3>, kind = #nn<combiner sum>} : {{.*}} -> tensor<16x64x1x1xf32>
// CHECK-NEXT:    %[[S:.*]] = nn.reduce %[[R]] {axes = array<i64: 0>, kind = #nn<combiner sum>} : {{.*}} -> tensor<1x64x1x1xf32>
// CHECK-NEXT:    nn.cast %[[S]]
func.func @channels_first(%x: tensor<16x64x112x112xbf16>) -> tensor<1x64x1x1xbf16> {
  %0 = nn.reduce %x {axes = array<i64: 0, 2, 3>, kind = #nn<combiner sum>} : (tensor<16x64x112x112xbf16>) -> tensor<1x64x1x1xbf16>
  return %0 : tensor<1x64x1x1xbf16>
}

// Two that read the same tensor share kernels.
// CHECK-LABEL: func.func @channels_first_pair
// CHECK-NEXT:    %[[R:.*]]:2 = nn.fusion(%arg0, %arg1)
// CHECK:           nn.reduce {{.*}} {axes = array<i64: 2, 3>
// CHECK:           nn.reduce {{.*}} {axes = array<i64: 2, 3>
// CHECK:           nn.yield {{.*}} : tensor<16x64x1x1xf32>, tensor<16x64x1x1xf32>
// CHECK:         nn.fusion(%[[R]]#{{[01]}}, %[[R]]#{{[01]}}) : (tensor<16x64x1x1xf32>, tensor<16x64x1x1xf32>) -> (tensor<1x64x1x1xf32>, tensor<1x64x1x1xf32>)
// CHECK:           nn.reduce {{.*}} {axes = array<i64: 0>
// CHECK:           nn.reduce {{.*}} {axes = array<i64: 0>
// CHECK-NOT:     nn.reduce
// CHECK:         return
func.func @channels_first_pair(%dy: tensor<16x64x112x112xf32>, %x: tensor<16x64x112x112xf32>) -> (tensor<1x64x1x1xf32>, tensor<1x64x1x1xf32>) {
  %0 = nn.reduce %dy {axes = array<i64: 0, 2, 3>, kind = #nn<combiner sum>} : (tensor<16x64x112x112xf32>) -> tensor<1x64x1x1xf32>
  %1 = nn.mul %dy, %x : (tensor<16x64x112x112xf32>, tensor<16x64x112x112xf32>) -> tensor<16x64x112x112xf32>
  %2 = nn.reduce %1 {axes = array<i64: 0, 2, 3>, kind = #nn<combiner sum>} : (tensor<16x64x112x112xf32>) -> tensor<1x64x1x1xf32>
  return %0, %2 : tensor<1x64x1x1xf32>, tensor<1x64x1x1xf32>
}

// Sums that read the same tensor share a kernel in both steps, and the second
// one also computes what follows for each column. Other readers of a column's
// sum stay where they are.
// CHECK-LABEL: func.func @pair
// CHECK-DAG:     %[[DY:.*]] = nn.reshape %arg0 {shape = array<i64: [[P:[0-9]+]], [[K:[0-9]+]], 256>}
// CHECK-DAG:     %[[X:.*]] = nn.reshape %arg1 {shape = array<i64: [[P]], [[K]], 256>}
// CHECK:         %[[F:.*]]:2 = nn.fusion(%[[DY]], %[[X]], %arg2)
// CHECK-NEXT:    ^bb0
// CHECK-NEXT:      %[[A:.*]] = nn.cast %{{.*}} {to = f32}
// CHECK-NEXT:      %[[B:.*]] = nn.cast %{{.*}} {to = f32}
// CHECK-NEXT:      %[[C:.*]] = nn.mul %[[B]], %{{.*}} : {{.*}} -> tensor<[[P]]x[[K]]x256xf32>
// CHECK-NEXT:      %[[D:.*]] = nn.mul %[[A]], %[[C]]
// CHECK-NEXT:      nn.reduce %[[D]] {axes = array<i64: 1>
// CHECK-NEXT:      nn.reduce %[[A]] {axes = array<i64: 1>
// CHECK:         nn.fusion(
// CHECK:           nn.reduce {{.*}} {axes = array<i64: 0>
// CHECK:           nn.reduce {{.*}} {axes = array<i64: 0>
// CHECK:           nn.mul
// CHECK:           nn.yield %{{.*}}, %{{.*}}, %{{.*}} : tensor<1x256xf32>, tensor<1x256xf32>, tensor<1x256xf32>
// CHECK-NOT:     nn.reduce
// CHECK:         nn.sub
func.func @pair(%dy: tensor<16384x256xbf16>, %x: tensor<16384x256xbf16>, %r: tensor<256xf32>) -> (tensor<256xf32>, tensor<1x256xf32>, tensor<16384x256xf32>) {
  %n = nn.constant dense<6.103515625e-05> : tensor<f32>
  %0 = nn.cast %dy {to = f32, nn.recomputed} : (tensor<16384x256xbf16>) -> tensor<16384x256xf32>
  %1 = nn.cast %x {to = f32} : (tensor<16384x256xbf16>) -> tensor<16384x256xf32>
  %2 = nn.mul %1, %r : (tensor<16384x256xf32>, tensor<256xf32>) -> tensor<16384x256xf32>
  %3 = nn.mul %0, %2 : (tensor<16384x256xf32>, tensor<16384x256xf32>) -> tensor<16384x256xf32>
  %4 = nn.reduce %3 {axes = array<i64: 0>, kind = #nn<combiner sum>} : (tensor<16384x256xf32>) -> tensor<1x256xf32>
  %5 = nn.cast %dy {to = f32, nn.recomputed} : (tensor<16384x256xbf16>) -> tensor<16384x256xf32>
  %6 = nn.reduce %5 {axes = array<i64: 0>, kind = #nn<combiner sum>} : (tensor<16384x256xf32>) -> tensor<1x256xf32>
  %7 = nn.reshape %4 {shape = array<i64: 256>} : (tensor<1x256xf32>) -> tensor<256xf32>
  %8 = nn.mul %7, %n : (tensor<256xf32>, tensor<f32>) -> tensor<256xf32>
  %9 = nn.cast %dy {to = f32} : (tensor<16384x256xbf16>) -> tensor<16384x256xf32>
  %10 = nn.sub %9, %8 : (tensor<16384x256xf32>, tensor<256xf32>) -> tensor<16384x256xf32>
  %11 = nn.reshape %4 {shape = array<i64: 256>} : (tensor<1x256xf32>) -> tensor<256xf32>
  return %11, %6, %10 : tensor<256xf32>, tensor<1x256xf32>, tensor<16384x256xf32>
}

// A sum of a tensor that depends on the other sum comes later.
// CHECK-LABEL: func.func @dependent
// CHECK-NOT:     nn.fusion
// CHECK:         return
func.func @dependent(%x: tensor<16384x256xf32>) -> (tensor<1x256xf32>, tensor<1x256xf32>) {
  %0 = nn.reduce %x {axes = array<i64: 0>, kind = #nn<combiner max>} : (tensor<16384x256xf32>) -> tensor<1x256xf32>
  %1 = nn.sub %x, %0 : (tensor<16384x256xf32>, tensor<1x256xf32>) -> tensor<16384x256xf32>
  %2 = nn.reduce %1 {axes = array<i64: 0>, kind = #nn<combiner sum>} : (tensor<16384x256xf32>) -> tensor<1x256xf32>
  return %0, %2 : tensor<1x256xf32>, tensor<1x256xf32>
}

// The statistics of channels: one pass over parts of the pixels, shifted by
// each part's first, and one kernel that merges them.
// CHECK-LABEL: func.func @statistics
// CHECK:         %[[R:.*]] = nn.reshape %arg0 {shape = array<i64: [[P:[0-9]+]], [[K:[0-9]+]], 64>}
// CHECK:         %[[F:.*]]:2 = nn.fusion(%[[R]])
// CHECK:           %[[S:.*]] = nn.slice %{{.*}} {sizes = array<i64: [[P]], 1, 64>, starts = array<i64: 0, 0, 0>
// CHECK:           %[[W:.*]] = nn.cast %[[S]]
// CHECK:           %[[D:.*]] = nn.sub %{{.*}}, %[[W]]
// CHECK:           nn.reduce %[[D]] {axes = array<i64: 1>
// CHECK:           %[[Q:.*]] = nn.mul %[[D]], %[[D]]
// CHECK:           nn.reduce %[[Q]] {axes = array<i64: 1>
// CHECK:         %[[M:.*]]:3 = nn.fusion(
// CHECK:           nn.reduce {{.*}} {axes = array<i64: 0>
// CHECK:           nn.reduce {{.*}} {axes = array<i64: 0>
// CHECK:           nn.rsqrt
// CHECK-NOT:     nn.batch_
// CHECK-NOT:     nn.rsqrt
// CHECK:         return
func.func @statistics(%x: tensor<64x28x28x64xbf16>) -> (tensor<64xf32>, tensor<64xf32>, tensor<64xf32>) {
  %0 = nn.batch_mean %x {channels_last} : (tensor<64x28x28x64xbf16>) -> tensor<64xf32>
  %1 = nn.batch_variance %x, %0 {channels_last} : (tensor<64x28x28x64xbf16>, tensor<64xf32>) -> tensor<64xf32>
  %2 = nn.rsqrt %1 : (tensor<64xf32>) -> tensor<64xf32>
  return %0, %1, %2 : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}

// A convolution's kernel takes the moments of its result's columns; a kernel
// merges those of neighbouring parts before the last one.
// CHECK-LABEL: func.func @convolution
// CHECK:         %[[F:.*]]:2 = nn.fusion(%arg0, %arg1)
// CHECK:           %[[Y:.*]] = nn.conv
// CHECK-NEXT:      %[[P:.*]] = nn.column_moments %[[Y]] {height = 64 : si64} : (tensor<64x64x64x128xbf16>) -> tensor<2x4096x128xf32>
// CHECK-NEXT:      nn.yield %[[Y]], %[[P]]
// CHECK:         nn.slice %[[F]]#1 {sizes = array<i64: 1, 4096, 128>, starts = array<i64: 0, 0, 0>
// CHECK:         nn.slice %[[F]]#1 {sizes = array<i64: 1, 4096, 128>, starts = array<i64: 1, 0, 0>
// CHECK:         %[[G:.*]]:2 = nn.fusion({{.*}}) : (tensor<64x64x128xf32>, tensor<64x64x128xf32>) -> (tensor<64x1x128xf32>, tensor<64x1x128xf32>)
// CHECK:         nn.fusion({{.*}}) : (tensor<64x128xf32>, tensor<64x128xf32>) -> (tensor<1x128xf32>, tensor<1x128xf32>)
// CHECK:           nn.reduce {{.*}} {axes = array<i64: 0>
// CHECK:           nn.reduce {{.*}} {axes = array<i64: 0>
// CHECK-NOT:     nn.batch_
// CHECK:         return %[[F]]#0
func.func @convolution(%x: tensor<64x64x64x64xbf16>, %w: tensor<128x1x1x64xbf16>) -> (tensor<64x64x64x128xbf16>, tensor<128xf32>, tensor<128xf32>) {
  %y = nn.conv %x, %w {channels_last, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<64x64x64x64xbf16>, tensor<128x1x1x64xbf16>) -> tensor<64x64x64x128xbf16>
  %0 = nn.batch_mean %y {channels_last} : (tensor<64x64x64x128xbf16>) -> tensor<128xf32>
  %1 = nn.batch_variance %y, %0 {channels_last} : (tensor<64x64x64x128xbf16>, tensor<128xf32>) -> tensor<128xf32>
  return %y, %0, %1 : tensor<64x64x64x128xbf16>, tensor<128xf32>, tensor<128xf32>
}

// A value that the sums read first, and others later, is computed and stored by
// their kernel.
// CHECK-LABEL: func.func @stored
// CHECK:         %[[F:.*]]:3 = nn.fusion(
// CHECK:           %[[A:.*]] = nn.add
// CHECK:           nn.yield {{.*}}%[[A]]
// CHECK-NOT:     nn.add
// CHECK:         %[[S:.*]] = nn.reshape %[[F]]#{{[0-2]}} {shape = array<i64: 16384, 256>}
// CHECK:         nn.neg %[[S]]
func.func @stored(%x: tensor<16384x256xf32>, %y: tensor<16384x256xf32>) -> (tensor<1x256xf32>, tensor<1x256xf32>, tensor<16384x256xf32>) {
  %0 = nn.add %x, %y : (tensor<16384x256xf32>, tensor<16384x256xf32>) -> tensor<16384x256xf32>
  %1 = nn.reduce %0 {axes = array<i64: 0>, kind = #nn<combiner sum>} : (tensor<16384x256xf32>) -> tensor<1x256xf32>
  %2 = nn.mul %0, %y : (tensor<16384x256xf32>, tensor<16384x256xf32>) -> tensor<16384x256xf32>
  %3 = nn.reduce %2 {axes = array<i64: 0>, kind = #nn<combiner sum>} : (tensor<16384x256xf32>) -> tensor<1x256xf32>
  %4 = nn.neg %0 : (tensor<16384x256xf32>) -> tensor<16384x256xf32>
  return %1, %3, %4 : tensor<1x256xf32>, tensor<1x256xf32>, tensor<16384x256xf32>
}

// One sum alone stores such a value too if it combines whole tensors, but not
// the sum of two convolutions, which one kernel computes, nor a value of a
// product.
// CHECK-LABEL: func.func @stored_by_one
// CHECK:         %[[F:.*]]:2 = nn.fusion(
// CHECK:           nn.add
// CHECK-NOT:     nn.add
// CHECK:         %[[S:.*]] = nn.reshape %[[F]]#{{[01]}} {shape = array<i64: 16384, 256>}
// CHECK:         nn.neg %[[S]]
func.func @stored_by_one(%x: tensor<16384x256xf32>, %y: tensor<16384x256xf32>) -> (tensor<1x256xf32>, tensor<16384x256xf32>) {
  %0 = nn.add %x, %y : (tensor<16384x256xf32>, tensor<16384x256xf32>) -> tensor<16384x256xf32>
  %1 = nn.reduce %0 {axes = array<i64: 0>, kind = #nn<combiner sum>} : (tensor<16384x256xf32>) -> tensor<1x256xf32>
  %2 = nn.neg %0 : (tensor<16384x256xf32>) -> tensor<16384x256xf32>
  return %1, %2 : tensor<1x256xf32>, tensor<16384x256xf32>
}

// CHECK-LABEL: func.func @not_of_products
// CHECK:         %[[P:.*]] = nn.matmul
// CHECK-NEXT:    %[[S:.*]] = nn.add %[[P]]
// CHECK:         nn.reduce
// CHECK:         nn.neg %[[S]]
func.func @not_of_products(%x: tensor<16384x256xf32>, %w: tensor<256x256xf32>, %y: tensor<16384x256xf32>) -> (tensor<1x256xf32>, tensor<16384x256xf32>) {
  %p = nn.matmul %x, %w : (tensor<16384x256xf32>, tensor<256x256xf32>) -> tensor<16384x256xf32>
  %0 = nn.add %p, %y : (tensor<16384x256xf32>, tensor<16384x256xf32>) -> tensor<16384x256xf32>
  %1 = nn.reduce %0 {axes = array<i64: 0>, kind = #nn<combiner sum>} : (tensor<16384x256xf32>) -> tensor<1x256xf32>
  %2 = nn.neg %0 : (tensor<16384x256xf32>) -> tensor<16384x256xf32>
  return %1, %2 : tensor<1x256xf32>, tensor<16384x256xf32>
}

// CHECK-LABEL: func.func @not_of_convolutions
// CHECK:         %[[A:.*]] = nn.conv
// CHECK-NEXT:    %[[B:.*]] = nn.conv
// CHECK-NEXT:    nn.add %[[A]], %[[B]]
func.func @not_of_convolutions(%x: tensor<4x64x64x64xbf16>, %w: tensor<256x1x1x64xbf16>, %y: tensor<4x64x64x256xbf16>) -> (tensor<1x1x1x256xf32>, tensor<1x1x1x256xf32>, tensor<4x64x64x256xbf16>) {
  %a = nn.conv %x, %w {channels_last, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<4x64x64x64xbf16>, tensor<256x1x1x64xbf16>) -> tensor<4x64x64x256xbf16>
  %b = nn.conv %x, %w {channels_last, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<4x64x64x64xbf16>, tensor<256x1x1x64xbf16>) -> tensor<4x64x64x256xbf16>
  %s = nn.add %a, %b : (tensor<4x64x64x256xbf16>, tensor<4x64x64x256xbf16>) -> tensor<4x64x64x256xbf16>
  %0 = nn.cast %s {to = f32, storage} : (tensor<4x64x64x256xbf16>) -> tensor<4x64x64x256xf32>
  %1 = nn.reduce %0 {axes = array<i64: 0, 1, 2>, kind = #nn<combiner sum>} : (tensor<4x64x64x256xf32>) -> tensor<1x1x1x256xf32>
  %2 = nn.mul %0, %0 : (tensor<4x64x64x256xf32>, tensor<4x64x64x256xf32>) -> tensor<4x64x64x256xf32>
  %3 = nn.reduce %2 {axes = array<i64: 0, 1, 2>, kind = #nn<combiner sum>} : (tensor<4x64x64x256xf32>) -> tensor<1x1x1x256xf32>
  %4 = nn.neg %s : (tensor<4x64x64x256xbf16>) -> tensor<4x64x64x256xbf16>
  return %1, %3, %4 : tensor<1x1x1x256xf32>, tensor<1x1x1x256xf32>, tensor<4x64x64x256xbf16>
}

// Products whose batch is summed are stored in f32.
// CHECK-LABEL: func.func @wide_products
// CHECK:         %[[P:.*]] = nn.fusion(%arg0, %arg1) {{.*}} -> tensor<16x64x64xf32>
// CHECK:           nn.matmul
// CHECK-NEXT:      nn.cast
// CHECK:         nn.reduce %[[P]]
func.func @wide_products(%x: tensor<16x512x64xbf16>, %y: tensor<16x512x64xbf16>) -> tensor<1x64x64xf32> {
  %0 = nn.matmul %x, %y {transpose_a} : (tensor<16x512x64xbf16>, tensor<16x512x64xbf16>) -> tensor<16x64x64xbf16>
  %1 = nn.cast %0 {to = f32, storage} : (tensor<16x64x64xbf16>) -> tensor<16x64x64xf32>
  %2 = nn.reduce %1 {axes = array<i64: 0>, kind = #nn<combiner sum>} : (tensor<16x64x64xf32>) -> tensor<1x64x64xf32>
  return %2 : tensor<1x64x64xf32>
}

// Sums store values of the forward pass that they recompute, if these fit L2:
// the gradient of weights, which comes later, reads them.
// CHECK-LABEL: func.func @again
// CHECK:         nn.relu
// CHECK:         nn.conv %{{.*}}, %arg1
// CHECK-NOT:     nn.conv_grad_weight
// CHECK:         %[[F:.*]]:3 = nn.fusion(
// CHECK:           %[[R:.*]] = nn.relu
// CHECK:           nn.yield {{.*}}%[[R]]
// CHECK:         %[[Y:.*]] = nn.reshape %[[F]]#{{[0-2]}} {shape = array<i64: 64, 28, 28, 64>}
// CHECK:         nn.conv_grad_weight %[[Y]], %arg2
func.func @again(%x: tensor<64x28x28x64xbf16>, %w: tensor<64x1x1x64xbf16>, %dz: tensor<64x28x28x64xbf16>, %s: tensor<64xbf16>) -> (tensor<64x28x28x64xbf16>, tensor<1x1x1x64xf32>, tensor<1x1x1x64xf32>, tensor<64x1x1x64xbf16>) {
  %zero = nn.constant dense<0.0> : tensor<bf16>
  %a = nn.add %x, %s : (tensor<64x28x28x64xbf16>, tensor<64xbf16>) -> tensor<64x28x28x64xbf16>
  %y = nn.relu %a : (tensor<64x28x28x64xbf16>) -> tensor<64x28x28x64xbf16>
  %z = nn.conv %y, %w {channels_last, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<64x28x28x64xbf16>, tensor<64x1x1x64xbf16>) -> tensor<64x28x28x64xbf16>
  %dy = nn.mul %dz, %z : (tensor<64x28x28x64xbf16>, tensor<64x28x28x64xbf16>) -> tensor<64x28x28x64xbf16>
  %dw = nn.conv_grad_weight %y, %dz {channels_last, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, shape = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<64x28x28x64xbf16>, tensor<64x28x28x64xbf16>) -> tensor<64x1x1x64xbf16>
  %b = nn.add %x, %s {nn.recomputed} : (tensor<64x28x28x64xbf16>, tensor<64xbf16>) -> tensor<64x28x28x64xbf16>
  %r = nn.relu %b {nn.recomputed} : (tensor<64x28x28x64xbf16>) -> tensor<64x28x28x64xbf16>
  %m = nn.greater %r, %zero {nn.recomputed} : (tensor<64x28x28x64xbf16>, tensor<bf16>) -> tensor<64x28x28x64xi1>
  %g = nn.where %m, %dy, %zero : (tensor<64x28x28x64xi1>, tensor<64x28x28x64xbf16>, tensor<bf16>) -> tensor<64x28x28x64xbf16>
  %w0 = nn.cast %g {to = f32} : (tensor<64x28x28x64xbf16>) -> tensor<64x28x28x64xf32>
  %s0 = nn.reduce %w0 {axes = array<i64: 0, 1, 2>, kind = #nn<combiner sum>} : (tensor<64x28x28x64xf32>) -> tensor<1x1x1x64xf32>
  %w1 = nn.cast %x {to = f32} : (tensor<64x28x28x64xbf16>) -> tensor<64x28x28x64xf32>
  %p = nn.mul %w0, %w1 : (tensor<64x28x28x64xf32>, tensor<64x28x28x64xf32>) -> tensor<64x28x28x64xf32>
  %s1 = nn.reduce %p {axes = array<i64: 0, 1, 2>, kind = #nn<combiner sum>} : (tensor<64x28x28x64xf32>) -> tensor<1x1x1x64xf32>
  return %z, %s0, %s1, %dw : tensor<64x28x28x64xbf16>, tensor<1x1x1x64xf32>, tensor<1x1x1x64xf32>, tensor<64x1x1x64xbf16>
}

// Sums over the pixels of each sample: parts of samples.
// CHECK-LABEL: func.func @samples
// CHECK:         %[[X:.*]] = nn.reshape %arg0 {shape = array<i64: 8, [[P:[0-9]+]], [[K:[0-9]+]], 192>}
// CHECK:         %[[F:.*]]:2 = nn.fusion(%[[X]], %arg1) : {{.*}} -> (tensor<8x[[P]]x1x192xf32>, tensor<8x[[P]]x1x192xf32>)
// CHECK:           nn.sub {{.*}} -> tensor<8x[[P]]x[[K]]x192xf32>
// CHECK:           nn.reduce {{.*}} {axes = array<i64: 2>
// CHECK:           nn.reduce {{.*}} {axes = array<i64: 2>
// CHECK:         nn.fusion({{.*}}) : (tensor<8x[[P]]x192xf32>, tensor<8x[[P]]x192xf32>) -> (tensor<8x1x192xf32>, tensor<8x1x192xf32>)
// CHECK:           nn.reduce {{.*}} {axes = array<i64: 1>
// CHECK:           nn.reduce {{.*}} {axes = array<i64: 1>
// CHECK-NOT:     nn.reduce
// CHECK:         return
func.func @samples(%x: tensor<8x32x128x192xbf16>, %m: tensor<8x1x1x192xf32>) -> (tensor<8x1x1x192xf32>, tensor<8x1x1x192xf32>) {
  %0 = nn.cast %x {to = f32} : (tensor<8x32x128x192xbf16>) -> tensor<8x32x128x192xf32>
  %1 = nn.sub %0, %m : (tensor<8x32x128x192xf32>, tensor<8x1x1x192xf32>) -> tensor<8x32x128x192xf32>
  %2 = nn.mul %1, %0 : (tensor<8x32x128x192xf32>, tensor<8x32x128x192xf32>) -> tensor<8x32x128x192xf32>
  %3 = nn.reduce %1 {axes = array<i64: 1, 2>, kind = #nn<combiner sum>} : (tensor<8x32x128x192xf32>) -> tensor<8x1x1x192xf32>
  %4 = nn.reduce %2 {axes = array<i64: 1, 2>, kind = #nn<combiner sum>} : (tensor<8x32x128x192xf32>) -> tensor<8x1x1x192xf32>
  return %3, %4 : tensor<8x1x1x192xf32>, tensor<8x1x1x192xf32>
}

// Statistics of groups: moments of parts of samples, merged per sample and
// channel, then those of a group's channels.
// CHECK-LABEL: func.func @groups
// CHECK:         %[[R:.*]] = nn.reshape %arg0 {shape = array<i64: [[P:[0-9]+]], [[K:[0-9]+]], 192>}
// CHECK:         nn.fusion(%[[R]]) : {{.*}} -> (tensor<[[P]]x1x192xf32>, tensor<[[P]]x1x192xf32>)
// CHECK:         nn.fusion({{.*}}) : {{.*}} -> (tensor<8x1x192xf32>, tensor<8x1x192xf32>)
// CHECK:         %[[C:.*]] = nn.reshape {{.*}} -> tensor<8x32x6xf32>
// CHECK:         nn.reduce %[[C]] {axes = array<i64: 2>
// CHECK:         nn.reduce {{.*}} {axes = array<i64: 2>{{.*}} -> tensor<8x32x1xf32>
// CHECK-NOT:     nn.group_
// CHECK:         return
func.func @groups(%x: tensor<8x64x64x192xbf16>) -> (tensor<8x32x1xf32>, tensor<8x32x1xf32>) {
  %0 = nn.group_mean %x {groups = 32 : si64} : (tensor<8x64x64x192xbf16>) -> tensor<8x32x1xf32>
  %1 = nn.group_variance %x, %0 {groups = 32 : si64} : (tensor<8x64x64x192xbf16>, tensor<8x32x1xf32>) -> tensor<8x32x1xf32>
  return %0, %1 : tensor<8x32x1xf32>, tensor<8x32x1xf32>
}

// The kernel of the convolution takes the moments, also after an addition. A
// number per sample and channel that is added shifts the means.
// CHECK-LABEL: func.func @groups_of_convolutions
// CHECK:         %[[F:.*]]:2 = nn.fusion(%arg0, %arg1)
// CHECK-NEXT:    ^bb0
// CHECK-NEXT:      %[[Y:.*]] = nn.conv
// CHECK-NEXT:      nn.column_moments %[[Y]] {height = 64 : si64}
// CHECK:         %[[M:.*]]:2 = nn.fusion({{.*}}) : (tensor<8x64x128xf32>, tensor<8x64x128xf32>)
// CHECK:         %[[T:.*]] = nn.cast %arg2 {to = f32}
// CHECK:         %[[R:.*]] = nn.reshape %[[T]] {shape = array<i64: 8, 128>}
// CHECK:         nn.add %{{.*}}, %[[R]] : (tensor<8x128xf32>, tensor<8x128xf32>)
// CHECK:         nn.fusion(
// CHECK-NEXT:    ^bb0
// CHECK-NEXT:      %[[Z:.*]] = nn.conv
// CHECK-NEXT:      %[[S:.*]] = nn.add {{.*}}%[[Z]]
// CHECK-NEXT:      nn.column_moments %[[S]]
// CHECK-NOT:     nn.group_
// CHECK:         return
func.func @groups_of_convolutions(%x: tensor<8x64x64x64xbf16>, %w: tensor<128x1x1x64xbf16>, %t: tensor<8x1x1x128xbf16>) -> (tensor<8x32x1xf32>, tensor<8x32x1xf32>, tensor<8x64x64x128xbf16>) {
  %0 = nn.conv %x, %w {channels_last, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<8x64x64x64xbf16>, tensor<128x1x1x64xbf16>) -> tensor<8x64x64x128xbf16>
  %1 = nn.add %0, %t : (tensor<8x64x64x128xbf16>, tensor<8x1x1x128xbf16>) -> tensor<8x64x64x128xbf16>
  %2 = nn.group_mean %1 {groups = 32 : si64} : (tensor<8x64x64x128xbf16>) -> tensor<8x32x1xf32>
  %3 = nn.conv %x, %w {channels_last, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<8x64x64x64xbf16>, tensor<128x1x1x64xbf16>) -> tensor<8x64x64x128xbf16>
  %4 = nn.add %0, %3 : (tensor<8x64x64x128xbf16>, tensor<8x64x64x128xbf16>) -> tensor<8x64x64x128xbf16>
  %5 = nn.group_mean %4 {groups = 32 : si64} : (tensor<8x64x64x128xbf16>) -> tensor<8x32x1xf32>
  return %2, %5, %4 : tensor<8x32x1xf32>, tensor<8x32x1xf32>, tensor<8x64x64x128xbf16>
}

// A sum over the samples too is computed from the samples' sums.
// CHECK-LABEL: func.func @sum_of_sums
// CHECK:         %[[A:.*]] = nn.reduce {{.*}} {axes = array<i64: 1>{{.*}} -> tensor<8x1x128xf32>
// CHECK:         %[[B:.*]] = nn.reshape %[[A]] {shape = array<i64: 8, 1, 1, 128>}
// CHECK:         %[[C:.*]] = nn.reduce %[[B]] {axes = array<i64: 0>
// CHECK-NOT:     nn.reduce
// CHECK:         return %[[B]], %[[C]]
func.func @sum_of_sums(%x: tensor<8x64x64x128xbf16>) -> (tensor<8x1x1x128xf32>, tensor<1x1x1x128xf32>) {
  %0 = nn.cast %x {to = f32} : (tensor<8x64x64x128xbf16>) -> tensor<8x64x64x128xf32>
  %1 = nn.reduce %0 {axes = array<i64: 1, 2>, kind = #nn<combiner sum>} : (tensor<8x64x64x128xf32>) -> tensor<8x1x1x128xf32>
  %2 = nn.reduce %0 {axes = array<i64: 0, 1, 2>, kind = #nn<combiner sum>} : (tensor<8x64x64x128xf32>) -> tensor<1x1x1x128xf32>
  return %1, %2 : tensor<8x1x1x128xf32>, tensor<1x1x1x128xf32>
}

// Operands that broadcast along different dimensions, of a shape with outer
// dimensions of 1.
// CHECK-LABEL: func.func @broadcast_operands
// CHECK:         %[[L:.*]] = nn.less_equal {{.*}} -> tensor<1x1x64x32x2048xi1>
// CHECK:         nn.reduce {{.*}} {axes = array<i64: 3>, kind = #nn<combiner sum>} : (tensor<1x1x64x32x2048xi32>) -> tensor<1x1x64x1x2048xi32>
func.func @broadcast_operands(%a: tensor<1x1x2048x1xi32>, %k: tensor<1x1x1x2048xi32>) -> tensor<1x1x1x2048xi32> {
  %0 = nn.less_equal %a, %k : (tensor<1x1x2048x1xi32>, tensor<1x1x1x2048xi32>) -> tensor<1x1x2048x2048xi1>
  %1 = nn.cast %0 {to = i32} : (tensor<1x1x2048x2048xi1>) -> tensor<1x1x2048x2048xi32>
  %2 = nn.reduce %1 {axes = array<i64: 2>, kind = #nn<combiner sum>} : (tensor<1x1x2048x2048xi32>) -> tensor<1x1x1x2048xi32>
  return %2 : tensor<1x1x1x2048xi32>
}
