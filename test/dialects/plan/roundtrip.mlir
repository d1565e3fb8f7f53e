// RUN: frit-opt %s | frit-opt | FileCheck %s

// CHECK: plan.target "sm_90a"
plan.target "sm_90a" {
  // CHECK: plan.kernel @relu
  // CHECK-SAME: source = #plan.source<header = "map", text = "a\0Ab", milliseconds = 20>
  plan.kernel @relu attributes {grid = array<i64: 1, 1, 1>,
      source = #plan.source<header = "map", text = "a\0Ab", milliseconds = 20>} {
  ^bb0(%x: tensor<4xf32>):
    %y = nn.fusion(%x) : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%a: tensor<4xf32>):
      %0 = nn.relu %a : (tensor<4xf32>) -> tensor<4xf32>
      nn.yield %0 : tensor<4xf32>
    }
  }
  // CHECK: plan.kernel @copied attributes
  // CHECK-SAME: flops = 8
  // CHECK-SAME: #plan.tensor_map<argument = 0, type = f32, kind = tiled,
  // CHECK-SAME: dims = [64, 5], strides = [256], box = [32, 8],
  // CHECK-SAME: element_strides = [1, 1], swizzle = 128>
  // CHECK-SAME: #plan.tensor_map<argument = 1, offset = 16, type = f32,
  // CHECK-SAME: kind = im2col, dims = [4, 4, 4, 5], strides = [16, 64, 256],
  // CHECK-SAME: element_strides = [1, 2, 2, 1], lower = [-1, -1],
  // CHECK-SAME: upper = [-1, -1], channels = 4, pixels = 64>
  // CHECK-SAME: waits
  plan.kernel @copied attributes {flops = 8 : i64, waits, tensor_maps = [
      #plan.tensor_map<argument = 0, type = f32, kind = tiled, dims = [64, 5],
          strides = [256], box = [32, 8], element_strides = [1, 1],
          swizzle = 128>,
      #plan.tensor_map<argument = 1, offset = 16, type = f32, kind = im2col,
          dims = [4, 4, 4, 5], strides = [16, 64, 256],
          element_strides = [1, 2, 2, 1], lower = [-1, -1], upper = [-1, -1],
          channels = 4, pixels = 64>]} {
  ^bb0(%x: tensor<5x64xf32>):
    %y = nn.fusion(%x) : (tensor<5x64xf32>) -> tensor<5x64xf32> {
    ^bb0(%a: tensor<5x64xf32>):
      nn.yield %a : tensor<5x64xf32>
    }
  }
  // CHECK: plan.command_list @main
  plan.command_list @main of "main" {
    // CHECK: plan.buffer input[0] : memref<2x2xf32>
    %x = plan.buffer input[0] : memref<2x2xf32>
    // CHECK: plan.buffer constant "w" : memref<2x8xf32>
    %w = plan.buffer constant "w" : memref<2x8xf32>
    // CHECK: plan.buffer arena at 256 : memref<2x8xf32>
    %d = plan.buffer arena at 256 : memref<2x8xf32>
    // CHECK: plan.view %{{.*}} at 16 : memref<2x8xf32> to memref<4xf32>
    %v = plan.view %d at 16 : memref<2x8xf32> to memref<4xf32>
    %y = plan.buffer output[0] : memref<4xf32>
    // CHECK: plan.gemm(%{{.*}}, %{{.*}}) -> (%{{.*}})
    // CHECK-SAME: activation = #plan<activation gelu_tanh>
    plan.gemm(%x, %w) -> (%d) {m = 2, n = 8, k = 2, batch = 1,
        activation = #plan<activation gelu_tanh>,
        ld = array<i64: 2, 8, 8>, batch_strides = array<i64: 0, 0, 0>}
        : memref<2x2xf32>, memref<2x8xf32> -> memref<2x8xf32>
    // CHECK: plan.attention(%{{.*}}) -> (%{{.*}}) workspace(%{{.*}} : memref<64xi8>)
    // CHECK-SAME: causal
    // CHECK-SAME: k = #plan.operand<argument = 0, offset = 8, strides = [0, 0, 24, 1]>
    // CHECK-SAME: q = #plan.operand<argument = 0, strides = [0, 0, 24, 1]>
    // CHECK-SAME: y = #plan.operand<argument = 1, strides = [0, 0, 8, 1]>
    %qkv = plan.buffer arena : memref<5x24xf16>
    %o = plan.buffer arena : memref<5x8xf16>
    %s = plan.buffer arena : memref<64xi8>
    plan.attention(%qkv) -> (%o) workspace(%s : memref<64xi8>) {batch = 1,
        heads = 1, groups = 1, queries = 5, keys = 5, size = 8, value_size = 8,
        scale = 0.5 : f32, causal,
        q = #plan.operand<argument = 0, strides = [0, 0, 24, 1]>,
        k = #plan.operand<argument = 0, offset = 8, strides = [0, 0, 24, 1]>,
        v = #plan.operand<argument = 0, offset = 16, strides = [0, 0, 24, 1]>,
        y = #plan.operand<argument = 1, strides = [0, 0, 8, 1]>}
        : memref<5x24xf16> -> memref<5x8xf16>
    // CHECK: plan.launch @relu(%{{.*}}) -> (%{{.*}})
    plan.launch @relu(%v) -> (%y) : memref<4xf32> -> memref<4xf32>
    // CHECK: %[[c:.*]] = plan.buffer input[1] : memref<1xi1>
    %c = plan.buffer input[1] : memref<1xi1>
    // CHECK: plan.guard %[[c]] is false : memref<1xi1> {
    plan.guard %c is false : memref<1xi1> {
      // CHECK-NEXT: plan.guard %[[c]] is true : memref<1xi1> {
      plan.guard %c is true : memref<1xi1> {
        // CHECK-NEXT: plan.launch @relu
        plan.launch @relu(%v) -> (%y) : memref<4xf32> -> memref<4xf32>
      }
    }
  }
}

// CHECK: plan.constant @fc.weight
plan.constant @fc.weight dense<1.0> : tensor<2x3xf32>
// CHECK: plan.state @params.0 at 256 : tensor<16xf32> [
// CHECK-SAME: #plan.member<name = "fc.weight", offset = 0, type = tensor<2x3xf32>, initial = @fc.weight>,
// CHECK-SAME: #plan.member<name = "fc.bias", offset = 8, type = tensor<3xf32>>]
plan.state @params.0 at 256 : tensor<16xf32> [
    #plan.member<name = "fc.weight", offset = 0, type = tensor<2x3xf32>,
                 initial = @fc.weight>,
    #plan.member<name = "fc.bias", offset = 8, type = tensor<3xf32>>]
// CHECK: plan.state @params.0.f16 {derived_from = @params.0} : tensor<16xf16> []
plan.state @params.0.f16 {derived_from = @params.0} : tensor<16xf16> []
// CHECK: plan.state @step : tensor<i64> [
plan.state @step : tensor<i64> [
    #plan.member<name = "step", offset = 0, type = tensor<i64>>]

// CHECK: plan.function "train_step" inputs ["x"] outputs ["loss"]
plan.function "train_step" inputs ["x"] outputs ["loss"]
// CHECK: plan.target "sm_90a"
plan.target "sm_90a" {
  // CHECK: plan.command_list @train_step of "train_step"
  plan.command_list @train_step of "train_step" {
    // CHECK: %[[p:.*]] = plan.buffer state "params.0" : memref<16xf32>
    %p = plan.buffer state "params.0" : memref<16xf32>
    // CHECK: plan.buffer state "step" : memref<i64>
    %s = plan.buffer state "step" : memref<i64>
    // CHECK: plan.view %[[p]] at 32 : memref<16xf32> to memref<3xf32>
    %v = plan.view %p at 32 : memref<16xf32> to memref<3xf32>
    %y = plan.buffer output[0] : memref<3xf32>
    plan.copy %v to %y : memref<3xf32> to memref<3xf32>
  }
}
