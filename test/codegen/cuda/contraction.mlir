// RUN: frit-opt %s --print-cuda=arch=sm_80 -o /dev/null | FileCheck %s
// RUN: frit-opt %s --print-cuda="arch=sm_80 libraries=false" -o /dev/null | FileCheck %s --check-prefix=OWN

func.func @contraction(%x: tensor<4x128x768xf16>, %w: tensor<768x3072xf16>,
                       %b: tensor<3072xf16>, %r: tensor<4x128x3072xf16>,
                       %q: tensor<4x12x128x64xf16>,
                       %i: tensor<8x56x56x64xf16>, %f: tensor<64x3x3x64xf16>,
                       %c: tensor<64xf16>, %s: tensor<8x56x56x64xf16>) {
  // One weight matrix: the batch is folded into the rows.
  %0 = nn.fusion(%x, %w, %b, %r) : (tensor<4x128x768xf16>, tensor<768x3072xf16>, tensor<3072xf16>, tensor<4x128x3072xf16>) -> tensor<4x128x3072xf16> {
  ^bb0(%a0: tensor<4x128x768xf16>, %a1: tensor<768x3072xf16>, %a2: tensor<3072xf16>, %a3: tensor<4x128x3072xf16>):
    %1 = nn.matmul %a0, %a1 : (tensor<4x128x768xf16>, tensor<768x3072xf16>) -> tensor<4x128x3072xf16>
    %2 = nn.add %a2, %1 : (tensor<3072xf16>, tensor<4x128x3072xf16>) -> tensor<4x128x3072xf16>
    %3 = nn.add %2, %a3 : (tensor<4x128x3072xf16>, tensor<4x128x3072xf16>) -> tensor<4x128x3072xf16>
    %4 = nn.relu %3 : (tensor<4x128x3072xf16>) -> tensor<4x128x3072xf16>
    nn.yield %4 : tensor<4x128x3072xf16>
  }
  // An epilogue that no library supports runs in frit's own kernel.
  %5 = nn.fusion(%q) : (tensor<4x12x128x64xf16>) -> tensor<4x12x128x128xf16> {
  ^bb0(%a: tensor<4x12x128x64xf16>):
    %h = nn.constant dense<0.125> : tensor<f16>
    %1 = nn.matmul %a, %a {transpose_b} : (tensor<4x12x128x64xf16>, tensor<4x12x128x64xf16>) -> tensor<4x12x128x128xf16>
    %2 = nn.mul %1, %h : (tensor<4x12x128x128xf16>, tensor<f16>) -> tensor<4x12x128x128xf16>
    %3 = nn.tanh %2 : (tensor<4x12x128x128xf16>) -> tensor<4x12x128x128xf16>
    nn.yield %3 : tensor<4x12x128x128xf16>
  }
  %6 = nn.fusion(%i, %f, %c, %s) : (tensor<8x56x56x64xf16>, tensor<64x3x3x64xf16>, tensor<64xf16>, tensor<8x56x56x64xf16>) -> tensor<8x56x56x64xf16> {
  ^bb0(%a0: tensor<8x56x56x64xf16>, %a1: tensor<64x3x3x64xf16>, %a2: tensor<64xf16>, %a3: tensor<8x56x56x64xf16>):
    %1 = nn.conv %a0, %a1, %a2 {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, channels_last} : (tensor<8x56x56x64xf16>, tensor<64x3x3x64xf16>, tensor<64xf16>) -> tensor<8x56x56x64xf16>
    %2 = nn.add %1, %a3 : (tensor<8x56x56x64xf16>, tensor<8x56x56x64xf16>) -> tensor<8x56x56x64xf16>
    %3 = nn.relu %2 : (tensor<8x56x56x64xf16>) -> tensor<8x56x56x64xf16>
    nn.yield %3 : tensor<8x56x56x64xf16>
  }
  // So does a function of the sum, the bias and the residual, in any order.
  %7 = nn.fusion(%i, %f, %c, %s) : (tensor<8x56x56x64xf16>, tensor<64x3x3x64xf16>, tensor<64xf16>, tensor<8x56x56x64xf16>) -> tensor<8x56x56x64xf16> {
  ^bb0(%a0: tensor<8x56x56x64xf16>, %a1: tensor<64x3x3x64xf16>, %a2: tensor<64xf16>, %a3: tensor<8x56x56x64xf16>):
    %1 = nn.conv %a0, %a1, %a2 {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, channels_last} : (tensor<8x56x56x64xf16>, tensor<64x3x3x64xf16>, tensor<64xf16>) -> tensor<8x56x56x64xf16>
    %2 = nn.relu %1 : (tensor<8x56x56x64xf16>) -> tensor<8x56x56x64xf16>
    %3 = nn.sub %a3, %2 : (tensor<8x56x56x64xf16>, tensor<8x56x56x64xf16>) -> tensor<8x56x56x64xf16>
    nn.yield %3 : tensor<8x56x56x64xf16>
  }
  return
}

// CHECK: // k0 #cuda.cublas_gemm<fallback = #cuda.gemm<tile_m = 64, tile_n = 64>> grid 48x8x1 block 256
// CHECK: // k1 #cuda.gemm<tile_m = 64, tile_n = 64> grid 2x2x48 block 256
// CHECK: // k2 #cuda.cudnn_conv<fallback = #cuda.conv<tile_m = 64, tile_n = 64>> grid 392x1x1 block 256
// OWN: // k0 #cuda.gemm<tile_m = 64, tile_n = 64> grid
// OWN: // k2 #cuda.conv<tile_m = 64, tile_n = 64> grid

// CHECK-LABEL: struct k0_problem {
// CHECK: int64_t m = 512, n = 3072, k = 768, batch = 1;
// CHECK: using Epilogue = frit::Relu;
// CHECK: frit::gemm<k0_problem>(x0, x1, x2, x3, y0);

// CHECK-LABEL: struct k1_epilogue {
// CHECK: return frit::tanh(x * 0.125f);
// CHECK: int64_t strideA = 8192, strideB = 8192, strideD = 16384;
// CHECK-NEXT: bool transposeA = false, transposeB = true;
// CHECK-NEXT: using Epilogue = k1_epilogue;
// CHECK: frit::gemm<k1_problem>(x0, x0, nullptr, nullptr, y0);

// CHECK-LABEL: struct k2_problem {
// CHECK: int n = 8, k = 64, p = 56, q = 56, groups = 1;
// CHECK-NEXT: int c = 64, h = 56, w = 56;
// CHECK: bool channelsLast = true;
// CHECK: frit::conv<k2_problem>(x0, x1, x2, x3, y0);

// CHECK-LABEL: struct k3_epilogue {
// CHECK-NEXT: float operator()(float sum, float bias, float residual) const {
// CHECK-NEXT: sum += bias;
// CHECK-NEXT: return residual - frit::maximum(sum, 0.0f);
