// RUN: frit-opt %s --compose --simplify -split-input-file | FileCheck %s

// A mask by positions, within a window and of keys in use, becomes ranges.
// CHECK-LABEL: func.func @window
// CHECK-SAME:    %[[LENGTH:[^:]*]]: tensor<1xi32>
// CHECK-DAG:     %[[POSITIONS:.*]] = nn.min {{.*}} -> tensor<1x2xi32>
// CHECK-DAG:     %[[ZERO:.*]] = nn.constant dense<0> : tensor<i32>
// CHECK-DAG:     %[[ONE:.*]] = nn.constant dense<1> : tensor<i32>
// CHECK-DAG:     %[[FOUR:.*]] = nn.constant dense<4> : tensor<i32>
// CHECK-DAG:     %[[WINDOW:.*]] = nn.constant dense<-2> : tensor<i32>
// CHECK-DAG:     %[[P:.*]] = nn.reshape %[[POSITIONS]] {{.*}} -> tensor<1x1x2x1xi32>
// CHECK-DAG:     %[[NEXT:.*]] = nn.add %[[P]], %[[ONE]]
// CHECK-DAG:     %[[END:.*]] = nn.min %[[NEXT]], %[[FOUR]]
// CHECK-DAG:     %[[FROM:.*]] = nn.add %[[P]], %[[WINDOW]]
// CHECK-DAG:     %[[START:.*]] = nn.max %[[FROM]], %[[ZERO]]
// CHECK:         %[[RANGES:.*]] = nn.concat %[[START]], %[[END]] {axis = 3 : si64}
// CHECK:         nn.attention %{{.*}}, %{{.*}}, %{{.*}}, %[[RANGES]] {scale = 5.000000e-01 : f32}
nn.state @length : tensor<1xi32> [#nn.member<"length" at 0 : tensor<1xi32>>] {role = "length"}
func.func @window(%length: tensor<1xi32> {nn.state = @length}, %k: tensor<1x2x4x8xf32>, %v: tensor<1x2x4x8xf32>, %q: tensor<1x2x2x8xf32>) -> (tensor<1x2x2x8xf32>, tensor<1xi32> {nn.state = @length}) {
  %zero = nn.constant dense<0> : tensor<i32>
  %one = nn.constant dense<1> : tensor<i32>
  %two = nn.constant dense<2> : tensor<i32>
  %three = nn.constant dense<3> : tensor<i32>
  %row = nn.reshape %length {shape = array<i64: 1, 1>} : (tensor<1xi32>) -> tensor<1x1xi32>
  %run = nn.iota %zero, %one {axis = 1 : i64, shape = array<i64: 1, 2>} : (tensor<i32>, tensor<i32>) -> tensor<1x2xi32>
  %behind = nn.add %row, %run : (tensor<1x1xi32>, tensor<1x2xi32>) -> tensor<1x2xi32>
  %positions = nn.min %behind, %three : (tensor<1x2xi32>, tensor<i32>) -> tensor<1x2xi32>
  %wide = nn.cast %positions {to = i64} : (tensor<1x2xi32>) -> tensor<1x2xi64>
  %own = nn.reshape %wide {shape = array<i64: 2, 1>} : (tensor<1x2xi64>) -> tensor<2x1xi64>
  %places = nn.constant dense<[[0, 1, 2, 3]]> : tensor<1x4xi64>
  %causal = nn.less_equal %places, %own : (tensor<1x4xi64>, tensor<2x1xi64>) -> tensor<2x4xi1>
  %size = nn.constant dense<3> : tensor<i64>
  %first = nn.sub %own, %size : (tensor<2x1xi64>, tensor<i64>) -> tensor<2x1xi64>
  %near = nn.greater %places, %first : (tensor<1x4xi64>, tensor<2x1xi64>) -> tensor<2x4xi1>
  %both = nn.and %causal, %near : (tensor<2x4xi1>, tensor<2x4xi1>) -> tensor<2x4xi1>
  %entries = nn.iota %zero, %one {axis = 1 : i64, shape = array<i64: 1, 4>} : (tensor<i32>, tensor<i32>) -> tensor<1x4xi32>
  %after = nn.add %row, %two : (tensor<1x1xi32>, tensor<i32>) -> tensor<1x1xi32>
  %used = nn.less %entries, %after : (tensor<1x4xi32>, tensor<1x1xi32>) -> tensor<1x4xi1>
  %seen = nn.and %both, %used : (tensor<2x4xi1>, tensor<1x4xi1>) -> tensor<2x4xi1>
  %shown = nn.constant dense<0.0> : tensor<f32>
  %hidden = nn.constant dense<-3.4e38> : tensor<f32>
  %mask = nn.where %seen, %shown, %hidden : (tensor<2x4xi1>, tensor<f32>, tensor<f32>) -> tensor<2x4xf32>
  %y = nn.attention %q, %k, %v, %mask {scale = 0.5 : f32, unguarded} : (tensor<1x2x2x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<2x4xf32>) -> tensor<1x2x2x8xf32>
  return %y, %length : tensor<1x2x2x8xf32>, tensor<1xi32>
}

// -----

// A query may see no key at all, or later ones alone: the mask stays.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-2: nn.attention {{.*}} tensor<1x4xi1>)
nn.state @length : tensor<1xi32> [#nn.member<"length" at 0 : tensor<1xi32>>] {role = "length"}
func.func @others(%length: tensor<1xi32> {nn.state = @length}, %k: tensor<1x2x4x8xf32>, %v: tensor<1x2x4x8xf32>, %q: tensor<1x2x1x8xf32>) -> (tensor<1x2x1x8xf32>, tensor<1x2x1x8xf32>, tensor<1xi32> {nn.state = @length}) {
  %own = nn.reshape %length {shape = array<i64: 1, 1>} : (tensor<1xi32>) -> tensor<1x1xi32>
  %places = nn.constant dense<[[0, 1, 2, 3]]> : tensor<1x4xi32>
  %before = nn.less %places, %own : (tensor<1x4xi32>, tensor<1x1xi32>) -> tensor<1x4xi1>
  %a = nn.attention %q, %k, %v, %before {scale = 0.5 : f32, unguarded} : (tensor<1x2x1x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x4xi1>) -> tensor<1x2x1x8xf32>
  %later = nn.greater_equal %places, %own : (tensor<1x4xi32>, tensor<1x1xi32>) -> tensor<1x4xi1>
  %b = nn.attention %q, %k, %v, %later {scale = 0.5 : f32, unguarded} : (tensor<1x2x1x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x4xi1>) -> tensor<1x2x1x8xf32>
  return %a, %b, %length : tensor<1x2x1x8xf32>, tensor<1x2x1x8xf32>, tensor<1xi32>
}

// -----

// The position of a call's only token is a number.
// CHECK-LABEL: func.func @number
// CHECK:         nn.attention {{.*}} tensor<1x1x1x2xi32>)
nn.state @length : tensor<1xi32> [#nn.member<"length" at 0 : tensor<1xi32>>] {role = "length"}
func.func @number(%length: tensor<1xi32> {nn.state = @length}, %k: tensor<1x2x4x8xf32>, %v: tensor<1x2x4x8xf32>, %q: tensor<1x2x1x8xf32>) -> (tensor<1x2x1x8xf32>, tensor<1xi32> {nn.state = @length}) {
  %own = nn.reshape %length {shape = array<i64>} : (tensor<1xi32>) -> tensor<i32>
  %places = nn.constant dense<[0, 1, 2, 3]> : tensor<4xi32>
  %seen = nn.less_equal %places, %own : (tensor<4xi32>, tensor<i32>) -> tensor<4xi1>
  %mask = nn.reshape %seen {shape = array<i64: 1, 4>} : (tensor<4xi1>) -> tensor<1x4xi1>
  %y = nn.attention %q, %k, %v, %mask {scale = 0.5 : f32, unguarded} : (tensor<1x2x1x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x4xi1>) -> tensor<1x2x1x8xf32>
  return %y, %length : tensor<1x2x1x8xf32>, tensor<1xi32>
}
