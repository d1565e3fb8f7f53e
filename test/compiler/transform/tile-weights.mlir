// Codes that the target keeps are put in the order of its kernels.
// RUN: frit-opt %s --tile-weights -split-input-file | FileCheck %s

// CHECK-LABEL: func @tiles
// CHECK-SAME: %[[X:.*]]: tensor<4x64xf16>, %[[C:.*]]: tensor<32x32xui8>, %[[S:.*]]: tensor<32x2xf16>, %[[O:.*]]: tensor<32x2xf16>
// CHECK: %[[PO:.*]] = nn.reshape %[[O]] {shape = array<i64: 2, 2, 8, 2>}
// CHECK: %[[TO:.*]] = nn.transpose %[[PO]] {perm = array<i64: 0, 3, 2, 1>}
// CHECK: %[[OT:.*]] = nn.reshape %[[TO]] {shape = array<i64: 2, 2, 16>}
// CHECK: %[[W:.*]] = nn.dequantize %{{.*}}, %{{.*}}, %[[OT]] {code = "int4", tiled, to = f16} : (tensor<2x1x512xui8>, tensor<2x2x16xf16>, tensor<2x2x16xf16>) -> tensor<32x64xf16>
// CHECK: nn.matmul %[[X]], %[[W]] {transpose_b}
func.func @tiles(%x: tensor<4x64xf16>, %c: tensor<32x32xui8>, %s: tensor<32x2xf16>, %o: tensor<32x2xf16>) -> tensor<4x32xf16> {
  %w = nn.dequantize %c, %s, %o {code = "int4", to = f16} : (tensor<32x32xui8>, tensor<32x2xf16>, tensor<32x2xf16>) -> tensor<32x64xf16>
  %y = nn.matmul %x, %w {transpose_b} : (tensor<4x64xf16>, tensor<32x64xf16>) -> tensor<4x32xf16>
  return %y : tensor<4x32xf16>
}

// -----

// No whole tiles.
// CHECK-LABEL: func @rows
// CHECK-NEXT: nn.dequantize {{.*}} {code = "int4", to = f16}
func.func @rows(%x: tensor<4x64xf16>, %c: tensor<24x32xui8>, %s: tensor<24x2xf16>) -> tensor<4x24xf16> {
  %w = nn.dequantize %c, %s {code = "int4", to = f16} : (tensor<24x32xui8>, tensor<24x2xf16>) -> tensor<24x64xf16>
  %y = nn.matmul %x, %w {transpose_b} : (tensor<4x64xf16>, tensor<24x64xf16>) -> tensor<4x24xf16>
  return %y : tensor<4x24xf16>
}
