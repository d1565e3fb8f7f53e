// RUN: frit-opt %s --compose --simplify -split-input-file | FileCheck %s

// A T5 clamps to less than the range of fp16 if any element is infinite. As
// the TorchScript exporter writes the condition, by a sum.
// CHECK-LABEL: func.func @by_sum
// CHECK-SAME:    %[[X:[^:]*]]:
// CHECK-DAG:     %[[LEAST:.*]] = nn.constant dense<-6.550400e+04> : tensor<f16>
// CHECK-DAG:     %[[MOST:.*]] = nn.constant dense<6.550400e+04> : tensor<f16>
// CHECK-NEXT:    %[[MAX:.*]] = nn.max %[[X]], %[[LEAST]]
// CHECK-NEXT:    %[[Y:.*]] = nn.min %[[MAX]], %[[MOST]]
// CHECK-NEXT:    return %[[Y]]
func.func @by_sum(%x: tensor<2x8xf16>) -> tensor<2x8xf16> {
  %inf = nn.constant dense<0x7FF0000000000000> : tensor<f64>
  %zero = nn.constant dense<0> : tensor<i64>
  %less = nn.constant dense<6.450400e+04> : tensor<f32>
  %most = nn.constant dense<6.550400e+04> : tensor<f32>
  %0 = nn.cast %x {to = f64} : (tensor<2x8xf16>) -> tensor<2x8xf64>
  %1 = nn.abs %0 : (tensor<2x8xf64>) -> tensor<2x8xf64>
  %2 = nn.equal %1, %inf : (tensor<2x8xf64>, tensor<f64>) -> tensor<2x8xi1>
  %3 = nn.cast %2 {to = i64} : (tensor<2x8xi1>) -> tensor<2x8xi64>
  %4 = nn.reduce %3 {axes = array<i64: 0, 1>, kind = #nn<combiner sum>} : (tensor<2x8xi64>) -> tensor<1x1xi64>
  %5 = nn.reshape %4 {shape = array<i64>} : (tensor<1x1xi64>) -> tensor<i64>
  %6 = nn.greater %5, %zero : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %7 = nn.where %6, %less, %most : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
  %8 = nn.neg %7 : (tensor<f32>) -> tensor<f32>
  %9 = nn.cast %8 {to = f16} : (tensor<f32>) -> tensor<f16>
  %10 = nn.cast %7 {to = f16} : (tensor<f32>) -> tensor<f16>
  %11 = nn.max %x, %9 : (tensor<2x8xf16>, tensor<f16>) -> tensor<2x8xf16>
  %12 = nn.min %11, %10 : (tensor<2x8xf16>, tensor<f16>) -> tensor<2x8xf16>
  return %12 : tensor<2x8xf16>
}

// -----

// As the other exporter does, by a maximum.
// CHECK-LABEL: func.func @by_max
// CHECK-NOT:     nn.reduce
// CHECK:         nn.max
// CHECK-NEXT:    nn.min
func.func @by_max(%x: tensor<2x8xf16>) -> tensor<2x8xf16> {
  %inf = nn.constant dense<0x7F800000> : tensor<f32>
  %less = nn.constant dense<6.450400e+04> : tensor<f32>
  %most = nn.constant dense<6.550400e+04> : tensor<f32>
  %0 = nn.cast %x {to = f32} : (tensor<2x8xf16>) -> tensor<2x8xf32>
  %1 = nn.abs %0 : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %2 = nn.equal %1, %inf : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xi1>
  %3 = nn.cast %2 {to = i64} : (tensor<2x8xi1>) -> tensor<2x8xi64>
  %4 = nn.reduce %3 {axes = array<i64: 0, 1>, kind = #nn<combiner max>} : (tensor<2x8xi64>) -> tensor<1x1xi64>
  %5 = nn.reshape %4 {shape = array<i64>} : (tensor<1x1xi64>) -> tensor<i64>
  %6 = nn.cast %5 {to = i1} : (tensor<i64>) -> tensor<i1>
  %7 = nn.where %6, %less, %most : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
  %8 = nn.neg %7 : (tensor<f32>) -> tensor<f32>
  %9 = nn.cast %8 {to = f16} : (tensor<f32>) -> tensor<f16>
  %10 = nn.cast %7 {to = f16} : (tensor<f32>) -> tensor<f16>
  %11 = nn.max %x, %9 : (tensor<2x8xf16>, tensor<f16>) -> tensor<2x8xf16>
  %12 = nn.min %11, %10 : (tensor<2x8xf16>, tensor<f16>) -> tensor<2x8xf16>
  return %12 : tensor<2x8xf16>
}

// -----

// Much less if an element is infinite: this changes all others.
// CHECK-LABEL: func.func @much_less
// CHECK:         nn.reduce
func.func @much_less(%x: tensor<2x8xf16>) -> tensor<2x8xf16> {
  %inf = nn.constant dense<0x7F800000> : tensor<f32>
  %less = nn.constant dense<3.0> : tensor<f32>
  %most = nn.constant dense<6.550400e+04> : tensor<f32>
  %0 = nn.cast %x {to = f32} : (tensor<2x8xf16>) -> tensor<2x8xf32>
  %1 = nn.abs %0 : (tensor<2x8xf32>) -> tensor<2x8xf32>
  %2 = nn.equal %1, %inf : (tensor<2x8xf32>, tensor<f32>) -> tensor<2x8xi1>
  %3 = nn.cast %2 {to = i64} : (tensor<2x8xi1>) -> tensor<2x8xi64>
  %4 = nn.reduce %3 {axes = array<i64: 0, 1>, kind = #nn<combiner max>} : (tensor<2x8xi64>) -> tensor<1x1xi64>
  %5 = nn.reshape %4 {shape = array<i64>} : (tensor<1x1xi64>) -> tensor<i64>
  %6 = nn.cast %5 {to = i1} : (tensor<i64>) -> tensor<i1>
  %7 = nn.where %6, %less, %most : (tensor<i1>, tensor<f32>, tensor<f32>) -> tensor<f32>
  %8 = nn.neg %7 : (tensor<f32>) -> tensor<f32>
  %9 = nn.cast %8 {to = f16} : (tensor<f32>) -> tensor<f16>
  %10 = nn.cast %7 {to = f16} : (tensor<f32>) -> tensor<f16>
  %11 = nn.max %x, %9 : (tensor<2x8xf16>, tensor<f16>) -> tensor<2x8xf16>
  %12 = nn.min %11, %10 : (tensor<2x8xf16>, tensor<f16>) -> tensor<2x8xf16>
  return %12 : tensor<2x8xf16>
}
