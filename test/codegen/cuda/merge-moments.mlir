// RUN: frit-opt %s --print-cuda -o /dev/null | FileCheck %s

// Four threads merge the moments of a row's parts.
// CHECK: // k0 #cuda.merge_moments<threads = 128> grid 128x1x1 block 128
// CHECK: frit::mergeRows<4096, 16, 64>(x0, y0);
func.func @merge(%x: tensor<4096x16x2xf32>) {
  %0 = nn.fusion(%x) : (tensor<4096x16x2xf32>) -> tensor<4096x1x2xf32> {
  ^bb0(%a: tensor<4096x16x2xf32>):
    %1 = nn.merge_moments %a {width = 64 : si64} : (tensor<4096x16x2xf32>) -> tensor<4096x1x2xf32>
    nn.yield %1 : tensor<4096x1x2xf32>
  }
  return
}
