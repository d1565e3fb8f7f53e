// RUN: frit-opt %s --emit-kernels | FileCheck %s
// RUN: frit-opt %s --emit-kernels --emit-kernels | FileCheck %s

// Kernels get their launch, tensor maps, text and module. The grid is that of
// the schedule. Where only a shape differs that the text does not tell, the text
// is shared.

// CHECK:      plan.kernel @matmul_0 attributes {block = array<i64: [[T:[0-9]+]], 1, 1>,
// CHECK-SAME: grid = array<i64: 60, 1, 1>, module = 1 : i64, shared_bytes = {{[1-9][0-9]*}} : i64,
// CHECK-SAME: source = #plan.source<header = "wgmma_gemm", text = "{{.*}}matmul_0(
// CHECK-SAME: tensor_maps = [#plan.tensor_map<argument = 0, type = f16, kind = tiled, dims = [768, 512, 1], strides = [1536, 786432],
// CHECK-SAME: waits}
// CHECK:      plan.kernel @relu_1 attributes {block = array<i64: [[R:[0-9]+]], 1, 1>
// CHECK-SAME: module = 0 : i64
// CHECK-SAME: source = #plan.source<header = "map", text = "{{.*}}relu_1(
// CHECK:      plan.kernel @relu_2 attributes {block = array<i64: [[R]], 1, 1>
// CHECK-NOT:  source
// CHECK-SAME: module = 0 : i64
// CHECK-SAME: symbol = "relu_1"
plan.target "sm_90a" {
  plan.kernel @matmul_0 {
  ^bb0(%x: tensor<4x128x768xf16>, %w: tensor<768x3072xf16>):
    %0 = nn.fusion(%x, %w) schedule(#cuda.wgmma_gemm<tile_m = 128, tile_n = 128, stages = 4, blocks = 60>) : (tensor<4x128x768xf16>, tensor<768x3072xf16>) -> tensor<4x128x3072xf16> {
    ^bb0(%a: tensor<4x128x768xf16>, %b: tensor<768x3072xf16>):
      %y = nn.matmul %a, %b : (tensor<4x128x768xf16>, tensor<768x3072xf16>) -> tensor<4x128x3072xf16>
      nn.yield %y : tensor<4x128x3072xf16>
    }
  }
  plan.kernel @relu_1 {
  ^bb0(%x: tensor<8xf32>):
    %0 = nn.fusion(%x) schedule(#cuda.map<threads = 64>) : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%a: tensor<8xf32>):
      %y = nn.relu %a : (tensor<8xf32>) -> tensor<8xf32>
      nn.yield %y : tensor<8xf32>
    }
  }
  plan.kernel @relu_2 {
  ^bb0(%x: tensor<2x4xf32>):
    %0 = nn.fusion(%x) schedule(#cuda.map<threads = 64>) : (tensor<2x4xf32>) -> tensor<2x4xf32> {
    ^bb0(%a: tensor<2x4xf32>):
      %y = nn.relu %a : (tensor<2x4xf32>) -> tensor<2x4xf32>
      nn.yield %y : tensor<2x4xf32>
    }
  }
}

// Products of bytes by WGMMA have a second body, as kernels with tensor maps do:
// their modules are compiled twice.

// CHECK:      plan.target "sm_90a"
// CHECK:      plan.kernel @bytes_0 attributes {{{.*}}, module = 1 : i64
// CHECK:      plan.kernel @bytes_1 attributes {{{.*}}, module = 0 : i64
plan.target "sm_90a" {
  plan.kernel @bytes_0 {
  ^bb0(%x: tensor<512x512xui8>, %w: tensor<512x512xi8>, %xz: tensor<ui8>, %wz: tensor<i8>):
    %0 = nn.fusion(%x, %w, %xz, %wz) schedule(#cuda.integer_gemm<tile_m = 128, tile_n = 128, warp_m = 16, warp_n = 128, depth = 128, stages = 4, wgmma = true>) : (tensor<512x512xui8>, tensor<512x512xi8>, tensor<ui8>, tensor<i8>) -> tensor<512x512xi32> {
    ^bb0(%a: tensor<512x512xui8>, %b: tensor<512x512xi8>, %c: tensor<ui8>, %d: tensor<i8>):
      %y = nn.quantized_conv %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<512x512xui8>, tensor<512x512xi8>, tensor<ui8>, tensor<i8>) -> tensor<512x512xi32>
      nn.yield %y : tensor<512x512xi32>
    }
  }
  plan.kernel @bytes_1 {
  ^bb0(%x: tensor<512x512xui8>, %w: tensor<512x512xi8>, %xz: tensor<ui8>, %wz: tensor<i8>):
    %0 = nn.fusion(%x, %w, %xz, %wz) schedule(#cuda.integer_gemm<tile_m = 128, tile_n = 64, warp_m = 64, warp_n = 32, depth = 64, stages = 4>) : (tensor<512x512xui8>, tensor<512x512xi8>, tensor<ui8>, tensor<i8>) -> tensor<512x512xi32> {
    ^bb0(%a: tensor<512x512xui8>, %b: tensor<512x512xi8>, %c: tensor<ui8>, %d: tensor<i8>):
      %y = nn.quantized_conv %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<512x512xui8>, tensor<512x512xi8>, tensor<ui8>, tensor<i8>) -> tensor<512x512xi32>
      nn.yield %y : tensor<512x512xi32>
    }
  }
}

// Older architectures have no tensor maps and wait for nothing.

// CHECK:      plan.target "sm_80"
// CHECK:      plan.kernel @matmul_0 attributes {block =
// CHECK-NOT:  tensor_maps
// CHECK-NOT:  waits
// CHECK:      {
plan.target "sm_80" {
  plan.kernel @matmul_0 {
  ^bb0(%x: tensor<4x128x768xf16>, %w: tensor<768x3072xf16>):
    %0 = nn.fusion(%x, %w) schedule(#cuda.gemm<tile_m = 64, tile_n = 64>) : (tensor<4x128x768xf16>, tensor<768x3072xf16>) -> tensor<4x128x3072xf16> {
    ^bb0(%a: tensor<4x128x768xf16>, %b: tensor<768x3072xf16>):
      %y = nn.matmul %a, %b : (tensor<4x128x768xf16>, tensor<768x3072xf16>) -> tensor<4x128x3072xf16>
      nn.yield %y : tensor<4x128x3072xf16>
    }
  }
}

// Kernels of a host have no text.

// CHECK:      plan.target "x86-64"
// CHECK:      plan.kernel @relu_0 {
plan.target "x86-64" {
  plan.kernel @relu_0 {
  ^bb0(%x: tensor<8xf32>):
    %0 = nn.fusion(%x) : (tensor<8xf32>) -> tensor<8xf32> {
    ^bb0(%a: tensor<8xf32>):
      %y = nn.relu %a : (tensor<8xf32>) -> tensor<8xf32>
      nn.yield %y : tensor<8xf32>
    }
  }
}
