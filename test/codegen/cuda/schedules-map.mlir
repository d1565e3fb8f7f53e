// RUN: frit-opt %s --split-input-file --print-cuda -o /dev/null | FileCheck %s

// Kernels have the numbers of schedules that are written by hand: fusions whose
// threads work independently.

// Strips of five outputs, of three, and with one cache line of many pixels.
// CHECK: // k0 #cuda.strips<dim = 1, length = 5, vector = 8, threads = 128, occupancy = 5> grid 45x1x1 block 128
// CHECK: // k1 #cuda.strips<dim = 1, length = 3, vector = 4, threads = 64> grid 300x1x1 block 64
// CHECK: // k2 #cuda.strips<dim = 1, length = 5, vector = 8, threads = 128, occupancy = 5, split = true> grid 45x1x1 block 128
// CHECK: unsigned first = i / 1920 % 3 * 5;
// CHECK: __launch_bounds__(128, 5)
// CHECK: frit::map<8>(k0_body{x0, y0}, 46080u);
// CHECK: unsigned first = i / 1920 % 5 * 3;
// CHECK: __launch_bounds__(64)
// CHECK: frit::map<4>(k1_body{x0, y0}, 76800u);
// CHECK: unsigned at = i / 1920 * 1920 + i % 1920 / 960 * 64 + i / 64 % 15 * 128 + i % 64;
// CHECK: unsigned first = at / 1920 % 3 * 5;
// CHECK: __launch_bounds__(128, 5)
// CHECK: frit::map<8>(k2_body{x0, y0}, 46080u);
func.func @strips(%x: tensor<8x15x15x128xf16>) {
  %p = nn.fusion(%x) schedule(#cuda.strips<dim = 1, length = 5, vector = 8, threads = 128, occupancy = 5>) : (tensor<8x15x15x128xf16>) -> tensor<8x15x15x128xf16> {
  ^bb0(%a: tensor<8x15x15x128xf16>):
    %1 = nn.avg_pool %a {window = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, shape = array<i64: 15, 15>, channels_last} : (tensor<8x15x15x128xf16>) -> tensor<8x15x15x128xf16>
    nn.yield %1 : tensor<8x15x15x128xf16>
  }
  %q = nn.fusion(%x) schedule(#cuda.strips<dim = 1, length = 3, vector = 4, threads = 64>) : (tensor<8x15x15x128xf16>) -> tensor<8x15x15x128xf16> {
  ^bb0(%a: tensor<8x15x15x128xf16>):
    %1 = nn.avg_pool %a {window = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, shape = array<i64: 15, 15>, channels_last} : (tensor<8x15x15x128xf16>) -> tensor<8x15x15x128xf16>
    nn.yield %1 : tensor<8x15x15x128xf16>
  }
  %r = nn.fusion(%x) schedule(#cuda.strips<dim = 1, length = 5, vector = 8, threads = 128, occupancy = 5, split = true>) : (tensor<8x15x15x128xf16>) -> tensor<8x15x15x128xf16> {
  ^bb0(%a: tensor<8x15x15x128xf16>):
    %1 = nn.avg_pool %a {window = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, shape = array<i64: 15, 15>, channels_last} : (tensor<8x15x15x128xf16>) -> tensor<8x15x15x128xf16>
    nn.yield %1 : tensor<8x15x15x128xf16>
  }
  return
}

// -----

// Four outputs of a thread, and two.
// CHECK: // k0 #cuda.windows<width = 4, threads = 256> grid 16x1x1 block 256
// CHECK: // k1 #cuda.windows<width = 2, threads = 64> grid 128x1x1 block 64
// CHECK: unsigned group = i / 4;
// CHECK: __launch_bounds__(256)
// CHECK: frit::map<4>(k0_body{x0, y0}, 16384u);
// CHECK: unsigned group = i / 2;
// CHECK: __launch_bounds__(64)
// CHECK: frit::map<2>(k1_body{x0, y0}, 16384u);
func.func @windows(%x: tensor<4x8x32x64xf16>) {
  %p = nn.fusion(%x) schedule(#cuda.windows<width = 4, threads = 256>) : (tensor<4x8x32x64xf16>) -> tensor<4x8x16x32xf16> {
  ^bb0(%a: tensor<4x8x32x64xf16>):
    %1 = nn.max_pool %a {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, shape = array<i64: 16, 32>} : (tensor<4x8x32x64xf16>) -> tensor<4x8x16x32xf16>
    nn.yield %1 : tensor<4x8x16x32xf16>
  }
  %q = nn.fusion(%x) schedule(#cuda.windows<width = 2, threads = 64>) : (tensor<4x8x32x64xf16>) -> tensor<4x8x16x32xf16> {
  ^bb0(%a: tensor<4x8x32x64xf16>):
    %1 = nn.max_pool %a {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, shape = array<i64: 16, 32>} : (tensor<4x8x32x64xf16>) -> tensor<4x8x16x32xf16>
    nn.yield %1 : tensor<4x8x16x32xf16>
  }
  return
}

// -----

// Four neighbouring columns of a thread, and two that are 64 apart.
// CHECK: // k0 #cuda.generic<vector = 4, threads = 32> grid 1x1x1 block 32
// CHECK: // k1 #cuda.generic<interleave = 2, threads = 64> grid 1x1x1 block 64
// CHECK: __launch_bounds__(32)
// CHECK: frit::map<4>(k0_body{x0, y0}, 40u);
// CHECK: y0[i + v * 64]
// CHECK: __launch_bounds__(64)
// CHECK: frit::mapApart<2>(k1_body{x0, y0}, 40u);
func.func @generic(%x: tensor<64x40xf32>) {
  %p = nn.fusion(%x) schedule(#cuda.generic<vector = 4, threads = 32>) : (tensor<64x40xf32>) -> tensor<1x40xf32> {
  ^bb0(%a: tensor<64x40xf32>):
    %1 = nn.reduce %a {kind = #nn<combiner max>, axes = array<i64: 0>} : (tensor<64x40xf32>) -> tensor<1x40xf32>
    nn.yield %1 : tensor<1x40xf32>
  }
  %q = nn.fusion(%x) schedule(#cuda.generic<interleave = 2, threads = 64>) : (tensor<64x40xf32>) -> tensor<1x40xf32> {
  ^bb0(%a: tensor<64x40xf32>):
    %1 = nn.reduce %a {kind = #nn<combiner max>, axes = array<i64: 0>} : (tensor<64x40xf32>) -> tensor<1x40xf32>
    nn.yield %1 : tensor<1x40xf32>
  }
  return
}
