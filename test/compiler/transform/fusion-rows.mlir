// Kernels of products of few rows normalize them, and compute two products of
// the same rows.
// RUN: frit-opt %s --decompose --fusion -split-input-file | FileCheck %s

// The operators of a gate are one kernel, whichever product comes first.
// CHECK-LABEL: func @gate
// CHECK-NEXT:  nn.fusion(%arg0, %arg1, %arg2, %arg3)
// CHECK-NEXT:  ^bb0(
// CHECK-NEXT:    %[[N:.*]] = nn.rms_norm
// CHECK-NEXT:    %[[G:.*]] = nn.matmul %[[N]],
// CHECK-NEXT:    %[[A:.*]] = nn.silu %[[G]]
// CHECK-NEXT:    %[[M:.*]] = nn.rms_norm
// CHECK-NEXT:    %[[U:.*]] = nn.matmul %[[M]],
// CHECK-NEXT:    %[[Y:.*]] = nn.mul %[[A]], %[[U]]
// CHECK-NEXT:    nn.yield %[[Y]]
// CHECK-NOT:   nn.fusion
func.func @gate(%x: tensor<4x64xbf16>, %s: tensor<64xbf16>, %g: tensor<32x64xbf16>, %u: tensor<32x64xbf16>) -> tensor<4x32xbf16> {
  %n = nn.rms_norm %x, %s : (tensor<4x64xbf16>, tensor<64xbf16>) -> tensor<4x64xbf16>
  %0 = nn.matmul %n, %g {transpose_b} : (tensor<4x64xbf16>, tensor<32x64xbf16>) -> tensor<4x32xbf16>
  %1 = nn.silu %0 : (tensor<4x32xbf16>) -> tensor<4x32xbf16>
  %2 = nn.matmul %n, %u {transpose_b} : (tensor<4x64xbf16>, tensor<32x64xbf16>) -> tensor<4x32xbf16>
  %3 = nn.mul %1, %2 : (tensor<4x32xbf16>, tensor<4x32xbf16>) -> tensor<4x32xbf16>
  return %3 : tensor<4x32xbf16>
}

// -----

// A single row looks like a bias.
// CHECK-LABEL: func @row
// CHECK-COUNT-1: nn.fusion
// CHECK-COUNT-2: nn.matmul
// CHECK-NOT:     nn.fusion
func.func @row(%x: tensor<1x64xbf16>, %g: tensor<32x64xbf16>, %u: tensor<32x64xbf16>) -> tensor<1x32xbf16> {
  %0 = nn.matmul %x, %u {transpose_b} : (tensor<1x64xbf16>, tensor<32x64xbf16>) -> tensor<1x32xbf16>
  %1 = nn.matmul %x, %g {transpose_b} : (tensor<1x64xbf16>, tensor<32x64xbf16>) -> tensor<1x32xbf16>
  %2 = nn.silu %1 : (tensor<1x32xbf16>) -> tensor<1x32xbf16>
  %3 = nn.mul %2, %0 : (tensor<1x32xbf16>, tensor<1x32xbf16>) -> tensor<1x32xbf16>
  return %3 : tensor<1x32xbf16>
}

// -----

// Products of different rows, or of which another operator reads one, stay two.
// CHECK-LABEL: func @apart
// CHECK-COUNT-4: nn.fusion
func.func @apart(%x: tensor<4x64xbf16>, %y: tensor<4x64xbf16>, %g: tensor<32x64xbf16>, %u: tensor<32x64xbf16>) -> (tensor<4x32xbf16>, tensor<4x32xbf16>, tensor<4x32xbf16>) {
  %0 = nn.matmul %x, %u {transpose_b} : (tensor<4x64xbf16>, tensor<32x64xbf16>) -> tensor<4x32xbf16>
  %1 = nn.matmul %y, %g {transpose_b} : (tensor<4x64xbf16>, tensor<32x64xbf16>) -> tensor<4x32xbf16>
  %2 = nn.mul %0, %1 : (tensor<4x32xbf16>, tensor<4x32xbf16>) -> tensor<4x32xbf16>
  %3 = nn.matmul %x, %g {transpose_b} : (tensor<4x64xbf16>, tensor<32x64xbf16>) -> tensor<4x32xbf16>
  %4 = nn.matmul %x, %u {transpose_b} : (tensor<4x64xbf16>, tensor<32x64xbf16>) -> tensor<4x32xbf16>
  %5 = nn.mul %3, %4 : (tensor<4x32xbf16>, tensor<4x32xbf16>) -> tensor<4x32xbf16>
  return %2, %4, %5 : tensor<4x32xbf16>, tensor<4x32xbf16>, tensor<4x32xbf16>
}

// -----

// A norm of which an operator other than a product reads the rows is decomposed.
// CHECK-LABEL: func @stored
// CHECK-NOT:     nn.rms_norm
// CHECK:         return
func.func @stored(%x: tensor<4x64xbf16>, %s: tensor<64xbf16>, %g: tensor<32x64xbf16>) -> (tensor<4x32xbf16>, tensor<4x64xbf16>) {
  %n = nn.rms_norm %x, %s : (tensor<4x64xbf16>, tensor<64xbf16>) -> tensor<4x64xbf16>
  %0 = nn.matmul %n, %g {transpose_b} : (tensor<4x64xbf16>, tensor<32x64xbf16>) -> tensor<4x32xbf16>
  %1 = nn.exp %n : (tensor<4x64xbf16>) -> tensor<4x64xbf16>
  return %0, %1 : tensor<4x32xbf16>, tensor<4x64xbf16>
}
