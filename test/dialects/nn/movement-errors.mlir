// Messages of the verifiers of operators that move elements.
// RUN: frit-opt %s -split-input-file -verify-diagnostics

// Movement.

func.func @perm_length(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{perm has 3 entries for a tensor of rank 2}}
  %0 = nn.transpose %x {perm = array<i64: 0, 1, 2>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return
}

// -----

func.func @perm(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{perm is not a permutation of 0 to 1}}
  %0 = nn.transpose %x {perm = array<i64: 0, 0>} : (tensor<2x3xf32>) -> tensor<2x2xf32>
  return
}

// -----

func.func @expand(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{a tensor of shape 2x3 does not expand to 2x4}}
  %0 = nn.expand %x {shape = array<i64: 2, 4>} : (tensor<2x3xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @slice_length(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{sizes has 1 entries for a tensor of rank 2}}
  %0 = nn.slice %x {starts = array<i64: 0, 0>, sizes = array<i64: 1>, steps = array<i64: 1, 1>} : (tensor<2x3xf32>) -> tensor<1xf32>
  return
}

// -----

func.func @slice_step(%x: tensor<3xf32>) {
  // expected-error@+1 {{dimension 0 has size 2 and step 0}}
  %0 = nn.slice %x {starts = array<i64: 0>, sizes = array<i64: 2>, steps = array<i64: 0>} : (tensor<3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @slice_range(%x: tensor<3xf32>) {
  // expected-error@+1 {{elements 2 to 4 of dimension 0 are outside of 3}}
  %0 = nn.slice %x {starts = array<i64: 2>, sizes = array<i64: 2>, steps = array<i64: 2>} : (tensor<3xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @slice_overflow(%x: tensor<3xf32>) {
  // expected-error@+1 {{elements 0 to 9223372036854775807 of dimension 0 are outside of 3}}
  %0 = nn.slice %x {starts = array<i64: 0>, sizes = array<i64: 4>, steps = array<i64: 4611686018427387904>} : (tensor<3xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @slice_step(%x: tensor<3x5xf32>) {
  // expected-error@+1 {{a step of -5 leaves dimension 0 of 3x5}}
  %0 = nn.slice %x {starts = array<i64: 2, 0>, sizes = array<i64: 1, 5>, steps = array<i64: -5, 1>} : (tensor<3x5xf32>) -> tensor<1x5xf32>
  return
}

// -----

func.func @slice_none(%x: tensor<3xf32>) {
  // expected-error@+1 {{element 4 of dimension 0 is outside of 3}}
  %0 = nn.slice %x {starts = array<i64: 4>, sizes = array<i64: 0>, steps = array<i64: 1>} : (tensor<3xf32>) -> tensor<0xf32>
  return
}

// -----

func.func @concat_nothing() {
  // expected-error@+1 {{there is nothing to join}}
  %0 = nn.concat {axis = 0 : si64} : () -> tensor<0xf32>
  return
}

// -----

func.func @concat_axis(%x: tensor<2x3xf32>) {
  // expected-error@+1 {{axis 2 is out of range for a tensor of rank 2}}
  %0 = nn.concat %x, %x {axis = 2 : si64} : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x6xf32>
  return
}

// -----

func.func @concat_shapes(%x: tensor<2x3xf32>, %y: tensor<4x3xf32>) {
  // expected-error@+1 {{shapes do not join along axis 1: 2x3 and 4x3}}
  %0 = nn.concat %x, %y {axis = -1 : si64} : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x6xf32>
  return
}

// -----

func.func @concat_types(%x: tensor<2xf32>, %y: tensor<2xf16>) {
  // expected-error@+1 {{element types differ: 'f32' and 'f16'}}
  %0 = nn.concat %x, %y {axis = 0 : si64} : (tensor<2xf32>, tensor<2xf16>) -> tensor<4xf32>
  return
}

// -----

func.func @pad_mode(%x: tensor<2xf32>) {
  // expected-error@+1 {{mode 'mirror' is none of constant, edge, reflect and wrap}}
  %0 = nn.pad %x {low = array<i64: 1>, high = array<i64: 1>, mode = "mirror"} : (tensor<2xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @pad_value(%x: tensor<2xf32>, %v: tensor<1xf32>) {
  // expected-error@+1 {{the value is a 'tensor<1xf32>', not a 'tensor<f32>'}}
  %0 = nn.pad %x, %v {low = array<i64: 1>, high = array<i64: 1>} : (tensor<2xf32>, tensor<1xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @pad_crop(%x: tensor<2xf32>) {
  // expected-error@+1 {{dimension 0 of size 2 cannot be padded by -2 and -1}}
  %0 = nn.pad %x {low = array<i64: -2>, high = array<i64: -1>} : (tensor<2xf32>) -> tensor<0xf32>
  return
}

// -----

func.func @pad_least(%x: tensor<2xf32>) {
  // expected-error@+1 {{dimension 0 of size 2 cannot be padded by -9223372036854775808 and 0}}
  %0 = nn.pad %x {low = array<i64: -9223372036854775808>, high = array<i64: 0>} : (tensor<2xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @pad_empty(%x: tensor<0xf32>) {
  // expected-error@+1 {{dimension 0 is empty and cannot be padded by its elements}}
  %0 = nn.pad %x {low = array<i64: 1>, high = array<i64: 1>, mode = "edge"} : (tensor<0xf32>) -> tensor<2xf32>
  return
}

// -----

func.func @gather_axis(%x: tensor<2x3xf32>, %i: tensor<4xi64>) {
  // expected-error@+1 {{axis -3 is out of range for a tensor of rank 2}}
  %0 = nn.gather %x, %i {axis = -3 : si64} : (tensor<2x3xf32>, tensor<4xi64>) -> tensor<4x3xf32>
  return
}

// -----

func.func @gather_empty(%x: tensor<0x3xf32>, %i: tensor<4xi64>) {
  // expected-error@+1 {{dimension 0 is empty, so there is nothing to pick}}
  %0 = nn.gather %x, %i : (tensor<0x3xf32>, tensor<4xi64>) -> tensor<4x3xf32>
  return
}

// -----

func.func @iota_scalars(%a: tensor<i64>, %b: tensor<1xi64>) {
  // expected-error@+1 {{start and step are 'tensor<i64>' and 'tensor<1xi64>', not two scalars of one type}}
  %0 = nn.iota %a, %b {shape = array<i64: 4>, axis = 0 : i64} : (tensor<i64>, tensor<1xi64>) -> tensor<4xi64>
  return
}

// -----

func.func @iota_axis(%a: tensor<i64>) {
  // expected-error@+1 {{axis 1 is out of range for a tensor of rank 1}}
  %0 = nn.iota %a, %a {shape = array<i64: 4>, axis = 1 : i64} : (tensor<i64>, tensor<i64>) -> tensor<4xi64>
  return
}

// -----

func.func @iota_last(%a: tensor<i64>) {
  // expected-error@+1 {{axis -1 is out of range for a tensor of rank 1}}
  %0 = nn.iota %a, %a {shape = array<i64: 4>, axis = -1 : i64} : (tensor<i64>, tensor<i64>) -> tensor<4xi64>
  return
}

// -----

func.func @trilu(%x: tensor<4xf32>) {
  // expected-error@+1 {{a tensor of rank 1 has no triangle}}
  %0 = nn.trilu %x {k = 0 : i64, upper = true} : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @gather_elements(%x: tensor<2x3xf32>, %i: tensor<3x3xi64>) {
  // expected-error@+1 {{indices of shape 3x3 do not fit x of shape 2x3}}
  %0 = nn.gather_elements %x, %i {axis = 1 : si64} : (tensor<2x3xf32>, tensor<3x3xi64>) -> tensor<3x3xf32>
  return
}
