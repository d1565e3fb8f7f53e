// RUN: frit-opt %s -split-input-file -verify-diagnostics

// expected-error@+1 {{member 'w' is there twice}}
plan.state @s : tensor<8xf32> [
    #plan.member<name = "w", offset = 0, type = tensor<4xf32>>,
    #plan.member<name = "w", offset = 4, type = tensor<4xf32>>]

// -----

// expected-error@+1 {{member 'w' is a 'tensor<4xf16>', the state a 'tensor<8xf32>'}}
plan.state @s : tensor<8xf32> [
    #plan.member<name = "w", offset = 0, type = tensor<4xf16>>]

// -----

// expected-error@+1 {{member 'w' reaches past the end of the state}}
plan.state @s : tensor<8xf32> [
    #plan.member<name = "w", offset = 5, type = tensor<2x2xf32>>]

// -----

// expected-error@+1 {{member 'w' reaches past the end of the state}}
plan.state @s : tensor<8xf32> [
    #plan.member<name = "w", offset = -1, type = tensor<2x2xf32>>]

// -----

// expected-error@+1 {{member 'a' overlaps the one before it}}
plan.state @s : tensor<8xf32> [
    #plan.member<name = "a", offset = 3, type = tensor<5xf32>>,
    #plan.member<name = "b", offset = 0, type = tensor<4xf32>>]

// -----

// expected-error@+1 {{member 'w' starts as @missing, which is no constant}}
plan.state @s : tensor<8xf32> [
    #plan.member<name = "w", offset = 0, type = tensor<4xf32>,
                 initial = @missing>]

// -----

plan.constant @c dense<0.0> : tensor<2x2xf32>
// expected-error@+1 {{member 'w' is a 'tensor<4xf32>', @c a 'tensor<2x2xf32>'}}
plan.state @s : tensor<8xf32> [
    #plan.member<name = "w", offset = 0, type = tensor<4xf32>, initial = @c>]

// -----

plan.constant @c dense<0.0> : tensor<2x2xf32>
plan.target "sm_90a" {
  plan.command_list @main of "main" {
    // expected-error@+1 {{'c' is no state of the module}}
    %x = plan.buffer state "c" : memref<2x2xf32>
  }
}

// -----

plan.state @s : tensor<8xf32> []
plan.target "sm_90a" {
  plan.command_list @main of "main" {
    // expected-error@+1 {{state 's' is a 'tensor<8xf32>'}}
    %x = plan.buffer state "s" : memref<4xf32>
  }
}

// -----

plan.state @s : tensor<8xf32> []
plan.target "sm_90a" {
  plan.command_list @prepare {
    // expected-error@+1 {{the prepare list runs before there is any state}}
    %x = plan.buffer state "s" : memref<8xf32>
  }
}

// -----

plan.target "sm_90a" {
  plan.command_list @derive {
    %x = plan.buffer arena : memref<4096xf32>
    // expected-error@+1 {{the derive list has launches and copies only}}
    plan.collective mean %x : memref<4096xf32>
  }
}

// -----

plan.state @s : tensor<8xf32> []
// expected-error@+1 {{is derived from another, so it has no members and no shards}}
plan.state @h {derived_from = @s} : tensor<8xf16> [
    #plan.member<name = "h", offset = 0, type = tensor<8xf16>>]

// -----

plan.state @s : tensor<8192xf32> []
// expected-error@+1 {{is derived from another, so it has no members and no shards}}
plan.state @h {derived_from = @s, sharded} : tensor<8192xf16> []

// -----

plan.constant @c dense<0.0> : tensor<2x2xf32>
// expected-error@+1 {{is derived from @c, which is no state that calls keep whole}}
plan.state @h {derived_from = @c} : tensor<2x2xf16> []

// -----

plan.state @s {sharded} : tensor<8192xf32> []
// expected-error@+1 {{is derived from @s, which is no state that calls keep whole}}
plan.state @h {derived_from = @s} : tensor<8192xf16> []

// -----

plan.state @s : tensor<8xf32> []
plan.state @h {derived_from = @s} : tensor<8xf16> []
// expected-error@+1 {{is derived from @h, which is no state that calls keep whole}}
plan.state @q {derived_from = @h} : tensor<8xi8> []

// -----

// expected-error@+1 {{is a 'tensor<3xcomplex<f32>>', not numbers of one shape}}
plan.state @s : tensor<3xcomplex<f32>> []

// -----

plan.target "sm_90a" {
  plan.command_list @main of "main" {
    // expected-error@+1 {{a plan's buffers are numbers, and its shapes static}}
    %x = plan.buffer arena at 0 : memref<2xindex>
  }
}
