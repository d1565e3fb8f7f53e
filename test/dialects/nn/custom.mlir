// RUN: frit-opt %s | frit-opt | FileCheck %s
// RUN: frit-opt %s --lower-nn | FileCheck %s --check-prefix=LOOPS

#cap = #nn.custom<name = "com.example::Cap", types = ["T", "T"],
                  variables = {T = [f32, f16]},
                  device = <name = "cap", path = "cap.cu", text = "__device__ ...">>
#rows = #nn.custom<name = "com.example::Rows", types = [f32, i32], variables = {},
                   host = <name = "rows", path = "rows.c", text = "void ...">>

// A file's text stands once, at the top.
// CHECK: #cap_function = #nn.user_function<name = "cap", path = "cap.cu"
// CHECK: #cap = #nn.custom<{{.*}}device = {{.*}}
// CHECK-LABEL: @elementwise
// CHECK: nn.custom_elementwise %{{.*}} {constants = [2.0{{.*}} : f32], custom = #cap}

// LOOPS-LABEL: @elementwise
// LOOPS: %[[W:.*]] = arith.extf %{{.*}} : f16 to f32
// LOOPS: %[[C:.*]] = arith.constant 2.0{{.*}} : f32
// LOOPS: %[[Y:.*]] = nn.scalar_call %[[W]], %[[C]] {custom = #cap} : (f32, f32) -> f32
// LOOPS: arith.truncf %[[Y]] : f32 to f16
func.func @elementwise(%x: tensor<4x8xf16>) -> tensor<4x8xf16> {
  %y = nn.custom_elementwise %x {custom = #cap, constants = [2.0 : f32]} : (tensor<4x8xf16>) -> tensor<4x8xf16>
  return %y : tensor<4x8xf16>
}
