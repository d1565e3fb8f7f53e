// Weights of products keep two of four neighbours along k.
// RUN: frit-opt %s --pass-pipeline='builtin.module(sparse-weights{prune=true fewest=8})' -split-input-file | FileCheck %s

// The largest magnitudes stay, and of equal ones the first. Groups of the
// second matrix go down its columns. The third one's product ends the model.
// CHECK-LABEL: func @layers
// CHECK: %[[A:.*]] = nn.constant "a" dense_resource<[[RA:.*]]> : tensor<2x4xf32> {nn.sparse}
// CHECK: %[[B:.*]] = nn.constant "b" dense_resource<[[RB:.*]]> : tensor<4x2xf16> {nn.sparse}
// CHECK: nn.constant "c" dense<{{.*}}> : tensor<2x4xf32>{{$}}
// CHECK: nn.matmul %{{.*}}, %[[A]] {transpose_b}
// CHECK: nn.matmul %{{.*}}, %[[B]] :
// Rows 0, -3, 2, 0 and 1, -1, 0, 0.
// CHECK-DAG: [[RA]]: "0x1000000000000000000040C000000040000000000000803F000080BF0000000000000000"
// Columns 0, 2, 0, 4 and -8, 0, 0, 1.
// CHECK-DAG: [[RB]]: "0x10000000000000C800400000000000000044003C"
func.func @layers(%x: tensor<3x4xf32>, %y: tensor<3x4xf16>) -> (tensor<3x2xf32>, tensor<3x2xf16>, tensor<3x2xf32>) {
  %a = nn.constant "a" dense<[[1.0, -3.0, 2.0, 0.5], [1.0, -1.0, 1.0, -1.0]]> : tensor<2x4xf32>
  %b = nn.constant "b" dense<[[1.0, -8.0], [2.0, 0.5], [-1.5, 0.25], [4.0, 1.0]]> : tensor<4x2xf16>
  %c = nn.constant "c" dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]> : tensor<2x4xf32>
  %0 = nn.matmul %x, %a {transpose_b} : (tensor<3x4xf32>, tensor<2x4xf32>) -> tensor<3x2xf32>
  %1 = nn.softmax %0 {axis = -1 : si64} : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %2 = nn.matmul %y, %b : (tensor<3x4xf16>, tensor<4x2xf16>) -> tensor<3x2xf16>
  %3 = nn.softmax %2 {axis = -1 : si64} : (tensor<3x2xf16>) -> tensor<3x2xf16>
  %4 = nn.matmul %x, %c {transpose_b} : (tensor<3x4xf32>, tensor<2x4xf32>) -> tensor<3x2xf32>
  return %1, %3, %4 : tensor<3x2xf32>, tensor<3x2xf16>, tensor<3x2xf32>
}

// -----

// What is sparse already is left alone, and so are a table that rows are taken
// from, a small matrix, and one whose k is no multiple of 4.
// CHECK-LABEL: func @others
// CHECK: nn.constant "sparse" dense<{{.*}}> : tensor<2x4xf32> {nn.sparse}
// CHECK: nn.constant "table" dense<{{.*}}> : tensor<2x4xf32>{{$}}
// CHECK: nn.constant "small" dense<{{.*}}> : tensor<1x4xf32>{{$}}
// CHECK: nn.constant "odd" dense<{{.*}}> : tensor<3x3xf32>{{$}}
func.func @others(%x: tensor<3x4xf32>, %i: tensor<1xi32>, %y: tensor<1x3xf32>) -> tensor<3x2xf32> {
  %sparse = nn.constant "sparse" dense<[[0.0, 1.0, 0.0, 2.0], [0.0, 0.0, -0.0, 3.0]]> : tensor<2x4xf32>
  %table = nn.constant "table" dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]> : tensor<2x4xf32>
  %small = nn.constant "small" dense<[[1.0, 2.0, 3.0, 4.0]]> : tensor<1x4xf32>
  %odd = nn.constant "odd" dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]> : tensor<3x3xf32>
  %0 = nn.matmul %x, %sparse {transpose_b} : (tensor<3x4xf32>, tensor<2x4xf32>) -> tensor<3x2xf32>
  %1 = nn.softmax %0 {axis = -1 : si64} : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %rows = nn.gather %table, %i {axis = 0 : si64} : (tensor<2x4xf32>, tensor<1xi32>) -> tensor<1x4xf32>
  %2 = nn.matmul %rows, %table {transpose_b} : (tensor<1x4xf32>, tensor<2x4xf32>) -> tensor<1x2xf32>
  %3 = nn.softmax %2 {axis = -1 : si64} : (tensor<1x2xf32>) -> tensor<1x2xf32>
  %4 = nn.matmul %x, %small {transpose_b} : (tensor<3x4xf32>, tensor<1x4xf32>) -> tensor<3x1xf32>
  %5 = nn.softmax %4 {axis = 0 : si64} : (tensor<3x1xf32>) -> tensor<3x1xf32>
  %6 = nn.matmul %y, %odd : (tensor<1x3xf32>, tensor<3x3xf32>) -> tensor<1x3xf32>
  %7 = nn.softmax %6 {axis = -1 : si64} : (tensor<1x3xf32>) -> tensor<1x3xf32>
  %8 = nn.slice %7 {sizes = array<i64: 1, 2>, starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : (tensor<1x3xf32>) -> tensor<1x2xf32>
  %9 = nn.add %1, %3 : (tensor<3x2xf32>, tensor<1x2xf32>) -> tensor<3x2xf32>
  %10 = nn.add %9, %5 : (tensor<3x2xf32>, tensor<3x1xf32>) -> tensor<3x2xf32>
  %11 = nn.add %10, %8 : (tensor<3x2xf32>, tensor<1x2xf32>) -> tensor<3x2xf32>
  return %11 : tensor<3x2xf32>
}
