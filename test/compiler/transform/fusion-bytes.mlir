// What follows a product of bytes becomes a part of its kernel.
// RUN: frit-opt %s --fusion -split-input-file | FileCheck %s

// A reshape moves behind scales of rows and columns, a bias and a cast. A cast
// back is its reader's: numbers are stored in 16 bits.
// CHECK-LABEL: func @rows
// CHECK: %[[R:.*]] = nn.reshape %arg2 {shape = array<i64: 6, 1>}
// CHECK: %[[Y:.*]] = nn.fusion(
// CHECK-SAME: -> tensor<6x32xf16> {
// CHECK: nn.quantized_conv
// CHECK-NEXT: nn.mul
// CHECK-NEXT: nn.mul
// CHECK-NEXT: nn.cast {{.*}}to = f16
// CHECK-NEXT: nn.yield
// CHECK: nn.fusion(
// CHECK: nn.cast {{.*}}to = f32
// CHECK: nn.reduce
func.func @rows(%q: tensor<6x64xf8E4M3FN>, %w: tensor<32x64xf8E4M3FN>, %r: tensor<2x3x1xf32>, %t: tensor<32xf32>) -> tensor<2x3x1xf32> {
  %0 = nn.quantized_conv %q, %w {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<6x64xf8E4M3FN>, tensor<32x64xf8E4M3FN>) -> tensor<6x32xf32>
  %1 = nn.reshape %0 {shape = array<i64: 2, 3, 32>} : (tensor<6x32xf32>) -> tensor<2x3x32xf32>
  %2 = nn.mul %1, %t : (tensor<2x3x32xf32>, tensor<32xf32>) -> tensor<2x3x32xf32>
  %3 = nn.mul %2, %r : (tensor<2x3x32xf32>, tensor<2x3x1xf32>) -> tensor<2x3x32xf32>
  %4 = nn.cast %3 {to = f16} : (tensor<2x3x32xf32>) -> tensor<2x3x32xf16>
  %5 = nn.cast %4 {to = f32} : (tensor<2x3x32xf16>) -> tensor<2x3x32xf32>
  %6 = nn.reduce %5 {axes = array<i64: 2>, kind = #nn<combiner sum>} : (tensor<2x3x32xf32>) -> tensor<2x3x1xf32>
  return %6 : tensor<2x3x1xf32>
}

// -----

// A result of the function has the type that it is asked for.
// CHECK-LABEL: func @result
// CHECK: nn.quantized_conv
// CHECK-NEXT: nn.cast {{.*}}to = f16
// CHECK-NEXT: nn.cast {{.*}}to = f32
// CHECK-NEXT: nn.yield
func.func @result(%q: tensor<6x64xf8E4M3FN>, %w: tensor<32x64xf8E4M3FN>) -> tensor<6x32xf32> {
  %0 = nn.quantized_conv %q, %w {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<6x64xf8E4M3FN>, tensor<32x64xf8E4M3FN>) -> tensor<6x32xf32>
  %1 = nn.cast %0 {to = f16} : (tensor<6x32xf32>) -> tensor<6x32xf16>
  %2 = nn.cast %1 {to = f32} : (tensor<6x32xf16>) -> tensor<6x32xf32>
  return %2 : tensor<6x32xf32>
}

// -----

// A quantization before a reshape and a transpose is a part of their kernel.
// CHECK-LABEL: func @moved
// CHECK: nn.reshape %arg0
// CHECK-NEXT: nn.fusion(
// CHECK: nn.div
// CHECK: nn.round
// CHECK: nn.cast {{.*}}to = ui8
// CHECK: nn.transpose
// CHECK-NOT: nn.fusion(
func.func @moved(%x: tensor<3x8x8xf32>) -> tensor<4x8x2x3xui8> {
  %s = nn.constant dense<0.3> : tensor<f32>
  %low = nn.constant dense<0.0> : tensor<f32>
  %high = nn.constant dense<255.0> : tensor<f32>
  %0 = nn.div %x, %s : (tensor<3x8x8xf32>, tensor<f32>) -> tensor<3x8x8xf32>
  %1 = nn.round %0 : (tensor<3x8x8xf32>) -> tensor<3x8x8xf32>
  %2 = nn.max %1, %low : (tensor<3x8x8xf32>, tensor<f32>) -> tensor<3x8x8xf32>
  %3 = nn.min %2, %high : (tensor<3x8x8xf32>, tensor<f32>) -> tensor<3x8x8xf32>
  %4 = nn.cast %3 {to = ui8} : (tensor<3x8x8xf32>) -> tensor<3x8x8xui8>
  %5 = nn.reshape %4 {shape = array<i64: 3, 4, 2, 8>} : (tensor<3x8x8xui8>) -> tensor<3x4x2x8xui8>
  %6 = nn.transpose %5 {perm = array<i64: 1, 3, 2, 0>} : (tensor<3x4x2x8xui8>) -> tensor<4x8x2x3xui8>
  return %6 : tensor<4x8x2x3xui8>
}

// -----

// So is what computes 16-bit numbers that are quantized, if nothing else reads
// them.
// CHECK-LABEL: func @widened
// CHECK: nn.fusion(
// CHECK: nn.silu
// CHECK: nn.cast {{.*}}to = f32
// CHECK: nn.div
// CHECK: nn.cast {{.*}}to = f8E4M3FN
// CHECK: nn.transpose
// CHECK-NOT: nn.fusion(
// CHECK-LABEL: func @stored
// CHECK: nn.fusion(
// CHECK-SAME: -> tensor<3x64xf16> {
// CHECK: nn.fusion(
// CHECK-SAME: -> tensor<64x3xf8E4M3FN> {
func.func @widened(%x: tensor<3x64xf16>) -> tensor<64x3xf8E4M3FN> {
  %s = nn.constant dense<0.3> : tensor<f32>
  %0 = nn.silu %x : (tensor<3x64xf16>) -> tensor<3x64xf16>
  %1 = nn.cast %0 {to = f32} : (tensor<3x64xf16>) -> tensor<3x64xf32>
  %2 = nn.div %1, %s : (tensor<3x64xf32>, tensor<f32>) -> tensor<3x64xf32>
  %3 = nn.cast %2 {to = f8E4M3FN} : (tensor<3x64xf32>) -> tensor<3x64xf8E4M3FN>
  %4 = nn.transpose %3 {perm = array<i64: 1, 0>} : (tensor<3x64xf8E4M3FN>) -> tensor<64x3xf8E4M3FN>
  return %4 : tensor<64x3xf8E4M3FN>
}
func.func @stored(%x: tensor<3x64xf16>) -> (tensor<3x64xf16>, tensor<64x3xf8E4M3FN>) {
  %s = nn.constant dense<0.3> : tensor<f32>
  %0 = nn.silu %x : (tensor<3x64xf16>) -> tensor<3x64xf16>
  %1 = nn.cast %0 {to = f32} : (tensor<3x64xf16>) -> tensor<3x64xf32>
  %2 = nn.div %1, %s : (tensor<3x64xf32>, tensor<f32>) -> tensor<3x64xf32>
  %3 = nn.cast %2 {to = f8E4M3FN} : (tensor<3x64xf32>) -> tensor<3x64xf8E4M3FN>
  %4 = nn.transpose %3 {perm = array<i64: 1, 0>} : (tensor<3x64xf8E4M3FN>) -> tensor<64x3xf8E4M3FN>
  return %0, %4 : tensor<3x64xf16>, tensor<64x3xf8E4M3FN>
}

// -----

// What becomes codes of 8 bits is computed behind a product, whose kernel also
// stores what is in between for other readers, and a slope.
// CHECK-LABEL: func @codes
// CHECK: nn.fusion(
// CHECK-SAME: -> (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf8E4M3FN>) {
// CHECK: nn.quantized_conv
// CHECK: nn.gelu_slope
// CHECK: nn.gelu
// CHECK: nn.cast {{.*}}to = f8E4M3FN}
// CHECK: nn.yield
// CHECK: nn.fusion(
// CHECK-NEXT: ^bb0
// CHECK-NEXT: nn.transpose
func.func @codes(%q: tensor<64x64xf8E4M3FN>, %w: tensor<64x64xf8E4M3FN>, %r: tensor<64x1xf32>) -> (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf8E4M3FN>) {
  %0 = nn.quantized_conv %q, %w {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>) -> tensor<64x64xf32>
  %1 = nn.cast %0 {storage, to = bf16} : (tensor<64x64xf32>) -> tensor<64x64xbf16>
  %2 = nn.gelu_slope %1 : (tensor<64x64xbf16>) -> tensor<64x64xbf16>
  %3 = nn.gelu %1 : (tensor<64x64xbf16>) -> tensor<64x64xbf16>
  %4 = nn.cast %3 {to = f32} : (tensor<64x64xbf16>) -> tensor<64x64xf32>
  %5 = nn.mul %4, %r : (tensor<64x64xf32>, tensor<64x1xf32>) -> tensor<64x64xf32>
  %6 = nn.cast %5 {to = f8E4M3FN} : (tensor<64x64xf32>) -> tensor<64x64xf8E4M3FN>
  %7 = nn.transpose %1 {perm = array<i64: 1, 0>} : (tensor<64x64xbf16>) -> tensor<64x64xbf16>
  return %7, %2, %6 : tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf8E4M3FN>
}

// -----

// A product becomes bytes that the end of another one reads: they share a kernel.
// CHECK-LABEL: func @pair
// CHECK: nn.fusion(
// CHECK: nn.quantized_conv
// CHECK: nn.cast {{.*}}to = ui8
// CHECK: nn.quantized_conv
// CHECK: nn.add
// CHECK: nn.yield
// CHECK-NOT: nn.fusion(
func.func @pair(%x: tensor<64x64xui8>, %w: tensor<64x64xi8>, %v: tensor<64x64xui8>, %u: tensor<64x64xi8>) -> tensor<64x64xf32> {
  %xz = nn.constant dense<0> : tensor<ui8>
  %wz = nn.constant dense<0> : tensor<i8>
  %half = nn.constant dense<0.5> : tensor<f32>
  %low = nn.constant dense<0.0> : tensor<f32>
  %high = nn.constant dense<255.0> : tensor<f32>
  %s0 = nn.quantized_conv %x, %w, %xz, %wz {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<64x64xui8>, tensor<64x64xi8>, tensor<ui8>, tensor<i8>) -> tensor<64x64xi32>
  %s1 = nn.cast %s0 {to = f32} : (tensor<64x64xi32>) -> tensor<64x64xf32>
  %s2 = nn.mul %s1, %half : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  %s3 = nn.round %s2 : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %s4 = nn.max %s3, %low : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  %s5 = nn.min %s4, %high : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  %s6 = nn.cast %s5 {to = ui8} : (tensor<64x64xf32>) -> tensor<64x64xui8>
  %t0 = nn.quantized_conv %v, %u, %xz, %wz {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<64x64xui8>, tensor<64x64xi8>, tensor<ui8>, tensor<i8>) -> tensor<64x64xi32>
  %t1 = nn.cast %t0 {to = f32} : (tensor<64x64xi32>) -> tensor<64x64xf32>
  %t2 = nn.cast %s6 {to = i32} : (tensor<64x64xui8>) -> tensor<64x64xi32>
  %t3 = nn.cast %t2 {to = f32} : (tensor<64x64xi32>) -> tensor<64x64xf32>
  %t4 = nn.add %t1, %t3 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %t4 : tensor<64x64xf32>
}

// -----

// Not if something else reads them, too.
// CHECK-LABEL: func @apart
// CHECK: nn.fusion(
// CHECK-SAME: -> tensor<64x64xui8> {
// CHECK: nn.fusion(
// CHECK-SAME: -> tensor<64x64xf32> {
func.func @apart(%x: tensor<64x64xui8>, %w: tensor<64x64xi8>, %v: tensor<64x64xui8>, %u: tensor<64x64xi8>) -> (tensor<64x64xf32>, tensor<64x64xui8>) {
  %xz = nn.constant dense<0> : tensor<ui8>
  %wz = nn.constant dense<0> : tensor<i8>
  %half = nn.constant dense<0.5> : tensor<f32>
  %low = nn.constant dense<0.0> : tensor<f32>
  %high = nn.constant dense<255.0> : tensor<f32>
  %s0 = nn.quantized_conv %x, %w, %xz, %wz {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<64x64xui8>, tensor<64x64xi8>, tensor<ui8>, tensor<i8>) -> tensor<64x64xi32>
  %s1 = nn.cast %s0 {to = f32} : (tensor<64x64xi32>) -> tensor<64x64xf32>
  %s2 = nn.mul %s1, %half : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  %s3 = nn.round %s2 : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %s4 = nn.max %s3, %low : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  %s5 = nn.min %s4, %high : (tensor<64x64xf32>, tensor<f32>) -> tensor<64x64xf32>
  %s6 = nn.cast %s5 {to = ui8} : (tensor<64x64xf32>) -> tensor<64x64xui8>
  %t0 = nn.quantized_conv %v, %u, %xz, %wz {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<64x64xui8>, tensor<64x64xi8>, tensor<ui8>, tensor<i8>) -> tensor<64x64xi32>
  %t1 = nn.cast %t0 {to = f32} : (tensor<64x64xi32>) -> tensor<64x64xf32>
  %t2 = nn.cast %s6 {to = i32} : (tensor<64x64xui8>) -> tensor<64x64xi32>
  %t3 = nn.cast %t2 {to = f32} : (tensor<64x64xi32>) -> tensor<64x64xf32>
  %t4 = nn.add %t1, %t3 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %t4, %s6 : tensor<64x64xf32>, tensor<64x64xui8>
}

// -----

// A product that alone multiplies the bytes that another one becomes is a part
// of its kernel, with what follows.
// CHECK-LABEL: func @chain
// CHECK: nn.fusion(
// CHECK: nn.quantized_conv
// CHECK: nn.quantized_conv
// CHECK-NEXT: nn.cast
// CHECK-NEXT: nn.yield
// CHECK-NOT: nn.fusion(
func.func @chain(%x: tensor<8x64xi8>, %w: tensor<32x64xi8>, %v: tensor<64x32xi8>, %z: tensor<i8>) -> tensor<8x64xf32> {
  %0 = nn.quantized_conv %x, %w, %z, %z {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<8x64xi8>, tensor<32x64xi8>, tensor<i8>, tensor<i8>) -> tensor<8x32xi32>
  %1 = nn.cast %0 {to = i8} : (tensor<8x32xi32>) -> tensor<8x32xi8>
  %2 = nn.quantized_conv %1, %v, %z, %z {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<8x32xi8>, tensor<64x32xi8>, tensor<i8>, tensor<i8>) -> tensor<8x64xi32>
  %3 = nn.cast %2 {to = f32} : (tensor<8x64xi32>) -> tensor<8x64xf32>
  return %3 : tensor<8x64xf32>
}

// -----

// If it is added to what a third one becomes, it joins that instead; other
// readers of the bytes keep both apart, too.
// CHECK-LABEL: func @added
// CHECK: nn.fusion(
// CHECK: nn.quantized_conv
// CHECK-NEXT: nn.cast
// CHECK-NEXT: nn.yield
// CHECK: nn.fusion(
// CHECK: nn.quantized_conv
// CHECK: nn.quantized_conv
// CHECK: nn.add
func.func @added(%x: tensor<8x64xi8>, %w: tensor<32x64xi8>, %v: tensor<64x32xi8>, %u: tensor<64x64xi8>, %z: tensor<i8>) -> tensor<8x64xi8> {
  %0 = nn.quantized_conv %x, %w, %z, %z {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<8x64xi8>, tensor<32x64xi8>, tensor<i8>, tensor<i8>) -> tensor<8x32xi32>
  %1 = nn.cast %0 {to = i8} : (tensor<8x32xi32>) -> tensor<8x32xi8>
  %2 = nn.quantized_conv %1, %v, %z, %z {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<8x32xi8>, tensor<64x32xi8>, tensor<i8>, tensor<i8>) -> tensor<8x64xi32>
  %3 = nn.cast %2 {to = i8} : (tensor<8x64xi32>) -> tensor<8x64xi8>
  %4 = nn.quantized_conv %x, %u, %z, %z {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<8x64xi8>, tensor<64x64xi8>, tensor<i8>, tensor<i8>) -> tensor<8x64xi32>
  %5 = nn.cast %4 {to = i8} : (tensor<8x64xi32>) -> tensor<8x64xi8>
  %6 = nn.add %3, %5 : (tensor<8x64xi8>, tensor<8x64xi8>) -> tensor<8x64xi8>
  return %6 : tensor<8x64xi8>
}
