// RUN: frit-opt %s --print-cuda -o /dev/null | FileCheck %s
// RUN: frit-opt %s --print-cuda=arch=sm_90 -o /dev/null | FileCheck %s --check-prefix=OLDER

// Products that WGMMA on sm_90a supports run on it, with or without libraries.
// The problem, the tensor maps and the launch are those that the skeletons'
// headers require.

func.func @products(%x: tensor<4x128x768xf16>, %w: tensor<768x3072xf16>,
                    %b: tensor<3072xf16>, %r: tensor<4x128x3072xf16>,
                    %q: tensor<4x12x128x64xbf16>, %v: tensor<24x2048xf16>,
                    %f: tensor<1000x2048xf16>, %p: tensor<64x30xf16>) {
  %0 = nn.fusion(%x, %w, %b, %r) {plan.constant_inputs = array<i64: 1, 2>} : (tensor<4x128x768xf16>, tensor<768x3072xf16>, tensor<3072xf16>, tensor<4x128x3072xf16>) -> tensor<4x128x3072xf16> {
  ^bb0(%a0: tensor<4x128x768xf16>, %a1: tensor<768x3072xf16>, %a2: tensor<3072xf16>, %a3: tensor<4x128x3072xf16>):
    %1 = nn.matmul %a0, %a1 : (tensor<4x128x768xf16>, tensor<768x3072xf16>) -> tensor<4x128x3072xf16>
    %2 = nn.add %a2, %1 : (tensor<3072xf16>, tensor<4x128x3072xf16>) -> tensor<4x128x3072xf16>
    %3 = nn.add %2, %a3 : (tensor<4x128x3072xf16>, tensor<4x128x3072xf16>) -> tensor<4x128x3072xf16>
    %4 = nn.gelu %3 : (tensor<4x128x3072xf16>) -> tensor<4x128x3072xf16>
    nn.yield %4 : tensor<4x128x3072xf16>
  }
  // A batch, and a result of a different type.
  %5 = nn.fusion(%q) : (tensor<4x12x128x64xbf16>) -> tensor<4x12x128x128xf32> {
  ^bb0(%a: tensor<4x12x128x64xbf16>):
    %h = nn.constant dense<0.125> : tensor<f32>
    %1 = nn.matmul %a, %a {transpose_b} : (tensor<4x12x128x64xbf16>, tensor<4x12x128x64xbf16>) -> tensor<4x12x128x128xbf16>
    %2 = nn.cast %1 {to = f32} : (tensor<4x12x128x128xbf16>) -> tensor<4x12x128x128xf32>
    %3 = nn.mul %2, %h : (tensor<4x12x128x128xf32>, tensor<f32>) -> tensor<4x12x128x128xf32>
    nn.yield %3 : tensor<4x12x128x128xf32>
  }
  // One row: split-K, because there are few tiles.
  %6 = nn.fusion(%v, %f) : (tensor<24x2048xf16>, tensor<1000x2048xf16>) -> tensor<24x1000xf16> {
  ^bb0(%a0: tensor<24x2048xf16>, %a1: tensor<1000x2048xf16>):
    %1 = nn.matmul %a0, %a1 {transpose_b} : (tensor<24x2048xf16>, tensor<1000x2048xf16>) -> tensor<24x1000xf16>
    nn.yield %1 : tensor<24x1000xf16>
  }
  // Rows of 30 elements are only aligned to 4 bytes: no TMA.
  %7 = nn.fusion(%p) : (tensor<64x30xf16>) -> tensor<64x64xf16> {
  ^bb0(%a: tensor<64x30xf16>):
    %1 = nn.matmul %a, %a {transpose_b} : (tensor<64x30xf16>, tensor<64x30xf16>) -> tensor<64x64xf16>
    nn.yield %1 : tensor<64x64xf16>
  }
  return
}

// CHECK:      // k0 #cuda.wgmma_gemm<tile_m = [[M:[0-9]+]], {{.*}} grid {{[0-9]+}}x1x1 block [[T:[0-9]+]] shared
// CHECK-NEXT: //   m0 of 0: dims 768x512x1, strides 1536x786432, box 64x[[M]]x1
// CHECK-NEXT: //   m1 of 1: dims 3072x768x1, strides 6144x4718592, box 64x64x1
// CHECK:      // k1 #cuda.wgmma_gemm<
// CHECK-NEXT: //   m0 of 0: dims 64x128x48, strides 128x16384, box 64x
// CHECK-NEXT: //   m1 of 0: dims 64x128x48, strides 128x16384, box 64x
// CHECK-NEXT: //   m2 of 1: dims 128x128x48, strides 512x65536, box 32x16x1
// CHECK:      // k2 #cuda.wgmma_gemm<{{.*}}split = [[S:[248]]], raster = 12> grid {{[0-9]+}}x1x1
// CHECK:      // k3 #cuda.cublas_gemm<
// OLDER:      // k0 #cuda.gemm<
// OLDER:      // k2 #cuda.cublas_gemm<

func.func @convolutions(%i: tensor<8x56x56x64xf16>, %f: tensor<64x3x3x64xf16>,
                        %c: tensor<64xf16>, %o: tensor<128xf16>, %s: tensor<8x56x56x64xf16>,
                        %g: tensor<256x1x1x64xf16>, %d: tensor<128x1x1x64xf16>,
                        %t: tensor<8x32x32x3xf16>, %u: tensor<64x7x7x3xf16>,
                        %l: tensor<8x16x16x16xf16>, %m: tensor<64x4x4x16xf16>,
                        %n: tensor<8x16x19x16xf16>, %v: tensor<8x28x28x64xf16>) {
  %0 = nn.fusion(%i, %f, %c, %s) : (tensor<8x56x56x64xf16>, tensor<64x3x3x64xf16>, tensor<64xf16>, tensor<8x56x56x64xf16>) -> tensor<8x56x56x64xf16> {
  ^bb0(%a0: tensor<8x56x56x64xf16>, %a1: tensor<64x3x3x64xf16>, %a2: tensor<64xf16>, %a3: tensor<8x56x56x64xf16>):
    %1 = nn.conv %a0, %a1, %a2 {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, channels_last} : (tensor<8x56x56x64xf16>, tensor<64x3x3x64xf16>, tensor<64xf16>) -> tensor<8x56x56x64xf16>
    %2 = nn.relu %1 : (tensor<8x56x56x64xf16>) -> tensor<8x56x56x64xf16>
    %3 = nn.add %2, %a3 : (tensor<8x56x56x64xf16>, tensor<8x56x56x64xf16>) -> tensor<8x56x56x64xf16>
    nn.yield %3 : tensor<8x56x56x64xf16>
  }
  // A 1 x 1 window is a matrix product.
  %4 = nn.fusion(%i, %g) : (tensor<8x56x56x64xf16>, tensor<256x1x1x64xf16>) -> tensor<8x56x56x256xf16> {
  ^bb0(%a0: tensor<8x56x56x64xf16>, %a1: tensor<256x1x1x64xf16>):
    %1 = nn.conv %a0, %a1 {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, channels_last} : (tensor<8x56x56x64xf16>, tensor<256x1x1x64xf16>) -> tensor<8x56x56x256xf16>
    nn.yield %1 : tensor<8x56x56x256xf16>
  }
  // With a stride, it is not.
  %5 = nn.fusion(%i, %d) : (tensor<8x56x56x64xf16>, tensor<128x1x1x64xf16>) -> tensor<8x28x28x128xf16> {
  ^bb0(%a0: tensor<8x56x56x64xf16>, %a1: tensor<128x1x1x64xf16>):
    %1 = nn.conv %a0, %a1 {strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, channels_last} : (tensor<8x56x56x64xf16>, tensor<128x1x1x64xf16>) -> tensor<8x28x28x128xf16>
    nn.yield %1 : tensor<8x28x28x128xf16>
  }
  // Three channels take 6 bytes: no TMA.
  %6 = nn.fusion(%t, %u) : (tensor<8x32x32x3xf16>, tensor<64x7x7x3xf16>) -> tensor<8x16x16x64xf16> {
  ^bb0(%a0: tensor<8x32x32x3xf16>, %a1: tensor<64x7x7x3xf16>):
    %1 = nn.conv %a0, %a1 {strides = array<i64: 2, 2>, pads = array<i64: 3, 3, 3, 3>, dilations = array<i64: 1, 1>, channels_last} : (tensor<8x32x32x3xf16>, tensor<64x7x7x3xf16>) -> tensor<8x16x16x64xf16>
    nn.yield %1 : tensor<8x16x16x64xf16>
  }
  // Four filter taps of 16 channels fill a pipeline stage.
  %7 = nn.fusion(%l, %m) : (tensor<8x16x16x16xf16>, tensor<64x4x4x16xf16>) -> tensor<8x16x16x64xf16> {
  ^bb0(%a0: tensor<8x16x16x16xf16>, %a1: tensor<64x4x4x16xf16>):
    %1 = nn.conv %a0, %a1 {strides = array<i64: 1, 1>, pads = array<i64: 2, 2, 1, 1>, dilations = array<i64: 1, 1>, channels_last} : (tensor<8x16x16x16xf16>, tensor<64x4x4x16xf16>) -> tensor<8x16x16x64xf16>
    nn.yield %1 : tensor<8x16x16x64xf16>
  }
  // A row of taps that never reaches the padding is read as one.
  %8 = nn.fusion(%n, %m) : (tensor<8x16x19x16xf16>, tensor<64x4x4x16xf16>) -> tensor<8x16x16x64xf16> {
  ^bb0(%a0: tensor<8x16x19x16xf16>, %a1: tensor<64x4x4x16xf16>):
    %1 = nn.conv %a0, %a1 {strides = array<i64: 1, 1>, pads = array<i64: 2, 0, 1, 0>, dilations = array<i64: 1, 1>, channels_last} : (tensor<8x16x19x16xf16>, tensor<64x4x4x16xf16>) -> tensor<8x16x16x64xf16>
    nn.yield %1 : tensor<8x16x16x64xf16>
  }
  // The sum of two convolutions, one with a bias, is one convolution over the
  // steps of both.
  %9 = nn.fusion(%i, %d, %v, %d, %o) {plan.constant_inputs = array<i64: 1, 3, 4>} : (tensor<8x56x56x64xf16>, tensor<128x1x1x64xf16>, tensor<8x28x28x64xf16>, tensor<128x1x1x64xf16>, tensor<128xf16>) -> tensor<8x28x28x128xf16> {
  ^bb0(%a0: tensor<8x56x56x64xf16>, %a1: tensor<128x1x1x64xf16>, %a2: tensor<8x28x28x64xf16>, %a3: tensor<128x1x1x64xf16>, %a4: tensor<128xf16>):
    %1 = nn.conv %a0, %a1 {strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, channels_last} : (tensor<8x56x56x64xf16>, tensor<128x1x1x64xf16>) -> tensor<8x28x28x128xf16>
    %2 = nn.conv %a2, %a3, %a4 {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, channels_last} : (tensor<8x28x28x64xf16>, tensor<128x1x1x64xf16>, tensor<128xf16>) -> tensor<8x28x28x128xf16>
    %3 = nn.add %2, %1 : (tensor<8x28x28x128xf16>, tensor<8x28x28x128xf16>) -> tensor<8x28x28x128xf16>
    %10 = nn.relu %3 : (tensor<8x28x28x128xf16>) -> tensor<8x28x28x128xf16>
    nn.yield %10 : tensor<8x28x28x128xf16>
  }
  return
}

// CHECK:      // k4 #cuda.wgmma_conv<tile_m = [[M:[0-9]+]], tile_n = [[N:[0-9]+]]
// CHECK-NEXT: //   m0 of 0: dims 64x56x56x8, strides 128x7168x401408, steps 1x1x1x1, lower -1x-1, upper -1x-1, channels 64, pixels [[M]]
// CHECK-NEXT: //   m1 of 1: dims 64x9x64, strides 128x1152, box 64x1x[[N]]
// CHECK:      // k5 #cuda.wgmma_gemm<
// CHECK-NEXT: //   m0 of 0: dims 64x25088x1
// CHECK:      // k6 #cuda.wgmma_conv<
// CHECK-NEXT: //   m0 of 0: dims 64x56x56x8, {{.*}}, steps 1x2x2x1, lower 0x0, upper -1x-1
// CHECK:      // k7 #cuda.cudnn_conv<
// CHECK:      // k8 #cuda.wgmma_conv<
// CHECK-NEXT: //   m0 of 0: dims 16x16x16x8, {{.*}} lower -2x-2, upper -2x-2, channels 16
// CHECK-NEXT: //   m1 of 1: dims 256x1x64, strides 512x512, box 64x1x64
// CHECK:      // k9 #cuda.wgmma_conv<
// CHECK-NEXT: //   m0 of 0: dims 64x16x16x8, strides 32x608x9728, {{.*}} lower 0x-2, upper 0x-2, channels 64
// CHECK-NEXT: //   m1 of 1: dims 256x1x64, strides 512x512, box 64x1x64
// CHECK:      // k10 #cuda.wgmma_conv<
// CHECK-NEXT: //   m0 of 0: dims 64x56x56x8, {{.*}}, steps 1x2x2x1, lower 0x0, upper -1x-1
// CHECK-NEXT: //   m1 of 1: dims 64x1x128
// CHECK-NEXT: //   m2 of 2: dims 64x28x28x8, {{.*}}, steps 1x1x1x1, lower 0x0, upper 0x0
// CHECK-NEXT: //   m3 of 3: dims 64x1x128
// CHECK-NEXT: //   m4 of 5: dims 128x6272x1
// OLDER:      // k4 #cuda.conv<

// CHECK-LABEL: struct k0_problem {
// CHECK:         int64_t m = 512, n = 3072, k = 768, batch = 1;
// CHECK:         using Epilogue = frit::GeluTo16Bits;
// CHECK-NEXT:    int tileM =
// CHECK-NEXT:    int stages =
// CHECK-NEXT:    bool pingPong = {{true|false}};
// CHECK-NEXT:    bool constantB = true;
// CHECK:       __global__ void {{.*}}__launch_bounds__({{[0-9]+}}, {{[12]}})
// CHECK-NEXT:  k0(const frit::f16 *x0, const frit::f16 *x1, const frit::f16 *x2, const frit::f16 *x3, frit::f16 *y0, const __grid_constant__ frit::TensorMap m0, const __grid_constant__ frit::TensorMap m1
// CHECK-NEXT:  #ifdef FRIT_HAS_WGMMA
// CHECK-NEXT:    frit::wgmmaGemm<k0_problem>(&m0, &m1, {{.*}}, frit::present(x2), frit::present(x3), y0);
// CHECK-NEXT:  #else
// CHECK-NEXT:    frit::gemmFloor<k0_problem>(x0, x1, frit::present(x2), frit::present(x3), y0);

// CHECK-LABEL: struct k1_epilogue {
// CHECK:         return sum * 0.125f;
// CHECK:         using D = float;
// CHECK:         bool constantB = false;
// CHECK:         frit::wgmmaGemm<k1_problem>(&m0, &m1, &m2, nullptr, nullptr, nullptr, y0);

// CHECK-LABEL: struct k2_problem {
// CHECK:       __cluster_dims__([[S]], 1, 1)
// CHECK:         frit::wgmmaGemm<k2_problem>(&m0, &m1, {{.*}}, nullptr, nullptr, nullptr, y0);

// CHECK-LABEL: struct k4_epilogue {
// CHECK:         return frit::maximum(sum, 0.0f) + residual;
// CHECK:         frit::wgmmaConv<k4_problem>(&m0, &m1, {{.*}}, frit::present(x2), frit::present(x3), y0);
// CHECK:         frit::convFloor<k4_problem>(x0, x1, frit::present(x2), frit::present(x3), y0);

// CHECK-LABEL: struct k10_problem {
// CHECK:         int n = 8, k = 128, p = 28, q = 28, groups = 1;
// CHECK-NEXT:    int c = 64, h = 56, w = 56;
// CHECK:         strideH = 2, strideW = 2
// CHECK:         bool constantB = true;
// CHECK:       struct k10_addend : k10_problem {
// CHECK-NEXT:    int c = 64, h = 28, w = 28;
// CHECK:         strideH = 1, strideW = 1
// CHECK:         frit::wgmmaConvSum<k10_problem, k10_addend>(&m0, &m1, &m2, &m3, &m4, nullptr, frit::present(x4), nullptr, y0);
// CHECK:         frit::convSumFloor<k10_problem, k10_addend>(x0, x1, x2, x3, frit::present(x4), nullptr, y0);
