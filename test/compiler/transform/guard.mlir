// RUN: frit-opt %s -split-input-file --guard | FileCheck %s
// RUN: frit-opt %s -split-input-file --guard --fusion --schedule --build-plan --plan-memory -o /dev/null
// RUN: frit-opt %s -split-input-file --guard --remark-format=emitRemark --remarks-filter=guard -o /dev/null 2>&1 | FileCheck %s --check-prefix=REMARK

// Each branch runs only for its value of the condition. The constant and the
// broadcast move into the guard; values that both branches read are computed
// outside.

// REMARK: Guarded{{.*}}2 operators only where an input is true
// REMARK: Guarded{{.*}}5 operators only where an input is false

// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[c:.*]]: tensor<1xi1>, %[[x:.*]]: tensor<4x8xf32>, %[[v:.*]]: tensor<8x8xf32>
// CHECK: %[[both:.*]] = nn.relu %[[x]]
// CHECK: %[[a:.*]] = nn.guard %[[c]] is true(%[[both]], %[[v]]) : tensor<1xi1>, (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32> {
// CHECK-NEXT: ^bb0(%[[p:.*]]: tensor<4x8xf32>, %[[q:.*]]: tensor<8x8xf32>):
// CHECK-NEXT: %[[m:.*]] = nn.matmul %[[p]], %[[q]]
// CHECK-NEXT: %[[s:.*]] = nn.constant dense<2.000000e+00>
// CHECK-NEXT: %[[e:.*]] = nn.expand %[[s]]
// CHECK-NEXT: %[[t:.*]] = nn.mul %[[m]], %[[e]]
// CHECK-NEXT: nn.yield %[[t]]
// CHECK: %[[b:.*]] = nn.guard %[[c]] is false(%[[both]]) {{.*}} {
// CHECK: nn.matmul {{.*}} {transpose_b}
// CHECK: nn.where %{{.*}}, %[[a]], %{{.*}}
func.func @main(%c: tensor<1xi1>, %x: tensor<4x8xf32>, %v: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %s = nn.constant dense<2.0> : tensor<f32>
  %e = nn.expand %s {shape = array<i64: 4, 8>} : (tensor<f32>) -> tensor<4x8xf32>
  %w = nn.constant "w" dense<1.0> : tensor<4x8xf32>
  %both = nn.relu %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %m = nn.matmul %both, %v : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %a = nn.mul %m, %e : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %n = nn.matmul %both, %both {transpose_b} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x4xf32>
  %o = nn.expand %n {shape = array<i64: 4, 4>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %d = nn.concat %o, %o {axis = 1 : si64} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x8xf32>
  %b = nn.add %d, %e : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %k = nn.reshape %c {shape = array<i64>} : (tensor<1xi1>) -> tensor<i1>
  %y = nn.where %k, %a, %b : (tensor<i1>, tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// A select by the same condition inside its own branch is resolved, so there is
// one guard for both products, and none without a product. The negated
// condition guards the other side.

// CHECK-LABEL: func.func @main
// CHECK: %[[r:.*]] = nn.relu
// CHECK: %[[b:.*]] = nn.guard %{{.*}} is false
// CHECK-NEXT: ^bb0
// CHECK-NEXT: nn.matmul
// CHECK-NEXT: nn.matmul
// CHECK-NEXT: nn.yield
// CHECK-NEXT: }
// CHECK-NEXT: nn.where %{{.*}}, %[[b]], %[[r]]
// CHECK-NEXT: return
func.func @main(%c: tensor<i1>, %x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %n = nn.not %c : (tensor<i1>) -> tensor<i1>
  %a = nn.matmul %x, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %r = nn.relu %x : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %y = nn.where %n, %a, %r : (tensor<i1>, tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %b = nn.matmul %y, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %z = nn.where %n, %b, %y : (tensor<i1>, tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %z : tensor<8x8xf32>
}

// -----

// Guards nest.

// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[c:.*]]: tensor<i1>, %[[d:.*]]: tensor<i1>
// CHECK: nn.guard %[[c]] is true
// CHECK-NEXT: ^bb0(%{{.*}}: tensor<8x8xf32>, %[[e:.*]]: tensor<i1>):
// CHECK-NEXT: nn.guard %[[e]] is true
// CHECK-NEXT: ^bb0
// CHECK-NEXT: nn.matmul
// CHECK-NEXT: nn.yield
// CHECK-NEXT: }
// CHECK-NEXT: nn.guard %[[e]] is false
func.func @main(%c: tensor<i1>, %d: tensor<i1>, %x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %a = nn.matmul %x, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %b = nn.matmul %x, %x {transpose_b} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %y = nn.where %d, %a, %b : (tensor<i1>, tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %z = nn.where %c, %y, %x : (tensor<i1>, tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %z : tensor<8x8xf32>
}

// -----

// A loop step computes the condition of the next, if it runs itself.

// CHECK-LABEL: func.func @main
// CHECK-SAME: (%[[c:.*]]: tensor<i1>
// CHECK: %[[one:.*]]:2 = nn.guard %[[c]] is true
// CHECK: nn.reduce
// CHECK: %[[d:.*]] = nn.and %[[one]]#{{[01]}}, %[[c]]
// CHECK: nn.guard %[[d]] is true
// CHECK: nn.matmul
func.func @main(%c: tensor<i1>, %x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %zero = nn.constant dense<0.0> : tensor<f32>
  %a = nn.matmul %x, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %s = nn.reduce %a {kind = #nn<combiner sum>, axes = array<i64: 0, 1>} : (tensor<8x8xf32>) -> tensor<1x1xf32>
  %t = nn.reshape %s {shape = array<i64>} : (tensor<1x1xf32>) -> tensor<f32>
  %g = nn.less %t, %zero : (tensor<f32>, tensor<f32>) -> tensor<i1>
  %x1 = nn.where %c, %a, %x : (tensor<i1>, tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %d = nn.and %g, %c : (tensor<i1>, tensor<i1>) -> tensor<i1>
  %b = nn.matmul %x1, %x1 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %x2 = nn.where %d, %b, %x1 : (tensor<i1>, tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %x2 : tensor<8x8xf32>
}

// -----

// A result with other readers is always computed, and a tensor of truth values
// is not a branch.

// CHECK-LABEL: func.func @main
// CHECK-NOT: nn.guard
func.func @main(%c: tensor<i1>, %m: tensor<8x8xi1>, %x: tensor<8x8xf32>) -> (tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %a = nn.matmul %x, %x : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %y = nn.where %c, %a, %x : (tensor<i1>, tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %b = nn.matmul %x, %x {transpose_b} : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %z = nn.where %m, %b, %x : (tensor<8x8xi1>, tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %a, %y, %z : tensor<8x8xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}
