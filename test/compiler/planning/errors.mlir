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

// -----

nn.state @a : tensor<4xf32> []
// expected-error@+1 {{result 0 is no nn.update of the argument that is @a}}
func.func @main(%a: tensor<4xf32> {nn.state = @a}) -> (tensor<4xf32> {nn.state = @a}) {
  %n = nn.fusion(%a) schedule(#cuda.map<threads = 64>) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%b: tensor<4xf32>):
    %1 = nn.neg %b : (tensor<4xf32>) -> tensor<4xf32>
    nn.yield %1 : tensor<4xf32>
  }
  return %n : tensor<4xf32>
}

// -----

// Each is tied to the other's argument.
nn.state @a : tensor<4xf32> []
nn.state @b : tensor<4xf32> []
// expected-error@+1 {{result 0 is no nn.update of the argument that is @a}}
func.func @main(%a: tensor<4xf32> {nn.state = @a}, %b: tensor<4xf32> {nn.state = @b}) -> (tensor<4xf32> {nn.state = @a}, tensor<4xf32> {nn.state = @b}) {
  return %b, %a : tensor<4xf32>, tensor<4xf32>
}
