// Schedules of products of bytes that only sm_90a has.
// RUN: frit-opt %s --split-input-file --verify-diagnostics --print-cuda=arch=sm_80 -o /dev/null

func.func @wgmma(%x: tensor<64x64xi8>, %z: tensor<i8>) {
  // expected-error@+1 {{has no CUDA kernel: the target has no WGMMA (schedule #cuda.integer_gemm<}}
  %0 = nn.fusion(%x, %z) schedule(#cuda.integer_gemm<tile_m = 64, tile_n = 32, warp_m = 16, warp_n = 32, depth = 128, stages = 3, wgmma = true>) : (tensor<64x64xi8>, tensor<i8>) -> tensor<64x64xi32> {
  ^bb0(%a: tensor<64x64xi8>, %c: tensor<i8>):
    %1 = nn.quantized_conv %a, %a, %c, %c {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<64x64xi8>, tensor<64x64xi8>, tensor<i8>, tensor<i8>) -> tensor<64x64xi32>
    nn.yield %1 : tensor<64x64xi32>
  }
  return
}

// -----

func.func @clusters(%x: tensor<64x64xi8>, %z: tensor<i8>) {
  // expected-error@+1 {{has no CUDA kernel: the target has no clusters (schedule #cuda.integer_gemm<}}
  %0 = nn.fusion(%x, %z) schedule(#cuda.integer_gemm<tile_m = 64, tile_n = 32, warp_m = 32, warp_n = 32, depth = 64, stages = 3, cluster = 2>) : (tensor<64x64xi8>, tensor<i8>) -> tensor<64x64xi32> {
  ^bb0(%a: tensor<64x64xi8>, %c: tensor<i8>):
    %1 = nn.quantized_conv %a, %a, %c, %c {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<64x64xi8>, tensor<64x64xi8>, tensor<i8>, tensor<i8>) -> tensor<64x64xi32>
    nn.yield %1 : tensor<64x64xi32>
  }
  return
}

// -----

func.func @bytes(%x: tensor<64x64xi8>, %w: tensor<64x64xi8>) {
  %xz = nn.constant dense<0> : tensor<i8>
  %wz = nn.constant dense<0> : tensor<i8>
  // expected-error@+1 {{has no CUDA kernel: the target has no WGMMA (schedule #cuda.wgmma_bytes<}}
  %0 = nn.fusion(%x, %w, %xz, %wz) schedule(#cuda.wgmma_bytes<tile_m = 64, tile_n = 64, stages = 4>) : (tensor<64x64xi8>, tensor<64x64xi8>, tensor<i8>, tensor<i8>) -> tensor<64x64xi32> {
  ^bb0(%a: tensor<64x64xi8>, %b: tensor<64x64xi8>, %c: tensor<i8>, %d: tensor<i8>):
    %1 = nn.quantized_conv %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<64x64xi8>, tensor<64x64xi8>, tensor<i8>, tensor<i8>) -> tensor<64x64xi32>
    nn.yield %1 : tensor<64x64xi32>
  }
  return
}
