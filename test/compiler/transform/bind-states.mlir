// RUN: frit-opt %s -split-input-file --bind-states=states=past:present | FileCheck %s
// RUN: not frit-opt %s -split-input-file --bind-states=states=past:y 2>&1 | FileCheck %s --check-prefix=ERROR

// The state has the type that the model computes with, and states come last.
// CHECK: nn.state @past : tensor<4x8xf16> [#nn.member<"past" at 0 : tensor<4x8xf16>>] {role = "cache"}
// CHECK: func.func @main(%[[X:.*]]: tensor<4x1xf16> {nn.name = "x"}, %[[AT:.*]]: tensor<4xi64> {nn.name = "at"}, %[[S:.*]]: tensor<4x8xf16> {nn.state = @past})
// CHECK-SAME: -> (tensor<4x1xf16> {nn.name = "y"}, tensor<4x8xf16> {nn.state = @past})
// CHECK-NOT: nn.cast
// CHECK: %[[U:.*]] = nn.update %[[S]], %[[X]], %[[AT]]
// CHECK-NOT: nn.cast
// CHECK: return %{{.*}}, %[[U]]
// ERROR: error: 'past' is 'tensor<4x8xf32>', but 'y' is 'tensor<4x1xf16>', so it cannot be its next value
func.func @main(%past: tensor<4x8xf32> {nn.name = "past"}, %x: tensor<4x1xf16> {nn.name = "x"}, %at: tensor<4xi64> {nn.name = "at"})
    -> (tensor<4x8xf32> {nn.name = "present"}, tensor<4x1xf16> {nn.name = "y"}) {
  %0 = nn.cast %past {to = f16} : (tensor<4x8xf32>) -> tensor<4x8xf16>
  %1 = nn.update %0, %x, %at {axis = 1 : i64} : (tensor<4x8xf16>, tensor<4x1xf16>, tensor<4xi64>) -> tensor<4x8xf16>
  %2 = nn.cast %1 {to = f32} : (tensor<4x8xf16>) -> tensor<4x8xf32>
  %3 = nn.neg %x : (tensor<4x1xf16>) -> tensor<4x1xf16>
  return %2, %3 : tensor<4x8xf32>, tensor<4x1xf16>
}
