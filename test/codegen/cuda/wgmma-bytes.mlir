// RUN: frit-opt %s -split-input-file --print-cuda -o /dev/null | FileCheck %s

// Products of bytes run like those of 16-bit numbers if their zero points are
// known to be 0. TMA deals the filters out to the columns of a tile, so that a
// thread stores neighbours; steps of k have 128 bytes. Without WGMMA, blocks of
// the same grid take tiles of mma.sync in turn.

// CHECK: // k0 #cuda.wgmma_bytes<tile_m = 128, tile_n = {{[0-9]+}}, {{.*}}blocks = 132> grid 132x1x1 block 384
// CHECK-NEXT: m0 of 0: dims 4096x12288, strides 4096, box 128x128
// CHECK-NEXT: m1 of 1: dims 4096x2x4x4x32, strides 4096x32768x8192x131072, box 128x2x4x4x{{[248]}}
// CHECK: #include "frit/wgmma_bytes.cuh"
// CHECK-LABEL: struct k0_product {
// CHECK: static constexpr int n = 12288, h = 1, w = 1, c = 4096;
// CHECK: static constexpr bool signedX = false, signedW = true, early = false;
// CHECK-NEXT: static constexpr int tileM = 128,
// CHECK: static constexpr int kVector = 8;
// CHECK: #ifdef FRIT_HAS_WGMMA
// CHECK-NEXT: frit::wgmmaBytes(k0_product{x0, x1, x2, x3, y0}, &m0, &m1);
// CHECK-NEXT: #else
// CHECK-NEXT: frit::byteFloor(k0_product{x0, x1, x2, x3, y0}, x0, x1, x2, x3);
func.func @product(%x: tensor<12288x4096xui8>, %w: tensor<1024x4096xi8>) {
  %xz = nn.constant dense<0> : tensor<ui8>
  %wz = nn.constant dense<0> : tensor<i8>
  %0 = nn.fusion(%x, %w, %xz, %wz) : (tensor<12288x4096xui8>, tensor<1024x4096xi8>, tensor<ui8>, tensor<i8>) -> tensor<12288x1024xi32> {
  ^bb0(%a: tensor<12288x4096xui8>, %b: tensor<1024x4096xi8>, %c: tensor<ui8>, %d: tensor<i8>):
    %1 = nn.quantized_conv %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<12288x4096xui8>, tensor<1024x4096xi8>, tensor<ui8>, tensor<i8>) -> tensor<12288x1024xi32>
    nn.yield %1 : tensor<12288x1024xi32>
  }
  return
}

// -----

// Windows are read by im2col, with zeros as padding. Taps of 64 channels share a
// step.
// CHECK: // k0 #cuda.wgmma_bytes<
// CHECK-NEXT: m0 of 0: dims 64x56x56x32, strides 64x3584x200704, steps 1x1x1x1, lower -1x-1, upper -1x-1, channels 64
// CHECK-NEXT: m1 of 1: dims 576x2x4x4x2,
func.func @windows(%x: tensor<32x56x56x64xui8>, %w: tensor<64x3x3x64xi8>) {
  %xz = nn.constant dense<0> : tensor<ui8>
  %wz = nn.constant dense<0> : tensor<i8>
  %0 = nn.fusion(%x, %w, %xz, %wz) schedule(#cuda.wgmma_bytes<tile_m = 128, tile_n = 64, stages = 5>) : (tensor<32x56x56x64xui8>, tensor<64x3x3x64xi8>, tensor<ui8>, tensor<i8>) -> tensor<32x56x56x64xi32> {
  ^bb0(%a: tensor<32x56x56x64xui8>, %b: tensor<64x3x3x64xi8>, %c: tensor<ui8>, %d: tensor<i8>):
    %1 = nn.quantized_conv %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<32x56x56x64xui8>, tensor<64x3x3x64xi8>, tensor<ui8>, tensor<i8>) -> tensor<32x56x56x64xi32>
    nn.yield %1 : tensor<32x56x56x64xi32>
  }
  return
}

// -----

// CHECK: // k0 #cuda.wgmma_bytes<
// CHECK-NEXT: m0 of 0: dims 256x28x28x32, {{.*}} channels 128
func.func @strided(%x: tensor<32x28x28x256xf8E4M3FN>, %w: tensor<512x1x1x256xf8E4M3FN>) {
  %0 = nn.fusion(%x, %w) : (tensor<32x28x28x256xf8E4M3FN>, tensor<512x1x1x256xf8E4M3FN>) -> tensor<32x14x14x512xf32> {
  ^bb0(%a: tensor<32x28x28x256xf8E4M3FN>, %b: tensor<512x1x1x256xf8E4M3FN>):
    %1 = nn.quantized_conv %a, %b {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<32x28x28x256xf8E4M3FN>, tensor<512x1x1x256xf8E4M3FN>) -> tensor<32x14x14x512xf32>
    nn.yield %1 : tensor<32x14x14x512xf32>
  }
  return
}

// -----

// Few rows of a long product: blocks divide k. The schedule may be written by
// hand.
// CHECK: // k0 #cuda.wgmma_bytes<tile_m = 64, tile_n = 128, stages = 4, split = 8> grid 64x1x1 block 160
// CHECK: __cluster_dims__(8, 1, 1)
func.func @given(%x: tensor<49x4608xi8>, %w: tensor<1024x4608xi8>) {
  %xz = nn.constant dense<0> : tensor<i8>
  %wz = nn.constant dense<0> : tensor<i8>
  %0 = nn.fusion(%x, %w, %xz, %wz) schedule(#cuda.wgmma_bytes<tile_m = 64, tile_n = 128, stages = 4, split = 8>) : (tensor<49x4608xi8>, tensor<1024x4608xi8>, tensor<i8>, tensor<i8>) -> tensor<49x1024xi32> {
  ^bb0(%a: tensor<49x4608xi8>, %b: tensor<1024x4608xi8>, %c: tensor<i8>, %d: tensor<i8>):
    %1 = nn.quantized_conv %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<49x4608xi8>, tensor<1024x4608xi8>, tensor<i8>, tensor<i8>) -> tensor<49x1024xi32>
    nn.yield %1 : tensor<49x1024xi32>
  }
  return
}

// -----

// Zero points that are not known to be 0, odd filters and channels are left to
// threads that copy.
// CHECK: // k0 #cuda.integer_gemm<
func.func @zero(%x: tensor<4096x1024xui8>, %w: tensor<1024x1024xi8>, %xz: tensor<ui8>) {
  %wz = nn.constant dense<0> : tensor<i8>
  %0 = nn.fusion(%x, %w, %xz, %wz) : (tensor<4096x1024xui8>, tensor<1024x1024xi8>, tensor<ui8>, tensor<i8>) -> tensor<4096x1024xi32> {
  ^bb0(%a: tensor<4096x1024xui8>, %b: tensor<1024x1024xi8>, %c: tensor<ui8>, %d: tensor<i8>):
    %1 = nn.quantized_conv %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<4096x1024xui8>, tensor<1024x1024xi8>, tensor<ui8>, tensor<i8>) -> tensor<4096x1024xi32>
    nn.yield %1 : tensor<4096x1024xi32>
  }
  return
}

// -----

// CHECK: // k0 #cuda.integer_gemm<
func.func @filters(%x: tensor<4096x1024xi8>, %w: tensor<1000x1024xi8>) {
  %xz = nn.constant dense<0> : tensor<i8>
  %wz = nn.constant dense<0> : tensor<i8>
  %0 = nn.fusion(%x, %w, %xz, %wz) : (tensor<4096x1024xi8>, tensor<1000x1024xi8>, tensor<i8>, tensor<i8>) -> tensor<4096x1000xi32> {
  ^bb0(%a: tensor<4096x1024xi8>, %b: tensor<1000x1024xi8>, %c: tensor<i8>, %d: tensor<i8>):
    %1 = nn.quantized_conv %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<4096x1024xi8>, tensor<1000x1024xi8>, tensor<i8>, tensor<i8>) -> tensor<4096x1000xi32>
    nn.yield %1 : tensor<4096x1000xi32>
  }
  return
}

// -----

// The taps of a row are read as one pixel, and such pixels overlap.
// CHECK: // k0 #cuda.wgmma_bytes<
// CHECK-NEXT: m0 of 0: dims 64x112x230x32, strides 16x1840x423200, steps 1x1x2x1, lower 0x0, upper 0x-7, channels 64
// CHECK-NEXT: m1 of 1: dims 448x2x4x4x2,
func.func @rows(%x: tensor<32x230x115x16xui8>, %w: tensor<64x7x4x16xi8>) {
  %xz = nn.constant dense<0> : tensor<ui8>
  %wz = nn.constant dense<0> : tensor<i8>
  %0 = nn.fusion(%x, %w, %xz, %wz) : (tensor<32x230x115x16xui8>, tensor<64x7x4x16xi8>, tensor<ui8>, tensor<i8>) -> tensor<32x112x112x64xi32> {
  ^bb0(%a: tensor<32x230x115x16xui8>, %b: tensor<64x7x4x16xi8>, %c: tensor<ui8>, %d: tensor<i8>):
    %1 = nn.quantized_conv %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64: 2, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<32x230x115x16xui8>, tensor<64x7x4x16xi8>, tensor<ui8>, tensor<i8>) -> tensor<32x112x112x64xi32>
    nn.yield %1 : tensor<32x112x112x64xi32>
  }
  return
}

// -----

// A result that is quantized, dequantized and added to a residual stays a
// float; clamping to 0 makes the relu needless, and quotients become products.
// Both pass through boxes: each SM stores many sums of few products.
// CHECK: static constexpr int boxed = 1;
// CHECK-NEXT: __device__ Elements boxedElements(const unsigned char *at) const {
// CHECK: frit::loadWords(elements.of0, reinterpret_cast<const int8_t *>(at));
// CHECK: using Stored = int8_t;
// CHECK-NEXT: __device__ void storeTo(const int (&sum)[8], const Columns &columns,
// CHECK: float v0 = frit::roundClamped(float(sum[v]) * columns.of0[v] * 0.003921569f, -117.0f, 138.0f, 117.0f);
// CHECK-NEXT: float v1 = frit::fma(v0, 5.0f, frit::unsignedNumber(frit::byteAt(elements.of0, v), 3.0f) * 2.5f);
// CHECK-NEXT: out0[v] = v1;
// CHECK: frit::storeCodesIf(isInside, to, out0, 0.0f, 255.0f, 0.0f);
// CHECK: storeTo(sum, columns, elements, row, col, isInside, y0 + (row * 256 + col));
// CHECK: frit::wgmmaBytes(k0_product{x0, x1, x2, x3, x4, x5, y0}, &m0, &m1, &m2, &m3);
func.func @residual(%x: tensor<131072x64xui8>, %w: tensor<256x64xi8>, %s: tensor<256xf32>, %r: tensor<131072x256xui8>) {
  %xz = nn.constant dense<0> : tensor<ui8>
  %wz = nn.constant dense<0> : tensor<i8>
  %0 = nn.fusion(%x, %w, %xz, %wz, %s, %r) : (tensor<131072x64xui8>, tensor<256x64xi8>, tensor<ui8>, tensor<i8>, tensor<256xf32>, tensor<131072x256xui8>) -> tensor<131072x256xui8> {
  ^bb0(%a: tensor<131072x64xui8>, %b: tensor<256x64xi8>, %c: tensor<ui8>, %d: tensor<i8>, %e: tensor<256xf32>, %f: tensor<131072x256xui8>):
    %low = nn.constant dense<0.0> : tensor<f32>
    %high = nn.constant dense<255.0> : tensor<f32>
    %zero = nn.constant dense<117.0> : tensor<f32>
    %yz = nn.constant dense<117> : tensor<i32>
    %rz = nn.constant dense<3> : tensor<i32>
    %half = nn.constant dense<0.5> : tensor<f32>
    %quarter = nn.constant dense<0.25> : tensor<f32>
    %tenth = nn.constant dense<0.1> : tensor<f32>
    %1 = nn.quantized_conv %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<131072x64xui8>, tensor<256x64xi8>, tensor<ui8>, tensor<i8>) -> tensor<131072x256xi32>
    %2 = nn.cast %1 {to = f32} : (tensor<131072x256xi32>) -> tensor<131072x256xf32>
    %3 = nn.mul %2, %e : (tensor<131072x256xf32>, tensor<256xf32>) -> tensor<131072x256xf32>
    %4 = nn.round %3 : (tensor<131072x256xf32>) -> tensor<131072x256xf32>
    %5 = nn.add %4, %zero : (tensor<131072x256xf32>, tensor<f32>) -> tensor<131072x256xf32>
    %6 = nn.max %5, %low : (tensor<131072x256xf32>, tensor<f32>) -> tensor<131072x256xf32>
    %7 = nn.min %6, %high : (tensor<131072x256xf32>, tensor<f32>) -> tensor<131072x256xf32>
    %8 = nn.cast %7 {to = ui8} : (tensor<131072x256xf32>) -> tensor<131072x256xui8>
    %9 = nn.cast %8 {to = i32} : (tensor<131072x256xui8>) -> tensor<131072x256xi32>
    %10 = nn.sub %9, %yz : (tensor<131072x256xi32>, tensor<i32>) -> tensor<131072x256xi32>
    %11 = nn.cast %10 {to = f32} : (tensor<131072x256xi32>) -> tensor<131072x256xf32>
    %12 = nn.mul %11, %half : (tensor<131072x256xf32>, tensor<f32>) -> tensor<131072x256xf32>
    %13 = nn.cast %f {to = i32} : (tensor<131072x256xui8>) -> tensor<131072x256xi32>
    %14 = nn.sub %13, %rz : (tensor<131072x256xi32>, tensor<i32>) -> tensor<131072x256xi32>
    %15 = nn.cast %14 {to = f32} : (tensor<131072x256xi32>) -> tensor<131072x256xf32>
    %16 = nn.mul %15, %quarter : (tensor<131072x256xf32>, tensor<f32>) -> tensor<131072x256xf32>
    %17 = nn.add %12, %16 : (tensor<131072x256xf32>, tensor<131072x256xf32>) -> tensor<131072x256xf32>
    %18 = nn.relu %17 : (tensor<131072x256xf32>) -> tensor<131072x256xf32>
    %19 = nn.div %18, %tenth : (tensor<131072x256xf32>, tensor<f32>) -> tensor<131072x256xf32>
    %20 = nn.round %19 : (tensor<131072x256xf32>) -> tensor<131072x256xf32>
    %21 = nn.max %20, %low : (tensor<131072x256xf32>, tensor<f32>) -> tensor<131072x256xf32>
    %22 = nn.min %21, %high : (tensor<131072x256xf32>, tensor<f32>) -> tensor<131072x256xf32>
    %23 = nn.cast %22 {to = ui8} : (tensor<131072x256xf32>) -> tensor<131072x256xui8>
    nn.yield %23 : tensor<131072x256xui8>
  }
  return
}

// -----

// The numbers of columns take in the scale of the code's range, and come from
// shared memory. The sum of two numbers of bytes is so small that the bits of a
// byte are a float in it.
// CHECK: columnBytes = 1024, columnsKept = 128;
// CHECK: columns.of0[v] = a0[v] * 0.003921569f;
// CHECK-NEXT: columns.of1[v] = frit::fma(a0[v], 0.003921569f, 0.45882353f);
// CHECK: float v0 = frit::addFraction(frit::unsignedTiny(frit::byteAt(elements.of0, v), 2.5f, -585.0f), frit::fma(float(sum[v]), columns.of0[v], columns.of1[v]), 255.0f, 5.0f);
// CHECK: frit::storeTinyIf(isInside, to, out0, 0.0f, 255.0f, 0.0f);
func.func @shifted(%x: tensor<131072x64xui8>, %w: tensor<256x64xi8>, %s: tensor<256xf32>, %r: tensor<131072x256xui8>) {
  %xz = nn.constant dense<0> : tensor<ui8>
  %wz = nn.constant dense<0> : tensor<i8>
  %0 = nn.fusion(%x, %w, %xz, %wz, %s, %r) : (tensor<131072x64xui8>, tensor<256x64xi8>, tensor<ui8>, tensor<i8>, tensor<256xf32>, tensor<131072x256xui8>) -> tensor<131072x256xui8> {
  ^bb0(%a: tensor<131072x64xui8>, %b: tensor<256x64xi8>, %c: tensor<ui8>, %d: tensor<i8>, %e: tensor<256xf32>, %f: tensor<131072x256xui8>):
    %low = nn.constant dense<0.0> : tensor<f32>
    %high = nn.constant dense<255.0> : tensor<f32>
    %zero = nn.constant dense<117.0> : tensor<f32>
    %yz = nn.constant dense<117> : tensor<i32>
    %half = nn.constant dense<0.5> : tensor<f32>
    %quarter = nn.constant dense<0.25> : tensor<f32>
    %tenth = nn.constant dense<0.1> : tensor<f32>
    %1 = nn.quantized_conv %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<131072x64xui8>, tensor<256x64xi8>, tensor<ui8>, tensor<i8>) -> tensor<131072x256xi32>
    %2 = nn.cast %1 {to = f32} : (tensor<131072x256xi32>) -> tensor<131072x256xf32>
    %3 = nn.mul %2, %e : (tensor<131072x256xf32>, tensor<256xf32>) -> tensor<131072x256xf32>
    %sum = nn.add %3, %e : (tensor<131072x256xf32>, tensor<256xf32>) -> tensor<131072x256xf32>
    %4 = nn.round %sum : (tensor<131072x256xf32>) -> tensor<131072x256xf32>
    %5 = nn.add %4, %zero : (tensor<131072x256xf32>, tensor<f32>) -> tensor<131072x256xf32>
    %6 = nn.max %5, %low : (tensor<131072x256xf32>, tensor<f32>) -> tensor<131072x256xf32>
    %7 = nn.min %6, %high : (tensor<131072x256xf32>, tensor<f32>) -> tensor<131072x256xf32>
    %8 = nn.cast %7 {to = ui8} : (tensor<131072x256xf32>) -> tensor<131072x256xui8>
    %9 = nn.cast %8 {to = i32} : (tensor<131072x256xui8>) -> tensor<131072x256xi32>
    %10 = nn.sub %9, %yz : (tensor<131072x256xi32>, tensor<i32>) -> tensor<131072x256xi32>
    %11 = nn.cast %10 {to = f32} : (tensor<131072x256xi32>) -> tensor<131072x256xf32>
    %12 = nn.mul %11, %half : (tensor<131072x256xf32>, tensor<f32>) -> tensor<131072x256xf32>
    %13 = nn.cast %f {to = i32} : (tensor<131072x256xui8>) -> tensor<131072x256xi32>
    %15 = nn.cast %13 {to = f32} : (tensor<131072x256xi32>) -> tensor<131072x256xf32>
    %16 = nn.mul %15, %quarter : (tensor<131072x256xf32>, tensor<f32>) -> tensor<131072x256xf32>
    %17 = nn.add %12, %16 : (tensor<131072x256xf32>, tensor<131072x256xf32>) -> tensor<131072x256xf32>
    %18 = nn.relu %17 : (tensor<131072x256xf32>) -> tensor<131072x256xf32>
    %19 = nn.div %18, %tenth : (tensor<131072x256xf32>, tensor<f32>) -> tensor<131072x256xf32>
    %20 = nn.round %19 : (tensor<131072x256xf32>) -> tensor<131072x256xf32>
    %21 = nn.max %20, %low : (tensor<131072x256xf32>, tensor<f32>) -> tensor<131072x256xf32>
    %22 = nn.min %21, %high : (tensor<131072x256xf32>, tensor<f32>) -> tensor<131072x256xf32>
    %23 = nn.cast %22 {to = ui8} : (tensor<131072x256xf32>) -> tensor<131072x256xui8>
    nn.yield %23 : tensor<131072x256xui8>
  }
  return
}

// -----

// Codes with an odd zero point, or clamped by less than a byte, take fewer
// instructions as fractions of their range; others do not.
// CHECK: out0[v] = frit::fma(float(sum[v]), columns.of0[v], columns.of1[v]);
// CHECK: frit::storeFractionsIf(isInside, {{.*}}, out0, 255.0f);
// CHECK: frit::storeFractionsIf(isInside, {{.*}}, out0, 96.0f);
// CHECK: frit::storeCodesIf(isInside, {{.*}}, out0, -118.0f, 137.0f, 118.0f);
func.func @fractions(%x: tensor<131072x64xui8>, %w: tensor<256x64xi8>, %s: tensor<256xf32>) {
  %xz = nn.constant dense<0> : tensor<ui8>
  %wz = nn.constant dense<0> : tensor<i8>
  %odd = nn.fusion(%x, %w, %xz, %wz, %s) : (tensor<131072x64xui8>, tensor<256x64xi8>, tensor<ui8>, tensor<i8>, tensor<256xf32>) -> tensor<131072x256xui8> {
  ^bb0(%a: tensor<131072x64xui8>, %b: tensor<256x64xi8>, %c: tensor<ui8>, %d: tensor<i8>, %e: tensor<256xf32>):
    %low = nn.constant dense<0.0> : tensor<f32>
    %high = nn.constant dense<255.0> : tensor<f32>
    %zero = nn.constant dense<117.0> : tensor<f32>
    %1 = nn.quantized_conv %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<131072x64xui8>, tensor<256x64xi8>, tensor<ui8>, tensor<i8>) -> tensor<131072x256xi32>
    %2 = nn.cast %1 {to = f32} : (tensor<131072x256xi32>) -> tensor<131072x256xf32>
    %3 = nn.mul %2, %e : (tensor<131072x256xf32>, tensor<256xf32>) -> tensor<131072x256xf32>
    %sum = nn.add %3, %e : (tensor<131072x256xf32>, tensor<256xf32>) -> tensor<131072x256xf32>
    %4 = nn.round %sum : (tensor<131072x256xf32>) -> tensor<131072x256xf32>
    %5 = nn.add %4, %zero : (tensor<131072x256xf32>, tensor<f32>) -> tensor<131072x256xf32>
    %6 = nn.max %5, %low : (tensor<131072x256xf32>, tensor<f32>) -> tensor<131072x256xf32>
    %7 = nn.min %6, %high : (tensor<131072x256xf32>, tensor<f32>) -> tensor<131072x256xf32>
    %8 = nn.cast %7 {to = ui8} : (tensor<131072x256xf32>) -> tensor<131072x256xui8>
    nn.yield %8 : tensor<131072x256xui8>
  }
  %less = nn.fusion(%x, %w, %xz, %wz, %s) : (tensor<131072x64xui8>, tensor<256x64xi8>, tensor<ui8>, tensor<i8>, tensor<256xf32>) -> tensor<131072x256xui8> {
  ^bb0(%a: tensor<131072x64xui8>, %b: tensor<256x64xi8>, %c: tensor<ui8>, %d: tensor<i8>, %e: tensor<256xf32>):
    %low = nn.constant dense<0.0> : tensor<f32>
    %high = nn.constant dense<96.0> : tensor<f32>
    %zero = nn.constant dense<0.0> : tensor<f32>
    %1 = nn.quantized_conv %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<131072x64xui8>, tensor<256x64xi8>, tensor<ui8>, tensor<i8>) -> tensor<131072x256xi32>
    %2 = nn.cast %1 {to = f32} : (tensor<131072x256xi32>) -> tensor<131072x256xf32>
    %3 = nn.mul %2, %e : (tensor<131072x256xf32>, tensor<256xf32>) -> tensor<131072x256xf32>
    %sum = nn.add %3, %e : (tensor<131072x256xf32>, tensor<256xf32>) -> tensor<131072x256xf32>
    %4 = nn.round %sum : (tensor<131072x256xf32>) -> tensor<131072x256xf32>
    %5 = nn.add %4, %zero : (tensor<131072x256xf32>, tensor<f32>) -> tensor<131072x256xf32>
    %6 = nn.max %5, %low : (tensor<131072x256xf32>, tensor<f32>) -> tensor<131072x256xf32>
    %7 = nn.min %6, %high : (tensor<131072x256xf32>, tensor<f32>) -> tensor<131072x256xf32>
    %8 = nn.cast %7 {to = ui8} : (tensor<131072x256xf32>) -> tensor<131072x256xui8>
    nn.yield %8 : tensor<131072x256xui8>
  }
  %even = nn.fusion(%x, %w, %xz, %wz, %s) : (tensor<131072x64xui8>, tensor<256x64xi8>, tensor<ui8>, tensor<i8>, tensor<256xf32>) -> tensor<131072x256xui8> {
  ^bb0(%a: tensor<131072x64xui8>, %b: tensor<256x64xi8>, %c: tensor<ui8>, %d: tensor<i8>, %e: tensor<256xf32>):
    %low = nn.constant dense<0.0> : tensor<f32>
    %high = nn.constant dense<255.0> : tensor<f32>
    %zero = nn.constant dense<118.0> : tensor<f32>
    %1 = nn.quantized_conv %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<131072x64xui8>, tensor<256x64xi8>, tensor<ui8>, tensor<i8>) -> tensor<131072x256xi32>
    %2 = nn.cast %1 {to = f32} : (tensor<131072x256xi32>) -> tensor<131072x256xf32>
    %3 = nn.mul %2, %e : (tensor<131072x256xf32>, tensor<256xf32>) -> tensor<131072x256xf32>
    %sum = nn.add %3, %e : (tensor<131072x256xf32>, tensor<256xf32>) -> tensor<131072x256xf32>
    %4 = nn.round %sum : (tensor<131072x256xf32>) -> tensor<131072x256xf32>
    %5 = nn.add %4, %zero : (tensor<131072x256xf32>, tensor<f32>) -> tensor<131072x256xf32>
    %6 = nn.max %5, %low : (tensor<131072x256xf32>, tensor<f32>) -> tensor<131072x256xf32>
    %7 = nn.min %6, %high : (tensor<131072x256xf32>, tensor<f32>) -> tensor<131072x256xf32>
    %8 = nn.cast %7 {to = ui8} : (tensor<131072x256xf32>) -> tensor<131072x256xui8>
    nn.yield %8 : tensor<131072x256xui8>
  }
  return
}

// -----

// Two products, of which one becomes codes that the other's end reads: the codes
// stay in registers.
// CHECK: // k0 #cuda.wgmma_bytes<{{.*}}blocks = 132>
// CHECK-NEXT: m0 of 0: dims 256x12544,
// CHECK-NEXT: m1 of 1: dims 256x2x4x4x16,
// CHECK-NEXT: m2 of 4: dims 256x12544,
// CHECK-NEXT: m3 of 5: dims 256x2x4x4x16,
// CHECK: #include "frit/byte_pair.cuh"
// CHECK: struct k0_product {
// CHECK: frit::Codes<8> first = {};
// CHECK: float(sum[v]) + frit::unsignedNumber(frit::byteAt(elements.first.words, v), 0.0f);
// CHECK: struct k0_first : k0_product {
// CHECK: __device__ void keep(const int (&sum)[8], const Columns &columns,
// CHECK: out0[v] = float(sum[v]) * 0.5f;
// CHECK: frit::storeCodesIf(true, to, out0, 0.0f, 255.0f, 0.0f);
// CHECK: frit::wgmmaBytePair(k0_product{x0, x1, x2, x3, x4, x5, y0}, k0_first{k0_product{x0, x1, x2, x3, x4, x5, y0}}, &m0, &m1, &m2, &m3);
// CHECK-NEXT: #else
// CHECK-NEXT: frit::bytePairFloor({{.*}}, {x0, x2}, {x1, x3}, {x4, x2}, {x5, x3});
func.func @pair(%x: tensor<12544x256xui8>, %w: tensor<512x256xi8>, %v: tensor<12544x256xui8>, %u: tensor<512x256xi8>) {
  %xz = nn.constant dense<0> : tensor<ui8>
  %wz = nn.constant dense<0> : tensor<i8>
  %0 = nn.fusion(%x, %w, %xz, %wz, %v, %u) : (tensor<12544x256xui8>, tensor<512x256xi8>, tensor<ui8>, tensor<i8>, tensor<12544x256xui8>, tensor<512x256xi8>) -> tensor<12544x512xf32> {
  ^bb0(%a: tensor<12544x256xui8>, %b: tensor<512x256xi8>, %c: tensor<ui8>, %d: tensor<i8>, %e: tensor<12544x256xui8>, %f: tensor<512x256xi8>):
    %half = nn.constant dense<0.5> : tensor<f32>
    %low = nn.constant dense<0.0> : tensor<f32>
    %high = nn.constant dense<255.0> : tensor<f32>
    %s0 = nn.quantized_conv %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<12544x256xui8>, tensor<512x256xi8>, tensor<ui8>, tensor<i8>) -> tensor<12544x512xi32>
    %s1 = nn.cast %s0 {to = f32} : (tensor<12544x512xi32>) -> tensor<12544x512xf32>
    %s2 = nn.mul %s1, %half : (tensor<12544x512xf32>, tensor<f32>) -> tensor<12544x512xf32>
    %s3 = nn.round %s2 : (tensor<12544x512xf32>) -> tensor<12544x512xf32>
    %s4 = nn.max %s3, %low : (tensor<12544x512xf32>, tensor<f32>) -> tensor<12544x512xf32>
    %s5 = nn.min %s4, %high : (tensor<12544x512xf32>, tensor<f32>) -> tensor<12544x512xf32>
    %s6 = nn.cast %s5 {to = ui8} : (tensor<12544x512xf32>) -> tensor<12544x512xui8>
    %t0 = nn.quantized_conv %e, %f, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<12544x256xui8>, tensor<512x256xi8>, tensor<ui8>, tensor<i8>) -> tensor<12544x512xi32>
    %t1 = nn.cast %t0 {to = f32} : (tensor<12544x512xi32>) -> tensor<12544x512xf32>
    %t2 = nn.cast %s6 {to = i32} : (tensor<12544x512xui8>) -> tensor<12544x512xi32>
    %t3 = nn.cast %t2 {to = f32} : (tensor<12544x512xi32>) -> tensor<12544x512xf32>
    %t4 = nn.add %t1, %t3 : (tensor<12544x512xf32>, tensor<12544x512xf32>) -> tensor<12544x512xf32>
    nn.yield %t4 : tensor<12544x512xf32>
  }
  return
}
