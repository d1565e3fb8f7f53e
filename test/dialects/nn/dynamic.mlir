// Sizes may be unknown: known sizes win, and declared ones must be compatible.
// RUN: frit-opt %s | FileCheck %s

// CHECK-LABEL: @known_sizes_win
func.func @known_sizes_win(%x: tensor<?x3xf32>, %y: tensor<2x1xf32>) -> tensor<2x3xf32> {
  // CHECK: nn.add
  %0 = nn.add %x, %y : (tensor<?x3xf32>, tensor<2x1xf32>) -> tensor<2x3xf32>
  return %0 : tensor<2x3xf32>
}

// CHECK-LABEL: @declared
func.func @declared(%x: tensor<?x3xf32>, %w: tensor<3x?xf32>) -> tensor<2x?xf32> {
  // CHECK: nn.matmul {{.*}} -> tensor<2x?xf32>
  %0 = nn.matmul %x, %w : (tensor<?x3xf32>, tensor<3x?xf32>) -> tensor<2x?xf32>
  return %0 : tensor<2x?xf32>
}

// CHECK-LABEL: @batch
func.func @batch(%x: tensor<?x3x8x8xf32>, %w: tensor<4x3x3x3xf32>, %c: tensor<4xf32>) -> tensor<?x4xf32> {
  %0 = nn.conv %x, %w, %c {strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<?x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<?x4x4x4xf32>
  %1 = nn.batch_norm %0, %c, %c, %c, %c : (tensor<?x4x4x4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x4x4x4xf32>
  %2 = nn.max_pool %1 {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, shape = array<i64: 2, 2>} : (tensor<?x4x4x4xf32>) -> tensor<?x4x2x2xf32>
  %3 = nn.reduce_mean %2 {axes = array<i64: 2, 3>} : (tensor<?x4x2x2xf32>) -> tensor<?x4x1x1xf32>
  // CHECK: nn.reshape {{.*}} -> tensor<?x4xf32>
  %4 = nn.reshape %3 {shape = array<i64: -9223372036854775808, 4>} : (tensor<?x4x1x1xf32>) -> tensor<?x4xf32>
  %5 = nn.softmax %4 : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return %5 : tensor<?x4xf32>
}

// CHECK-LABEL: @movement
func.func @movement(%x: tensor<?x3xf32>, %y: tensor<2x3xf32>, %i: tensor<?xi64>) -> tensor<?x3xf32> {
  // CHECK: nn.concat {{.*}} -> tensor<?x3xf32>
  %0 = nn.concat %x, %y {axis = 0 : si64} : (tensor<?x3xf32>, tensor<2x3xf32>) -> tensor<?x3xf32>
  // CHECK: nn.pad {{.*}} -> tensor<?x5xf32>
  %1 = nn.pad %0 {low = array<i64: 1, 1>, high = array<i64: 0, 1>} : (tensor<?x3xf32>) -> tensor<?x5xf32>
  // CHECK: nn.gather {{.*}} -> tensor<?x?xf32>
  %2 = nn.gather %1, %i {axis = 1 : si64} : (tensor<?x5xf32>, tensor<?xi64>) -> tensor<?x?xf32>
  return %0 : tensor<?x3xf32>
}
