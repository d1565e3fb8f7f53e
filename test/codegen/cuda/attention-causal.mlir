// Larger tiles read the keys fewer times, but a causal mask discards part of
// the keys of a tile. They are only used for long sequences, or for many heads.
// RUN: frit-opt %s --print-cuda=arch=sm_90a -o /dev/null | FileCheck %s

func.func @main(%q: tensor<2x16x4096x64xf16>, %k: tensor<4x16x2048x128xf16>, %s: tensor<4x16x1024x64xf16>, %m: tensor<16x12x1024x64xf16>) {
  %0 = nn.fusion(%q) : (tensor<2x16x4096x64xf16>) -> tensor<2x16x4096x64xf16> {
  ^bb0(%x: tensor<2x16x4096x64xf16>):
    %y = nn.attention %x, %x, %x {scale = 0.125 : f32, causal} : (tensor<2x16x4096x64xf16>, tensor<2x16x4096x64xf16>, tensor<2x16x4096x64xf16>) -> tensor<2x16x4096x64xf16>
    nn.yield %y : tensor<2x16x4096x64xf16>
  }
  %1 = nn.fusion(%k) : (tensor<4x16x2048x128xf16>) -> tensor<4x16x2048x128xf16> {
  ^bb0(%x: tensor<4x16x2048x128xf16>):
    %y = nn.attention %x, %x, %x {scale = 0.088388 : f32, causal} : (tensor<4x16x2048x128xf16>, tensor<4x16x2048x128xf16>, tensor<4x16x2048x128xf16>) -> tensor<4x16x2048x128xf16>
    nn.yield %y : tensor<4x16x2048x128xf16>
  }
  %2 = nn.fusion(%s) : (tensor<4x16x1024x64xf16>) -> tensor<4x16x1024x64xf16> {
  ^bb0(%x: tensor<4x16x1024x64xf16>):
    %y = nn.attention %x, %x, %x {scale = 0.125 : f32, causal} : (tensor<4x16x1024x64xf16>, tensor<4x16x1024x64xf16>, tensor<4x16x1024x64xf16>) -> tensor<4x16x1024x64xf16>
    nn.yield %y : tensor<4x16x1024x64xf16>
  }
  %3 = nn.fusion(%m) : (tensor<16x12x1024x64xf16>) -> tensor<16x12x1024x64xf16> {
  ^bb0(%x: tensor<16x12x1024x64xf16>):
    %y = nn.attention %x, %x, %x {scale = 0.125 : f32, causal} : (tensor<16x12x1024x64xf16>, tensor<16x12x1024x64xf16>, tensor<16x12x1024x64xf16>) -> tensor<16x12x1024x64xf16>
    nn.yield %y : tensor<16x12x1024x64xf16>
  }
  return
}

// CHECK: // k0 #cuda.wgmma_attention<tile_m = 256, tile_n = 64, stages = 4, blocks = 132>
// CHECK: // k1 #cuda.wgmma_attention<tile_m = 192, tile_n = 64, stages = 3, blocks = 132>
// CHECK: // k2 #cuda.wgmma_attention<tile_m = 64, tile_n = 64, stages = 2, occupancy = 3, blocks = 396>
// CHECK: // k3 #cuda.wgmma_attention<tile_m = 256, tile_n = 64, stages = 4, blocks = 132>
