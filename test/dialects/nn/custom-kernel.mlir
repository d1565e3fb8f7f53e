// RUN: frit-opt %s | frit-opt | FileCheck %s
// RUN: frit-opt %s --fusion | FileCheck %s --check-prefix=FUSION

#rows = #nn.custom<name = "com.example::Rows", types = [f32, f32, i32], variables = {},
                   host = <name = "rows", path = "rows.c", text = "void ...">>

// CHECK-LABEL: @kernel
// CHECK: nn.custom %{{.*}}, %{{.*}} {block = array<i64: 32, 1, 1>, constants = [8], custom = #rows, grid = array<i64: 4, 1, 1>, shared_bytes = 0 : i64, workspace}

// An operand that is used twice is two parameters; a workspace is a result.
// FUSION-LABEL: @kernel
// FUSION: nn.fusion(%[[X:.*]], %[[X]]) {{.*}} -> (tensor<4xi32>, tensor<64xi8>)
func.func @kernel(%x: tensor<4x8xf32>) -> tensor<4xi32> {
  %y:2 = nn.custom %x, %x {custom = #rows, constants = [8 : i64], grid = array<i64: 4, 1, 1>, block = array<i64: 32, 1, 1>, shared_bytes = 0 : i64, workspace} : (tensor<4x8xf32>, tensor<4x8xf32>) -> (tensor<4xi32>, tensor<64xi8>)
  return %y#0 : tensor<4xi32>
}
