// RUN: frit-opt %s --print-cuda -o /dev/null | FileCheck %s

// On sm_90a, a convolution and the pointwise convolution that reads its result
// are one kernel. Its launch and tensor maps are those that conv_b2b.cuh
// requires.

func.func @chains(%x: tensor<32x56x56x64xf16>, %w: tensor<64x3x3x64xf16>,
                  %b: tensor<64xf16>, %v: tensor<256x1x1x64xf16>,
                  %c: tensor<256xf16>, %r: tensor<32x56x56x256xf16>,
                  %y: tensor<4x300x100x8xbf16>, %u: tensor<64x3x5x8xbf16>,
                  %t: tensor<64x1x1x64xbf16>) {
  %0 = nn.fusion(%x, %w, %v, %b, %c, %r) {plan.constant_inputs = array<i64: 1, 2, 3, 4>} : (tensor<32x56x56x64xf16>, tensor<64x3x3x64xf16>, tensor<256x1x1x64xf16>, tensor<64xf16>, tensor<256xf16>, tensor<32x56x56x256xf16>) -> tensor<32x56x56x256xf16> {
  ^bb0(%a0: tensor<32x56x56x64xf16>, %a1: tensor<64x3x3x64xf16>, %a2: tensor<256x1x1x64xf16>, %a3: tensor<64xf16>, %a4: tensor<256xf16>, %a5: tensor<32x56x56x256xf16>):
    %1 = nn.conv %a0, %a1, %a3 {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, channels_last} : (tensor<32x56x56x64xf16>, tensor<64x3x3x64xf16>, tensor<64xf16>) -> tensor<32x56x56x64xf16>
    %2 = nn.relu %1 : (tensor<32x56x56x64xf16>) -> tensor<32x56x56x64xf16>
    %3 = nn.conv %2, %a2, %a4 {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, channels_last} : (tensor<32x56x56x64xf16>, tensor<256x1x1x64xf16>, tensor<256xf16>) -> tensor<32x56x56x256xf16>
    %4 = nn.add %3, %a5 : (tensor<32x56x56x256xf16>, tensor<32x56x56x256xf16>) -> tensor<32x56x56x256xf16>
    %5 = nn.relu %4 : (tensor<32x56x56x256xf16>) -> tensor<32x56x56x256xf16>
    nn.yield %5 : tensor<32x56x56x256xf16>
  }
  // A row takes two tiles, the second of 36 pixels. No bias, no residual.
  %6 = nn.fusion(%y, %u, %t) : (tensor<4x300x100x8xbf16>, tensor<64x3x5x8xbf16>, tensor<64x1x1x64xbf16>) -> tensor<4x298x100x64xbf16> {
  ^bb0(%a0: tensor<4x300x100x8xbf16>, %a1: tensor<64x3x5x8xbf16>, %a2: tensor<64x1x1x64xbf16>):
    %1 = nn.conv %a0, %a1 {strides = array<i64: 1, 1>, pads = array<i64: 0, 2, 0, 2>, dilations = array<i64: 1, 1>, channels_last} : (tensor<4x300x100x8xbf16>, tensor<64x3x5x8xbf16>) -> tensor<4x298x100x64xbf16>
    %2 = nn.silu %1 : (tensor<4x298x100x64xbf16>) -> tensor<4x298x100x64xbf16>
    %3 = nn.conv %2, %a2 {strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, channels_last} : (tensor<4x298x100x64xbf16>, tensor<64x1x1x64xbf16>) -> tensor<4x298x100x64xbf16>
    nn.yield %3 : tensor<4x298x100x64xbf16>
  }
  return
}

// CHECK:      // k0 #cuda.conv_b2b<warpgroups = 2, stages = 6, slots = 4, columns = 128, blocks = 132> grid 132x1x1 block [[T:[0-9]+]] shared
// CHECK-NEXT: //   m0 of 0: dims 64x56x56x32, strides 128x7168x401408, box 64x58x1x1
// CHECK-NEXT: //   m1 of 1: dims 64x9x64, strides 128x1152, box 64x1x64
// CHECK-NEXT: //   m2 of 2: dims 64x256x1, strides 128x32768, box 64x64x1
// CHECK-NEXT: //   m3 of 6: dims 256x56x1792, strides 512x28672, box 64x16x1
// CHECK-NEXT: //   m4 of 5: dims 256x56x1792, strides 512x28672, box 64x16x1
// CHECK:      // k1 #cuda.conv_b2b<
// CHECK-NEXT: //   m0 of 0: dims 8x100x300x4, strides 16x1600x480000, box 64x68x1x1
// CHECK-NEXT: //   m1 of 1: dims 8x15x64, strides 16x240, box 64x1x64
// CHECK-NEXT: //   m2 of 2: dims 64x64x1, strides 128x8192, box 64x64x1
// CHECK-NEXT: //   m3 of 3: dims 64x100x1192, strides 128x12800, box 64x16x1

// CHECK-LABEL: struct k0_problem {
// CHECK:         using T = frit::f16;
// CHECK-NEXT:    using D = frit::f16;
// CHECK-NEXT:    using Bias = frit::f16;
// CHECK:         using LastBias = frit::f16;
// CHECK-NEXT:    using Epilogue = frit::Relu;
// CHECK-NEXT:    using Last = frit::Relu;
// CHECK-NEXT:    int filters = 256;
// CHECK-NEXT:    int warpgroups =
// CHECK-NEXT:    bool constantB = true;
// CHECK:       #ifdef FRIT_HAS_WGMMA
// CHECK-NEXT:    frit::convB2b<k0_problem>(&m0, &m1, &m2, &m3, &m4, frit::present(x3), frit::present(x4), frit::present(x5), y0);
// CHECK-NEXT:  #else
// CHECK-NEXT:    frit::convB2bFloor<k0_problem>(x0, x1, x2, frit::present(x3), frit::present(x4), frit::present(x5), y0);

// CHECK-LABEL: struct k1_problem {
// CHECK:         using Epilogue = frit::Silu;
// CHECK-NEXT:    using Last = frit::Identity;
// CHECK:         bool constantB = false;
// CHECK:         frit::convB2b<k1_problem>(&m0, &m1, &m2, &m3, nullptr, nullptr, nullptr, nullptr, y0);
