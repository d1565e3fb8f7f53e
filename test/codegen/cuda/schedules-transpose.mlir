// RUN: frit-opt %s --split-input-file --print-cuda -o /dev/null | FileCheck %s

// Kernels have the numbers of schedules that are written by hand: transposes.

// Tiles of pairs and of single elements.
// CHECK: // k0 #cuda.transpose<tile_rows = 64, tile_cols = 32, load_vector = 8, store_vector = 4, word = 2> grid 6x1x1 block 256
// CHECK: // k1 #cuda.transpose<tile_rows = 32, tile_cols = 64, load_vector = 2, store_vector = 8> grid 8x1x1 block 256
// CHECK: __launch_bounds__(256)
// CHECK: frit::transpose<k0_body, 64, 32, 8, 4, 2>({x0, y0}, 2, 64, 96, 96, 64);
// CHECK: __launch_bounds__(256)
// CHECK: frit::transpose<k1_body, 32, 64, 2, 8, 1>({x0, y0}, 2, 64, 96, 96, 64);
func.func @transpose(%x: tensor<2x64x96xf16>) {
  %p = nn.fusion(%x) schedule(#cuda.transpose<tile_rows = 64, tile_cols = 32, load_vector = 8, store_vector = 4, word = 2>) : (tensor<2x64x96xf16>) -> tensor<2x96x64xf16> {
  ^bb0(%a: tensor<2x64x96xf16>):
    %1 = nn.transpose %a {perm = array<i64: 0, 2, 1>} : (tensor<2x64x96xf16>) -> tensor<2x96x64xf16>
    nn.yield %1 : tensor<2x96x64xf16>
  }
  %q = nn.fusion(%x) schedule(#cuda.transpose<tile_rows = 32, tile_cols = 64, load_vector = 2, store_vector = 8>) : (tensor<2x64x96xf16>) -> tensor<2x96x64xf16> {
  ^bb0(%a: tensor<2x64x96xf16>):
    %1 = nn.transpose %a {perm = array<i64: 0, 2, 1>} : (tensor<2x64x96xf16>) -> tensor<2x96x64xf16>
    nn.yield %1 : tensor<2x96x64xf16>
  }
  return
}

// -----

// Tiles of three rows, 1344 and 512 columns long.
// CHECK: // k0 #cuda.transpose_flat<length = 1344, width = 3, load_vector = 4, store_vector = 4> grid 16x1x1 block 256
// CHECK: // k1 #cuda.transpose_flat<length = 512, width = 3, load_vector = 2, store_vector = 1> grid 32x1x1 block 256
// CHECK: __launch_bounds__(256)
// CHECK: frit::transposeFlat<k0_body, 1344, 3, 4, 4, false>({x0, y0}, 4096, 4096);
// CHECK: __launch_bounds__(256)
// CHECK: frit::transposeFlat<k1_body, 512, 3, 2, 1, false>({x0, y0}, 4096, 4096);
func.func @transpose_flat(%x: tensor<4x3x4096xf32>) {
  %p = nn.fusion(%x) schedule(#cuda.transpose_flat<length = 1344, width = 3, load_vector = 4, store_vector = 4>) : (tensor<4x3x4096xf32>) -> tensor<4x4096x3xf32> {
  ^bb0(%a: tensor<4x3x4096xf32>):
    %1 = nn.transpose %a {perm = array<i64: 0, 2, 1>} : (tensor<4x3x4096xf32>) -> tensor<4x4096x3xf32>
    nn.yield %1 : tensor<4x4096x3xf32>
  }
  %q = nn.fusion(%x) schedule(#cuda.transpose_flat<length = 512, width = 3, load_vector = 2, store_vector = 1>) : (tensor<4x3x4096xf32>) -> tensor<4x4096x3xf32> {
  ^bb0(%a: tensor<4x3x4096xf32>):
    %1 = nn.transpose %a {perm = array<i64: 0, 2, 1>} : (tensor<4x3x4096xf32>) -> tensor<4x4096x3xf32>
    nn.yield %1 : tensor<4x4096x3xf32>
  }
  return
}

// -----

// Tiles of 16 by 8 runs, and of 4 by 2.
// CHECK: // k0 #cuda.transpose_runs<unit = 2, tile_rows = 16, tile_cols = 8, aligned = true> grid 96x1x1 block 256
// CHECK: // k1 #cuda.transpose_runs<unit = 2, tile_rows = 4, tile_cols = 2> grid 1536x1x1 block 256
// CHECK: __launch_bounds__(256)
// CHECK: frit::transposeRuns<k0_body, uint16_t, 33, 16, 8, true>({x0, y0}, 64, 64, 2112, 2112, 405504);
// CHECK: __launch_bounds__(256)
// CHECK: frit::transposeRuns<k1_body, uint16_t, 33, 4, 2>({x0, y0}, 64, 64, 2112, 2112, 405504);
func.func @transpose_runs(%x: tensor<3x64x64x33xf16>) {
  %p = nn.fusion(%x) schedule(#cuda.transpose_runs<unit = 2, tile_rows = 16, tile_cols = 8, aligned = true>) : (tensor<3x64x64x33xf16>) -> tensor<3x64x64x33xf16> {
  ^bb0(%a: tensor<3x64x64x33xf16>):
    %1 = nn.transpose %a {perm = array<i64: 0, 2, 1, 3>} : (tensor<3x64x64x33xf16>) -> tensor<3x64x64x33xf16>
    nn.yield %1 : tensor<3x64x64x33xf16>
  }
  %q = nn.fusion(%x) schedule(#cuda.transpose_runs<unit = 2, tile_rows = 4, tile_cols = 2>) : (tensor<3x64x64x33xf16>) -> tensor<3x64x64x33xf16> {
  ^bb0(%a: tensor<3x64x64x33xf16>):
    %1 = nn.transpose %a {perm = array<i64: 0, 2, 1, 3>} : (tensor<3x64x64x33xf16>) -> tensor<3x64x64x33xf16>
    nn.yield %1 : tensor<3x64x64x33xf16>
  }
  return
}

// -----

// Tiles that write 96 rows, and 80.
// CHECK: // k0 #cuda.transpose_skewed<rows = 96, occupancy = 4> grid 440x1x1 block 384 shared
// CHECK: // k1 #cuda.transpose_skewed<rows = 80, occupancy = 3> grid 520x1x1 block 320 shared
// CHECK: __launch_bounds__(384, 4)
// CHECK: frit::transposeSkewed<k0_body, 128, 96>({x0, y0}, 1021, 515, 515, 1021, 4206520);
// CHECK: __launch_bounds__(320, 3)
// CHECK: frit::transposeSkewed<k1_body, 128, 80>({x0, y0}, 1021, 515, 515, 1021, 4206520);
func.func @transpose_skewed(%x: tensor<8x1021x515xbf16>) {
  %p = nn.fusion(%x) schedule(#cuda.transpose_skewed<rows = 96, occupancy = 4>) : (tensor<8x1021x515xbf16>) -> tensor<8x515x1021xbf16> {
  ^bb0(%a: tensor<8x1021x515xbf16>):
    %1 = nn.transpose %a {perm = array<i64: 0, 2, 1>} : (tensor<8x1021x515xbf16>) -> tensor<8x515x1021xbf16>
    nn.yield %1 : tensor<8x515x1021xbf16>
  }
  %q = nn.fusion(%x) schedule(#cuda.transpose_skewed<rows = 80, occupancy = 3>) : (tensor<8x1021x515xbf16>) -> tensor<8x515x1021xbf16> {
  ^bb0(%a: tensor<8x1021x515xbf16>):
    %1 = nn.transpose %a {perm = array<i64: 0, 2, 1>} : (tensor<8x1021x515xbf16>) -> tensor<8x515x1021xbf16>
    nn.yield %1 : tensor<8x515x1021xbf16>
  }
  return
}

// -----

// Bytes, which a body may change.
// CHECK: // k0 #cuda.transpose_bytes<occupancy = 4> grid 12x1x1 block 256
// CHECK: // k1 #cuda.transpose_bytes<occupancy = 6> grid 12x1x1 block 256
// CHECK: void load(Held (&e)[16], size_t i) const {
// CHECK-NEXT: frit::copyVector(e, x0 + i);
// CHECK: return batch * 36864;
// CHECK: __launch_bounds__(256, 4)
// CHECK: frit::transposeBytes<k0_body>({x0, y0}, 3, 144, 256, 256, 144);
// CHECK: e[v] = int8_t(a0[v] & 7);
// CHECK: __launch_bounds__(256, 6)
// CHECK: frit::transposeBytes<k1_body>({x0, y0}, 3, 144, 256, 256, 144);
func.func @transpose_bytes(%x: tensor<3x144x256xi8>) {
  %p = nn.fusion(%x) schedule(#cuda.transpose_bytes<occupancy = 4>) : (tensor<3x144x256xi8>) -> tensor<3x256x144xi8> {
  ^bb0(%a: tensor<3x144x256xi8>):
    %1 = nn.transpose %a {perm = array<i64: 0, 2, 1>} : (tensor<3x144x256xi8>) -> tensor<3x256x144xi8>
    nn.yield %1 : tensor<3x256x144xi8>
  }
  %q = nn.fusion(%x) schedule(#cuda.transpose_bytes<occupancy = 6>) : (tensor<3x144x256xi8>) -> tensor<3x256x144xi8> {
  ^bb0(%a: tensor<3x144x256xi8>):
    %c = nn.constant dense<7> : tensor<i8>
    %0 = nn.bitwise_and %a, %c : (tensor<3x144x256xi8>, tensor<i8>) -> tensor<3x144x256xi8>
    %1 = nn.transpose %0 {perm = array<i64: 0, 2, 1>} : (tensor<3x144x256xi8>) -> tensor<3x256x144xi8>
    nn.yield %1 : tensor<3x256x144xi8>
  }
  return
}

// -----

// Tiles of all rows, by 256 and by 384 threads.
// CHECK: // k0 #cuda.transpose_skewed_flat<threads = 256, occupancy = 6> grid 30x1x1 block 256 shared
// CHECK: // k1 #cuda.transpose_skewed_flat<threads = 384, occupancy = 3> grid 30x1x1 block 384 shared
// CHECK: __launch_bounds__(256, 6)
// CHECK: frit::transposeSkewedFlat<k0_body, 64, 129, 256>({x0, y0}, 515, 515, 199305);
// CHECK: __launch_bounds__(384, 3)
// CHECK: frit::transposeSkewedFlat<k1_body, 64, 129, 384>({x0, y0}, 515, 515, 199305);
func.func @transpose_skewed_flat(%x: tensor<3x129x515xf16>) {
  %p = nn.fusion(%x) schedule(#cuda.transpose_skewed_flat<threads = 256, occupancy = 6>) : (tensor<3x129x515xf16>) -> tensor<3x515x129xf16> {
  ^bb0(%a: tensor<3x129x515xf16>):
    %1 = nn.transpose %a {perm = array<i64: 0, 2, 1>} : (tensor<3x129x515xf16>) -> tensor<3x515x129xf16>
    nn.yield %1 : tensor<3x515x129xf16>
  }
  %q = nn.fusion(%x) schedule(#cuda.transpose_skewed_flat<threads = 384, occupancy = 3>) : (tensor<3x129x515xf16>) -> tensor<3x515x129xf16> {
  ^bb0(%a: tensor<3x129x515xf16>):
    %1 = nn.transpose %a {perm = array<i64: 0, 2, 1>} : (tensor<3x129x515xf16>) -> tensor<3x515x129xf16>
    nn.yield %1 : tensor<3x515x129xf16>
  }
  return
}
