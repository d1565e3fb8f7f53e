// RUN: frit-opt %s --fusion | FileCheck %s
// RUN: frit-opt %s --fusion --remark-format=emitRemark --remarks-filter=fusion -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// The test target allows kernels of up to 256 instructions, 16 per exponential,
// and 12 tensors.

// CHECK-LABEL: func.func @instructions
// CHECK:         nn.fusion
// CHECK-COUNT-16:  nn.exp
// CHECK:         nn.fusion
// CHECK-COUNT-2:   nn.exp
// CHECK-NOT:     nn.fusion
// CHECK:         return
// REMARK: one kernel of both would be too large
func.func @instructions(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %0 = nn.exp %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = nn.exp %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %2 = nn.exp %1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = nn.exp %2 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %4 = nn.exp %3 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %5 = nn.exp %4 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %6 = nn.exp %5 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %7 = nn.exp %6 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %8 = nn.exp %7 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %9 = nn.exp %8 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %10 = nn.exp %9 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %11 = nn.exp %10 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %12 = nn.exp %11 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %13 = nn.exp %12 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %14 = nn.exp %13 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %15 = nn.exp %14 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %16 = nn.exp %15 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %17 = nn.exp %16 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %17 : tensor<4x8xf32>
}

// Eleven inputs and one output.
// CHECK-LABEL: func.func @tensors
// CHECK:         nn.fusion
// CHECK-COUNT-10:  nn.add
// CHECK-NOT:       nn.add
// CHECK:         nn.fusion
// CHECK-COUNT-3:   nn.add
// CHECK:         return
func.func @tensors(%x0: tensor<8xf32>, %x1: tensor<8xf32>, %x2: tensor<8xf32>, %x3: tensor<8xf32>, %x4: tensor<8xf32>, %x5: tensor<8xf32>, %x6: tensor<8xf32>, %x7: tensor<8xf32>, %x8: tensor<8xf32>, %x9: tensor<8xf32>, %x10: tensor<8xf32>, %x11: tensor<8xf32>, %x12: tensor<8xf32>, %x13: tensor<8xf32>) -> tensor<8xf32> {
  %0 = nn.add %x0, %x1 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = nn.add %0, %x2 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %2 = nn.add %1, %x3 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %3 = nn.add %2, %x4 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %4 = nn.add %3, %x5 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %5 = nn.add %4, %x6 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %6 = nn.add %5, %x7 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %7 = nn.add %6, %x8 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %8 = nn.add %7, %x9 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %9 = nn.add %8, %x10 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %10 = nn.add %9, %x11 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %11 = nn.add %10, %x12 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %12 = nn.add %11, %x13 : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %12 : tensor<8xf32>
}

// A tensor with many readers is one parameter.
// CHECK-LABEL: func.func @shared
// CHECK:         nn.fusion
// CHECK-COUNT-20:  nn.sub
// CHECK-NOT:     nn.fusion
// CHECK:         return
func.func @shared(%x: tensor<8xf32>, %c: tensor<8xf32>) -> tensor<8xf32> {
  %0 = nn.sub %x, %c : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %1 = nn.sub %0, %c : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %2 = nn.sub %1, %c : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %3 = nn.sub %2, %c : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %4 = nn.sub %3, %c : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %5 = nn.sub %4, %c : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %6 = nn.sub %5, %c : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %7 = nn.sub %6, %c : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %8 = nn.sub %7, %c : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %9 = nn.sub %8, %c : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %10 = nn.sub %9, %c : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %11 = nn.sub %10, %c : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %12 = nn.sub %11, %c : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %13 = nn.sub %12, %c : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %14 = nn.sub %13, %c : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %15 = nn.sub %14, %c : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %16 = nn.sub %15, %c : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %17 = nn.sub %16, %c : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %18 = nn.sub %17, %c : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %19 = nn.sub %18, %c : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %19 : tensor<8xf32>
}

// Eleven operands at a time, then their results.
// CHECK-LABEL: func.func @concat
// CHECK:         nn.concat
// CHECK-SAME:      -> tensor<22xf32>
// CHECK:         nn.concat
// CHECK-SAME:      -> tensor<22xf32>
// CHECK:         nn.concat
// CHECK-SAME:      -> tensor<6xf32>
// CHECK:         nn.concat
// CHECK-SAME:      -> tensor<50xf32>
func.func @concat(%x0: tensor<2xf32>, %x1: tensor<2xf32>, %x2: tensor<2xf32>, %x3: tensor<2xf32>, %x4: tensor<2xf32>, %x5: tensor<2xf32>, %x6: tensor<2xf32>, %x7: tensor<2xf32>, %x8: tensor<2xf32>, %x9: tensor<2xf32>, %x10: tensor<2xf32>, %x11: tensor<2xf32>, %x12: tensor<2xf32>, %x13: tensor<2xf32>, %x14: tensor<2xf32>, %x15: tensor<2xf32>, %x16: tensor<2xf32>, %x17: tensor<2xf32>, %x18: tensor<2xf32>, %x19: tensor<2xf32>, %x20: tensor<2xf32>, %x21: tensor<2xf32>, %x22: tensor<2xf32>, %x23: tensor<2xf32>, %x24: tensor<2xf32>) -> tensor<50xf32> {
  %0 = nn.concat %x0, %x1, %x2, %x3, %x4, %x5, %x6, %x7, %x8, %x9, %x10, %x11, %x12, %x13, %x14, %x15, %x16, %x17, %x18, %x19, %x20, %x21, %x22, %x23, %x24 {axis = 0 : si64} : (tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<50xf32>
  return %0 : tensor<50xf32>
}
