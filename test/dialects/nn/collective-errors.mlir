// Messages of the verifiers of collectives.
// RUN: frit-opt %s -split-input-file -verify-diagnostics

func.func @all_reduce(%x: tensor<8xf16>) {
  // expected-error@+1 {{takes a tensor of f32 or bf16 of one size}}
  %0 = nn.all_reduce %x : (tensor<8xf16>) -> tensor<8xf16>
  return
}

// -----

func.func @reduce_scatter(%x: tensor<8200xf32>) {
  // expected-error@+1 {{takes rows of 4096 elements of f32 or bf16, of rank 1}}
  %0 = nn.reduce_scatter %x : (tensor<8200xf32>) -> tensor<8200xf32>
  return
}

// -----

func.func @all_gather(%x: tensor<8192xbf16>) {
  // expected-error@+1 {{takes rows of 4096 elements of f32, of rank 1}}
  %0 = nn.all_gather %x : (tensor<8192xbf16>) -> tensor<8192xbf16>
  return
}
