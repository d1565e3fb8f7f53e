// RUN: frit-opt %s --training-mode | FileCheck %s --check-prefix=MODE
// RUN: frit-opt %s --training-mode --add-loss | FileCheck %s --check-prefix=LOSS
// RUN: frit-opt %s --training-mode --add-loss --add-optimizer | FileCheck %s --check-prefix=STEP
// RUN: frit-opt %s --training-mode --add-loss --add-optimizer --simplify --decompose --fusion | FileCheck %s --check-prefix=KEPT
// RUN: frit-opt %s --training-mode --add-loss --add-optimizer --simplify --decompose --fusion --recompute | FileCheck %s --check-prefix=AGAIN

// The passes that make a training step of a model. In frit-opt they train by
// SGD of the mean squared error and recompute the nodes "again*".

// Batch norm normalizes by the statistics of the batch, which are results.
// MODE-LABEL: func.func @main(
// MODE-SAME: nn.statistic = "bn.mean"
// MODE: nn.batch_mean
// MODE: nn.batch_variance
// MODE: nn.batch_norm {{.*}}batch_statistics

// Weights become arguments; so do the labels. The loss is the first result.
// LOSS-LABEL: func.func @main(
// LOSS-SAME: nn.name = "labels"
// LOSS-SAME: nn.parameter = "w"
// LOSS-SAME: -> (tensor<f32> {nn.name = "loss"}
// LOSS: nn.squared_error

// The weights are states, which the step reads and writes.
// STEP: nn.state @parameters.0 : tensor<{{[0-9]+}}xf32> [{{.*}}#nn.member<"w" at
// STEP-LABEL: func.func @main(
// STEP-SAME: nn.state = @parameters.0

// The kernel of the named node runs again in the backward pass.
// KEPT: nn.tanh
// KEPT-NOT: nn.tanh
// AGAIN-COUNT-2: nn.tanh
// AGAIN-NOT: nn.tanh
func.func @main(%x: tensor<8x4xf32> {nn.name = "x"}) -> (tensor<8x2xf32> {nn.name = "y"}) {
  %w = nn.constant "w" dense<[[0.1, 0.2, 0.3, 0.4], [0.5, 0.6, 0.7, 0.8], [0.9, 1.0, 1.1, 1.2], [1.3, 1.4, 1.5, 1.6]]> : tensor<4x4xf32>
  %v = nn.constant "v" dense<[[0.1, 0.2], [0.3, 0.4], [0.5, 0.6], [0.7, 0.8]]> : tensor<4x2xf32>
  %scale = nn.constant "bn.scale" dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %bias = nn.constant "bn.bias" dense<[0.1, 0.2, 0.3, 0.4]> : tensor<4xf32>
  %mean = nn.constant "bn.mean" dense<[0.5, 0.6, 0.7, 0.8]> : tensor<4xf32>
  %variance = nn.constant "bn.var" dense<[1.5, 1.6, 1.7, 1.8]> : tensor<4xf32>
  %0 = nn.matmul %x, %w : (tensor<8x4xf32>, tensor<4x4xf32>) -> tensor<8x4xf32>
  %1 = nn.batch_norm %0, %scale, %bias, %mean, %variance : (tensor<8x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %2 = nn.tanh %1 : (tensor<8x4xf32>) -> tensor<8x4xf32> loc("node 'again' (Tanh, opset 20)")
  %3 = nn.matmul %2, %v : (tensor<8x4xf32>, tensor<4x2xf32>) -> tensor<8x2xf32>
  return %3 : tensor<8x2xf32>
}
