// RUN: frit-opt %s --print-cuda -o /dev/null | FileCheck %s

// Kernels of few rows normalize them, and multiply them by two matrices. Each
// warp has tiles of both.
// CHECK: // k0 #cuda.rows_gemm<tiles = 1, stages = 2, split = 8, threads = 256> grid 512x1x1 block 256
// CHECK: float operator()(float sum, float bias, float residual) const {
// CHECK: static constexpr int64_t m = 1, n = 8192, k = 2048;
// CHECK: static constexpr float epsilon = 9.999999747e-06;
// CHECK: static constexpr bool isPair = true;
// CHECK: frit::rowsGemm<k0_problem>(x0, x1, {x2, x3}, nullptr, nullptr, y0);
// CHECK: struct k1_problem
// CHECK-NOT: isPair
// CHECK: frit::codeRows<k1_problem>(x0, x1, {{[{][{]}}x2, x3, nullptr{{[}][}]}}, x4, nullptr, y0);
func.func @gate(%x: tensor<1x2048xbf16>, %s: tensor<2048xbf16>, %g: tensor<8192x2048xbf16>, %u: tensor<8192x2048xbf16>, %c: tensor<128x32x512xui8>, %f: tensor<128x32x16xf16>, %r: tensor<1x2048xbf16>) {
  %0 = nn.fusion(%x, %s, %g, %u) : (tensor<1x2048xbf16>, tensor<2048xbf16>, tensor<8192x2048xbf16>, tensor<8192x2048xbf16>) -> tensor<1x8192xbf16> {
  ^bb0(%a: tensor<1x2048xbf16>, %b: tensor<2048xbf16>, %d: tensor<8192x2048xbf16>, %e: tensor<8192x2048xbf16>):
    %n = nn.rms_norm %a, %b : (tensor<1x2048xbf16>, tensor<2048xbf16>) -> tensor<1x2048xbf16>
    %1 = nn.matmul %n, %d {transpose_b} : (tensor<1x2048xbf16>, tensor<8192x2048xbf16>) -> tensor<1x8192xbf16>
    %2 = nn.silu %1 : (tensor<1x8192xbf16>) -> tensor<1x8192xbf16>
    %3 = nn.matmul %n, %e {transpose_b} : (tensor<1x2048xbf16>, tensor<8192x2048xbf16>) -> tensor<1x8192xbf16>
    %4 = nn.mul %2, %3 : (tensor<1x8192xbf16>, tensor<1x8192xbf16>) -> tensor<1x8192xbf16>
    nn.yield %4 : tensor<1x8192xbf16>
  }
  %5 = nn.fusion(%x, %s, %c, %f, %r) : (tensor<1x2048xbf16>, tensor<2048xbf16>, tensor<128x32x512xui8>, tensor<128x32x16xf16>, tensor<1x2048xbf16>) -> tensor<1x2048xbf16> {
  ^bb0(%a: tensor<1x2048xbf16>, %b: tensor<2048xbf16>, %d: tensor<128x32x512xui8>, %e: tensor<128x32x16xf16>, %h: tensor<1x2048xbf16>):
    %n = nn.rms_norm %a, %b : (tensor<1x2048xbf16>, tensor<2048xbf16>) -> tensor<1x2048xbf16>
    %w = nn.dequantize %d, %e {code = "int4", tiled, to = bf16} : (tensor<128x32x512xui8>, tensor<128x32x16xf16>) -> tensor<2048x2048xbf16>
    %1 = nn.matmul %n, %w {transpose_b} : (tensor<1x2048xbf16>, tensor<2048x2048xbf16>) -> tensor<1x2048xbf16>
    %2 = nn.add %1, %h : (tensor<1x2048xbf16>, tensor<1x2048xbf16>) -> tensor<1x2048xbf16>
    nn.yield %2 : tensor<1x2048xbf16>
  }
  return
}

// What a product reads before the kernels before it have finished are constants:
// codes, and the scale of its rows.
// CHECK: struct k2_problem
// CHECK: static constexpr bool early = true;
// CHECK: struct k3_problem
// CHECK: static constexpr bool early = false;
func.func @early(%x: tensor<1x2048xbf16>, %s: tensor<2048xbf16>, %c: tensor<128x32x512xui8>, %f: tensor<128x32x16xf16>) {
  %0 = nn.fusion(%x, %s, %c, %f) {plan.constant_inputs = array<i64: 1, 2, 3>} : (tensor<1x2048xbf16>, tensor<2048xbf16>, tensor<128x32x512xui8>, tensor<128x32x16xf16>) -> tensor<1x2048xbf16> {
  ^bb0(%a: tensor<1x2048xbf16>, %b: tensor<2048xbf16>, %d: tensor<128x32x512xui8>, %e: tensor<128x32x16xf16>):
    %n = nn.rms_norm %a, %b : (tensor<1x2048xbf16>, tensor<2048xbf16>) -> tensor<1x2048xbf16>
    %w = nn.dequantize %d, %e {code = "int4", tiled, to = bf16} : (tensor<128x32x512xui8>, tensor<128x32x16xf16>) -> tensor<2048x2048xbf16>
    %1 = nn.matmul %n, %w {transpose_b} : (tensor<1x2048xbf16>, tensor<2048x2048xbf16>) -> tensor<1x2048xbf16>
    nn.yield %1 : tensor<1x2048xbf16>
  }
  %2 = nn.fusion(%x, %s, %c, %f) {plan.constant_inputs = array<i64: 2, 3>} : (tensor<1x2048xbf16>, tensor<2048xbf16>, tensor<128x32x512xui8>, tensor<128x32x16xf16>) -> tensor<1x2048xbf16> {
  ^bb0(%a: tensor<1x2048xbf16>, %b: tensor<2048xbf16>, %d: tensor<128x32x512xui8>, %e: tensor<128x32x16xf16>):
    %n = nn.rms_norm %a, %b : (tensor<1x2048xbf16>, tensor<2048xbf16>) -> tensor<1x2048xbf16>
    %w = nn.dequantize %d, %e {code = "int4", tiled, to = bf16} : (tensor<128x32x512xui8>, tensor<128x32x16xf16>) -> tensor<2048x2048xbf16>
    %1 = nn.matmul %n, %w {transpose_b} : (tensor<1x2048xbf16>, tensor<2048x2048xbf16>) -> tensor<1x2048xbf16>
    nn.yield %1 : tensor<1x2048xbf16>
  }
  return
}
