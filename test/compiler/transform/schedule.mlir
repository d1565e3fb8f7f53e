// RUN: frit-opt %s --fusion --schedule | FileCheck %s

// Every fusion asks the target; the test target names the contraction.
// CHECK:      nn.fusion({{.*}}) schedule(#cuda.gemm<tile_m = 64, tile_n = 64>
// CHECK:      nn.fusion({{.*}}) schedule(#cuda.generic<threads = 256>
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x1xf32> {
  %0 = nn.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = nn.reduce %0 {axes = array<i64: 1>, kind = #nn<combiner max>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  return %1 : tensor<4x1xf32>
}
