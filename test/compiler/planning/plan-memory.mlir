// RUN: frit-opt %s --plan-memory | FileCheck %s

// Steps 0..3 keep a chain of buffers; each is free once its reader has run, and
// the bound is reached.

// CHECK: plan.list @main
// CHECK-SAME: arena_bytes = 768
// CHECK-SAME: lower_bound = 768
// CHECK: plan.buffer arena at [[A:[0-9]+]] : memref<128xf32>
// CHECK: plan.buffer arena at [[B:[0-9]+]] : memref<64xf32>
// CHECK: plan.buffer arena at [[A]] : memref<128xf32>
plan.program @chain "sm_90a" {
  plan.list @main {
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
