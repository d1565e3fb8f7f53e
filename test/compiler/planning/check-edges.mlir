// RUN: frit-opt %s -split-input-file -verify-diagnostics --check-edges

// One writes what the other reads.
plan.target "sm_90a" {
  plan.command_list @main of "main" {
    %x = plan.buffer input[0] : memref<4xf32>
    %y = plan.buffer output[0] : memref<4xf32>
    %a = plan.buffer arena : memref<4xf32>
    // expected-note@+1 {{step 0}}
    plan.copy %x to %a : memref<4xf32> to memref<4xf32>
    // expected-error@+1 {{may run before step 0 has ended, and uses the same memory: it must follow that step}}
    plan.copy %a to %y {follows = array<i64>} : memref<4xf32> to memref<4xf32>
  }
}

// -----

// Both only read the same memory, or use other parts of it.
plan.target "sm_90a" {
  plan.command_list @main of "main" {
    %x = plan.buffer input[0] : memref<4xf32>
    %a = plan.buffer arena : memref<8xf32>
    %low = plan.view %a : memref<8xf32> to memref<4xf32>
    %high = plan.view %a at 16 : memref<8xf32> to memref<4xf32>
    plan.copy %x to %low : memref<4xf32> to memref<4xf32>
    plan.copy %x to %high {follows = array<i64>} : memref<4xf32> to memref<4xf32>
  }
}

// -----

// The second overwrites what the first reads.
plan.state @s : tensor<4xf32> []
plan.target "sm_90a" {
  plan.command_list @main of "main" {
    %x = plan.buffer input[0] : memref<4xf32>
    %y = plan.buffer output[0] : memref<4xf32>
    %z = plan.buffer output[1] : memref<4xf32>
    %s = plan.buffer state "s" : memref<4xf32>
    plan.copy %x to %z : memref<4xf32> to memref<4xf32>
    // expected-note@+1 {{step 1}}
    plan.copy %s to %y : memref<4xf32> to memref<4xf32>
    // expected-error@+1 {{may run before step 1 has ended}}
    plan.copy %x to %s {follows = array<i64: 0>} : memref<4xf32> to memref<4xf32>
  }
}

// -----

// The await does not follow the collective.
plan.target "sm_90a" {
  plan.command_list @main of "main" {
    %x = plan.buffer input[0] : memref<4xf32>
    %y = plan.buffer output[0] : memref<4xf32>
    %a = plan.buffer arena : memref<4xf32>
    plan.copy %x to %a : memref<4xf32> to memref<4xf32>
    // expected-note@+1 {{step 1}}
    plan.collective mean %a : memref<4xf32>
    // expected-error@+1 {{may run before step 1 has ended}}
    plan.await %a {follows = array<i64: 0>} : memref<4xf32>
    plan.copy %a to %y : memref<4xf32> to memref<4xf32>
  }
}

// -----

// A step uses the buffer of a collective that it does not follow.
plan.target "sm_90a" {
  plan.command_list @main of "main" {
    %x = plan.buffer input[0] : memref<4xf32>
    %y = plan.buffer output[0] : memref<4xf32>
    %a = plan.buffer arena : memref<4xf32>
    plan.copy %x to %a : memref<4xf32> to memref<4xf32>
    // expected-note@+1 {{step 1}}
    plan.collective mean %a : memref<4xf32>
    // expected-error@+1 {{may run before step 1 has ended}}
    plan.copy %a to %y {follows = array<i64: 0>} : memref<4xf32> to memref<4xf32>
    plan.await %a {follows = array<i64: 1, 2>} : memref<4xf32>
  }
}

// -----

// On one rank the await follows no collective, and so not the step that wrote
// the buffer.
plan.target "sm_90a" {
  plan.command_list @main of "main" {
    %x = plan.buffer input[0] : memref<4xf32>
    %y = plan.buffer output[0] : memref<4xf32>
    %z = plan.buffer output[1] : memref<4xf32>
    %a = plan.buffer arena : memref<4xf32>
    // expected-note@+1 {{step 0}}
    plan.copy %x to %a : memref<4xf32> to memref<4xf32>
    plan.copy %x to %z {follows = array<i64>} : memref<4xf32> to memref<4xf32>
    plan.collective mean %a {follows = array<i64: 0>} : memref<4xf32>
    // expected-error@+1 {{may run before step 0 has ended}}
    plan.await %a {follows = array<i64: 1, 2>} : memref<4xf32>
    plan.copy %a to %y : memref<4xf32> to memref<4xf32>
  }
}

// -----

// A step after a guard follows the steps in it, and with the step before the
// guard only that.
plan.target "sm_90a" {
  plan.command_list @main of "main" {
    %x = plan.buffer input[0] : memref<4xf32>
    %go = plan.buffer input[1] : memref<i1>
    %y = plan.buffer output[0] : memref<4xf32>
    %a = plan.buffer arena : memref<4xf32>
    plan.copy %x to %y : memref<4xf32> to memref<4xf32>
    plan.guard %go is true : memref<i1> {
      // expected-note@+1 {{step 2}}
      plan.copy %x to %a : memref<4xf32> to memref<4xf32>
    }
    // expected-error@+1 {{may run before step 2 has ended}}
    plan.copy %a to %y {follows = array<i64: 0>} : memref<4xf32> to memref<4xf32>
  }
  plan.command_list @after of "main" {
    %x = plan.buffer input[0] : memref<4xf32>
    %go = plan.buffer input[1] : memref<i1>
    %y = plan.buffer output[0] : memref<4xf32>
    %a = plan.buffer arena : memref<4xf32>
    plan.copy %x to %y : memref<4xf32> to memref<4xf32>
    plan.guard %go is true attributes {follows = array<i64>} : memref<i1> {
      plan.copy %x to %a : memref<4xf32> to memref<4xf32>
    }
    plan.copy %a to %y {follows = array<i64: 0, 1>} : memref<4xf32> to memref<4xf32>
  }
}
