// RUN: frit-opt %s -split-input-file --build-plan | FileCheck %s

// Each library call is a step that describes its problem. Gradients have no
// fallback; those of convolutions get a workspace of their operands' size, but
// no less than other calls.

// CHECK-NOT: plan.kernel
// CHECK: plan.conv(%{{[0-9]+}}, %{{[0-9]+}}) -> (%{{[0-9]+}}) workspace(%{{[0-9]+}} : memref<33554432xi8>)
// CHECK-SAME: channels_last
// CHECK-SAME: pads = array<i64: 1, 1, 1, 1>
// CHECK-SAME: pass = #plan<pass grad_input>
// CHECK: plan.conv({{.*}} workspace(%{{[0-9]+}} : memref<50332160xi8>)
// CHECK-SAME: algorithm = 5 : i64
// CHECK-SAME: pass = #plan<pass grad_weight>
func.func @main(%dy: tensor<64x4x4x32xbf16>, %w: tensor<32x3x3x16xbf16>,
                %x: tensor<512x128x12x16xbf16>, %d: tensor<512x128x12x16xbf16>)
    -> (tensor<64x4x4x16xbf16>, tensor<16x1x1x16xbf16>) {
  %0 = nn.fusion(%dy, %w) schedule(#cuda.cudnn_conv_gradient<>) : (tensor<64x4x4x32xbf16>, tensor<32x3x3x16xbf16>) -> tensor<64x4x4x16xbf16> {
  ^bb0(%a: tensor<64x4x4x32xbf16>, %b: tensor<32x3x3x16xbf16>):
    %dx = nn.conv_grad_input %a, %b {channels_last, dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, shape = array<i64: 4, 4>, strides = array<i64: 1, 1>} : (tensor<64x4x4x32xbf16>, tensor<32x3x3x16xbf16>) -> tensor<64x4x4x16xbf16>
    nn.yield %dx : tensor<64x4x4x16xbf16>
  }
  %1 = nn.fusion(%x, %d) schedule(#cuda.cudnn_conv_gradient<algorithm = 5>) : (tensor<512x128x12x16xbf16>, tensor<512x128x12x16xbf16>) -> tensor<16x1x1x16xbf16> {
  ^bb0(%a: tensor<512x128x12x16xbf16>, %b: tensor<512x128x12x16xbf16>):
    %dw = nn.conv_grad_weight %a, %b {channels_last, dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, shape = array<i64: 1, 1>, strides = array<i64: 1, 1>} : (tensor<512x128x12x16xbf16>, tensor<512x128x12x16xbf16>) -> tensor<16x1x1x16xbf16>
    nn.yield %dw : tensor<16x1x1x16xbf16>
  }
  return %0, %1 : tensor<64x4x4x16xbf16>, tensor<16x1x1x16xbf16>
}

// -----

// CHECK: plan.conv fallback @conv_0(
// CHECK-SAME: bias
func.func @main(%x: tensor<2x8x8x4xf32>, %c: tensor<6xf32>, %w: tensor<6x3x3x4xf32>) -> tensor<2x6x6x6xf32> {
  %0 = nn.fusion(%c, %w, %x) schedule(#cuda.cudnn_conv<fallback = #cuda.conv<tile_m = 64, tile_n = 64>>) : (tensor<6xf32>, tensor<6x3x3x4xf32>, tensor<2x8x8x4xf32>) -> tensor<2x6x6x6xf32> {
  ^bb0(%d: tensor<6xf32>, %b: tensor<6x3x3x4xf32>, %a: tensor<2x8x8x4xf32>):
    %y = nn.conv %a, %b, %d {channels_last, dilations = array<i64: 1, 1>, group = 1 : i64, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<2x8x8x4xf32>, tensor<6x3x3x4xf32>, tensor<6xf32>) -> tensor<2x6x6x6xf32>
    nn.yield %y : tensor<2x6x6x6xf32>
  }
  return %0 : tensor<2x6x6x6xf32>
}

// -----

// The gradient of attention has its intermediate results in the workspace.

// CHECK: plan.attention(%{{[0-9]+}}, %{{[0-9]+}}, %{{[0-9]+}}, %{{[0-9]+}}) -> (%{{[0-9]+}}) workspace(%{{[0-9]+}} : memref<{{[0-9]+}}xi8>)
// CHECK-SAME: dk = #plan.operand<argument = 4, offset = 256, strides = [98304, 64, 768, 1]>
// CHECK-SAME: dq = #plan.operand<argument = 4, strides = [98304, 64, 768, 1]>
// CHECK-SAME: stats = #plan.operand<argument = 3,
func.func @main(%qkv: tensor<4x128x12x64xbf16>, %y: tensor<4x128x4x64xbf16>,
                %dy: tensor<4x128x4x64xbf16>, %stats: tensor<4x4x128xf32>) -> tensor<4x128x12x64xbf16> {
  %0 = nn.fusion(%qkv, %y, %dy, %stats) schedule(#cuda.cudnn_attention_gradient<>) : (tensor<4x128x12x64xbf16>, tensor<4x128x4x64xbf16>, tensor<4x128x4x64xbf16>, tensor<4x4x128xf32>) -> tensor<4x128x12x64xbf16> {
  ^bb0(%a: tensor<4x128x12x64xbf16>, %b: tensor<4x128x4x64xbf16>, %c: tensor<4x128x4x64xbf16>, %s: tensor<4x4x128xf32>):
    %1 = nn.slice %a {sizes = array<i64: 4, 128, 4, 64>, starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : (tensor<4x128x12x64xbf16>) -> tensor<4x128x4x64xbf16>
    %q = nn.transpose %1 {perm = array<i64: 0, 2, 1, 3>} : (tensor<4x128x4x64xbf16>) -> tensor<4x4x128x64xbf16>
    %2 = nn.slice %a {sizes = array<i64: 4, 128, 4, 64>, starts = array<i64: 0, 0, 4, 0>, steps = array<i64: 1, 1, 1, 1>} : (tensor<4x128x12x64xbf16>) -> tensor<4x128x4x64xbf16>
    %k = nn.transpose %2 {perm = array<i64: 0, 2, 1, 3>} : (tensor<4x128x4x64xbf16>) -> tensor<4x4x128x64xbf16>
    %3 = nn.slice %a {sizes = array<i64: 4, 128, 4, 64>, starts = array<i64: 0, 0, 8, 0>, steps = array<i64: 1, 1, 1, 1>} : (tensor<4x128x12x64xbf16>) -> tensor<4x128x4x64xbf16>
    %v = nn.transpose %3 {perm = array<i64: 0, 2, 1, 3>} : (tensor<4x128x4x64xbf16>) -> tensor<4x4x128x64xbf16>
    %o = nn.transpose %b {perm = array<i64: 0, 2, 1, 3>} : (tensor<4x128x4x64xbf16>) -> tensor<4x4x128x64xbf16>
    %d = nn.transpose %c {perm = array<i64: 0, 2, 1, 3>} : (tensor<4x128x4x64xbf16>) -> tensor<4x4x128x64xbf16>
    %g = nn.attention_grad %q, %k, %v, %o, %d, %s {causal, scale = 0.125 : f32} : (tensor<4x4x128x64xbf16>, tensor<4x4x128x64xbf16>, tensor<4x4x128x64xbf16>, tensor<4x4x128x64xbf16>, tensor<4x4x128x64xbf16>, tensor<4x4x128xf32>) -> tensor<4x128x12x64xbf16>
    nn.yield %g : tensor<4x128x12x64xbf16>
  }
  return %0 : tensor<4x128x12x64xbf16>
}
