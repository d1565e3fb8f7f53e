// RUN: frit-opt %s --print-cuda -o /dev/null | FileCheck %s

func.func @column(%p: tensor<32x7x7x2048xf16>, %s: tensor<64x256x3136xf16>,
                  %t: tensor<64x100x3136xf16>, %q: tensor<1024x768xf32>) {
  // A mean over pixels reads its input once: several threads share a column.
  %0 = nn.fusion(%p) : (tensor<32x7x7x2048xf16>) -> tensor<32x1x1x2048xf16> {
  ^bb0(%a: tensor<32x7x7x2048xf16>):
    %c = nn.constant dense<49.0> : tensor<f32>
    %1 = nn.cast %a {to = f32} : (tensor<32x7x7x2048xf16>) -> tensor<32x7x7x2048xf32>
    %2 = nn.reduce %1 {kind = #nn<combiner sum>, axes = array<i64: 1, 2>} : (tensor<32x7x7x2048xf32>) -> tensor<32x1x1x2048xf32>
    %3 = nn.div %2, %c : (tensor<32x1x1x2048xf32>, tensor<f32>) -> tensor<32x1x1x2048xf32>
    %4 = nn.cast %3 {storage, to = f16} : (tensor<32x1x1x2048xf32>) -> tensor<32x1x1x2048xf16>
    nn.yield %4 : tensor<32x1x1x2048xf16>
  }
  // Softmax along a middle dimension: the columns are copied to shared memory
  // in rows of 128 bytes.
  %5 = nn.fusion(%s) : (tensor<64x256x3136xf16>) -> tensor<64x256x3136xf16> {
  ^bb0(%a: tensor<64x256x3136xf16>):
    %1 = nn.reduce %a {kind = #nn<combiner max>, axes = array<i64: 1>} : (tensor<64x256x3136xf16>) -> tensor<64x1x3136xf16>
    %2 = nn.sub %a, %1 : (tensor<64x256x3136xf16>, tensor<64x1x3136xf16>) -> tensor<64x256x3136xf16>
    %3 = nn.exp %2 : (tensor<64x256x3136xf16>) -> tensor<64x256x3136xf16>
    %4 = nn.reduce %3 {kind = #nn<combiner sum>, axes = array<i64: 1>} : (tensor<64x256x3136xf16>) -> tensor<64x1x3136xf16>
    %6 = nn.div %3, %4 : (tensor<64x256x3136xf16>, tensor<64x1x3136xf16>) -> tensor<64x256x3136xf16>
    nn.yield %6 : tensor<64x256x3136xf16>
  }
  // Shorter columns stay in registers.
  %7 = nn.fusion(%t) : (tensor<64x100x3136xf16>) -> tensor<64x100x3136xf16> {
  ^bb0(%a: tensor<64x100x3136xf16>):
    %1 = nn.reduce %a {kind = #nn<combiner max>, axes = array<i64: 1>} : (tensor<64x100x3136xf16>) -> tensor<64x1x3136xf16>
    %2 = nn.sub %a, %1 : (tensor<64x100x3136xf16>, tensor<64x1x3136xf16>) -> tensor<64x100x3136xf16>
    %3 = nn.exp %2 : (tensor<64x100x3136xf16>) -> tensor<64x100x3136xf16>
    %4 = nn.reduce %3 {kind = #nn<combiner sum>, axes = array<i64: 1>} : (tensor<64x100x3136xf16>) -> tensor<64x1x3136xf16>
    %6 = nn.div %3, %4 : (tensor<64x100x3136xf16>, tensor<64x1x3136xf16>) -> tensor<64x100x3136xf16>
    nn.yield %6 : tensor<64x100x3136xf16>
  }
  // A sum, and a value that is stored: one pass.
  %sum:2 = nn.fusion(%s, %s) : (tensor<64x256x3136xf16>, tensor<64x256x3136xf16>) -> (tensor<64x1x3136xf32>, tensor<64x256x3136xf16>) {
  ^bb0(%a: tensor<64x256x3136xf16>, %b: tensor<64x256x3136xf16>):
    %1 = nn.add %a, %b : (tensor<64x256x3136xf16>, tensor<64x256x3136xf16>) -> tensor<64x256x3136xf16>
    %2 = nn.cast %1 {to = f32} : (tensor<64x256x3136xf16>) -> tensor<64x256x3136xf32>
    %3 = nn.reduce %2 {kind = #nn<combiner sum>, axes = array<i64: 1>} : (tensor<64x256x3136xf32>) -> tensor<64x1x3136xf32>
    nn.yield %3, %1 : tensor<64x1x3136xf32>, tensor<64x256x3136xf16>
  }
  // Two sums that do not need each other, and a value that is stored: one pass.
  %8:3 = nn.fusion(%s, %s) : (tensor<64x256x3136xf16>, tensor<64x256x3136xf16>) -> (tensor<64x1x3136xf32>, tensor<64x1x3136xf32>, tensor<64x256x3136xf16>) {
  ^bb0(%a: tensor<64x256x3136xf16>, %b: tensor<64x256x3136xf16>):
    %1 = nn.add %a, %b : (tensor<64x256x3136xf16>, tensor<64x256x3136xf16>) -> tensor<64x256x3136xf16>
    %2 = nn.cast %1 {to = f32} : (tensor<64x256x3136xf16>) -> tensor<64x256x3136xf32>
    %3 = nn.reduce %2 {kind = #nn<combiner sum>, axes = array<i64: 1>} : (tensor<64x256x3136xf32>) -> tensor<64x1x3136xf32>
    %4 = nn.cast %b {to = f32} : (tensor<64x256x3136xf16>) -> tensor<64x256x3136xf32>
    %6 = nn.mul %2, %4 : (tensor<64x256x3136xf32>, tensor<64x256x3136xf32>) -> tensor<64x256x3136xf32>
    %8 = nn.reduce %6 {kind = #nn<combiner sum>, axes = array<i64: 1>} : (tensor<64x256x3136xf32>) -> tensor<64x1x3136xf32>
    nn.yield %3, %8, %1 : tensor<64x1x3136xf32>, tensor<64x1x3136xf32>, tensor<64x256x3136xf16>
  }
  // A launch computes three sums, one per row of blocks.
  %batch = nn.fusion(%q) {plan.batch = 3 : i64} : (tensor<1024x768xf32>) -> tensor<1x768xf32> {
  ^bb0(%a: tensor<1024x768xf32>):
    %1 = nn.reduce %a {kind = #nn<combiner sum>, axes = array<i64: 0>} : (tensor<1024x768xf32>) -> tensor<1x768xf32>
    nn.yield %1 : tensor<1x768xf32>
  }
  return
}

// CHECK: // k0 #cuda.column<team = 8, vector = 4, threads = 256> grid 512x1x1 block 256
// CHECK: // k1 #cuda.column_shared<team = 32, vector = 8, threads = 256, occupancy = 4> grid 3136x1x1 block 256 shared 32768
// CHECK: // k2 #cuda.column<team = 16, per_thread = 7, vector = 4, threads = 256> grid 3136x1x1 block 256
// CHECK: // k3 #cuda.column<{{.*}}, joint = true> grid
// CHECK: // k4 #cuda.column<{{.*}}, joint = true> grid
// CHECK: // k5 #cuda.column<{{.*}}> grid {{[0-9]+}}x3x1
// CHECK-LABEL: struct k0_body {
// CHECK: void load(Element (&e)[4], unsigned row, unsigned col) const {
// CHECK: frit::loadVector(a0, x0 + row / 2048 * 100352 + row % 2048 + col * 2048);
// CHECK: void finish(const float (&r)[4][1], unsigned row) const {
// CHECK: out0[v] = r[v][0] / 49.0f;
// CHECK: frit::storeVector(y0 + row, out0);
// CHECK: frit::column<k0_body, 8, 32, 0, 4>({x0, y0}, 65536, 49);

// CHECK-LABEL: struct k1_body {
// CHECK: struct Stored {
// CHECK: const Stored *source(unsigned row, unsigned col) const {
// CHECK-NEXT: return reinterpret_cast<const Stored *>(x0 + row / 3136 * 802816 + col * 3136 + row % 3136);
// CHECK: void store(const Element (&e)[8], const float (&r)[8][2], unsigned row, unsigned col) const {
// CHECK: out0[v] = frit::expShifted(e[v].a0 - r[v][0]) * (1.0f / r[v][1]);
// CHECK: __launch_bounds__(256, 4)
// CHECK: frit::columnShared<k1_body, 32, 8, 8>({x0, y0}, 200704, 256);

// CHECK-LABEL: struct k2_body {
// CHECK-NOT: struct Stored
// CHECK: e.a0 = left0;
// CHECK: void store(const Element (&e)[4], const float (&r)[4][2], unsigned row, unsigned col) const {
// CHECK: out0[v] = e[v].a0 * (1.0f / r[v][1]);
// CHECK: frit::storeVector(y0 + row / 3136 * 313600 + col * 3136 + row % 3136, out0);
// CHECK: frit::column<k2_body, 16, 16, 7, 4>({x0, y0}, 200704, 100);

// CHECK-LABEL: struct k3_body {
// CHECK: frit::columnJoint<k3_body, {{[0-9]+}}, {{[0-9]+}}, 4>({x0, x1, y0, y1}, 200704, 256);

// CHECK-LABEL: struct k4_body {
// CHECK: frit::columnJoint<k4_body, {{[0-9]+}}, {{[0-9]+}}, 4>({x0, x1, y0, y1, y2}, 200704, 256);

// CHECK-LABEL: struct k5_body {
// CHECK: k5(const float *x0_0, const float *x0_1, const float *x0_2, float *y0_0, float *y0_1, float *y0_2) {
// CHECK-NEXT: const float *const x0 = frit::pick(blockIdx.y, x0_0, x0_1, x0_2);
// CHECK-NEXT: float *const y0 = frit::pick(blockIdx.y, y0_0, y0_1, y0_2);
// CHECK: frit::column<k5_body, {{.*}}>({x0, y0}, 768, 1024);
