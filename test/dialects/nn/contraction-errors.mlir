// Messages of the verifiers of products, convolutions and attention.
// RUN: frit-opt %s -split-input-file -verify-diagnostics

// Contraction.

func.func @matmul_scalar(%x: tensor<f32>, %y: tensor<4xf32>) {
  // expected-error@+1 {{a scalar has no matrix product}}
  %0 = nn.matmul %x, %y : (tensor<f32>, tensor<4xf32>) -> tensor<f32>
  return
}

// -----

func.func @matmul_types(%x: tensor<4xf32>, %y: tensor<4xf16>) {
  // expected-error@+1 {{element types differ: 'f32' and 'f16'}}
  %0 = nn.matmul %x, %y : (tensor<4xf32>, tensor<4xf16>) -> tensor<f32>
  return
}

// -----

func.func @matmul_inner(%x: tensor<2x3xf32>, %y: tensor<4x5xf32>) {
  // expected-error@+1 {{inner dimensions differ: 3 and 4 of 2x3 and 4x5}}
  %0 = nn.matmul %x, %y : (tensor<2x3xf32>, tensor<4x5xf32>) -> tensor<2x5xf32>
  return
}

// -----

func.func @matmul_batch(%x: tensor<2x2x3xf32>, %y: tensor<3x3x5xf32>) {
  // expected-error@+1 {{batch dimensions do not broadcast: 2x2x3 and 3x3x5}}
  %0 = nn.matmul %x, %y : (tensor<2x2x3xf32>, tensor<3x3x5xf32>) -> tensor<2x2x5xf32>
  return
}

// -----

func.func @conv_rank(%x: tensor<1x3xf32>, %w: tensor<4x3xf32>) {
  // expected-error@+1 {{x and w have shapes 1x3 and 4x3, not n, c, spatial and k, c / group, window}}
  %0 = nn.conv %x, %w {strides = array<i64>, pads = array<i64>, dilations = array<i64>} : (tensor<1x3xf32>, tensor<4x3xf32>) -> tensor<1x4xf32>
  return
}

// -----

func.func @depthwise_conv_channels(%x: tensor<1x8x3xf32>, %w: tensor<3x4xf32>) {
  // expected-error@+1 {{x and w have shapes 1x8x3 and 3x4, not n, spatial, c and window, c}}
  %0 = nn.depthwise_conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x8x3xf32>, tensor<3x4xf32>) -> tensor<1x6x3xf32>
  return
}

// -----

func.func @depthwise_conv_window(%x: tensor<1x4x3xf32>, %w: tensor<3x3xf32>) {
  // expected-error@+1 {{a window of 7 does not fit into dimension 1 of 1x4x3, pads included}}
  %0 = nn.depthwise_conv %x, %w {strides = array<i64: 1>, pads = array<i64: 1, 1>, dilations = array<i64: 3>} : (tensor<1x4x3xf32>, tensor<3x3xf32>) -> tensor<1x1x3xf32>
  return
}

// -----

func.func @conv_list(%x: tensor<1x3x8xf32>, %w: tensor<4x3x3xf32>) {
  // expected-error@+1 {{pads has 1 entries for 1 spatial dimensions}}
  %0 = nn.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0>, dilations = array<i64: 1>} : (tensor<1x3x8xf32>, tensor<4x3x3xf32>) -> tensor<1x4x6xf32>
  return
}

// -----

func.func @conv_stride(%x: tensor<1x3x8xf32>, %w: tensor<4x3x3xf32>) {
  // expected-error@+1 {{strides has an entry of 0, not from 1 to 2147483647}}
  %0 = nn.conv %x, %w {strides = array<i64: 0>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x3x8xf32>, tensor<4x3x3xf32>) -> tensor<1x4x6xf32>
  return
}

// -----

func.func @conv_open(%x: tensor<1x3x8xf32>, %w: tensor<4x3x3xf32>) {
  // expected-error@+1 {{strides has an entry of -9223372036854775808, not from 1 to 2147483647}}
  %0 = nn.conv %x, %w {strides = array<i64: -9223372036854775808>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x3x8xf32>, tensor<4x3x3xf32>) -> tensor<1x4x6xf32>
  return
}

// -----

func.func @conv_groups(%x: tensor<1x4x8xf32>, %w: tensor<3x2x3xf32>) {
  // expected-error@+1 {{2 groups do not divide 3 filters}}
  %0 = nn.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 2 : i64} : (tensor<1x4x8xf32>, tensor<3x2x3xf32>) -> tensor<1x3x6xf32>
  return
}

// -----

func.func @conv_channels(%x: tensor<1x5x8xf32>, %w: tensor<4x2x3xf32>) {
  // expected-error@+1 {{x has 5 channels, but w takes 2 groups of 2}}
  %0 = nn.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 2 : i64} : (tensor<1x5x8xf32>, tensor<4x2x3xf32>) -> tensor<1x4x6xf32>
  return
}

// -----

func.func @conv_no_filters(%x: tensor<1x5x8xf32>, %w: tensor<0x4x3xf32>) {
  // expected-error@+1 {{x has 5 channels, but w takes 4611686018427387904 groups of 4}}
  %0 = nn.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 4611686018427387904 : i64} : (tensor<1x5x8xf32>, tensor<0x4x3xf32>) -> tensor<1x0x6xf32>
  return
}

// -----

func.func @conv_bias(%x: tensor<1x3x8xf32>, %w: tensor<4x3x3xf32>, %b: tensor<3xf32>) {
  // expected-error@+1 {{bias has shape 3 for 4 filters}}
  %0 = nn.conv %x, %w, %b {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x3x8xf32>, tensor<4x3x3xf32>, tensor<3xf32>) -> tensor<1x4x6xf32>
  return
}

// -----

func.func @conv_window(%x: tensor<1x3x4xf32>, %w: tensor<4x3x3xf32>) {
  // expected-error@+1 {{a window of 7 does not fit into dimension 2 of 1x3x4, pads included}}
  %0 = nn.conv %x, %w {strides = array<i64: 1>, pads = array<i64: 1, 1>, dilations = array<i64: 3>} : (tensor<1x3x4xf32>, tensor<4x3x3xf32>) -> tensor<1x4x1xf32>
  return
}

// -----

// Attention.

func.func @attention_rank(%x: tensor<2x4x8xf32>) {
  // expected-error@+1 {{needs tensors of 4 dimensions, not 2x4x8, 2x4x8 and 2x4x8}}
  %0 = nn.attention %x, %x, %x {scale = 1.0 : f32} : (tensor<2x4x8xf32>, tensor<2x4x8xf32>, tensor<2x4x8xf32>) -> tensor<2x4x8xf32>
  return
}

// -----

func.func @attention_keys(%q: tensor<1x2x4x8xf32>, %v: tensor<1x2x5x8xf32>) {
  // expected-error@+1 {{k and v differ: 1x2x4x8 and 1x2x5x8}}
  %0 = nn.attention %q, %q, %v {scale = 1.0 : f32} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x5x8xf32>) -> tensor<1x2x4x8xf32>
  return
}

// -----

func.func @attention_groups(%q: tensor<1x3x4x8xf32>, %k: tensor<1x2x4x8xf32>) {
  // expected-error@+1 {{3 heads of queries cannot share 2 of keys}}
  %0 = nn.attention %q, %k, %k {scale = 1.0 : f32} : (tensor<1x3x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>) -> tensor<1x3x4x8xf32>
  return
}

// -----

func.func @attention_mask(%q: tensor<1x2x4x8xf32>, %m: tensor<4x5xf32>) {
  // expected-error@+1 {{a mask of shape 4x5 does not broadcast to scores of shape 1x2x4x4}}
  %0 = nn.attention %q, %q, %q, %m {scale = 1.0 : f32} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<4x5xf32>) -> tensor<1x2x4x8xf32>
  return
}

// -----

func.func @ranges(%q: tensor<2x2x4x8xf32>, %r: tensor<2x1x5x2xi32>) -> tensor<2x2x4x8xf32> {
  // expected-error @+1 {{ranges of shape 2x1x5x2 do not fit 4 rows: 2x1x4x2 is needed}}
  %0 = nn.attention %q, %q, %q, %r {scale = 1.0 : f32} : (tensor<2x2x4x8xf32>, tensor<2x2x4x8xf32>, tensor<2x2x4x8xf32>, tensor<2x1x5x2xi32>) -> tensor<2x2x4x8xf32>
  return %0 : tensor<2x2x4x8xf32>
}

// -----

func.func @causal_ranges(%q: tensor<2x2x4x8xf32>, %r: tensor<1x1x4x2xi32>) -> tensor<2x2x4x8xf32> {
  // expected-error @+1 {{ranges of keys exclude `causal`}}
  %0 = nn.attention %q, %q, %q, %r {scale = 1.0 : f32, causal} : (tensor<2x2x4x8xf32>, tensor<2x2x4x8xf32>, tensor<2x2x4x8xf32>, tensor<1x1x4x2xi32>) -> tensor<2x2x4x8xf32>
  return %0 : tensor<2x2x4x8xf32>
}

// -----

func.func @ranges_of_grad(%q: tensor<2x2x4x8xf16>, %s: tensor<2x2x4xf32>, %r: tensor<1x1x4x2xi32>) -> tensor<2x4x6x8xf16> {
  // expected-error @+1 {{ranges of shape 1x1x4x2 do not fit 8 rows: 2x1x8x2 is needed}}
  %0 = nn.attention_grad %q, %q, %q, %q, %q, %s, %r {scale = 1.0 : f32} : (tensor<2x2x4x8xf16>, tensor<2x2x4x8xf16>, tensor<2x2x4x8xf16>, tensor<2x2x4x8xf16>, tensor<2x2x4x8xf16>, tensor<2x2x4xf32>, tensor<1x1x4x2xi32>) -> tensor<2x4x6x8xf16>
  return %0 : tensor<2x4x6x8xf16>
}

// -----

func.func @range_mask(%r: tensor<4x2xi32>) -> tensor<1x1x4x6xi1> {
  // expected-error @+1 {{needs ranges of shape batch×1×queries×2, not 4x2}}
  %0 = nn.range_mask %r {keys = 6 : i64} : (tensor<4x2xi32>) -> tensor<1x1x4x6xi1>
  return %0 : tensor<1x1x4x6xi1>
}

// -----

func.func @no_keys(%r: tensor<1x1x4x2xi32>) -> tensor<1x1x4x6xi1> {
  // expected-error @+1 {{attribute 'keys' failed to satisfy constraint: 64-bit signless integer attribute whose value is non-negative}}
  %0 = nn.range_mask %r {keys = -1 : i64} : (tensor<1x1x4x2xi32>) -> tensor<1x1x4x6xi1>
  return %0 : tensor<1x1x4x6xi1>
}
