// One loop nest per operator, in the form that kernels are printed from.
// RUN: frit-opt %s --lower-nn --canonicalize --cse -split-input-file | FileCheck %s

// 16-bit floats are stored, not computed with; operands broadcast by maps.
// CHECK-DAG: #[[ROW:.*]] = affine_map<(d0, d1) -> (d1)>
// CHECK-LABEL: @elementwise(
// CHECK: linalg.generic {indexing_maps = [#{{.*}}, #[[ROW]], #{{.*}}], iterator_types = ["parallel", "parallel"]}
// CHECK: %[[A:.*]] = arith.extf %{{.*}} : f16 to f32
// CHECK: %[[B:.*]] = arith.extf %{{.*}} : f16 to f32
// CHECK: %[[C:.*]] = arith.addf %[[A]], %[[B]] : f32
// CHECK: %[[D:.*]] = arith.truncf %[[C]] : f32 to f16
// CHECK: linalg.yield %[[D]] : f16
func.func @elementwise(%x: tensor<4x8xf16>, %y: tensor<8xf16>) -> tensor<4x8xf16> {
  %0 = nn.add %x, %y : (tensor<4x8xf16>, tensor<8xf16>) -> tensor<4x8xf16>
  return %0 : tensor<4x8xf16>
}

// -----

// Below nn, integers are signless; operations are signed or unsigned.
// CHECK-LABEL: @unsigned(%{{.*}}: tensor<4xi8>, %{{.*}}: tensor<4xi8>) -> tensor<4xi8>
// CHECK: arith.maxui
func.func @unsigned(%x: tensor<4xui8>, %y: tensor<4xui8>) -> tensor<4xui8> {
  %0 = nn.max %x, %y : (tensor<4xui8>, tensor<4xui8>) -> tensor<4xui8>
  return %0 : tensor<4xui8>
}

// -----

// Fusions are inlined.
// CHECK-LABEL: @fusion(
// CHECK-NOT: nn.
// CHECK: arith.negf
// CHECK: math.exp
// CHECK-NOT: nn.
func.func @fusion(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = nn.fusion(%x) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %1 = nn.neg %a : (tensor<4xf32>) -> tensor<4xf32>
    %2 = nn.exp %1 : (tensor<4xf32>) -> tensor<4xf32>
    nn.yield %2 : tensor<4xf32>
  }
  return %0 : tensor<4xf32>
}

// -----

// A reshape is views only.
// CHECK-LABEL: @reshape(
// CHECK-NEXT: tensor.collapse_shape
// CHECK-NEXT: tensor.expand_shape
// CHECK-NEXT: return
func.func @reshape(%x: tensor<4x6xf32>) -> tensor<3x8xf32> {
  %0 = nn.reshape %x {shape = array<i64: 3, 8>} : (tensor<4x6xf32>) -> tensor<3x8xf32>
  return %0 : tensor<3x8xf32>
}

// -----

// CHECK: #[[FROM:.*]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-LABEL: @transpose(
// CHECK: linalg.generic {indexing_maps = [#[[FROM]], #{{.*}}], iterator_types = ["parallel", "parallel"]}
func.func @transpose(%x: tensor<4x6xf32>) -> tensor<6x4xf32> {
  %0 = nn.transpose %x {perm = array<i64: 1, 0>} : (tensor<4x6xf32>) -> tensor<6x4xf32>
  return %0 : tensor<6x4xf32>
}

// -----

// A slice is an access map, except one that starts at 0, where linalg would
// take the operand's size as the loop's, and one that goes backwards, which
// tiling does not support.
// CHECK: #[[FROM:.*]] = affine_map<(d0, d1) -> (d0 + 1, d1 * 2 + 1)>
// CHECK-LABEL: @slice(
// CHECK: linalg.generic {indexing_maps = [#[[FROM]], #{{.*}}]
// CHECK: linalg.generic
// CHECK: tensor.extract %{{.*}}[%{{.*}}, %{{.*}}] : tensor<4x6xf32>
// CHECK-LABEL: @slice_backwards(
// CHECK: tensor.extract %{{.*}}[%{{.*}}, %{{.*}}] : tensor<4x6xf32>
func.func @slice(%x: tensor<4x6xf32>) -> (tensor<3x3xf32>, tensor<4x3xf32>) {
  %0 = nn.slice %x {starts = array<i64: 1, 1>, sizes = array<i64: 3, 3>, steps = array<i64: 1, 2>} : (tensor<4x6xf32>) -> tensor<3x3xf32>
  %1 = nn.slice %x {starts = array<i64: 0, 0>, sizes = array<i64: 4, 3>, steps = array<i64: 1, 1>} : (tensor<4x6xf32>) -> tensor<4x3xf32>
  return %0, %1 : tensor<3x3xf32>, tensor<4x3xf32>
}
func.func @slice_backwards(%x: tensor<4x6xf32>) -> tensor<3x3xf32> {
  %0 = nn.slice %x {starts = array<i64: 1, 5>, sizes = array<i64: 3, 3>, steps = array<i64: 1, -2>} : (tensor<4x6xf32>) -> tensor<3x3xf32>
  return %0 : tensor<3x3xf32>
}

// -----

// CHECK-LABEL: @concat(
// CHECK-DAG: %[[TWO:.*]] = arith.constant 2 : index
// CHECK: linalg.generic
// CHECK: %[[I:.*]] = linalg.index 0
// CHECK: %[[X:.*]] = tensor.extract %arg0
// CHECK: %[[Y:.*]] = tensor.extract %arg1
// CHECK: %[[C:.*]] = arith.cmpi slt, %[[I]], %[[TWO]]
// CHECK: arith.select %[[C]], %[[X]], %[[Y]]
// CHECK-NOT: linalg.generic
func.func @concat(%x: tensor<2xf32>, %y: tensor<3xf32>) -> tensor<5xf32> {
  %0 = nn.concat %x, %y {axis = 0 : si64} : (tensor<2xf32>, tensor<3xf32>) -> tensor<5xf32>
  return %0 : tensor<5xf32>
}

// -----

// A product accumulates in f32 and is rounded once.
// CHECK-LABEL: @matmul(
// CHECK: linalg.fill {{.*}} -> tensor<4x8xf32>
// CHECK: linalg.generic {{.*}}["parallel", "parallel", "reduction"]{{.*}} outs({{.*}} : tensor<4x8xf32>)
// CHECK: arith.mulf
// CHECK: arith.addf
// CHECK: linalg.generic {{.*}}["parallel", "parallel"]{{.*}} outs({{.*}} : tensor<4x8xf16>)
// CHECK: arith.truncf
func.func @matmul(%x: tensor<4x6xf16>, %y: tensor<6x8xf16>) -> tensor<4x8xf16> {
  %0 = nn.matmul %x, %y : (tensor<4x6xf16>, tensor<6x8xf16>) -> tensor<4x8xf16>
  return %0 : tensor<4x8xf16>
}

// -----

// A window inside the input is an access map; another one is clamped, and
// clamped elements are ignored.
// CHECK-DAG: affine_map<(d0, d1, d2, d3, d4) -> (d0, d3, d2 * 2 + d4)>
// CHECK-LABEL: @conv(
// CHECK: linalg.generic
// CHECK-NOT: tensor.extract
// CHECK: linalg.generic
// CHECK: arith.cmpi sge
// CHECK: arith.cmpi slt
// CHECK: arith.maxsi
// CHECK: arith.minsi
// CHECK: %[[E:.*]] = tensor.extract
// CHECK: arith.select %{{.*}}, %[[E]], %{{.*}} : f32
func.func @conv(%x: tensor<1x3x9xf32>, %w: tensor<4x3x3xf32>) -> (tensor<1x4x4xf32>, tensor<1x4x5xf32>) {
  %0 = nn.conv %x, %w {strides = array<i64: 2>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x3x9xf32>, tensor<4x3x3xf32>) -> tensor<1x4x4xf32>
  %1 = nn.conv %x, %w {strides = array<i64: 2>, pads = array<i64: 1, 1>, dilations = array<i64: 1>} : (tensor<1x3x9xf32>, tensor<4x3x3xf32>) -> tensor<1x4x5xf32>
  return %0, %1 : tensor<1x4x4xf32>, tensor<1x4x5xf32>
}

// -----

// Depthwise: each channel has its own loop over the window.
// CHECK-DAG: affine_map<(d0, d1, d2, d3) -> (d3, d2)>
// CHECK-LABEL: @depthwise_conv(
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "parallel", "reduction"]
// CHECK: arith.select
// CHECK: arith.extf
// CHECK: arith.mulf
// CHECK: arith.truncf
func.func @depthwise_conv(%x: tensor<5x6x4xf16>, %w: tensor<3x4xf16>) -> tensor<5x6x4xf16> {
  %0 = nn.depthwise_conv %x, %w {strides = array<i64: 1>, pads = array<i64: 1, 1>, dilations = array<i64: 1>} : (tensor<5x6x4xf16>, tensor<3x4xf16>) -> tensor<5x6x4xf16>
  return %0 : tensor<5x6x4xf16>
}

// -----

// CHECK-LABEL: @reduce(
// CHECK: linalg.fill {{.*}} -> tensor<4xf32>
// CHECK: linalg.generic {{.*}}["parallel", "reduction"]
// CHECK: arith.maximumf
// CHECK: tensor.expand_shape {{.*}} tensor<4xf32> into tensor<4x1xf32>
func.func @reduce(%x: tensor<4x8xf32>) -> tensor<4x1xf32> {
  %0 = nn.reduce %x {kind = #nn<combiner max>, axes = array<i64: 1>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  return %0 : tensor<4x1xf32>
}

// -----

// CHECK-LABEL: @pool(
// CHECK: tensor.empty() : tensor<3xf32>
// CHECK: linalg.generic {{.*}}["parallel", "parallel", "parallel", "reduction"]
// CHECK: arith.maximumf
func.func @pool(%x: tensor<1x3x9xf32>) -> tensor<1x3x7xf32> {
  %0 = nn.max_pool %x {window = array<i64: 3>, strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>, shape = array<i64: 7>} : (tensor<1x3x9xf32>) -> tensor<1x3x7xf32>
  return %0 : tensor<1x3x7xf32>
}

// -----

// Composites compute in f32: one cast in and one out.
// CHECK-LABEL: @softmax(
// CHECK-COUNT-1: arith.extf
// CHECK: arith.maximumf
// CHECK: arith.subf
// CHECK: math.exp
// CHECK: arith.addf
// CHECK: arith.divf
// CHECK-COUNT-1: arith.truncf
// CHECK-NOT: arith.truncf
func.func @softmax(%x: tensor<4x8xf16>) -> tensor<4x8xf16> {
  %0 = nn.softmax %x : (tensor<4x8xf16>) -> tensor<4x8xf16>
  return %0 : tensor<4x8xf16>
}
