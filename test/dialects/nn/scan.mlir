// RUN: frit-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: func.func @sums
// CHECK: %ys, %last = nn.scan %arg0 to %arg1 from %arg2 {reversed} : tensor<3x4xf32>, tensor<i64>, (tensor<4xf32>) -> (tensor<3x4xf32>, tensor<4xf32>) {
// CHECK: ^bb0(%{{.*}}: tensor<i64>, %{{.*}}: tensor<4xf32>, %{{.*}}: tensor<4xf32>):
func.func @sums(%x: tensor<3x4xf32>, %n: tensor<i64>, %h: tensor<4xf32>) -> tensor<3x4xf32> {
  %ys, %last = nn.scan %x to %n from %h {reversed} : tensor<3x4xf32>, tensor<i64>, (tensor<4xf32>) -> (tensor<3x4xf32>, tensor<4xf32>) {
  ^bb0(%t: tensor<i64>, %row: tensor<4xf32>, %s: tensor<4xf32>):
    %next = nn.add %row, %s : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    nn.yield %next : tensor<4xf32>
  }
  return %ys : tensor<3x4xf32>
}

// -----

func.func @count(%x: tensor<3x4xf32>, %n: tensor<2xi64>, %h: tensor<4xf32>) {
  // expected-error @below {{its count is not a single i64}}
  %ys, %last = nn.scan %x to %n from %h : tensor<3x4xf32>, tensor<2xi64>, (tensor<4xf32>) -> (tensor<3x4xf32>, tensor<4xf32>) {
  ^bb0(%t: tensor<i64>, %row: tensor<4xf32>, %s: tensor<4xf32>):
    nn.yield %s : tensor<4xf32>
  }
  return
}

// -----

func.func @rows(%x: tensor<f32>, %n: tensor<i64>, %h: tensor<4xf32>) {
  // expected-error @below {{has no rows or no states}}
  %ys, %last = nn.scan %x to %n from %h : tensor<f32>, tensor<i64>, (tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  ^bb0(%t: tensor<i64>, %s: tensor<4xf32>):
    nn.yield %s : tensor<4xf32>
  }
  return
}

// -----

func.func @last(%x: tensor<3x4xf32>, %n: tensor<i64>, %h: tensor<4xf32>) {
  // expected-error @below {{its last states have other types than the first}}
  %ys, %last = nn.scan %x to %n from %h : tensor<3x4xf32>, tensor<i64>, (tensor<4xf32>) -> (tensor<3x4xf32>, tensor<5xf32>) {
  ^bb0(%t: tensor<i64>, %row: tensor<4xf32>, %s: tensor<4xf32>):
    nn.yield %s : tensor<4xf32>
  }
  return
}

// -----

func.func @each(%x: tensor<3x4xf32>, %n: tensor<i64>, %h: tensor<4xf32>) {
  // expected-error @below {{its first result is not a state for each row}}
  %ys, %last = nn.scan %x to %n from %h : tensor<3x4xf32>, tensor<i64>, (tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>) {
  ^bb0(%t: tensor<i64>, %row: tensor<4xf32>, %s: tensor<4xf32>):
    nn.yield %s : tensor<4xf32>
  }
  return
}

// -----

func.func @block(%x: tensor<3x4xf32>, %n: tensor<i64>, %h: tensor<4xf32>) {
  // expected-error @below {{its block's arguments are not the index, a row and the states}}
  %ys, %last = nn.scan %x to %n from %h : tensor<3x4xf32>, tensor<i64>, (tensor<4xf32>) -> (tensor<3x4xf32>, tensor<4xf32>) {
  ^bb0(%row: tensor<4xf32>, %s: tensor<4xf32>):
    nn.yield %s : tensor<4xf32>
  }
  return
}

// -----

func.func @yield(%x: tensor<3x4xf32>, %n: tensor<i64>, %h: tensor<4xf32>) {
  // expected-error @below {{its block does not yield the states}}
  %ys, %last = nn.scan %x to %n from %h : tensor<3x4xf32>, tensor<i64>, (tensor<4xf32>) -> (tensor<3x4xf32>, tensor<4xf32>) {
  ^bb0(%t: tensor<i64>, %row: tensor<4xf32>, %s: tensor<4xf32>):
    nn.yield %s, %s : tensor<4xf32>, tensor<4xf32>
  }
  return
}
