// RUN: frit-opt %s --join-appends | FileCheck %s

// Attention rotates its query, and appends a row to its keys and values.
// CHECK-LABEL: func.func @step
// CHECK-NEXT:    %[[ALL:.*]]:3 = nn.fusion(%arg0, %arg1, %arg2, %arg3, %arg4, %arg5, %arg6)
// CHECK-NEXT:    ^bb0(%[[X:.*]]: tensor<1x2x1x8xf32>, %[[C:.*]]: tensor<8xf32>, %[[Y:.*]]: tensor<1x2x1x8xf32>, %[[K:.*]]: tensor<1x2x16x8xf32>, %[[AT:.*]]: tensor<1xi32>, %[[Z:.*]]: tensor<1x2x1x8xf32>, %[[V:.*]]: tensor<1x2x16x8xf32>):
// CHECK-NEXT:      %[[Q:.*]] = nn.mul %[[X]], %[[C]]
// CHECK-NEXT:      %[[ROW:.*]] = nn.mul %[[Y]], %[[C]]
// CHECK-NEXT:      %[[KEYS:.*]] = nn.update %[[K]], %[[ROW]], %[[AT]]
// CHECK-NEXT:      %[[VALUES:.*]] = nn.update %[[V]], %[[Z]], %[[AT]]
// CHECK-NEXT:      %[[O:.*]] = nn.attention %[[Q]], %[[KEYS]], %[[VALUES]]
// CHECK-NEXT:      nn.yield %[[O]], %[[KEYS]], %[[VALUES]]
// CHECK-NEXT:    }
// CHECK-NEXT:    return %[[ALL]]#0, %[[ALL]]#1, %[[ALL]]#2
func.func @step(%x: tensor<1x2x1x8xf32>, %c: tensor<8xf32>, %y: tensor<1x2x1x8xf32>, %keys: tensor<1x2x16x8xf32>, %at: tensor<1xi32>, %z: tensor<1x2x1x8xf32>, %values: tensor<1x2x16x8xf32>) -> (tensor<1x2x1x8xf32>, tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>) {
  %q = nn.fusion(%x, %c) : (tensor<1x2x1x8xf32>, tensor<8xf32>) -> tensor<1x2x1x8xf32> {
  ^bb0(%a: tensor<1x2x1x8xf32>, %b: tensor<8xf32>):
    %0 = nn.mul %a, %b : (tensor<1x2x1x8xf32>, tensor<8xf32>) -> tensor<1x2x1x8xf32>
    nn.yield %0 : tensor<1x2x1x8xf32>
  }
  %k = nn.fusion(%y, %c, %keys, %at) : (tensor<1x2x1x8xf32>, tensor<8xf32>, tensor<1x2x16x8xf32>, tensor<1xi32>) -> tensor<1x2x16x8xf32> {
  ^bb0(%a: tensor<1x2x1x8xf32>, %b: tensor<8xf32>, %s: tensor<1x2x16x8xf32>, %o: tensor<1xi32>):
    %0 = nn.mul %a, %b : (tensor<1x2x1x8xf32>, tensor<8xf32>) -> tensor<1x2x1x8xf32>
    %1 = nn.update %s, %0, %o {axis = 2 : i64} : (tensor<1x2x16x8xf32>, tensor<1x2x1x8xf32>, tensor<1xi32>) -> tensor<1x2x16x8xf32>
    nn.yield %1 : tensor<1x2x16x8xf32>
  }
  %v = nn.fusion(%z, %values, %at) : (tensor<1x2x1x8xf32>, tensor<1x2x16x8xf32>, tensor<1xi32>) -> tensor<1x2x16x8xf32> {
  ^bb0(%a: tensor<1x2x1x8xf32>, %s: tensor<1x2x16x8xf32>, %o: tensor<1xi32>):
    %1 = nn.update %s, %a, %o {axis = 2 : i64} : (tensor<1x2x16x8xf32>, tensor<1x2x1x8xf32>, tensor<1xi32>) -> tensor<1x2x16x8xf32>
    nn.yield %1 : tensor<1x2x16x8xf32>
  }
  %r = nn.fusion(%q, %k, %v) : (tensor<1x2x1x8xf32>, tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>) -> tensor<1x2x1x8xf32> {
  ^bb0(%a: tensor<1x2x1x8xf32>, %b: tensor<1x2x16x8xf32>, %d: tensor<1x2x16x8xf32>):
    %0 = nn.attention %a, %b, %d {scale = 1.0 : f32} : (tensor<1x2x1x8xf32>, tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>) -> tensor<1x2x1x8xf32>
    nn.yield %0 : tensor<1x2x1x8xf32>
  }
  return %r, %k, %v : tensor<1x2x1x8xf32>, tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>
}

// Keys that something else reads before the attention stay a kernel's.
// CHECK-LABEL: func.func @read
// CHECK-COUNT-3: = nn.fusion
func.func @read(%q: tensor<1x2x1x8xf32>, %keys: tensor<1x2x16x8xf32>, %at: tensor<1xi32>, %z: tensor<1x2x1x8xf32>) -> (tensor<1x2x1x8xf32>, tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>) {
  %k = nn.fusion(%z, %keys, %at) : (tensor<1x2x1x8xf32>, tensor<1x2x16x8xf32>, tensor<1xi32>) -> tensor<1x2x16x8xf32> {
  ^bb0(%a: tensor<1x2x1x8xf32>, %s: tensor<1x2x16x8xf32>, %o: tensor<1xi32>):
    %1 = nn.update %s, %a, %o {axis = 2 : i64} : (tensor<1x2x16x8xf32>, tensor<1x2x1x8xf32>, tensor<1xi32>) -> tensor<1x2x16x8xf32>
    nn.yield %1 : tensor<1x2x16x8xf32>
  }
  %n = nn.fusion(%k) : (tensor<1x2x16x8xf32>) -> tensor<1x2x16x8xf32> {
  ^bb0(%a: tensor<1x2x16x8xf32>):
    %1 = nn.neg %a : (tensor<1x2x16x8xf32>) -> tensor<1x2x16x8xf32>
    nn.yield %1 : tensor<1x2x16x8xf32>
  }
  %r = nn.fusion(%q, %k, %n) : (tensor<1x2x1x8xf32>, tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>) -> tensor<1x2x1x8xf32> {
  ^bb0(%a: tensor<1x2x1x8xf32>, %b: tensor<1x2x16x8xf32>, %d: tensor<1x2x16x8xf32>):
    %0 = nn.attention %a, %b, %d {scale = 1.0 : f32} : (tensor<1x2x1x8xf32>, tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>) -> tensor<1x2x1x8xf32>
    nn.yield %0 : tensor<1x2x1x8xf32>
  }
  return %r, %k, %n : tensor<1x2x1x8xf32>, tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>
}

// Two products and what makes weights of the scores, with a cap.
// CHECK-LABEL: func.func @capped
// CHECK-NEXT:    %[[ALL:.*]] = nn.fusion(%arg0, %arg1, %arg2, %arg3)
// CHECK-NEXT:    ^bb0(%[[Q:.*]]: tensor<1x2x4x8xf32>, %[[K:.*]]: tensor<1x2x16x8xf32>, %[[M:.*]]: tensor<1x1x1x4x16xf32>, %[[V:.*]]: tensor<1x2x16x8xf32>):
// CHECK-NEXT:      %[[S:.*]] = nn.matmul %[[Q]], %[[K]] {transpose_b}
// CHECK-NEXT:      %[[T:.*]] = nn.tanh %[[S]]
// CHECK-NEXT:      %[[W:.*]] = nn.reshape %[[T]]
// CHECK-NEXT:      %[[X:.*]] = nn.mul %[[M]], %[[W]]
// CHECK-NEXT:      %[[Y:.*]] = nn.reshape %[[X]]
// CHECK-NEXT:      %[[O:.*]] = nn.matmul %[[Y]], %[[V]]
// CHECK-NEXT:      nn.yield %[[O]]
// CHECK-NEXT:    }
// CHECK-NEXT:    return %[[ALL]]
func.func @capped(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x16x8xf32>, %m: tensor<1x1x1x4x16xf32>, %v: tensor<1x2x16x8xf32>) -> tensor<1x2x4x8xf32> {
  %s = nn.fusion(%q, %k) : (tensor<1x2x4x8xf32>, tensor<1x2x16x8xf32>) -> tensor<1x2x4x16xf32> {
  ^bb0(%a: tensor<1x2x4x8xf32>, %b: tensor<1x2x16x8xf32>):
    %0 = nn.matmul %a, %b {transpose_b} : (tensor<1x2x4x8xf32>, tensor<1x2x16x8xf32>) -> tensor<1x2x4x16xf32>
    nn.yield %0 : tensor<1x2x4x16xf32>
  }
  %t = nn.fusion(%s) : (tensor<1x2x4x16xf32>) -> tensor<1x2x4x16xf32> {
  ^bb0(%a: tensor<1x2x4x16xf32>):
    %0 = nn.tanh %a : (tensor<1x2x4x16xf32>) -> tensor<1x2x4x16xf32>
    nn.yield %0 : tensor<1x2x4x16xf32>
  }
  %r = nn.reshape %t {shape = array<i64: 1, 2, 1, 4, 16>} : (tensor<1x2x4x16xf32>) -> tensor<1x2x1x4x16xf32>
  %w = nn.fusion(%m, %r) : (tensor<1x1x1x4x16xf32>, tensor<1x2x1x4x16xf32>) -> tensor<1x2x1x4x16xf32> {
  ^bb0(%a: tensor<1x1x1x4x16xf32>, %b: tensor<1x2x1x4x16xf32>):
    %0 = nn.mul %a, %b : (tensor<1x1x1x4x16xf32>, tensor<1x2x1x4x16xf32>) -> tensor<1x2x1x4x16xf32>
    nn.yield %0 : tensor<1x2x1x4x16xf32>
  }
  %x = nn.reshape %w {shape = array<i64: 1, 2, 4, 16>} : (tensor<1x2x1x4x16xf32>) -> tensor<1x2x4x16xf32>
  %y = nn.fusion(%x, %v) : (tensor<1x2x4x16xf32>, tensor<1x2x16x8xf32>) -> tensor<1x2x4x8xf32> {
  ^bb0(%a: tensor<1x2x4x16xf32>, %b: tensor<1x2x16x8xf32>):
    %0 = nn.matmul %a, %b : (tensor<1x2x4x16xf32>, tensor<1x2x16x8xf32>) -> tensor<1x2x4x8xf32>
    nn.yield %0 : tensor<1x2x4x8xf32>
  }
  return %y : tensor<1x2x4x8xf32>
}

// Scores that something else reads, too, stay a kernel's.
// CHECK-LABEL: func.func @kept
// CHECK-COUNT-3: = nn.fusion
func.func @kept(%q: tensor<1x2x4x8xf32>, %k: tensor<1x2x16x8xf32>, %v: tensor<1x2x16x8xf32>) -> (tensor<1x2x4x16xf32>, tensor<1x2x4x8xf32>) {
  %s = nn.fusion(%q, %k) : (tensor<1x2x4x8xf32>, tensor<1x2x16x8xf32>) -> tensor<1x2x4x16xf32> {
  ^bb0(%a: tensor<1x2x4x8xf32>, %b: tensor<1x2x16x8xf32>):
    %0 = nn.matmul %a, %b {transpose_b} : (tensor<1x2x4x8xf32>, tensor<1x2x16x8xf32>) -> tensor<1x2x4x16xf32>
    nn.yield %0 : tensor<1x2x4x16xf32>
  }
  %t = nn.fusion(%s) : (tensor<1x2x4x16xf32>) -> tensor<1x2x4x16xf32> {
  ^bb0(%a: tensor<1x2x4x16xf32>):
    %0 = nn.tanh %a : (tensor<1x2x4x16xf32>) -> tensor<1x2x4x16xf32>
    nn.yield %0 : tensor<1x2x4x16xf32>
  }
  %y = nn.fusion(%t, %v) : (tensor<1x2x4x16xf32>, tensor<1x2x16x8xf32>) -> tensor<1x2x4x8xf32> {
  ^bb0(%a: tensor<1x2x4x16xf32>, %b: tensor<1x2x16x8xf32>):
    %0 = nn.matmul %a, %b : (tensor<1x2x4x16xf32>, tensor<1x2x16x8xf32>) -> tensor<1x2x4x8xf32>
    nn.yield %0 : tensor<1x2x4x8xf32>
  }
  return %s, %y : tensor<1x2x4x16xf32>, tensor<1x2x4x8xf32>
}
