// RUN: frit-opt %s -split-input-file --print-cuda -o /dev/null | FileCheck %s
// RUN: frit-opt %s -split-input-file --print-cuda=arch=sm_89 -o /dev/null | FileCheck %s --check-prefix=ADA

// Products of 8-bit floats are those of bytes without zero points, with sums in
// f32. Their scales, a GELU and the quantization of the result are a part of
// the kernel; the device rounds to e4m3, two numbers at a time.

// CHECK: // k0 #cuda.wgmma_bytes<[[TILE:tile_m = .*]]>
// CHECK-LABEL: struct k0_product {
// CHECK: static constexpr int n = 4096, h = 1, w = 1, c = 1024;
// CHECK: static constexpr frit::Float8 floatX = frit::Float8::e4m3, floatW = frit::Float8::e5m2;
// CHECK-NEXT: static constexpr bool early = false;
// CHECK: struct Columns {
// CHECK-NEXT: float of0[8];
// CHECK: void store(const float (&sum)[8], const Columns &columns,
// CHECK: float out0[8];
// CHECK: out0[v] = frit::geluTo8Bits(sum[v] * columns.of0[v]);
// CHECK: frit::storeE4m3If(isInside, y0 + at, out0);
// CHECK: frit::wgmmaBytes(k0_product{x0, x1, x2, y0}, &m0, &m1);

// ADA: // k0 #cuda.integer_gemm<
// ADA-NOT: wgmma = true>
// ADA: frit::integerGemm(
func.func @product(%x: tensor<4096x1024xf8E4M3FN>, %w: tensor<4096x1024xf8E5M2>, %s: tensor<4096xf32>) {
  %0 = nn.fusion(%x, %w, %s) : (tensor<4096x1024xf8E4M3FN>, tensor<4096x1024xf8E5M2>, tensor<4096xf32>) -> tensor<4096x4096xf8E4M3FN> {
  ^bb0(%a: tensor<4096x1024xf8E4M3FN>, %b: tensor<4096x1024xf8E5M2>, %c: tensor<4096xf32>):
    %1 = nn.quantized_conv %a, %b {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<4096x1024xf8E4M3FN>, tensor<4096x1024xf8E5M2>) -> tensor<4096x4096xf32>
    %2 = nn.mul %1, %c : (tensor<4096x4096xf32>, tensor<4096xf32>) -> tensor<4096x4096xf32>
    %3 = nn.gelu %2 : (tensor<4096x4096xf32>) -> tensor<4096x4096xf32>
    %4 = nn.cast %3 {to = f8E4M3FN} : (tensor<4096x4096xf32>) -> tensor<4096x4096xf8E4M3FN>
    nn.yield %4 : tensor<4096x4096xf8E4M3FN>
  }
  return
}

// -----

// Tiles are those of bytes, which are multiplied as fast.
// CHECK: // k0 #cuda.wgmma_bytes<tile_m = 128, tile_n = {{128|256}},
// CHECK-LABEL: struct k0_product {
// CHECK: static constexpr bool signedX = true, signedW = true, early = false;
func.func @bytes(%x: tensor<4096x1024xi8>, %w: tensor<4096x1024xi8>) {
  %z = nn.constant dense<0> : tensor<i8>
  %0 = nn.fusion(%x, %w, %z) : (tensor<4096x1024xi8>, tensor<4096x1024xi8>, tensor<i8>) -> tensor<4096x4096xi32> {
  ^bb0(%a: tensor<4096x1024xi8>, %b: tensor<4096x1024xi8>, %c: tensor<i8>):
    %1 = nn.quantized_conv %a, %b, %c, %c {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<4096x1024xi8>, tensor<4096x1024xi8>, tensor<i8>, tensor<i8>) -> tensor<4096x4096xi32>
    nn.yield %1 : tensor<4096x4096xi32>
  }
  return
}

// -----

// Scales of rows are loaded ahead, one for all neighbours.
// CHECK-LABEL: struct k0_product {
// CHECK: n = 40,
// CHECK: float ofRow0;
// CHECK: elements.ofRow0 = x2[row];
// CHECK: sum[v] * elements.ofRow0
func.func @rows(%x: tensor<40x64xf8E4M3FN>, %w: tensor<64x64xf8E4M3FN>, %s: tensor<40x1xf32>) {
  %0 = nn.fusion(%x, %w, %s) : (tensor<40x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>, tensor<40x1xf32>) -> tensor<40x64xf32> {
  ^bb0(%a: tensor<40x64xf8E4M3FN>, %b: tensor<64x64xf8E4M3FN>, %c: tensor<40x1xf32>):
    %1 = nn.quantized_conv %a, %b {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<40x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>) -> tensor<40x64xf32>
    %2 = nn.mul %1, %c : (tensor<40x64xf32>, tensor<40x1xf32>) -> tensor<40x64xf32>
    nn.yield %2 : tensor<40x64xf32>
  }
  return
}
