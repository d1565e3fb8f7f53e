// RUN: frit-opt %s --print-cuda -o /dev/null | FileCheck %s

// Rows of 394 bytes, and of 198 bytes with a mask that is shared by several
// rows: 16 or 32 of them are whole vectors. Shared memory holds the rows, and
// results overwrite them in place. If shared memory has every operand that
// varies along the row, vectors may start before a row.
func.func @softmax(%x: tensor<75648x197xf16>, %s: tensor<64x300x99xf16>,
                   %m: tensor<64x1x99xf16>) {
  %0 = nn.fusion(%x) : (tensor<75648x197xf16>) -> tensor<75648x197xf16> {
  ^bb0(%a: tensor<75648x197xf16>):
    %1 = nn.reduce %a {kind = #nn<combiner max>, axes = array<i64: 1>} : (tensor<75648x197xf16>) -> tensor<75648x1xf16>
    %2 = nn.sub %a, %1 : (tensor<75648x197xf16>, tensor<75648x1xf16>) -> tensor<75648x197xf16>
    nn.yield %2 : tensor<75648x197xf16>
  }
  %3 = nn.fusion(%s, %m) : (tensor<64x300x99xf16>, tensor<64x1x99xf16>) -> tensor<64x300x99xf32> {
  ^bb0(%a: tensor<64x300x99xf16>, %b: tensor<64x1x99xf16>):
    %1 = nn.add %a, %b : (tensor<64x300x99xf16>, tensor<64x1x99xf16>) -> tensor<64x300x99xf16>
    %2 = nn.cast %1 {to = f32} : (tensor<64x300x99xf16>) -> tensor<64x300x99xf32>
    %4 = nn.reduce %2 {kind = #nn<combiner max>, axes = array<i64: 2>} : (tensor<64x300x99xf32>) -> tensor<64x300x1xf32>
    %5 = nn.sub %2, %4 : (tensor<64x300x99xf32>, tensor<64x300x1xf32>) -> tensor<64x300x99xf32>
    nn.yield %5 : tensor<64x300x99xf32>
  }
  return
}

// CHECK: // k0 #cuda.row_staged<team = 8, per_thread = 26, vector = 2, skewed = true, threads = 128> grid 4728x1x1 block 128 shared 6304
// CHECK: // k1 #cuda.row_staged<team = 4, per_thread = 25, vector = 1, threads = 128> grid 600x1x1 block 128 shared 19008
// CHECK: // k2 {{.*}} grid 4728x1x1 block 128 shared 7808
// CHECK: // k3 #cuda.row_staged<team = 4, per_thread = 26, vector = 2, skewed = true, threads = 128> grid 625x1x1 block 128 shared 7936

// CHECK-LABEL: struct k0_body {
// CHECK: static void forInputs(Self &self, const Visit &visit) {
// CHECK-NEXT: visit(self.x0, 0);
// CHECK-NEXT: }
// CHECK: static void forOutputs(Self &self, const Visit &visit) {
// CHECK-NEXT: visit(self.y0, 0);
// CHECK: static constexpr int kWeights = 0;
// CHECK: void load(Element (&e)[2], unsigned row, int col) const {
// CHECK: frit::loadVector(a0, x0 + row * 197 + col);
// CHECK: float term(Element &e, const float (&r)[1], unsigned row, int col)
// CHECK: template <class Own>
// CHECK-NEXT: void store({{.*}}, unsigned row, int col, const Own &own) const {
// CHECK: frit::storeOwn(y0 + row * 197 + col, out0, own);
// CHECK: frit::rowStaged<k0_body, 8, 26, 2, 128, 197>({x0, y0}, 75648);

// CHECK-LABEL: struct k1_body {
// CHECK: visit(self.x0, 0);
// CHECK-NOT: visit(self.x1
// CHECK: visit(self.y0, 2);
// CHECK: void load(Element (&e)[1], unsigned row, unsigned col) const {
// CHECK: frit::rowStaged<k1_body, 4, 25, 1, 128, 99>({x0, x1, y0}, 19200);

// Weights that all rows read are in shared memory too, after the rows.
func.func @weights(%x: tensor<75648x200xf16>, %w: tensor<200xf16>,
                   %b: tensor<200xf32>) {
  %0 = nn.fusion(%x, %w, %b) : (tensor<75648x200xf16>, tensor<200xf16>, tensor<200xf32>) -> tensor<75648x200xf16> {
  ^bb0(%a: tensor<75648x200xf16>, %c: tensor<200xf16>, %d: tensor<200xf32>):
    %1 = nn.reduce %a {kind = #nn<combiner max>, axes = array<i64: 1>} : (tensor<75648x200xf16>) -> tensor<75648x1xf16>
    %2 = nn.sub %a, %1 : (tensor<75648x200xf16>, tensor<75648x1xf16>) -> tensor<75648x200xf16>
    %3 = nn.mul %2, %c : (tensor<75648x200xf16>, tensor<200xf16>) -> tensor<75648x200xf16>
    %4 = nn.cast %3 {to = f32} : (tensor<75648x200xf16>) -> tensor<75648x200xf32>
    %5 = nn.add %4, %d : (tensor<75648x200xf32>, tensor<200xf32>) -> tensor<75648x200xf32>
    %6 = nn.cast %5 {storage, to = f16} : (tensor<75648x200xf32>) -> tensor<75648x200xf16>
    nn.yield %6 : tensor<75648x200xf16>
  }
  return
}

// CHECK-LABEL: struct k2_body {
// CHECK: static void forWeights(Self &self, const Visit &visit) {
// CHECK-NEXT: visit(self.x1, 0);
// CHECK-NEXT: visit(self.x2, 512);
// CHECK: static constexpr int kStagedBytes = 2;
// CHECK-NOT: kWeights
// CHECK: frit::rowStaged<k2_body, 8, 28, 4, 128, 200>({x0, x1, x2, y0}, 75648);

// Rows may begin at either element of a pair: shared memory has two copies of
// the weights, one of them shifted.
func.func @skewed(%x: tensor<20000x99xf16>, %w: tensor<99xf16>,
                  %b: tensor<99xf32>) {
  %0 = nn.fusion(%x, %w, %b) : (tensor<20000x99xf16>, tensor<99xf16>, tensor<99xf32>) -> tensor<20000x99xf16> {
  ^bb0(%a: tensor<20000x99xf16>, %c: tensor<99xf16>, %d: tensor<99xf32>):
    %1 = nn.reduce %a {kind = #nn<combiner max>, axes = array<i64: 1>} : (tensor<20000x99xf16>) -> tensor<20000x1xf16>
    %2 = nn.sub %a, %1 : (tensor<20000x99xf16>, tensor<20000x1xf16>) -> tensor<20000x99xf16>
    %3 = nn.mul %2, %c : (tensor<20000x99xf16>, tensor<99xf16>) -> tensor<20000x99xf16>
    %4 = nn.cast %3 {to = f32} : (tensor<20000x99xf16>) -> tensor<20000x99xf32>
    %5 = nn.add %4, %d : (tensor<20000x99xf32>, tensor<99xf32>) -> tensor<20000x99xf32>
    %6 = nn.cast %5 {storage, to = f16} : (tensor<20000x99xf32>) -> tensor<20000x99xf16>
    nn.yield %6 : tensor<20000x99xf16>
  }
  return
}

// CHECK-LABEL: struct k3_body {
// CHECK: static void forWeights(Self &self, const Visit &visit) {
// CHECK-NEXT: visit(self.x1, 0);
// CHECK-NEXT: visit(self.x2, 512);
// CHECK: static constexpr int kWeights = 2;
// CHECK: frit::loadVector(a0, x1 + col);
// CHECK: frit::loadVector(a1, x2 + col);
// CHECK: frit::rowStaged<k3_body, 4, 26, 2, 128, 99>({x0, x1, x2, y0}, 20000);

// Not staged: too few rows, or rows of whole 32-byte sectors.
func.func @ordinary(%x: tensor<1000x197xf16>, %y: tensor<75648x208xf16>) {
  %0 = nn.fusion(%x) : (tensor<1000x197xf16>) -> tensor<1000x1xf16> {
  ^bb0(%a: tensor<1000x197xf16>):
    %1 = nn.reduce %a {kind = #nn<combiner max>, axes = array<i64: 1>} : (tensor<1000x197xf16>) -> tensor<1000x1xf16>
    nn.yield %1 : tensor<1000x1xf16>
  }
  %2 = nn.fusion(%y) : (tensor<75648x208xf16>) -> tensor<75648x1xf16> {
  ^bb0(%a: tensor<75648x208xf16>):
    %1 = nn.reduce %a {kind = #nn<combiner max>, axes = array<i64: 1>} : (tensor<75648x208xf16>) -> tensor<75648x1xf16>
    nn.yield %1 : tensor<75648x1xf16>
  }
  return
}

// CHECK: frit::row<k4_body
// CHECK: frit::row<k5_body

// With several rows per SM, but not many, the weights are loaded together with
// the rows.
func.func @early(%x: tensor<1024x768xf16>, %w: tensor<768xf32>) {
  %0 = nn.fusion(%x, %w) : (tensor<1024x768xf16>, tensor<768xf32>) -> tensor<1024x768xf16> {
  ^bb0(%a: tensor<1024x768xf16>, %b: tensor<768xf32>):
    %1 = nn.cast %a {to = f32} : (tensor<1024x768xf16>) -> tensor<1024x768xf32>
    %2 = nn.reduce %1 {kind = #nn<combiner sum>, axes = array<i64: 1>} : (tensor<1024x768xf32>) -> tensor<1024x1xf32>
    %3 = nn.sub %1, %2 : (tensor<1024x768xf32>, tensor<1024x1xf32>) -> tensor<1024x768xf32>
    %4 = nn.mul %3, %b : (tensor<1024x768xf32>, tensor<768xf32>) -> tensor<1024x768xf32>
    %5 = nn.cast %4 {storage, to = f16} : (tensor<1024x768xf32>) -> tensor<1024x768xf16>
    nn.yield %5 : tensor<1024x768xf16>
  }
  return
}

// CHECK-LABEL: struct k6_body {
// CHECK: void load(
// CHECK: frit::loadVector(a1, x1 + col);
// CHECK: e[v].a1 = a1[v];
// CHECK: void store(
// CHECK: (e[v].a0 - r[0]) * e[v].a1;
