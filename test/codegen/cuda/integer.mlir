// RUN: frit-opt %s -split-input-file --print-cuda -o /dev/null | FileCheck %s

// What follows the sums of bytes is a part of their kernel. A thread stores 8
// neighbours of a row together, and reads what depends on the column alone once
// for all of its rows. Filters may be read before the PDL wait.

// CHECK: // k0 #cuda.integer_gemm<tile_m = {{[0-9]+}}, tile_n = {{[0-9]+}}, {{.*}}wgmma = true>
// CHECK-LABEL: struct k0_product {
// CHECK: static constexpr int n = 32, h = 28, w = 28, c = 128;
// CHECK-NEXT: static constexpr int k = 128, r = 3, s = 3, p = 28, q = 28;
// CHECK-NEXT: static constexpr int strideH = 1, strideW = 1, dilationH = 1, dilationW = 1;
// CHECK-NEXT: static constexpr int padTop = 1, padLeft = 1;
// CHECK-NEXT: static constexpr bool signedX = false, signedW = true, early = false;
// CHECK-NEXT: static constexpr bool wgmma = true;
// CHECK: static constexpr int kVector = 8;
// CHECK: struct Columns {
// CHECK-NEXT: float of0[8];
// CHECK-NEXT: };
// CHECK: frit::loadOwn(columns.of0, x4 + col);
// CHECK: struct Elements {
// CHECK-NEXT: };
// CHECK: void store(const int (&sum)[8], const Columns &columns,
// CHECK-NEXT: const Elements &elements, unsigned row,
// CHECK-NEXT: unsigned col, bool isInside) const {
// CHECK-NEXT: const unsigned at = row * 128 + col;
// Rounding, clamps and the cast are one function.
// CHECK: out0[v] = float(sum[v]) * columns.of0[v];
// CHECK: frit::storeCodesIf(isInside, y0 + at, out0, 0.0f, 255.0f, 0.0f);
// CHECK: frit::integerGemm(k0_product{x0, x1, x2, x3, x4, y0}, x0, x1, x2, x3);
func.func @conv(%x: tensor<32x28x28x128xui8>, %w: tensor<128x3x3x128xi8>, %xz: tensor<ui8>, %wz: tensor<i8>, %s: tensor<128xf32>) {
  %0 = nn.fusion(%x, %w, %xz, %wz, %s) : (tensor<32x28x28x128xui8>, tensor<128x3x3x128xi8>, tensor<ui8>, tensor<i8>, tensor<128xf32>) -> tensor<32x28x28x128xui8> {
  ^bb0(%a: tensor<32x28x28x128xui8>, %b: tensor<128x3x3x128xi8>, %c: tensor<ui8>, %d: tensor<i8>, %e: tensor<128xf32>):
    %1 = nn.quantized_conv %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<32x28x28x128xui8>, tensor<128x3x3x128xi8>, tensor<ui8>, tensor<i8>) -> tensor<32x28x28x128xi32>
    %2 = nn.cast %1 {to = f32} : (tensor<32x28x28x128xi32>) -> tensor<32x28x28x128xf32>
    %3 = nn.mul %2, %e : (tensor<32x28x28x128xf32>, tensor<128xf32>) -> tensor<32x28x28x128xf32>
    %4 = nn.round %3 : (tensor<32x28x28x128xf32>) -> tensor<32x28x28x128xf32>
    %5 = nn.constant dense<0.0> : tensor<f32>
    %6 = nn.constant dense<255.0> : tensor<f32>
    %7 = nn.max %4, %5 : (tensor<32x28x28x128xf32>, tensor<f32>) -> tensor<32x28x28x128xf32>
    %8 = nn.min %7, %6 : (tensor<32x28x28x128xf32>, tensor<f32>) -> tensor<32x28x28x128xf32>
    %9 = nn.cast %8 {to = ui8} : (tensor<32x28x28x128xf32>) -> tensor<32x28x28x128xui8>
    nn.yield %9 : tensor<32x28x28x128xui8>
  }
  return
}

// -----

// A short product has a stage for each step, so that all filters are on their
// way before the kernels before this one end. It reads no zero points that are
// known to be 0.
// CHECK: // k0 #cuda.integer_gemm<tile_m = 16, {{.*}}stages = {{9|17}}
// CHECK: early = true;
// CHECK: centered = true;
func.func @short(%x: tensor<1x2048xui8>, %w: tensor<1000x2048xi8>) {
  %xz = nn.constant dense<0> : tensor<ui8>
  %wz = nn.constant dense<0> : tensor<i8>
  %0 = nn.fusion(%x, %w, %xz, %wz) {plan.constant_inputs = array<i64: 1, 2, 3>} : (tensor<1x2048xui8>, tensor<1000x2048xi8>, tensor<ui8>, tensor<i8>) -> tensor<1x1000xi32> {
  ^bb0(%a: tensor<1x2048xui8>, %b: tensor<1000x2048xi8>, %c: tensor<ui8>, %d: tensor<i8>):
    %1 = nn.quantized_conv %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<1x2048xui8>, tensor<1000x2048xi8>, tensor<ui8>, tensor<i8>) -> tensor<1x1000xi32>
    nn.yield %1 : tensor<1x1000xi32>
  }
  return
}

// -----

// Few rows: the warps of a block divide the depth. A row that is no multiple of
// 8 is stored in smaller parts.
// CHECK: // k0 #cuda.integer_gemm<tile_m = 16, {{.*}}split = {{[24]}}
// CHECK: static constexpr int kVector = 4;
// CHECK: static constexpr int kVector = 1;
func.func @rows(%x: tensor<4x512xi8>, %w: tensor<1020x512xi8>, %z: tensor<i8>, %v: tensor<33x512xi8>) {
  %0 = nn.fusion(%x, %w, %z) : (tensor<4x512xi8>, tensor<1020x512xi8>, tensor<i8>) -> tensor<4x1020xi32> {
  ^bb0(%a: tensor<4x512xi8>, %b: tensor<1020x512xi8>, %c: tensor<i8>):
    %1 = nn.quantized_conv %a, %b, %c, %c {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<4x512xi8>, tensor<1020x512xi8>, tensor<i8>, tensor<i8>) -> tensor<4x1020xi32>
    nn.yield %1 : tensor<4x1020xi32>
  }
  %2 = nn.fusion(%x, %v, %z) : (tensor<4x512xi8>, tensor<33x512xi8>, tensor<i8>) -> tensor<4x33xi32> {
  ^bb0(%a: tensor<4x512xi8>, %b: tensor<33x512xi8>, %c: tensor<i8>):
    %1 = nn.quantized_conv %a, %b, %c, %c {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<4x512xi8>, tensor<33x512xi8>, tensor<i8>, tensor<i8>) -> tensor<4x33xi32>
    nn.yield %1 : tensor<4x33xi32>
  }
  return
}

// -----

// The schedule may be written by hand. A residual is read ahead of the sums, as
// words of four bytes, which become numbers by one instruction each.
// CHECK: // k0 #cuda.integer_gemm<tile_m = 64, tile_n = 32, warp_m = 32, warp_n = 16, depth = 64, stages = 3> grid 4x1x1 block 128
// CHECK: Elements elements(unsigned row, unsigned col) const {
// CHECK: frit::loadWords(elements.of0, x3 + {{\(?row \* 64 \+ col}}
// CHECK: void store(const int (&sum)[4], const Columns &columns
func.func @given(%x: tensor<70x64xi8>, %w: tensor<64x64xi8>, %z: tensor<i8>, %r: tensor<70x64xi8>) {
  %0 = nn.fusion(%x, %w, %z, %r) schedule(#cuda.integer_gemm<tile_m = 64, tile_n = 32, warp_m = 32, warp_n = 16, depth = 64, stages = 3>) : (tensor<70x64xi8>, tensor<64x64xi8>, tensor<i8>, tensor<70x64xi8>) -> tensor<70x64xf32> {
  ^bb0(%a: tensor<70x64xi8>, %b: tensor<64x64xi8>, %c: tensor<i8>, %d: tensor<70x64xi8>):
    %1 = nn.quantized_conv %a, %b, %c, %c {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<70x64xi8>, tensor<64x64xi8>, tensor<i8>, tensor<i8>) -> tensor<70x64xi32>
    %2 = nn.cast %1 {to = f32} : (tensor<70x64xi32>) -> tensor<70x64xf32>
    %3 = nn.cast %d {to = f32} : (tensor<70x64xi8>) -> tensor<70x64xf32>
    %4 = nn.add %2, %3 : (tensor<70x64xf32>, tensor<70x64xf32>) -> tensor<70x64xf32>
    nn.yield %4 : tensor<70x64xf32>
  }
  return
}
