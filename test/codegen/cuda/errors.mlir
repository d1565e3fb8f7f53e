// RUN: not frit-opt %s --split-input-file --print-cuda -o /dev/null 2>&1 | FileCheck %s
func.func @errors(%x: tensor<4xf32>) {
  // CHECK: error: has no CUDA kernel: a constant that is not one repeated value{{$}}
  %0 = nn.fusion(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %c = nn.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
    %1 = nn.add %a, %c : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    nn.yield %1 : tensor<4xf32>
  }
  return
}

// -----

func.func @skewed(%x: tensor<9x7xf16>) {
  // CHECK: error: has no CUDA kernel: its rows are no whole vectors (schedule #cuda.row<
  %0 = nn.fusion(%x) schedule(#cuda.row<team = 1, per_thread = 8, vector = 2, threads = 128>) : (tensor<9x7xf16>) -> tensor<9x1xf16> {
  ^bb0(%a: tensor<9x7xf16>):
    %1 = nn.reduce %a {kind = #nn<combiner max>, axes = array<i64: 1>} : (tensor<9x7xf16>) -> tensor<9x1xf16>
    nn.yield %1 : tensor<9x1xf16>
  }
  return
}
