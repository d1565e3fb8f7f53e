// RUN: frit-opt %s --split-input-file --verify-diagnostics --print-cuda -o /dev/null

// Convolutions that byte_rows does not compute, and schedules that do not fit.

func.func @channels(%x: tensor<2x8x8x48xui8>, %w: tensor<64x3x3x48xi8>) {
  %xz = nn.constant dense<0> : tensor<ui8>
  %wz = nn.constant dense<0> : tensor<i8>
  // expected-error@+1 {{has no CUDA kernel: its channels are neither 16, 32 nor 64, or those of a row of taps no multiple of 32 (schedule #cuda.byte_rows<}}
  %0 = nn.fusion(%x, %w, %xz, %wz) schedule(#cuda.byte_rows<stages = 2, occupancy = 2>) : (tensor<2x8x8x48xui8>, tensor<64x3x3x48xi8>, tensor<ui8>, tensor<i8>) -> tensor<2x8x8x64xi32> {
  ^bb0(%a: tensor<2x8x8x48xui8>, %b: tensor<64x3x3x48xi8>, %c: tensor<ui8>, %d: tensor<i8>):
    %1 = nn.quantized_conv %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<2x8x8x48xui8>, tensor<64x3x3x48xi8>, tensor<ui8>, tensor<i8>) -> tensor<2x8x8x64xi32>
    nn.yield %1 : tensor<2x8x8x64xi32>
  }
  return
}

// -----

func.func @odd_taps(%x: tensor<2x8x8x16xui8>, %w: tensor<64x3x3x16xi8>) {
  %xz = nn.constant dense<0> : tensor<ui8>
  %wz = nn.constant dense<0> : tensor<i8>
  // expected-error@+1 {{has no CUDA kernel: its channels are neither 16, 32 nor 64, or those of a row of taps no multiple of 32 (schedule #cuda.byte_rows<}}
  %0 = nn.fusion(%x, %w, %xz, %wz) schedule(#cuda.byte_rows<stages = 2, occupancy = 2>) : (tensor<2x8x8x16xui8>, tensor<64x3x3x16xi8>, tensor<ui8>, tensor<i8>) -> tensor<2x6x6x64xi32> {
  ^bb0(%a: tensor<2x8x8x16xui8>, %b: tensor<64x3x3x16xi8>, %c: tensor<ui8>, %d: tensor<i8>):
    %1 = nn.quantized_conv %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<2x8x8x16xui8>, tensor<64x3x3x16xi8>, tensor<ui8>, tensor<i8>) -> tensor<2x6x6x64xi32>
    nn.yield %1 : tensor<2x6x6x64xi32>
  }
  return
}

// -----

func.func @filters(%x: tensor<2x8x8x64xui8>, %w: tensor<96x3x3x64xi8>) {
  %xz = nn.constant dense<0> : tensor<ui8>
  %wz = nn.constant dense<0> : tensor<i8>
  // expected-error@+1 {{has no CUDA kernel: its filters are neither 32, 64 nor 128 (schedule #cuda.byte_rows<}}
  %0 = nn.fusion(%x, %w, %xz, %wz) schedule(#cuda.byte_rows<stages = 2, occupancy = 2>) : (tensor<2x8x8x64xui8>, tensor<96x3x3x64xi8>, tensor<ui8>, tensor<i8>) -> tensor<2x8x8x96xi32> {
  ^bb0(%a: tensor<2x8x8x64xui8>, %b: tensor<96x3x3x64xi8>, %c: tensor<ui8>, %d: tensor<i8>):
    %1 = nn.quantized_conv %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<2x8x8x64xui8>, tensor<96x3x3x64xi8>, tensor<ui8>, tensor<i8>) -> tensor<2x8x8x96xi32>
    nn.yield %1 : tensor<2x8x8x96xi32>
  }
  return
}

// -----

func.func @strides(%x: tensor<2x8x8x64xui8>, %w: tensor<64x3x3x64xi8>) {
  %xz = nn.constant dense<0> : tensor<ui8>
  %wz = nn.constant dense<0> : tensor<i8>
  // expected-error@+1 {{has no CUDA kernel: it has strides or dilations (schedule #cuda.byte_rows<}}
  %0 = nn.fusion(%x, %w, %xz, %wz) schedule(#cuda.byte_rows<stages = 2, occupancy = 2>) : (tensor<2x8x8x64xui8>, tensor<64x3x3x64xi8>, tensor<ui8>, tensor<i8>) -> tensor<2x4x4x64xi32> {
  ^bb0(%a: tensor<2x8x8x64xui8>, %b: tensor<64x3x3x64xi8>, %c: tensor<ui8>, %d: tensor<i8>):
    %1 = nn.quantized_conv %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<2x8x8x64xui8>, tensor<64x3x3x64xi8>, tensor<ui8>, tensor<i8>) -> tensor<2x4x4x64xi32>
    nn.yield %1 : tensor<2x4x4x64xi32>
  }
  return
}

// -----

func.func @rows(%x: tensor<2x8x129x64xui8>, %w: tensor<64x3x3x64xi8>) {
  %xz = nn.constant dense<0> : tensor<ui8>
  %wz = nn.constant dense<0> : tensor<i8>
  // expected-error@+1 {{has no CUDA kernel: its rows have more than 128 pixels (schedule #cuda.byte_rows<}}
  %0 = nn.fusion(%x, %w, %xz, %wz) schedule(#cuda.byte_rows<stages = 2, occupancy = 2>) : (tensor<2x8x129x64xui8>, tensor<64x3x3x64xi8>, tensor<ui8>, tensor<i8>) -> tensor<2x8x129x64xi32> {
  ^bb0(%a: tensor<2x8x129x64xui8>, %b: tensor<64x3x3x64xi8>, %c: tensor<ui8>, %d: tensor<i8>):
    %1 = nn.quantized_conv %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<2x8x129x64xui8>, tensor<64x3x3x64xi8>, tensor<ui8>, tensor<i8>) -> tensor<2x8x129x64xi32>
    nn.yield %1 : tensor<2x8x129x64xi32>
  }
  return
}

// -----

func.func @padded(%x: tensor<2x8x8x16xui8>, %w: tensor<64x4x4x16xi8>) {
  %xz = nn.constant dense<0> : tensor<ui8>
  %wz = nn.constant dense<0> : tensor<i8>
  // expected-error@+1 {{has no CUDA kernel: it pads 16 channels (schedule #cuda.byte_rows<}}
  %0 = nn.fusion(%x, %w, %xz, %wz) schedule(#cuda.byte_rows<stages = 2, occupancy = 2>) : (tensor<2x8x8x16xui8>, tensor<64x4x4x16xi8>, tensor<ui8>, tensor<i8>) -> tensor<2x8x8x64xi32> {
  ^bb0(%a: tensor<2x8x8x16xui8>, %b: tensor<64x4x4x16xi8>, %c: tensor<ui8>, %d: tensor<i8>):
    %1 = nn.quantized_conv %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 2, 2>, dilations = array<i64: 1, 1>} : (tensor<2x8x8x16xui8>, tensor<64x4x4x16xi8>, tensor<ui8>, tensor<i8>) -> tensor<2x8x8x64xi32>
    nn.yield %1 : tensor<2x8x8x64xi32>
  }
  return
}

// -----

func.func @zero(%x: tensor<2x8x8x64xui8>, %w: tensor<64x3x3x64xi8>) {
  %xz = nn.constant dense<3> : tensor<ui8>
  %wz = nn.constant dense<0> : tensor<i8>
  // expected-error@+1 {{has no CUDA kernel: its zero points are not known to be 0 (schedule #cuda.byte_rows<}}
  %0 = nn.fusion(%x, %w, %xz, %wz) schedule(#cuda.byte_rows<stages = 2, occupancy = 2>) : (tensor<2x8x8x64xui8>, tensor<64x3x3x64xi8>, tensor<ui8>, tensor<i8>) -> tensor<2x8x8x64xi32> {
  ^bb0(%a: tensor<2x8x8x64xui8>, %b: tensor<64x3x3x64xi8>, %c: tensor<ui8>, %d: tensor<i8>):
    %1 = nn.quantized_conv %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<2x8x8x64xui8>, tensor<64x3x3x64xi8>, tensor<ui8>, tensor<i8>) -> tensor<2x8x8x64xi32>
    nn.yield %1 : tensor<2x8x8x64xi32>
  }
  return
}

// -----

func.func @memory(%x: tensor<2x8x56x64xui8>, %w: tensor<64x3x3x64xi8>) {
  %xz = nn.constant dense<0> : tensor<ui8>
  %wz = nn.constant dense<0> : tensor<i8>
  // expected-error@+1 {{has no CUDA kernel: its rows and filters do not fit into shared memory (schedule #cuda.byte_rows<}}
  %0 = nn.fusion(%x, %w, %xz, %wz) schedule(#cuda.byte_rows<stages = 12, occupancy = 2>) : (tensor<2x8x56x64xui8>, tensor<64x3x3x64xi8>, tensor<ui8>, tensor<i8>) -> tensor<2x8x56x64xi32> {
  ^bb0(%a: tensor<2x8x56x64xui8>, %b: tensor<64x3x3x64xi8>, %c: tensor<ui8>, %d: tensor<i8>):
    %1 = nn.quantized_conv %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<2x8x56x64xui8>, tensor<64x3x3x64xi8>, tensor<ui8>, tensor<i8>) -> tensor<2x8x56x64xi32>
    nn.yield %1 : tensor<2x8x56x64xi32>
  }
  return
}

// -----

func.func @last_filters(%x: tensor<2x8x8x64xui8>, %w: tensor<64x3x3x64xi8>, %v: tensor<96x1x1x64xi8>, %r: tensor<2x8x8x96xui8>) {
  %xz = nn.constant dense<0> : tensor<ui8>
  %wz = nn.constant dense<0> : tensor<i8>
  // expected-error@+1 {{has no CUDA kernel: its second convolution is not pointwise, or has no multiple of 128 filters (schedule #cuda.byte_rows<}}
  %0 = nn.fusion(%x, %w, %xz, %wz, %v, %r) schedule(#cuda.byte_rows<stages = 1, occupancy = 1>) : (tensor<2x8x8x64xui8>, tensor<64x3x3x64xi8>, tensor<ui8>, tensor<i8>, tensor<96x1x1x64xi8>, tensor<2x8x8x96xui8>) -> tensor<2x8x8x96xui8> {
  ^bb0(%a: tensor<2x8x8x64xui8>, %b: tensor<64x3x3x64xi8>, %c: tensor<ui8>, %d: tensor<i8>, %e: tensor<96x1x1x64xi8>, %f: tensor<2x8x8x96xui8>):
    %half = nn.constant dense<0.5> : tensor<f32>
    %low = nn.constant dense<0.0> : tensor<f32>
    %high = nn.constant dense<255.0> : tensor<f32>
    %s0 = nn.quantized_conv %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<2x8x8x64xui8>, tensor<64x3x3x64xi8>, tensor<ui8>, tensor<i8>) -> tensor<2x8x8x64xi32>
    %s1 = nn.cast %s0 {to = f32} : (tensor<2x8x8x64xi32>) -> tensor<2x8x8x64xf32>
    %s2 = nn.mul %s1, %half : (tensor<2x8x8x64xf32>, tensor<f32>) -> tensor<2x8x8x64xf32>
    %s3 = nn.round %s2 : (tensor<2x8x8x64xf32>) -> tensor<2x8x8x64xf32>
    %s4 = nn.max %s3, %low : (tensor<2x8x8x64xf32>, tensor<f32>) -> tensor<2x8x8x64xf32>
    %s5 = nn.min %s4, %high : (tensor<2x8x8x64xf32>, tensor<f32>) -> tensor<2x8x8x64xf32>
    %s6 = nn.cast %s5 {to = ui8} : (tensor<2x8x8x64xf32>) -> tensor<2x8x8x64xui8>
    %t0 = nn.quantized_conv %s6, %e, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<2x8x8x64xui8>, tensor<96x1x1x64xi8>, tensor<ui8>, tensor<i8>) -> tensor<2x8x8x96xi32>
    %t1 = nn.cast %t0 {to = f32} : (tensor<2x8x8x96xi32>) -> tensor<2x8x8x96xf32>
    %t2 = nn.cast %f {to = i32} : (tensor<2x8x8x96xui8>) -> tensor<2x8x8x96xi32>
    %t3 = nn.cast %t2 {to = f32} : (tensor<2x8x8x96xi32>) -> tensor<2x8x8x96xf32>
    %t4 = nn.add %t1, %t3 : (tensor<2x8x8x96xf32>, tensor<2x8x8x96xf32>) -> tensor<2x8x8x96xf32>
    %t5 = nn.mul %t4, %half : (tensor<2x8x8x96xf32>, tensor<f32>) -> tensor<2x8x8x96xf32>
    %t6 = nn.round %t5 : (tensor<2x8x8x96xf32>) -> tensor<2x8x8x96xf32>
    %t7 = nn.max %t6, %low : (tensor<2x8x8x96xf32>, tensor<f32>) -> tensor<2x8x8x96xf32>
    %t8 = nn.min %t7, %high : (tensor<2x8x8x96xf32>, tensor<f32>) -> tensor<2x8x8x96xf32>
    %t9 = nn.cast %t8 {to = ui8} : (tensor<2x8x8x96xf32>) -> tensor<2x8x8x96xui8>
    nn.yield %t9 : tensor<2x8x8x96xui8>
  }
  return
}

// -----

func.func @first_filters(%x: tensor<2x8x8x64xui8>, %w: tensor<128x3x3x64xi8>, %v: tensor<256x1x1x128xi8>, %r: tensor<2x8x8x256xui8>) {
  %xz = nn.constant dense<0> : tensor<ui8>
  %wz = nn.constant dense<0> : tensor<i8>
  // expected-error@+1 {{has no CUDA kernel: its first convolution has more than 64 filters, or 16 channels (schedule #cuda.byte_rows<}}
  %0 = nn.fusion(%x, %w, %xz, %wz, %v, %r) schedule(#cuda.byte_rows<stages = 1, occupancy = 1>) : (tensor<2x8x8x64xui8>, tensor<128x3x3x64xi8>, tensor<ui8>, tensor<i8>, tensor<256x1x1x128xi8>, tensor<2x8x8x256xui8>) -> tensor<2x8x8x256xui8> {
  ^bb0(%a: tensor<2x8x8x64xui8>, %b: tensor<128x3x3x64xi8>, %c: tensor<ui8>, %d: tensor<i8>, %e: tensor<256x1x1x128xi8>, %f: tensor<2x8x8x256xui8>):
    %half = nn.constant dense<0.5> : tensor<f32>
    %low = nn.constant dense<0.0> : tensor<f32>
    %high = nn.constant dense<255.0> : tensor<f32>
    %s0 = nn.quantized_conv %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<2x8x8x64xui8>, tensor<128x3x3x64xi8>, tensor<ui8>, tensor<i8>) -> tensor<2x8x8x128xi32>
    %s1 = nn.cast %s0 {to = f32} : (tensor<2x8x8x128xi32>) -> tensor<2x8x8x128xf32>
    %s2 = nn.mul %s1, %half : (tensor<2x8x8x128xf32>, tensor<f32>) -> tensor<2x8x8x128xf32>
    %s3 = nn.round %s2 : (tensor<2x8x8x128xf32>) -> tensor<2x8x8x128xf32>
    %s4 = nn.max %s3, %low : (tensor<2x8x8x128xf32>, tensor<f32>) -> tensor<2x8x8x128xf32>
    %s5 = nn.min %s4, %high : (tensor<2x8x8x128xf32>, tensor<f32>) -> tensor<2x8x8x128xf32>
    %s6 = nn.cast %s5 {to = ui8} : (tensor<2x8x8x128xf32>) -> tensor<2x8x8x128xui8>
    %t0 = nn.quantized_conv %s6, %e, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<2x8x8x128xui8>, tensor<256x1x1x128xi8>, tensor<ui8>, tensor<i8>) -> tensor<2x8x8x256xi32>
    %t1 = nn.cast %t0 {to = f32} : (tensor<2x8x8x256xi32>) -> tensor<2x8x8x256xf32>
    %t2 = nn.cast %f {to = i32} : (tensor<2x8x8x256xui8>) -> tensor<2x8x8x256xi32>
    %t3 = nn.cast %t2 {to = f32} : (tensor<2x8x8x256xi32>) -> tensor<2x8x8x256xf32>
    %t4 = nn.add %t1, %t3 : (tensor<2x8x8x256xf32>, tensor<2x8x8x256xf32>) -> tensor<2x8x8x256xf32>
    %t5 = nn.mul %t4, %half : (tensor<2x8x8x256xf32>, tensor<f32>) -> tensor<2x8x8x256xf32>
    %t6 = nn.round %t5 : (tensor<2x8x8x256xf32>) -> tensor<2x8x8x256xf32>
    %t7 = nn.max %t6, %low : (tensor<2x8x8x256xf32>, tensor<f32>) -> tensor<2x8x8x256xf32>
    %t8 = nn.min %t7, %high : (tensor<2x8x8x256xf32>, tensor<f32>) -> tensor<2x8x8x256xf32>
    %t9 = nn.cast %t8 {to = ui8} : (tensor<2x8x8x256xf32>) -> tensor<2x8x8x256xui8>
    nn.yield %t9 : tensor<2x8x8x256xui8>
  }
  return
}

// -----

func.func @pair(%x: tensor<12544x256xui8>, %w: tensor<512x256xi8>, %v: tensor<12544x256xui8>, %u: tensor<512x256xi8>) {
  %xz = nn.constant dense<0> : tensor<ui8>
  %wz = nn.constant dense<0> : tensor<i8>
  // expected-error@+1 {{has no CUDA kernel: it adds two products, or multiplies floats (schedule #cuda.byte_rows<}}
  %0 = nn.fusion(%x, %w, %xz, %wz, %v, %u) schedule(#cuda.byte_rows<stages = 1, occupancy = 1>) : (tensor<12544x256xui8>, tensor<512x256xi8>, tensor<ui8>, tensor<i8>, tensor<12544x256xui8>, tensor<512x256xi8>) -> tensor<12544x512xf32> {
  ^bb0(%a: tensor<12544x256xui8>, %b: tensor<512x256xi8>, %c: tensor<ui8>, %d: tensor<i8>, %e: tensor<12544x256xui8>, %f: tensor<512x256xi8>):
    %half = nn.constant dense<0.5> : tensor<f32>
    %low = nn.constant dense<0.0> : tensor<f32>
    %high = nn.constant dense<255.0> : tensor<f32>
    %s0 = nn.quantized_conv %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<12544x256xui8>, tensor<512x256xi8>, tensor<ui8>, tensor<i8>) -> tensor<12544x512xi32>
    %s1 = nn.cast %s0 {to = f32} : (tensor<12544x512xi32>) -> tensor<12544x512xf32>
    %s2 = nn.mul %s1, %half : (tensor<12544x512xf32>, tensor<f32>) -> tensor<12544x512xf32>
    %s3 = nn.round %s2 : (tensor<12544x512xf32>) -> tensor<12544x512xf32>
    %s4 = nn.max %s3, %low : (tensor<12544x512xf32>, tensor<f32>) -> tensor<12544x512xf32>
    %s5 = nn.min %s4, %high : (tensor<12544x512xf32>, tensor<f32>) -> tensor<12544x512xf32>
    %s6 = nn.cast %s5 {to = ui8} : (tensor<12544x512xf32>) -> tensor<12544x512xui8>
    %t0 = nn.quantized_conv %e, %f, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<12544x256xui8>, tensor<512x256xi8>, tensor<ui8>, tensor<i8>) -> tensor<12544x512xi32>
    %t1 = nn.cast %t0 {to = f32} : (tensor<12544x512xi32>) -> tensor<12544x512xf32>
    %t2 = nn.cast %s6 {to = i32} : (tensor<12544x512xui8>) -> tensor<12544x512xi32>
    %t3 = nn.cast %t2 {to = f32} : (tensor<12544x512xi32>) -> tensor<12544x512xf32>
    %t4 = nn.add %t1, %t3 : (tensor<12544x512xf32>, tensor<12544x512xf32>) -> tensor<12544x512xf32>
    nn.yield %t4 : tensor<12544x512xf32>
  }
  return
}

// -----

func.func @chain_by_pixels(%x: tensor<2x8x8x64xui8>, %w: tensor<64x3x3x64xi8>, %v: tensor<256x1x1x64xi8>, %r: tensor<2x8x8x256xui8>) {
  %xz = nn.constant dense<0> : tensor<ui8>
  %wz = nn.constant dense<0> : tensor<i8>
  // expected-error@+1 {{has no CUDA kernel: one of its products multiplies what the other becomes (schedule #cuda.wgmma_bytes<}}
  %0 = nn.fusion(%x, %w, %xz, %wz, %v, %r) schedule(#cuda.wgmma_bytes<tile_m = 64, tile_n = 64, stages = 4>) : (tensor<2x8x8x64xui8>, tensor<64x3x3x64xi8>, tensor<ui8>, tensor<i8>, tensor<256x1x1x64xi8>, tensor<2x8x8x256xui8>) -> tensor<2x8x8x256xui8> {
  ^bb0(%a: tensor<2x8x8x64xui8>, %b: tensor<64x3x3x64xi8>, %c: tensor<ui8>, %d: tensor<i8>, %e: tensor<256x1x1x64xi8>, %f: tensor<2x8x8x256xui8>):
    %half = nn.constant dense<0.5> : tensor<f32>
    %low = nn.constant dense<0.0> : tensor<f32>
    %high = nn.constant dense<255.0> : tensor<f32>
    %s0 = nn.quantized_conv %a, %b, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<2x8x8x64xui8>, tensor<64x3x3x64xi8>, tensor<ui8>, tensor<i8>) -> tensor<2x8x8x64xi32>
    %s1 = nn.cast %s0 {to = f32} : (tensor<2x8x8x64xi32>) -> tensor<2x8x8x64xf32>
    %s2 = nn.mul %s1, %half : (tensor<2x8x8x64xf32>, tensor<f32>) -> tensor<2x8x8x64xf32>
    %s3 = nn.round %s2 : (tensor<2x8x8x64xf32>) -> tensor<2x8x8x64xf32>
    %s4 = nn.max %s3, %low : (tensor<2x8x8x64xf32>, tensor<f32>) -> tensor<2x8x8x64xf32>
    %s5 = nn.min %s4, %high : (tensor<2x8x8x64xf32>, tensor<f32>) -> tensor<2x8x8x64xf32>
    %s6 = nn.cast %s5 {to = ui8} : (tensor<2x8x8x64xf32>) -> tensor<2x8x8x64xui8>
    %t0 = nn.quantized_conv %s6, %e, %c, %d {operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 0, 0, 0>, strides = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>} : (tensor<2x8x8x64xui8>, tensor<256x1x1x64xi8>, tensor<ui8>, tensor<i8>) -> tensor<2x8x8x256xi32>
    %t1 = nn.cast %t0 {to = f32} : (tensor<2x8x8x256xi32>) -> tensor<2x8x8x256xf32>
    %t2 = nn.cast %f {to = i32} : (tensor<2x8x8x256xui8>) -> tensor<2x8x8x256xi32>
    %t3 = nn.cast %t2 {to = f32} : (tensor<2x8x8x256xi32>) -> tensor<2x8x8x256xf32>
    %t4 = nn.add %t1, %t3 : (tensor<2x8x8x256xf32>, tensor<2x8x8x256xf32>) -> tensor<2x8x8x256xf32>
    %t5 = nn.mul %t4, %half : (tensor<2x8x8x256xf32>, tensor<f32>) -> tensor<2x8x8x256xf32>
    %t6 = nn.round %t5 : (tensor<2x8x8x256xf32>) -> tensor<2x8x8x256xf32>
    %t7 = nn.max %t6, %low : (tensor<2x8x8x256xf32>, tensor<f32>) -> tensor<2x8x8x256xf32>
    %t8 = nn.min %t7, %high : (tensor<2x8x8x256xf32>, tensor<f32>) -> tensor<2x8x8x256xf32>
    %t9 = nn.cast %t8 {to = ui8} : (tensor<2x8x8x256xf32>) -> tensor<2x8x8x256xui8>
    nn.yield %t9 : tensor<2x8x8x256xui8>
  }
  return
}
