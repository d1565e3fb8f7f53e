// RUN: frit-opt %s | frit-opt | FileCheck %s

// CHECK: plan.program @tiny "sm_90a"
plan.program @tiny "sm_90a" {
  // CHECK: plan.kernel @relu
  plan.kernel @relu attributes {grid = array<i64: 1, 1, 1>} {
  ^bb0(%x: tensor<4xf32>):
    %y = nn.fusion(%x) : (tensor<4xf32>) -> tensor<4xf32> {
    ^bb0(%a: tensor<4xf32>):
      %0 = nn.relu %a : (tensor<4xf32>) -> tensor<4xf32>
      nn.yield %0 : tensor<4xf32>
    }
  }
  // CHECK: plan.list @main
  plan.list @main {
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
    plan.gemm(%x, %w) -> (%d) {m = 2, n = 8, k = 2, batch = 1,
        ld = array<i64: 2, 8, 8>, batch_strides = array<i64: 0, 0, 0>}
        : memref<2x2xf32>, memref<2x8xf32> -> memref<2x8xf32>
    // CHECK: plan.launch @relu(%{{.*}}) -> (%{{.*}})
    plan.launch @relu(%v) -> (%y) : memref<4xf32> -> memref<4xf32>
  }
}
