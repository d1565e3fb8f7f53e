// RUN: frit-opt %s --print-cuda -o /dev/null | FileCheck %s

func.func @transpose(%x: tensor<2x64x56x56xf32>, %q: tensor<2x128x12x64xf16>,
                     %i: tensor<32x3x224x224xf32>, %w: tensor<96x64x520xf16>,
                     %o: tensor<8x1021x515xbf16>, %f: tensor<33x129x515xf16>,
                     %r: tensor<3x512x64x33xf16>, %s: tensor<4x63x511x18xf16>,
                     %u: tensor<3x512x64x33xf32>) {
  // To channels last, with a cast.
  %0 = nn.fusion(%x) : (tensor<2x64x56x56xf32>) -> tensor<2x56x56x64xf16> {
  ^bb0(%a: tensor<2x64x56x56xf32>):
    %1 = nn.transpose %a {perm = array<i64: 0, 2, 3, 1>} : (tensor<2x64x56x56xf32>) -> tensor<2x56x56x64xf32>
    %2 = nn.cast %1 {storage, to = f16} : (tensor<2x56x56x64xf32>) -> tensor<2x56x56x64xf16>
    nn.yield %2 : tensor<2x56x56x64xf16>
  }
  // The innermost dimension is not moved: elements are moved in vectors.
  %3 = nn.fusion(%q) : (tensor<2x128x12x64xf16>) -> tensor<2x12x128x64xf16> {
  ^bb0(%a: tensor<2x128x12x64xf16>):
    %1 = nn.transpose %a {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x128x12x64xf16>) -> tensor<2x12x128x64xf16>
    nn.yield %1 : tensor<2x12x128x64xf16>
  }
  // An image's three channels: stores are contiguous.
  %4 = nn.fusion(%i) : (tensor<32x3x224x224xf32>) -> tensor<32x224x224x3xf16> {
  ^bb0(%a: tensor<32x3x224x224xf32>):
    %1 = nn.cast %a {storage, to = f16} : (tensor<32x3x224x224xf32>) -> tensor<32x3x224x224xf16>
    %2 = nn.transpose %1 {perm = array<i64: 0, 2, 3, 1>} : (tensor<32x3x224x224xf16>) -> tensor<32x224x224x3xf16>
    nn.yield %2 : tensor<32x224x224x3xf16>
  }
  // Any permutation is a batch of matrix transposes. 16-bit elements are moved
  // in pairs.
  %5 = nn.fusion(%w) : (tensor<96x64x520xf16>) -> tensor<520x64x96xf16> {
  ^bb0(%a: tensor<96x64x520xf16>):
    %1 = nn.transpose %a {perm = array<i64: 2, 1, 0>} : (tensor<96x64x520xf16>) -> tensor<520x64x96xf16>
    nn.yield %1 : tensor<520x64x96xf16>
  }
  // Rows may begin at odd elements: tiles are skewed.
  %6 = nn.fusion(%o) : (tensor<8x1021x515xbf16>) -> tensor<8x515x1021xbf16> {
  ^bb0(%a: tensor<8x1021x515xbf16>):
    %1 = nn.transpose %a {perm = array<i64: 0, 2, 1>} : (tensor<8x1021x515xbf16>) -> tensor<8x515x1021xbf16>
    nn.yield %1 : tensor<8x515x1021xbf16>
  }
  // Short columns: a tile has all rows.
  %7 = nn.fusion(%f) : (tensor<33x129x515xf16>) -> tensor<33x515x129xf16> {
  ^bb0(%a: tensor<33x129x515xf16>):
    %1 = nn.transpose %a {perm = array<i64: 0, 2, 1>} : (tensor<33x129x515xf16>) -> tensor<33x515x129xf16>
    nn.yield %1 : tensor<33x515x129xf16>
  }
  // Contiguous runs that are not whole vectors are moved in tiles too, by the
  // widest type that divides them. Output lines may or may not be aligned to
  // vectors.
  %8 = nn.fusion(%r) : (tensor<3x512x64x33xf16>) -> tensor<3x64x512x33xf16> {
  ^bb0(%a: tensor<3x512x64x33xf16>):
    %1 = nn.transpose %a {perm = array<i64: 0, 2, 1, 3>} : (tensor<3x512x64x33xf16>) -> tensor<3x64x512x33xf16>
    nn.yield %1 : tensor<3x64x512x33xf16>
  }
  %9 = nn.fusion(%s) : (tensor<4x63x511x18xf16>) -> tensor<4x511x63x18xf16> {
  ^bb0(%a: tensor<4x63x511x18xf16>):
    %1 = nn.transpose %a {perm = array<i64: 0, 2, 1, 3>} : (tensor<4x63x511x18xf16>) -> tensor<4x511x63x18xf16>
    nn.yield %1 : tensor<4x511x63x18xf16>
  }
  // For 4-byte elements, the generic kernel is as fast.
  %10 = nn.fusion(%u) : (tensor<3x512x64x33xf32>) -> tensor<3x64x512x33xf32> {
  ^bb0(%a: tensor<3x512x64x33xf32>):
    %1 = nn.transpose %a {perm = array<i64: 0, 2, 1, 3>} : (tensor<3x512x64x33xf32>) -> tensor<3x64x512x33xf32>
    nn.yield %1 : tensor<3x64x512x33xf32>
  }
  return
}

// CHECK: // k0 #cuda.transpose<tile_rows = 32, tile_cols = 32, load_vector = 4, store_vector = 8> grid 392x1x1 block 256
// CHECK: // k1 #cuda.map<vector = 2, threads = 256>
// CHECK: // k2 #cuda.transpose_flat<length = 1344, width = 3, load_vector = 4, store_vector = 8> grid 1216x1x1 block 256
// CHECK: // k4 #cuda.transpose_skewed<rows = 96, occupancy = 4> grid 440x1x1 block 384 shared 29120
// CHECK: // k5 #cuda.transpose_skewed_flat<threads = 256, occupancy = 6> grid 330x1x1 block 256 shared 17424
// CHECK: // k6 #cuda.transpose_runs<unit = 2, tile_rows = 16, tile_cols = 8, aligned = true> grid 768x1x1 block 256
// CHECK: // k7 #cuda.transpose_runs<unit = 4, tile_rows = 16, tile_cols = 16>
// CHECK: // k8 #cuda.generic<interleave = 4, threads = 256>

// CHECK: using Held = float;
// CHECK: void load(Held (&e)[4], size_t i) const {
// CHECK-NEXT: frit::copyVector(e, x0 + i);
// CHECK: void store(const Held (&e)[8], size_t i) const {
// CHECK: out0[v] = frit::load(e[v]);
// CHECK: frit::storeVector(y0 + i, out0);
// CHECK: size_t from(unsigned batch) {
// CHECK-NEXT: return batch * 200704;
// CHECK: frit::transpose<k0_body, 32, 32, 4, 8, 1>({x0, y0}, 2, 64, 3136, 3136, 64);

// CHECK: frit::loadVector(a0, x0 + i / 98304 * 98304 + i / 64 % 128 * 768 + i / 8192 % 12 * 64 + i % 64);

// CHECK: frit::transposeFlat<k2_body, 1344, 3, 4, 8, false>({x0, y0}, 50176, 50176);

// CHECK: using Held = frit::f16;
// CHECK: frit::copyVector(y0 + i, e);
// CHECK: return batch * 520;
// CHECK: return batch * 96;
// CHECK: frit::transpose<k3_body, 64, 64, 8, 8, 2>({x0, y0}, 64, 96, 520, 33280, 6144);

// CHECK: const uint16_t *source() const {
// CHECK-NEXT: return reinterpret_cast<const uint16_t *>(x0);
// CHECK: return batch * 525815;
// CHECK: return batch * 525815;
// CHECK: __launch_bounds__(384, 4)
// CHECK: frit::transposeSkewed<k4_body, 128, 96>({x0, y0}, 1021, 515, 515, 1021, 4206520);

// CHECK: __launch_bounds__(256, 6)
// CHECK: frit::transposeSkewedFlat<k5_body, 64, 129, 256>({x0, y0}, 515, 515, 2192355);

// CHECK: const uint16_t *source() const {
// CHECK: return batch * 1081344;
// CHECK: frit::transposeRuns<k6_body, uint16_t, 33, 16, 8, true>({x0, y0}, 512, 64, 2112, 16896, 3244032);

// CHECK: const uint32_t *source() const {
// CHECK: return batch * 289737;
// CHECK: frit::transposeRuns<k7_body, uint32_t, 9, 16, 16>({x0, y0}, 63, 511, 4599, 567, 1158948);
