// RUN: frit-opt %s --decompose | FileCheck %s

// The gradient of upsampling by two: two gathers of every second row.
// CHECK-LABEL: func.func @nearest
// CHECK-DAG: %[[EVEN:.*]] = nn.constant dense<[0, 2, 4]>
// CHECK-DAG: %[[ODD:.*]] = nn.constant dense<[1, 3, 5]>
// CHECK-DAG: nn.gather %{{.*}}, %[[EVEN]] {axis = 1
// CHECK-DAG: nn.gather %{{.*}}, %[[ODD]] {axis = 1
// CHECK-NOT: nn.merge_places
func.func @nearest(%dy: tensor<2x6x5xbf16>) -> tensor<2x3x5xbf16> {
  %i = nn.constant dense<[0, 0, 1, 1, 2, 2]> : tensor<6xi64>
  %dx = nn.gather_grad %dy, %i {size = 3 : i64, axis = 1 : i64} : (tensor<2x6x5xbf16>, tensor<6xi64>) -> tensor<2x3x5xbf16>
  return %dx : tensor<2x3x5xbf16>
}

// Rows that occur less often than others get zeros.
// CHECK-LABEL: func.func @uneven
// CHECK-DAG: nn.constant dense<[true, false, true, false]>
// CHECK: nn.where
// CHECK-NOT: nn.merge_places
func.func @uneven(%dy: tensor<3x5xf32>) -> tensor<4x5xf32> {
  %i = nn.constant dense<[0, -2, 2]> : tensor<3xi64>
  %dx = nn.gather_grad %dy, %i {size = 4 : i64, axis = 0 : i64} : (tensor<3x5xf32>, tensor<3xi64>) -> tensor<4x5xf32>
  return %dx : tensor<4x5xf32>
}

// With more than a few rows of an index, or unknown ones, rows are sorted.
// CHECK-LABEL: func.func @often
// CHECK: nn.merge_places
func.func @often(%dy: tensor<9x5xf32>) -> tensor<8x5xf32> {
  %i = nn.constant dense<3> : tensor<9xi64>
  %dx = nn.gather_grad %dy, %i {size = 8 : i64, axis = 0 : i64} : (tensor<9x5xf32>, tensor<9xi64>) -> tensor<8x5xf32>
  return %dx : tensor<8x5xf32>
}
