// RUN: frit-opt %s --print-cuda -o /dev/null | FileCheck %s

// The blocks of clusters divide the pixels of four groups, whose 40 channels
// are five vectors; a thread has eleven of them. What is before and after the norm
// is computed as vectors are loaded and stored.
// CHECK:       // k0 #cuda.group_norm<run = 4, cluster = 8, threads = 256> grid 128x1x1 block 256 shared 208
// CHECK:       // k1 #cuda.group_norm<run = 1, cluster = 4, threads = 256> grid 256x1x1
// CHECK:       // k2 #cuda.group_norm<run = 2, threads = 512> grid 32x1x1
// CHECK:       static constexpr int samples = 2, pixels = 4096, channels = 320, groups = 32;
// CHECK:       static constexpr float epsilon =
// CHECK:       void load(frit::Pack<T, 8> &to, unsigned sample, unsigned pixel, unsigned channel) const {
// CHECK:         frit::loadVector(a1, x1 + sample * 320 + channel);
// CHECK:         frit::roundToPack(to, out0, 0);
// CHECK:       void factors(float (&scale)[8], float (&bias)[8],
// CHECK-NEXT:    frit::loadVector(scale, x2 + channel);
// CHECK-NEXT:    frit::loadVector(bias, x3 + channel);
// CHECK:       void store(const float (&norm)[8], unsigned sample, unsigned pixel, unsigned channel) const {
// CHECK:       __cluster_dims__(8
// CHECK:       frit::groupNorm<4, 8, 256>(k0_body{x0, x1, x2, x3, y0});
func.func @both(%x: tensor<2x64x64x320xf16>, %e: tensor<2x1x1x320xf16>, %s: tensor<320xf16>, %b: tensor<320xf16>) {
  %0 = nn.fusion(%x, %e, %s, %b) : (tensor<2x64x64x320xf16>, tensor<2x1x1x320xf16>, tensor<320xf16>, tensor<320xf16>) -> tensor<2x64x64x320xf16> {
  ^bb0(%a: tensor<2x64x64x320xf16>, %c: tensor<2x1x1x320xf16>, %d: tensor<320xf16>, %f: tensor<320xf16>):
    %1 = nn.add %a, %c : (tensor<2x64x64x320xf16>, tensor<2x1x1x320xf16>) -> tensor<2x64x64x320xf16>
    %2 = nn.group_norm %1, %d, %f {groups = 32 : si64} : (tensor<2x64x64x320xf16>, tensor<320xf16>, tensor<320xf16>) -> tensor<2x64x64x320xf16>
    %3 = nn.silu %2 : (tensor<2x64x64x320xf16>) -> tensor<2x64x64x320xf16>
    nn.yield %3 : tensor<2x64x64x320xf16>
  }
  return
}

// Nothing is before the norm.
// CHECK:       to = *reinterpret_cast<const frit::Pack<T, 8> *>(x0 + (sample * 163840 + channel + pixel * 2560));
func.func @alone(%x: tensor<2x8x8x2560xbf16>, %s: tensor<2560xf32>) {
  %0 = nn.fusion(%x, %s) : (tensor<2x8x8x2560xbf16>, tensor<2560xf32>) -> tensor<2x8x8x2560xbf16> {
  ^bb0(%a: tensor<2x8x8x2560xbf16>, %c: tensor<2560xf32>):
    %1 = nn.group_norm %a, %c, %c {groups = 32 : si64} : (tensor<2x8x8x2560xbf16>, tensor<2560xf32>, tensor<2560xf32>) -> tensor<2x8x8x2560xbf16>
    nn.yield %1 : tensor<2x8x8x2560xbf16>
  }
  return
}

// A schedule that is stated.
func.func @stated(%x: tensor<2x8x8x640xf16>, %s: tensor<640xf32>) {
  %0 = nn.fusion(%x, %s) schedule(#cuda.group_norm<run = 2, threads = 512>) : (tensor<2x8x8x640xf16>, tensor<640xf32>) -> tensor<2x8x8x640xf16> {
  ^bb0(%a: tensor<2x8x8x640xf16>, %c: tensor<640xf32>):
    %1 = nn.group_norm %a, %c, %c {groups = 32 : si64} : (tensor<2x8x8x640xf16>, tensor<640xf32>, tensor<640xf32>) -> tensor<2x8x8x640xf16>
    nn.yield %1 : tensor<2x8x8x640xf16>
  }
  return
}
