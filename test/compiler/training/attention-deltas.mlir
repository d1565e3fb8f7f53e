// RUN: frit-opt %s --attention-deltas | FileCheck %s
// RUN: frit-opt %s --attention-deltas --simplify --fusion | FileCheck --check-prefix=FUSED %s

// The gradient reads the sums of y · dy. They are computed where the heads of a
// position lie side by side, as y is stored and dy comes.
// CHECK-LABEL: func.func @sums
// CHECK:         %[[Y:.*]] = nn.attention
// CHECK:         nn.transpose %arg1
// CHECK:         %[[ROWS:.*]] = nn.transpose %[[Y]] {perm = array<i64: 0, 2, 1, 3>}
// CHECK-NEXT:    %[[WIDE:.*]] = nn.cast %[[ROWS]] {to = f32}
// CHECK:         %[[PRODUCTS:.*]] = nn.mul %[[WIDE]],
// CHECK:         %[[SUMS:.*]] = nn.reduce %[[PRODUCTS]] {{.*}}axes = array<i64: 3>
// CHECK:         %[[RESHAPED:.*]] = nn.reshape %[[SUMS]]
// CHECK:         %[[DELTA:.*]] = nn.transpose %[[RESHAPED]] {perm = array<i64: 0, 2, 1>}
// CHECK:         nn.attention_grad %{{.*}}, %{{.*}}, %{{.*}}, %[[DELTA]],
// FUSED-LABEL: func.func @sums
// FUSED:         %[[Y:.*]]:2 = nn.fusion
// FUSED:         %[[SUMS:.*]] = nn.fusion(%[[Y]]#1, %arg1) : (tensor<2x5x4x64xf16>, tensor<2x5x4x64xf16>) -> tensor<2x5x4x1xf32>
// FUSED-NOT:       nn.transpose
// FUSED:           nn.reduce
// FUSED:           nn.attention_grad
func.func @sums(%x: tensor<2x4x5x64xf16>, %g: tensor<2x5x4x64xf16>) -> (tensor<2x5x4x64xf16>, tensor<2x5x12x64xf16>) {
  %y = nn.attention %x, %x, %x {scale = 0.125 : f32} : (tensor<2x4x5x64xf16>, tensor<2x4x5x64xf16>, tensor<2x4x5x64xf16>) -> tensor<2x4x5x64xf16>
  %s = nn.attention_stats %x, %x {scale = 0.125 : f32} : (tensor<2x4x5x64xf16>, tensor<2x4x5x64xf16>) -> tensor<2x4x5xf32>
  %rows = nn.transpose %y {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x4x5x64xf16>) -> tensor<2x5x4x64xf16>
  %dy = nn.transpose %g {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x5x4x64xf16>) -> tensor<2x4x5x64xf16>
  %d = nn.attention_grad %x, %x, %x, %y, %dy, %s {scale = 0.125 : f32} : (tensor<2x4x5x64xf16>, tensor<2x4x5x64xf16>, tensor<2x4x5x64xf16>, tensor<2x4x5x64xf16>, tensor<2x4x5x64xf16>, tensor<2x4x5xf32>) -> tensor<2x5x12x64xf16>
  return %rows, %d : tensor<2x5x4x64xf16>, tensor<2x5x12x64xf16>
}

// Not if the target's kernel reads y.
// CHECK-LABEL: func.func @result
// CHECK:         nn.attention_grad %arg0, %arg0, %arg0, %arg0,
func.func @result(%x: tensor<2x4x5x32xf16>, %s: tensor<2x4x5xf32>) -> tensor<2x5x12x32xf16> {
  %d = nn.attention_grad %x, %x, %x, %x, %x, %s {scale = 0.125 : f32} : (tensor<2x4x5x32xf16>, tensor<2x4x5x32xf16>, tensor<2x4x5x32xf16>, tensor<2x4x5x32xf16>, tensor<2x4x5x32xf16>, tensor<2x4x5xf32>) -> tensor<2x5x12x32xf16>
  return %d : tensor<2x5x12x32xf16>
}
