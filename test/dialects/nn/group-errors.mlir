// Messages of the verifiers of group norms and their statistics.
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
