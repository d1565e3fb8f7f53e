// RUN: frit-opt %s --layout --simplify | FileCheck %s
// RUN: frit-opt %s --layout=group-norms --simplify | FileCheck %s --check-prefix=GROUPS
// RUN: frit-opt %s --layout --remark-format=emitRemark --remarks-filter-missed=layout -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// The transposes between the convolutions cancel, through a residual, a pool, a
// scale per channel and a mean; one is left at the input, none at the output.
// CHECK-LABEL: func.func @residual
// CHECK-SAME:    %[[X:[^:]*]]:
// CHECK:         nn.transpose %[[X]] {perm = array<i64: 0, 2, 3, 1>}
// CHECK:         %[[A:.*]] = nn.conv {{.*}}channels_last{{.*}} -> tensor<1x8x8x4xf32>
// CHECK:         nn.relu %[[A]]
// CHECK:         nn.conv {{.*}}channels_last
// CHECK:         nn.add {{.*}} -> tensor<1x8x8x4xf32>
// CHECK:         %[[S:.*]] = nn.reshape %{{.*}} {shape = array<i64: 1, 1, 1, 4>}
// CHECK:         nn.mul %{{.*}}, %[[S]]
// CHECK:         nn.max_pool {{.*}}channels_last{{.*}} -> tensor<1x4x4x4xf32>
// CHECK:         %[[M:.*]] = nn.reduce_mean {{.*}}axes = array<i64: 1, 2>
// CHECK:         %[[Y:.*]] = nn.reshape %[[M]] {shape = array<i64: 1, 4>}
// CHECK:         return %[[Y]]
func.func @residual(%x: tensor<1x4x8x8xf32>) -> tensor<1x4xf32> {
  %w = nn.constant "w" dense<1.0> : tensor<4x4x1x1xf32>
  %s = nn.constant "s" dense<[[[1.0]], [[2.0]], [[3.0]], [[4.0]]]> : tensor<4x1x1xf32>
  %0 = nn.conv %x, %w {dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  %1 = nn.relu %0 : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %2 = nn.conv %1, %w {dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32>
  %3 = nn.add %2, %0 : (tensor<1x4x8x8xf32>, tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %4 = nn.mul %3, %s : (tensor<1x4x8x8xf32>, tensor<4x1x1xf32>) -> tensor<1x4x8x8xf32>
  %5 = nn.max_pool %4 {dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, shape = array<i64: 4, 4>, strides = array<i64: 2, 2>, window = array<i64: 2, 2>} : (tensor<1x4x8x8xf32>) -> tensor<1x4x4x4xf32>
  %6 = nn.reduce_mean %5 {axes = array<i64: 2, 3>} : (tensor<1x4x4x4xf32>) -> tensor<1x4x1x1xf32>
  %7 = nn.reshape %6 {shape = array<i64: 1, 4>} : (tensor<1x4x1x1xf32>) -> tensor<1x4xf32>
  return %7 : tensor<1x4xf32>
}

// Patches of an image as tokens need no transpose at all.
// CHECK-LABEL: func.func @patches
// CHECK:         %[[C:.*]] = nn.conv {{.*}} -> tensor<1x4x4x8xf32>
// CHECK-NEXT:    %[[Y:.*]] = nn.reshape %[[C]] {shape = array<i64: 1, 16, 8>}
// CHECK-NEXT:    return %[[Y]]
func.func @patches(%x: tensor<1x4x8x8xf32>) -> tensor<1x16x8xf32> {
  %w = nn.constant "w" dense<1.0> : tensor<8x4x2x2xf32>
  %0 = nn.conv %x, %w {dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 2, 2>} : (tensor<1x4x8x8xf32>, tensor<8x4x2x2xf32>) -> tensor<1x8x4x4xf32>
  %1 = nn.reshape %0 {shape = array<i64: 1, 8, 16>} : (tensor<1x8x4x4xf32>) -> tensor<1x8x16xf32>
  %2 = nn.transpose %1 {perm = array<i64: 0, 2, 1>} : (tensor<1x8x16xf32>) -> tensor<1x16x8xf32>
  return %2 : tensor<1x16x8xf32>
}

// Tokens as an image, upsampled by repeating each pixel, need none either.
// CHECK-LABEL: func.func @enlarged
// CHECK-SAME:    %[[X:[^:]*]]:
// CHECK-NOT:     nn.transpose %[[X]]
// CHECK:         %[[V:.*]] = nn.reshape %[[X]] {shape = array<i64: 1, 2, 2, 4>}
// CHECK:         %[[G:.*]] = nn.gather %[[V]], %{{.*}} {axis = 1 : si64} : {{.*}} -> tensor<1x4x2x4xf32>
// CHECK:         nn.conv %[[G]], {{.*}}channels_last
func.func @enlarged(%x: tensor<1x4x4xf32>) -> tensor<1x4x4x2xf32> {
  %w = nn.constant "w" dense<1.0> : tensor<4x4x1x1xf32>
  %i = nn.constant dense<[0, 0, 1, 1]> : tensor<4xi64>
  %0 = nn.transpose %x {perm = array<i64: 0, 2, 1>} : (tensor<1x4x4xf32>) -> tensor<1x4x4xf32>
  %1 = nn.reshape %0 {shape = array<i64: 1, 4, 2, 2>} : (tensor<1x4x4xf32>) -> tensor<1x4x2x2xf32>
  %2 = nn.gather %1, %i {axis = 2 : si64} : (tensor<1x4x2x2xf32>, tensor<4xi64>) -> tensor<1x4x4x2xf32>
  %3 = nn.conv %2, %w {dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x4x4x2xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x4x2xf32>
  return %3 : tensor<1x4x4x2xf32>
}

// A 1-d convolution becomes a 2-d one with one row.
// CHECK-LABEL: func.func @line
// CHECK:         nn.conv {{.*}}channels_last, dilations = array<i64: 1, 2>, pads = array<i64: 0, 1, 0, 2>, strides = array<i64: 1, 2>} : (tensor<1x1x9x4xf32>, tensor<8x1x3x4xf32>) -> tensor<1x1x4x8xf32>
func.func @line(%x: tensor<1x4x9xf32>, %w: tensor<8x4x3xf32>) -> tensor<1x8x4xf32> {
  %0 = nn.conv %x, %w {dilations = array<i64: 2>, pads = array<i64: 1, 2>, strides = array<i64: 2>} : (tensor<1x4x9xf32>, tensor<8x4x3xf32>) -> tensor<1x8x4xf32>
  return %0 : tensor<1x8x4xf32>
}

// Channels that are last already stay there.
// CHECK-LABEL: func.func @last
// CHECK-NOT:     nn.transpose
// CHECK:         nn.conv %{{.*}} {channels_last, {{.*}} : (tensor<1x9x5x4xf32>, tensor<8x3x1x4xf32>) -> tensor<1x7x5x8xf32>
// CHECK-NOT:     nn.transpose
// CHECK:         return
func.func @last(%x: tensor<1x9x5x4xf32>, %w: tensor<8x3x1x4xf32>) -> tensor<1x7x5x8xf32> {
  %0 = nn.conv %x, %w {channels_last, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x9x5x4xf32>, tensor<8x3x1x4xf32>) -> tensor<1x7x5x8xf32>
  return %0 : tensor<1x7x5x8xf32>
}

// CHECK-LABEL: func.func @line_last
// CHECK-NOT:     nn.transpose
// CHECK:         nn.conv {{.*}}channels_last, dilations = array<i64: 1, 2>, pads = array<i64: 0, 1, 0, 2>, strides = array<i64: 1, 2>} : (tensor<1x1x9x4xf32>, tensor<8x1x3x4xf32>) -> tensor<1x1x4x8xf32>
// CHECK-NOT:     nn.transpose
// CHECK:         return
func.func @line_last(%x: tensor<1x9x4xf32>, %w: tensor<8x3x4xf32>) -> tensor<1x4x8xf32> {
  %0 = nn.conv %x, %w {channels_last, dilations = array<i64: 2>, pads = array<i64: 1, 2>, strides = array<i64: 2>} : (tensor<1x9x4xf32>, tensor<8x3x4xf32>) -> tensor<1x4x8xf32>
  return %0 : tensor<1x4x8xf32>
}

// CHECK-LABEL: func.func @film_last
// CHECK-SAME:    %[[X:[^:]*]]: {{.*}}, %[[W:[^:]*]]:
// CHECK-DAG:     nn.slice %[[X]] {sizes = array<i64: 1, 2, 6, 7, 3>, starts = array<i64: 0, 1, 0, 0, 0>, steps = array<i64: 1, 2, 1, 1, 1>}
// CHECK-DAG:     nn.transpose %[[W]] {perm = array<i64: 0, 2, 3, 1, 4>} : (tensor<8x2x3x3x3xf32>) -> tensor<8x3x3x2x3xf32>
// CHECK:         nn.conv {{.*}}channels_last{{.*}} : (tensor<2x6x7x6xf32>, tensor<8x3x3x6xf32>) -> tensor<2x4x5x8xf32>
// CHECK-NOT:     nn.transpose
// CHECK:         return
func.func @film_last(%x: tensor<1x5x6x7x3xf32>, %w: tensor<8x2x3x3x3xf32>) -> tensor<1x2x4x5x8xf32> {
  %0 = nn.conv %x, %w {channels_last, dilations = array<i64: 1, 1, 1>, pads = array<i64: 0, 0, 0, 0, 0, 0>, strides = array<i64: 2, 1, 1>} : (tensor<1x5x6x7x3xf32>, tensor<8x2x3x3x3xf32>) -> tensor<1x2x4x5x8xf32>
  return %0 : tensor<1x2x4x5x8xf32>
}

// In a 3-d convolution, the frames under a tap become channels, in 16 bits a
// multiple of 8 of them; no transpose is left between two of these.
// CHECK-LABEL: func.func @film
// CHECK-SAME:    %[[X:[^:]*]]:
// CHECK-DAG:     %[[T:.*]] = nn.transpose %[[X]] {perm = array<i64: 0, 2, 3, 4, 1>}
// CHECK-DAG:     %[[P:.*]] = nn.pad %[[T]]{{.*}} {high = array<i64: 0, 1, 0, 0, 0>, low = array<i64: 0, 1, 0, 0, 0>}
// CHECK-DAG:     %[[A:.*]] = nn.slice %[[P]] {sizes = array<i64: 1, 3, 6, 6, 3>, starts = array<i64: 0, 0, 0, 0, 0>, steps = array<i64: 1, 2, 1, 1, 1>}
// CHECK-DAG:     %[[B:.*]] = nn.slice %[[P]] {sizes = array<i64: 1, 3, 6, 6, 3>, starts = array<i64: 0, 1, 0, 0, 0>, steps = array<i64: 1, 2, 1, 1, 1>}
// CHECK-DAG:     %[[C:.*]] = nn.slice %[[P]] {sizes = array<i64: 1, 3, 6, 6, 3>, starts = array<i64: 0, 2, 0, 0, 0>, steps = array<i64: 1, 2, 1, 1, 1>}
// CHECK:         nn.concat %[[A]], %[[B]], %[[C]] {axis = 4 : si64}
// CHECK:         nn.pad {{.*}} -> tensor<3x6x6x16xf16>
// CHECK:         nn.conv {{.*}}channels_last{{.*}} : (tensor<3x6x6x16xf16>, tensor<8x3x3x16xf16>) -> tensor<3x4x4x8xf16>
// CHECK-NOT:     nn.transpose {{.*}}x8xf16>) ->
// CHECK:         nn.conv {{.*}} -> tensor<3x4x4x8xf16>
func.func @film(%x: tensor<1x3x5x6x6xf16>) -> tensor<1x8x3x4x4xf16> {
  %w = nn.constant "w" dense<1.0> : tensor<8x3x3x3x3xf16>
  %v = nn.constant "v" dense<1.0> : tensor<8x8x1x1x1xf16>
  %0 = nn.conv %x, %w {dilations = array<i64: 1, 1, 1>, pads = array<i64: 1, 0, 0, 1, 0, 0>, strides = array<i64: 2, 1, 1>} : (tensor<1x3x5x6x6xf16>, tensor<8x3x3x3x3xf16>) -> tensor<1x8x3x4x4xf16>
  %1 = nn.conv %0, %v {dilations = array<i64: 1, 1, 1>, pads = array<i64: 0, 0, 0, 0, 0, 0>, strides = array<i64: 1, 1, 1>} : (tensor<1x8x3x4x4xf16>, tensor<8x8x1x1x1xf16>) -> tensor<1x8x3x4x4xf16>
  return %1 : tensor<1x8x3x4x4xf16>
}

// A grouped convolution stays as it is on the test target, and the transpose
// before it is named.
// REMARK:      a transpose stays between node 'a' (Conv) and node 'b' (Conv)
// CHECK-LABEL: func.func @grouped
// CHECK:         nn.conv {{.*}}channels_last
// CHECK:         nn.transpose
// CHECK-NEXT:    nn.conv {{.*}}group = 2 : i64, pads
func.func @grouped(%x: tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32> {
  %w = nn.constant "w" dense<1.0> : tensor<4x4x1x1xf32>
  %v = nn.constant "v" dense<1.0> : tensor<4x2x1x1xf32>
  %0 = nn.conv %x, %w {dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x4x8x8xf32>, tensor<4x4x1x1xf32>) -> tensor<1x4x8x8xf32> loc("node 'a' (Conv)")
  %1 = nn.conv %0, %v {dilations = array<i64: 1, 1>, group = 2 : i64, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x4x8x8xf32>, tensor<4x2x1x1xf32>) -> tensor<1x4x8x8xf32> loc("node 'b' (Conv)")
  return %1 : tensor<1x4x8x8xf32>
}

// A depthwise convolution gets its filters with channels last, and its bias
// becomes an add after it.
// CHECK-LABEL: func.func @depthwise
// CHECK-SAME:    %[[X:[^:]*]]: {{.*}}, %[[W:[^:]*]]: {{.*}}, %[[B:[^:]*]]:
// CHECK-DAG:     %[[L:.*]] = nn.transpose %[[X]] {perm = array<i64: 0, 2, 3, 1>}
// CHECK-DAG:     %[[V:.*]] = nn.reshape %[[W]] {shape = array<i64: 4, 3, 3>}
// CHECK-DAG:     %[[F:.*]] = nn.transpose %[[V]] {perm = array<i64: 1, 2, 0>}
// CHECK:         %[[D:.*]] = nn.depthwise_conv %[[L]], %[[F]] {dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 0, 0>, strides = array<i64: 1, 2>}
// CHECK-NEXT:    %[[Y:.*]] = nn.add %[[D]], %[[B]]
// CHECK-NEXT:    nn.relu %[[Y]]
func.func @depthwise(%x: tensor<1x4x8x8xf32>, %w: tensor<4x1x3x3xf32>, %b: tensor<4xf32>) -> tensor<1x4x7x4xf32> {
  %0 = nn.conv %x, %w, %b {dilations = array<i64: 1, 1>, group = 4 : i64, pads = array<i64: 1, 1, 0, 0>, strides = array<i64: 1, 2>} : (tensor<1x4x8x8xf32>, tensor<4x1x3x3xf32>, tensor<4xf32>) -> tensor<1x4x7x4xf32>
  %1 = nn.relu %0 : (tensor<1x4x7x4xf32>) -> tensor<1x4x7x4xf32>
  return %1 : tensor<1x4x7x4xf32>
}

// Where a model trains, a group norm takes channels-last operands; its scale and
// bias are not rounded. Otherwise it is a norm of channels-first rows.
// GROUPS-LABEL: func.func @group_norm
// GROUPS:         %[[A:.*]] = nn.conv {{.*}} -> tensor<2x8x8x16xbf16>
// GROUPS-NEXT:    %[[G:.*]] = nn.group_norm %[[A]], %arg1, %arg2 {epsilon = 1.000000e-03 : f32, groups = 4 : si64}
// GROUPS-NEXT:    %[[S:.*]] = nn.silu %[[G]] : (tensor<2x8x8x16xbf16>)
// GROUPS-NEXT:    nn.conv %[[S]]
// CHECK-LABEL:  func.func @group_norm
// CHECK:          nn.conv
// CHECK:          nn.transpose
// CHECK:          nn.layer_norm
// CHECK:          nn.transpose
// CHECK:          nn.conv
func.func @group_norm(%x: tensor<2x16x8x8xbf16>, %s: tensor<16xf32>, %b: tensor<16xf32>) -> tensor<2x16x8x8xbf16> {
  %w = nn.constant "w" dense<1.0> : tensor<16x16x1x1xbf16>
  %ones = nn.constant dense<1.0> : tensor<256xf32>
  %0 = nn.conv %x, %w {dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x16x8x8xbf16>, tensor<16x16x1x1xbf16>) -> tensor<2x16x8x8xbf16>
  %1 = nn.reshape %0 {shape = array<i64: 2, 4, 256>} : (tensor<2x16x8x8xbf16>) -> tensor<2x4x256xbf16>
  %2 = nn.layer_norm %1, %ones {epsilon = 1.0e-3 : f32} : (tensor<2x4x256xbf16>, tensor<256xf32>) -> tensor<2x4x256xbf16>
  %3 = nn.reshape %2 {shape = array<i64: 2, 16, 8, 8>} : (tensor<2x4x256xbf16>) -> tensor<2x16x8x8xbf16>
  %4 = nn.cast %s {to = bf16} : (tensor<16xf32>) -> tensor<16xbf16>
  %5 = nn.reshape %4 {shape = array<i64: 16, 1, 1>} : (tensor<16xbf16>) -> tensor<16x1x1xbf16>
  %6 = nn.mul %3, %5 : (tensor<2x16x8x8xbf16>, tensor<16x1x1xbf16>) -> tensor<2x16x8x8xbf16>
  %7 = nn.cast %b {to = bf16} : (tensor<16xf32>) -> tensor<16xbf16>
  %8 = nn.reshape %7 {shape = array<i64: 16, 1, 1>} : (tensor<16xbf16>) -> tensor<16x1x1xbf16>
  %9 = nn.add %6, %8 : (tensor<2x16x8x8xbf16>, tensor<16x1x1xbf16>) -> tensor<2x16x8x8xbf16>
  %10 = nn.silu %9 : (tensor<2x16x8x8xbf16>) -> tensor<2x16x8x8xbf16>
  %11 = nn.conv %10, %w {dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x16x8x8xbf16>, tensor<16x16x1x1xbf16>) -> tensor<2x16x8x8xbf16>
  return %11 : tensor<2x16x8x8xbf16>
}

// Exporters without an operator for it norm the groups as an instance norm does,
// with a scale and bias of each.
// GROUPS-LABEL: func.func @norm_of_groups
// GROUPS-SAME:    %[[S:[^:]*]]: tensor<16xf32>, %[[B:[^:]*]]: tensor<16xf32>, %[[T:[^:]*]]: tensor<4x1xf32>, %[[C:[^:]*]]: tensor<4x1xf32>)
// GROUPS-DAG:     %[[S4:.*]] = nn.reshape %[[S]] {shape = array<i64: 4, 4>}
// GROUPS-DAG:     %[[B4:.*]] = nn.reshape %[[B]] {shape = array<i64: 4, 4>}
// GROUPS-DAG:     %[[P:.*]] = nn.mul %[[S4]], %[[C]]
// GROUPS-DAG:     %[[B2:.*]] = nn.add %[[B4]], %[[P]]
// GROUPS-DAG:     %[[S2:.*]] = nn.mul %[[S4]], %[[T]]
// GROUPS-DAG:     %[[S3:.*]] = nn.reshape %[[S2]] {shape = array<i64: 16>}
// GROUPS-DAG:     %[[B3:.*]] = nn.reshape %[[B2]] {shape = array<i64: 16>}
// GROUPS:         nn.group_norm %{{.*}}, %[[S3]], %[[B3]] {groups = 4 : si64}
func.func @norm_of_groups(%x: tensor<2x16x8x8xf32>, %s: tensor<16xf32>, %b: tensor<16xf32>, %t: tensor<4x1xf32>, %c: tensor<4x1xf32>) -> tensor<2x16x8x8xf32> {
  %w = nn.constant "w" dense<1.0> : tensor<16x16x1x1xf32>
  %ones = nn.constant dense<1.0> : tensor<256xf32>
  %0 = nn.conv %x, %w {dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x16x8x8xf32>, tensor<16x16x1x1xf32>) -> tensor<2x16x8x8xf32>
  %1 = nn.reshape %0 {shape = array<i64: 2, 4, 256>} : (tensor<2x16x8x8xf32>) -> tensor<2x4x256xf32>
  %2 = nn.layer_norm %1, %ones : (tensor<2x4x256xf32>, tensor<256xf32>) -> tensor<2x4x256xf32>
  %3 = nn.mul %2, %t : (tensor<2x4x256xf32>, tensor<4x1xf32>) -> tensor<2x4x256xf32>
  %4 = nn.add %3, %c : (tensor<2x4x256xf32>, tensor<4x1xf32>) -> tensor<2x4x256xf32>
  %5 = nn.reshape %4 {shape = array<i64: 2, 16, 8, 8>} : (tensor<2x4x256xf32>) -> tensor<2x16x8x8xf32>
  %6 = nn.reshape %s {shape = array<i64: 16, 1, 1>} : (tensor<16xf32>) -> tensor<16x1x1xf32>
  %7 = nn.mul %5, %6 : (tensor<2x16x8x8xf32>, tensor<16x1x1xf32>) -> tensor<2x16x8x8xf32>
  %8 = nn.reshape %b {shape = array<i64: 16, 1, 1>} : (tensor<16xf32>) -> tensor<16x1x1xf32>
  %9 = nn.add %7, %8 : (tensor<2x16x8x8xf32>, tensor<16x1x1xf32>) -> tensor<2x16x8x8xf32>
  return %9 : tensor<2x16x8x8xf32>
}

// Instance norms are group norms of single channels. One whose scale has an
// element per pixel is none.
// GROUPS-LABEL: func.func @instance_norm
// GROUPS:         nn.group_norm {{.*}} {groups = 16 : si64}
// GROUPS:         nn.layer_norm
func.func @instance_norm(%x: tensor<2x16x8x8xf32>, %s: tensor<16x1xf32>, %b: tensor<16x1xf32>, %p: tensor<64xf32>) -> (tensor<2x16x8x8xf32>, tensor<2x16x64xf32>) {
  %w = nn.constant "w" dense<1.0> : tensor<16x16x1x1xf32>
  %ones = nn.constant dense<1.0> : tensor<64xf32>
  %0 = nn.conv %x, %w {dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x16x8x8xf32>, tensor<16x16x1x1xf32>) -> tensor<2x16x8x8xf32>
  %1 = nn.reshape %0 {shape = array<i64: 2, 16, 64>} : (tensor<2x16x8x8xf32>) -> tensor<2x16x64xf32>
  %2 = nn.layer_norm %1, %ones : (tensor<2x16x64xf32>, tensor<64xf32>) -> tensor<2x16x64xf32>
  %3 = nn.mul %2, %s : (tensor<2x16x64xf32>, tensor<16x1xf32>) -> tensor<2x16x64xf32>
  %4 = nn.add %3, %b : (tensor<2x16x64xf32>, tensor<16x1xf32>) -> tensor<2x16x64xf32>
  %5 = nn.reshape %4 {shape = array<i64: 2, 16, 8, 8>} : (tensor<2x16x64xf32>) -> tensor<2x16x8x8xf32>
  %6 = nn.layer_norm %1, %ones : (tensor<2x16x64xf32>, tensor<64xf32>) -> tensor<2x16x64xf32>
  %7 = nn.mul %6, %p : (tensor<2x16x64xf32>, tensor<64xf32>) -> tensor<2x16x64xf32>
  %8 = nn.add %7, %b : (tensor<2x16x64xf32>, tensor<16x1xf32>) -> tensor<2x16x64xf32>
  return %5, %8 : tensor<2x16x8x8xf32>, tensor<2x16x64xf32>
}
