// Messages of the verifiers of group norms, their statistics, and batch norms of
// pointwise convolutions.
// RUN: frit-opt %s -split-input-file -verify-diagnostics

func.func @group_mean(%x: tensor<3x5x8xf16>) {
  // expected-error@+1 {{3x5x8 has no channels for 3 groups}}
  %0 = nn.group_mean %x {groups = 3 : si64} : (tensor<3x5x8xf16>) -> tensor<3x3x1xf32>
  return
}

// -----

func.func @group_variance(%x: tensor<3x5x8xf16>, %m: tensor<3x4x1xf32>) {
  // expected-error@+1 {{mean has type 'tensor<3x4x1xf32>', not 'tensor<3x2x1xf32>'}}
  %0 = nn.group_variance %x, %m {groups = 2 : si64} : (tensor<3x5x8xf16>, tensor<3x4x1xf32>) -> tensor<3x2x1xf32>
  return
}

// -----

func.func @group_norm(%x: tensor<3x5x8xf16>, %s: tensor<8xf32>, %b: tensor<4xf32>) {
  // expected-error@+1 {{bias has shape 4 for 8 channels}}
  %0 = nn.group_norm %x, %s, %b {groups = 2 : si64} : (tensor<3x5x8xf16>, tensor<8xf32>, tensor<4xf32>) -> tensor<3x5x8xf16>
  return
}

// -----

func.func @window(%x: tensor<2x4x4x8xf32>, %w: tensor<6x1x3x8xf32>, %s: tensor<6xf32>) {
  // expected-error@+1 {{filters of 6x1x3x8 are not pointwise ones for 2x4x4x8}}
  %0 = nn.conv_batch_norm %x, %w, %s, %s : (tensor<2x4x4x8xf32>, tensor<6x1x3x8xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x4x4x6xf32>
  return
}

// -----

func.func @vectors(%x: tensor<2x4x4x8xf32>, %w: tensor<6x1x1x8xf32>, %s: tensor<6xf32>, %b: tensor<8xf32>) {
  // expected-error@+1 {{bias has shape 8 for 6 channels}}
  %0 = nn.conv_batch_norm %x, %w, %s, %b : (tensor<2x4x4x8xf32>, tensor<6x1x1x8xf32>, tensor<6xf32>, tensor<8xf32>) -> tensor<2x4x4x6xf32>
  return
}

// -----

func.func @parts(%x: tensor<2x4x4x8xf32>, %w: tensor<6x1x1x8xf32>, %s: tensor<6xf32>) {
  // expected-error@+1 {{3 parts do not divide the positions of 2x4x4x8}}
  %0 = nn.conv_batch_norm %x, %w, %s, %s {parts = 3 : si64} : (tensor<2x4x4x8xf32>, tensor<6x1x1x8xf32>, tensor<6xf32>, tensor<6xf32>) -> tensor<2x4x4x6xf32>
  return
}
