// RUN: frit-opt %s --split-input-file --fusion --schedule --build-plan | FileCheck %s

// Without kernels that write in place, next values are copied after all readers.
// CHECK-LABEL: plan.command_list @main
// CHECK:         %[[A:.*]] = plan.buffer{{ +}}state "a"
// CHECK:         %[[B:.*]] = plan.buffer{{ +}}state "b"
// CHECK:         plan.launch @{{.*}}(%[[A]], %{{.*}}, %[[B]]) -> (%[[S:.*]], %[[T:.*]]) :
// CHECK-NEXT:    plan.copy %[[S]] to %[[A]]
// CHECK-NEXT:    plan.copy %[[T]] to %[[B]]
nn.state @a : tensor<64xf32> []
nn.state @b : tensor<64xf32> []
func.func @main(%x: tensor<64xf32>, %a: tensor<64xf32> {nn.state = @a}, %b: tensor<64xf32> {nn.state = @b}) -> (tensor<64xf32> {nn.state = @a}, tensor<64xf32> {nn.state = @b}) {
  %s = nn.add %a, %x : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %t = nn.add %b, %s : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %u = nn.update %a, %s : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %v = nn.update %b, %t : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %u, %v : tensor<64xf32>, tensor<64xf32>
}

// -----

// Two states that exchange their values need one copy more.
// CHECK-LABEL: plan.command_list @main
// CHECK:         %[[A:.*]] = plan.buffer{{ +}}state "a"
// CHECK:         %[[B:.*]] = plan.buffer{{ +}}state "b"
// CHECK:         %[[KEPT:.*]] = plan.buffer{{ +}}arena
// CHECK-NEXT:    plan.copy %[[B]] to %[[KEPT]]
// CHECK-NEXT:    plan.copy %[[A]] to %[[B]]
// CHECK-NEXT:    plan.copy %[[KEPT]] to %[[A]]
nn.state @a : tensor<64xf32> []
nn.state @b : tensor<64xf32> []
func.func @main(%a: tensor<64xf32> {nn.state = @a}, %b: tensor<64xf32> {nn.state = @b}) -> (tensor<64xf32> {nn.state = @a}, tensor<64xf32> {nn.state = @b}) {
  %u = nn.update %a, %b : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %v = nn.update %b, %a : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %u, %v : tensor<64xf32>, tensor<64xf32>
}

// -----

// One state takes the value that the other had before.
// CHECK-LABEL: plan.command_list @main
// CHECK:         %[[A:.*]] = plan.buffer{{ +}}state "a"
// CHECK:         %[[B:.*]] = plan.buffer{{ +}}state "b"
// CHECK:         plan.launch @neg{{.*}}(%[[B]]) -> (%[[N:.*]]) :
// CHECK-NEXT:    plan.copy %[[B]] to %[[A]]
// CHECK-NEXT:    plan.copy %[[N]] to %[[B]]
nn.state @a : tensor<64xf32> []
nn.state @b : tensor<64xf32> []
func.func @main(%a: tensor<64xf32> {nn.state = @a}, %b: tensor<64xf32> {nn.state = @b}) -> (tensor<64xf32> {nn.state = @a}, tensor<64xf32> {nn.state = @b}) {
  %u = nn.update %a, %b : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %n = nn.neg %b : (tensor<64xf32>) -> tensor<64xf32>
  %v = nn.update %b, %n : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %u, %v : tensor<64xf32>, tensor<64xf32>
}

// -----

// An output is the value before the call, although the state's result comes
// first.
// CHECK-LABEL: plan.command_list @main
// CHECK:         %[[A:.*]] = plan.buffer{{ +}}state "a"
// CHECK:         %[[OUT:.*]] = plan.buffer{{ +}}output[0]
// CHECK:         plan.launch @neg{{.*}}(%[[A]]) -> (%[[N:.*]]) :
// CHECK-NEXT:    plan.copy %[[A]] to %[[OUT]]
// CHECK-NEXT:    plan.copy %[[N]] to %[[A]]
nn.state @a : tensor<64xf32> []
func.func @main(%a: tensor<64xf32> {nn.state = @a}) -> (tensor<64xf32> {nn.state = @a}, tensor<64xf32>) {
  %n = nn.neg %a : (tensor<64xf32>) -> tensor<64xf32>
  %u = nn.update %a, %n : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %u, %a : tensor<64xf32>, tensor<64xf32>
}

// -----

// A cycle of three needs one copy more, too.
// CHECK-LABEL: plan.command_list @main
// CHECK:         %[[A:.*]] = plan.buffer{{ +}}state "a"
// CHECK:         %[[B:.*]] = plan.buffer{{ +}}state "b"
// CHECK:         %[[C:.*]] = plan.buffer{{ +}}state "c"
// CHECK:         plan.copy %[[B]] to %[[KEPT:.*]] :
// CHECK-NEXT:    plan.copy %[[C]] to %[[B]]
// CHECK-NEXT:    plan.copy %[[A]] to %[[C]]
// CHECK-NEXT:    plan.copy %[[KEPT]] to %[[A]]
nn.state @a : tensor<64xf32> []
nn.state @b : tensor<64xf32> []
nn.state @c : tensor<64xf32> []
func.func @main(%a: tensor<64xf32> {nn.state = @a}, %b: tensor<64xf32> {nn.state = @b}, %c: tensor<64xf32> {nn.state = @c}) -> (tensor<64xf32> {nn.state = @a}, tensor<64xf32> {nn.state = @b}, tensor<64xf32> {nn.state = @c}) {
  %u = nn.update %a, %b : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %v = nn.update %b, %c : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %w = nn.update %c, %a : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %u, %v, %w : tensor<64xf32>, tensor<64xf32>, tensor<64xf32>
}
