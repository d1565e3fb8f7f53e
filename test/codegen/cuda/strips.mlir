// RUN: frit-opt %s --print-cuda -o /dev/null | FileCheck %s

// Windows that overlap along the height of an image, channels last. A thread
// computes a strip of vertically adjacent outputs; it reads and combines each
// input row once for all of them.
func.func @strips(%x: tensor<128x35x35x288xf16>, %y: tensor<32x112x112x64xf16>,
                  %z: tensor<64x75x73x192xf16>, %w: tensor<128x56x56x128xf16>,
                  %v: tensor<32x112x112x64xui8>) {
  %0 = nn.fusion(%x) : (tensor<128x35x35x288xf16>) -> tensor<128x35x35x288xf16> {
  ^bb0(%a: tensor<128x35x35x288xf16>):
    %1 = nn.avg_pool %a {window = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, shape = array<i64: 35, 35>, channels_last} : (tensor<128x35x35x288xf16>) -> tensor<128x35x35x288xf16>
    nn.yield %1 : tensor<128x35x35x288xf16>
  }
  %2 = nn.fusion(%y) : (tensor<32x112x112x64xf16>) -> tensor<32x56x56x64xf16> {
  ^bb0(%a: tensor<32x112x112x64xf16>):
    %1 = nn.max_pool %a {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, shape = array<i64: 56, 56>, channels_last} : (tensor<32x112x112x64xf16>) -> tensor<32x56x56x64xf16>
    %3 = nn.relu %1 : (tensor<32x56x56x64xf16>) -> tensor<32x56x56x64xf16>
    nn.yield %3 : tensor<32x56x56x64xf16>
  }
  // The last of eight strips overlaps the one before.
  %4 = nn.fusion(%z) : (tensor<64x75x73x192xf16>) -> tensor<64x37x36x192xf16> {
  ^bb0(%a: tensor<64x75x73x192xf16>):
    %1 = nn.max_pool %a {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, shape = array<i64: 37, 36>, channels_last} : (tensor<64x75x73x192xf16>) -> tensor<64x37x36x192xf16>
    nn.yield %1 : tensor<64x37x36x192xf16>
  }
  // Windows that do not overlap have no rows in common.
  %5 = nn.fusion(%w) : (tensor<128x56x56x128xf16>) -> tensor<128x28x28x128xf16> {
  ^bb0(%a: tensor<128x56x56x128xf16>):
    %1 = nn.avg_pool %a {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, shape = array<i64: 28, 28>, channels_last} : (tensor<128x56x56x128xf16>) -> tensor<128x28x28x128xf16>
    nn.yield %1 : tensor<128x28x28x128xf16>
  }
  // Bytes are combined in any order, too.
  %6 = nn.fusion(%v) : (tensor<32x112x112x64xui8>) -> tensor<32x56x56x64xui8> {
  ^bb0(%a: tensor<32x112x112x64xui8>):
    %1 = nn.max_pool %a {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, shape = array<i64: 56, 56>, channels_last} : (tensor<32x112x112x64xui8>) -> tensor<32x56x56x64xui8>
    nn.yield %1 : tensor<32x56x56x64xui8>
  }
  return
}

// CHECK: // k0 #cuda.strips<dim = 1, length = 5, vector = 8, threads = 128, occupancy = 5> grid 8820x1x1 block 128
// CHECK: // k1 #cuda.strips<dim = 1, length = 4, vector = 8, threads = 128, occupancy = 5> grid 1568x1x1 block 128
// CHECK: // k2 #cuda.strips<dim = 1, length = 5, vector = 8, threads = 128, occupancy = 6, split = true>
// CHECK: // k3 #cuda.generic<vector = 8, threads = 256> grid
// CHECK: // k4 #cuda.strips<dim = 1, length = 4, vector = 8, threads = 128, occupancy = 5> grid 1568x1x1 block 128

// Of seven rows, only the outermost may be padding. Two rows beyond an output's
// own are loaded before it is stored.
// CHECK-LABEL: struct k0_body {
// CHECK: unsigned first = i / 10080 % 7 * 5;
// CHECK-NEXT: float part0[8];
// CHECK: part0[v] = ({{v[0-9]+}} ? a0[v] : 0.0f) + ({{v[0-9]+}} ? a1[v] : 0.0f) + (
// CHECK: float part1[8];
// CHECK-NEXT: float a3[8];
// CHECK-NEXT: frit::loadVector(a3, x0 + i / 70560 * 352800 + first * 10080 +
// CHECK: + a4[v] +
// CHECK: float part4[8];
// CHECK-NOT: part5
// CHECK: float [[SHARE:v[0-9]+]] = 1.0f / float(
// CHECK: out0_0[v] = (0.0f + part0[v] + part1[v] + part2[v]) * [[SHARE]];
// CHECK: frit::storeVector(y0 + i / 70560 * 352800 + first * 10080 + i % 10080, out0_0);
// CHECK-NEXT: float part5[8];
// CHECK: float part6[8];
// CHECK: a20[v]
// CHECK-NOT: loadVector
// CHECK: frit::storeVector({{.*}} + 40320, out0_4);
// CHECK-NOT: storeVector
// CHECK: __launch_bounds__(128, 5)
// CHECK: frit::map<8>(k0_body{x0, y0}, 9031680u);

// CHECK-LABEL: struct k1_body {
// CHECK: float part8[8];
// CHECK-NOT: part9
// CHECK: out0_3[v] = frit::maximum({{v[0-9]+}}, 0.0f);

// CHECK-LABEL: struct k2_body {
// Neighbouring threads read one cache line of a pixel, then of the next pixel.
// CHECK: unsigned at = i / 6912 * 6912 + i % 6912 / 2304 * 64 + i / 64 % 36 * 192 + i % 64;
// CHECK-NEXT: unsigned first = frit::minimum<unsigned>(at / 6912 % 8 * 5, 32);
// CHECK: __launch_bounds__(128, 6)

// CHECK-LABEL: struct k3_body {
// CHECK-NOT: part0
// CHECK: frit::storeVector(y0 + i, out0);

// The largest bytes of a window are found four at a time.
// CHECK-LABEL: struct k4_body {
// CHECK: uint32_t part0[2];
// CHECK: uint32_t a0[2];
// CHECK-NEXT: frit::loadWords(a0, x0 +
// CHECK: frit::extremesOfBytes<uint8_t, true>(part0, a0, a1, a2);
// CHECK: uint32_t out0_0[2];
// CHECK-NEXT: frit::extremesOfBytes<uint8_t, true>(out0_0, 0, part0, part1, part2);
// CHECK-NEXT: frit::storeWords(y0 +
