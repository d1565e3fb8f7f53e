// RUN: frit-opt %s -split-input-file --add-sampler=sampler=ddim:steps=2 | FileCheck %s
// RUN: frit-opt %s -split-input-file --add-sampler=sampler=flow:steps=2,guidance=3 | FileCheck %s --check-prefix=GUIDED
// RUN: frit-opt %s -split-input-file --add-sampler=sampler=ddim:steps=2 --repeat-steps | FileCheck %s --check-prefix=STEPS
// RUN: not frit-opt %s --add-sampler=sampler=lms:steps=2 2>&1 | FileCheck %s --check-prefix=ERROR
// ERROR: error: --sampler: 'lms' is no sampler; there are ddim, flow, euler and dpm

// A step multiplies the sample and what the model says by numbers of the step.
// CHECK: func.func @main(%[[X:.*]]: tensor<2x4xf32> {nn.carried = 0 : i64, nn.name = "sample"}, %[[C:.*]]: tensor<2x4xf16> {nn.name = "condition"}, %[[T:.*]]: tensor<i64> {nn.steps = [dense<501> : tensor<i64>, dense<1> : tensor<i64>]}, %[[KEEP:.*]]: tensor<f32> {nn.steps = [dense<{{.*}}> : tensor<f32>, dense<{{.*}}> : tensor<f32>]}, %[[ADD:.*]]: tensor<f32> {nn.steps =
// CHECK-SAME: -> (tensor<2x4xf32> {nn.name = "said"})
// CHECK: %[[HALF:.*]] = nn.cast %[[X]] {storage, to = f16}
// CHECK: nn.expand
// CHECK: %[[SAID:.*]] = nn.mul
// CHECK: %[[WIDE:.*]] = nn.cast %[[SAID]] {to = f32}
// CHECK: %[[KEPT:.*]] = nn.mul %[[X]], %[[KEEP]]
// CHECK: %[[ADDED:.*]] = nn.mul %[[WIDE]], %[[ADD]]
// CHECK: %[[Y:.*]] = nn.add %[[KEPT]], %[[ADDED]]
// CHECK: return %[[Y]]

// GUIDED: func.func @main(%[[X:.*]]: tensor<1x4xf32> {nn.carried
// GUIDED: nn.concat
// GUIDED: nn.slice
// GUIDED: nn.slice
// GUIDED: nn.sub
// GUIDED: nn.add

// What does not depend on the step runs once.
// STEPS: func.func @main(%[[X:.*]]: tensor<2x4xf32> {nn.name = "sample"}, %[[C:.*]]: tensor<2x4xf16> {nn.name = "condition"})
// STEPS: %[[ONCE:.*]] = nn.neg %[[C]]
// STEPS: %[[T0:.*]] = nn.constant dense<501>
// STEPS: nn.add %{{.*}}, %[[ONCE]]
// STEPS: %[[X1:.*]] = nn.add
// STEPS: nn.constant dense<1>
// STEPS: nn.cast %[[X1]]
// STEPS: nn.add %{{.*}}, %[[ONCE]]
// STEPS: %[[X2:.*]] = nn.add
// STEPS-NOT: nn.neg
// STEPS: return %[[X2]]
func.func @main(%x: tensor<2x4xf16> {nn.name = "sample"}, %t: tensor<1xi64> {nn.name = "timestep"}, %c: tensor<2x4xf16> {nn.name = "condition"})
    -> (tensor<2x4xf16> {nn.name = "said"}) {
  %0 = nn.neg %c : (tensor<2x4xf16>) -> tensor<2x4xf16>
  %1 = nn.add %x, %0 : (tensor<2x4xf16>, tensor<2x4xf16>) -> tensor<2x4xf16>
  %2 = nn.cast %t {to = f16} : (tensor<1xi64>) -> tensor<1xf16>
  %3 = nn.mul %1, %2 : (tensor<2x4xf16>, tensor<1xf16>) -> tensor<2x4xf16>
  return %3 : tensor<2x4xf16>
}
