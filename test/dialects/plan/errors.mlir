// RUN: frit-opt %s -split-input-file -verify-diagnostics

plan.program @p "sm_90a" {
  plan.list @main {
    // expected-error@+1 {{inputs and outputs, and only they, have an index}}
    %x = plan.buffer input : memref<4xf32>
  }
}

// -----

plan.program @p "sm_90a" {
  plan.list @main {
    // expected-error@+1 {{constants, and only they, have a name}}
    %x = plan.buffer constant : memref<4xf32>
  }
}

// -----

plan.program @p "sm_90a" {
  plan.list @main {
    %x = plan.buffer arena : memref<4xf32>
    // expected-error@+1 {{reaches past the end of its buffer}}
    %v = plan.view %x at 8 : memref<4xf32> to memref<4xf32>
  }
}

// -----

plan.program @p "sm_90a" {
  plan.list @main {
    %x = plan.buffer arena : memref<4xf32>
    // expected-error@+1 {{@missing is no kernel of this program}}
    plan.launch @missing(%x) -> (%x) : memref<4xf32> -> memref<4xf32>
  }
}

// -----

plan.program @p "sm_90a" {
  plan.list @main {
    %x = plan.buffer arena : memref<4xf32>
    // expected-error@+1 {{takes 2 inputs and one output}}
    plan.gemm(%x) -> (%x) {m = 2, n = 2, k = 2, batch = 1,
        ld = array<i64: 2, 2, 2>, batch_strides = array<i64: 0, 0, 0>}
        : memref<4xf32> -> memref<4xf32>
  }
}

// -----

plan.program @p "sm_90a" {
  plan.list @main {
    %x = plan.buffer arena : memref<4xf32>
    %y = plan.buffer arena : memref<8xf32>
    // expected-error@+1 {{copies buffers of one size}}
    plan.copy %x to %y : memref<4xf32> to memref<8xf32>
  }
}

// -----

plan.program @p "sm_90a" {
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

plan.program @p "sm_90a" {
  plan.kernel @copied attributes {tensor_maps = [
      // expected-error@+1 {{the lists of a tensor map do not fit its rank}}
      #plan.tensor_map<argument = 0, type = f32, kind = tiled, dims = [64, 2],
          strides = [], box = [32, 2], element_strides = [1, 1]>]} {
  }
}

// -----

plan.program @p "sm_90a" {
  plan.kernel @copied attributes {tensor_maps = [
      // expected-error@+1 {{and an im2col one at least three}}
      #plan.tensor_map<argument = 0, type = f32, kind = im2col, dims = [64, 2],
          strides = [128], element_strides = [1, 1]>]} {
  }
}
