// Every message of the verifiers of operators for training.
// RUN: frit-opt %s -split-input-file -verify-diagnostics

func.func @cross_entropy_labels(%x: tensor<4x3xf32>, %l: tensor<5xi64>) {
  // expected-error@+1 {{logits of shape 4x3 and labels of shape 5 are not rows of classes and a label per row}}
  %0 = nn.cross_entropy %x, %l : (tensor<4x3xf32>, tensor<5xi64>) -> tensor<5xf32>
  return
}

// -----

func.func @cross_entropy_smoothing(%x: tensor<4x3xf32>, %l: tensor<4xi64>) {
  // expected-error@+1 {{label_smoothing is 1.500000e+00, not from 0 to 1}}
  %0 = nn.cross_entropy %x, %l {label_smoothing = 1.5 : f32} : (tensor<4x3xf32>, tensor<4xi64>) -> tensor<4xf32>
  return
}

// -----

func.func @cross_entropy_dy(%x: tensor<4x3xf32>, %l: tensor<4xi64>, %dy: tensor<3xf32>) {
  // expected-error@+1 {{dy has shape 3 for 4 rows}}
  %0 = nn.cross_entropy_grad %x, %l, %dy : (tensor<4x3xf32>, tensor<4xi64>, tensor<3xf32>) -> tensor<4x3xf32>
  return
}

// -----

func.func @dropout_rate(%x: tensor<4xf32>) {
  // expected-error@+1 {{rate 1.500000e+00 is not from 0 to 1}}
  %0 = nn.dropout %x {rate = 1.500000e+00 : f32} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @random_stream(%s: tensor<i64>) {
  // expected-error@+1 {{stream 65536 is not from 0 to 65535}}
  %0 = nn.random_uniform %s, %s {shape = array<i64: 4>, stream = 65536 : i64} : (tensor<i64>, tensor<i64>) -> tensor<4xf32>
  return
}

// -----

func.func @conv_grad_filters(%dy: tensor<1x4x5xf32>, %w: tensor<6x2x3xf32>) {
  // expected-error@+1 {{filters of 6x2x3 in 1 groups do not fit dy of 1x4x5}}
  %0 = nn.conv_grad_input %dy, %w {shape = array<i64: 7>, strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x4x5xf32>, tensor<6x2x3xf32>) -> tensor<1x2x7xf32>
  return
}

// -----

func.func @conv_grad_shape(%dy: tensor<1x6x5xf32>, %w: tensor<6x2x3xf32>) {
  // expected-error@+1 {{windows of 3 over 8 do not give 5}}
  %0 = nn.conv_grad_input %dy, %w {shape = array<i64: 8>, strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x6x5xf32>, tensor<6x2x3xf32>) -> tensor<1x2x8xf32>
  return
}

// -----

func.func @conv_grad_groups(%x: tensor<1x4x7xf32>, %dy: tensor<1x6x5xf32>) {
  // expected-error@+1 {{x of 1x4x7 and dy of 1x6x5 do not fit 3 groups}}
  %0 = nn.conv_grad_weight %x, %dy {shape = array<i64: 3>, strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, group = 3 : i64} : (tensor<1x4x7xf32>, tensor<1x6x5xf32>) -> tensor<6x1x3xf32>
  return
}

// -----

func.func @gather_grad(%dy: tensor<4x3xf32>, %i: tensor<5xi64>) {
  // expected-error@+1 {{dy of 4x3 was not gathered by indices of 5 along dimension 0 of size 9}}
  %0 = nn.gather_grad %dy, %i {size = 9 : i64, axis = 0 : i64} : (tensor<4x3xf32>, tensor<5xi64>) -> tensor<9x3xf32>
  return
}

// -----

func.func @segment_sum(%x: tensor<4x3xf32>, %i: tensor<5xi64>) {
  // expected-error@+1 {{x of 4x3 has no rows in the order of 5 and segments of 5}}
  %0 = nn.segment_sum %x, %i, %i {size = 9 : i64} : (tensor<4x3xf32>, tensor<5xi64>, tensor<5xi64>) -> tensor<9x3xf32>
  return
}

// -----

func.func @max_pool_grad(%x: tensor<1x1x8xf32>, %y: tensor<1x1x4xf32>, %dy: tensor<1x1x5xf32>) {
  // expected-error@+1 {{dy of 1x1x5 and y of 1x1x4 are no pool of 1x1x8}}
  %0 = nn.max_pool_grad %x, %y, %dy {window = array<i64: 2>, strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x1x8xf32>, tensor<1x1x4xf32>, tensor<1x1x5xf32>) -> tensor<1x1x8xf32>
  return
}

// -----

func.func @window_shape(%dy: tensor<1x1x4xf32>) {
  // expected-error@+1 {{windows of shape 1x1x4 do not lie over a shape of 8x8}}
  %0 = nn.avg_pool_grad %dy {window = array<i64: 2>, strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, shape = array<i64: 8, 8>} : (tensor<1x1x4xf32>) -> tensor<1x1x8xf32>
  return
}

// -----

func.func @window_places(%dy: tensor<1x1x4xf32>, %p: tensor<1x1x3xi64>) {
  // expected-error@+1 {{places have shape 1x1x3 for windows of 1x1x4}}
  %0 = nn.sum_over_windows %dy, %p {window = array<i64: 2>, strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, shape = array<i64: 8>} : (tensor<1x1x4xf32>, tensor<1x1x3xi64>) -> tensor<1x1x8xf32>
  return
}

// -----

func.func @max_pool_grad_empty(%x: tensor<1x1x8xf32>, %y: tensor<1x1x0xf32>) {
  // expected-error@+1 {{dy of 1x1x0 and y of 1x1x0 are no pool of 1x1x8}}
  %0 = nn.max_pool_grad %x, %y, %y {window = array<i64: 2>, strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x1x8xf32>, tensor<1x1x0xf32>, tensor<1x1x0xf32>) -> tensor<1x1x8xf32>
  return
}

// -----

func.func @attention_grad(%q: tensor<2x4x5x8xf16>, %k: tensor<2x2x6x8xf16>, %s: tensor<2x4x6xf32>) {
  // expected-error@+1 {{not those of one attention}}
  %0 = nn.attention_grad %q, %k, %k, %q, %q, %s {scale = 1.0 : f32} : (tensor<2x4x5x8xf16>, tensor<2x2x6x8xf16>, tensor<2x2x6x8xf16>, tensor<2x4x5x8xf16>, tensor<2x4x5x8xf16>, tensor<2x4x6xf32>) -> tensor<88x8xf16>
  return
}

// -----

// Delta has the type of the statistics.
func.func @attention_grad_delta(%q: tensor<2x4x5x8xf16>, %k: tensor<2x2x6x8xf16>, %s: tensor<2x4x5xf32>, %d: tensor<2x4x5xf16>) {
  // expected-error@+1 {{element types differ: 'f16' and 'f32'}}
  %0 = nn.attention_grad %q, %k, %k, %d, %q, %s {scale = 1.0 : f32} : (tensor<2x4x5x8xf16>, tensor<2x2x6x8xf16>, tensor<2x2x6x8xf16>, tensor<2x4x5xf16>, tensor<2x4x5x8xf16>, tensor<2x4x5xf32>) -> tensor<88x8xf16>
  return
}

// -----

func.func @attention_stats(%q: tensor<2x4x5x8xf16>, %k: tensor<2x3x6x8xf16>) {
  // expected-error@+1 {{4 heads of queries cannot share 3 of keys}}
  %0 = nn.attention_stats %q, %k {scale = 1.0 : f32} : (tensor<2x4x5x8xf16>, tensor<2x3x6x8xf16>) -> tensor<2x4x5xf32>
  return
}

// -----

func.func @column_moments(%x: tensor<3x5x8xf16>) {
  // expected-error@+1 {{columns of 3x5x8 have no parts of 4}}
  %0 = nn.column_moments %x {height = 4 : si64} : (tensor<3x5x8xf16>) -> tensor<2x3x8xf32>
  return
}

// -----

func.func @column_sums(%x: tensor<3x5x8xf16>) {
  // expected-error@+1 {{columns of 3x5x8 have no parts of 0}}
  %0 = nn.column_sums %x {height = 0 : si64} : (tensor<3x5x8xf16>) -> tensor<3x8xf32>
  return
}

// -----

func.func @row_dots_width(%x: tensor<3x5x8xf16>) {
  // expected-error@+1 {{rows of 3x5x8 have no parts of 3}}
  %0 = nn.row_dots %x, %x {width = 3 : si64} : (tensor<3x5x8xf16>, tensor<3x5x8xf16>) -> tensor<15x2xf32>
  return
}

// -----

func.func @row_dots_types(%x: tensor<3x8xf16>, %y: tensor<3x8xbf16>) {
  // expected-error@+1 {{operands have types 'tensor<3x8xf16>' and 'tensor<3x8xbf16>'}}
  %0 = nn.row_dots %x, %y {width = 4 : si64} : (tensor<3x8xf16>, tensor<3x8xbf16>) -> tensor<3x2xf32>
  return
}
