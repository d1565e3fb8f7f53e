// RUN: frit-opt %s -split-input-file -verify-diagnostics

// All that passes set.
nn.state @s : tensor<4xf32> []
func.func @known(
    %a: tensor<4xf32> {nn.name = "a", nn.strings, nn.indices = [{use = "x"}], nn.symbols = [0]},
    %b: tensor<4xf32> {nn.state = @s},
    %c: tensor<4xf32> {nn.prepared = 0 : i64},
    %d: tensor<4xf32> {nn.name = "d", nn.computed},
    %e: tensor<4xf32> {nn.parameter = "e", nn.initial = dense<0.0> : tensor<4xf32>, nn.multiplied},
    %f: tensor<4xf32> {nn.statistic = "f"}, %g: tensor<i64> {nn.number = "g"},
    %h: tensor<4xf32> {nn.differentiate}, %i: tensor<4xf32> {other.name})
    -> (tensor<4xf32> {nn.name = "y", nn.extents = []}, tensor<4xf32> {nn.state = @s},
        tensor<4xf32> {nn.statistic = "f", nn.momentum = 0.1 : f64},
        tensor<i64> {nn.name = "n", nn.count, nn.indices = []}, tensor<4xf32> {nn.share},
        tensor<4xf32> {nn.name = "t", nn.strings}) {
  return %a, %b, %f, %g, %a, %a : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<i64>, tensor<4xf32>, tensor<4xf32>
}

// -----

// expected-error@+1 {{argument 1: 'nn.sate' is no attribute that it may have}}
func.func @unknown(%x: tensor<4xf32>, %y: tensor<4xf32> {nn.sate = @s}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{result 0: 'nn.prepared' is no attribute that it may have}}
func.func @of_arguments_only(%x: tensor<4xf32>) -> (tensor<4xf32> {nn.prepared = 0 : i64}) {
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{argument 0: 'nn.count' is no attribute that it may have}}
func.func @of_results_only(%x: tensor<i64> {nn.count}) -> tensor<i64> {
  return %x : tensor<i64>
}

// -----

// expected-error@+1 {{argument 0: 'nn.name' is 3 : i64, not a string}}
func.func @name(%x: tensor<4xf32> {nn.name = 3}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{argument 0: 'nn.parameter' is unit, not a string}}
func.func @parameter(%x: tensor<4xf32> {nn.parameter}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{argument 0: 'nn.multiplied' is true, not a unit}}
func.func @multiplied(%x: tensor<4xf32> {nn.multiplied = true}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{argument 0: 'nn.prepared' is -1 : i64, not the number of a result of @prepare}}
func.func @prepared(%x: tensor<4xf32> {nn.prepared = -1}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{argument 0: 'nn.indices' is [1], not a list of dictionaries}}
func.func @indices(%x: tensor<4xi64> {nn.indices = [1]}) -> tensor<4xi64> {
  return %x : tensor<4xi64>
}

// -----

// expected-error@+1 {{argument 0: 'nn.symbols' is "n", not a list}}
func.func @symbols(%x: tensor<4xf32> {nn.symbols = "n"}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{result 0: 'nn.momentum' is "high", not a finite float}}
func.func @momentum(%x: tensor<4xf32>) -> (tensor<4xf32> {nn.momentum = "high"}) {
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{result 0: 'nn.momentum' is 0x7FC00000 : f32, not a finite float}}
func.func @no_number(%x: tensor<4xf32>) -> (tensor<4xf32> {nn.momentum = 0x7FC00000 : f32}) {
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{argument 0: 'nn.carried' is 1, and there are 1 results}}
func.func @carried(%x: tensor<4xf32> {nn.carried = 1}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{argument 0: 'nn.initial' is "zeros", not elements}}
func.func @initial(%x: tensor<4xf32> {nn.initial = "zeros"}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{argument 0: 'nn.initial' is of type 'tensor<3xf32>', and the argument of 'tensor<4xf32>'}}
func.func @initial_type(%x: tensor<4xf32> {nn.initial = dense<0.0> : tensor<3xf32>}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{argument 0: 'nn.state' is "s", not the symbol of a state}}
func.func @state(%x: tensor<4xf32> {nn.state = "s"}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

// expected-error@+1 {{argument 0: 'nn.state' names @s, which is no state of the module}}
func.func @no_state(%x: tensor<4xf32> {nn.state = @s}) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}

// -----

nn.state @s : tensor<4xf32> []
// expected-error@+1 {{result 0: 'nn.state' names @s, a 'tensor<4xf32>', and the type is 'tensor<3xf32>'}}
func.func @state_type(%x: tensor<3xf32>) -> (tensor<3xf32> {nn.state = @s}) {
  return %x : tensor<3xf32>
}
