// RUN: frit-opt %s -split-input-file --print-cuda -o /dev/null | FileCheck %s

// Convolutions of few channels of bytes read rows of x into shared memory: with
// 64 channels through a map that pads, 16 as they are. Without WGMMA, blocks of
// the same grid take tiles of mma.sync in turn.

// CHECK: // k0 #cuda.byte_rows<stages = 4, occupancy = 2, blocks = 264> grid 264x1x1 block 288
// CHECK-NEXT: m0 of 1: dims 576x2x4x4x2, strides 576x4608x1152x18432, box 128x2x4x4x2
// CHECK-NEXT: m1 of 0: dims 64x56x56x32, strides 64x3584x200704, box 64x58x1x1
// CHECK: #include "frit/byte_rows.cuh"
// CHECK: static constexpr int stages = 4, blocks = 2;
// CHECK: frit::byteRows(k0_product{x0, x1, x2, x3, y0}, x0, &m0, &m1);
// CHECK-NEXT: #else
// CHECK-NEXT: frit::byteFloor(k0_product{x0, x1, x2, x3, y0}, x0, x1, x2, x3);
func.func @windows(%x: tensor<32x56x56x64xui8>, %w: tensor<64x3x3x64xi8>) {
  %xz = nn.constant dense<0> : tensor<ui8>
  %wz = nn.constant dense<0> : tensor<i8>
  %0 = nn.fusion(%x, %w, %xz, %wz) : (tensor<32x56x56x64xui8>, tensor<64x3x3x64xi8>, tensor<ui8>, tensor<i8>) -> tensor<32x56x56x64xi32> {
  ^bb0(%a: tensor<32x56x56x64xui8>, %b: tensor<64x3x3x64xi8>, %c: tensor<ui8>, %d: tensor<i8>):
    %1 = nn.quantized_conv %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<32x56x56x64xui8>, tensor<64x3x3x64xi8>, tensor<ui8>, tensor<i8>) -> tensor<32x56x56x64xi32>
    nn.yield %1 : tensor<32x56x56x64xi32>
  }
  return
}

// -----

// CHECK: // k0 #cuda.byte_rows<
// CHECK-NEXT: m0 of 1: dims 256x2x4x4x2,
// CHECK-NOT: m1 of
// CHECK: frit::byteRows(k0_product{x0, x1, x2, x3, y0}, x0, &m0);
func.func @stem(%x: tensor<32x115x115x16xui8>, %w: tensor<64x4x4x16xi8>) {
  %xz = nn.constant dense<0> : tensor<ui8>
  %wz = nn.constant dense<0> : tensor<i8>
  %0 = nn.fusion(%x, %w, %xz, %wz) : (tensor<32x115x115x16xui8>, tensor<64x4x4x16xi8>, tensor<ui8>, tensor<i8>) -> tensor<32x112x112x64xi32> {
  ^bb0(%a: tensor<32x115x115x16xui8>, %b: tensor<64x4x4x16xi8>, %c: tensor<ui8>, %d: tensor<i8>):
    %1 = nn.quantized_conv %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<32x115x115x16xui8>, tensor<64x4x4x16xi8>, tensor<ui8>, tensor<i8>) -> tensor<32x112x112x64xi32>
    nn.yield %1 : tensor<32x112x112x64xi32>
  }
  return
}

// -----

// One image has too few tiles.
// CHECK: // k0 #cuda.wgmma_bytes<
func.func @few(%x: tensor<1x56x56x64xui8>, %w: tensor<64x3x3x64xi8>) {
  %xz = nn.constant dense<0> : tensor<ui8>
  %wz = nn.constant dense<0> : tensor<i8>
  %0 = nn.fusion(%x, %w, %xz, %wz) : (tensor<1x56x56x64xui8>, tensor<64x3x3x64xi8>, tensor<ui8>, tensor<i8>) -> tensor<1x56x56x64xi32> {
  ^bb0(%a: tensor<1x56x56x64xui8>, %b: tensor<64x3x3x64xi8>, %c: tensor<ui8>, %d: tensor<i8>):
    %1 = nn.quantized_conv %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x56x56x64xui8>, tensor<64x3x3x64xi8>, tensor<ui8>, tensor<i8>) -> tensor<1x56x56x64xi32>
    nn.yield %1 : tensor<1x56x56x64xi32>
  }
  return
}

// -----

// Half of each tile would be empty.
// CHECK: // k0 #cuda.wgmma_bytes<
func.func @narrow(%x: tensor<64x56x24x64xui8>, %w: tensor<64x3x3x64xi8>) {
  %xz = nn.constant dense<0> : tensor<ui8>
  %wz = nn.constant dense<0> : tensor<i8>
  %0 = nn.fusion(%x, %w, %xz, %wz) : (tensor<64x56x24x64xui8>, tensor<64x3x3x64xi8>, tensor<ui8>, tensor<i8>) -> tensor<64x56x24x64xi32> {
  ^bb0(%a: tensor<64x56x24x64xui8>, %b: tensor<64x3x3x64xi8>, %c: tensor<ui8>, %d: tensor<i8>):
    %1 = nn.quantized_conv %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<64x56x24x64xui8>, tensor<64x3x3x64xi8>, tensor<ui8>, tensor<i8>) -> tensor<64x56x24x64xi32>
    nn.yield %1 : tensor<64x56x24x64xi32>
  }
  return
}

// -----

// The bytes that a convolution becomes are multiplied by the next one in the
// same kernel: four neighbours of a thread are a register of its operand. What
// is added and stored passes through boxes, which rows of y end.
// CHECK: // k0 #cuda.byte_rows<stages = 1, occupancy = 2, blocks = 264>
// CHECK-NEXT: m0 of 0: dims 64x56x56x32,
// CHECK-NEXT: m1 of 1: dims 576x2x4x2x4, strides 576x2304x1152x9216, box 128x2x4x2x4
// CHECK-NEXT: m2 of 4: dims 64x2x4x4x8, strides 64x512x128x2048, box 64x2x4x4x4
// CHECK-NEXT: m3 of 5: dims 256x56x1792, strides 256x14336, box 128x16x1
// CHECK-NEXT: m4 of 6: dims 256x56x1792, strides 256x14336, box 128x16x1
// CHECK: #include "frit/byte_chain.cuh"
// CHECK: struct k0_product {
// CHECK: static constexpr int split = 1, tileN = 128;
// CHECK: storeTo(
// CHECK: struct k0_first : k0_product {
// CHECK: static constexpr int kVector = 4;
// CHECK: __device__ void keep(const int (&sum)[4], const Columns &columns,
// CHECK: frit::byteChain(k0_product{x0, x1, x2, x3, x4, x5, y0}, k0_first{k0_product{x0, x1, x2, x3, x4, x5, y0}}, &m0, &m1, &m2, &m3, &m4);
// CHECK-NEXT: #else
// CHECK-NEXT: frit::byteChainFloor({{.*}}, x0, x1, x2, x3, x4);
func.func @chain(%x: tensor<32x56x56x64xui8>, %w: tensor<64x3x3x64xi8>, %v: tensor<256x1x1x64xi8>, %r: tensor<32x56x56x256xui8>) {
  %xz = nn.constant dense<0> : tensor<ui8>
  %wz = nn.constant dense<0> : tensor<i8>
  %0 = nn.fusion(%x, %w, %xz, %wz, %v, %r) : (tensor<32x56x56x64xui8>, tensor<64x3x3x64xi8>, tensor<ui8>, tensor<i8>, tensor<256x1x1x64xi8>, tensor<32x56x56x256xui8>) -> tensor<32x56x56x256xui8> {
  ^bb0(%a: tensor<32x56x56x64xui8>, %b: tensor<64x3x3x64xi8>, %c: tensor<ui8>, %d: tensor<i8>, %e: tensor<256x1x1x64xi8>, %f: tensor<32x56x56x256xui8>):
    %half = nn.constant dense<0.5> : tensor<f32>
    %low = nn.constant dense<0.0> : tensor<f32>
    %high = nn.constant dense<255.0> : tensor<f32>
    %s0 = nn.quantized_conv %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<32x56x56x64xui8>, tensor<64x3x3x64xi8>, tensor<ui8>, tensor<i8>) -> tensor<32x56x56x64xi32>
    %s1 = nn.cast %s0 {to = f32} : (tensor<32x56x56x64xi32>) -> tensor<32x56x56x64xf32>
    %s2 = nn.mul %s1, %half : (tensor<32x56x56x64xf32>, tensor<f32>) -> tensor<32x56x56x64xf32>
    %s3 = nn.round %s2 : (tensor<32x56x56x64xf32>) -> tensor<32x56x56x64xf32>
    %s4 = nn.max %s3, %low : (tensor<32x56x56x64xf32>, tensor<f32>) -> tensor<32x56x56x64xf32>
    %s5 = nn.min %s4, %high : (tensor<32x56x56x64xf32>, tensor<f32>) -> tensor<32x56x56x64xf32>
    %s6 = nn.cast %s5 {to = ui8} : (tensor<32x56x56x64xf32>) -> tensor<32x56x56x64xui8>
    %t0 = nn.quantized_conv %s6, %e, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<32x56x56x64xui8>, tensor<256x1x1x64xi8>, tensor<ui8>, tensor<i8>) -> tensor<32x56x56x256xi32>
    %t1 = nn.cast %t0 {to = f32} : (tensor<32x56x56x256xi32>) -> tensor<32x56x56x256xf32>
    %t2 = nn.cast %f {to = i32} : (tensor<32x56x56x256xui8>) -> tensor<32x56x56x256xi32>
    %t3 = nn.cast %t2 {to = f32} : (tensor<32x56x56x256xi32>) -> tensor<32x56x56x256xf32>
    %t4 = nn.add %t1, %t3 : (tensor<32x56x56x256xf32>, tensor<32x56x56x256xf32>) -> tensor<32x56x56x256xf32>
    %t5 = nn.mul %t4, %half : (tensor<32x56x56x256xf32>, tensor<f32>) -> tensor<32x56x56x256xf32>
    %t6 = nn.round %t5 : (tensor<32x56x56x256xf32>) -> tensor<32x56x56x256xf32>
    %t7 = nn.max %t6, %low : (tensor<32x56x56x256xf32>, tensor<f32>) -> tensor<32x56x56x256xf32>
    %t8 = nn.min %t7, %high : (tensor<32x56x56x256xf32>, tensor<f32>) -> tensor<32x56x56x256xf32>
    %t9 = nn.cast %t8 {to = ui8} : (tensor<32x56x56x256xf32>) -> tensor<32x56x56x256xui8>
    nn.yield %t9 : tensor<32x56x56x256xui8>
  }
  return
}
