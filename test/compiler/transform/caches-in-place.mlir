// RUN: frit-opt %s --compose --simplify -split-input-file | FileCheck %s

// Attention reads caches where they lie, and only the entries that are keys.
// The model has two entries and calls of two tokens, and is causal.
// CHECK-LABEL: func.func @ranges
// CHECK-SAME:    %[[LENGTH:[^:]*]]: tensor<1xi32>, %[[K:[^:]*]]: {{[^,]*}}, %[[V:[^:]*]]: {{[^,]*}}, %[[Q:[^:]*]]:
// CHECK-DAG:     %[[ZERO:.*]] = nn.constant dense<0> : tensor<1x1x2x1xi32>
// CHECK-DAG:     %[[MORE:.*]] = nn.constant dense<{{\[\[\[}}[1], [2]]]]>
// CHECK-DAG:     %[[TWO:.*]] = nn.constant dense<2>
// CHECK-DAG:     %[[L:.*]] = nn.reshape %[[LENGTH]]
// CHECK-DAG:     %[[NEXT:.*]] = nn.add %[[L]], %[[MORE]]
// CHECK-DAG:     %[[END:.*]] = nn.min %[[NEXT]], %[[TWO]]
// CHECK:         %[[RANGES:.*]] = nn.concat %[[ZERO]], %[[END]] {axis = 3 : si64}
// CHECK:         nn.attention %[[Q]], %[[K]], %[[V]], %[[RANGES]] {scale = 5.000000e-01 : f32}
// CHECK-NOT:     nn.gather
func.func @ranges(%length: tensor<1xi32>, %k: tensor<1x2x2x8xf32>, %v: tensor<1x2x2x8xf32>, %q: tensor<1x2x2x8xf32>) -> tensor<1x2x2x8xf32> {
  %zero = nn.constant dense<0> : tensor<i32>
  %one = nn.constant dense<1> : tensor<i32>
  %two = nn.constant dense<2> : tensor<i32>
  %before = nn.constant dense<-2> : tensor<i32>
  %row = nn.reshape %length {shape = array<i64: 1, 1>} : (tensor<1xi32>) -> tensor<1x1xi32>
  %run = nn.iota %before, %one {axis = 1 : i64, shape = array<i64: 1, 4>} : (tensor<i32>, tensor<i32>) -> tensor<1x4xi32>
  %moved = nn.add %row, %run : (tensor<1x1xi32>, tensor<1x4xi32>) -> tensor<1x4xi32>
  %least = nn.max %moved, %zero : (tensor<1x4xi32>, tensor<i32>) -> tensor<1x4xi32>
  %most = nn.min %least, %one : (tensor<1x4xi32>, tensor<i32>) -> tensor<1x4xi32>
  %places = nn.reshape %most {shape = array<i64: 4>} : (tensor<1x4xi32>) -> tensor<4xi32>
  %keys = nn.gather %k, %places {axis = 2 : si64} : (tensor<1x2x2x8xf32>, tensor<4xi32>) -> tensor<1x2x4x8xf32>
  %values = nn.gather %v, %places {axis = 2 : si64} : (tensor<1x2x2x8xf32>, tensor<4xi32>) -> tensor<1x2x4x8xf32>
  %entries = nn.iota %zero, %one {axis = 1 : i64, shape = array<i64: 1, 4>} : (tensor<i32>, tensor<i32>) -> tensor<1x4xi32>
  %from = nn.add %row, %entries : (tensor<1x1xi32>, tensor<1x4xi32>) -> tensor<1x4xi32>
  %used = nn.greater_equal %from, %two : (tensor<1x4xi32>, tensor<i32>) -> tensor<1x4xi1>
  %of_keys = nn.reshape %used {shape = array<i64: 1, 1, 1, 4>} : (tensor<1x4xi1>) -> tensor<1x1x1x4xi1>
  %causal = nn.constant dense<[[true, true, true, false], [true, true, true, true]]> : tensor<2x4xi1>
  %mask = nn.and %causal, %of_keys : (tensor<2x4xi1>, tensor<1x1x1x4xi1>) -> tensor<1x1x2x4xi1>
  %y = nn.attention %q, %keys, %values, %mask {scale = 0.5 : f32, unguarded} : (tensor<1x2x2x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x1x2x4xi1>) -> tensor<1x2x2x8xf32>
  return %y : tensor<1x2x2x8xf32>
}

// -----

// A bias of scores that no ranges describe gets the order of the entries, and
// hides those after the last token.
// CHECK-LABEL: func.func @bias
// CHECK-SAME:    %[[LENGTH:[^:]*]]: tensor<1xi32>, %[[K:[^:]*]]: {{[^,]*}}, %[[V:[^:]*]]: {{[^,]*}}, %[[Q:[^:]*]]: {{[^,]*}}, %[[BIAS:[^:]*]]:
// CHECK:         %[[OWN:.*]] = nn.gather %[[BIAS]], %{{.*}} {axis = 3 : si64} : (tensor<1x2x2x4xf32>, tensor<2xi32>) -> tensor<1x2x2x2xf32>
// CHECK:         %[[MASK:.*]] = nn.where %{{.*}}, %[[OWN]], %{{.*}} : (tensor<1x1x1x2xi1>,
// CHECK:         nn.attention %[[Q]], %[[K]], %[[V]], %[[MASK]] {scale = 5.000000e-01 : f32, unguarded}
func.func @bias(%length: tensor<1xi32>, %k: tensor<1x2x2x8xf32>, %v: tensor<1x2x2x8xf32>, %q: tensor<1x2x2x8xf32>, %bias: tensor<1x2x2x4xf32>) -> tensor<1x2x2x8xf32> {
  %zero = nn.constant dense<0> : tensor<i32>
  %one = nn.constant dense<1> : tensor<i32>
  %before = nn.constant dense<-2> : tensor<i32>
  %row = nn.reshape %length {shape = array<i64: 1, 1>} : (tensor<1xi32>) -> tensor<1x1xi32>
  %run = nn.iota %before, %one {axis = 1 : i64, shape = array<i64: 1, 4>} : (tensor<i32>, tensor<i32>) -> tensor<1x4xi32>
  %moved = nn.add %row, %run : (tensor<1x1xi32>, tensor<1x4xi32>) -> tensor<1x4xi32>
  %least = nn.max %moved, %zero : (tensor<1x4xi32>, tensor<i32>) -> tensor<1x4xi32>
  %most = nn.min %least, %one : (tensor<1x4xi32>, tensor<i32>) -> tensor<1x4xi32>
  %places = nn.reshape %most {shape = array<i64: 4>} : (tensor<1x4xi32>) -> tensor<4xi32>
  %keys = nn.gather %k, %places {axis = 2 : si64} : (tensor<1x2x2x8xf32>, tensor<4xi32>) -> tensor<1x2x4x8xf32>
  %values = nn.gather %v, %places {axis = 2 : si64} : (tensor<1x2x2x8xf32>, tensor<4xi32>) -> tensor<1x2x4x8xf32>
  %y = nn.attention %q, %keys, %values, %bias {scale = 0.5 : f32, unguarded} : (tensor<1x2x2x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x2x4xf32>) -> tensor<1x2x2x8xf32>
  return %y : tensor<1x2x2x8xf32>
}

// -----

// Capped scores, which nn.attention does not have: a product, a softmax of one
// row for each query, and another product. Two sequences have entries of their
// own number.
// CHECK-LABEL: func.func @capped
// CHECK-SAME:    %[[LENGTH:[^:]*]]: tensor<2xi32>, %[[K:[^:]*]]: {{[^,]*}}, %[[V:[^:]*]]: {{[^,]*}}, %[[Q:[^:]*]]: {{[^,]*}}, %[[BIAS:[^:]*]]:
// CHECK:         %[[S:.*]] = nn.matmul %[[Q]], %[[K]] {transpose_b} : (tensor<2x2x1x8xf32>, tensor<2x2x2x8xf32>) -> tensor<2x2x1x2xf32>
// CHECK:         %[[T:.*]] = nn.tanh %[[S]]
// CHECK:         nn.gather_elements %{{.*}}, %{{.*}} {axis = 3 : si64} : (tensor<2x1x1x3xf32>, tensor<2x1x1x2xi32>)
// CHECK:         %[[W:.*]] = nn.where
// CHECK:         %[[P:.*]] = nn.softmax %[[W]]
// CHECK:         nn.matmul %[[P]], %[[V]]
func.func @capped(%length: tensor<2xi32>, %k: tensor<2x2x2x8xf32>, %v: tensor<2x2x2x8xf32>, %q: tensor<2x2x1x8xf32>, %bias: tensor<2x1x1x3xf32>) -> tensor<2x2x1x8xf32> {
  %zero = nn.constant dense<0> : tensor<i32>
  %one = nn.constant dense<1> : tensor<i32>
  %before = nn.constant dense<-2> : tensor<i32>
  %row = nn.reshape %length {shape = array<i64: 2, 1>} : (tensor<2xi32>) -> tensor<2x1xi32>
  %run = nn.iota %before, %one {axis = 1 : i64, shape = array<i64: 1, 3>} : (tensor<i32>, tensor<i32>) -> tensor<1x3xi32>
  %moved = nn.add %row, %run : (tensor<2x1xi32>, tensor<1x3xi32>) -> tensor<2x3xi32>
  %least = nn.max %moved, %zero : (tensor<2x3xi32>, tensor<i32>) -> tensor<2x3xi32>
  %most = nn.min %least, %one : (tensor<2x3xi32>, tensor<i32>) -> tensor<2x3xi32>
  %apart = nn.reshape %most {shape = array<i64: 2, 1, 3, 1>} : (tensor<2x3xi32>) -> tensor<2x1x3x1xi32>
  %places = nn.expand %apart {shape = array<i64: 2, 2, 3, 8>} : (tensor<2x1x3x1xi32>) -> tensor<2x2x3x8xi32>
  %keys = nn.gather_elements %k, %places {axis = 2 : si64} : (tensor<2x2x2x8xf32>, tensor<2x2x3x8xi32>) -> tensor<2x2x3x8xf32>
  %values = nn.gather_elements %v, %places {axis = 2 : si64} : (tensor<2x2x2x8xf32>, tensor<2x2x3x8xi32>) -> tensor<2x2x3x8xf32>
  %s = nn.matmul %q, %keys {transpose_b} : (tensor<2x2x1x8xf32>, tensor<2x2x3x8xf32>) -> tensor<2x2x1x3xf32>
  %t = nn.tanh %s : (tensor<2x2x1x3xf32>) -> tensor<2x2x1x3xf32>
  %masked = nn.add %t, %bias : (tensor<2x2x1x3xf32>, tensor<2x1x1x3xf32>) -> tensor<2x2x1x3xf32>
  %p = nn.softmax %masked : (tensor<2x2x1x3xf32>) -> tensor<2x2x1x3xf32>
  %y = nn.matmul %p, %values : (tensor<2x2x1x3xf32>, tensor<2x2x3x8xf32>) -> tensor<2x2x1x8xf32>
  return %y : tensor<2x2x1x8xf32>
}

// -----

// The rows of a mask without a dimension of sequences are queries, as many as
// there are sequences here.
// CHECK-LABEL: func.func @rows
// CHECK-SAME:    %[[LENGTH:[^:]*]]: tensor<2xi32>, %[[K:[^:]*]]: {{[^,]*}}, %[[Q:[^:]*]]: {{[^,]*}}, %[[SEEN:[^:]*]]:
// CHECK:         %[[APART:.*]] = nn.reshape %[[SEEN]] {shape = array<i64: 1, 1, 2, 4>}
// CHECK:         %[[WIDE:.*]] = nn.expand %[[APART]] {shape = array<i64: 2, 1, 2, 4>}
// CHECK:         nn.gather_elements %[[WIDE]], %{{.*}} {axis = 3 : si64} : (tensor<2x1x2x4xi1>, tensor<2x1x2x2xi32>)
// CHECK:         nn.attention %[[Q]], %[[K]], %[[K]], %{{.*}} {scale = 5.000000e-01 : f32}
func.func @rows(%length: tensor<2xi32>, %k: tensor<2x2x2x8xf32>, %q: tensor<2x2x2x8xf32>, %seen: tensor<2x4xi1>) -> tensor<2x2x2x8xf32> {
  %zero = nn.constant dense<0> : tensor<i32>
  %one = nn.constant dense<1> : tensor<i32>
  %before = nn.constant dense<-2> : tensor<i32>
  %row = nn.reshape %length {shape = array<i64: 2, 1>} : (tensor<2xi32>) -> tensor<2x1xi32>
  %run = nn.iota %before, %one {axis = 1 : i64, shape = array<i64: 1, 4>} : (tensor<i32>, tensor<i32>) -> tensor<1x4xi32>
  %moved = nn.add %row, %run : (tensor<2x1xi32>, tensor<1x4xi32>) -> tensor<2x4xi32>
  %least = nn.max %moved, %zero : (tensor<2x4xi32>, tensor<i32>) -> tensor<2x4xi32>
  %most = nn.min %least, %one : (tensor<2x4xi32>, tensor<i32>) -> tensor<2x4xi32>
  %apart = nn.reshape %most {shape = array<i64: 2, 1, 4, 1>} : (tensor<2x4xi32>) -> tensor<2x1x4x1xi32>
  %places = nn.expand %apart {shape = array<i64: 2, 2, 4, 8>} : (tensor<2x1x4x1xi32>) -> tensor<2x2x4x8xi32>
  %keys = nn.gather_elements %k, %places {axis = 2 : si64} : (tensor<2x2x2x8xf32>, tensor<2x2x4x8xi32>) -> tensor<2x2x4x8xf32>
  %y = nn.attention %q, %keys, %keys, %seen {scale = 0.5 : f32} : (tensor<2x2x2x8xf32>, tensor<2x2x4x8xf32>, tensor<2x2x4x8xf32>, tensor<2x4xi1>) -> tensor<2x2x2x8xf32>
  return %y : tensor<2x2x2x8xf32>
}

// -----

// A mask that may show any keys is no range of entries.
// CHECK-LABEL: func.func @shown
// CHECK:         nn.gather %{{.*}} {axis = 3 : si64} : (tensor<1x1x1x3xi1>, tensor<2xi32>)
// CHECK:         nn.attention {{.*}} -> tensor<1x2x1x8xf32>
func.func @shown(%length: tensor<1xi32>, %k: tensor<1x2x2x8xf32>, %v: tensor<1x2x2x8xf32>, %q: tensor<1x2x1x8xf32>, %seen: tensor<1x1x1x3xi1>) -> tensor<1x2x1x8xf32> {
  %zero = nn.constant dense<0> : tensor<i32>
  %one = nn.constant dense<1> : tensor<i32>
  %before = nn.constant dense<-2> : tensor<i32>
  %run = nn.iota %before, %one {axis = 0 : i64, shape = array<i64: 3>} : (tensor<i32>, tensor<i32>) -> tensor<3xi32>
  %moved = nn.add %length, %run : (tensor<1xi32>, tensor<3xi32>) -> tensor<3xi32>
  %least = nn.max %moved, %zero : (tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
  %places = nn.min %least, %one : (tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
  %keys = nn.gather %k, %places {axis = 2 : si64} : (tensor<1x2x2x8xf32>, tensor<3xi32>) -> tensor<1x2x3x8xf32>
  %values = nn.gather %v, %places {axis = 2 : si64} : (tensor<1x2x2x8xf32>, tensor<3xi32>) -> tensor<1x2x3x8xf32>
  %y = nn.attention %q, %keys, %values, %seen {scale = 0.5 : f32} : (tensor<1x2x1x8xf32>, tensor<1x2x3x8xf32>, tensor<1x2x3x8xf32>, tensor<1x1x1x3xi1>) -> tensor<1x2x1x8xf32>
  return %y : tensor<1x2x1x8xf32>
}

// -----

// The same gather by other places is no cache in another order.
// CHECK-LABEL: func.func @others
// CHECK:         %[[K:.*]] = nn.gather
// CHECK:         nn.attention %{{.*}}, %[[K]], %[[K]]
func.func @others(%length: tensor<1xi32>, %k: tensor<1x2x2x8xf32>, %q: tensor<1x2x1x8xf32>, %seen: tensor<1x1x1x3xi1>) -> tensor<1x2x1x8xf32> {
  %zero = nn.constant dense<0> : tensor<i32>
  %one = nn.constant dense<1> : tensor<i32>
  %before = nn.constant dense<-1> : tensor<i32>
  %run = nn.iota %before, %one {axis = 0 : i64, shape = array<i64: 3>} : (tensor<i32>, tensor<i32>) -> tensor<3xi32>
  %moved = nn.add %length, %run : (tensor<1xi32>, tensor<3xi32>) -> tensor<3xi32>
  %least = nn.max %moved, %zero : (tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
  %places = nn.min %least, %one : (tensor<3xi32>, tensor<i32>) -> tensor<3xi32>
  %keys = nn.gather %k, %places {axis = 2 : si64} : (tensor<1x2x2x8xf32>, tensor<3xi32>) -> tensor<1x2x3x8xf32>
  %y = nn.attention %q, %keys, %keys, %seen {scale = 0.5 : f32} : (tensor<1x2x1x8xf32>, tensor<1x2x3x8xf32>, tensor<1x2x3x8xf32>, tensor<1x1x1x3xi1>) -> tensor<1x2x1x8xf32>
  return %y : tensor<1x2x1x8xf32>
}
