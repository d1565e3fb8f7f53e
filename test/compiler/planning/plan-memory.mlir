// RUN: frit-opt %s --plan-memory | FileCheck %s

// Steps 0..3 keep a chain of buffers; each is free once its reader has run, and
// the bound is reached.

// CHECK: plan.command_list @main
// CHECK-SAME: arena_bytes = 768
// CHECK-SAME: lower_bound = 768
// CHECK: plan.buffer arena at [[A:[0-9]+]] : memref<128xf32>
// CHECK: plan.buffer arena at [[B:[0-9]+]] : memref<64xf32>
// CHECK: plan.buffer arena at [[A]] : memref<128xf32>
plan.target "sm_90a" {
  plan.command_list @main of "main" {
    %x = plan.buffer input[0] : memref<128xf32>
    %a = plan.buffer arena : memref<128xf32>
    %b = plan.buffer arena : memref<64xf32>
    %c = plan.buffer arena : memref<128xf32>
    %y = plan.buffer output[0] : memref<128xf32>
    %half = plan.view %a : memref<128xf32> to memref<64xf32>
    plan.copy %x to %a : memref<128xf32> to memref<128xf32>
    plan.copy %half to %b : memref<64xf32> to memref<64xf32>
    %back = plan.view %c : memref<128xf32> to memref<64xf32>
    plan.copy %b to %back : memref<64xf32> to memref<64xf32>
    plan.copy %c to %y : memref<128xf32> to memref<128xf32>
  }
}

// A launch whose kernel needs a workspace gets a buffer that is live during the
// launch, also inside a guard; an existing one stays.

// CHECK: plan.target
// CHECK: plan.command_list @main
// CHECK-SAME: arena_bytes = 1024
// CHECK: %[[A:.*]] = plan.buffer arena at {{[0-9]+}} : memref<768xi8>
// CHECK: plan.launch @relu_0(%{{.*}}) -> (%{{.*}}) workspace(%[[A]] : memref<768xi8>)
// CHECK: %[[B:.*]] = plan.buffer arena at 0 : memref<768xi8>
// CHECK: plan.guard
// CHECK: plan.launch @relu_0(%{{.*}}) -> (%{{.*}}) workspace(%[[B]] : memref<768xi8>)
plan.target "x86-64" {
  plan.kernel @relu_0 attributes {workspace_bytes = 256 : i64, workspaces = 3 : i64} {
  ^bb0(%x: tensor<64xf32>):
    %y = nn.fusion(%x) : (tensor<64xf32>) -> tensor<64xf32> {
    ^bb0(%a: tensor<64xf32>):
      %0 = nn.relu %a : (tensor<64xf32>) -> tensor<64xf32>
      nn.yield %0 : tensor<64xf32>
    }
  }
  plan.command_list @main of "main" {
    %x = plan.buffer input[0] : memref<64xf32>
    %if = plan.buffer input[1] : memref<i1>
    %t = plan.buffer arena : memref<64xf32>
    %y = plan.buffer output[0] : memref<64xf32>
    plan.launch @relu_0(%x) -> (%t) : memref<64xf32> -> memref<64xf32>
    plan.copy %t to %y : memref<64xf32> to memref<64xf32>
    plan.guard %if is true : memref<i1> {
      plan.launch @relu_0(%x) -> (%y) : memref<64xf32> -> memref<64xf32>
    }
  }
}
