// RUN: frit-opt %s --fold-upsampling -split-input-file | FileCheck %s

// Rows and columns of the image are doubled before the convolution: four planes
// of the image itself are convolved by sums of the filters instead. Of the sums
// for the first plane's first entry, that of odd rows and columns, there are
// four; of the one after it, in the next column, two.
// CHECK-LABEL: func.func @folds
// CHECK-SAME:    %[[X:[^:]*]]: tensor<2x9x8x16xf16>
// CHECK-DAG:     %[[W:.*]] = nn.constant "w"
// CHECK-DAG:     %[[B:.*]] = nn.constant "b"
// CHECK-DAG:     %[[BIAS:.*]] = nn.concat %[[B]], %[[B]], %[[B]], %[[B]] {axis = 0
// CHECK-DAG:     %[[ONES:.*]] = nn.constant dense<"0x0000803F0000803F000000000000803F0000803F0000000000000000000000000000000000000000000000000000803F00000000000000000000803F0000000000000000000000000000000000000000000000000000000000000000000000000000803F0000803F00000000
// CHECK-DAG:     %[[TERMS:.*]] = nn.cast %[[ONES]] {storage, to = f16}
// CHECK-DAG:     %[[TAPS:.*]] = nn.reshape %[[W]] {shape = array<i64: 24, 9, 16>}
// CHECK:         %[[SUMS:.*]] = nn.matmul %[[TERMS]], %[[TAPS]] : (tensor<16x9xf16>, tensor<24x9x16xf16>) -> tensor<24x16x16xf16>
// CHECK:         %[[ORDERED:.*]] = nn.transpose %{{.*}} {perm = array<i64: 1, 0, 2, 3>} : (tensor<24x4x4x16xf16>)
// CHECK:         %[[FILTERS:.*]] = nn.reshape %[[ORDERED]] {shape = array<i64: 96, 2, 2, 16>}
// CHECK:         %[[PLANES:.*]] = nn.conv %[[X]], %[[FILTERS]], %[[BIAS]] {channels_last, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>} : {{.*}} -> tensor<2x10x9x96xf16>
// CHECK:         %[[SQUARES:.*]] = nn.transpose %{{.*}} {perm = array<i64: 0, 1, 3, 2, 4, 5>} : (tensor<2x10x9x2x2x24xf16>)
// CHECK:         %[[WHOLE:.*]] = nn.reshape %[[SQUARES]] {shape = array<i64: 2, 20, 18, 24>}
// CHECK:         %[[Y:.*]] = nn.slice %[[WHOLE]] {sizes = array<i64: 2, 18, 16, 24>, starts = array<i64: 0, 1, 1, 0>, steps = array<i64: 1, 1, 1, 1>}
// CHECK-NEXT:    return %[[Y]]
func.func @folds(%x: tensor<2x9x8x16xf16>) -> tensor<2x18x16x24xf16> {
  %rows = nn.constant dense<[0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7, 8, 8]> : tensor<18xi64>
  %columns = nn.constant dense<[0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7]> : tensor<16xi64>
  %w = nn.constant "w" dense<0.5> : tensor<24x3x3x16xf16>
  %b = nn.constant "b" dense<0.5> : tensor<24xf16>
  %0 = nn.gather %x, %rows {axis = 1 : si64} : (tensor<2x9x8x16xf16>, tensor<18xi64>) -> tensor<2x18x8x16xf16>
  %1 = nn.gather %0, %columns {axis = 2 : si64} : (tensor<2x18x8x16xf16>, tensor<16xi64>) -> tensor<2x18x16x16xf16>
  %2 = nn.conv %1, %w, %b {channels_last, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>} : (tensor<2x18x16x16xf16>, tensor<24x3x3x16xf16>, tensor<24xf16>) -> tensor<2x18x16x24xf16>
  return %2 : tensor<2x18x16x24xf16>
}

// -----

// Columns may be doubled first, and there need not be a bias.
// CHECK-LABEL: func.func @columns_first
// CHECK:         nn.conv %arg0, %{{[^,]*}} {channels_last
// CHECK-SAME:    -> tensor<1x9x9x32xf16>
func.func @columns_first(%x: tensor<1x8x8x8xf16>) -> tensor<1x16x16x8xf16> {
  %places = nn.constant dense<[0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7]> : tensor<16xi64>
  %w = nn.constant "w" dense<0.5> : tensor<8x3x3x8xf16>
  %0 = nn.gather %x, %places {axis = 2 : si64} : (tensor<1x8x8x8xf16>, tensor<16xi64>) -> tensor<1x8x16x8xf16>
  %1 = nn.gather %0, %places {axis = 1 : si64} : (tensor<1x8x16x8xf16>, tensor<16xi64>) -> tensor<1x16x16x8xf16>
  %2 = nn.conv %1, %w {channels_last, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x16x16x8xf16>, tensor<8x3x3x8xf16>) -> tensor<1x16x16x8xf16>
  return %2 : tensor<1x16x16x8xf16>
}

// -----

// Only rows are doubled; rows are in another order; the doubled image has
// another reader; the convolution skips pixels; a small image gains little.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-5: nn.conv {{.*}}x3x3x8xf16>) ->
// CHECK-NOT:     nn.conv
func.func @others(%x: tensor<1x8x8x8xf16>, %small: tensor<1x2x2x8xf16>) -> (tensor<1x16x8x8xf16>, tensor<1x16x16x8xf16>, tensor<1x16x16x8xf16>, tensor<1x16x16x8xf16>, tensor<1x8x8x8xf16>, tensor<1x4x4x8xf16>) {
  %places = nn.constant dense<[0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 7, 7]> : tensor<16xi64>
  %turned = nn.constant dense<[7, 7, 6, 6, 5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0]> : tensor<16xi64>
  %few = nn.constant dense<[0, 0, 1, 1]> : tensor<4xi64>
  %w0 = nn.constant "w0" dense<0.5> : tensor<8x3x3x8xf16>
  %w1 = nn.constant "w1" dense<0.5> : tensor<8x3x3x8xf16>
  %w2 = nn.constant "w2" dense<0.5> : tensor<8x3x3x8xf16>
  %w3 = nn.constant "w3" dense<0.5> : tensor<8x3x3x8xf16>
  %w4 = nn.constant "w4" dense<0.5> : tensor<8x3x3x8xf16>
  %0 = nn.gather %x, %places {axis = 1 : si64} : (tensor<1x8x8x8xf16>, tensor<16xi64>) -> tensor<1x16x8x8xf16>
  %1 = nn.conv %0, %w0 {channels_last, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x16x8x8xf16>, tensor<8x3x3x8xf16>) -> tensor<1x16x8x8xf16>
  %2 = nn.gather %x, %turned {axis = 1 : si64} : (tensor<1x8x8x8xf16>, tensor<16xi64>) -> tensor<1x16x8x8xf16>
  %3 = nn.gather %2, %places {axis = 2 : si64} : (tensor<1x16x8x8xf16>, tensor<16xi64>) -> tensor<1x16x16x8xf16>
  %4 = nn.conv %3, %w1 {channels_last, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x16x16x8xf16>, tensor<8x3x3x8xf16>) -> tensor<1x16x16x8xf16>
  %5 = nn.gather %x, %places {axis = 1 : si64} : (tensor<1x8x8x8xf16>, tensor<16xi64>) -> tensor<1x16x8x8xf16>
  %6 = nn.gather %5, %places {axis = 2 : si64} : (tensor<1x16x8x8xf16>, tensor<16xi64>) -> tensor<1x16x16x8xf16>
  %7 = nn.conv %6, %w2 {channels_last, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x16x16x8xf16>, tensor<8x3x3x8xf16>) -> tensor<1x16x16x8xf16>
  %8 = nn.gather %x, %places {axis = 1 : si64} : (tensor<1x8x8x8xf16>, tensor<16xi64>) -> tensor<1x16x8x8xf16>
  %9 = nn.gather %8, %places {axis = 2 : si64} : (tensor<1x16x8x8xf16>, tensor<16xi64>) -> tensor<1x16x16x8xf16>
  %10 = nn.conv %9, %w3 {channels_last, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>} : (tensor<1x16x16x8xf16>, tensor<8x3x3x8xf16>) -> tensor<1x8x8x8xf16>
  %11 = nn.gather %small, %few {axis = 1 : si64} : (tensor<1x2x2x8xf16>, tensor<4xi64>) -> tensor<1x4x2x8xf16>
  %12 = nn.gather %11, %few {axis = 2 : si64} : (tensor<1x4x2x8xf16>, tensor<4xi64>) -> tensor<1x4x4x8xf16>
  %13 = nn.conv %12, %w4 {channels_last, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x4x4x8xf16>, tensor<8x3x3x8xf16>) -> tensor<1x4x4x8xf16>
  return %1, %4, %6, %7, %10, %13 : tensor<1x16x8x8xf16>, tensor<1x16x16x8xf16>, tensor<1x16x16x8xf16>, tensor<1x16x16x8xf16>, tensor<1x8x8x8xf16>, tensor<1x4x4x8xf16>
}
