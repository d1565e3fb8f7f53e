// Tiles of attention by the size of heads: those that were the fastest on an
// H200, or within a few percent of it. Longer heads take mma.sync.
// RUN: frit-opt %s --print-cuda -o /dev/null | FileCheck %s

func.func @sizes(%q0: tensor<2x8x4096x40xf16>,
                 %q1: tensor<2x8x1024x80xf16>,
                 %q2: tensor<2x8x1024x80xf16>, %k2: tensor<2x8x77x80xf16>,
                 %q3: tensor<1x4x256x80xf16>, %k3: tensor<1x4x512x80xf16>,
                 %q4: tensor<2x8x256x160xf16>,
                 %q5: tensor<2x8x256x160xf16>, %k5: tensor<2x8x77x160xf16>,
                 %q6: tensor<2x8x256x184xf16>)
    -> (tensor<2x8x4096x40xf16>,
        tensor<2x8x1024x80xf16>,
        tensor<2x8x1024x80xf16>,
        tensor<1x4x256x80xf16>,
        tensor<2x8x256x160xf16>,
        tensor<2x8x256x160xf16>,
        tensor<2x8x256x184xf16>) {
  // Heads of 40: 48 steps of k and 40 columns are multiplied, which leaves
  // registers for stages of 80 keys.
  // CHECK: // k0 #cuda.wgmma_attention<tile_m = 256, tile_n = 80, stages = 4, blocks = 132>
  %0 = nn.fusion(%q0) : (tensor<2x8x4096x40xf16>) -> tensor<2x8x4096x40xf16> {
  ^bb0(%q: tensor<2x8x4096x40xf16>):
    %o = nn.attention %q, %q, %q {scale = 0.125 : f32} : (tensor<2x8x4096x40xf16>, tensor<2x8x4096x40xf16>, tensor<2x8x4096x40xf16>) -> tensor<2x8x4096x40xf16>
    nn.yield %o : tensor<2x8x4096x40xf16>
  }
  // One wave of tiles of 128 queries.
  // CHECK: // k1 #cuda.wgmma_attention<tile_m = 128, tile_n = 128, stages = 2>
  %1 = nn.fusion(%q1) : (tensor<2x8x1024x80xf16>) -> tensor<2x8x1024x80xf16> {
  ^bb0(%q: tensor<2x8x1024x80xf16>):
    %o = nn.attention %q, %q, %q {scale = 0.125 : f32} : (tensor<2x8x1024x80xf16>, tensor<2x8x1024x80xf16>, tensor<2x8x1024x80xf16>) -> tensor<2x8x1024x80xf16>
    nn.yield %o : tensor<2x8x1024x80xf16>
  }
  // All keys are one stage.
  // CHECK: // k2 #cuda.wgmma_attention<tile_m = 128, tile_n = 80, stages = 2>
  %2 = nn.fusion(%q2, %k2) : (tensor<2x8x1024x80xf16>, tensor<2x8x77x80xf16>) -> tensor<2x8x1024x80xf16> {
  ^bb0(%q: tensor<2x8x1024x80xf16>, %k: tensor<2x8x77x80xf16>):
    %o = nn.attention %q, %k, %k {scale = 0.125 : f32} : (tensor<2x8x1024x80xf16>, tensor<2x8x77x80xf16>, tensor<2x8x77x80xf16>) -> tensor<2x8x1024x80xf16>
    nn.yield %o : tensor<2x8x1024x80xf16>
  }
  // Few tiles: two warpgroups share the keys.
  // CHECK: // k3 #cuda.wgmma_attention<tile_m = 64, tile_n = 128, splits = 2, stages = 2>
  %3 = nn.fusion(%q3, %k3) : (tensor<1x4x256x80xf16>, tensor<1x4x512x80xf16>) -> tensor<1x4x256x80xf16> {
  ^bb0(%q: tensor<1x4x256x80xf16>, %k: tensor<1x4x512x80xf16>):
    %o = nn.attention %q, %k, %k {scale = 0.125 : f32} : (tensor<1x4x256x80xf16>, tensor<1x4x512x80xf16>, tensor<1x4x512x80xf16>) -> tensor<1x4x256x80xf16>
    nn.yield %o : tensor<1x4x256x80xf16>
  }
  // Long heads.
  // CHECK: // k4 #cuda.wgmma_attention<tile_m = 64, tile_n = 64, stages = 2>
  %4 = nn.fusion(%q4) : (tensor<2x8x256x160xf16>) -> tensor<2x8x256x160xf16> {
  ^bb0(%q: tensor<2x8x256x160xf16>):
    %o = nn.attention %q, %q, %q {scale = 0.125 : f32} : (tensor<2x8x256x160xf16>, tensor<2x8x256x160xf16>, tensor<2x8x256x160xf16>) -> tensor<2x8x256x160xf16>
    nn.yield %o : tensor<2x8x256x160xf16>
  }
  // CHECK: // k5 #cuda.wgmma_attention<tile_m = 64, tile_n = 80, stages = 2>
  %5 = nn.fusion(%q5, %k5) : (tensor<2x8x256x160xf16>, tensor<2x8x77x160xf16>) -> tensor<2x8x256x160xf16> {
  ^bb0(%q: tensor<2x8x256x160xf16>, %k: tensor<2x8x77x160xf16>):
    %o = nn.attention %q, %k, %k {scale = 0.125 : f32} : (tensor<2x8x256x160xf16>, tensor<2x8x77x160xf16>, tensor<2x8x77x160xf16>) -> tensor<2x8x256x160xf16>
    nn.yield %o : tensor<2x8x256x160xf16>
  }
  // CHECK: // k6 #cuda.attention<
  %6 = nn.fusion(%q6) : (tensor<2x8x256x184xf16>) -> tensor<2x8x256x184xf16> {
  ^bb0(%q: tensor<2x8x256x184xf16>):
    %o = nn.attention %q, %q, %q {scale = 0.125 : f32} : (tensor<2x8x256x184xf16>, tensor<2x8x256x184xf16>, tensor<2x8x256x184xf16>) -> tensor<2x8x256x184xf16>
    nn.yield %o : tensor<2x8x256x184xf16>
  }
  return %0, %1, %2, %3, %4, %5, %6
      : tensor<2x8x4096x40xf16>,
        tensor<2x8x1024x80xf16>,
        tensor<2x8x1024x80xf16>,
        tensor<1x4x256x80xf16>,
        tensor<2x8x256x160xf16>,
        tensor<2x8x256x160xf16>,
        tensor<2x8x256x184xf16>
}
