// Operators on quantized weights become operators on codes, in simplify.
// RUN: frit-opt %s --simplify -split-input-file | FileCheck %s

// CHECK-LABEL: func @cast
// CHECK: %[[W:.*]] = nn.dequantize %{{.*}} {code = "int8", to = f16}
// CHECK-NOT: nn.cast
// CHECK: return %[[W]]
func.func @cast(%c: tensor<4x8xui8>, %s: tensor<4x1xf32>) -> tensor<4x8xf16> {
  %w = nn.dequantize %c, %s {code = "int8", to = f32} : (tensor<4x8xui8>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %y = nn.cast %w {to = f16} : (tensor<4x8xf32>) -> tensor<4x8xf16>
  return %y : tensor<4x8xf16>
}

// -----

// A rounding that the model has stays.
// CHECK-LABEL: func @rounded
// CHECK: nn.dequantize %{{.*}} {code = "int8", to = f16}
// CHECK: nn.cast %{{.*}} {to = f32}
func.func @rounded(%c: tensor<4x8xui8>, %s: tensor<4x1xf32>) -> tensor<4x8xf32> {
  %w = nn.dequantize %c, %s {code = "int8", to = f16} : (tensor<4x8xui8>, tensor<4x1xf32>) -> tensor<4x8xf16>
  %y = nn.cast %w {to = f32} : (tensor<4x8xf16>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

// CHECK-LABEL: func @join
// CHECK-SAME: %[[C:.*]]: tensor<4x8xui8>, %[[S:.*]]: tensor<4x1xf16>, %[[D:.*]]: tensor<2x8xui8>, %[[T:.*]]: tensor<2x1xf16>
// CHECK-DAG: %[[CD:.*]] = nn.concat %[[C]], %[[D]] {axis = 0 : si64}
// CHECK-DAG: %[[ST:.*]] = nn.concat %[[S]], %[[T]] {axis = 0 : si64}
// CHECK: %[[W:.*]] = nn.dequantize %[[CD]], %[[ST]] {code = "int4", to = f16}
// CHECK: return %[[W]]
func.func @join(%c: tensor<4x8xui8>, %s: tensor<4x1xf16>, %d: tensor<2x8xui8>, %t: tensor<2x1xf16>) -> tensor<6x16xf16> {
  %v = nn.dequantize %c, %s {code = "int4", to = f16} : (tensor<4x8xui8>, tensor<4x1xf16>) -> tensor<4x16xf16>
  %w = nn.dequantize %d, %t {code = "int4", to = f16} : (tensor<2x8xui8>, tensor<2x1xf16>) -> tensor<2x16xf16>
  %y = nn.concat %v, %w {axis = 0 : si64} : (tensor<4x16xf16>, tensor<2x16xf16>) -> tensor<6x16xf16>
  return %y : tensor<6x16xf16>
}

// -----

// Other blocks, or columns side by side, are no one matrix.
// CHECK-LABEL: func @apart
// CHECK-COUNT-3: nn.dequantize
// CHECK-COUNT-2: nn.concat
// CHECK: return
func.func @apart(%c: tensor<4x8xui8>, %s: tensor<4x1xf16>, %t: tensor<4x2xf16>) -> (tensor<8x16xf16>, tensor<4x32xf16>) {
  %v = nn.dequantize %c, %s {code = "int4", to = f16} : (tensor<4x8xui8>, tensor<4x1xf16>) -> tensor<4x16xf16>
  %w = nn.dequantize %c, %t {code = "int4", to = f16} : (tensor<4x8xui8>, tensor<4x2xf16>) -> tensor<4x16xf16>
  %u = nn.dequantize %c, %s {code = "e2m1", to = f16} : (tensor<4x8xui8>, tensor<4x1xf16>) -> tensor<4x16xf16>
  %y = nn.concat %v, %w {axis = 0 : si64} : (tensor<4x16xf16>, tensor<4x16xf16>) -> tensor<8x16xf16>
  %z = nn.concat %v, %u {axis = 1 : si64} : (tensor<4x16xf16>, tensor<4x16xf16>) -> tensor<4x32xf16>
  return %y, %z : tensor<8x16xf16>, tensor<4x32xf16>
}

// -----

// CHECK-LABEL: func @gather
// CHECK-SAME: %[[C:.*]]: tensor<9x8xui8>, %[[S:.*]]: tensor<9x2xf16>, %[[I:.*]]: tensor<2x3xi32>
// CHECK: %[[R:.*]] = nn.reshape %[[I]] {shape = array<i64: 6>}
// CHECK-DAG: %[[GC:.*]] = nn.gather %[[C]], %[[R]]
// CHECK-DAG: %[[GS:.*]] = nn.gather %[[S]], %[[R]]
// CHECK: %[[W:.*]] = nn.dequantize %[[GC]], %[[GS]] {code = "int8", to = f16}
// CHECK: %[[Y:.*]] = nn.reshape %[[W]] {shape = array<i64: 2, 3, 8>}
// CHECK: return %[[Y]]
func.func @gather(%c: tensor<9x8xui8>, %s: tensor<9x2xf16>, %i: tensor<2x3xi32>) -> tensor<2x3x8xf16> {
  %w = nn.dequantize %c, %s {code = "int8", to = f16} : (tensor<9x8xui8>, tensor<9x2xf16>) -> tensor<9x8xf16>
  %y = nn.gather %w, %i {axis = 0 : si64} : (tensor<9x8xf16>, tensor<2x3xi32>) -> tensor<2x3x8xf16>
  return %y : tensor<2x3x8xf16>
}
