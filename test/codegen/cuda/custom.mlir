// RUN: frit-opt %s --build-plan --emit-kernels | FileCheck %s

// A user's kernel is launched as its node says, after all kernels before it,
// from a module of its own. The workspace is its last pointer.

#rows = #nn.custom<name = "com.example::Rows", types = ["T", "T"],
                   variables = {T = [f32, f16]},
                   device = <name = "rows_kernel", path = "rows.cu", text = "// the file">>

// CHECK: plan.kernel @rows_0 attributes {block = array<i64: 32, 1, 1>, grid = array<i64: 4, 1, 1>, module = 0 : i64,
// CHECK-SAME: scalars = array<i64: 8, 1069547520>, shared_bytes = 16 : i64,
// CHECK-SAME: source = #plan.source<header = "", {{.*}}preludes = ["#include \22frit/parameters.cuh\22\0A", "#define FRIT_T __half\0A#line 1 \22rows.cu\22\0A// the file\0A#undef FRIT_T\0A#line 1 \22rows.cu, as com.example::Rows calls it\22\0Astatic_assert({{.*}}(const __half *, __half *, frit::user::Workspace, frit::user::Number, frit::user::Number)>::check(rows_kernel)) > 0, \22\22);\0A"], folders = ["."]>,
// CHECK-SAME: symbol = "rows_kernel"}
// CHECK-NOT: waits
// CHECK: nn.fusion{{.*}} schedule(#cuda.custom)
func.func @main(%x: tensor<4x8xf16> {nn.name = "x"}) -> (tensor<4x8xf16> {nn.name = "y"}) {
  %0:2 = nn.fusion(%x) schedule(#cuda.custom) : (tensor<4x8xf16>) -> (tensor<4x8xf16>, tensor<64xi8>) {
  ^bb0(%a: tensor<4x8xf16>):
    %y:2 = nn.custom %a {custom = #rows, constants = [8 : i32, 1.5 : f32], grid = array<i64: 4, 1, 1>, block = array<i64: 32, 1, 1>, shared_bytes = 16 : i64, workspace} : (tensor<4x8xf16>) -> (tensor<4x8xf16>, tensor<64xi8>)
    nn.yield %y#0, %y#1 : tensor<4x8xf16>, tensor<64xi8>
  }
  return %0#0 : tensor<4x8xf16>
}
