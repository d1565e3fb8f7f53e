// Messages of the verifier of quantized convolutions.
// RUN: frit-opt %s -split-input-file -verify-diagnostics

func.func @shapes(%x: tensor<2x4x4x4x8xui8>, %w: tensor<6x1x1x1x8xi8>, %xz: tensor<ui8>, %wz: tensor<i8>) {
  // expected-error@+1 {{x and w have shapes 2x4x4x4x8 and 6x1x1x1x8, not n, spatial, c and k, window, c / group}}
  %0 = nn.quantized_conv %x, %w, %xz, %wz {strides = array<i64: 1, 1, 1>, pads = array<i64: 0, 0, 0, 0, 0, 0>, dilations = array<i64: 1, 1, 1>, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>} : (tensor<2x4x4x4x8xui8>, tensor<6x1x1x1x8xi8>, tensor<ui8>, tensor<i8>) -> tensor<2x4x4x4x6xi32>
  return
}

// -----

func.func @groups(%x: tensor<5x8xui8>, %w: tensor<6x7xi8>, %xz: tensor<ui8>, %wz: tensor<i8>) {
  // expected-error@+1 {{1 groups do not divide 5x8 and 6x7}}
  %0 = nn.quantized_conv %x, %w, %xz, %wz {strides = array<i64>, pads = array<i64>, dilations = array<i64>, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>} : (tensor<5x8xui8>, tensor<6x7xi8>, tensor<ui8>, tensor<i8>) -> tensor<5x6xi32>
  return
}

// -----

func.func @offset(%x: tensor<5x8xui8>, %w: tensor<6x8xi8>, %xz: tensor<ui8>, %wz: tensor<i8>, %o: tensor<5xi32>) {
  // expected-error@+1 {{offset has shape 5 for 6 filters}}
  %0 = nn.quantized_conv %x, %w, %xz, %wz, %o {strides = array<i64>, pads = array<i64>, dilations = array<i64>, operandSegmentSizes = array<i32: 1, 1, 1, 1, 1, 0, 0, 0>} : (tensor<5x8xui8>, tensor<6x8xi8>, tensor<ui8>, tensor<i8>, tensor<5xi32>) -> tensor<5x6xi32>
  return
}

// -----

func.func @scale(%x: tensor<5x8xui8>, %w: tensor<6x8xi8>, %xz: tensor<ui8>, %wz: tensor<i8>, %b: tensor<6xf32>) {
  // expected-error@+1 {{without a scale there is no epilogue}}
  %0 = nn.quantized_conv %x, %w, %xz, %wz, %b {strides = array<i64>, pads = array<i64>, dilations = array<i64>, operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 1, 0>} : (tensor<5x8xui8>, tensor<6x8xi8>, tensor<ui8>, tensor<i8>, tensor<6xf32>) -> tensor<5x6xi32>
  return
}

// -----

func.func @kinds(%x: tensor<5x8xf8E4M3FN>, %w: tensor<6x8xi8>) {
  // expected-error@+1 {{multiplies floats and integers}}
  %0 = nn.quantized_conv %x, %w {strides = array<i64>, pads = array<i64>, dilations = array<i64>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<5x8xf8E4M3FN>, tensor<6x8xi8>) -> tensor<5x6xf32>
  return
}

// -----

func.func @floats(%x: tensor<5x8xf8E4M3FN>, %w: tensor<6x8xf8E5M2>, %s: tensor<f32>) {
  // expected-error@+1 {{floats have no zero points, and nothing follows their sums}}
  %0 = nn.quantized_conv %x, %w, %s {strides = array<i64>, pads = array<i64>, dilations = array<i64>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 1, 0, 0>} : (tensor<5x8xf8E4M3FN>, tensor<6x8xf8E5M2>, tensor<f32>) -> tensor<5x6xf32>
  return
}

// -----

func.func @bytes(%x: tensor<5x8xi8>, %w: tensor<6x8xi8>) {
  // expected-error@+1 {{bytes have zero points: x_zero and w_zero}}
  %0 = nn.quantized_conv %x, %w {strides = array<i64>, pads = array<i64>, dilations = array<i64>, operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>} : (tensor<5x8xi8>, tensor<6x8xi8>) -> tensor<5x6xi32>
  return
}
