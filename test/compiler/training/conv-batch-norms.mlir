// RUN: frit-opt %s --conv-batch-norms | FileCheck %s
// RUN: frit-opt %s --conv-batch-norms --decompose --simplify | FileCheck --check-prefix=APART %s

// A pointwise convolution and the batch norm of its result are differentiated
// together; the statistics still come from the convolution. Decomposed, they
// share one convolution again.
// CHECK-LABEL: func.func @pair
// CHECK:         %[[Z:.*]] = nn.conv %arg0, %arg1
// CHECK:         %[[M:.*]] = nn.batch_mean %[[Z]]
// CHECK:         %[[Y:.*]] = nn.conv_batch_norm %arg0, %arg1, %arg2, %arg3 {epsilon = 1.000000e-03 : f32, parts = 2 : si64}
// CHECK-NOT:     nn.batch_norm
// CHECK:         return %[[Y]], %[[M]]
// APART-LABEL: func.func @pair
// APART:         nn.conv
// APART-NOT:     nn.conv
// APART-LABEL: func.func @narrow
func.func @pair(%x: tensor<2x4x4x64xbf16>, %w: tensor<256x1x1x64xbf16>, %s: tensor<256xf32>, %b: tensor<256xf32>) -> (tensor<2x4x4x256xbf16>, tensor<256xf32>) {
  %z = nn.conv %x, %w {channels_last, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x4x4x64xbf16>, tensor<256x1x1x64xbf16>) -> tensor<2x4x4x256xbf16>
  %m = nn.batch_mean %z {channels_last} : (tensor<2x4x4x256xbf16>) -> tensor<256xf32>
  %v = nn.batch_variance %z, %m {channels_last} : (tensor<2x4x4x256xbf16>, tensor<256xf32>) -> tensor<256xf32>
  %y = nn.batch_norm %z, %s, %b, %m, %v {batch_statistics, channels_last, epsilon = 1.0e-3 : f32} : (tensor<2x4x4x256xbf16>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>) -> tensor<2x4x4x256xbf16>
  return %y, %m : tensor<2x4x4x256xbf16>, tensor<256xf32>
}

// The target asks for pairs with 256 filters or more only.
// CHECK-LABEL: func.func @narrow
// CHECK:         nn.batch_norm
func.func @narrow(%x: tensor<2x4x4x64xbf16>, %w: tensor<128x1x1x64xbf16>, %s: tensor<128xf32>) -> tensor<2x4x4x128xbf16> {
  %z = nn.conv %x, %w {channels_last, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x4x4x64xbf16>, tensor<128x1x1x64xbf16>) -> tensor<2x4x4x128xbf16>
  %m = nn.batch_mean %z {channels_last} : (tensor<2x4x4x128xbf16>) -> tensor<128xf32>
  %v = nn.batch_variance %z, %m {channels_last} : (tensor<2x4x4x128xbf16>, tensor<128xf32>) -> tensor<128xf32>
  %y = nn.batch_norm %z, %s, %s, %m, %v {batch_statistics, channels_last} : (tensor<2x4x4x128xbf16>, tensor<128xf32>, tensor<128xf32>, tensor<128xf32>, tensor<128xf32>) -> tensor<2x4x4x128xbf16>
  return %y : tensor<2x4x4x128xbf16>
}

// Not if the statistics are means over ranks, other than the batch's own, or if
// something else reads the convolution's result.
// CHECK-LABEL: func.func @ranks
// CHECK:         nn.batch_norm
func.func @ranks(%x: tensor<2x4x4x64xbf16>, %w: tensor<256x1x1x64xbf16>, %s: tensor<256xf32>) -> tensor<2x4x4x256xbf16> {
  %z = nn.conv %x, %w {channels_last, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x4x4x64xbf16>, tensor<256x1x1x64xbf16>) -> tensor<2x4x4x256xbf16>
  %0 = nn.batch_mean %z {channels_last} : (tensor<2x4x4x256xbf16>) -> tensor<256xf32>
  %m = nn.all_reduce %0 : (tensor<256xf32>) -> tensor<256xf32>
  %v = nn.batch_variance %z, %m {channels_last} : (tensor<2x4x4x256xbf16>, tensor<256xf32>) -> tensor<256xf32>
  %y = nn.batch_norm %z, %s, %s, %m, %v {batch_statistics, channels_last} : (tensor<2x4x4x256xbf16>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>) -> tensor<2x4x4x256xbf16>
  return %y : tensor<2x4x4x256xbf16>
}

// CHECK-LABEL: func.func @running
// CHECK:         nn.batch_norm
func.func @running(%x: tensor<2x4x4x64xbf16>, %w: tensor<256x1x1x64xbf16>, %s: tensor<256xf32>) -> tensor<2x4x4x256xbf16> {
  %z = nn.conv %x, %w {channels_last, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x4x4x64xbf16>, tensor<256x1x1x64xbf16>) -> tensor<2x4x4x256xbf16>
  %y = nn.batch_norm %z, %s, %s, %s, %s {channels_last} : (tensor<2x4x4x256xbf16>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>) -> tensor<2x4x4x256xbf16>
  return %y : tensor<2x4x4x256xbf16>
}

// CHECK-LABEL: func.func @read_elsewhere
// CHECK:         nn.batch_norm
func.func @read_elsewhere(%x: tensor<2x4x4x64xbf16>, %w: tensor<256x1x1x64xbf16>, %s: tensor<256xf32>) -> (tensor<2x4x4x256xbf16>, tensor<2x4x4x256xbf16>) {
  %z = nn.conv %x, %w {channels_last, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x4x4x64xbf16>, tensor<256x1x1x64xbf16>) -> tensor<2x4x4x256xbf16>
  %m = nn.batch_mean %z {channels_last} : (tensor<2x4x4x256xbf16>) -> tensor<256xf32>
  %v = nn.batch_variance %z, %m {channels_last} : (tensor<2x4x4x256xbf16>, tensor<256xf32>) -> tensor<256xf32>
  %y = nn.batch_norm %z, %s, %s, %m, %v {batch_statistics, channels_last} : (tensor<2x4x4x256xbf16>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>, tensor<256xf32>) -> tensor<2x4x4x256xbf16>
  return %y, %z : tensor<2x4x4x256xbf16>, tensor<2x4x4x256xbf16>
}
