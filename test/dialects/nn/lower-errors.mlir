// RUN: frit-opt %s --lower-nn -split-input-file -verify-diagnostics

func.func @dynamic(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error@+1 {{has a dynamic shape, which loops cannot have}}
  %0 = nn.relu %x : (tensor<?xf32>) -> tensor<?xf32>
  return %0 : tensor<?xf32>
}

// -----

// expected-error@+1 {{has control flow, which nn does not}}
func.func @branches(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
^unreachable:
  return %x : tensor<4xf32>
}
