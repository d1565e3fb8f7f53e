// Codes of a matrix are read by the product's kernel, if that takes them.
// RUN: frit-opt %s --fusion -split-input-file | FileCheck %s

// Operators after it join as they join other products.
// CHECK-LABEL: func @few
// CHECK: nn.fusion(%arg1, %arg2, %arg0, %arg3)
// CHECK-NEXT: ^bb0(
// CHECK-NEXT: nn.dequantize
// CHECK-NEXT: nn.matmul
// CHECK-NEXT: nn.add
// CHECK-NEXT: nn.yield
// CHECK-NOT: nn.fusion
func.func @few(%x: tensor<4x64xf16>, %c: tensor<2x1x512xui8>, %s: tensor<2x1x16xf16>, %r: tensor<4x32xf16>) -> tensor<4x32xf16> {
  %w = nn.dequantize %c, %s {code = "int4", tiled, to = f16} : (tensor<2x1x512xui8>, tensor<2x1x16xf16>) -> tensor<32x64xf16>
  %y = nn.matmul %x, %w {transpose_b} : (tensor<4x64xf16>, tensor<32x64xf16>) -> tensor<4x32xf16>
  %z = nn.add %y, %r : (tensor<4x32xf16>, tensor<4x32xf16>) -> tensor<4x32xf16>
  return %z : tensor<4x32xf16>
}

// -----

// Each product has codes of its own; one of many rows reads numbers.
// CHECK-LABEL: func @several
// CHECK: nn.fusion
// CHECK: nn.dequantize
// CHECK-NEXT: nn.yield
// CHECK-COUNT-2: nn.dequantize {{.*}}{{$}}
// CHECK: nn.fusion(%arg2,
// CHECK-NOT: nn.dequantize
// CHECK: return
func.func @several(%x: tensor<4x64xf16>, %y: tensor<8x64xf16>, %z: tensor<24x64xf16>, %c: tensor<2x1x512xui8>, %s: tensor<2x1x16xf16>) -> (tensor<4x32xf16>, tensor<8x32xf16>, tensor<24x32xf16>) {
  %w = nn.dequantize %c, %s {code = "int4", tiled, to = f16} : (tensor<2x1x512xui8>, tensor<2x1x16xf16>) -> tensor<32x64xf16>
  %0 = nn.matmul %x, %w {transpose_b} : (tensor<4x64xf16>, tensor<32x64xf16>) -> tensor<4x32xf16>
  %1 = nn.matmul %y, %w {transpose_b} : (tensor<8x64xf16>, tensor<32x64xf16>) -> tensor<8x32xf16>
  %2 = nn.matmul %z, %w {transpose_b} : (tensor<24x64xf16>, tensor<32x64xf16>) -> tensor<24x32xf16>
  return %0, %1, %2 : tensor<4x32xf16>, tensor<8x32xf16>, tensor<24x32xf16>
}
