// RUN: frit-opt %s --print-cuda -o /dev/null | FileCheck %s

// The kernels of convolutions take the moments of their results' columns. A
// tile of few pixels is not shared among blocks (split), and cuDNN is no
// alternative.

func.func @convolutions(%i: tensor<8x56x56x64xbf16>, %f: tensor<64x3x3x64xbf16>,
                        %g: tensor<256x1x1x64xbf16>, %s: tensor<4x8x8x1024xbf16>,
                        %d: tensor<256x3x3x1024xbf16>) {
  %0:2 = nn.fusion(%i, %f) : (tensor<8x56x56x64xbf16>, tensor<64x3x3x64xbf16>) -> (tensor<8x56x56x64xbf16>, tensor<2x392x64xf32>) {
  ^bb0(%a0: tensor<8x56x56x64xbf16>, %a1: tensor<64x3x3x64xbf16>):
    %1 = nn.conv %a0, %a1 {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, channels_last} : (tensor<8x56x56x64xbf16>, tensor<64x3x3x64xbf16>) -> tensor<8x56x56x64xbf16>
    %2 = nn.column_moments %1 {height = 64 : si64} : (tensor<8x56x56x64xbf16>) -> tensor<2x392x64xf32>
    nn.yield %1, %2 : tensor<8x56x56x64xbf16>, tensor<2x392x64xf32>
  }
  %3:2 = nn.fusion(%i, %g) : (tensor<8x56x56x64xbf16>, tensor<256x1x1x64xbf16>) -> (tensor<8x56x56x256xbf16>, tensor<2x392x256xf32>) {
  ^bb0(%a0: tensor<8x56x56x64xbf16>, %a1: tensor<256x1x1x64xbf16>):
    %1 = nn.conv %a0, %a1 {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, channels_last} : (tensor<8x56x56x64xbf16>, tensor<256x1x1x64xbf16>) -> tensor<8x56x56x256xbf16>
    %2 = nn.column_moments %1 {height = 64 : si64} : (tensor<8x56x56x256xbf16>) -> tensor<2x392x256xf32>
    nn.yield %1, %2 : tensor<8x56x56x256xbf16>, tensor<2x392x256xf32>
  }
  %4:2 = nn.fusion(%s, %d) : (tensor<4x8x8x1024xbf16>, tensor<256x3x3x1024xbf16>) -> (tensor<4x8x8x256xbf16>, tensor<2x4x256xf32>) {
  ^bb0(%a0: tensor<4x8x8x1024xbf16>, %a1: tensor<256x3x3x1024xbf16>):
    %1 = nn.conv %a0, %a1 {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, channels_last} : (tensor<4x8x8x1024xbf16>, tensor<256x3x3x1024xbf16>) -> tensor<4x8x8x256xbf16>
    %2 = nn.column_moments %1 {height = 64 : si64} : (tensor<4x8x8x256xbf16>) -> tensor<2x4x256xf32>
    nn.yield %1, %2 : tensor<4x8x8x256xbf16>, tensor<2x4x256xf32>
  }
  return
}

// CHECK:      // k0 #cuda.wgmma_conv<
// CHECK:      // k1 #cuda.wgmma_gemm<
// CHECK-NOT:  split
// CHECK:      // k2 #cuda.wgmma_conv<
// CHECK-NOT:  split = {{[248]}}
// CHECK-LABEL: struct k0_problem {
// CHECK:         using Reduce = frit::ColumnMoments;
// CHECK:       frit::wgmmaConv<k0_problem>(&m0, &m1, &m2, nullptr, nullptr, nullptr, y0, {nullptr, nullptr, y1});
// CHECK:       frit::convFloor<k0_problem>(x0, x1, nullptr, nullptr, y0, {nullptr, nullptr, y1});
// CHECK-LABEL: struct k1_problem {
// CHECK:         using Reduce = frit::ColumnMoments;
// CHECK:       frit::wgmmaGemm<k1_problem>(&m0, &m1, &m2, nullptr, nullptr, nullptr, y0, {nullptr, nullptr, y1});
