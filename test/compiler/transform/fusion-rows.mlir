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

// -----

// A scale that is rounded to a power of two, and the codes of its row.
// CHECK-LABEL: func.func @codes
// CHECK:         nn.fusion(%arg0)
// CHECK:           nn.reduce
// CHECK:           nn.cast {{.*}}to = f8E8M0FNU}
// CHECK:           nn.cast {{.*}}to = f8E5M2}
// CHECK-NOT:     nn.fusion
func.func @codes(%x: tensor<64x128xbf16>) -> (tensor<64x128xf8E5M2>, tensor<64x1xf32>) {
  %0 = nn.cast %x {to = f32} : (tensor<64x128xbf16>) -> tensor<64x128xf32>
  %1 = nn.abs %0 : (tensor<64x128xf32>) -> tensor<64x128xf32>
  %2 = nn.reduce %1 {kind = #nn<combiner max>, axes = array<i64: 1>} : (tensor<64x128xf32>) -> tensor<64x1xf32>
  %3 = nn.cast %2 {to = f8E8M0FNU} : (tensor<64x1xf32>) -> tensor<64x1xf8E8M0FNU>
  %4 = nn.cast %3 {to = f32} : (tensor<64x1xf8E8M0FNU>) -> tensor<64x1xf32>
  %5 = nn.reciprocal %4 : (tensor<64x1xf32>) -> tensor<64x1xf32>
  %6 = nn.mul %0, %5 : (tensor<64x128xf32>, tensor<64x1xf32>) -> tensor<64x128xf32>
  %7 = nn.cast %6 {to = f8E5M2} : (tensor<64x128xf32>) -> tensor<64x128xf8E5M2>
  return %7, %4 : tensor<64x128xf8E5M2>, tensor<64x1xf32>
}

// -----

// Bits of what is in memory are read by the kernel that computes with them, and
// not by the one that stores them.
// CHECK-LABEL: func.func @bits
// CHECK:         nn.fusion(%arg0)
// CHECK:           nn.neg
// CHECK:           nn.cast {{.*}}to = f8E5M2}
// CHECK-NEXT:      nn.yield
// CHECK:         nn.fusion(
// CHECK-NEXT:    ^bb0
// CHECK-NEXT:      nn.bit_cast
// CHECK:           nn.transpose
// CHECK-NOT:     nn.fusion
func.func @bits(%y: tensor<64x128xf32>) -> (tensor<128x64xf8E5M2>, tensor<64x128xf8E5M2>) {
  %n = nn.neg %y : (tensor<64x128xf32>) -> tensor<64x128xf32>
  %x = nn.cast %n {to = f8E5M2} : (tensor<64x128xf32>) -> tensor<64x128xf8E5M2>
  %0 = nn.bit_cast %x {to = ui8} : (tensor<64x128xf8E5M2>) -> tensor<64x128xui8>
  %1 = nn.cast %0 {to = i32} : (tensor<64x128xui8>) -> tensor<64x128xi32>
  %2 = nn.constant dense<127> : tensor<i32>
  %3 = nn.bitwise_and %1, %2 : (tensor<64x128xi32>, tensor<i32>) -> tensor<64x128xi32>
  %4 = nn.cast %3 {to = ui8} : (tensor<64x128xi32>) -> tensor<64x128xui8>
  %5 = nn.bit_cast %4 {to = f8E5M2} : (tensor<64x128xui8>) -> tensor<64x128xf8E5M2>
  %6 = nn.transpose %5 {perm = array<i64: 1, 0>} : (tensor<64x128xf8E5M2>) -> tensor<128x64xf8E5M2>
  return %6, %x : tensor<128x64xf8E5M2>, tensor<64x128xf8E5M2>
}

// -----

// The largest and the smallest number of each row are found by one kernel, and
// those of all rows by another.
// CHECK-LABEL: func @range
// CHECK-NEXT:    %[[R:.*]]:2 = nn.fusion(%arg0)
// CHECK-NEXT:    ^bb0(
// CHECK-NEXT:      nn.reduce {{.*}} {axes = array<i64: 1>, kind = #nn<combiner max>}
// CHECK-NEXT:      nn.reduce {{.*}} {axes = array<i64: 1>, kind = #nn<combiner min>}
// CHECK:         %[[A:.*]]:2 = nn.fusion(%[[R]]#0, %[[R]]#1)
// CHECK-NEXT:    ^bb0(
// CHECK-NEXT:      nn.reduce {{.*}} {axes = array<i64: 0, 1>, kind = #nn<combiner max>}
// CHECK-NEXT:      nn.reduce {{.*}} {axes = array<i64: 0, 1>, kind = #nn<combiner min>}
// CHECK:         return %[[A]]#0, %[[A]]#1
func.func @range(%x: tensor<64x128xf32>) -> (tensor<1x1xf32>, tensor<1x1xf32>) {
  %0 = nn.reduce %x {axes = array<i64: 1>, kind = #nn<combiner max>} : (tensor<64x128xf32>) -> tensor<64x1xf32>
  %1 = nn.reduce %0 {axes = array<i64: 0, 1>, kind = #nn<combiner max>} : (tensor<64x1xf32>) -> tensor<1x1xf32>
  %2 = nn.reduce %x {axes = array<i64: 1>, kind = #nn<combiner min>} : (tensor<64x128xf32>) -> tensor<64x1xf32>
  %3 = nn.reduce %2 {axes = array<i64: 0, 1>, kind = #nn<combiner min>} : (tensor<64x1xf32>) -> tensor<1x1xf32>
  return %1, %3 : tensor<1x1xf32>, tensor<1x1xf32>
}

// -----

// Reductions of other tensors and other kinds stay apart, and so do long ones.
// CHECK-LABEL: func @apart
// CHECK-COUNT-5: nn.fusion
func.func @apart(%x: tensor<64x128xf32>, %y: tensor<64x128xf32>, %z: tensor<2x32768xf32>) -> (tensor<64x1xf32>, tensor<64x1xf32>, tensor<64x1xf32>, tensor<2x1xf32>, tensor<2x1xf32>) {
  %0 = nn.reduce %x {axes = array<i64: 1>, kind = #nn<combiner max>} : (tensor<64x128xf32>) -> tensor<64x1xf32>
  %1 = nn.reduce %y {axes = array<i64: 1>, kind = #nn<combiner min>} : (tensor<64x128xf32>) -> tensor<64x1xf32>
  %2 = nn.reduce %y {axes = array<i64: 1>, kind = #nn<combiner sum>} : (tensor<64x128xf32>) -> tensor<64x1xf32>
  %3 = nn.reduce %z {axes = array<i64: 1>, kind = #nn<combiner max>} : (tensor<2x32768xf32>) -> tensor<2x1xf32>
  %4 = nn.reduce %z {axes = array<i64: 1>, kind = #nn<combiner min>} : (tensor<2x32768xf32>) -> tensor<2x1xf32>
  return %0, %1, %2, %3, %4 : tensor<64x1xf32>, tensor<64x1xf32>, tensor<64x1xf32>, tensor<2x1xf32>, tensor<2x1xf32>
}
