// RUN: frit-opt %s --fold-products -split-input-file | FileCheck %s

// The weights of a product and of the pointwise convolution after it are
// multiplied; what was added in between is a second convolution's input.
// CHECK-LABEL: func.func @folds
// CHECK-SAME:    %[[G:[^:]*]]: tensor<2x4x16xf16>, %[[R:[^:]*]]: tensor<2x4x8xf16>, %[[I:[^:]*]]:
// CHECK-DAG:     %[[W:.*]] = nn.constant "w"
// CHECK-DAG:     %[[B:.*]] = nn.constant "b"
// CHECK-DAG:     %[[V:.*]] = nn.constant "v"
// CHECK-DAG:     %[[C:.*]] = nn.constant "c"
// CHECK:         %[[ROWS:.*]] = nn.reshape %[[V]] {shape = array<i64: 8, 8>}
// CHECK-NEXT:    %[[WV:.*]] = nn.matmul %[[ROWS]], %[[W]] {transpose_b} : (tensor<8x8xf16>, tensor<16x8xf16>) -> tensor<8x16xf16>
// CHECK-NEXT:    %[[ROW:.*]] = nn.reshape %[[B]] {shape = array<i64: 1, 8>}
// CHECK-NEXT:    %[[BV:.*]] = nn.matmul %[[ROW]], %[[ROWS]] {transpose_b}
// CHECK-NEXT:    %[[FLAT:.*]] = nn.reshape %[[BV]] {shape = array<i64: 8>}
// CHECK-NEXT:    %[[BIAS:.*]] = nn.add %[[FLAT]], %[[C]]
// CHECK-DAG:     %[[IMAGE:.*]] = nn.reshape %[[G]] {shape = array<i64: 2, 2, 2, 16>}
// CHECK-DAG:     %[[FILTERS:.*]] = nn.reshape %[[WV]] {shape = array<i64: 8, 1, 1, 16>}
// CHECK:         %[[P:.*]] = nn.conv %[[IMAGE]], %[[FILTERS]], %[[BIAS]] {channels_last
// CHECK-NEXT:    %[[REST:.*]] = nn.reshape %[[R]] {shape = array<i64: 2, 2, 2, 8>}
// CHECK-NEXT:    %[[Q:.*]] = nn.conv %[[REST]], %[[V]] {channels_last
// CHECK-NEXT:    %[[SUM:.*]] = nn.add %[[P]], %[[Q]]
// CHECK-NEXT:    %[[Y:.*]] = nn.add %[[I]], %[[SUM]]
// CHECK-NEXT:    return %[[Y]]
func.func @folds(%g: tensor<2x4x16xf16>, %r: tensor<2x4x8xf16>, %i: tensor<2x2x2x8xf16>) -> tensor<2x2x2x8xf16> {
  %w = nn.constant "w" dense<0.5> : tensor<16x8xf16>
  %b = nn.constant "b" dense<0.5> : tensor<8xf16>
  %v = nn.constant "v" dense<0.5> : tensor<8x1x1x8xf16>
  %c = nn.constant "c" dense<0.5> : tensor<8xf16>
  %0 = nn.matmul %g, %w : (tensor<2x4x16xf16>, tensor<16x8xf16>) -> tensor<2x4x8xf16>
  %1 = nn.add %0, %b : (tensor<2x4x8xf16>, tensor<8xf16>) -> tensor<2x4x8xf16>
  %2 = nn.add %r, %1 : (tensor<2x4x8xf16>, tensor<2x4x8xf16>) -> tensor<2x4x8xf16>
  %3 = nn.reshape %2 {shape = array<i64: 2, 2, 2, 8>} : (tensor<2x4x8xf16>) -> tensor<2x2x2x8xf16>
  %4 = nn.conv %3, %v, %c {channels_last, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x2x2x8xf16>, tensor<8x1x1x8xf16>, tensor<8xf16>) -> tensor<2x2x2x8xf16>
  %5 = nn.add %i, %4 : (tensor<2x2x2x8xf16>, tensor<2x2x2x8xf16>) -> tensor<2x2x2x8xf16>
  return %5 : tensor<2x2x2x8xf16>
}

// -----

// Neither needs a bias, which may follow the sum. The weight is stored by
// columns.
// CHECK-LABEL: func.func @no_bias
// CHECK:         nn.matmul %{{.*}}, %{{.*}} : (tensor<4x8xf16>, tensor<8x16xf16>) -> tensor<4x16xf16>
// CHECK:         %[[P:.*]] = nn.conv %{{.*}}, %{{[^,]*}} {channels_last
// CHECK:         %[[Q:.*]] = nn.conv %arg1, %{{[^,]*}} {channels_last
// CHECK:         nn.add %[[P]], %[[Q]] : (tensor<1x2x2x4xf16>
func.func @no_bias(%g: tensor<1x2x2x16xf16>, %r: tensor<1x2x2x8xf16>) -> tensor<1x2x2x4xf16> {
  %w = nn.constant "w" dense<0.5> : tensor<8x16xf16>
  %v = nn.constant "v" dense<0.5> : tensor<4x1x1x8xf16>
  %0 = nn.matmul %g, %w {transpose_b} : (tensor<1x2x2x16xf16>, tensor<8x16xf16>) -> tensor<1x2x2x8xf16>
  %1 = nn.add %0, %r : (tensor<1x2x2x8xf16>, tensor<1x2x2x8xf16>) -> tensor<1x2x2x8xf16>
  %2 = nn.conv %1, %v {channels_last, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x2x2x8xf16>, tensor<4x1x1x8xf16>) -> tensor<1x2x2x4xf16>
  return %2 : tensor<1x2x2x4xf16>
}

// -----

// The sum has another reader.
// CHECK-LABEL: func.func @read_twice
// CHECK-COUNT-1: nn.conv
// CHECK-NOT:     nn.conv
func.func @read_twice(%g: tensor<1x2x2x16xf16>, %r: tensor<1x2x2x8xf16>) -> (tensor<1x2x2x8xf16>, tensor<1x2x2x8xf16>) {
  %w = nn.constant "w" dense<0.5> : tensor<16x8xf16>
  %v = nn.constant "v" dense<0.5> : tensor<8x1x1x8xf16>
  %0 = nn.matmul %g, %w : (tensor<1x2x2x16xf16>, tensor<16x8xf16>) -> tensor<1x2x2x8xf16>
  %1 = nn.add %0, %r : (tensor<1x2x2x8xf16>, tensor<1x2x2x8xf16>) -> tensor<1x2x2x8xf16>
  %2 = nn.conv %1, %v {channels_last, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x2x2x8xf16>, tensor<8x1x1x8xf16>) -> tensor<1x2x2x8xf16>
  return %1, %2 : tensor<1x2x2x8xf16>, tensor<1x2x2x8xf16>
}

// -----

// A sparse weight stays so.
// CHECK-LABEL: func.func @sparse
// CHECK-COUNT-1: nn.conv
// CHECK-NOT:     nn.conv
func.func @sparse(%g: tensor<1x2x2x128xf16>, %r: tensor<1x2x2x32xf16>) -> tensor<1x2x2x32xf16> {
  %values = nn.constant "values" dense<0.5> : tensor<2x1x1024xf16>
  %places = nn.constant "places" dense<68> : tensor<2x1x256xui8>
  %w = nn.decompress %values, %places {to = f16} : (tensor<2x1x1024xf16>, tensor<2x1x256xui8>) -> tensor<32x128xf16>
  %v = nn.constant "v" dense<0.5> : tensor<32x1x1x32xf16>
  %0 = nn.matmul %g, %w {transpose_b} : (tensor<1x2x2x128xf16>, tensor<32x128xf16>) -> tensor<1x2x2x32xf16>
  %1 = nn.add %0, %r : (tensor<1x2x2x32xf16>, tensor<1x2x2x32xf16>) -> tensor<1x2x2x32xf16>
  %2 = nn.conv %1, %v {channels_last, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x2x2x32xf16>, tensor<32x1x1x32xf16>) -> tensor<1x2x2x32xf16>
  return %2 : tensor<1x2x2x32xf16>
}

// -----

// More filters than columns would take more operations. The filters of a 3 × 3
// convolution are not one matrix. The target has no kernel for two filters.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-3: nn.conv
// CHECK-NOT:     nn.conv
func.func @others(%g: tensor<1x2x2x16xf16>, %r: tensor<1x2x2x8xf16>) -> (tensor<1x2x2x16xf16>, tensor<1x2x2x8xf16>, tensor<1x2x2x2xf16>) {
  %w = nn.constant "w" dense<0.5> : tensor<16x8xf16>
  %u = nn.constant "u" dense<0.5> : tensor<16x1x1x8xf16>
  %0 = nn.matmul %g, %w : (tensor<1x2x2x16xf16>, tensor<16x8xf16>) -> tensor<1x2x2x8xf16>
  %1 = nn.add %0, %r : (tensor<1x2x2x8xf16>, tensor<1x2x2x8xf16>) -> tensor<1x2x2x8xf16>
  %2 = nn.conv %1, %u {channels_last, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x2x2x8xf16>, tensor<16x1x1x8xf16>) -> tensor<1x2x2x16xf16>
  %w2 = nn.constant "w2" dense<0.5> : tensor<16x8xf16>
  %v = nn.constant "v" dense<0.5> : tensor<8x3x3x8xf16>
  %3 = nn.matmul %g, %w2 : (tensor<1x2x2x16xf16>, tensor<16x8xf16>) -> tensor<1x2x2x8xf16>
  %4 = nn.add %3, %r : (tensor<1x2x2x8xf16>, tensor<1x2x2x8xf16>) -> tensor<1x2x2x8xf16>
  %5 = nn.conv %4, %v {channels_last, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>} : (tensor<1x2x2x8xf16>, tensor<8x3x3x8xf16>) -> tensor<1x2x2x8xf16>
  %w3 = nn.constant "w3" dense<0.5> : tensor<16x8xf16>
  %t = nn.constant "t" dense<0.5> : tensor<2x1x1x8xf16>
  %6 = nn.matmul %g, %w3 : (tensor<1x2x2x16xf16>, tensor<16x8xf16>) -> tensor<1x2x2x8xf16>
  %7 = nn.add %6, %r : (tensor<1x2x2x8xf16>, tensor<1x2x2x8xf16>) -> tensor<1x2x2x8xf16>
  %8 = nn.conv %7, %t {channels_last, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x2x2x8xf16>, tensor<2x1x1x8xf16>) -> tensor<1x2x2x2xf16>
  return %2, %5, %8 : tensor<1x2x2x16xf16>, tensor<1x2x2x8xf16>, tensor<1x2x2x2xf16>
}
