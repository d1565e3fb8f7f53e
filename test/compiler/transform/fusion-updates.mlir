// RUN: frit-opt %s --fusion | FileCheck %s

// What is written to a cache is computed in the kernel that writes it: casts
// move above views, and a view is an index computation there.

// CHECK-LABEL: func @rotary
// CHECK: nn.fusion
// CHECK: nn.matmul
// CHECK: %[[U:.*]] = nn.fusion(
// CHECK: nn.slice
// CHECK: nn.add
// CHECK-NEXT: nn.cast {{.*}} {to = f16}
// CHECK-NEXT: nn.reshape
// CHECK-NEXT: nn.update %{{.*}}, %{{.*}}, %{{.*}} {axis = 2 : i64}
// CHECK-NEXT: nn.yield
// CHECK: return %[[U]]
func.func @rotary(%x: tensor<1x256xf16>, %w: tensor<256x256xf16>, %cos: tensor<1x1x1x32xf32>,
                  %sin: tensor<1x1x2x32xf32>, %cache: tensor<1x4x64x64xf16>, %at: tensor<1xi32>) -> tensor<1x4x64x64xf16> {
  %0 = nn.matmul %x, %w : (tensor<1x256xf16>, tensor<256x256xf16>) -> tensor<1x256xf16>
  %1 = nn.reshape %0 {shape = array<i64: 1, 4, 64>} : (tensor<1x256xf16>) -> tensor<1x4x64xf16>
  %2 = nn.cast %1 {to = f32} : (tensor<1x4x64xf16>) -> tensor<1x4x64xf32>
  %3 = nn.reshape %2 {shape = array<i64: 1, 4, 2, 32>} : (tensor<1x4x64xf32>) -> tensor<1x4x2x32xf32>
  %4 = nn.slice %3 {sizes = array<i64: 1, 4, 2, 32>, starts = array<i64: 0, 0, 1, 0>, steps = array<i64: 1, 1, -1, 1>} : (tensor<1x4x2x32xf32>) -> tensor<1x4x2x32xf32>
  %5 = nn.mul %4, %sin : (tensor<1x4x2x32xf32>, tensor<1x1x2x32xf32>) -> tensor<1x4x2x32xf32>
  %6 = nn.mul %3, %cos : (tensor<1x4x2x32xf32>, tensor<1x1x1x32xf32>) -> tensor<1x4x2x32xf32>
  %7 = nn.add %5, %6 : (tensor<1x4x2x32xf32>, tensor<1x4x2x32xf32>) -> tensor<1x4x2x32xf32>
  %8 = nn.reshape %7 {shape = array<i64: 1, 4, 64>} : (tensor<1x4x2x32xf32>) -> tensor<1x4x64xf32>
  %9 = nn.cast %8 {to = f16} : (tensor<1x4x64xf32>) -> tensor<1x4x64xf16>
  %10 = nn.reshape %9 {shape = array<i64: 1, 4, 1, 64>} : (tensor<1x4x64xf16>) -> tensor<1x4x1x64xf16>
  %11 = nn.update %cache, %10, %at {axis = 2 : i64} : (tensor<1x4x64x64xf16>, tensor<1x4x1x64xf16>, tensor<1xi32>) -> tensor<1x4x64x64xf16>
  return %11 : tensor<1x4x64x64xf16>
}

// A reduction's kernel stores no rows at a place known at run time, and readers
// of the state have kernels of their own.
// CHECK-LABEL: func @apart
// CHECK: nn.reduce
// CHECK: nn.yield
// CHECK: nn.update
// CHECK-NEXT: nn.yield
// CHECK: nn.neg
func.func @apart(%x: tensor<4x8x16xf32>, %cache: tensor<4x9x1xf32>, %at: tensor<i32>) -> tensor<4x9x1xf32> {
  %0 = nn.reduce %x {axes = array<i64: 2>, kind = #nn<combiner sum>} : (tensor<4x8x16xf32>) -> tensor<4x8x1xf32>
  %1 = nn.update %cache, %0, %at {axis = 1 : i64} : (tensor<4x9x1xf32>, tensor<4x8x1xf32>, tensor<i32>) -> tensor<4x9x1xf32>
  %2 = nn.neg %1 : (tensor<4x9x1xf32>) -> tensor<4x9x1xf32>
  return %2 : tensor<4x9x1xf32>
}
