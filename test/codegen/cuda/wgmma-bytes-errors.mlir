// RUN: frit-opt %s --split-input-file --verify-diagnostics --print-cuda -o /dev/null

// Products that wgmma_bytes does not compute, and tiles that do not fit.

func.func @channels(%x: tensor<64x72xi8>, %w: tensor<64x72xi8>) {
  %xz = nn.constant dense<0> : tensor<i8>
  %wz = nn.constant dense<0> : tensor<i8>
  // expected-error@+1 {{has no CUDA kernel: its channels are no multiple of 16, or its filters of 32 (schedule #cuda.wgmma_bytes<}}
  %0 = nn.fusion(%x, %w, %xz, %wz) schedule(#cuda.wgmma_bytes<tile_m = 64, tile_n = 64, stages = 4>) : (tensor<64x72xi8>, tensor<64x72xi8>, tensor<i8>, tensor<i8>) -> tensor<64x64xi32> {
  ^bb0(%a: tensor<64x72xi8>, %b: tensor<64x72xi8>, %c: tensor<i8>, %d: tensor<i8>):
    %1 = nn.quantized_conv %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<64x72xi8>, tensor<64x72xi8>, tensor<i8>, tensor<i8>) -> tensor<64x64xi32>
    nn.yield %1 : tensor<64x64xi32>
  }
  return
}

// -----

func.func @zero(%x: tensor<64x64xi8>, %w: tensor<64x64xi8>, %xz: tensor<i8>) {
  %wz = nn.constant dense<0> : tensor<i8>
  // expected-error@+1 {{has no CUDA kernel: its zero points are not known to be 0 (schedule #cuda.wgmma_bytes<}}
  %0 = nn.fusion(%x, %w, %xz, %wz) schedule(#cuda.wgmma_bytes<tile_m = 64, tile_n = 64, stages = 4>) : (tensor<64x64xi8>, tensor<64x64xi8>, tensor<i8>, tensor<i8>) -> tensor<64x64xi32> {
  ^bb0(%a: tensor<64x64xi8>, %b: tensor<64x64xi8>, %c: tensor<i8>, %d: tensor<i8>):
    %1 = nn.quantized_conv %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<64x64xi8>, tensor<64x64xi8>, tensor<i8>, tensor<i8>) -> tensor<64x64xi32>
    nn.yield %1 : tensor<64x64xi32>
  }
  return
}

// -----

func.func @other_zero(%x: tensor<64x64xi8>, %w: tensor<64x64xi8>) {
  %xz = nn.constant dense<3> : tensor<i8>
  %wz = nn.constant dense<0> : tensor<i8>
  // expected-error@+1 {{has no CUDA kernel: its zero points are not known to be 0 (schedule #cuda.wgmma_bytes<}}
  %0 = nn.fusion(%x, %w, %xz, %wz) schedule(#cuda.wgmma_bytes<tile_m = 64, tile_n = 64, stages = 4>) : (tensor<64x64xi8>, tensor<64x64xi8>, tensor<i8>, tensor<i8>) -> tensor<64x64xi32> {
  ^bb0(%a: tensor<64x64xi8>, %b: tensor<64x64xi8>, %c: tensor<i8>, %d: tensor<i8>):
    %1 = nn.quantized_conv %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<64x64xi8>, tensor<64x64xi8>, tensor<i8>, tensor<i8>) -> tensor<64x64xi32>
    nn.yield %1 : tensor<64x64xi32>
  }
  return
}

// -----

func.func @float_channels(%x: tensor<1x8x8x96xf8E4M3FN>, %w: tensor<64x3x3x96xf8E4M3FN>) {
  // expected-error@+1 {{has no CUDA kernel: channels of floats are neither 32, 64 nor a multiple of 128 (schedule #cuda.wgmma_bytes<}}
  %0 = nn.fusion(%x, %w) schedule(#cuda.wgmma_bytes<tile_m = 64, tile_n = 64, stages = 4>) : (tensor<1x8x8x96xf8E4M3FN>, tensor<64x3x3x96xf8E4M3FN>) -> tensor<1x8x8x64xf32> {
  ^bb0(%a: tensor<1x8x8x96xf8E4M3FN>, %b: tensor<64x3x3x96xf8E4M3FN>):
    %1 = nn.quantized_conv %a, %b {operandSegmentSizes = array<i32: 1, 1, 0, 0, 0, 0, 0, 0>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x8x8x96xf8E4M3FN>, tensor<64x3x3x96xf8E4M3FN>) -> tensor<1x8x8x64xf32>
    nn.yield %1 : tensor<1x8x8x64xf32>
  }
  return
}

// -----

func.func @strides(%x: tensor<1x32x32x64xi8>, %w: tensor<64x1x1x64xi8>) {
  %xz = nn.constant dense<0> : tensor<i8>
  %wz = nn.constant dense<0> : tensor<i8>
  // expected-error@+1 {{has no CUDA kernel: its windows or strides are too large for TMA (schedule #cuda.wgmma_bytes<}}
  %0 = nn.fusion(%x, %w, %xz, %wz) schedule(#cuda.wgmma_bytes<tile_m = 64, tile_n = 64, stages = 4>) : (tensor<1x32x32x64xi8>, tensor<64x1x1x64xi8>, tensor<i8>, tensor<i8>) -> tensor<1x4x4x64xi32> {
  ^bb0(%a: tensor<1x32x32x64xi8>, %b: tensor<64x1x1x64xi8>, %c: tensor<i8>, %d: tensor<i8>):
    %1 = nn.quantized_conv %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64: 9, 9>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<1x32x32x64xi8>, tensor<64x1x1x64xi8>, tensor<i8>, tensor<i8>) -> tensor<1x4x4x64xi32>
    nn.yield %1 : tensor<1x4x4x64xi32>
  }
  return
}

// -----

func.func @tile(%x: tensor<256x64xi8>, %w: tensor<256x64xi8>) {
  %xz = nn.constant dense<0> : tensor<i8>
  %wz = nn.constant dense<0> : tensor<i8>
  // expected-error@+1 {{has no CUDA kernel: the tile does not fit into an SM (schedule #cuda.wgmma_bytes<}}
  %0 = nn.fusion(%x, %w, %xz, %wz) schedule(#cuda.wgmma_bytes<tile_m = 192, tile_n = 256, stages = 4>) : (tensor<256x64xi8>, tensor<256x64xi8>, tensor<i8>, tensor<i8>) -> tensor<256x256xi32> {
  ^bb0(%a: tensor<256x64xi8>, %b: tensor<256x64xi8>, %c: tensor<i8>, %d: tensor<i8>):
    %1 = nn.quantized_conv %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<256x64xi8>, tensor<256x64xi8>, tensor<i8>, tensor<i8>) -> tensor<256x256xi32>
    nn.yield %1 : tensor<256x256xi32>
  }
  return
}

// -----

func.func @split(%x: tensor<64x256xi8>, %w: tensor<64x256xi8>) {
  %xz = nn.constant dense<0> : tensor<i8>
  %wz = nn.constant dense<0> : tensor<i8>
  // expected-error@+1 {{has no CUDA kernel: more blocks divide the steps than there are (schedule #cuda.wgmma_bytes<}}
  %0 = nn.fusion(%x, %w, %xz, %wz) schedule(#cuda.wgmma_bytes<tile_m = 64, tile_n = 64, stages = 4, split = 4>) : (tensor<64x256xi8>, tensor<64x256xi8>, tensor<i8>, tensor<i8>) -> tensor<64x64xi32> {
  ^bb0(%a: tensor<64x256xi8>, %b: tensor<64x256xi8>, %c: tensor<i8>, %d: tensor<i8>):
    %1 = nn.quantized_conv %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<64x256xi8>, tensor<64x256xi8>, tensor<i8>, tensor<i8>) -> tensor<64x64xi32>
    nn.yield %1 : tensor<64x64xi32>
  }
  return
}

// -----

func.func @blocks(%x: tensor<64x256xi8>, %w: tensor<64x256xi8>) {
  %xz = nn.constant dense<0> : tensor<i8>
  %wz = nn.constant dense<0> : tensor<i8>
  // expected-error@+1 {{has no CUDA kernel: it has more blocks than tiles (schedule #cuda.wgmma_bytes<}}
  %0 = nn.fusion(%x, %w, %xz, %wz) schedule(#cuda.wgmma_bytes<tile_m = 64, tile_n = 64, stages = 4, blocks = 2>) : (tensor<64x256xi8>, tensor<64x256xi8>, tensor<i8>, tensor<i8>) -> tensor<64x64xi32> {
  ^bb0(%a: tensor<64x256xi8>, %b: tensor<64x256xi8>, %c: tensor<i8>, %d: tensor<i8>):
    %1 = nn.quantized_conv %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<64x256xi8>, tensor<64x256xi8>, tensor<i8>, tensor<i8>) -> tensor<64x64xi32>
    nn.yield %1 : tensor<64x64xi32>
  }
  return
}
