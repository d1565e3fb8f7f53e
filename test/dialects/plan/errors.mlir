// RUN: frit-opt %s -split-input-file -verify-diagnostics

plan.target "sm_90a" {
  plan.command_list @main of "main" {
    // expected-error@+1 {{inputs and outputs, and only they, have an index}}
    %x = plan.buffer input : memref<4xf32>
  }
}

// -----

plan.target "sm_90a" {
  plan.command_list @main of "main" {
    // expected-error@+1 {{constants and states, and only they, have a name}}
    %x = plan.buffer constant : memref<4xf32>
  }
}

// -----

plan.target "sm_90a" {
  plan.command_list @main of "main" {
    %x = plan.buffer arena : memref<4xf32>
    // expected-error@+1 {{reaches past the end of its buffer}}
    %v = plan.view %x at 8 : memref<4xf32> to memref<4xf32>
  }
}

// -----

plan.target "sm_90a" {
  plan.command_list @main of "main" {
    %x = plan.buffer arena : memref<4xf32>
    // expected-error@+1 {{@missing is not a kernel of this target}}
    plan.launch @missing(%x) -> (%x) : memref<4xf32> -> memref<4xf32>
  }
}

// -----

plan.target "sm_90a" {
  plan.command_list @main of "main" {
    %x = plan.buffer arena : memref<4xf32>
    // expected-error@+1 {{takes 2 inputs and one output}}
    plan.gemm(%x) -> (%x) {m = 2, n = 2, k = 2, batch = 1,
        ld = array<i64: 2, 2, 2>, batch_strides = array<i64: 0, 0, 0>}
        : memref<4xf32> -> memref<4xf32>
  }
}

// -----

plan.target "sm_90a" {
  plan.command_list @main of "main" {
    %x = plan.buffer arena : memref<4xf32>
    %y = plan.buffer arena : memref<8xf32>
    // expected-error@+1 {{copies buffers of one size}}
    plan.copy %x to %y : memref<4xf32> to memref<8xf32>
  }
}

// -----

plan.target "sm_90a" {
  // expected-error@+1 {{has a tensor map of argument 2 and takes 2}}
  plan.kernel @copied attributes {tensor_maps = [
      #plan.tensor_map<argument = 2, type = f32, kind = tiled, dims = [64],
          strides = [], box = [32], element_strides = [1]>]} {
  ^bb0(%x: tensor<64xf32>):
    %y = nn.fusion(%x) : (tensor<64xf32>) -> tensor<64xf32> {
    ^bb0(%a: tensor<64xf32>):
      nn.yield %a : tensor<64xf32>
    }
  }
}

// -----

plan.target "sm_90a" {
  // expected-error@+1 {{has a source of its own and that of 'other'}}
  plan.kernel @relu attributes {symbol = "other",
      source = #plan.source<header = "map", text = "", milliseconds = 0>} {
  ^bb0(%x: tensor<64xf32>):
    %y = nn.fusion(%x) : (tensor<64xf32>) -> tensor<64xf32> {
    ^bb0(%a: tensor<64xf32>):
      %r = nn.relu %a : (tensor<64xf32>) -> tensor<64xf32>
      nn.yield %r : tensor<64xf32>
    }
  }
}

// -----

plan.target "sm_90a" {
  plan.kernel @copied attributes {tensor_maps = [
      // expected-error@+1 {{the lists of a tensor map do not fit its rank}}
      #plan.tensor_map<argument = 0, type = f32, kind = tiled, dims = [64, 2],
          strides = [], box = [32, 2], element_strides = [1, 1]>]} {
  }
}

// -----

plan.target "sm_90a" {
  plan.kernel @copied attributes {tensor_maps = [
      // expected-error@+1 {{and an im2col one at least three}}
      #plan.tensor_map<argument = 0, type = f32, kind = im2col, dims = [64, 2],
          strides = [128], element_strides = [1, 1]>]} {
  }
}

// -----

plan.target "sm_90a" {
  plan.kernel @copied attributes {tensor_maps = [
      // expected-error@+1 {{a tensor map has no 'stride'}}
      #plan.tensor_map<argument = 0, type = f32, stride = [4]>]} {
  }
}

// -----

plan.target "sm_90a" {
  plan.kernel @copied attributes {tensor_maps = [
      // expected-error@+1 {{'rows' is no kind of tensor map}}
      #plan.tensor_map<argument = 0, type = f32, kind = rows>]} {
  }
}

// -----

plan.target "sm_90a" {
  plan.kernel @copied attributes {tensor_maps = [
      // expected-error@+1 {{a tensor map has five dimensions at most}}
      #plan.tensor_map<argument = 0, type = f32, dims = [4, 4, 4, 4, 4, 4]>]} {
  }
}

// -----

plan.target "sm_90a" {
  plan.kernel @copied attributes {tensor_maps = [
      // expected-error@+1 {{a tensor map is of integers or floats}}
      #plan.tensor_map<argument = 0, kind = tiled, dims = [64],
          strides = [], box = [32], element_strides = [1]>]} {
  }
}

// -----

plan.target "sm_90a" {
  plan.kernel @k {
  ^bb0(%a: tensor<4xf32>):
    %0 = nn.fusion(%a) : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%b: tensor<4xf32>):
      %r = nn.relu %b : (tensor<4xf32>) -> tensor<4xf32>
      nn.yield %r : tensor<4xf32>
    }
  }
  plan.command_list @main of "main" {
    %x = plan.buffer arena : memref<4xf32>
    %y = plan.buffer arena : memref<4xf32>
    plan.launch @k(%x) -> (%y) : memref<4xf32> -> memref<4xf32>
    // expected-error@+1 {{follows steps before it, in their order}}
    plan.launch @k(%y) -> (%x) {follows = array<i64: 1>} : memref<4xf32> -> memref<4xf32>
  }
}

// -----

plan.target "sm_90a" {
  plan.command_list @main of "main" {
    %x = plan.buffer arena : memref<4xf32>
    %y = plan.buffer arena : memref<4xf32>
    // expected-error@+1 {{follows steps before it, in their order}}
    plan.copy %x to %y {follows = array<i64: -1>} : memref<4xf32> to memref<4xf32>
  }
}

// -----

plan.target "sm_90a" {
  plan.command_list @main of "main" {
    %x = plan.buffer arena : memref<4xf32>
    %y = plan.buffer arena : memref<4xf32>
    plan.copy %x to %y : memref<4xf32> to memref<4xf32>
    plan.copy %x to %y : memref<4xf32> to memref<4xf32>
    // expected-error@+1 {{follows steps before it, in their order}}
    plan.copy %x to %y {follows = array<i64: 1, 0>} : memref<4xf32> to memref<4xf32>
  }
}

// -----

plan.target "sm_90a" {
  plan.command_list @main of "main" {
    %x = plan.buffer arena : memref<4xf32>
    // expected-error@+1 {{follows an array of i64, not 0 : i64}}
    plan.collective mean %x {follows = 0 : i64} : memref<4xf32>
  }
}

// -----

plan.target "sm_90a" {
  plan.command_list @main of "main" {
    %x = plan.buffer input[0] : memref<i1>
    %y = plan.buffer arena : memref<4xf32>
    plan.guard %x is true : memref<i1> {
      plan.copy %y to %y : memref<4xf32> to memref<4xf32>
    }
    // expected-error@+1 {{follows step 1, which is in a guard that this step is not in, or outside of this step's guard}}
    plan.copy %y to %y {follows = array<i64: 1>} : memref<4xf32> to memref<4xf32>
  }
}

// -----

plan.target "sm_90a" {
  plan.command_list @main of "main" {
    %x = plan.buffer input[0] : memref<i1>
    %y = plan.buffer arena : memref<4xf32>
    plan.copy %y to %y : memref<4xf32> to memref<4xf32>
    plan.guard %x is true : memref<i1> {
      // expected-error@+1 {{follows step 0, which is in a guard that this step is not in, or outside of this step's guard}}
      plan.copy %y to %y {follows = array<i64: 0, 1>} : memref<4xf32> to memref<4xf32>
    }
  }
}

// -----

plan.target "sm_90a" {
  plan.command_list @main of "main" {
    %x = plan.buffer input[0] : memref<i1>
    %y = plan.buffer arena : memref<4xf32>
    plan.guard %x is true : memref<i1> {
      // expected-error@+1 {{follows neither its guard nor a step in it}}
      plan.copy %y to %y {follows = array<i64>} : memref<4xf32> to memref<4xf32>
    }
  }
}

// -----

plan.target "sm_90a" {
  plan.command_list @prepare {
    %y = plan.buffer arena : memref<4xf32>
    // expected-error@+1 {{may not follow steps of its choice: prepare and derive lists run in order}}
    plan.copy %y to %y {follows = array<i64>} : memref<4xf32> to memref<4xf32>
  }
}

// -----

plan.target "sm_90a" {
  plan.command_list @main of "main" {
    %x = plan.buffer input[0] : memref<2xi1>
    // expected-error@+1 {{its condition is not a single i1 value}}
    plan.guard %x is true : memref<2xi1> {
    }
  }
}

// -----

plan.target "sm_90a" {
  plan.command_list @main of "main" {
    %x = plan.buffer input[0] : memref<i1>
    plan.guard %x is true : memref<i1> {
      // expected-error@+1 {{may not stand in a plan.guard}}
      %y = plan.buffer arena : memref<4xf32>
    }
  }
}

// -----

plan.target "sm_90a" {
  plan.command_list @main of "main" {
    %x = plan.buffer arena : memref<8xf16>
    // expected-error@+1 {{reads argument 1 and takes 1 inputs}}
    plan.attention(%x) -> (%x) {batch = 1, heads = 1, groups = 1, queries = 1,
        keys = 1, size = 8, value_size = 8, scale = 0.5 : f32,
        q = #plan.operand<argument = 0, strides = [0, 0, 0, 1]>,
        k = #plan.operand<argument = 0, strides = [0, 0, 0, 1]>,
        v = #plan.operand<argument = 1, strides = [0, 0, 0, 1]>,
        y = #plan.operand<argument = 1, strides = [0, 0, 0, 1]>}
        : memref<8xf16> -> memref<8xf16>
  }
}

// -----

plan.target "sm_90a" {
  plan.command_list @main of "main" {
    %x = plan.buffer arena : memref<8xf16>
    // expected-error@+1 {{writes argument 0 and its output is 1}}
    plan.attention(%x) -> (%x) {batch = 1, heads = 1, groups = 1, queries = 1,
        keys = 1, size = 8, value_size = 8, scale = 0.5 : f32,
        q = #plan.operand<argument = 0, strides = [0, 0, 0, 1]>,
        k = #plan.operand<argument = 0, strides = [0, 0, 0, 1]>,
        v = #plan.operand<argument = 0, strides = [0, 0, 0, 1]>,
        y = #plan.operand<argument = 0, strides = [0, 0, 0, 1]>}
        : memref<8xf16> -> memref<8xf16>
  }
}

// -----

plan.target "sm_90a" {
  plan.command_list @main of "main" {
    %x = plan.buffer arena : memref<8xf16>
    plan.attention(%x) -> (%x) {batch = 1, heads = 1, groups = 1, queries = 1,
        keys = 1, size = 8, value_size = 8, scale = 0.5 : f32,
        q = #plan.operand<argument = 0, strides = [0, 0, 0, 1]>,
        k = #plan.operand<argument = 0, strides = [0, 0, 0, 1]>,
        // expected-error@+1 {{an operand has four strides}}
        v = #plan.operand<argument = 0, strides = [0, 0, 0]>,
        y = #plan.operand<argument = 1, strides = [0, 0, 0, 1]>}
        : memref<8xf16> -> memref<8xf16>
  }
}

// -----

plan.target "x86-64" {
  plan.kernel @relu attributes {workspace_bytes = 256 : i64, workspaces = 2 : i64} {
  ^bb0(%x: tensor<4xf32>):
    %y = nn.fusion(%x) : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%a: tensor<4xf32>):
      %0 = nn.relu %a : (tensor<4xf32>) -> tensor<4xf32>
      nn.yield %0 : tensor<4xf32>
    }
  }
  plan.command_list @main of "main" {
    %x = plan.buffer arena : memref<4xf32>
    %w = plan.buffer arena : memref<511xi8>
    // expected-error@+1 {{has a workspace that is smaller than the 512 bytes @relu needs}}
    plan.launch @relu(%x) -> (%x) workspace(%w : memref<511xi8>)
        : memref<4xf32> -> memref<4xf32>
  }
}

// -----

plan.target "sm_90a" {
  plan.command_list @main of "main" {
    %x = plan.buffer arena : memref<4xf32>
    plan.gemm(%x, %x) -> (%x) {m = 2, n = 2, k = 2, batch = 1,
        ld = array<i64: 2, 2, 2>, batch_strides = array<i64: 0, 0, 0>,
        // expected-error@+1 {{'elu' is no activation}}
        activation = #plan<activation elu>}
        : memref<4xf32>, memref<4xf32> -> memref<4xf32>
  }
}

// -----

plan.target "sm_90a" {
  plan.command_list @main of "main" {
    %x = plan.buffer arena : memref<4xf32>
    plan.gemm(%x, %x) -> (%x) {m = 2, n = 2, k = 2, batch = 1,
        ld = array<i64: 2, 2, 2>, batch_strides = array<i64: 0, 0, 0>,
        // expected-error@+1 {{no library computes another activation}}
        activation = #plan<activation other>}
        : memref<4xf32>, memref<4xf32> -> memref<4xf32>
  }
}

// -----

plan.target "sm_90a" {
  plan.command_list @main of "main" {
    %dy = plan.buffer arena : memref<2x6x5x5xf32>
    %w = plan.buffer arena : memref<6x4x3x3xf32>
    %dx = plan.buffer arena : memref<2x4x5x5xf32>
    // expected-error@+1 {{is a gradient, which has no bias, residual or activation}}
    plan.conv(%dy, %w) -> (%dx) {strides = array<i64: 1, 1>,
        pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1,
        bias, pass = #plan<pass grad_input>}
        : memref<2x6x5x5xf32>, memref<6x4x3x3xf32> -> memref<2x4x5x5xf32>
  }
}

// -----

plan.target "sm_90a" {
  plan.command_list @main of "main" {
    %x = plan.buffer output[0] : memref<8xf32>
    // expected-error@+1 {{takes a buffer of f32 or bf16 in the arena}}
    plan.collective mean %x : memref<8xf32>
  }
}

// -----

plan.target "sm_90a" {
  plan.command_list @main of "main" {
    %x = plan.buffer arena : memref<8xf32>
    // expected-error@+1 {{takes rows of 4096 elements of f32 or bf16 in the arena}}
    plan.collective reduce_scatter %x : memref<8xf32>
  }
}

// -----

plan.target "sm_90a" {
  plan.command_list @main of "main" {
    %x = plan.buffer arena : memref<4096xbf16>
    // expected-error@+1 {{takes rows of 4096 elements of f32 in the arena or a state}}
    plan.collective all_gather %x : memref<4096xbf16>
  }
}

// -----

plan.target "sm_90a" {
  plan.kernel @k {
  ^bb0(%x: tensor<8192xf32>):
    %y = nn.fusion(%x) : (tensor<8192xf32>) -> tensor<8192xf32> {
    ^bb0(%a: tensor<8192xf32>):
      nn.yield %a : tensor<8192xf32>
    }
  }
  plan.command_list @main of "main" {
    %x = plan.buffer arena : memref<8192xf32>
    // expected-error@+1 {{has arguments without 1 rows of 4096 elements}}
    plan.launch @k(%x) -> (%x) {shard_rows = 1 : i64} : memref<8192xf32> -> memref<8192xf32>
  }
}

// -----

plan.target "sm_90a" {
  // expected-error@+1 {{takes 0 sets of arguments, not 1 to 64}}
  plan.kernel @k {
  ^bb0(%a: tensor<4xf32>):
    %0 = nn.fusion(%a) {plan.batch = 0 : i64} : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%b: tensor<4xf32>):
      %r = nn.relu %b : (tensor<4xf32>) -> tensor<4xf32>
      nn.yield %r : tensor<4xf32>
    }
  }
}

// -----

plan.target "sm_90a" {
  plan.kernel @k {
  ^bb0(%a: tensor<4xf32>):
    %0 = nn.fusion(%a) {plan.batch = 2 : i64} : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%b: tensor<4xf32>):
      %r = nn.relu %b : (tensor<4xf32>) -> tensor<4xf32>
      nn.yield %r : tensor<4xf32>
    }
  }
  plan.command_list @main of "main" {
    %x = plan.buffer arena : memref<4xf32>
    // expected-error@+1 {{@k takes 2 inputs and 2 outputs}}
    plan.launch @k(%x) -> (%x) : memref<4xf32> -> memref<4xf32>
  }
}

// -----

plan.target "sm_90a" {
  // expected-error@+1 {{is of no function, so it is called 'prepare' or 'derive'}}
  plan.command_list @main {
  }
}

// -----

plan.target "x86-64" {
  plan.command_list @main of "main" {
    %x = plan.buffer arena : memref<2x5x5x4xf32>
    %w = plan.buffer arena : memref<6x3x3x4xf32>
    %s = plan.buffer arena : memref<6xf32>
    %y = plan.buffer arena : memref<2x5x5x6xf32>
    // expected-error@+1 {{has an offset, scale or y_zero but is not quantized}}
    plan.conv(%x, %w, %s) -> (%y) {strides = array<i64: 1, 1>,
        pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 1,
        channels_last, scale}
        : memref<2x5x5x4xf32>, memref<6x3x3x4xf32>, memref<6xf32> -> memref<2x5x5x6xf32>
  }
}
