// Weights of products become codes; what reads a table's rows reads codes, too.
// RUN: frit-opt %s --pass-pipeline='builtin.module(quantize-weights{format=int4:32 fewest=64})' -split-input-file | FileCheck %s

// A matrix that is read along the other dimension is transposed. The extreme
// number of a block has the code 0 of int4: rows of -8, 7, 0 ..., -1 and of 2,
// -4, 0 ..., 0.5. The last product has int8.
// CHECK-LABEL: func @layers
// CHECK-SAME: %[[X:.*]]: tensor<4x32xf32>
// CHECK: %[[A:.*]] = nn.constant "a.codes" dense_resource<codes{{.*}}> : tensor<2x16xui8>
// CHECK: %[[S:.*]] = nn.constant "a.scales" dense_resource<codes{{.*}}> : tensor<2x1xf16>
// CHECK: %[[W:.*]] = nn.dequantize %[[A]], %[[S]] {code = "int4", to = f32} : (tensor<2x16xui8>, tensor<2x1xf16>) -> tensor<2x32xf32>
// CHECK: %[[V:.*]] = nn.dequantize {{.*}} {code = "int8", to = f32} : (tensor<32x2xui8>, tensor<32x1xf16>) -> tensor<32x2xf32>
// CHECK: nn.matmul %[[X]], %[[W]] {transpose_b}
// CHECK: %[[Y:.*]] = nn.softmax
// CHECK: nn.matmul %[[Y]], %[[V]] {transpose_b}
// CHECK: codes: "0x10000000F08888888888888888888888888888780C888888888888888888888888888898"
// CHECK: codes{{.*}}: "0x10000000003C0038"
func.func @layers(%x: tensor<4x32xf32>) -> tensor<4x32xf32> {
  %a = nn.constant "a" dense<[[-8.0, 2.0], [7.0, -4.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [-1.0, 0.5]]> : tensor<32x2xf32>
  %b = nn.constant "b" dense<[[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]> : tensor<2x32xf32>
  %0 = nn.matmul %x, %a : (tensor<4x32xf32>, tensor<32x2xf32>) -> tensor<4x2xf32>
  %1 = nn.softmax %0 {axis = -1 : si64} : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %2 = nn.matmul %1, %b : (tensor<4x2xf32>, tensor<2x32xf32>) -> tensor<4x32xf32>
  return %2 : tensor<4x32xf32>
}

// -----

// A table of which a product reads all and a gather some rows is one.
// CHECK-LABEL: func @tied
// CHECK: %[[W:.*]] = nn.dequantize
// CHECK: nn.gather %[[W]]
// CHECK: nn.matmul {{.*}}, %[[W]] {transpose_b}
func.func @tied(%i: tensor<4xi32>) -> tensor<4x2xf32> {
  %b = nn.constant "b" dense<[[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]> : tensor<2x32xf32>
  %0 = nn.gather %b, %i {axis = 0 : si64} : (tensor<2x32xf32>, tensor<4xi32>) -> tensor<4x32xf32>
  %1 = nn.matmul %0, %b {transpose_b} : (tensor<4x32xf32>, tensor<2x32xf32>) -> tensor<4x2xf32>
  return %1 : tensor<4x2xf32>
}

// -----

// Small weights, and rows that are no whole blocks, stay.
// CHECK-LABEL: func @others
// CHECK-COUNT-2: nn.matmul {{.*}} : (tensor<4x
// CHECK-NOT: nn.dequantize
// CHECK: return
func.func @others(%x: tensor<4x2xf32>, %y: tensor<4x3xf32>) -> (tensor<4x32xf32>, tensor<4x3xf32>) {
  %a = nn.constant "a" dense<[[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]]> : tensor<2x32xf32>
  %b = nn.constant "b" dense<[[1.0, 2.0, 3.0], [4.0, 5.0, 6.0], [7.0, 8.0, 9.0]]> : tensor<3x3xf32>
  %0 = nn.matmul %x, %a : (tensor<4x2xf32>, tensor<2x32xf32>) -> tensor<4x32xf32>
  %1 = nn.softmax %0 {axis = -1 : si64} : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %2 = nn.softmax %1 {axis = 0 : si64} : (tensor<4x32xf32>) -> tensor<4x32xf32>
  %3 = nn.matmul %y, %b {transpose_b} : (tensor<4x3xf32>, tensor<3x3xf32>) -> tensor<4x3xf32>
  return %2, %3 : tensor<4x32xf32>, tensor<4x3xf32>
}
