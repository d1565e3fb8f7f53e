// RUN: frit-opt %s --print-cuda -o /dev/null | FileCheck %s

// Stores use vectors even if the loads cannot, provided that the loads of
// neighbouring threads together fill the sectors that they touch.
func.func @scattered(%image: tensor<32x3x112x2x112x2xf32>,
                     %heads: tensor<64x512x64x33xf32>) {
  // Space-to-depth by 2 x 2 blocks, with a fourth channel of zeros per pixel,
  // and padding on both sides where whole vectors are zero.
  %0 = nn.fusion(%image) : (tensor<32x3x112x2x112x2xf32>) -> tensor<32x112x115x2x2x4xf16> {
  ^bb0(%a: tensor<32x3x112x2x112x2xf32>):
    %1 = nn.cast %a {storage, to = f16} : (tensor<32x3x112x2x112x2xf32>) -> tensor<32x3x112x2x112x2xf16>
    %2 = nn.transpose %1 {perm = array<i64: 0, 2, 4, 3, 5, 1>} : (tensor<32x3x112x2x112x2xf16>) -> tensor<32x112x112x2x2x3xf16>
    %3 = nn.pad %2 {low = array<i64: 0, 0, 2, 0, 0, 0>, high = array<i64: 0, 0, 1, 0, 0, 1>} : (tensor<32x112x112x2x2x3xf16>) -> tensor<32x112x115x2x2x4xf16>
    nn.yield %3 : tensor<32x112x115x2x2x4xf16>
  }
  // Each vector crosses the end of a row at a different place.
  %4 = nn.fusion(%heads) : (tensor<64x512x64x33xf32>) -> tensor<64x64x512x33xf32> {
  ^bb0(%a: tensor<64x512x64x33xf32>):
    %1 = nn.transpose %a {perm = array<i64: 0, 2, 1, 3>} : (tensor<64x512x64x33xf32>) -> tensor<64x64x512x33xf32>
    nn.yield %1 : tensor<64x64x512x33xf32>
  }
  return
}

// CHECK: // k0 #cuda.map<vector = 8, threads = 256> grid 3220x1x1 block 256
// CHECK: // k1 #cuda.generic<interleave = 4, threads = 256>
// CHECK-LABEL: struct k0_body {
// CHECK: for (int v = 0; v < 8; ++v) {
// CHECK-NEXT: int [[C:v[0-9]]] = int(v % 4);
// CHECK-NEXT: float [[X:v[0-9]]] = x0[{{.*}} frit::minimum<int>([[C]], 2) * 50176 + {{.*}} + v / 4];
// CHECK-NEXT: out0[v] = {{v[0-9]}} && [[C]] < 3 ? [[X]] : 0.0f;
// CHECK: frit::storeVector(y0 + i, out0);
