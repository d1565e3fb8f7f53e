// RUN: frit-opt %s -split-input-file --merge-plans --plan-memory -verify-diagnostics | FileCheck %s

// Targets of one architecture become one, with a list for each function and
// variant. They share kernels, states and equal constants.

// CHECK-LABEL: module
// CHECK-NEXT: plan.constant @w dense<1.0
// CHECK-NEXT: plan.state @p at 0 : tensor<96xf32> [#plan.member<name = "w", offset = 0, type = tensor<4xf32>, initial = @w>]
// CHECK-NEXT: plan.state @step at 512 : tensor<i64>
// CHECK-NEXT: plan.function "train_step" inputs ["x"] outputs []
// CHECK-NEXT: plan.function "eval_step" inputs [] outputs ["y"]
// CHECK-NEXT: plan.target "sm_90a"
// CHECK: plan.kernel @relu
// CHECK-NOT: plan.kernel
// CHECK: plan.command_list @train_step of "train_step"
// CHECK: plan.buffer state "p" : memref<96xf32>
// CHECK: plan.launch @relu
// CHECK: plan.command_list @train_step_8 of "train_step"
// CHECK: plan.buffer state "p" : memref<96xf32>
// CHECK: plan.buffer state "m" : memref<4xf32>
// CHECK: plan.launch @relu
// CHECK: plan.command_list @eval_step of "eval_step"
// CHECK: plan.buffer constant "w_0"
// CHECK: plan.buffer state "p"
// CHECK: plan.constant @w_0 dense<2.0
// CHECK-NEXT: plan.state @m at 768 : tensor<4xf32> [#plan.member<name = "m.w", offset = 0, type = tensor<4xf32>, initial = @w_0>]
// CHECK-NOT: plan.target
module {
  module {
    plan.constant @w dense<1.0> : tensor<4xf32>
    plan.state @p : tensor<96xf32> [
        #plan.member<name = "w", offset = 0, type = tensor<4xf32>,
                     initial = @w>]
    plan.state @step : tensor<i64> [
        #plan.member<name = "step", offset = 0, type = tensor<i64>>]
    plan.function "train_step" inputs ["x"] outputs []
    plan.target "sm_90a" {
      plan.kernel @relu {
      ^bb0(%x: tensor<4xf32>):
        %y = nn.fusion(%x) : (tensor<4xf32>) -> tensor<4xf32> {
        ^bb0(%a: tensor<4xf32>):
          %r = nn.relu %a : (tensor<4xf32>) -> tensor<4xf32>
          nn.yield %r : tensor<4xf32>
        }
      }
      plan.command_list @train_step of "train_step" {
        %p = plan.buffer state "p" : memref<96xf32>
        %w = plan.view %p : memref<96xf32> to memref<4xf32>
        plan.launch @relu(%w) -> (%w) : memref<4xf32> -> memref<4xf32>
      }
    }
  }
  module @train_step_8 {
    plan.constant @w dense<2.0> : tensor<4xf32>
    plan.constant @u dense<1.0> : tensor<4xf32>
    plan.state @p : tensor<96xf32> [
        #plan.member<name = "w", offset = 0, type = tensor<4xf32>,
                     initial = @u>]
    // Renamed with its initial constant.
    plan.state @m : tensor<4xf32> [
        #plan.member<name = "m.w", offset = 0, type = tensor<4xf32>,
                     initial = @w>]
    plan.function "train_step" inputs ["x"] outputs []
    plan.target "sm_90a" {
      plan.kernel @relu {
      ^bb0(%x: tensor<4xf32>):
        %y = nn.fusion(%x) : (tensor<4xf32>) -> tensor<4xf32> {
        ^bb0(%a: tensor<4xf32>):
          %r = nn.relu %a : (tensor<4xf32>) -> tensor<4xf32>
          nn.yield %r : tensor<4xf32>
        }
      }
      plan.command_list @train_step of "train_step" {
        %p = plan.buffer state "p" : memref<96xf32>
        %m = plan.buffer state "m" : memref<4xf32>
        %w = plan.view %p : memref<96xf32> to memref<4xf32>
        plan.launch @relu(%m) -> (%w) : memref<4xf32> -> memref<4xf32>
      }
    }
  }
  module {
    plan.constant @w dense<2.0> : tensor<4xf32>
    plan.constant @u dense<1.0> : tensor<4xf32>
    plan.state @p : tensor<96xf32> [
        #plan.member<name = "w", offset = 0, type = tensor<4xf32>,
                     initial = @u>]
    plan.function "eval_step" inputs [] outputs ["y"]
    plan.target "sm_90a" {
      plan.kernel @relu {
      ^bb0(%x: tensor<4xf32>):
        %y = nn.fusion(%x) : (tensor<4xf32>) -> tensor<4xf32> {
        ^bb0(%a: tensor<4xf32>):
          %r = nn.relu %a : (tensor<4xf32>) -> tensor<4xf32>
          nn.yield %r : tensor<4xf32>
        }
      }
      plan.command_list @eval_step of "eval_step" {
        %c = plan.buffer constant "w" : memref<4xf32>
        %y = plan.buffer output[0] : memref<4xf32>
        plan.launch @relu(%c) -> (%y) : memref<4xf32> -> memref<4xf32>
        %p = plan.buffer state "p" : memref<96xf32>
        %w = plan.view %p : memref<96xf32> to memref<4xf32>
        plan.launch @relu(%w) -> (%y) : memref<4xf32> -> memref<4xf32>
      }
    }
  }
}

// -----

// A state gets another name where a constant has taken its own.

// CHECK-LABEL: module
// CHECK: plan.state @p_0 at 0
// CHECK: plan.buffer state "p_0"
module {
  module {
    plan.constant @p dense<1.0> : tensor<4xf32>
  }
  module {
    plan.state @p : tensor<4xf32> []
    plan.function "main" inputs [] outputs []
    plan.target "sm_90a" {
      plan.command_list @main of "main" {
        %p = plan.buffer state "p" : memref<4xf32>
        plan.copy %p to %p : memref<4xf32> to memref<4xf32>
      }
    }
  }
}

// -----

// A derived state knows the new name of its source. Each state is derived once,
// and the arena of a call has room for deriving.

// CHECK-LABEL: module
// CHECK: plan.state @p_0 at 0 : tensor<4xf32> []
// CHECK-NEXT: plan.state @p.f16 at 256 {derived_from = @p_0} : tensor<4xf16> []
// CHECK-NEXT: plan.function "main" inputs [] outputs []
// CHECK-NEXT: plan.target
// CHECK: plan.command_list @derive
// CHECK: plan.buffer arena at 0
// CHECK: plan.copy
// CHECK-NEXT: plan.copy
// CHECK-NOT: plan.copy %{{.*}} : memref<4xf16> to memref<4xf16>
// CHECK: %[[H:.*]] = plan.buffer state "q.f16" : memref<8xf16>
// CHECK: plan.copy %{{.*}} to %[[H]]
// CHECK: plan.command_list @main of "main" attributes {arena_bytes = 256
// CHECK: plan.command_list @main_8 of "main" attributes {arena_bytes = 256
// CHECK: plan.state @q at 512 : tensor<8xf32> []
// CHECK-NEXT: plan.state @q.f16 at 768 {derived_from = @q} : tensor<8xf16> []
module {
  module {
    plan.constant @p dense<1.0> : tensor<4xf32>
  }
  module {
    plan.state @p.f16 {derived_from = @p} : tensor<4xf16> []
    plan.state @p : tensor<4xf32> []
    plan.function "main" inputs [] outputs []
    plan.target "sm_90a" {
      plan.command_list @derive {
        %p = plan.buffer state "p" : memref<4xf32>
        %v = plan.view %p : memref<4xf32> to memref<4xf16>
        %t = plan.buffer arena : memref<4xf16>
        %h = plan.buffer state "p.f16" : memref<4xf16>
        plan.copy %v to %t : memref<4xf16> to memref<4xf16>
        plan.copy %t to %h : memref<4xf16> to memref<4xf16>
      }
      plan.command_list @main of "main" {
        %h = plan.buffer state "p.f16" : memref<4xf16>
        plan.copy %h to %h : memref<4xf16> to memref<4xf16>
      }
    }
  }
  module @main_8 {
    plan.state @p : tensor<4xf32> []
    plan.state @p.f16 {derived_from = @p} : tensor<4xf16> []
    plan.state @q : tensor<8xf32> []
    plan.state @q.f16 {derived_from = @q} : tensor<8xf16> []
    plan.function "main" inputs [] outputs []
    plan.target "sm_90a" {
      plan.command_list @derive {
        %p = plan.buffer state "p" : memref<4xf32>
        %v = plan.view %p : memref<4xf32> to memref<4xf16>
        %h = plan.buffer state "p.f16" : memref<4xf16>
        plan.copy %v to %h : memref<4xf16> to memref<4xf16>
        %q = plan.buffer state "q" : memref<8xf32>
        %w = plan.view %q : memref<8xf32> to memref<8xf16>
        %g = plan.buffer state "q.f16" : memref<8xf16>
        plan.copy %w to %g : memref<8xf16> to memref<8xf16>
      }
      plan.command_list @main of "main" {
        %h = plan.buffer state "q.f16" : memref<8xf16>
        plan.copy %h to %h : memref<8xf16> to memref<8xf16>
      }
    }
  }
}

// -----

module {
  module {
    plan.state @p : tensor<4xf32> []
    plan.state @q : tensor<4xf32> []
    // expected-note@+1 {{the other one is here}}
    plan.state @h {derived_from = @p} : tensor<4xf16> []
  }
  module {
    plan.state @p : tensor<4xf32> []
    plan.state @q : tensor<4xf32> []
    // expected-error@+1 {{state 'h' differs between functions or variants}}
    plan.state @h {derived_from = @q} : tensor<4xf16> []
  }
}

// -----

module {
  module {
    // expected-note@+1 {{the other one is here}}
    plan.state @p : tensor<4xf32> []
  }
  module {
    // expected-error@+1 {{state 'p' differs between functions or variants}}
    plan.state @p : tensor<8xf32> []
  }
}

// -----

module {
  module {
    plan.function "main" inputs ["x"] outputs ["y"]
  }
  module {
    // expected-error@+1 {{has other inputs, outputs or another role in another plan}}
    plan.function "main" inputs ["x", "z"] outputs ["y"]
  }
}
