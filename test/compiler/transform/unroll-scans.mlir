// RUN: frit-opt %s --unroll-scans | FileCheck %s

// The block is copied for each row, and rows are joined.
// CHECK-LABEL: func.func @all
// CHECK-NOT:     nn.scan
// CHECK:         %[[ROW0:.*]] = nn.reshape {{.*}} -> tensor<4xf32>
// CHECK:         %[[H1:.*]] = nn.add %[[ROW0]], %arg1
// CHECK:         %[[ROW1:.*]] = nn.reshape {{.*}} -> tensor<4xf32>
// CHECK:         %[[H2:.*]] = nn.add %[[ROW1]], %[[H1]]
// CHECK:         nn.concat {{.*}} {axis = 0 : si64}
// CHECK:         return %{{.*}}, %[[H2]]
func.func @all(%x: tensor<2x4xf32>, %h: tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>) {
  %n = nn.constant dense<2> : tensor<i64>
  %ys, %last = nn.scan %x to %n from %h : tensor<2x4xf32>, tensor<i64>, (tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>) {
  ^bb0(%t: tensor<i64>, %row: tensor<4xf32>, %s: tensor<4xf32>):
    %next = nn.add %row, %s : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    nn.yield %next : tensor<4xf32>
  }
  return %ys, %last : tensor<2x4xf32>, tensor<4xf32>
}

// Rows from a count on leave the state as it is, and show zeros. Backwards they
// come first.
// CHECK-LABEL: func.func @some
// CHECK:         %[[ONE:.*]] = nn.constant dense<1> : tensor<i64>
// CHECK:         %[[NEXT:.*]] = nn.add
// CHECK:         %[[IN:.*]] = nn.less %[[ONE]], %arg2
// CHECK:         %[[H1:.*]] = nn.where %[[IN]], %[[NEXT]], %arg1
// CHECK:         nn.where %[[IN]], %[[NEXT]], %{{.*}}
// CHECK:         nn.constant dense<0> : tensor<i64>
// CHECK:         nn.add %{{.*}}, %[[H1]]
func.func @some(%x: tensor<2x4xf32>, %h: tensor<4xf32>, %n: tensor<i64>) -> (tensor<2x4xf32>, tensor<4xf32>) {
  %ys, %last = nn.scan %x to %n from %h {reversed} : tensor<2x4xf32>, tensor<i64>, (tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>) {
  ^bb0(%t: tensor<i64>, %row: tensor<4xf32>, %s: tensor<4xf32>):
    %next = nn.add %row, %s : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    nn.yield %next : tensor<4xf32>
  }
  return %ys, %last : tensor<2x4xf32>, tensor<4xf32>
}

// Nothing is copied for results that nothing reads.
// CHECK-LABEL: func.func @none
// CHECK-NEXT:    return
func.func @none(%x: tensor<2x4xf32>, %h: tensor<4xf32>, %n: tensor<i64>) {
  %ys, %last = nn.scan %x to %n from %h : tensor<2x4xf32>, tensor<i64>, (tensor<4xf32>) -> (tensor<2x4xf32>, tensor<4xf32>) {
  ^bb0(%t: tensor<i64>, %row: tensor<4xf32>, %s: tensor<4xf32>):
    nn.yield %s : tensor<4xf32>
  }
  return
}
