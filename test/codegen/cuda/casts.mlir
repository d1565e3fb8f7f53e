// RUN: frit-opt %s --print-cuda -o /dev/null | FileCheck %s

// A cast in the model rounds where it is computed. A storage cast, which the
// compiler adds, rounds only what is stored to memory: readers in the same
// kernel use the unrounded value.
func.func @casts(%x: tensor<1024xf32>) {
  %0 = nn.fusion(%x) : (tensor<1024xf32>) -> tensor<1024xf32> {
  ^bb0(%a: tensor<1024xf32>):
    %1 = nn.cast %a {to = bf16} : (tensor<1024xf32>) -> tensor<1024xbf16>
    %2 = nn.cast %1 {to = f32} : (tensor<1024xbf16>) -> tensor<1024xf32>
    %3 = nn.neg %2 : (tensor<1024xf32>) -> tensor<1024xf32>
    nn.yield %3 : tensor<1024xf32>
  }
  %1:2 = nn.fusion(%x) : (tensor<1024xf32>) -> (tensor<1024xf16>, tensor<1024xf32>) {
  ^bb0(%a: tensor<1024xf32>):
    %1 = nn.cast %a {storage, to = f16} : (tensor<1024xf32>) -> tensor<1024xf16>
    %2 = nn.cast %1 {to = f32} : (tensor<1024xf16>) -> tensor<1024xf32>
    %3 = nn.neg %2 : (tensor<1024xf32>) -> tensor<1024xf32>
    nn.yield %1, %3 : tensor<1024xf16>, tensor<1024xf32>
  }
  return
}

// CHECK-LABEL: struct k0_body {
// CHECK: = -frit::roundTo<frit::bf16>({{.*}});
// CHECK-LABEL: struct k1_body {
// CHECK-NOT: roundTo
// CHECK: out1[v] = -a0[v];
// CHECK-NOT: roundTo
