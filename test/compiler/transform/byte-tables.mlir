// Functions from a tensor of bytes to another are read from tables.
// RUN: frit-opt %s --byte-tables -split-input-file | FileCheck %s

// Of the bytes of %q alone, although both factors depend on them.
// CHECK-LABEL: func @swish
// CHECK-SAME: %[[Q:.*]]: tensor<4x512xui8>
// CHECK: %[[ALL:.*]] = nn.constant dense<"0x000102
// CHECK: nn.cast %[[ALL]] {to = f32} : (tensor<256xui8>)
// CHECK: nn.hard_sigmoid {{.*}}tensor<256xf32>
// CHECK: %[[T:.*]] = nn.cast {{.*}} -> tensor<256xui8>
// CHECK: %[[I:.*]] = nn.cast %[[Q]] {to = i32}
// CHECK: %[[Y:.*]] = nn.gather %[[T]], %[[I]]
// CHECK-NOT: tensor<4x512xf32>
// CHECK: return %[[Y]] : tensor<4x512xui8>
func.func @swish(%q: tensor<4x512xui8>) -> tensor<4x512xui8> {
  %z = nn.constant dense<1.1e+02> : tensor<f32>
  %s = nn.constant dense<2.0e-02> : tensor<f32>
  %low = nn.constant dense<0.0> : tensor<f32>
  %high = nn.constant dense<2.55e+02> : tensor<1x1xf32>
  %0 = nn.cast %q {to = f32} : (tensor<4x512xui8>) -> tensor<4x512xf32>
  %1 = nn.sub %0, %z : (tensor<4x512xf32>, tensor<f32>) -> tensor<4x512xf32>
  %x = nn.mul %1, %s : (tensor<4x512xf32>, tensor<f32>) -> tensor<4x512xf32>
  %h = nn.hard_sigmoid %x {alpha = 0.2 : f32} : (tensor<4x512xf32>) -> tensor<4x512xf32>
  %p = nn.mul %x, %h : (tensor<4x512xf32>, tensor<4x512xf32>) -> tensor<4x512xf32>
  %2 = nn.div %p, %s : (tensor<4x512xf32>, tensor<f32>) -> tensor<4x512xf32>
  %3 = nn.round %2 : (tensor<4x512xf32>) -> tensor<4x512xf32>
  %4 = nn.add %3, %z : (tensor<4x512xf32>, tensor<f32>) -> tensor<4x512xf32>
  %5 = nn.max %4, %low : (tensor<4x512xf32>, tensor<f32>) -> tensor<4x512xf32>
  %6 = nn.min %5, %high : (tensor<4x512xf32>, tensor<1x1xf32>) -> tensor<4x512xf32>
  %y = nn.cast %6 {to = ui8} : (tensor<4x512xf32>) -> tensor<4x512xui8>
  return %y : tensor<4x512xui8>
}

// -----

// Two tensors, or few operators, are no table.
// CHECK-LABEL: func @two
// CHECK-NOT: nn.gather
func.func @two(%q: tensor<2048xi8>, %r: tensor<2048xi8>) -> (tensor<2048xi8>, tensor<2048xi8>) {
  %z = nn.constant dense<3.0> : tensor<f32>
  %0 = nn.cast %q {to = f32} : (tensor<2048xi8>) -> tensor<2048xf32>
  %1 = nn.cast %r {to = f32} : (tensor<2048xi8>) -> tensor<2048xf32>
  %2 = nn.add %0, %1 : (tensor<2048xf32>, tensor<2048xf32>) -> tensor<2048xf32>
  %3 = nn.mul %2, %z : (tensor<2048xf32>, tensor<f32>) -> tensor<2048xf32>
  %4 = nn.sub %3, %z : (tensor<2048xf32>, tensor<f32>) -> tensor<2048xf32>
  %5 = nn.mul %4, %4 : (tensor<2048xf32>, tensor<2048xf32>) -> tensor<2048xf32>
  %6 = nn.sub %5, %z : (tensor<2048xf32>, tensor<f32>) -> tensor<2048xf32>
  %7 = nn.exp %6 : (tensor<2048xf32>) -> tensor<2048xf32>
  %8 = nn.div %7, %z : (tensor<2048xf32>, tensor<f32>) -> tensor<2048xf32>
  %9 = nn.round %8 : (tensor<2048xf32>) -> tensor<2048xf32>
  %y = nn.cast %9 {to = i8} : (tensor<2048xf32>) -> tensor<2048xi8>
  %10 = nn.mul %0, %z : (tensor<2048xf32>, tensor<f32>) -> tensor<2048xf32>
  %w = nn.cast %10 {to = i8} : (tensor<2048xf32>) -> tensor<2048xi8>
  return %y, %w : tensor<2048xi8>, tensor<2048xi8>
}

// -----

// Signed bytes begin in the middle of the table.
// CHECK-LABEL: func @signed
// CHECK: nn.constant dense<"0x808182
// CHECK: %[[I:.*]] = nn.cast %{{.*}} {to = i32} : (tensor<2048xi8>)
// CHECK: %[[HALF:.*]] = nn.constant dense<128> : tensor<i32>
// CHECK: %[[AT:.*]] = nn.add %[[I]], %[[HALF]]
// CHECK: nn.gather %{{.*}}, %[[AT]]
func.func @signed(%q: tensor<2048xi8>) -> tensor<2048xi8> {
  %z = nn.constant dense<3.0> : tensor<f32>
  %0 = nn.cast %q {to = f32} : (tensor<2048xi8>) -> tensor<2048xf32>
  %1 = nn.mul %0, %z : (tensor<2048xf32>, tensor<f32>) -> tensor<2048xf32>
  %2 = nn.sub %1, %z : (tensor<2048xf32>, tensor<f32>) -> tensor<2048xf32>
  %3 = nn.mul %2, %2 : (tensor<2048xf32>, tensor<2048xf32>) -> tensor<2048xf32>
  %4 = nn.sub %3, %z : (tensor<2048xf32>, tensor<f32>) -> tensor<2048xf32>
  %5 = nn.exp %4 : (tensor<2048xf32>) -> tensor<2048xf32>
  %6 = nn.div %5, %z : (tensor<2048xf32>, tensor<f32>) -> tensor<2048xf32>
  %7 = nn.round %6 : (tensor<2048xf32>) -> tensor<2048xf32>
  %8 = nn.add %7, %z : (tensor<2048xf32>, tensor<f32>) -> tensor<2048xf32>
  %y = nn.cast %8 {to = i8} : (tensor<2048xf32>) -> tensor<2048xi8>
  return %y : tensor<2048xi8>
}
