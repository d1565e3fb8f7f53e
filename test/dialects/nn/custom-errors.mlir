// Messages of the verifiers of custom operators.
// RUN: frit-opt %s -split-input-file -verify-diagnostics

#cap = #nn.custom<name = "a::Cap", types = ["T", "T"], variables = {T = [f32]}>
func.func @custom_types(%x: tensor<4xf32>, %y: tensor<4xf16>) -> tensor<4xf32> {
  // expected-error @+1 {{'nn.custom_elementwise' op has 2 operands and 1 results, but 2 types}}
  %0 = nn.custom_elementwise %x, %y {custom = #cap, constants = []} : (tensor<4xf32>, tensor<4xf16>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

#cap = #nn.custom<name = "a::Cap", types = ["T", "T", "T"], variables = {T = [f32]}>
func.func @custom_variable(%x: tensor<4xf32>, %y: tensor<4xf16>) -> tensor<4xf32> {
  // expected-error @+1 {{'nn.custom_elementwise' op "T" is 'f32' and 'f16'}}
  %0 = nn.custom_elementwise %x, %y {custom = #cap, constants = []} : (tensor<4xf32>, tensor<4xf16>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

#cap = #nn.custom<name = "a::Cap", types = [i32, f32], variables = {}>
func.func @custom_fixed(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'nn.custom_elementwise' op takes i32, not 'f32'}}
  %0 = nn.custom_elementwise %x {custom = #cap, constants = []} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

#cap = #nn.custom<name = "a::Cap", types = [f32, f32], variables = {}>
func.func @custom_shape(%x: tensor<4xf32>) -> tensor<5xf32> {
  // expected-error @+1 {{'nn.custom_elementwise' op gives 4}}
  %0 = nn.custom_elementwise %x {custom = #cap, constants = []} : (tensor<4xf32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// -----

#cap = #nn.custom<name = "a::Cap", types = [f32, f32], variables = {}>
func.func @custom_launch(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'nn.custom' op has a launch that is not three-dimensional}}
  %0 = nn.custom %x {custom = #cap, constants = [], grid = array<i64: 1>, block = array<i64: 1, 1, 1>, shared_bytes = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

#cap = #nn.custom<name = "a::Cap", types = [f32, f32], variables = {}>
func.func @custom_constant(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{'nn.custom_elementwise' op "two" is no number that is passed}}
  %0 = nn.custom_elementwise %x {custom = #cap, constants = ["two"]} : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
