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

// -----

func.func @pair_split(%x: tensor<640x256xui8>, %w: tensor<512x256xi8>, %v: tensor<640x256xui8>, %u: tensor<512x256xi8>) {
  %xz = nn.constant dense<0> : tensor<ui8>
  %wz = nn.constant dense<0> : tensor<i8>
  // expected-error@+1 {{has no CUDA kernel: two products have neither a split nor ping-pong (schedule #cuda.wgmma_bytes<}}
  %0 = nn.fusion(%x, %w, %xz, %wz, %v, %u) schedule(#cuda.wgmma_bytes<tile_m = 64, tile_n = 64, stages = 4, split = 2>) : (tensor<640x256xui8>, tensor<512x256xi8>, tensor<ui8>, tensor<i8>, tensor<640x256xui8>, tensor<512x256xi8>) -> tensor<640x512xf32> {
  ^bb0(%a: tensor<640x256xui8>, %b: tensor<512x256xi8>, %c: tensor<ui8>, %d: tensor<i8>, %e: tensor<640x256xui8>, %f: tensor<512x256xi8>):
    %half = nn.constant dense<0.5> : tensor<f32>
    %low = nn.constant dense<0.0> : tensor<f32>
    %high = nn.constant dense<255.0> : tensor<f32>
    %s0 = nn.quantized_conv %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<640x256xui8>, tensor<512x256xi8>, tensor<ui8>, tensor<i8>) -> tensor<640x512xi32>
    %s1 = nn.cast %s0 {to = f32} : (tensor<640x512xi32>) -> tensor<640x512xf32>
    %s2 = nn.mul %s1, %half : (tensor<640x512xf32>, tensor<f32>) -> tensor<640x512xf32>
    %s3 = nn.round %s2 : (tensor<640x512xf32>) -> tensor<640x512xf32>
    %s4 = nn.max %s3, %low : (tensor<640x512xf32>, tensor<f32>) -> tensor<640x512xf32>
    %s5 = nn.min %s4, %high : (tensor<640x512xf32>, tensor<f32>) -> tensor<640x512xf32>
    %s6 = nn.cast %s5 {to = ui8} : (tensor<640x512xf32>) -> tensor<640x512xui8>
    %t0 = nn.quantized_conv %e, %f, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<640x256xui8>, tensor<512x256xi8>, tensor<ui8>, tensor<i8>) -> tensor<640x512xi32>
    %t1 = nn.cast %t0 {to = f32} : (tensor<640x512xi32>) -> tensor<640x512xf32>
    %t2 = nn.cast %s6 {to = i32} : (tensor<640x512xui8>) -> tensor<640x512xi32>
    %t3 = nn.cast %t2 {to = f32} : (tensor<640x512xi32>) -> tensor<640x512xf32>
    %t4 = nn.add %t1, %t3 : (tensor<640x512xf32>, tensor<640x512xf32>) -> tensor<640x512xf32>
    nn.yield %t4 : tensor<640x512xf32>
  }
  return
}

// -----

func.func @pair_alternating(%x: tensor<640x256xui8>, %w: tensor<512x256xi8>, %v: tensor<640x256xui8>, %u: tensor<512x256xi8>) {
  %xz = nn.constant dense<0> : tensor<ui8>
  %wz = nn.constant dense<0> : tensor<i8>
  // expected-error@+1 {{has no CUDA kernel: two products have neither a split nor ping-pong (schedule #cuda.wgmma_bytes<}}
  %0 = nn.fusion(%x, %w, %xz, %wz, %v, %u) schedule(#cuda.wgmma_bytes<tile_m = 128, tile_n = 64, stages = 4, pingpong = true>) : (tensor<640x256xui8>, tensor<512x256xi8>, tensor<ui8>, tensor<i8>, tensor<640x256xui8>, tensor<512x256xi8>) -> tensor<640x512xf32> {
  ^bb0(%a: tensor<640x256xui8>, %b: tensor<512x256xi8>, %c: tensor<ui8>, %d: tensor<i8>, %e: tensor<640x256xui8>, %f: tensor<512x256xi8>):
    %half = nn.constant dense<0.5> : tensor<f32>
    %low = nn.constant dense<0.0> : tensor<f32>
    %high = nn.constant dense<255.0> : tensor<f32>
    %s0 = nn.quantized_conv %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<640x256xui8>, tensor<512x256xi8>, tensor<ui8>, tensor<i8>) -> tensor<640x512xi32>
    %s1 = nn.cast %s0 {to = f32} : (tensor<640x512xi32>) -> tensor<640x512xf32>
    %s2 = nn.mul %s1, %half : (tensor<640x512xf32>, tensor<f32>) -> tensor<640x512xf32>
    %s3 = nn.round %s2 : (tensor<640x512xf32>) -> tensor<640x512xf32>
    %s4 = nn.max %s3, %low : (tensor<640x512xf32>, tensor<f32>) -> tensor<640x512xf32>
    %s5 = nn.min %s4, %high : (tensor<640x512xf32>, tensor<f32>) -> tensor<640x512xf32>
    %s6 = nn.cast %s5 {to = ui8} : (tensor<640x512xf32>) -> tensor<640x512xui8>
    %t0 = nn.quantized_conv %e, %f, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<640x256xui8>, tensor<512x256xi8>, tensor<ui8>, tensor<i8>) -> tensor<640x512xi32>
    %t1 = nn.cast %t0 {to = f32} : (tensor<640x512xi32>) -> tensor<640x512xf32>
    %t2 = nn.cast %s6 {to = i32} : (tensor<640x512xui8>) -> tensor<640x512xi32>
    %t3 = nn.cast %t2 {to = f32} : (tensor<640x512xi32>) -> tensor<640x512xf32>
    %t4 = nn.add %t1, %t3 : (tensor<640x512xf32>, tensor<640x512xf32>) -> tensor<640x512xf32>
    nn.yield %t4 : tensor<640x512xf32>
  }
  return
}

// -----

func.func @pair_copied(%x: tensor<640x256xui8>, %w: tensor<512x256xi8>, %v: tensor<640x256xui8>, %u: tensor<512x256xi8>) {
  %xz = nn.constant dense<0> : tensor<ui8>
  %wz = nn.constant dense<0> : tensor<i8>
  // expected-error@+1 {{has no CUDA kernel: it has two products (schedule #cuda.integer_gemm<}}
  %0 = nn.fusion(%x, %w, %xz, %wz, %v, %u) schedule(#cuda.integer_gemm<tile_m = 64, tile_n = 64, warp_m = 32, warp_n = 32, depth = 64, stages = 3>) : (tensor<640x256xui8>, tensor<512x256xi8>, tensor<ui8>, tensor<i8>, tensor<640x256xui8>, tensor<512x256xi8>) -> tensor<640x512xf32> {
  ^bb0(%a: tensor<640x256xui8>, %b: tensor<512x256xi8>, %c: tensor<ui8>, %d: tensor<i8>, %e: tensor<640x256xui8>, %f: tensor<512x256xi8>):
    %half = nn.constant dense<0.5> : tensor<f32>
    %low = nn.constant dense<0.0> : tensor<f32>
    %high = nn.constant dense<255.0> : tensor<f32>
    %s0 = nn.quantized_conv %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<640x256xui8>, tensor<512x256xi8>, tensor<ui8>, tensor<i8>) -> tensor<640x512xi32>
    %s1 = nn.cast %s0 {to = f32} : (tensor<640x512xi32>) -> tensor<640x512xf32>
    %s2 = nn.mul %s1, %half : (tensor<640x512xf32>, tensor<f32>) -> tensor<640x512xf32>
    %s3 = nn.round %s2 : (tensor<640x512xf32>) -> tensor<640x512xf32>
    %s4 = nn.max %s3, %low : (tensor<640x512xf32>, tensor<f32>) -> tensor<640x512xf32>
    %s5 = nn.min %s4, %high : (tensor<640x512xf32>, tensor<f32>) -> tensor<640x512xf32>
    %s6 = nn.cast %s5 {to = ui8} : (tensor<640x512xf32>) -> tensor<640x512xui8>
    %t0 = nn.quantized_conv %e, %f, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<640x256xui8>, tensor<512x256xi8>, tensor<ui8>, tensor<i8>) -> tensor<640x512xi32>
    %t1 = nn.cast %t0 {to = f32} : (tensor<640x512xi32>) -> tensor<640x512xf32>
    %t2 = nn.cast %s6 {to = i32} : (tensor<640x512xui8>) -> tensor<640x512xi32>
    %t3 = nn.cast %t2 {to = f32} : (tensor<640x512xi32>) -> tensor<640x512xf32>
    %t4 = nn.add %t1, %t3 : (tensor<640x512xf32>, tensor<640x512xf32>) -> tensor<640x512xf32>
    nn.yield %t4 : tensor<640x512xf32>
  }
  return
}

// -----

func.func @pair_residual(%x: tensor<640x256xui8>, %w: tensor<512x256xi8>, %v: tensor<640x256xui8>, %u: tensor<512x256xi8>, %r: tensor<640x512xf32>) {
  %xz = nn.constant dense<0> : tensor<ui8>
  %wz = nn.constant dense<0> : tensor<i8>
  // expected-error@+1 {{has no CUDA kernel: its two products read or add other tensors}}
  %0 = nn.fusion(%x, %w, %xz, %wz, %v, %u, %r) : (tensor<640x256xui8>, tensor<512x256xi8>, tensor<ui8>, tensor<i8>, tensor<640x256xui8>, tensor<512x256xi8>, tensor<640x512xf32>) -> tensor<640x512xf32> {
  ^bb0(%a: tensor<640x256xui8>, %b: tensor<512x256xi8>, %c: tensor<ui8>, %d: tensor<i8>, %e: tensor<640x256xui8>, %f: tensor<512x256xi8>, %g: tensor<640x512xf32>):
    %half = nn.constant dense<0.5> : tensor<f32>
    %low = nn.constant dense<0.0> : tensor<f32>
    %high = nn.constant dense<255.0> : tensor<f32>
    %s0 = nn.quantized_conv %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<640x256xui8>, tensor<512x256xi8>, tensor<ui8>, tensor<i8>) -> tensor<640x512xi32>
    %s1 = nn.cast %s0 {to = f32} : (tensor<640x512xi32>) -> tensor<640x512xf32>
    %s2 = nn.mul %s1, %half : (tensor<640x512xf32>, tensor<f32>) -> tensor<640x512xf32>
    %s3 = nn.round %s2 : (tensor<640x512xf32>) -> tensor<640x512xf32>
    %s4 = nn.max %s3, %low : (tensor<640x512xf32>, tensor<f32>) -> tensor<640x512xf32>
    %s5 = nn.min %s4, %high : (tensor<640x512xf32>, tensor<f32>) -> tensor<640x512xf32>
    %s6 = nn.cast %s5 {to = ui8} : (tensor<640x512xf32>) -> tensor<640x512xui8>
    %t0 = nn.quantized_conv %e, %f, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<640x256xui8>, tensor<512x256xi8>, tensor<ui8>, tensor<i8>) -> tensor<640x512xi32>
    %t1 = nn.cast %t0 {to = f32} : (tensor<640x512xi32>) -> tensor<640x512xf32>
    %t2 = nn.cast %s6 {to = i32} : (tensor<640x512xui8>) -> tensor<640x512xi32>
    %t3 = nn.cast %t2 {to = f32} : (tensor<640x512xi32>) -> tensor<640x512xf32>
    %t4 = nn.add %t1, %t3 : (tensor<640x512xf32>, tensor<640x512xf32>) -> tensor<640x512xf32>
    %t5 = nn.add %t4, %g : (tensor<640x512xf32>, tensor<640x512xf32>) -> tensor<640x512xf32>
    nn.yield %t5 : tensor<640x512xf32>
  }
  return
}
