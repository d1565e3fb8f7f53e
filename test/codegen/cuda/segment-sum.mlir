// RUN: frit-opt %s --print-cuda -o /dev/null | FileCheck %s

// Teams of 96 threads cover a row's columns; a block has 32 segments. An odd
// number of columns is read element by element.
// CHECK: // k0 #cuda.segment_sum<vector = 8, threads = 480> grid 1572x1x1 block 480
// CHECK: // k1 #cuda.segment_sum<vector = 1, threads = 512> grid 1x1x1 block 512
// CHECK: frit::segmentSum<frit::bf16, 480, 8, 768, 16384, 50304>(x0, x1, x2, y0);
// CHECK: frit::segmentSum<float, 512, 1, 3, 16384, 7>(x0, x1, x2, y0);
func.func @sums(%x: tensor<16384x768xbf16>, %o: tensor<16384xi64>, %s: tensor<16384xi64>, %z: tensor<16384x3xf32>) {
  %0 = nn.fusion(%x, %o, %s) : (tensor<16384x768xbf16>, tensor<16384xi64>, tensor<16384xi64>) -> tensor<50304x768xbf16> {
  ^bb0(%a: tensor<16384x768xbf16>, %b: tensor<16384xi64>, %c: tensor<16384xi64>):
    %1 = nn.segment_sum %a, %b, %c {size = 50304 : i64} : (tensor<16384x768xbf16>, tensor<16384xi64>, tensor<16384xi64>) -> tensor<50304x768xbf16>
    nn.yield %1 : tensor<50304x768xbf16>
  }
  %2 = nn.fusion(%z, %o, %s) : (tensor<16384x3xf32>, tensor<16384xi64>, tensor<16384xi64>) -> tensor<7x3xf32> {
  ^bb0(%a: tensor<16384x3xf32>, %b: tensor<16384xi64>, %c: tensor<16384xi64>):
    %3 = nn.segment_sum %a, %b, %c {size = 7 : i64} : (tensor<16384x3xf32>, tensor<16384xi64>, tensor<16384xi64>) -> tensor<7x3xf32>
    nn.yield %3 : tensor<7x3xf32>
  }
  return
}
