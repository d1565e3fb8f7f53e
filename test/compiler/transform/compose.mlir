// RUN: frit-opt %s --compose | FileCheck %s

// Batch norm is folded into the convolution before it.
// CHECK-LABEL: func.func @batch_norm
// CHECK-NOT:     nn.batch_norm
// CHECK:         %[[I:.*]] = nn.mul %{{.*}}, %{{.*}} : (tensor<2xf32>, tensor<2xf32>)
// CHECK:         %[[R:.*]] = nn.reshape %[[I]] {shape = array<i64: 2, 1, 1, 1>}
// CHECK:         %[[W:.*]] = nn.mul {{.*}}%[[R]]{{.*}} -> tensor<2x1x3x3xf32>
// CHECK:         nn.conv %{{.*}}, %[[W]], %{{.*}}
func.func @batch_norm(%x: tensor<1x1x8x8xf32>) -> tensor<1x2x6x6xf32> {
  %w = nn.constant "w" dense<1.0> : tensor<2x1x3x3xf32>
  %s = nn.constant "s" dense<[1.0, 2.0]> : tensor<2xf32>
  %b = nn.constant "b" dense<[1.0, 2.0]> : tensor<2xf32>
  %m = nn.constant "m" dense<[1.0, 2.0]> : tensor<2xf32>
  %v = nn.constant "v" dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = nn.conv %x, %w {dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x1x8x8xf32>, tensor<2x1x3x3xf32>) -> tensor<1x2x6x6xf32>
  %1 = nn.batch_norm %0, %s, %b, %m, %v : (tensor<1x2x6x6xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<1x2x6x6xf32>
  return %1 : tensor<1x2x6x6xf32>
}

// CHECK-LABEL: func.func @bias
// CHECK:         %[[B:.*]] = nn.reshape %{{.*}} {shape = array<i64: 2>}
// CHECK:         %[[Y:.*]] = nn.conv %{{.*}}, %{{.*}}, %[[B]]
// CHECK:         return %[[Y]]
func.func @bias(%x: tensor<1x1x8x8xf32>) -> tensor<1x2x6x6xf32> {
  %w = nn.constant "w" dense<1.0> : tensor<2x1x3x3xf32>
  %b = nn.constant "b" dense<[[[1.0]], [[2.0]]]> : tensor<2x1x1xf32>
  %0 = nn.conv %x, %w {dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x1x8x8xf32>, tensor<2x1x3x3xf32>) -> tensor<1x2x6x6xf32>
  %1 = nn.add %0, %b : (tensor<1x2x6x6xf32>, tensor<2x1x1xf32>) -> tensor<1x2x6x6xf32>
  return %1 : tensor<1x2x6x6xf32>
}

// So are frozen norms, and factors and addends per channel. A computed factor
// stays.
// CHECK-LABEL: func.func @channels
// CHECK-SAME:    %[[X:[^:]*]]: {{[^,]*}}, %[[G:[^:]*]]:
// CHECK-DAG:     %[[W:.*]] = nn.mul %{{.*}}, %{{.*}} -> tensor<2x1x3x3xf32>
// CHECK-DAG:     %[[S:.*]] = nn.mul %{{.*}}, %{{.*}} : (tensor<2xf32>, tensor<2xf32>)
// CHECK-DAG:     %[[B:.*]] = nn.add %[[S]], %{{.*}} : (tensor<2xf32>, tensor<2xf32>)
// CHECK:         %[[Y:.*]] = nn.conv %[[X]], %[[W]], %[[B]] {
// CHECK:         nn.mul %[[Y]], %[[G]]
func.func @channels(%x: tensor<1x1x8x8xf32>, %g: tensor<2x1x1xf32>) -> tensor<1x2x6x6xf32> {
  %w = nn.constant "w" dense<1.0> : tensor<2x1x3x3xf32>
  %b = nn.constant "b" dense<[1.0, 2.0]> : tensor<2xf32>
  %s = nn.constant "s" dense<[[[[1.0]], [[2.0]]]]> : tensor<1x2x1x1xf32>
  %t = nn.constant "t" dense<[[[3.0]], [[4.0]]]> : tensor<2x1x1xf32>
  %0 = nn.conv %x, %w, %b {dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x1x8x8xf32>, tensor<2x1x3x3xf32>, tensor<2xf32>) -> tensor<1x2x6x6xf32>
  %1 = nn.mul %0, %s : (tensor<1x2x6x6xf32>, tensor<1x2x1x1xf32>) -> tensor<1x2x6x6xf32>
  %2 = nn.add %1, %t : (tensor<1x2x6x6xf32>, tensor<2x1x1xf32>) -> tensor<1x2x6x6xf32>
  %3 = nn.mul %2, %g : (tensor<1x2x6x6xf32>, tensor<2x1x1xf32>) -> tensor<1x2x6x6xf32>
  return %3 : tensor<1x2x6x6xf32>
}

// Batch norm of a product's columns, through a reshape of the rows.
// CHECK-LABEL: func.func @row_batch_norm
// CHECK-SAME:    %[[X:[^:]*]]:
// CHECK-NOT:     nn.batch_norm
// CHECK:         %[[W:.*]] = nn.mul {{.*}} -> tensor<4x2xf32>
// CHECK:         %[[P:.*]] = nn.matmul %[[X]], %[[W]]
// CHECK:         %[[S:.*]] = nn.add %[[P]], %{{.*}} : (tensor<1x6x2xf32>, tensor<2xf32>)
// CHECK:         nn.reshape %[[S]] {shape = array<i64: 6, 2>}
func.func @row_batch_norm(%x: tensor<1x6x4xf32>) -> tensor<6x2xf32> {
  %w = nn.constant "w" dense<1.0> : tensor<4x2xf32>
  %s = nn.constant "s" dense<[1.0, 2.0]> : tensor<2xf32>
  %b = nn.constant "b" dense<[1.0, 2.0]> : tensor<2xf32>
  %m = nn.constant "m" dense<[1.0, 2.0]> : tensor<2xf32>
  %v = nn.constant "v" dense<[1.0, 2.0]> : tensor<2xf32>
  %0 = nn.matmul %x, %w : (tensor<1x6x4xf32>, tensor<4x2xf32>) -> tensor<1x6x2xf32>
  %1 = nn.reshape %0 {shape = array<i64: 6, 2>} : (tensor<1x6x2xf32>) -> tensor<6x2xf32>
  %2 = nn.batch_norm %1, %s, %b, %m, %v : (tensor<6x2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>, tensor<2xf32>) -> tensor<6x2xf32>
  return %2 : tensor<6x2xf32>
}

// Two convolutions that are added share one bias.
// CHECK-LABEL: func.func @biases
// CHECK-SAME:    %[[X:[^:]*]]:
// CHECK:         %[[S:.*]] = nn.conv %[[X]], %{{[^,]*}} {
// CHECK:         %[[B:.*]] = nn.add %{{.*}}, %{{.*}} : (tensor<2xf32>, tensor<2xf32>)
// CHECK:         %[[L:.*]] = nn.conv %[[X]], %{{.*}}, %[[B]] {
// CHECK:         nn.add %[[L]], %[[S]]
func.func @biases(%x: tensor<1x1x8x8xf32>) -> tensor<1x2x6x6xf32> {
  %w = nn.constant "w" dense<1.0> : tensor<2x1x3x3xf32>
  %v = nn.constant "v" dense<2.0> : tensor<2x1x3x3xf32>
  %b = nn.constant "b" dense<[1.0, 2.0]> : tensor<2xf32>
  %c = nn.constant "c" dense<[3.0, 4.0]> : tensor<2xf32>
  %0 = nn.conv %x, %w, %b {dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x1x8x8xf32>, tensor<2x1x3x3xf32>, tensor<2xf32>) -> tensor<1x2x6x6xf32>
  %1 = nn.conv %x, %v, %c {dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x1x8x8xf32>, tensor<2x1x3x3xf32>, tensor<2xf32>) -> tensor<1x2x6x6xf32>
  %2 = nn.add %0, %1 : (tensor<1x2x6x6xf32>, tensor<1x2x6x6xf32>) -> tensor<1x2x6x6xf32>
  return %2 : tensor<1x2x6x6xf32>
}

// A swap of the last two dimensions becomes a flag of the matmul; the rest of
// the other transpose keeps the last dimension in place.
// CHECK-LABEL: func.func @transposes
// CHECK-SAME:    %[[Q:[^:]*]]: {{[^,]*}}, %[[K:[^:]*]]: {{[^,]*}}, %[[V:[^:]*]]:
// CHECK:         %[[P:.*]] = nn.transpose %[[K]] {perm = array<i64: 0, 2, 1, 3>}
// CHECK:         %[[S:.*]] = nn.matmul %[[Q]], %[[P]] {transpose_b}
// CHECK:         nn.matmul %[[V]], %[[S]] {transpose_a}
func.func @transposes(%q: tensor<1x2x5x4xf32>, %k: tensor<1x5x2x4xf32>, %v: tensor<1x2x5x3xf32>) -> tensor<1x2x3x5xf32> {
  %0 = nn.transpose %k {perm = array<i64: 0, 2, 3, 1>} : (tensor<1x5x2x4xf32>) -> tensor<1x2x4x5xf32>
  %1 = nn.matmul %q, %0 : (tensor<1x2x5x4xf32>, tensor<1x2x4x5xf32>) -> tensor<1x2x5x5xf32>
  %2 = nn.transpose %v {perm = array<i64: 0, 1, 3, 2>} : (tensor<1x2x5x3xf32>) -> tensor<1x2x3x5xf32>
  %3 = nn.matmul %2, %1 : (tensor<1x2x3x5xf32>, tensor<1x2x5x5xf32>) -> tensor<1x2x3x5xf32>
  return %3 : tensor<1x2x3x5xf32>
}

// CHECK-LABEL: func.func @gelu_erf
// CHECK-SAME:    %[[X:[^:]*]]:
// CHECK:         %[[Y:.*]] = nn.gelu %[[X]]
// CHECK:         return %[[Y]]
func.func @gelu_erf(%x: tensor<4xf32>) -> tensor<4xf32> {
  %root = nn.constant dense<1.41421354> : tensor<f32>
  %one = nn.constant dense<1.0> : tensor<f32>
  %half = nn.constant dense<0.5> : tensor<f32>
  %0 = nn.div %x, %root : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = nn.erf %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = nn.add %1, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = nn.mul %x, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = nn.mul %3, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %4 : tensor<4xf32>
}

// The half may be within the sum, or a division by 2 after all.
// CHECK-LABEL: func.func @gelu_halves
// CHECK-SAME:    %[[X:[^:]*]]:
// CHECK:         %[[Y:.*]] = nn.gelu %[[X]]
// CHECK:         %[[Z:.*]] = nn.gelu %[[Y]]
// CHECK:         return %[[Z]]
func.func @gelu_halves(%x: tensor<4xf32>) -> tensor<4xf32> {
  %root = nn.constant dense<0.707106769> : tensor<f32>
  %one = nn.constant dense<1.0> : tensor<f32>
  %half = nn.constant dense<0.5> : tensor<f32>
  %two = nn.constant dense<2.0> : tensor<f32>
  %0 = nn.mul %x, %root : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = nn.erf %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = nn.mul %1, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = nn.add %half, %2 : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %4 = nn.mul %x, %3 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %5 = nn.mul %4, %root : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %6 = nn.erf %5 : (tensor<4xf32>) -> tensor<4xf32>
  %7 = nn.add %6, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %8 = nn.mul %4, %7 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %9 = nn.div %8, %two : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %9 : tensor<4xf32>
}

// Only one term is halved.
// CHECK-LABEL: func.func @not_halves
// CHECK-NOT:     nn.gelu
// CHECK:         return
func.func @not_halves(%x: tensor<4xf32>) -> tensor<4xf32> {
  %root = nn.constant dense<0.707106769> : tensor<f32>
  %half = nn.constant dense<0.5> : tensor<f32>
  %0 = nn.mul %x, %root : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = nn.erf %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = nn.add %1, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %3 = nn.mul %x, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

// Constants are rounded to the type of the model: 1.4140625, 0.0447083 and
// 0.797852 in f16.
// CHECK-LABEL: func.func @gelu_half
// CHECK-SAME:    %[[X:[^:]*]]:
// CHECK:         %[[Y:.*]] = nn.gelu %[[X]] :
// CHECK:         %[[Z:.*]] = nn.gelu %[[Y]] {approximate = "tanh"}
// CHECK:         return %[[Z]]
func.func @gelu_half(%x: tensor<4xf16>) -> tensor<4xf16> {
  %root = nn.constant dense<1.41421354> : tensor<f16>
  %one = nn.constant dense<1.0> : tensor<f16>
  %half = nn.constant dense<0.5> : tensor<f16>
  %three = nn.constant dense<3.0> : tensor<f16>
  %cubic = nn.constant dense<0.0447149985> : tensor<f16>
  %scale = nn.constant dense<0.797884583> : tensor<f16>
  %0 = nn.div %x, %root : (tensor<4xf16>, tensor<f16>) -> tensor<4xf16>
  %1 = nn.erf %0 : (tensor<4xf16>) -> tensor<4xf16>
  %2 = nn.add %1, %one : (tensor<4xf16>, tensor<f16>) -> tensor<4xf16>
  %3 = nn.mul %x, %2 : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  %4 = nn.mul %3, %half : (tensor<4xf16>, tensor<f16>) -> tensor<4xf16>
  %5 = nn.pow %4, %three : (tensor<4xf16>, tensor<f16>) -> tensor<4xf16>
  %6 = nn.mul %5, %cubic : (tensor<4xf16>, tensor<f16>) -> tensor<4xf16>
  %7 = nn.add %4, %6 : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  %8 = nn.mul %7, %scale : (tensor<4xf16>, tensor<f16>) -> tensor<4xf16>
  %9 = nn.tanh %8 : (tensor<4xf16>) -> tensor<4xf16>
  %10 = nn.add %9, %one : (tensor<4xf16>, tensor<f16>) -> tensor<4xf16>
  %11 = nn.mul %half, %4 : (tensor<f16>, tensor<4xf16>) -> tensor<4xf16>
  %12 = nn.mul %11, %10 : (tensor<4xf16>, tensor<4xf16>) -> tensor<4xf16>
  return %12 : tensor<4xf16>
}

// Another number than GELU's, even as bf16 rounds it.
// CHECK-LABEL: func.func @not_gelu
// CHECK-NOT:     nn.gelu
func.func @not_gelu(%x: tensor<4xbf16>) -> tensor<4xbf16> {
  %one = nn.constant dense<1.0> : tensor<bf16>
  %half = nn.constant dense<0.5> : tensor<bf16>
  %three = nn.constant dense<3.0> : tensor<bf16>
  %cubic = nn.constant dense<0.045> : tensor<bf16>
  %scale = nn.constant dense<0.797884583> : tensor<bf16>
  %0 = nn.pow %x, %three : (tensor<4xbf16>, tensor<bf16>) -> tensor<4xbf16>
  %1 = nn.mul %0, %cubic : (tensor<4xbf16>, tensor<bf16>) -> tensor<4xbf16>
  %2 = nn.add %x, %1 : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xbf16>
  %3 = nn.mul %2, %scale : (tensor<4xbf16>, tensor<bf16>) -> tensor<4xbf16>
  %4 = nn.tanh %3 : (tensor<4xbf16>) -> tensor<4xbf16>
  %5 = nn.add %4, %one : (tensor<4xbf16>, tensor<bf16>) -> tensor<4xbf16>
  %6 = nn.mul %half, %x : (tensor<bf16>, tensor<4xbf16>) -> tensor<4xbf16>
  %7 = nn.mul %6, %5 : (tensor<4xbf16>, tensor<4xbf16>) -> tensor<4xbf16>
  return %7 : tensor<4xbf16>
}

// Both forms of the cube that exporters write, and the product in another
// order.
// CHECK-LABEL: func.func @gelu_tanh
// CHECK-SAME:    %[[X:[^:]*]]:
// CHECK:         %[[Y:.*]] = nn.gelu %[[X]] {approximate = "tanh"}
// CHECK:         %[[Z:.*]] = nn.gelu %[[Y]] {approximate = "tanh"}
// CHECK:         return %[[Z]]
func.func @gelu_tanh(%x: tensor<4xf32>) -> tensor<4xf32> {
  %three = nn.constant dense<3.0> : tensor<f32>
  %cubic = nn.constant dense<0.0447149985> : tensor<f32>
  %scale = nn.constant dense<0.797884583> : tensor<f32>
  %one = nn.constant dense<1.0> : tensor<f32>
  %half = nn.constant dense<0.5> : tensor<f32>
  %0 = nn.pow %x, %three : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = nn.mul %0, %cubic : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = nn.add %x, %1 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %3 = nn.mul %2, %scale : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %4 = nn.tanh %3 : (tensor<4xf32>) -> tensor<4xf32>
  %5 = nn.add %4, %one : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %6 = nn.mul %half, %x : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %7 = nn.mul %6, %5 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %8 = nn.mul %7, %7 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %9 = nn.mul %8, %cubic : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %10 = nn.add %one, %9 : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %11 = nn.mul %7, %scale : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %12 = nn.mul %11, %10 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %13 = nn.tanh %12 : (tensor<4xf32>) -> tensor<4xf32>
  %14 = nn.add %one, %13 : (tensor<f32>, tensor<4xf32>) -> tensor<4xf32>
  %15 = nn.mul %7, %14 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %16 = nn.mul %15, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %16 : tensor<4xf32>
}

// CHECK-LABEL: func.func @silu
// CHECK:         nn.silu
// CHECK-NOT:     nn.mul
func.func @silu(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = nn.sigmoid %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = nn.mul %x, %0 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// CHECK-LABEL: func.func @layer_norm
// CHECK-SAME:    %[[X:[^:]*]]:
// CHECK-DAG:     %[[S:.*]] = nn.constant "s"
// CHECK-DAG:     %[[B:.*]] = nn.constant "b"
// CHECK:         %[[Y:.*]] = nn.layer_norm %[[X]], %[[S]], %[[B]] {axis = 1 : si64, epsilon = 9.99999996E-13 : f32}
// CHECK:         return %[[Y]]
func.func @layer_norm(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %two = nn.constant dense<2.0> : tensor<f32>
  %epsilon = nn.constant dense<1.0e-12> : tensor<f32>
  %s = nn.constant "s" dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %b = nn.constant "b" dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %0 = nn.reduce_mean %x {axes = array<i64: 1>} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %1 = nn.sub %x, %0 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %2 = nn.pow %1, %two : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %3 = nn.reduce_mean %2 {axes = array<i64: 1>} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %4 = nn.add %3, %epsilon : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %5 = nn.sqrt %4 : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %6 = nn.div %1, %5 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %7 = nn.mul %6, %s : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %8 = nn.add %7, %b : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return %8 : tensor<2x4xf32>
}

// An RMS norm; in 16 bits, the casts to f32 and back disappear too.
// CHECK-LABEL: func.func @rms_norm
// CHECK-SAME:    %[[X:[^:]*]]: {{[^,]*}}, %[[H:[^:]*]]:
// CHECK-DAG:     %[[S:.*]] = nn.constant "s"
// CHECK-DAG:     %[[T:.*]] = nn.constant "t"
// CHECK-DAG:     %[[Y:.*]] = nn.rms_norm %[[X]], %[[S]] {axis = 1 : si64, epsilon = 9.99999997E-7 : f32}
// CHECK-DAG:     %[[Z:.*]] = nn.rms_norm %[[H]], %[[T]] {axis = 1 : si64, epsilon = 9.99999997E-7 : f32} : (tensor<2x4xf16>, tensor<4xf16>) -> tensor<2x4xf16>
// CHECK:         return %[[Y]], %[[Z]]
func.func @rms_norm(%x: tensor<2x4xf32>, %h: tensor<2x4xf16>) -> (tensor<2x4xf32>, tensor<2x4xf16>) {
  %epsilon = nn.constant dense<1.0e-06> : tensor<f32>
  %s = nn.constant "s" dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %t = nn.constant "t" dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf16>
  %0 = nn.mul %x, %x : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %1 = nn.reduce_mean %0 {axes = array<i64: 1>} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %2 = nn.add %1, %epsilon : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %3 = nn.rsqrt %2 : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %4 = nn.mul %x, %3 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %5 = nn.mul %s, %4 : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %6 = nn.cast %h {to = f32} : (tensor<2x4xf16>) -> tensor<2x4xf32>
  %7 = nn.mul %6, %6 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %8 = nn.reduce_mean %7 {axes = array<i64: 1>} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %9 = nn.add %8, %epsilon : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %10 = nn.sqrt %9 : (tensor<2x1xf32>) -> tensor<2x1xf32>
  %11 = nn.div %6, %10 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  %12 = nn.cast %11 {to = f16} : (tensor<2x4xf32>) -> tensor<2x4xf16>
  %13 = nn.mul %t, %12 : (tensor<4xf16>, tensor<2x4xf16>) -> tensor<2x4xf16>
  return %5, %13 : tensor<2x4xf32>, tensor<2x4xf16>
}

// CHECK-LABEL: func.func @scaled_transpose
// CHECK:         %[[K:.*]] = nn.mul
// CHECK:         nn.matmul %{{.*}}, %[[K]] {transpose_b}
func.func @scaled_transpose(%q: tensor<2x5x4xf32>, %k: tensor<2x5x4xf32>) -> tensor<2x5x5xf32> {
  %s = nn.constant dense<0.5> : tensor<f32>
  %0 = nn.transpose %k {perm = array<i64: 0, 2, 1>} : (tensor<2x5x4xf32>) -> tensor<2x4x5xf32>
  %1 = nn.mul %0, %s : (tensor<2x4x5xf32>, tensor<f32>) -> tensor<2x4x5xf32>
  %2 = nn.matmul %q, %1 : (tensor<2x5x4xf32>, tensor<2x4x5xf32>) -> tensor<2x5x5xf32>
  return %2 : tensor<2x5x5xf32>
}

// Non-overlapping windows over an image: patches times a matrix.
// CHECK-LABEL: func.func @patches
// CHECK-SAME:    %[[X:[^:]*]]:
// CHECK-DAG:     %[[R:.*]] = nn.reshape %[[X]] {shape = array<i64: 2, 3, 2, 4, 3, 4>}
// CHECK-DAG:     %[[T:.*]] = nn.transpose %[[R]] {perm = array<i64: 0, 2, 4, 1, 3, 5>}
// CHECK-DAG:     %[[P:.*]] = nn.reshape %[[T]] {shape = array<i64: 2, 2, 3, 48>}
// CHECK-DAG:     %[[W:.*]] = nn.reshape %{{.*}} {shape = array<i64: 5, 48>}
// CHECK:         %[[M:.*]] = nn.matmul %[[P]], %[[W]] {transpose_b}
// CHECK:         %[[S:.*]] = nn.add %[[M]]
// CHECK:         nn.transpose %[[S]] {perm = array<i64: 0, 3, 1, 2>}
func.func @patches(%x: tensor<2x3x8x12xf32>) -> tensor<2x5x2x3xf32> {
  %w = nn.constant "w" dense<1.0> : tensor<5x3x4x4xf32>
  %b = nn.constant "b" dense<1.0> : tensor<5xf32>
  %0 = nn.conv %x, %w, %b {dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 4, 4>} : (tensor<2x3x8x12xf32>, tensor<5x3x4x4xf32>, tensor<5xf32>) -> tensor<2x5x2x3xf32>
  return %0 : tensor<2x5x2x3xf32>
}

// CHECK-LABEL: func.func @overlapping_windows
// CHECK:         nn.conv
func.func @overlapping_windows(%x: tensor<2x3x9x12xf32>) -> tensor<2x5x2x3xf32> {
  %w = nn.constant "w" dense<1.0> : tensor<5x3x5x4xf32>
  %0 = nn.conv %x, %w {dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 4, 4>} : (tensor<2x3x9x12xf32>, tensor<5x3x5x4xf32>) -> tensor<2x5x2x3xf32>
  return %0 : tensor<2x5x2x3xf32>
}

// A deep chain of constants, each read many times, is not followed to its end.
// CHECK-LABEL: func.func @shared
// CHECK: nn.add
func.func @shared(%x: tensor<1x3x8xf32>) -> tensor<1x4x8xf32> {
  %f = nn.constant "f" dense<1.0> : tensor<4x3x1xf32>
  %w = nn.constant "w" dense<1.0> : tensor<1x1xf32>
  %c0 = nn.concat %w, %w, %w, %w, %w, %w, %w, %w, %w, %w, %w, %w, %w, %w, %w, %w, %w, %w, %w, %w {axis = 0 : si64} : (tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf32>, tensor<1x1xf32>) -> tensor<20x1xf32>
  %c1 = nn.concat %c0, %c0, %c0, %c0, %c0, %c0, %c0, %c0, %c0, %c0, %c0, %c0, %c0, %c0, %c0, %c0, %c0, %c0, %c0, %c0 {axis = 0 : si64} : (tensor<20x1xf32>, tensor<20x1xf32>, tensor<20x1xf32>, tensor<20x1xf32>, tensor<20x1xf32>, tensor<20x1xf32>, tensor<20x1xf32>, tensor<20x1xf32>, tensor<20x1xf32>, tensor<20x1xf32>, tensor<20x1xf32>, tensor<20x1xf32>, tensor<20x1xf32>, tensor<20x1xf32>, tensor<20x1xf32>, tensor<20x1xf32>, tensor<20x1xf32>, tensor<20x1xf32>, tensor<20x1xf32>, tensor<20x1xf32>) -> tensor<400x1xf32>
  %c2 = nn.concat %c1, %c1, %c1, %c1, %c1, %c1, %c1, %c1, %c1, %c1, %c1, %c1, %c1, %c1, %c1, %c1, %c1, %c1, %c1, %c1 {axis = 0 : si64} : (tensor<400x1xf32>, tensor<400x1xf32>, tensor<400x1xf32>, tensor<400x1xf32>, tensor<400x1xf32>, tensor<400x1xf32>, tensor<400x1xf32>, tensor<400x1xf32>, tensor<400x1xf32>, tensor<400x1xf32>, tensor<400x1xf32>, tensor<400x1xf32>, tensor<400x1xf32>, tensor<400x1xf32>, tensor<400x1xf32>, tensor<400x1xf32>, tensor<400x1xf32>, tensor<400x1xf32>, tensor<400x1xf32>, tensor<400x1xf32>) -> tensor<8000x1xf32>
  %c3 = nn.concat %c2, %c2, %c2, %c2, %c2, %c2, %c2, %c2, %c2, %c2, %c2, %c2, %c2, %c2, %c2, %c2, %c2, %c2, %c2, %c2 {axis = 0 : si64} : (tensor<8000x1xf32>, tensor<8000x1xf32>, tensor<8000x1xf32>, tensor<8000x1xf32>, tensor<8000x1xf32>, tensor<8000x1xf32>, tensor<8000x1xf32>, tensor<8000x1xf32>, tensor<8000x1xf32>, tensor<8000x1xf32>, tensor<8000x1xf32>, tensor<8000x1xf32>, tensor<8000x1xf32>, tensor<8000x1xf32>, tensor<8000x1xf32>, tensor<8000x1xf32>, tensor<8000x1xf32>, tensor<8000x1xf32>, tensor<8000x1xf32>, tensor<8000x1xf32>) -> tensor<160000x1xf32>
  %c4 = nn.concat %c3, %c3, %c3, %c3, %c3, %c3, %c3, %c3, %c3, %c3, %c3, %c3, %c3, %c3, %c3, %c3, %c3, %c3, %c3, %c3 {axis = 0 : si64} : (tensor<160000x1xf32>, tensor<160000x1xf32>, tensor<160000x1xf32>, tensor<160000x1xf32>, tensor<160000x1xf32>, tensor<160000x1xf32>, tensor<160000x1xf32>, tensor<160000x1xf32>, tensor<160000x1xf32>, tensor<160000x1xf32>, tensor<160000x1xf32>, tensor<160000x1xf32>, tensor<160000x1xf32>, tensor<160000x1xf32>, tensor<160000x1xf32>, tensor<160000x1xf32>, tensor<160000x1xf32>, tensor<160000x1xf32>, tensor<160000x1xf32>, tensor<160000x1xf32>) -> tensor<3200000x1xf32>
  %c5 = nn.concat %c4, %c4, %c4, %c4, %c4, %c4, %c4, %c4, %c4, %c4, %c4, %c4, %c4, %c4, %c4, %c4, %c4, %c4, %c4, %c4 {axis = 0 : si64} : (tensor<3200000x1xf32>, tensor<3200000x1xf32>, tensor<3200000x1xf32>, tensor<3200000x1xf32>, tensor<3200000x1xf32>, tensor<3200000x1xf32>, tensor<3200000x1xf32>, tensor<3200000x1xf32>, tensor<3200000x1xf32>, tensor<3200000x1xf32>, tensor<3200000x1xf32>, tensor<3200000x1xf32>, tensor<3200000x1xf32>, tensor<3200000x1xf32>, tensor<3200000x1xf32>, tensor<3200000x1xf32>, tensor<3200000x1xf32>, tensor<3200000x1xf32>, tensor<3200000x1xf32>, tensor<3200000x1xf32>) -> tensor<64000000x1xf32>
  %c6 = nn.concat %c5, %c5, %c5, %c5, %c5, %c5, %c5, %c5, %c5, %c5, %c5, %c5, %c5, %c5, %c5, %c5, %c5, %c5, %c5, %c5 {axis = 0 : si64} : (tensor<64000000x1xf32>, tensor<64000000x1xf32>, tensor<64000000x1xf32>, tensor<64000000x1xf32>, tensor<64000000x1xf32>, tensor<64000000x1xf32>, tensor<64000000x1xf32>, tensor<64000000x1xf32>, tensor<64000000x1xf32>, tensor<64000000x1xf32>, tensor<64000000x1xf32>, tensor<64000000x1xf32>, tensor<64000000x1xf32>, tensor<64000000x1xf32>, tensor<64000000x1xf32>, tensor<64000000x1xf32>, tensor<64000000x1xf32>, tensor<64000000x1xf32>, tensor<64000000x1xf32>, tensor<64000000x1xf32>) -> tensor<1280000000x1xf32>
  %b = nn.slice %c6 {starts = array<i64: 0, 0>, sizes = array<i64: 4, 1>, steps = array<i64: 1, 1>} : (tensor<1280000000x1xf32>) -> tensor<4x1xf32>
  %y = nn.conv %x, %f {strides = array<i64: 1>, pads = array<i64: 0, 0>, dilations = array<i64: 1>} : (tensor<1x3x8xf32>, tensor<4x3x1xf32>) -> tensor<1x4x8xf32>
  %z = nn.add %y, %b : (tensor<1x4x8xf32>, tensor<4x1xf32>) -> tensor<1x4x8xf32>
  return %z : tensor<1x4x8xf32>
}

// Experts that the router did not choose for a token are not computed: rows are
// gathered into tiles of one expert each.
// CHECK-LABEL: func.func @experts
// CHECK-SAME:    %[[X:[^:]*]]: tensor<1024x8xf32>
// CHECK:         nn.search_sorted
// CHECK:         %[[ROWS:.*]] = nn.gather %[[X]], %{{.*}} -> tensor<79x64x8xf32>
// CHECK:         %[[Y:.*]] = nn.matmul %[[ROWS]], %{{.*}} : (tensor<79x64x8xf32>, tensor<79x8x4xf32>)
// CHECK:         %[[R:.*]] = nn.relu %[[Y]] : (tensor<79x64x4xf32>)
// CHECK:         nn.gather %{{.*}} : (tensor<5056x4xf32>, tensor<1024x1xi64>)
func.func @experts(%x: tensor<1024x8xf32>, %picks: tensor<1024x1x1xi64>, %weights: tensor<1024x1x1xf32>, %w: tensor<64x8x4xf32>) -> tensor<1x1024x4xf32> {
  %zero = nn.constant dense<0> : tensor<i64>
  %one = nn.constant dense<1> : tensor<i64>
  %off = nn.constant dense<0.0> : tensor<f32>
  %on = nn.constant dense<1.0> : tensor<f32>
  %numbers = nn.iota %zero, %one {shape = array<i64: 1, 1, 64>, axis = 2 : i64} : (tensor<i64>, tensor<i64>) -> tensor<1x1x64xi64>
  %equal = nn.equal %picks, %numbers : (tensor<1024x1x1xi64>, tensor<1x1x64xi64>) -> tensor<1024x1x64xi1>
  %hot = nn.where %equal, %on, %off : (tensor<1024x1x64xi1>, tensor<f32>, tensor<f32>) -> tensor<1024x1x64xf32>
  %weighted = nn.mul %hot, %weights : (tensor<1024x1x64xf32>, tensor<1024x1x1xf32>) -> tensor<1024x1x64xf32>
  %rows = nn.reshape %weighted {shape = array<i64: 1024, 64>} : (tensor<1024x1x64xf32>) -> tensor<1024x64xf32>
  %columns = nn.transpose %rows {perm = array<i64: 1, 0>} : (tensor<1024x64xf32>) -> tensor<64x1024xf32>
  %gates = nn.reshape %columns {shape = array<i64: 64, 1024, 1>} : (tensor<64x1024xf32>) -> tensor<64x1024x1xf32>
  %0 = nn.matmul %x, %w : (tensor<1024x8xf32>, tensor<64x8x4xf32>) -> tensor<64x1024x4xf32>
  %1 = nn.relu %0 : (tensor<64x1024x4xf32>) -> tensor<64x1024x4xf32>
  %2 = nn.mul %1, %gates : (tensor<64x1024x4xf32>, tensor<64x1024x1xf32>) -> tensor<64x1024x4xf32>
  %3 = nn.reduce %2 {axes = array<i64: 0>, kind = #nn<combiner sum>} : (tensor<64x1024x4xf32>) -> tensor<1x1024x4xf32>
  return %3 : tensor<1x1024x4xf32>
}

// For few tokens, copying the experts' matrices would take longer.
// CHECK-LABEL: func.func @few_tokens
// CHECK:         nn.matmul %{{.*}} : (tensor<32x8xf32>, tensor<64x8x4xf32>)
func.func @few_tokens(%x: tensor<32x8xf32>, %picks: tensor<32x1x1xi64>, %weights: tensor<32x1x1xf32>, %w: tensor<64x8x4xf32>) -> tensor<1x32x4xf32> {
  %zero = nn.constant dense<0> : tensor<i64>
  %one = nn.constant dense<1> : tensor<i64>
  %off = nn.constant dense<0.0> : tensor<f32>
  %on = nn.constant dense<1.0> : tensor<f32>
  %numbers = nn.iota %zero, %one {shape = array<i64: 1, 1, 64>, axis = 2 : i64} : (tensor<i64>, tensor<i64>) -> tensor<1x1x64xi64>
  %equal = nn.equal %picks, %numbers : (tensor<32x1x1xi64>, tensor<1x1x64xi64>) -> tensor<32x1x64xi1>
  %hot = nn.where %equal, %on, %off : (tensor<32x1x64xi1>, tensor<f32>, tensor<f32>) -> tensor<32x1x64xf32>
  %weighted = nn.mul %hot, %weights : (tensor<32x1x64xf32>, tensor<32x1x1xf32>) -> tensor<32x1x64xf32>
  %rows = nn.reshape %weighted {shape = array<i64: 32, 64>} : (tensor<32x1x64xf32>) -> tensor<32x64xf32>
  %columns = nn.transpose %rows {perm = array<i64: 1, 0>} : (tensor<32x64xf32>) -> tensor<64x32xf32>
  %gates = nn.reshape %columns {shape = array<i64: 64, 32, 1>} : (tensor<64x32xf32>) -> tensor<64x32x1xf32>
  %0 = nn.matmul %x, %w : (tensor<32x8xf32>, tensor<64x8x4xf32>) -> tensor<64x32x4xf32>
  %1 = nn.relu %0 : (tensor<64x32x4xf32>) -> tensor<64x32x4xf32>
  %2 = nn.mul %1, %gates : (tensor<64x32x4xf32>, tensor<64x32x1xf32>) -> tensor<64x32x4xf32>
  %3 = nn.reduce %2 {axes = array<i64: 0>, kind = #nn<combiner sum>} : (tensor<64x32x4xf32>) -> tensor<1x32x4xf32>
  return %3 : tensor<1x32x4xf32>
}

// CHECK-LABEL: func.func @log_of_softmax
// CHECK:         %[[L:.*]] = nn.log_softmax %{{.*}} {axis = 0 : si64}
// CHECK:         %[[T:.*]] = nn.transpose %[[L]] {perm = array<i64: 1, 0>}
// CHECK:         return %[[T]]
func.func @log_of_softmax(%x: tensor<4x8xf32>) -> tensor<8x4xf32> {
  %0 = nn.softmax %x {axis = 0 : si64} : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = nn.transpose %0 {perm = array<i64: 1, 0>} : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %2 = nn.log %1 : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return %2 : tensor<8x4xf32>
}
