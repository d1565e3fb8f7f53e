// RUN: frit-opt %s -split-input-file --build-plan -verify-diagnostics

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{'nn.relu' is in no fusion, so it has no step}}
  %0 = nn.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{has no schedule}}
  %0 = nn.fusion(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %r = nn.relu %a : (tensor<4xf32>) -> tensor<4xf32>
    nn.yield %r : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error@+1 {{is scheduled for a library, but}}
  %0 = nn.fusion(%x) schedule(#cpu.gemm) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %r = nn.relu %a : (tensor<4xf32>) -> tensor<4xf32>
    nn.yield %r : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

// expected-error@+1 {{nn.prepared = 3 is no result of @prepare}}
func.func @main(%x: tensor<4xf32> {nn.prepared = 3 : i64}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{has no function @main}}
module {
}

// -----

func.func @main() {
  return
}
// expected-error@+1 {{has a result that is no state}}
func.func @derive(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
