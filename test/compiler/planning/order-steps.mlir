// RUN: frit-opt %s -split-input-file --order-steps --check-edges | FileCheck %s
// RUN: frit-opt %s -split-input-file --check-edges --plan-memory | FileCheck %s --check-prefix=CHAIN

// Steps run beside a collective until one awaits it. The second collective also
// follows the first. The guard follows the step before it, and what comes after
// it the guard (4), not the step in it.

// CHECK-LABEL: command_list @main
// CHECK: plan.copy %{{[^ ]*}} to %[[a:[^ ]*]] :
// CHECK-NEXT: plan.collective mean %[[a]] :
// CHECK-NEXT: plan.copy %{{[^ ]*}} to %[[b:[^ ]*]] {follows = array<i64: 0>} :
// CHECK-NEXT: plan.collective reduce_scatter %[[b]] {follows = array<i64: 1, 2>} :
// CHECK-NEXT: plan.guard %{{.*}} is true attributes {follows = array<i64: 2>} :
// CHECK-NEXT: plan.copy {{[^{]*$}}
// CHECK: plan.await %[[a]] {follows = array<i64: 1, 4>} :
// CHECK-NEXT: plan.copy %[[a]] to %{{[^{]*$}}
// CHECK-NEXT: plan.await %[[b]] {follows = array<i64: 3, 7>} :
// CHECK-NEXT: plan.copy %[[b]] to %{{[^{]*$}}

// Without the pass each step follows the one before it, collectives too.
// CHAIN-LABEL: command_list @main
// CHAIN-NOT: follows
plan.target "sm_90a" {
  plan.command_list @main of "main" {
    %x = plan.buffer input[0] : memref<4096xf32>
    %go = plan.buffer input[1] : memref<i1>
    %y = plan.buffer output[0] : memref<4096xf32>
    %z = plan.buffer output[1] : memref<4096xf32>
    %w = plan.buffer output[2] : memref<4096xf32>
    %a = plan.buffer arena : memref<4096xf32>
    %b = plan.buffer arena : memref<4096xf32>
    plan.copy %x to %a : memref<4096xf32> to memref<4096xf32>
    plan.collective mean %a : memref<4096xf32>
    plan.copy %x to %b : memref<4096xf32> to memref<4096xf32>
    plan.collective reduce_scatter %b : memref<4096xf32>
    plan.guard %go is true : memref<i1> {
      plan.copy %x to %w : memref<4096xf32> to memref<4096xf32>
    }
    plan.await %a : memref<4096xf32>
    plan.copy %a to %y : memref<4096xf32> to memref<4096xf32>
    plan.await %b : memref<4096xf32>
    plan.copy %b to %z : memref<4096xf32> to memref<4096xf32>
  }
}

// -----

// A collective that is never awaited runs until the end: %b gets other memory,
// though its steps come later. Until a step follows the collective, no other
// may use %a's.

// CHECK-LABEL: command_list @main
// CHAIN-LABEL: command_list @main
// CHAIN-SAME: arena_bytes = 32768
plan.target "sm_90a" {
  plan.command_list @main of "main" {
    %x = plan.buffer input[0] : memref<4096xf32>
    %y = plan.buffer output[0] : memref<4096xf32>
    %a = plan.buffer arena : memref<4096xf32>
    %b = plan.buffer arena : memref<4096xf32>
    plan.copy %x to %a : memref<4096xf32> to memref<4096xf32>
    plan.collective mean %a : memref<4096xf32>
    plan.copy %x to %b {follows = array<i64: 0>} : memref<4096xf32> to memref<4096xf32>
    plan.copy %b to %y : memref<4096xf32> to memref<4096xf32>
  }
}

// -----

// A list with edges of its own stays as it is.

// CHECK-LABEL: command_list @main
// CHECK: plan.collective
// CHECK-NEXT: plan.copy {{[^{]*$}}
// CHECK-NEXT: plan.copy {{.*}} {follows = array<i64: 0>} :
// CHAIN-LABEL: command_list @main
plan.target "sm_90a" {
  plan.command_list @main of "main" {
    %x = plan.buffer input[0] : memref<4096xf32>
    %y = plan.buffer output[0] : memref<4096xf32>
    %z = plan.buffer output[1] : memref<4096xf32>
    %a = plan.buffer arena : memref<4096xf32>
    plan.copy %x to %a : memref<4096xf32> to memref<4096xf32>
    plan.collective mean %a : memref<4096xf32>
    plan.copy %x to %y : memref<4096xf32> to memref<4096xf32>
    plan.copy %x to %z {follows = array<i64: 0>} : memref<4096xf32> to memref<4096xf32>
  }
}
