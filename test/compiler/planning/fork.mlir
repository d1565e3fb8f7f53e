// RUN: frit-opt %s -split-input-file --fork | FileCheck %s
// RUN: frit-opt %s -split-input-file --fork --check-edges --plan-memory | FileCheck %s --check-prefix=MEMORY

// On the test target these kernels take 3 µs and a quarter of the GPU. Two
// concurrent ones save 3 µs and cost one. The first branch follows the step
// before it, which is the default; the join follows the ends of both. Buffers
// of the branches are live at the same time: %a to %d do not overlap.

// CHECK-LABEL: plan.target
// CHECK: plan.launch @shrink({{.*}}) -> (%[[a:.*]]) : mem
// CHECK: plan.launch @relu(%[[a]]) -> (%[[b:.*]]) : mem
// CHECK: plan.launch @relu(%[[b]]) -> (%[[c:.*]]) : mem
// CHECK: plan.launch @relu(%[[a]]) -> (%[[d:.*]]) {follows = array<i64: 1>} : mem
// CHECK: plan.launch @add(%[[c]], %[[d]]) -> ({{.*}}) {follows = array<i64: 3, 4>} : mem
// MEMORY-LABEL: plan.target
// MEMORY: arena_bytes = 5120
// MEMORY-SAME: lower_bound = 5120
// MEMORY: %[[a:.*]] = plan.buffer arena at 4096 : memref<256xf32>
// MEMORY: arena at [[b:[0-9]+]] : memref<256xf32>
// MEMORY-NOT: arena at [[b]] :
plan.target "sm_90a" {
  plan.kernel @relu {
  ^bb0(%a: tensor<256xf32>):
    %0 = nn.fusion(%a) : (tensor<256xf32>) -> tensor<256xf32> {
    ^bb0(%b: tensor<256xf32>):
      %r = nn.relu %b : (tensor<256xf32>) -> tensor<256xf32>
      nn.yield %r : tensor<256xf32>
    }
  }
  plan.kernel @add {
  ^bb0(%a: tensor<256xf32>, %b: tensor<256xf32>):
    %0 = nn.fusion(%a, %b) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32> {
    ^bb0(%c: tensor<256xf32>, %d: tensor<256xf32>):
      %r = nn.add %c, %d : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
      nn.yield %r : tensor<256xf32>
    }
  }
  plan.kernel @grow {
  ^bb0(%a: tensor<256xf32>):
    %0 = nn.fusion(%a) : (tensor<256xf32>) -> tensor<4x256xf32> {
    ^bb0(%b: tensor<256xf32>):
      %r = nn.expand %b {shape = array<i64: 4, 256>} : (tensor<256xf32>) -> tensor<4x256xf32>
      nn.yield %r : tensor<4x256xf32>
    }
  }
  plan.kernel @shrink {
  ^bb0(%a: tensor<4x256xf32>):
    %0 = nn.fusion(%a) : (tensor<4x256xf32>) -> tensor<256xf32> {
    ^bb0(%b: tensor<4x256xf32>):
      %s = nn.slice %b {starts = array<i64: 0, 0>, sizes = array<i64: 1, 256>, steps = array<i64: 1, 1>} : (tensor<4x256xf32>) -> tensor<1x256xf32>
      %r = nn.reshape %s {shape = array<i64: 256>} : (tensor<1x256xf32>) -> tensor<256xf32>
      nn.yield %r : tensor<256xf32>
    }
  }
  plan.command_list @main of "main" {
    %x = plan.buffer input[0] : memref<256xf32>
    %y = plan.buffer output[0] : memref<256xf32>
    %big = plan.buffer arena : memref<4x256xf32>
    %a = plan.buffer arena : memref<256xf32>
    %b = plan.buffer arena : memref<256xf32>
    %c = plan.buffer arena : memref<256xf32>
    %d = plan.buffer arena : memref<256xf32>
    plan.launch @grow(%x) -> (%big) : memref<256xf32> -> memref<4x256xf32>
    plan.launch @shrink(%big) -> (%a) : memref<4x256xf32> -> memref<256xf32>
    plan.launch @relu(%a) -> (%b) : memref<256xf32> -> memref<256xf32>
    plan.launch @relu(%b) -> (%c) : memref<256xf32> -> memref<256xf32>
    plan.launch @relu(%a) -> (%d) : memref<256xf32> -> memref<256xf32>
    plan.launch @add(%c, %d) -> (%y) : memref<256xf32>, memref<256xf32> -> memref<256xf32>
  }
}

// -----

// Concurrently, the four would take 4096 bytes instead of 3072: too much growth
// of the arena.

// CHECK-LABEL: plan.target
// CHECK-NOT: follows
// MEMORY-LABEL: plan.target
// MEMORY: arena_bytes = 3072
plan.target "sm_90a" {
  plan.kernel @relu {
  ^bb0(%a: tensor<256xf32>):
    %0 = nn.fusion(%a) : (tensor<256xf32>) -> tensor<256xf32> {
    ^bb0(%b: tensor<256xf32>):
      %r = nn.relu %b : (tensor<256xf32>) -> tensor<256xf32>
      nn.yield %r : tensor<256xf32>
    }
  }
  plan.kernel @add {
  ^bb0(%a: tensor<256xf32>, %b: tensor<256xf32>):
    %0 = nn.fusion(%a, %b) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32> {
    ^bb0(%c: tensor<256xf32>, %d: tensor<256xf32>):
      %r = nn.add %c, %d : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
      nn.yield %r : tensor<256xf32>
    }
  }
  plan.command_list @main of "main" {
    %x = plan.buffer input[0] : memref<256xf32>
    %y = plan.buffer output[0] : memref<256xf32>
    %a = plan.buffer arena : memref<256xf32>
    %b = plan.buffer arena : memref<256xf32>
    %c = plan.buffer arena : memref<256xf32>
    %d = plan.buffer arena : memref<256xf32>
    plan.launch @relu(%x) -> (%a) : memref<256xf32> -> memref<256xf32>
    plan.launch @relu(%a) -> (%b) : memref<256xf32> -> memref<256xf32>
    plan.launch @relu(%b) -> (%c) : memref<256xf32> -> memref<256xf32>
    plan.launch @relu(%a) -> (%d) : memref<256xf32> -> memref<256xf32>
    plan.launch @add(%c, %d) -> (%y) : memref<256xf32>, memref<256xf32> -> memref<256xf32>
  }
}

// -----

// Two roots: the second follows nothing. There is no join at a list's end.

// CHECK-LABEL: plan.target
// CHECK: plan.launch @relu(%{{.*}}) -> (%{{.*}}) : mem
// CHECK: plan.launch @relu(%{{.*}}) -> (%{{.*}}) {follows = array<i64>} : mem
plan.target "sm_90a" {
  plan.kernel @relu {
  ^bb0(%a: tensor<256xf32>):
    %0 = nn.fusion(%a) : (tensor<256xf32>) -> tensor<256xf32> {
    ^bb0(%b: tensor<256xf32>):
      %r = nn.relu %b : (tensor<256xf32>) -> tensor<256xf32>
      nn.yield %r : tensor<256xf32>
    }
  }
  plan.kernel @add {
  ^bb0(%a: tensor<256xf32>, %b: tensor<256xf32>):
    %0 = nn.fusion(%a, %b) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32> {
    ^bb0(%c: tensor<256xf32>, %d: tensor<256xf32>):
      %r = nn.add %c, %d : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
      nn.yield %r : tensor<256xf32>
    }
  }
  plan.command_list @main of "main" {
    %x = plan.buffer input[0] : memref<256xf32>
    %y = plan.buffer output[0] : memref<256xf32>
    %z = plan.buffer output[1] : memref<256xf32>
    plan.launch @relu(%x) -> (%y) : memref<256xf32> -> memref<256xf32>
    plan.launch @relu(%x) -> (%z) : memref<256xf32> -> memref<256xf32>
  }
}

// -----

// Library calls and copies run alone: the steps before and after them are
// separate regions.

// CHECK-LABEL: plan.target
// CHECK: plan.launch @relu(%[[x:.*]]) -> (%[[a:.*]]) : mem
// CHECK: plan.copy
// CHECK: plan.launch @relu(%[[a]]) -> (%{{.*}}) : mem
// CHECK: plan.launch @relu(%[[a]]) -> (%{{.*}}) {follows = array<i64: 1>} : mem
plan.target "sm_90a" {
  plan.kernel @relu {
  ^bb0(%a: tensor<256xf32>):
    %0 = nn.fusion(%a) : (tensor<256xf32>) -> tensor<256xf32> {
    ^bb0(%b: tensor<256xf32>):
      %r = nn.relu %b : (tensor<256xf32>) -> tensor<256xf32>
      nn.yield %r : tensor<256xf32>
    }
  }
  plan.kernel @add {
  ^bb0(%a: tensor<256xf32>, %b: tensor<256xf32>):
    %0 = nn.fusion(%a, %b) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32> {
    ^bb0(%c: tensor<256xf32>, %d: tensor<256xf32>):
      %r = nn.add %c, %d : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
      nn.yield %r : tensor<256xf32>
    }
  }
  plan.command_list @main of "main" {
    %x = plan.buffer input[0] : memref<256xf32>
    %y = plan.buffer output[0] : memref<256xf32>
    %z = plan.buffer output[1] : memref<256xf32>
    %w = plan.buffer output[2] : memref<256xf32>
    %a = plan.buffer arena : memref<256xf32>
    plan.launch @relu(%x) -> (%a) : memref<256xf32> -> memref<256xf32>
    plan.copy %x to %w : memref<256xf32> to memref<256xf32>
    plan.launch @relu(%a) -> (%y) : memref<256xf32> -> memref<256xf32>
    plan.launch @relu(%a) -> (%z) : memref<256xf32> -> memref<256xf32>
  }
}

// -----

// Products fill the GPU: running them concurrently gains nothing.

// CHECK-LABEL: plan.target
// CHECK-NOT: follows
plan.target "sm_90a" {
  plan.kernel @product {
  ^bb0(%a: tensor<16x16xf32>):
    %0 = nn.fusion(%a) : (tensor<16x16xf32>) -> tensor<16x16xf32> {
    ^bb0(%b: tensor<16x16xf32>):
      %r = nn.matmul %b, %b : (tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
      nn.yield %r : tensor<16x16xf32>
    }
  }
  plan.command_list @main of "main" {
    %x = plan.buffer input[0] : memref<16x16xf32>
    %y = plan.buffer output[0] : memref<16x16xf32>
    %z = plan.buffer output[1] : memref<16x16xf32>
    plan.launch @product(%x) -> (%y) : memref<16x16xf32> -> memref<16x16xf32>
    plan.launch @product(%x) -> (%z) : memref<16x16xf32> -> memref<16x16xf32>
  }
}

// -----

// Steps that use other parts of a state, or only read the same part, are
// independent. Those that write what another reads or writes keep their order.

// CHECK-LABEL: plan.target
// CHECK: command_list @apart
// CHECK: plan.launch @relu({{.*}}) -> ({{.*}}) :
// CHECK: plan.launch @relu({{.*}}) -> ({{.*}}) {follows = array<i64>} :
// CHECK: plan.launch @add({{.*}}) -> ({{.*}}) {follows = array<i64: 0, 1>} :
// CHECK: command_list @both_read
// CHECK: plan.launch @relu({{.*}}) -> ({{.*}}) {follows = array<i64>} :
// CHECK: command_list @write_after_read
// CHECK-NOT: follows
// CHECK: command_list @read_after_write
// CHECK-NOT: follows
// CHECK: command_list @write_after_write
// CHECK-NOT: follows
// CHECK: command_list @in_place
// CHECK-NOT: follows
// CHECK: command_list @overlap
// CHECK-NOT: follows
plan.state @p : tensor<1024xf32> [
    #plan.member<name = "w", offset = 0, type = tensor<256xf32>>]
plan.target "sm_90a" {
  plan.kernel @relu {
  ^bb0(%a: tensor<256xf32>):
    %0 = nn.fusion(%a) : (tensor<256xf32>) -> tensor<256xf32> {
    ^bb0(%b: tensor<256xf32>):
      %r = nn.relu %b : (tensor<256xf32>) -> tensor<256xf32>
      nn.yield %r : tensor<256xf32>
    }
  }
  plan.kernel @add {
  ^bb0(%a: tensor<256xf32>, %b: tensor<256xf32>):
    %0 = nn.fusion(%a, %b) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32> {
    ^bb0(%c: tensor<256xf32>, %d: tensor<256xf32>):
      %r = nn.add %c, %d : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
      nn.yield %r : tensor<256xf32>
    }
  }
  plan.command_list @apart of "main" {
    %x = plan.buffer input[0] : memref<256xf32>
    %y = plan.buffer output[0] : memref<256xf32>
    %p = plan.buffer state "p" : memref<1024xf32>
    %p0 = plan.view %p : memref<1024xf32> to memref<256xf32>
    %mid = plan.view %p at 512 : memref<1024xf32> to memref<256xf32>
    %p1 = plan.view %p at 1024 : memref<1024xf32> to memref<256xf32>
    %b = plan.buffer arena : memref<256xf32>
    %c = plan.buffer arena : memref<256xf32>
    plan.launch @relu(%x) -> (%p0) : memref<256xf32> -> memref<256xf32>
    plan.launch @relu(%x) -> (%p1) : memref<256xf32> -> memref<256xf32>
    plan.launch @add(%p0, %p1) -> (%y) : memref<256xf32>, memref<256xf32> -> memref<256xf32>
  }
  plan.command_list @both_read of "main" {
    %x = plan.buffer input[0] : memref<256xf32>
    %y = plan.buffer output[0] : memref<256xf32>
    %p = plan.buffer state "p" : memref<1024xf32>
    %p0 = plan.view %p : memref<1024xf32> to memref<256xf32>
    %mid = plan.view %p at 512 : memref<1024xf32> to memref<256xf32>
    %p1 = plan.view %p at 1024 : memref<1024xf32> to memref<256xf32>
    %b = plan.buffer arena : memref<256xf32>
    %c = plan.buffer arena : memref<256xf32>
    plan.launch @relu(%p0) -> (%b) : memref<256xf32> -> memref<256xf32>
    plan.launch @relu(%p0) -> (%c) : memref<256xf32> -> memref<256xf32>
    plan.launch @add(%b, %c) -> (%y) : memref<256xf32>, memref<256xf32> -> memref<256xf32>
  }
  plan.command_list @write_after_read of "main" {
    %x = plan.buffer input[0] : memref<256xf32>
    %y = plan.buffer output[0] : memref<256xf32>
    %p = plan.buffer state "p" : memref<1024xf32>
    %p0 = plan.view %p : memref<1024xf32> to memref<256xf32>
    %mid = plan.view %p at 512 : memref<1024xf32> to memref<256xf32>
    %p1 = plan.view %p at 1024 : memref<1024xf32> to memref<256xf32>
    %b = plan.buffer arena : memref<256xf32>
    %c = plan.buffer arena : memref<256xf32>
    plan.launch @relu(%p0) -> (%b) : memref<256xf32> -> memref<256xf32>
    plan.launch @relu(%x) -> (%p0) : memref<256xf32> -> memref<256xf32>
    plan.launch @add(%b, %p0) -> (%y) : memref<256xf32>, memref<256xf32> -> memref<256xf32>
  }
  plan.command_list @read_after_write of "main" {
    %x = plan.buffer input[0] : memref<256xf32>
    %y = plan.buffer output[0] : memref<256xf32>
    %p = plan.buffer state "p" : memref<1024xf32>
    %p0 = plan.view %p : memref<1024xf32> to memref<256xf32>
    %mid = plan.view %p at 512 : memref<1024xf32> to memref<256xf32>
    %p1 = plan.view %p at 1024 : memref<1024xf32> to memref<256xf32>
    %b = plan.buffer arena : memref<256xf32>
    %c = plan.buffer arena : memref<256xf32>
    plan.launch @relu(%x) -> (%p0) : memref<256xf32> -> memref<256xf32>
    plan.launch @relu(%p0) -> (%c) : memref<256xf32> -> memref<256xf32>
    plan.launch @add(%p0, %c) -> (%y) : memref<256xf32>, memref<256xf32> -> memref<256xf32>
  }
  plan.command_list @write_after_write of "main" {
    %x = plan.buffer input[0] : memref<256xf32>
    %y = plan.buffer output[0] : memref<256xf32>
    %p = plan.buffer state "p" : memref<1024xf32>
    %p0 = plan.view %p : memref<1024xf32> to memref<256xf32>
    %mid = plan.view %p at 512 : memref<1024xf32> to memref<256xf32>
    %p1 = plan.view %p at 1024 : memref<1024xf32> to memref<256xf32>
    %b = plan.buffer arena : memref<256xf32>
    %c = plan.buffer arena : memref<256xf32>
    plan.launch @relu(%x) -> (%p0) : memref<256xf32> -> memref<256xf32>
    plan.launch @relu(%x) -> (%p0) : memref<256xf32> -> memref<256xf32>
    plan.launch @add(%p0, %p0) -> (%y) : memref<256xf32>, memref<256xf32> -> memref<256xf32>
  }
  plan.command_list @in_place of "main" {
    %x = plan.buffer input[0] : memref<256xf32>
    %y = plan.buffer output[0] : memref<256xf32>
    %p = plan.buffer state "p" : memref<1024xf32>
    %p0 = plan.view %p : memref<1024xf32> to memref<256xf32>
    %mid = plan.view %p at 512 : memref<1024xf32> to memref<256xf32>
    %p1 = plan.view %p at 1024 : memref<1024xf32> to memref<256xf32>
    %b = plan.buffer arena : memref<256xf32>
    %c = plan.buffer arena : memref<256xf32>
    plan.launch @relu(%p0) -> (%p0) : memref<256xf32> -> memref<256xf32>
    plan.launch @relu(%p0) -> (%b) : memref<256xf32> -> memref<256xf32>
    plan.launch @add(%p0, %b) -> (%y) : memref<256xf32>, memref<256xf32> -> memref<256xf32>
  }
  plan.command_list @overlap of "main" {
    %x = plan.buffer input[0] : memref<256xf32>
    %y = plan.buffer output[0] : memref<256xf32>
    %p = plan.buffer state "p" : memref<1024xf32>
    %p0 = plan.view %p : memref<1024xf32> to memref<256xf32>
    %mid = plan.view %p at 512 : memref<1024xf32> to memref<256xf32>
    %p1 = plan.view %p at 1024 : memref<1024xf32> to memref<256xf32>
    %b = plan.buffer arena : memref<256xf32>
    %c = plan.buffer arena : memref<256xf32>
    plan.launch @relu(%x) -> (%p0) : memref<256xf32> -> memref<256xf32>
    plan.launch @relu(%mid) -> (%b) : memref<256xf32> -> memref<256xf32>
    plan.launch @add(%p0, %b) -> (%y) : memref<256xf32>, memref<256xf32> -> memref<256xf32>
  }
}

// -----

// Branches may begin and end at collectives: step 2 runs beside the first one,
// which the branches follow only to where it begins, and both the second one
// and the step after it follow the ends of both branches.

// CHECK-LABEL: command_list @beside
// CHECK: plan.launch @relu({{.*}}) -> (%[[a:.*]]) :
// CHECK-NEXT: plan.collective mean %[[r:[^ ]*]] :
// CHECK-NEXT: plan.launch @relu(%[[a]]) -> (%[[b:.*]]) {follows = array<i64: 0>} :
// CHECK-NEXT: plan.launch @relu(%[[a]]) -> (%[[c:.*]]) {follows = array<i64: 0>} :
// CHECK-NEXT: plan.collective mean %[[q:[^ ]*]] {follows = array<i64: 1, 2, 3>} :
// CHECK-NEXT: plan.launch @add(%[[b]], %[[c]]) -> ({{.*}}) {follows = array<i64: 2, 3>} :
// CHECK-NEXT: plan.await %[[r]], %[[q]] {follows = array<i64: 1, 4, 5>} :
// CHECK-NEXT: plan.launch @add(%[[r]], %[[q]]) -> ({{.*}}) :
plan.target "sm_90a" {
  plan.kernel @relu {
  ^bb0(%a: tensor<256xf32>):
    %0 = nn.fusion(%a) : (tensor<256xf32>) -> tensor<256xf32> {
    ^bb0(%b: tensor<256xf32>):
      %r = nn.relu %b : (tensor<256xf32>) -> tensor<256xf32>
      nn.yield %r : tensor<256xf32>
    }
  }
  plan.kernel @add {
  ^bb0(%a: tensor<256xf32>, %b: tensor<256xf32>):
    %0 = nn.fusion(%a, %b) : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32> {
    ^bb0(%c: tensor<256xf32>, %d: tensor<256xf32>):
      %r = nn.add %c, %d : (tensor<256xf32>, tensor<256xf32>) -> tensor<256xf32>
      nn.yield %r : tensor<256xf32>
    }
  }
  plan.command_list @beside of "main" {
    %x = plan.buffer input[0] : memref<256xf32>
    %y = plan.buffer output[0] : memref<256xf32>
    %z = plan.buffer output[1] : memref<256xf32>
    %both = plan.buffer arena : memref<512xf32>
    %r = plan.view %both : memref<512xf32> to memref<256xf32>
    %q = plan.view %both at 1024 : memref<512xf32> to memref<256xf32>
    %b = plan.buffer output[2] : memref<256xf32>
    %c = plan.buffer output[3] : memref<256xf32>
    plan.launch @relu(%x) -> (%y) : memref<256xf32> -> memref<256xf32>
    plan.collective mean %r : memref<256xf32>
    plan.launch @relu(%y) -> (%b) {follows = array<i64: 0>} : memref<256xf32> -> memref<256xf32>
    plan.launch @relu(%y) -> (%c) : memref<256xf32> -> memref<256xf32>
    plan.collective mean %q {follows = array<i64: 1, 3>} : memref<256xf32>
    plan.launch @add(%b, %c) -> (%z) {follows = array<i64: 3>} : memref<256xf32>, memref<256xf32> -> memref<256xf32>
    plan.await %r, %q {follows = array<i64: 1, 4, 5>} : memref<256xf32>, memref<256xf32>
    plan.launch @add(%r, %q) -> (%z) : memref<256xf32>, memref<256xf32> -> memref<256xf32>
  }
}

// -----

// Kernels that leave room to others share a branch, although the second could
// start with the first. What they write may enlarge the arena.

// CHECK-LABEL: command_list @room
// CHECK: plan.launch @relu({{.*}}) -> (%[[a:.*]]) :
// CHECK-NEXT: plan.launch @grow(%[[a]]) -> ({{.*}}) :
// CHECK-NEXT: plan.launch @relu(%[[a]]) -> (%[[b:.*]]) {follows = array<i64: 0>} :
// CHECK-NEXT: plan.launch @relu(%[[b]]) -> (%[[c:.*]]) :
// CHECK-NEXT: plan.launch @grow(%[[a]]) -> (%[[g:.*]]) {follows = array<i64: 1>} :
// CHECK-NEXT: plan.launch @join(%[[c]], %{{.*}}, %[[g]]) -> ({{.*}}) {follows = array<i64: 3, 4>} :
plan.target "sm_90a" {
  plan.kernel @relu {
  ^bb0(%a: tensor<256xf32>):
    %0 = nn.fusion(%a) : (tensor<256xf32>) -> tensor<256xf32> {
    ^bb0(%b: tensor<256xf32>):
      %r = nn.relu %b : (tensor<256xf32>) -> tensor<256xf32>
      nn.yield %r : tensor<256xf32>
    }
  }
  plan.kernel @grow {
  ^bb0(%a: tensor<256xf32>):
    %0 = nn.fusion(%a) {nn.beside} : (tensor<256xf32>) -> tensor<4x256xf32> {
    ^bb0(%b: tensor<256xf32>):
      %r = nn.expand %b {shape = array<i64: 4, 256>} : (tensor<256xf32>) -> tensor<4x256xf32>
      nn.yield %r : tensor<4x256xf32>
    }
  }
  plan.kernel @join {
  ^bb0(%a: tensor<256xf32>, %b: tensor<4x256xf32>, %c: tensor<4x256xf32>):
    %0 = nn.fusion(%a, %b, %c) : (tensor<256xf32>, tensor<4x256xf32>, tensor<4x256xf32>) -> tensor<4x256xf32> {
    ^bb0(%d: tensor<256xf32>, %e: tensor<4x256xf32>, %f: tensor<4x256xf32>):
      %r = nn.add %e, %d : (tensor<4x256xf32>, tensor<256xf32>) -> tensor<4x256xf32>
      %s = nn.add %r, %f : (tensor<4x256xf32>, tensor<4x256xf32>) -> tensor<4x256xf32>
      nn.yield %s : tensor<4x256xf32>
    }
  }
  plan.command_list @room of "main" {
    %x = plan.buffer input[0] : memref<256xf32>
    %y = plan.buffer output[0] : memref<4x256xf32>
    %a = plan.buffer arena : memref<256xf32>
    %b = plan.buffer arena : memref<256xf32>
    %c = plan.buffer arena : memref<256xf32>
    %g = plan.buffer arena : memref<4x256xf32>
    %h = plan.buffer arena : memref<4x256xf32>
    plan.launch @relu(%x) -> (%a) : memref<256xf32> -> memref<256xf32>
    plan.launch @grow(%a) -> (%g) : memref<256xf32> -> memref<4x256xf32>
    plan.launch @relu(%a) -> (%b) : memref<256xf32> -> memref<256xf32>
    plan.launch @relu(%b) -> (%c) : memref<256xf32> -> memref<256xf32>
    plan.launch @grow(%a) -> (%h) : memref<256xf32> -> memref<4x256xf32>
    plan.launch @join(%c, %g, %h) -> (%y) : memref<256xf32>, memref<4x256xf32>, memref<4x256xf32> -> memref<4x256xf32>
  }
}
