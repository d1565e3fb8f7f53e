// RUN: frit-opt %s --gate-products -split-input-file | FileCheck %s
// RUN: frit-opt %s --gate-products --fold-norms --decompose --fusion -split-input-file | FileCheck %s --check-prefix=FUSED

// Columns of values and gates take turns, in the weight and in the bias.
// CHECK-LABEL: func.func @gelu
// CHECK-SAME:    %[[X:[^:]*]]:
// CHECK-DAG:     %[[W:.*]] = nn.constant "w"
// CHECK-DAG:     %[[B:.*]] = nn.constant "b"
// CHECK:         %[[HALVES:.*]] = nn.reshape %[[W]] {{.*}} -> tensor<32x2x8x4x2xf16>
// CHECK-NEXT:    %[[TURNS:.*]] = nn.transpose %[[HALVES]] {perm = array<i64: 0, 2, 4, 3, 1>}
// CHECK-NEXT:    %[[PAIRS:.*]] = nn.reshape %[[TURNS]] {{.*}} -> tensor<32x128xf16>
// CHECK-NEXT:    %[[P:.*]] = nn.matmul %[[X]], %[[PAIRS]]
// CHECK:         nn.reshape %[[B]] {{.*}} -> tensor<2x8x4x2xf16>
// CHECK:         %[[SUM:.*]] = nn.add %[[P]], %{{.*}} : (tensor<5x128xf16>, tensor<128xf16>)
// CHECK-NEXT:    %[[Y:.*]] = nn.gate_columns %[[SUM]] {activation = "gelu"} : (tensor<5x128xf16>) -> tensor<5x64xf16>
// CHECK-NEXT:    return %[[Y]]

// FUSED-LABEL: func.func @gelu
// FUSED:         nn.fusion
// FUSED:           nn.matmul
// FUSED-NEXT:      nn.add
// FUSED-NEXT:      nn.gate_columns
// FUSED-NEXT:      nn.yield
// FUSED:         return
func.func @gelu(%x: tensor<5x32xf16>) -> tensor<5x64xf16> {
  %w = nn.constant "w" dense<0.5> : tensor<32x128xf16>
  %b = nn.constant "b" dense<0.5> : tensor<128xf16>
  %0 = nn.matmul %x, %w : (tensor<5x32xf16>, tensor<32x128xf16>) -> tensor<5x128xf16>
  %1 = nn.add %0, %b : (tensor<5x128xf16>, tensor<128xf16>) -> tensor<5x128xf16>
  %v = nn.slice %1 {sizes = array<i64: 5, 64>, starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : (tensor<5x128xf16>) -> tensor<5x64xf16>
  %g = nn.slice %1 {sizes = array<i64: 5, 64>, starts = array<i64: 0, 64>, steps = array<i64: 1, 1>} : (tensor<5x128xf16>) -> tensor<5x64xf16>
  %2 = nn.gelu %g : (tensor<5x64xf16>) -> tensor<5x64xf16>
  %3 = nn.mul %v, %2 : (tensor<5x64xf16>, tensor<5x64xf16>) -> tensor<5x64xf16>
  return %3 : tensor<5x64xf16>
}

// -----

// Gates that come first change places with the values. The weight is stored by
// columns.
// CHECK-LABEL: func.func @silu
// CHECK:         %[[HALVES:.*]] = nn.reshape %{{.*}} -> tensor<2x8x4x2x32xf16>
// CHECK-DAG:     %[[GATES:.*]] = nn.slice %[[HALVES]] {{.*}}starts = array<i64: 0, 0, 0, 0, 0>
// CHECK-DAG:     %[[VALUES:.*]] = nn.slice %[[HALVES]] {{.*}}starts = array<i64: 1, 0, 0, 0, 0>
// CHECK:         %[[BOTH:.*]] = nn.concat %[[VALUES]], %[[GATES]] {axis = 0 : si64}
// CHECK-NEXT:    nn.transpose %[[BOTH]] {perm = array<i64: 1, 3, 2, 0, 4>}
// CHECK:         nn.matmul {{.*}}transpose_b
// CHECK-NEXT:    nn.gate_columns %{{.*}} {activation = "silu"}
func.func @silu(%x: tensor<5x32xf16>) -> tensor<5x64xf16> {
  %w = nn.constant "w" dense<0.5> : tensor<128x32xf16>
  %0 = nn.matmul %x, %w {transpose_b} : (tensor<5x32xf16>, tensor<128x32xf16>) -> tensor<5x128xf16>
  %g = nn.slice %0 {sizes = array<i64: 5, 64>, starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : (tensor<5x128xf16>) -> tensor<5x64xf16>
  %v = nn.slice %0 {sizes = array<i64: 5, 64>, starts = array<i64: 0, 64>, steps = array<i64: 1, 1>} : (tensor<5x128xf16>) -> tensor<5x64xf16>
  %1 = nn.silu %g : (tensor<5x64xf16>) -> tensor<5x64xf16>
  %2 = nn.mul %1, %v : (tensor<5x64xf16>, tensor<5x64xf16>) -> tensor<5x64xf16>
  return %2 : tensor<5x64xf16>
}

// -----

// A norm folds into a product that gates its columns.
// FUSED-LABEL: func.func @normalized
// FUSED:           nn.moments
// FUSED:         nn.fusion
// FUSED:           nn.matmul
// FUSED-NEXT:      nn.normalize_product
// FUSED-NEXT:      nn.gate_columns
// FUSED-NEXT:      nn.yield
func.func @normalized(%x: tensor<5x32xf16>) -> tensor<5x64xf16> {
  %u = nn.constant "u" dense<0.5> : tensor<32x64xf16>
  %w = nn.constant "w" dense<0.5> : tensor<64x128xf16>
  %b = nn.constant "b" dense<0.5> : tensor<128xf16>
  %s = nn.constant "scale" dense<0.5> : tensor<64xf32>
  %h = nn.matmul %x, %u : (tensor<5x32xf16>, tensor<32x64xf16>) -> tensor<5x64xf16>
  %n = nn.layer_norm %h, %s : (tensor<5x64xf16>, tensor<64xf32>) -> tensor<5x64xf16>
  %0 = nn.matmul %n, %w : (tensor<5x64xf16>, tensor<64x128xf16>) -> tensor<5x128xf16>
  %1 = nn.add %0, %b : (tensor<5x128xf16>, tensor<128xf16>) -> tensor<5x128xf16>
  %v = nn.slice %1 {sizes = array<i64: 5, 64>, starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : (tensor<5x128xf16>) -> tensor<5x64xf16>
  %g = nn.slice %1 {sizes = array<i64: 5, 64>, starts = array<i64: 0, 64>, steps = array<i64: 1, 1>} : (tensor<5x128xf16>) -> tensor<5x64xf16>
  %2 = nn.gelu %g {approximate = "tanh"} : (tensor<5x64xf16>) -> tensor<5x64xf16>
  %3 = nn.mul %v, %2 : (tensor<5x64xf16>, tensor<5x64xf16>) -> tensor<5x64xf16>
  return %3 : tensor<5x64xf16>
}

// -----

// Thirds are no halves.
// CHECK-LABEL: func.func @thirds
// CHECK-NOT:     nn.gate_columns
func.func @thirds(%x: tensor<5x32xf16>) -> tensor<5x64xf16> {
  %w = nn.constant "w" dense<0.5> : tensor<32x192xf16>
  %0 = nn.matmul %x, %w : (tensor<5x32xf16>, tensor<32x192xf16>) -> tensor<5x192xf16>
  %v = nn.slice %0 {sizes = array<i64: 5, 64>, starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : (tensor<5x192xf16>) -> tensor<5x64xf16>
  %g = nn.slice %0 {sizes = array<i64: 5, 64>, starts = array<i64: 0, 64>, steps = array<i64: 1, 1>} : (tensor<5x192xf16>) -> tensor<5x64xf16>
  %1 = nn.silu %g : (tensor<5x64xf16>) -> tensor<5x64xf16>
  %2 = nn.mul %v, %1 : (tensor<5x64xf16>, tensor<5x64xf16>) -> tensor<5x64xf16>
  return %2 : tensor<5x64xf16>
}

// -----

// A weight with another reader would be on the device in both orders.
// CHECK-LABEL: func.func @shared
// CHECK-NOT:     nn.gate_columns
func.func @shared(%x: tensor<5x32xf16>, %z: tensor<5x32xf16>) -> (tensor<5x64xf16>, tensor<5x128xf16>) {
  %w = nn.constant "w" dense<0.5> : tensor<32x128xf16>
  %0 = nn.matmul %x, %w : (tensor<5x32xf16>, tensor<32x128xf16>) -> tensor<5x128xf16>
  %v = nn.slice %0 {sizes = array<i64: 5, 64>, starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : (tensor<5x128xf16>) -> tensor<5x64xf16>
  %g = nn.slice %0 {sizes = array<i64: 5, 64>, starts = array<i64: 0, 64>, steps = array<i64: 1, 1>} : (tensor<5x128xf16>) -> tensor<5x64xf16>
  %1 = nn.silu %g : (tensor<5x64xf16>) -> tensor<5x64xf16>
  %2 = nn.mul %v, %1 : (tensor<5x64xf16>, tensor<5x64xf16>) -> tensor<5x64xf16>
  %3 = nn.matmul %z, %w : (tensor<5x32xf16>, tensor<32x128xf16>) -> tensor<5x128xf16>
  return %2, %3 : tensor<5x64xf16>, tensor<5x128xf16>
}

// -----

// So would columns that something else reads have to be written.
// CHECK-LABEL: func.func @read
// CHECK-NOT:     nn.gate_columns
func.func @read(%x: tensor<5x32xf16>) -> (tensor<5x64xf16>, tensor<5x128xf16>) {
  %w = nn.constant "w" dense<0.5> : tensor<32x128xf16>
  %0 = nn.matmul %x, %w : (tensor<5x32xf16>, tensor<32x128xf16>) -> tensor<5x128xf16>
  %v = nn.slice %0 {sizes = array<i64: 5, 64>, starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : (tensor<5x128xf16>) -> tensor<5x64xf16>
  %g = nn.slice %0 {sizes = array<i64: 5, 64>, starts = array<i64: 0, 64>, steps = array<i64: 1, 1>} : (tensor<5x128xf16>) -> tensor<5x64xf16>
  %1 = nn.silu %g : (tensor<5x64xf16>) -> tensor<5x64xf16>
  %2 = nn.mul %v, %1 : (tensor<5x64xf16>, tensor<5x64xf16>) -> tensor<5x64xf16>
  return %2, %0 : tensor<5x64xf16>, tensor<5x128xf16>
}
