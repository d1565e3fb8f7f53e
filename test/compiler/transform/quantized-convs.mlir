// Products of quantized tensors become one operator, with what follows them up
// to the quantization of the result.
// RUN: frit-opt %s --quantized-convs --cse -split-input-file | FileCheck %s

// A convolution between dequantizations and a quantization, whose scales are
// multiplied, and whose channels are put last.
// CHECK-LABEL: func @qdq
// CHECK-SAME: %[[Q:.*]]: tensor<1x3x8x8xui8>
// CHECK-DAG: %[[W:.*]] = nn.constant "w"
// CHECK-DAG: %[[B:.*]] = nn.constant "b"
// CHECK-DAG: %[[S:.*]] = nn.constant "s"
// CHECK-DAG: %[[T:.*]] = nn.constant "t"
// CHECK-DAG: %[[U:.*]] = nn.constant "u"
// CHECK-DAG: %[[XZ:.*]] = nn.constant dense<117> : tensor<ui8>
// CHECK-DAG: %[[WZ:.*]] = nn.constant dense<0> : tensor<i8>
// CHECK-DAG: %[[YZ:.*]] = nn.constant dense<3> : tensor<ui8>
// CHECK-DAG: %[[ST:.*]] = nn.mul %[[S]], %{{.*}}
// CHECK-DAG: %[[SCALE:.*]] = nn.div %[[ST]], %[[U]]
// CHECK-DAG: %[[BIAS:.*]] = nn.div %[[B]], %[[U]]
// CHECK-DAG: %[[X:.*]] = nn.transpose %[[Q]] {perm = array<i64: 0, 2, 3, 1>}
// CHECK-DAG: %[[F:.*]] = nn.transpose %[[W]] {perm = array<i64: 0, 2, 3, 1>}
// CHECK: %[[Y:.*]] = nn.quantized_conv %[[X]], %[[F]], %[[XZ]], %[[WZ]], %[[SCALE]], %[[BIAS]], %[[YZ]]
// CHECK-SAME: operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 1, 1, 1>, pads = array<i64: 1, 1, 1, 1>, relu
// CHECK-SAME: -> tensor<1x8x8x4xui8>
// CHECK: nn.transpose %[[Y]] {perm = array<i64: 0, 3, 1, 2>}
// CHECK-NOT: nn.conv
func.func @qdq(%q: tensor<1x3x8x8xui8>) -> tensor<1x4x8x8xui8> {
  %w = nn.constant "w" dense<7> : tensor<4x3x3x3xi8>
  %b = nn.constant "b" dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %s = nn.constant "s" dense<0.5> : tensor<f32>
  %t = nn.constant "t" dense<[0.1, 0.2, 0.3, 0.4]> : tensor<4xf32>
  %u = nn.constant "u" dense<0.7> : tensor<f32>
  %xz = nn.constant dense<117> : tensor<i32>
  %yz = nn.constant dense<3.0> : tensor<f32>
  %low = nn.constant dense<0.0> : tensor<f32>
  %high = nn.constant dense<255.0> : tensor<f32>
  %0 = nn.cast %q {to = i32} : (tensor<1x3x8x8xui8>) -> tensor<1x3x8x8xi32>
  %1 = nn.sub %0, %xz : (tensor<1x3x8x8xi32>, tensor<i32>) -> tensor<1x3x8x8xi32>
  %2 = nn.cast %1 {to = f32} : (tensor<1x3x8x8xi32>) -> tensor<1x3x8x8xf32>
  %x = nn.mul %2, %s : (tensor<1x3x8x8xf32>, tensor<f32>) -> tensor<1x3x8x8xf32>
  %3 = nn.cast %w {to = f32} : (tensor<4x3x3x3xi8>) -> tensor<4x3x3x3xf32>
  %4 = nn.reshape %t {shape = array<i64: 4, 1, 1, 1>} : (tensor<4xf32>) -> tensor<4x1x1x1xf32>
  %f = nn.mul %3, %4 : (tensor<4x3x3x3xf32>, tensor<4x1x1x1xf32>) -> tensor<4x3x3x3xf32>
  %y = nn.conv %x, %f, %b {strides = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>} : (tensor<1x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<1x4x8x8xf32>
  %r = nn.relu %y : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %5 = nn.div %r, %u : (tensor<1x4x8x8xf32>, tensor<f32>) -> tensor<1x4x8x8xf32>
  %6 = nn.round %5 : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xf32>
  %7 = nn.add %6, %yz : (tensor<1x4x8x8xf32>, tensor<f32>) -> tensor<1x4x8x8xf32>
  %8 = nn.max %7, %low : (tensor<1x4x8x8xf32>, tensor<f32>) -> tensor<1x4x8x8xf32>
  %9 = nn.min %8, %high : (tensor<1x4x8x8xf32>, tensor<f32>) -> tensor<1x4x8x8xf32>
  %p = nn.cast %9 {to = ui8} : (tensor<1x4x8x8xf32>) -> tensor<1x4x8x8xui8>
  return %p : tensor<1x4x8x8xui8>
}

// -----

// A dynamically quantized product: its zero point and scale are computed. The
// matrix on the right is transposed when the model opens.
// CHECK-LABEL: func @dynamic
// CHECK-SAME: %[[Q:.*]]: tensor<2x3x8xui8>, %[[Z:.*]]: tensor<ui8>, %[[S:.*]]: tensor<f32>
// CHECK-DAG: %[[X:.*]] = nn.reshape %[[Q]] {shape = array<i64: 6, 8>}
// CHECK-DAG: %[[W:.*]] = nn.transpose %{{.*}} {perm = array<i64: 1, 0>} : (tensor<8x5xi8>)
// CHECK: %[[Y:.*]] = nn.quantized_conv %[[X]], %[[W]], %[[Z]], %{{.*}}, %[[S]], %{{.*}} -> tensor<6x5xf32>
// CHECK: nn.reshape %[[Y]] {shape = array<i64: 2, 3, 5>}
func.func @dynamic(%q: tensor<2x3x8xui8>, %z: tensor<ui8>, %s: tensor<f32>) -> tensor<2x3x5xf32> {
  %w = nn.constant "w" dense<7> : tensor<8x5xi8>
  %b = nn.constant "b" dense<[1.0, 2.0, 3.0, 4.0, 5.0]> : tensor<5xf32>
  %0 = nn.cast %q {to = i32} : (tensor<2x3x8xui8>) -> tensor<2x3x8xi32>
  %1 = nn.cast %z {to = i32} : (tensor<ui8>) -> tensor<i32>
  %2 = nn.sub %0, %1 : (tensor<2x3x8xi32>, tensor<i32>) -> tensor<2x3x8xi32>
  %3 = nn.cast %w {to = i32} : (tensor<8x5xi8>) -> tensor<8x5xi32>
  %4 = nn.matmul %2, %3 : (tensor<2x3x8xi32>, tensor<8x5xi32>) -> tensor<2x3x5xi32>
  %5 = nn.cast %4 {to = f32} : (tensor<2x3x5xi32>) -> tensor<2x3x5xf32>
  %6 = nn.mul %5, %s : (tensor<2x3x5xf32>, tensor<f32>) -> tensor<2x3x5xf32>
  %7 = nn.add %b, %6 : (tensor<5xf32>, tensor<2x3x5xf32>) -> tensor<2x3x5xf32>
  return %7 : tensor<2x3x5xf32>
}

// -----

// Zero points that differ by filter, a scale along the depth, and a second
// reader of what would become a part.
// CHECK-LABEL: func @others
// CHECK: nn.matmul
// CHECK: nn.matmul
// CHECK: nn.quantized_conv %{{.*}} -> tensor<6x5xi32>
// CHECK: nn.cast %{{.*}} {to = f32}
func.func @others(%q: tensor<6x8xui8>) -> (tensor<6x5xi32>, tensor<6x5xf32>, tensor<6x5xi32>, tensor<6x5xf32>) {
  %w = nn.constant "w" dense<7> : tensor<8x5xi8>
  %s = nn.constant "s" dense<0.5> : tensor<8x1xf32>
  %wz = nn.constant dense<[1, 2, 3, 4, 5]> : tensor<5xi32>
  %0 = nn.cast %q {to = i32} : (tensor<6x8xui8>) -> tensor<6x8xi32>
  %1 = nn.cast %w {to = i32} : (tensor<8x5xi8>) -> tensor<8x5xi32>
  %2 = nn.sub %1, %wz : (tensor<8x5xi32>, tensor<5xi32>) -> tensor<8x5xi32>
  %3 = nn.matmul %0, %2 : (tensor<6x8xi32>, tensor<8x5xi32>) -> tensor<6x5xi32>
  %4 = nn.cast %q {to = f32} : (tensor<6x8xui8>) -> tensor<6x8xf32>
  %5 = nn.cast %w {to = f32} : (tensor<8x5xi8>) -> tensor<8x5xf32>
  %6 = nn.mul %5, %s : (tensor<8x5xf32>, tensor<8x1xf32>) -> tensor<8x5xf32>
  %7 = nn.matmul %4, %6 : (tensor<6x8xf32>, tensor<8x5xf32>) -> tensor<6x5xf32>
  %8 = nn.matmul %0, %1 : (tensor<6x8xi32>, tensor<8x5xi32>) -> tensor<6x5xi32>
  %9 = nn.cast %8 {to = f32} : (tensor<6x5xi32>) -> tensor<6x5xf32>
  return %3, %7, %8, %9 : tensor<6x5xi32>, tensor<6x5xf32>, tensor<6x5xi32>, tensor<6x5xf32>
}

// -----

// A pool of a dequantized tensor is one of its bytes, but not with a scale that
// turns maxima into minima.
// CHECK-LABEL: func @pool
// CHECK: %[[P:.*]] = nn.max_pool %arg0 {{.*}} : (tensor<1x2x8x8xui8>) -> tensor<1x2x4x4xui8>
// CHECK: %[[I:.*]] = nn.cast %[[P]] {to = i32}
// CHECK: %[[C:.*]] = nn.sub %[[I]]
// CHECK: %[[F:.*]] = nn.cast %[[C]] {to = f32}
// CHECK: %[[Y:.*]] = nn.mul %[[F]]
// CHECK: nn.max_pool {{.*}} -> tensor<1x2x4x4xf32>
// CHECK: return %[[Y]]
func.func @pool(%q: tensor<1x2x8x8xui8>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>) {
  %s = nn.constant dense<0.5> : tensor<f32>
  %t = nn.constant dense<-0.5> : tensor<f32>
  %z = nn.constant dense<3> : tensor<i32>
  %0 = nn.cast %q {to = i32} : (tensor<1x2x8x8xui8>) -> tensor<1x2x8x8xi32>
  %1 = nn.sub %0, %z : (tensor<1x2x8x8xi32>, tensor<i32>) -> tensor<1x2x8x8xi32>
  %2 = nn.cast %1 {to = f32} : (tensor<1x2x8x8xi32>) -> tensor<1x2x8x8xf32>
  %x = nn.mul %2, %s : (tensor<1x2x8x8xf32>, tensor<f32>) -> tensor<1x2x8x8xf32>
  %y = nn.mul %2, %t : (tensor<1x2x8x8xf32>, tensor<f32>) -> tensor<1x2x8x8xf32>
  %p = nn.max_pool %x {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, shape = array<i64: 4, 4>} : (tensor<1x2x8x8xf32>) -> tensor<1x2x4x4xf32>
  %r = nn.max_pool %y {window = array<i64: 2, 2>, strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, shape = array<i64: 4, 4>} : (tensor<1x2x8x8xf32>) -> tensor<1x2x4x4xf32>
  return %p, %r : tensor<1x2x4x4xf32>, tensor<1x2x4x4xf32>
}

// -----

// A dequantized tensor is moved as bytes, if it has one scale.
// CHECK-LABEL: func @moved
// CHECK-SAME: %[[Q:.*]]: tensor<8x1x2x2xui8>
// CHECK-DAG: %[[P:.*]] = nn.transpose %[[Q]] {perm = array<i64: 1, 0, 2, 3>}
// CHECK-DAG: %[[X:.*]] = nn.reshape %[[P]] {{.*}} -> tensor<1x32xui8>
// CHECK: nn.quantized_conv %[[X]],
// CHECK-NOT: nn.matmul
func.func @moved(%q: tensor<8x1x2x2xui8>) -> tensor<1x4xf32> {
  %w = nn.constant "w" dense<7> : tensor<32x4xi8>
  %s = nn.constant "s" dense<0.5> : tensor<f32>
  %t = nn.constant "t" dense<[0.1, 0.2, 0.3, 0.4]> : tensor<4xf32>
  %0 = nn.cast %q {to = f32} : (tensor<8x1x2x2xui8>) -> tensor<8x1x2x2xf32>
  %1 = nn.mul %0, %s : (tensor<8x1x2x2xf32>, tensor<f32>) -> tensor<8x1x2x2xf32>
  %2 = nn.transpose %1 {perm = array<i64: 1, 0, 2, 3>} : (tensor<8x1x2x2xf32>) -> tensor<1x8x2x2xf32>
  %x = nn.reshape %2 {shape = array<i64: 1, 32>} : (tensor<1x8x2x2xf32>) -> tensor<1x32xf32>
  %3 = nn.cast %w {to = f32} : (tensor<32x4xi8>) -> tensor<32x4xf32>
  %f = nn.mul %3, %t : (tensor<32x4xf32>, tensor<4xf32>) -> tensor<32x4xf32>
  %y = nn.matmul %x, %f : (tensor<1x32xf32>, tensor<32x4xf32>) -> tensor<1x4xf32>
  return %y : tensor<1x4xf32>
}

// -----

// Scales that differ along a dimension are not.
// CHECK-LABEL: func @moved_scales
// CHECK: nn.matmul
func.func @moved_scales(%q: tensor<8x4xui8>) -> tensor<1x4xf32> {
  %w = nn.constant "w" dense<7> : tensor<32x4xi8>
  %s = nn.constant "s" dense<[0.1, 0.2, 0.3, 0.4]> : tensor<4xf32>
  %t = nn.constant "t" dense<[0.1, 0.2, 0.3, 0.4]> : tensor<4xf32>
  %0 = nn.cast %q {to = f32} : (tensor<8x4xui8>) -> tensor<8x4xf32>
  %1 = nn.mul %0, %s : (tensor<8x4xf32>, tensor<4xf32>) -> tensor<8x4xf32>
  %x = nn.reshape %1 {shape = array<i64: 1, 32>} : (tensor<8x4xf32>) -> tensor<1x32xf32>
  %3 = nn.cast %w {to = f32} : (tensor<32x4xi8>) -> tensor<32x4xf32>
  %f = nn.mul %3, %t : (tensor<32x4xf32>, tensor<4xf32>) -> tensor<32x4xf32>
  %y = nn.matmul %x, %f : (tensor<1x32xf32>, tensor<32x4xf32>) -> tensor<1x4xf32>
  return %y : tensor<1x4xf32>
}

// -----

// A quantization by the scale and zero point that a tensor was dequantized by
// gives its bytes; one by others does not.
// CHECK-LABEL: func @again
// CHECK-SAME: %[[Q:.*]]: tensor<4x8xui8>
// CHECK: %[[R:.*]] = nn.cast %{{.*}} {to = ui8}
// CHECK: return %[[Q]], %[[R]]
func.func @again(%q: tensor<4x8xui8>) -> (tensor<4x8xui8>, tensor<4x8xui8>) {
  %s = nn.constant dense<0.3> : tensor<f32>
  %t = nn.constant dense<0.4> : tensor<f32>
  %z = nn.constant dense<3> : tensor<i32>
  %y = nn.constant dense<3.0> : tensor<f32>
  %low = nn.constant dense<0.0> : tensor<f32>
  %high = nn.constant dense<255.0> : tensor<f32>
  %0 = nn.cast %q {to = i32} : (tensor<4x8xui8>) -> tensor<4x8xi32>
  %1 = nn.sub %0, %z : (tensor<4x8xi32>, tensor<i32>) -> tensor<4x8xi32>
  %2 = nn.cast %1 {to = f32} : (tensor<4x8xi32>) -> tensor<4x8xf32>
  %x = nn.mul %2, %s : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %3 = nn.div %x, %s : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %4 = nn.round %3 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %5 = nn.add %4, %y : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %6 = nn.max %5, %low : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %7 = nn.min %6, %high : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %8 = nn.cast %7 {to = ui8} : (tensor<4x8xf32>) -> tensor<4x8xui8>
  %9 = nn.div %x, %t : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %10 = nn.round %9 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %11 = nn.add %10, %y : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %12 = nn.max %11, %low : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %13 = nn.min %12, %high : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  %14 = nn.cast %13 {to = ui8} : (tensor<4x8xf32>) -> tensor<4x8xui8>
  return %8, %14 : tensor<4x8xui8>, tensor<4x8xui8>
}
