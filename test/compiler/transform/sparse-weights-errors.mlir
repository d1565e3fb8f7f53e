// Weights that are not 2:4 sparse, where -fsparse=2:4 says that they are.
// RUN: frit-opt %s --pass-pipeline='builtin.module(sparse-weights{fewest=8})' -verify-diagnostics

func.func @dense(%x: tensor<3x8xf32>) -> tensor<3x2xf32> {
  %a = nn.constant "fc.weight" dense<[[1.0, 0.0, 2.0, 0.0, 0.0, 0.0, 0.0, 3.0], [1.0, 0.0, 2.0, 0.0, 1.0, 2.0, 0.0, 3.0]]> : tensor<2x8xf32>
  // expected-error@+1 {{the weight 'fc.weight' is not 2:4 sparse: for column 1 of the result, more than two of its numbers 4 to 7 along k are not 0; -fsparse=2:4:magnitude keeps the two largest}}
  %0 = nn.matmul %x, %a {transpose_b} : (tensor<3x8xf32>, tensor<2x8xf32>) -> tensor<3x2xf32>
  %1 = nn.softmax %0 {axis = -1 : si64} : (tensor<3x2xf32>) -> tensor<3x2xf32>
  return %1 : tensor<3x2xf32>
}
