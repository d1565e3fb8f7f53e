// RUN: frit-opt %s --print-cuda -o /dev/null | FileCheck %s
// RUN: frit-opt %s --print-cuda --remark-format=emitRemark --remarks-filter=schedule -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

func.func @generic(%x: tensor<8x3x15x15xf32>, %y: tensor<2x5x6xf64>,
                   %u: tensor<3x4xf16>, %v: tensor<3x5xf16>,
                   %m: tensor<2x1x4x3xf32>, %n: tensor<1x5x3x2xf32>,
                   %i: tensor<6x4xui8>, %p: tensor<8x112x112x64xf16>,
                   %s: tensor<128x4x128x33xf16>) {
  // A window is two loops. An index in the padding is clamped to the nearest
  // one inside x, which the same window contains.
  %0 = nn.fusion(%x) : (tensor<8x3x15x15xf32>) -> tensor<8x3x8x8xf32> {
  ^bb0(%a: tensor<8x3x15x15xf32>):
    %1 = nn.max_pool %a {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, shape = array<i64: 8, 8>} : (tensor<8x3x15x15xf32>) -> tensor<8x3x8x8xf32>
    nn.yield %1 : tensor<8x3x8x8xf32>
  }
  // A reduction along a middle dimension is a loop, here in double.
  %2 = nn.fusion(%y) : (tensor<2x5x6xf64>) -> tensor<2x1x6xf64> {
  ^bb0(%a: tensor<2x5x6xf64>):
    %1 = nn.reduce %a {kind = #nn<combiner sum>, axes = array<i64: 1>} : (tensor<2x5x6xf64>) -> tensor<2x1x6xf64>
    nn.yield %1 : tensor<2x1x6xf64>
  }
  // A concat along the innermost dimension selects its operand by index.
  %3 = nn.fusion(%u, %v) : (tensor<3x4xf16>, tensor<3x5xf16>) -> tensor<3x9xf16> {
  ^bb0(%a: tensor<3x4xf16>, %b: tensor<3x5xf16>):
    %1 = nn.concat %a, %b {axis = 1 : si64} : (tensor<3x4xf16>, tensor<3x5xf16>) -> tensor<3x9xf16>
    nn.yield %1 : tensor<3x9xf16>
  }
  // Batch dimensions of which only some broadcast have no single stride.
  %4 = nn.fusion(%m, %n) : (tensor<2x1x4x3xf32>, tensor<1x5x3x2xf32>) -> tensor<2x5x4x2xf32> {
  ^bb0(%a: tensor<2x1x4x3xf32>, %b: tensor<1x5x3x2xf32>):
    %1 = nn.matmul %a, %b : (tensor<2x1x4x3xf32>, tensor<1x5x3x2xf32>) -> tensor<2x5x4x2xf32>
    nn.yield %1 : tensor<2x5x4x2xf32>
  }
  // Outputs of two sizes are two loops in one kernel. u8 divides unsigned.
  %7:2 = nn.fusion(%i) : (tensor<6x4xui8>) -> (tensor<6x4xui8>, tensor<6x1xui8>) {
  ^bb0(%a: tensor<6x4xui8>):
    %1 = nn.slice %a {starts = array<i64: 0, 1>, sizes = array<i64: 6, 1>, steps = array<i64: 1, 1>} : (tensor<6x4xui8>) -> tensor<6x1xui8>
    %8 = nn.div %a, %1 : (tensor<6x4xui8>, tensor<6x1xui8>) -> tensor<6x4xui8>
    nn.yield %8, %1 : tensor<6x4xui8>, tensor<6x1xui8>
  }
  // Channels last: a window is loaded in vectors, with one accumulator per
  // lane.
  %9 = nn.fusion(%p) : (tensor<8x112x112x64xf16>) -> tensor<8x56x56x64xf16> {
  ^bb0(%a: tensor<8x112x112x64xf16>):
    %1 = nn.max_pool %a {window = array<i64: 3, 3>, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, shape = array<i64: 56, 56>, channels_last} : (tensor<8x112x112x64xf16>) -> tensor<8x56x56x64xf16>
    nn.yield %1 : tensor<8x56x56x64xf16>
  }
  // Each thread copies four elements and loads all of them before it stores
  // any.
  %10 = nn.fusion(%s) : (tensor<128x4x128x33xf16>) -> tensor<128x128x4x33xf16> {
  ^bb0(%a: tensor<128x4x128x33xf16>):
    %1 = nn.transpose %a {perm = array<i64: 0, 2, 1, 3>} : (tensor<128x4x128x33xf16>) -> tensor<128x128x4x33xf16>
    nn.yield %1 : tensor<128x128x4x33xf16>
  }
  return
}

// REMARK: Generic{{.*}}runs as a generic kernel: a reduction is not of 32-bit or 16-bit floats
// REMARK: Generic{{.*}}runs as a generic kernel: its batch dimensions broadcast in part

// CHECK-LABEL: struct k0_body {
// CHECK: float r0 = -INFINITY;
// CHECK-NEXT: for (int k0 = 0; k0 < 3; ++k0)
// CHECK-NEXT: for (int k1 = 0; k1 < 3; ++k1) {
// CHECK: frit::minimum<int>(frit::maximum<int>(int(i / 8 % 8) * 2 + k0 - 1, 0), 14)
// CHECK-NOT: ? {{.*}} : -INFINITY
// CHECK: r0 = frit::maximum(r0,
// CHECK: y0[i] = r0;

// CHECK-LABEL: struct k1_body {
// CHECK: double r0 = 0.0;
// CHECK-NEXT: for (int k0 = 0; k0 < 5; ++k0)
// CHECK-NEXT: r0 += x0[i / 6 * 30 + k0 * 6 + i % 6];

// CHECK-LABEL: struct k2_body {
// CHECK: v0 < 4 ? frit::load(x0[i / 9 * 4 + frit::minimum<int>(v0, 3)]) : frit::load(x1[i / 9 * 5 + frit::maximum<int>(int(i % 9) - 4, 0)])

// CHECK-LABEL: struct k3_body {
// CHECK: x0[i / 40 * 12 + i / 2 % 4 * 3 + k0] * x1[i / 8 % 5 * 6 + k0 * 2 + i % 2]

// CHECK-LABEL: struct k4_body0 {
// CHECK: uint8_t(x0[i]) / uint8_t(
// CHECK-LABEL: struct k4_body1 {
// CHECK: y1[i] = x0[i * 4 + 1];
// CHECK: if (blockIdx.x < 1)
// CHECK-NEXT: frit::map<1>(k4_body0{x0, y0, y1}, 24u, frit::BlockRange{0, 1});
// CHECK-NEXT: if (blockIdx.x >= 1)
// CHECK-NEXT: frit::map<1>(k4_body1{x0, y0, y1}, 6u, frit::BlockRange{1, 1});

// CHECK-LABEL: struct k5_body {
// CHECK: float r0[8];
// CHECK: for (int k1 = 0; k1 < 3; ++k1) {
// CHECK: frit::loadVector(a0, x0 +
// CHECK: r0[v] = frit::maximum(r0[v],

// CHECK-LABEL: struct k6_body {
// CHECK: unsigned at[4];
// CHECK: at[v] = i + v * 256;
// CHECK: = frit::load(x0[at[v] / 16896 * 16896 +
// CHECK: frit::store(y0[i + v * 256], out0[v]);
// CHECK: frit::mapApart<4>(k6_body{x0, y0}, 2162688u);

// An accumulator's update differs between lanes, like the accumulator.
// CHECK-LABEL: struct k7_body {
// CHECK: float [[UPDATE:v[0-9]+]] = x2[k0];
// CHECK: r0[v] = {{.*}} ? frit::minimum(r0[v], [[UPDATE]]) : r0[v];
func.func @least(%x: tensor<16xf32>, %i: tensor<3xi32>, %u: tensor<3xf32>) {
  %0 = nn.fusion(%x, %i, %u) schedule(#cuda.map<vector = 4, threads = 64>) : (tensor<16xf32>, tensor<3xi32>, tensor<3xf32>) -> tensor<16xf32> {
  ^bb0(%a: tensor<16xf32>, %b: tensor<3xi32>, %c: tensor<3xf32>):
    %1 = nn.scatter_elements %a, %b, %c {reduction = "min"} : (tensor<16xf32>, tensor<3xi32>, tensor<3xf32>) -> tensor<16xf32>
    nn.yield %1 : tensor<16xf32>
  }
  return
}

// Rows of caches, and what is computed beside them, have vectors if they are
// many.
// CHECK-LABEL: struct k8_body0
// CHECK: float out0[8];
// CHECK: frit::updatePlace<512, 1024, 64, 8>
// CHECK-NEXT: float a0[8];
// CHECK: frit::map<8>({{.*}}, 1048576u, frit::BlockRange{0, 512});
// CHECK: frit::map<8>({{.*}}, 262144u, frit::BlockRange{512, 128});
func.func @appended_rows(%q: tensor<512x2048xbf16>, %k: tensor<1x512x8x64xbf16>, %cache: tensor<1x8x1024x64xbf16>, %at: tensor<1xi32>) -> (tensor<512x2048xbf16>, tensor<1x8x1024x64xbf16>) {
  %0:2 = nn.fusion(%q, %k, %cache, %at) : (tensor<512x2048xbf16>, tensor<1x512x8x64xbf16>, tensor<1x8x1024x64xbf16>, tensor<1xi32>) -> (tensor<512x2048xbf16>, tensor<1x8x1024x64xbf16>) {
  ^bb0(%a: tensor<512x2048xbf16>, %b: tensor<1x512x8x64xbf16>, %c: tensor<1x8x1024x64xbf16>, %d: tensor<1xi32>):
    %1 = nn.exp %a : (tensor<512x2048xbf16>) -> tensor<512x2048xbf16>
    %2 = nn.transpose %b {perm = array<i64: 0, 2, 1, 3>} : (tensor<1x512x8x64xbf16>) -> tensor<1x8x512x64xbf16>
    %3 = nn.update %c, %2, %d {axis = 2 : i64} : (tensor<1x8x1024x64xbf16>, tensor<1x8x512x64xbf16>, tensor<1xi32>) -> tensor<1x8x1024x64xbf16>
    nn.yield %1, %3 : tensor<512x2048xbf16>, tensor<1x8x1024x64xbf16>
  }
  return %0#0, %0#1 : tensor<512x2048xbf16>, tensor<1x8x1024x64xbf16>
}
