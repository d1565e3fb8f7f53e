// Layer norms between products of 64 columns, with 16 moments per row, of 4
// elements each on the test target.
// RUN: frit-opt %s --fold-norms -split-input-file | FileCheck %s
// RUN: frit-opt %s --fold-norms --decompose --fusion -split-input-file | FileCheck %s --check-prefix=FUSED

// The product before the norm also computes the moments. A product after the
// norm reads the unnormalized value with scaled weights; a sum with the norm
// normalizes that operand.
// CHECK-LABEL: func.func @after
// CHECK-SAME:    %[[X:[^:]*]]:
// CHECK-DAG:     %[[W:.*]] = nn.constant "w"
// CHECK-DAG:     %[[S:.*]] = nn.constant "scale"
// CHECK-DAG:     %[[B:.*]] = nn.constant "bias"
// CHECK:         %[[H:.*]] = nn.matmul %[[X]], %{{.*}}
// CHECK-NEXT:    %[[M:.*]] = nn.moments %[[H]] {width = 4 : si64} : (tensor<5x64xf16>) -> tensor<5x16x2xf32>
// CHECK:         %[[SCALED:.*]] = nn.cast %{{.*}} {storage, to = f16} : (tensor<64x128xf32>) -> tensor<64x128xf16>
// CHECK:         %[[P:.*]] = nn.matmul %[[H]], %[[SCALED]]
// CHECK:         %[[SUMS:.*]] = nn.reshape %{{.*}} {shape = array<i64: 128>}
// CHECK:         %[[Y:.*]] = nn.normalize_product %[[P]], %[[M]], %[[SUMS]], %{{.*}} {epsilon = 9.99999974E-6 : f32, width = 4 : si64}
// CHECK-NEXT:    %[[R:.*]] = nn.relu %[[Y]]
// CHECK-NEXT:    %[[D:.*]] = nn.matmul %[[R]]
// CHECK:         %[[O:.*]] = nn.add %[[D]], %{{.*}}
// CHECK-NEXT:    %[[Z:.*]] = nn.normalize %[[H]], %[[M]], %{{.*}}, %[[O]]
// CHECK-NEXT:    return %[[Z]]

// FUSED-LABEL: func.func @after
// FUSED:         nn.fusion
// FUSED:           nn.matmul
// FUSED-NEXT:      nn.moments
// FUSED-NEXT:      nn.yield
// FUSED:         nn.fusion
// FUSED:           nn.matmul
// FUSED-NEXT:      nn.normalize_product
// FUSED-NEXT:      nn.relu
// FUSED-NEXT:      nn.yield
// FUSED:         nn.fusion
// FUSED:           nn.matmul
// FUSED-NEXT:      nn.add
// FUSED-NEXT:      nn.normalize
// FUSED-NEXT:      nn.yield
func.func @after(%x: tensor<5x32xf16>) -> tensor<5x64xf16> {
  %v = nn.constant "v" dense<0.5> : tensor<32x64xf16>
  %w = nn.constant "w" dense<0.5> : tensor<64x128xf16>
  %b = nn.constant "b" dense<0.5> : tensor<128xf16>
  %u = nn.constant "u" dense<0.5> : tensor<128x64xf16>
  %s = nn.constant "scale" dense<0.5> : tensor<64xf32>
  %t = nn.constant "bias" dense<0.5> : tensor<64xf32>
  %h = nn.matmul %x, %v : (tensor<5x32xf16>, tensor<32x64xf16>) -> tensor<5x64xf16>
  %n = nn.layer_norm %h, %s, %t : (tensor<5x64xf16>, tensor<64xf32>, tensor<64xf32>) -> tensor<5x64xf16>
  %0 = nn.matmul %n, %w : (tensor<5x64xf16>, tensor<64x128xf16>) -> tensor<5x128xf16>
  %1 = nn.add %0, %b : (tensor<5x128xf16>, tensor<128xf16>) -> tensor<5x128xf16>
  %2 = nn.relu %1 : (tensor<5x128xf16>) -> tensor<5x128xf16>
  %3 = nn.matmul %2, %u : (tensor<5x128xf16>, tensor<128x64xf16>) -> tensor<5x64xf16>
  %4 = nn.add %3, %n : (tensor<5x64xf16>, tensor<5x64xf16>) -> tensor<5x64xf16>
  return %4 : tensor<5x64xf16>
}

// -----

// A residual around the norm, reshaped rows, and an f32 result.
// CHECK-LABEL: func.func @before
// CHECK:         %[[H:.*]] = nn.add
// CHECK-NEXT:    %[[M:.*]] = nn.moments %[[H]]
// CHECK:         %[[V:.*]] = nn.reshape %[[H]] {shape = array<i64: 5, 1, 64>}
// CHECK:         %[[P:.*]] = nn.matmul %[[V]]
// CHECK:         %[[W:.*]] = nn.reshape %[[M]] {shape = array<i64: 5, 1, 16, 2>}
// CHECK:         %[[Y:.*]] = nn.normalize_product %[[P]], %[[W]], %{{.*}}, %{{.*}} : {{.*}} -> tensor<5x1x128xf32>
// CHECK-NEXT:    return %[[H]], %[[Y]]
func.func @before(%x: tensor<5x64xf16>) -> (tensor<5x64xf16>, tensor<5x1x128xf32>) {
  %v = nn.constant "v" dense<0.5> : tensor<64x64xf16>
  %w = nn.constant "w" dense<0.5> : tensor<128x64xf16>
  %s = nn.constant "scale" dense<0.5> : tensor<64xf32>
  %0 = nn.matmul %x, %v : (tensor<5x64xf16>, tensor<64x64xf16>) -> tensor<5x64xf16>
  %h = nn.add %x, %0 : (tensor<5x64xf16>, tensor<5x64xf16>) -> tensor<5x64xf16>
  %n = nn.layer_norm %h, %s : (tensor<5x64xf16>, tensor<64xf32>) -> tensor<5x64xf16>
  %1 = nn.reshape %n {shape = array<i64: 5, 1, 64>} : (tensor<5x64xf16>) -> tensor<5x1x64xf16>
  %2 = nn.matmul %1, %w {transpose_b} : (tensor<5x1x64xf16>, tensor<128x64xf16>) -> tensor<5x1x128xf16>
  %3 = nn.cast %2 {to = f32} : (tensor<5x1x128xf16>) -> tensor<5x1x128xf32>
  return %h, %3 : tensor<5x64xf16>, tensor<5x1x128xf32>
}

// -----

// Other readers get the normalized value in memory.
// CHECK-LABEL: func.func @read
// CHECK:         nn.layer_norm
// CHECK-NOT:     nn.moments
func.func @read(%x: tensor<5x64xf16>) -> (tensor<5x64xf16>, tensor<5x64xf16>) {
  %v = nn.constant "v" dense<0.5> : tensor<64x64xf16>
  %s = nn.constant "scale" dense<0.5> : tensor<64xf32>
  %h = nn.matmul %x, %v : (tensor<5x64xf16>, tensor<64x64xf16>) -> tensor<5x64xf16>
  %n = nn.layer_norm %h, %s : (tensor<5x64xf16>, tensor<64xf32>) -> tensor<5x64xf16>
  %0 = nn.matmul %n, %v : (tensor<5x64xf16>, tensor<64x64xf16>) -> tensor<5x64xf16>
  return %n, %0 : tensor<5x64xf16>, tensor<5x64xf16>
}

// -----

// A product along columns does not read normalized rows.
// CHECK-LABEL: func.func @columns
// CHECK:         nn.layer_norm
// CHECK-NOT:     nn.moments
func.func @columns(%x: tensor<64x64xf16>) -> tensor<64x64xf16> {
  %v = nn.constant "v" dense<0.5> : tensor<64x64xf16>
  %w = nn.constant "w" dense<0.5> : tensor<64x64xf16>
  %s = nn.constant "scale" dense<0.5> : tensor<64xf32>
  %h = nn.matmul %x, %v : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16>
  %n = nn.layer_norm %h, %s : (tensor<64x64xf16>, tensor<64xf32>) -> tensor<64x64xf16>
  %0 = nn.matmul %n, %w {transpose_a} : (tensor<64x64xf16>, tensor<64x64xf16>) -> tensor<64x64xf16>
  return %0 : tensor<64x64xf16>
}

// -----

// Nor is a norm folded if no product computes its rows.
// CHECK-LABEL: func.func @given
// CHECK:         nn.layer_norm
// CHECK-NOT:     nn.moments
func.func @given(%x: tensor<5x64xf16>) -> tensor<5x64xf16> {
  %v = nn.constant "v" dense<0.5> : tensor<64x64xf16>
  %s = nn.constant "scale" dense<0.5> : tensor<64xf32>
  %n = nn.layer_norm %x, %s : (tensor<5x64xf16>, tensor<64xf32>) -> tensor<5x64xf16>
  %0 = nn.matmul %n, %v : (tensor<5x64xf16>, tensor<64x64xf16>) -> tensor<5x64xf16>
  return %0 : tensor<5x64xf16>
}

// -----

// Nor if its product's weights would exist twice, scaled and unscaled.
// CHECK-LABEL: func.func @tied
// CHECK:         nn.layer_norm
// CHECK-NOT:     nn.moments
func.func @tied(%ids: tensor<5xi64>) -> tensor<5x64xf16> {
  %v = nn.constant "v" dense<0.5> : tensor<64x64xf16>
  %w = nn.constant "w" dense<0.5> : tensor<64x64xf16>
  %s = nn.constant "scale" dense<0.5> : tensor<64xf32>
  %x = nn.gather %w, %ids : (tensor<64x64xf16>, tensor<5xi64>) -> tensor<5x64xf16>
  %h = nn.matmul %x, %v : (tensor<5x64xf16>, tensor<64x64xf16>) -> tensor<5x64xf16>
  %n = nn.layer_norm %h, %s : (tensor<5x64xf16>, tensor<64xf32>) -> tensor<5x64xf16>
  %t = nn.transpose %w {perm = array<i64: 1, 0>} : (tensor<64x64xf16>) -> tensor<64x64xf16>
  %0 = nn.matmul %n, %t : (tensor<5x64xf16>, tensor<64x64xf16>) -> tensor<5x64xf16>
  return %0 : tensor<5x64xf16>
}

// -----

// Moments that no product's kernel computes are decomposed.
// CHECK-LABEL: func.func @stranded
// FUSED-LABEL: func.func @stranded
// FUSED-NOT:     nn.moments
// FUSED:         nn.reduce
func.func @stranded(%x: tensor<5x64xf16>) -> tensor<5x16x2xf32> {
  %m = nn.moments %x {width = 4 : si64} : (tensor<5x64xf16>) -> tensor<5x16x2xf32>
  return %m : tensor<5x16x2xf32>
}
