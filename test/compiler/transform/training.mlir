// RUN: frit-opt %s --training-mode | FileCheck %s --check-prefix=MODE
// RUN: frit-opt %s --training-mode --add-loss | FileCheck %s --check-prefix=LOSS
// RUN: frit-opt %s --training-mode --add-loss --add-optimizer | FileCheck %s --check-prefix=STEP
// RUN: frit-opt %s --training-mode --add-loss --add-optimizer --simplify --decompose --fusion --schedule -o %t.mlir
// RUN: frit-opt %t.mlir | FileCheck %s --check-prefix=KEPT
// RUN: frit-opt %t.mlir --recompute | FileCheck %s --check-prefix=AGAIN

// The passes that make a training step of a model. frit-opt trains by SGD of
// the mean squared error and recomputes the nodes "again*".

func.func @main(%x: tensor<8x4xf32> {nn.name = "x"}) -> (tensor<8x2xf32> {nn.name = "y"}) {
  %w = nn.constant "w" dense<[[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8], [0.9, 1.0, 1.1, 1.2], [1.3, 1.4, 1.5, 1.6]]> : tensor<4x4xf32>
  %v = nn.constant "v" dense<[[0.1, 0.2], [0.3, 0.4], [0.5, 0.6], [0.7, 0.8]]> : tensor<4x2xf32>
  %scale = nn.constant "bn.scale" dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %bias = nn.constant "bn.bias" dense<[0.1, 0.2, 0.3, 0.4]> : tensor<4xf32>
  %mean = nn.constant "bn.mean" dense<[0.5, 0.6, 0.7, 0.8]> : tensor<4xf32>
  %variance = nn.constant "bn.var" dense<[1.5, 1.6, 1.7, 1.8]> : tensor<4xf32>
  %0 = nn.matmul %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %1 = nn.tanh %0 : (tensor<8x4xf32>) -> tensor<8x4xf32> loc("again")
  %2 = nn.matmul %1, %v : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  return %2 : tensor<8x2xf32>
}
