// Data movement around an attention as offsets and strides, in elements.
// RUN: frit-opt %s --test-describe-attention -split-input-file -verify-diagnostics

// Queries, keys and values of one projection in three ways: split and
// transposed; transposed with the batch last, then split; repeated.
func.func @operands(%p: tensor<2x5x96xf16>, %t: tensor<5x2x64xf16>, %m: tensor<5xf16>) -> tensor<2x5x32xf16> {
  // expected-remark@+1 {{batch=2 heads=2/2 queries=5 keys=5 size=16/16 q=0+32[480,16,96,1] k=1+0[64,16,128,1] v=0+0[480,0,96,1] result=+0[160,16,32,1] mask=2+0[0,0,0,1] causal}}
  %0 = nn.fusion(%p, %t, %m) : (tensor<2x5x96xf16>, tensor<5x2x64xf16>, tensor<5xf16>) -> tensor<2x5x32xf16> {
  ^bb0(%a: tensor<2x5x96xf16>, %b: tensor<5x2x64xf16>, %c: tensor<5xf16>):
    %1 = nn.slice %a {starts = array<i64: 0, 0, 32>, sizes = array<i64: 2, 5, 32>, steps = array<i64: 1, 1, 1>} : (tensor<2x5x96xf16>) -> tensor<2x5x32xf16>
    %2 = nn.reshape %1 {shape = array<i64: 2, 5, 2, 16>} : (tensor<2x5x32xf16>) -> tensor<2x5x2x16xf16>
    %q = nn.transpose %2 {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x5x2x16xf16>) -> tensor<2x2x5x16xf16>
    %3 = nn.transpose %b {perm = array<i64: 1, 0, 2>} : (tensor<5x2x64xf16>) -> tensor<2x5x64xf16>
    %4 = nn.reshape %3 {shape = array<i64: 2, 5, 4, 16>} : (tensor<2x5x64xf16>) -> tensor<2x5x4x16xf16>
    %5 = nn.transpose %4 {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x5x4x16xf16>) -> tensor<2x4x5x16xf16>
    %k = nn.slice %5 {starts = array<i64: 0, 0, 0, 0>, sizes = array<i64: 2, 2, 5, 16>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x4x5x16xf16>) -> tensor<2x2x5x16xf16>
    %6 = nn.slice %a {starts = array<i64: 0, 0, 0>, sizes = array<i64: 2, 5, 16>, steps = array<i64: 1, 1, 1>} : (tensor<2x5x96xf16>) -> tensor<2x5x16xf16>
    %7 = nn.reshape %6 {shape = array<i64: 2, 1, 5, 16>} : (tensor<2x5x16xf16>) -> tensor<2x1x5x16xf16>
    %v = nn.expand %7 {shape = array<i64: 2, 2, 5, 16>} : (tensor<2x1x5x16xf16>) -> tensor<2x2x5x16xf16>
    %y = nn.attention %q, %k, %v, %c {scale = 0.25 : f32, causal} : (tensor<2x2x5x16xf16>, tensor<2x2x5x16xf16>, tensor<2x2x5x16xf16>, tensor<5xf16>) -> tensor<2x2x5x16xf16>
    %8 = nn.transpose %y {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x2x5x16xf16>) -> tensor<2x5x2x16xf16>
    %9 = nn.reshape %8 {shape = array<i64: 2, 5, 32>} : (tensor<2x5x2x16xf16>) -> tensor<2x5x32xf16>
    nn.yield %9 : tensor<2x5x32xf16>
  }
  return %0 : tensor<2x5x32xf16>
}

// -----

// Batch and heads of a transposed tensor cannot be one strided dimension.
func.func @merged(%p: tensor<2x5x2x16xf16>) -> tensor<1x4x5x16xf16> {
  // expected-remark@+1 {{an operand is not a strided view of an input}}
  %0 = nn.fusion(%p) : (tensor<2x5x2x16xf16>) -> tensor<1x4x5x16xf16> {
  ^bb0(%a: tensor<2x5x2x16xf16>):
    %1 = nn.transpose %a {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x5x2x16xf16>) -> tensor<2x2x5x16xf16>
    %q = nn.reshape %1 {shape = array<i64: 1, 4, 5, 16>} : (tensor<2x2x5x16xf16>) -> tensor<1x4x5x16xf16>
    %y = nn.attention %q, %q, %q {scale = 0.25 : f32} : (tensor<1x4x5x16xf16>, tensor<1x4x5x16xf16>, tensor<1x4x5x16xf16>) -> tensor<1x4x5x16xf16>
    nn.yield %y : tensor<1x4x5x16xf16>
  }
  return %0 : tensor<1x4x5x16xf16>
}

// -----

func.func @beside(%q: tensor<1x4x5x16xf16>) -> tensor<1x4x5x16xf16> {
  // expected-remark@+1 {{nn.exp is neither the attention nor a view}}
  %0 = nn.fusion(%q) : (tensor<1x4x5x16xf16>) -> tensor<1x4x5x16xf16> {
  ^bb0(%a: tensor<1x4x5x16xf16>):
    %y = nn.attention %a, %a, %a {scale = 0.25 : f32} : (tensor<1x4x5x16xf16>, tensor<1x4x5x16xf16>, tensor<1x4x5x16xf16>) -> tensor<1x4x5x16xf16>
    %z = nn.exp %y : (tensor<1x4x5x16xf16>) -> tensor<1x4x5x16xf16>
    nn.yield %z : tensor<1x4x5x16xf16>
  }
  return %0 : tensor<1x4x5x16xf16>
}
