// RUN: frit-opt --pass-pipeline='builtin.module(func.func(read-unexpanded,canonicalize))' %s | FileCheck %s

// The rows' maxima are read as the reduction leaves them.

// CHECK: #[[ROW:.*]] = affine_map<(d0, d1) -> (d0)>
// CHECK-LABEL: func.func @rows(
// CHECK-SAME: %[[M:[^:]*]]: tensor<64xf32>
// CHECK-NOT: tensor.expand_shape
// CHECK: linalg.generic {indexing_maps = [#{{.*}}, #[[ROW]], #{{.*}}]{{.*}} ins(%{{.*}}, %[[M]] :
func.func @rows(%m: tensor<64xf32>, %x: tensor<64x256xf32>) -> tensor<64x256xf32> {
  %e = tensor.expand_shape %m [[0, 1]] output_shape [64, 1] : tensor<64xf32> into tensor<64x1xf32>
  %d = tensor.empty() : tensor<64x256xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, 0)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x, %e : tensor<64x256xf32>, tensor<64x1xf32>) outs(%d : tensor<64x256xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.subf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<64x256xf32>
  return %y : tensor<64x256xf32>
}

// Dimensions that are more than 1 stay.

// CHECK-LABEL: func.func @two(
// CHECK: tensor.expand_shape
func.func @two(%m: tensor<64xf32>) -> tensor<8x8xf32> {
  %e = tensor.expand_shape %m [[0, 1]] output_shape [8, 8] : tensor<64xf32> into tensor<8x8xf32>
  %d = tensor.empty() : tensor<8x8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%e : tensor<8x8xf32>) outs(%d : tensor<8x8xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.negf %a : f32
    linalg.yield %0 : f32
  } -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}

// Nor is an operand read otherwise that alone gives a loop its bounds.

// CHECK-LABEL: func.func @bounds(
// CHECK: tensor.expand_shape
func.func @bounds(%m: tensor<64xf32>, %s: tensor<64xf32>) -> tensor<64xf32> {
  %e = tensor.expand_shape %m [[0, 1]] output_shape [64, 1] : tensor<64xf32> into tensor<64x1xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%e : tensor<64x1xf32>) outs(%s : tensor<64xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  return %y : tensor<64xf32>
}
