// RUN: frit-opt %s --precision=mode=fp16 | FileCheck %s
// RUN: frit-opt %s --precision=mode=tf32 | FileCheck %s --check-prefix=TF32
// RUN: frit-opt %s --precision=mode=fp32 | FileCheck %s --check-prefix=FP32
// RUN: not frit-opt %s --precision=mode=fp8 2>&1 | FileCheck %s --check-prefix=ERR

// ERR: error: unknown precision 'fp8': fp32, tf32, fp16, bf16, amp-fp16, amp-bf16 and amp-fp8 are known

// The boundary keeps its types, weights get a cast, and the scalar is converted.
// CHECK-LABEL: func.func @linear
// CHECK-SAME:    (%[[X:.*]]: tensor<2x4xf32>) -> tensor<2x3xf32>
// CHECK-DAG:     %[[XH:.*]] = nn.cast %[[X]] {storage, to = f16}
// CHECK-DAG:     %[[W:.*]] = nn.constant "w" {{.*}}f32>
// CHECK-DAG:     %[[WH:.*]] = nn.cast %[[W]] {storage, to = f16}
// CHECK-DAG:     %[[S:.*]] = nn.constant dense<2.000000e+00> : tensor<f16>
// CHECK:         %[[M:.*]] = nn.matmul %[[XH]], %[[WH]] : (tensor<2x4xf16>, tensor<4x3xf16>) -> tensor<2x3xf16>
// CHECK:         %[[Y:.*]] = nn.mul %[[M]], %[[S]]
// CHECK:         %[[R:.*]] = nn.cast %[[Y]] {to = f32}
// CHECK:         return %[[R]]
// TF32-LABEL:  func.func @linear
// TF32:          nn.matmul {{.*}} {tf32} : {{.*}}f32>
// FP32-LABEL:  func.func @linear
// FP32-NOT:      tf32
// FP32-NOT:      nn.cast
// FP32:        func.func @mask
func.func @linear(%x: tensor<2x4xf32>) -> tensor<2x3xf32> {
  %w = nn.constant "w" dense<[[1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0], [1.0, 2.0, 3.0]]> : tensor<4x3xf32>
  %s = nn.constant dense<2.0> : tensor<f32>
  %0 = nn.matmul %x, %w : (tensor<2x4xf32>, tensor<4x3xf32>) -> tensor<2x3xf32>
  %1 = nn.mul %0, %s : (tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  return %1 : tensor<2x3xf32>
}

// A mask's lowest f32 stays finite; an infinity stays one.
// CHECK-LABEL: func.func @mask
// CHECK-DAG:     nn.constant dense<-6.550400e+04> : tensor<f16>
// CHECK-DAG:     nn.constant dense<0xFC00> : tensor<f16>
func.func @mask(%m: tensor<4xi1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %low = nn.constant dense<-3.40282347E+38> : tensor<f32>
  %inf = nn.constant dense<0xFF800000> : tensor<f32>
  %0 = nn.where %m, %x, %low : (tensor<4xi1>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = nn.where %m, %0, %inf : (tensor<4xi1>, tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// A sum stays f32, as do elementwise operators on it alone, until it meets a
// 16-bit value; integer counts convert to f32.
// CHECK-LABEL: func.func @reduce
// CHECK:         %[[H:.*]] = nn.matmul {{.*}} -> tensor<2x4xf16>
// CHECK:         %[[F:.*]] = nn.cast %[[H]] {to = f32}
// CHECK:         %[[S:.*]] = nn.reduce %[[F]] {{.*}} -> tensor<2x1xf32>
// CHECK:         %[[N:.*]] = nn.cast %{{.*}} {to = f32} : (tensor<i64>) -> tensor<f32>
// CHECK:         %[[D:.*]] = nn.div %[[S]], %[[N]] {{.*}} -> tensor<2x1xf32>
// CHECK:         %[[DH:.*]] = nn.cast %[[D]] {storage, to = f16}
// CHECK:         nn.sub %[[H]], %[[DH]] {{.*}} -> tensor<2x4xf16>
func.func @reduce(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>, %n: tensor<i64>) -> tensor<2x4xf32> {
  %0 = nn.matmul %x, %w : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  %1 = nn.reduce %0 {axes = array<i64: 1>, kind = #nn<combiner sum>} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %2 = nn.cast %n {to = f32} : (tensor<i64>) -> tensor<f32>
  %3 = nn.div %1, %2 : (tensor<2x1xf32>, tensor<f32>) -> tensor<2x1xf32>
  %4 = nn.sub %0, %3 : (tensor<2x4xf32>, tensor<2x1xf32>) -> tensor<2x4xf32>
  return %4 : tensor<2x4xf32>
}

// A composite takes its parameters as they are.
// CHECK-LABEL: func.func @norm
// CHECK:         nn.layer_norm {{.*}} : (tensor<2x4xf16>, tensor<4xf32>) -> tensor<2x4xf16>
func.func @norm(%x: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %s = nn.constant "s" dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %0 = nn.layer_norm %x, %s : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return %0 : tensor<2x4xf32>
}

// Attention stays one operator.
// CHECK-LABEL: func.func @attention
// CHECK:         nn.attention {{.*}} -> tensor<1x2x4x8xf16>
// TF32-LABEL:  func.func @attention
// TF32:          nn.attention {{.*}} tf32} :
func.func @attention(%q: tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32> {
  %0 = nn.attention %q, %q, %q {scale = 0.5 : f32} : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32>
  return %0 : tensor<1x2x4x8xf32>
}

// Bit casts see f32 bits on either side.
// CHECK-LABEL: func.func @bits
// CHECK:         %[[R:.*]] = nn.softmax {{.*}}tensor<4xf16>
// CHECK:         %[[W:.*]] = nn.cast %[[R]] {to = f32}
// CHECK:         %[[B:.*]] = nn.bit_cast %[[W]] {to = i32} : (tensor<4xf32>) -> tensor<4xi32>
// CHECK:         nn.bit_cast %[[B]] {to = f32} : (tensor<4xi32>) -> tensor<4xf32>
func.func @bits(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = nn.softmax %x {axis = 0 : si64} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = nn.bit_cast %0 {to = i32} : (tensor<4xf32>) -> tensor<4xi32>
  %2 = nn.bit_cast %1 {to = f32} : (tensor<4xi32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// Angles stay f32 up to the cosine: the product of positions and frequencies,
// data movement, and addends.
// CHECK-LABEL: func.func @rotary
// CHECK:         %[[P:.*]] = nn.cast %{{.*}} {to = f32} : (tensor<1x8xi64>)
// CHECK:         %[[R:.*]] = nn.reshape %[[P]] {{.*}} -> tensor<1x1x8xf32>
// CHECK:         nn.matmul %{{.*}}, %[[R]] : {{.*}} -> tensor<1x4x8xf32>
// CHECK:         nn.transpose {{.*}} -> tensor<1x8x4xf32>
// CHECK:         nn.concat {{.*}} -> tensor<1x8x8xf32>
// CHECK:         %[[C:.*]] = nn.cos {{.*}}f32>
// CHECK:         %[[H:.*]] = nn.cast %[[C]] {storage, to = f16}
// CHECK:         nn.mul %{{.*}}, %[[H]] {{.*}} -> tensor<1x8x8xf16>
// TF32-LABEL:  func.func @rotary
// TF32:          nn.matmul %{{[^{]*}} :
func.func @rotary(%ids: tensor<1x8xi64>, %q: tensor<1x8x8xf32>) -> tensor<1x8x8xf32> {
  %w = nn.constant "inv_freq" dense<[[[1.0], [0.1], [0.01], [0.001]]]> : tensor<1x4x1xf32>
  %0 = nn.cast %ids {to = f32} : (tensor<1x8xi64>) -> tensor<1x8xf32>
  %1 = nn.reshape %0 {shape = array<i64: 1, 1, 8>} : (tensor<1x8xf32>) -> tensor<1x1x8xf32>
  %2 = nn.matmul %w, %1 : (tensor<1x4x1xf32>, tensor<1x1x8xf32>) -> tensor<1x4x8xf32>
  %3 = nn.transpose %2 {perm = array<i64: 0, 2, 1>} : (tensor<1x4x8xf32>) -> tensor<1x8x4xf32>
  %4 = nn.concat %3, %3 {axis = 2 : si64} : (tensor<1x8x4xf32>, tensor<1x8x4xf32>) -> tensor<1x8x8xf32>
  %5 = nn.cos %4 : (tensor<1x8x8xf32>) -> tensor<1x8x8xf32>
  %6 = nn.mul %q, %5 : (tensor<1x8x8xf32>, tensor<1x8x8xf32>) -> tensor<1x8x8xf32>
  return %6 : tensor<1x8x8xf32>
}

// Constant angles stay f32 too; a table with other readers does not.
// CHECK-LABEL: func.func @constant_angles
// CHECK:         nn.concat {{.*}} -> tensor<2x4xf32>
// CHECK:         nn.gather {{.*}} -> tensor<3x4xf16>
// CHECK:         nn.reduce {{.*}} -> tensor<3x1xf32>
func.func @constant_angles(%i: tensor<3xi64>) -> (tensor<2x4xf32>, tensor<3x4xf32>) {
  %a = nn.constant "angles" dense<[[1.0, 2.0], [500.1, 1000.2]]> : tensor<2x2xf32>
  %t = nn.constant "table" dense<[[1.0, 2.0, 3.0, 4.0], [5.0, 6.0, 7.0, 8.0]]> : tensor<2x4xf32>
  %0 = nn.concat %a, %a {axis = 1 : si64} : (tensor<2x2xf32>, tensor<2x2xf32>) -> tensor<2x4xf32>
  %1 = nn.sin %0 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = nn.gather %t, %i {axis = 0 : si64} : (tensor<2x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  %3 = nn.reduce %2 {axes = array<i64: 1>, kind = #nn<combiner sum>} : (tensor<3x4xf32>) -> tensor<3x1xf32>
  %4 = nn.relu %2 : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %5 = nn.sub %4, %3 : (tensor<3x4xf32>, tensor<3x1xf32>) -> tensor<3x4xf32>
  return %1, %5 : tensor<2x4xf32>, tensor<3x4xf32>
}

// So do coordinates with a replaced column.
// CHECK-LABEL: func.func @scattered_angles
// CHECK:         nn.scatter_elements {{.*}} -> tensor<3x2xf32>
// CHECK:         nn.sin {{.*}} -> tensor<3x2xf32>
// CHECK:         nn.scatter_elements {{.*}} -> tensor<3x2xf16>
func.func @scattered_angles(%x: tensor<3x2xf32>, %i: tensor<3x1xi64>, %u: tensor<3x1xf32>) -> (tensor<3x2xf32>, tensor<3x2xf32>) {
  %0 = nn.scatter_elements %x, %i, %u {axis = 1 : si64} : (tensor<3x2xf32>, tensor<3x1xi64>, tensor<3x1xf32>) -> tensor<3x2xf32>
  %1 = nn.sin %0 : (tensor<3x2xf32>) -> tensor<3x2xf32>
  %2 = nn.matmul %x, %x {transpose_b} : (tensor<3x2xf32>, tensor<3x2xf32>) -> tensor<3x3xf32>
  %3 = nn.matmul %2, %x : (tensor<3x3xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  %4 = nn.scatter_elements %3, %i, %u {axis = 1 : si64} : (tensor<3x2xf32>, tensor<3x1xi64>, tensor<3x1xf32>) -> tensor<3x2xf32>
  %5 = nn.relu %4 : (tensor<3x2xf32>) -> tensor<3x2xf32>
  return %1, %5 : tensor<3x2xf32>, tensor<3x2xf32>
}

// A product of data has 16 bits, whatever follows it.
// CHECK-LABEL: func.func @scores
// CHECK:         nn.matmul {{.*}} -> tensor<2x2xf16>
// CHECK:         nn.exp {{.*}} -> tensor<2x2xf32>
func.func @scores(%x: tensor<2x8xf32>) -> tensor<2x2xf32> {
  %0 = nn.matmul %x, %x {transpose_b} : (tensor<2x8xf32>, tensor<2x8xf32>) -> tensor<2x2xf32>
  %1 = nn.exp %0 : (tensor<2x2xf32>) -> tensor<2x2xf32>
  return %1 : tensor<2x2xf32>
}

// Random numbers are f32, as is the number by which a row's gradient is scaled.
// CHECK-LABEL: func.func @dropout
// CHECK:         nn.random_uniform {{.*}} -> tensor<4x3xf32>
// CHECK:         nn.greater_equal {{.*}} : (tensor<4x3xf32>, tensor<f32>)
// CHECK:         nn.cross_entropy_grad {{.*}} : (tensor<4x3xf16>, tensor<4xi64>, tensor<4xf32>) -> tensor<4x3xf16>
func.func @dropout(%x: tensor<4x3xf32>, %seed: tensor<i64>, %p: tensor<f32>, %labels: tensor<4xi64>, %dy: tensor<4xf32>) -> tensor<4x3xf32> {
  %0 = nn.random_uniform %seed, %seed {shape = array<i64: 4, 3>, stream = 0 : i64} : (tensor<i64>, tensor<i64>) -> tensor<4x3xf32>
  %1 = nn.greater_equal %0, %p : (tensor<4x3xf32>, tensor<f32>) -> tensor<4x3xi1>
  %2 = nn.matmul %x, %x {transpose_b} : (tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x4xf32>
  %3 = nn.matmul %2, %x : (tensor<4x4xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %4 = nn.where %1, %3, %x : (tensor<4x3xi1>, tensor<4x3xf32>, tensor<4x3xf32>) -> tensor<4x3xf32>
  %5 = nn.cross_entropy_grad %4, %labels, %dy : (tensor<4x3xf32>, tensor<4xi64>, tensor<4xf32>) -> tensor<4x3xf32>
  return %5 : tensor<4x3xf32>
}

// Products with a trained parameter, sums of them and norms of those are f32,
// so that a small branch is not lost. A product with a constant is not.
// CHECK-LABEL: func.func @layer_scale
// CHECK:         %[[S:.*]] = nn.mul %{{.*}}, %{{.*}} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
// CHECK:         %[[A:.*]] = nn.add %{{.*}}, %[[S]] {{.*}} -> tensor<2x4xf32>
// CHECK:         nn.layer_norm %[[A]], {{.*}} -> tensor<2x4xf32>
// CHECK:         nn.matmul {{.*}} -> tensor<2x4xf16>
// CHECK:         nn.mul {{.*}} -> tensor<2x4xf16>
// CHECK:         nn.add {{.*}} -> tensor<2x4xf16>
func.func @layer_scale(%x: tensor<2x4xf32>, %w: tensor<4x4xf32>, %g: tensor<1x4xf32> {nn.parameter = "gamma"}, %b: tensor<4xf32> {nn.parameter = "norm.weight"}) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %c = nn.constant "c" dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %r = nn.reshape %g {shape = array<i64: 4>} : (tensor<1x4xf32>) -> tensor<4xf32>
  %0 = nn.matmul %x, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %1 = nn.mul %0, %r : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %2 = nn.add %x, %1 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %3 = nn.layer_norm %2, %b : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %4 = nn.matmul %3, %w : (tensor<2x4xf32>, tensor<4x4xf32>) -> tensor<2x4xf32>
  %5 = nn.mul %4, %c : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %6 = nn.add %x, %5 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %2, %6 : tensor<2x4xf32>, tensor<2x4xf32>
}

// The statistics that ranks average are f32.
// CHECK-LABEL: func.func @sync_batch_norm
// CHECK:         %[[M:.*]] = nn.batch_mean {{.*}} : (tensor<8x3x4xf16>) -> tensor<3xf32>
// CHECK:         %[[R:.*]] = nn.all_reduce %[[M]] : (tensor<3xf32>) -> tensor<3xf32>
// CHECK:         nn.batch_variance %{{.*}}, %[[R]] : (tensor<8x3x4xf16>, tensor<3xf32>) -> tensor<3xf32>
func.func @sync_batch_norm(%x: tensor<8x3x4xf32>) -> (tensor<3xf32>, tensor<3xf32>) {
  %0 = nn.batch_mean %x : (tensor<8x3x4xf32>) -> tensor<3xf32>
  %1 = nn.all_reduce %0 : (tensor<3xf32>) -> tensor<3xf32>
  %2 = nn.batch_variance %x, %1 : (tensor<8x3x4xf32>, tensor<3xf32>) -> tensor<3xf32>
  return %1, %2 : tensor<3xf32>, tensor<3xf32>
}

// Squares, cubes and their means are f32, as pow is under PyTorch's autocast:
// 300² is more than f16 has. Another product is not.
// CHECK-LABEL: func.func @powers
// CHECK:         %[[F:.*]] = nn.cast %{{.*}} {to = f32} : (tensor<2x4xf16>)
// CHECK:         %[[S:.*]] = nn.mul %[[F]], %[[F]] {{.*}} -> tensor<2x4xf32>
// CHECK:         nn.reduce_mean %[[S]] {{.*}} -> tensor<2x1xf32>
// CHECK:         nn.mul %[[S]], %[[F]] {{.*}} -> tensor<2x4xf32>
// CHECK:         nn.mul {{.*}} -> tensor<2x4xf16>
func.func @powers(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>) -> (tensor<2x1xf32>, tensor<2x4xf32>, tensor<2x4xf32>) {
  %0 = nn.matmul %x, %w : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  %1 = nn.mul %0, %0 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = nn.reduce_mean %1 {axes = array<i64: 1>} : (tensor<2x4xf32>) -> tensor<2x1xf32>
  %3 = nn.mul %1, %0 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %4 = nn.relu %0 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %5 = nn.mul %4, %0 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %2, %3, %5 : tensor<2x1xf32>, tensor<2x4xf32>, tensor<2x4xf32>
}

// A target is not rounded: its difference from the prediction may be small.
// CHECK-LABEL: func.func @squared_error
// CHECK:         nn.squared_error %{{.*}}, %arg2 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
func.func @squared_error(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>, %t: tensor<2x4xf32>) -> tensor<2x4xf32> {
  %0 = nn.matmul %x, %w : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  %1 = nn.squared_error %0, %t : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %1 : tensor<2x4xf32>
}

// Running sums, and angles that are picked from others one by one.
// CHECK-LABEL: func.func @picked_sums
// CHECK:         nn.cum_sum {{.*}} -> tensor<2x4xf32>
// CHECK:         nn.gather_elements {{.*}} -> tensor<2x3xf32>
func.func @picked_sums(%x: tensor<2x8xf32>, %w: tensor<8x4xf32>, %i: tensor<2x3xi64>) -> tensor<2x3xf32> {
  %0 = nn.matmul %x, %w : (tensor<2x8xf32>, tensor<8x4xf32>) -> tensor<2x4xf32>
  %1 = nn.cum_sum %0 {axis = 1 : si64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = nn.gather_elements %1, %i {axis = 1 : si64} : (tensor<2x4xf32>, tensor<2x3xi64>) -> tensor<2x3xf32>
  %3 = nn.cos %2 : (tensor<2x3xf32>) -> tensor<2x3xf32>
  return %3 : tensor<2x3xf32>
}

// Angles that are selected by their size stay f32, and so does what finds them.
// CHECK-LABEL: func.func @selected_angles
// CHECK-SAME:    (%[[X:.*]]: tensor<4x8xf32>, %[[P:.*]]: tensor<1x2x4x4xf32>, %[[I:.*]]: tensor<4x1xi64>, %[[U:.*]]: tensor<4x1xf32>)
// CHECK:         nn.sort_places %[[X]] {{.*}}(tensor<4x8xf32>) -> tensor<4x8xi64>
// CHECK:         nn.gather_elements %[[X]]{{.*}} -> tensor<4x8xf32>
// CHECK:         nn.max_pool %[[P]] {{.*}} -> tensor<1x2x3x3xf32>
// CHECK:         nn.scatter_elements %[[X]], %[[I]], %[[U]] {{.*}} -> tensor<4x8xf32>
func.func @selected_angles(%x: tensor<4x8xf32>, %p: tensor<1x2x4x4xf32>, %i: tensor<4x1xi64>, %u: tensor<4x1xf32>) -> (tensor<4x8xf32>, tensor<1x2x3x3xf32>, tensor<4x8xf32>) {
  %0 = nn.sort_places %x {axis = 1 : si64, descending} : (tensor<4x8xf32>) -> tensor<4x8xi64>
  %1 = nn.gather_elements %x, %0 {axis = 1 : si64} : (tensor<4x8xf32>, tensor<4x8xi64>) -> tensor<4x8xf32>
  %2 = nn.sin %1 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %3 = nn.max_pool %p {dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, shape = array<i64: 3, 3>, strides = array<i64: 1, 1>, window = array<i64: 2, 2>} : (tensor<1x2x4x4xf32>) -> tensor<1x2x3x3xf32>
  %4 = nn.cos %3 : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %5 = nn.scatter_elements %x, %i, %u {axis = 1 : si64, reduction = "max"} : (tensor<4x8xf32>, tensor<4x1xi64>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %6 = nn.tan %5 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %2, %4, %6 : tensor<4x8xf32>, tensor<1x2x3x3xf32>, tensor<4x8xf32>
}

// So do products of up to 32 coordinates, where they become angles.
// CHECK-LABEL: func.func @angles_of_six
// CHECK:         nn.matmul {{.*}}(tensor<9x6xf32>, tensor<6x8xf32>) -> tensor<9x8xf32>
// CHECK:         nn.matmul {{.*}}(tensor<9x6xf16>, tensor<6x8xf16>) -> tensor<9x8xf16>
// CHECK:         nn.matmul {{.*}}(tensor<9x33xf16>, tensor<33x8xf16>) -> tensor<9x8xf16>
// CHECK:         nn.conv {{.*}} -> tensor<1x8x3x3xf32>
// TF32-LABEL: func.func @angles_of_six
// TF32:         nn.matmul %arg0, %{{.*}} : (tensor<9x6xf32>, tensor<6x8xf32>)
// TF32:         nn.matmul %arg0, %{{.*}} {tf32} : (tensor<9x6xf32>, tensor<6x8xf32>)
// TF32:         nn.matmul {{.*}} {tf32} : (tensor<9x33xf32>
func.func @angles_of_six(%x: tensor<9x6xf32>, %z: tensor<9x33xf32>, %g: tensor<1x2x3x3xf32>) -> (tensor<9x8xf32>, tensor<9x8xf32>, tensor<9x8xf32>, tensor<1x8x3x3xf32>) {
  %w = nn.constant "w" dense_resource<__elided__> : tensor<6x8xf32>
  %v = nn.constant "v" dense_resource<__elided__> : tensor<6x8xf32>
  %u = nn.constant "u" dense_resource<__elided__> : tensor<33x8xf32>
  %k = nn.constant "k" dense_resource<__elided__> : tensor<8x2x1x1xf32>
  %0 = nn.matmul %x, %w : (tensor<9x6xf32>, tensor<6x8xf32>) -> tensor<9x8xf32>
  %1 = nn.sin %0 : (tensor<9x8xf32>) -> tensor<9x8xf32>
  %2 = nn.matmul %x, %v : (tensor<9x6xf32>, tensor<6x8xf32>) -> tensor<9x8xf32>
  %3 = nn.exp %2 : (tensor<9x8xf32>) -> tensor<9x8xf32>
  %4 = nn.matmul %z, %u : (tensor<9x33xf32>, tensor<33x8xf32>) -> tensor<9x8xf32>
  %5 = nn.sin %4 : (tensor<9x8xf32>) -> tensor<9x8xf32>
  %6 = nn.conv %g, %k {dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>} : (tensor<1x2x3x3xf32>, tensor<8x2x1x1xf32>) -> tensor<1x8x3x3xf32>
  %7 = nn.sin %6 : (tensor<1x8x3x3xf32>) -> tensor<1x8x3x3xf32>
  return %1, %3, %5, %7 : tensor<9x8xf32>, tensor<9x8xf32>, tensor<9x8xf32>, tensor<1x8x3x3xf32>
}

// What computes an index stays f32, up to the product that it reads: formulas,
// comparisons and sums. So does a float that becomes an integer.
// CHECK-LABEL: func.func @positions
// CHECK:         %[[M:.*]] = nn.matmul {{.*}} -> tensor<2x4xf16>
// CHECK:         %[[W:.*]] = nn.cast %[[M]] {to = f32}
// CHECK:         nn.sigmoid %[[W]] : (tensor<2x4xf32>)
// CHECK:         nn.mul {{.*}} -> tensor<2x4xf32>
// CHECK:         nn.floor {{.*}} -> tensor<2x4xf32>
// CHECK:         nn.gather {{.*}} -> tensor<2x4x3xf16>
// CHECK:         nn.greater %{{.*}} : (tensor<2x4xf32>, tensor<2x4xf32>)
// CHECK:         nn.cum_sum
func.func @positions(%x: tensor<2x64xf32>, %w: tensor<64x4xf32>, %t: tensor<4096x3xf32>) -> (tensor<2x4x3xf32>, tensor<2x4x3xf32>) {
  %n = nn.constant dense<4095.0> : tensor<f32>
  %0 = nn.matmul %x, %w : (tensor<2x64xf32>, tensor<64x4xf32>) -> tensor<2x4xf32>
  %1 = nn.sigmoid %0 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = nn.mul %1, %n : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %3 = nn.floor %2 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %4 = nn.cast %3 {to = i64} : (tensor<2x4xf32>) -> tensor<2x4xi64>
  %5 = nn.gather %t, %4 {axis = 0 : si64} : (tensor<4096x3xf32>, tensor<2x4xi64>) -> tensor<2x4x3xf32>
  %6 = nn.greater %2, %1 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xi1>
  %7 = nn.cast %6 {to = i64} : (tensor<2x4xi1>) -> tensor<2x4xi64>
  %8 = nn.cum_sum %7 {axis = 1 : si64} : (tensor<2x4xi64>) -> tensor<2x4xi64>
  %9 = nn.gather %t, %8 {axis = 0 : si64} : (tensor<4096x3xf32>, tensor<2x4xi64>) -> tensor<2x4x3xf32>
  return %5, %9 : tensor<2x4x3xf32>, tensor<2x4x3xf32>
}

// A quantization to bytes is no index: only what it divides by its scale is f32,
// from there on.
// CHECK-LABEL: func.func @quantization
// CHECK:         nn.silu {{.*}} : (tensor<2x4xf16>)
// CHECK:         nn.cast {{.*}}{to = f32} : (tensor<2x4xf16>)
// CHECK-NEXT:    nn.div {{.*}} -> tensor<2x4xf32>
// CHECK-NEXT:    nn.round {{.*}} -> tensor<2x4xf32>
// CHECK-NEXT:    nn.max {{.*}} -> tensor<2x4xf32>
// CHECK-NEXT:    nn.cast {{.*}}{to = i8} : (tensor<2x4xf32>)
func.func @quantization(%x: tensor<2x64xf32>, %w: tensor<64x4xf32>) -> tensor<2x4xi8> {
  %s = nn.constant dense<0.02> : tensor<f32>
  %low = nn.constant dense<-127.0> : tensor<f32>
  %0 = nn.matmul %x, %w : (tensor<2x64xf32>, tensor<64x4xf32>) -> tensor<2x4xf32>
  %1 = nn.silu %0 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = nn.div %1, %s : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %3 = nn.round %2 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %4 = nn.max %3, %low : (tensor<2x4xf32>, tensor<f32>) -> tensor<2x4xf32>
  %5 = nn.cast %4 {to = i8} : (tensor<2x4xf32>) -> tensor<2x4xi8>
  return %5 : tensor<2x4xi8>
}

// So do numbers whose logarithm is taken.
// CHECK-LABEL: func.func @log
// CHECK:         nn.softmax {{.*}} -> tensor<2x4xf32>
// CHECK:         nn.log {{.*}} -> tensor<2x4xf32>
func.func @log(%x: tensor<2x64xf32>, %w: tensor<64x4xf32>) -> tensor<2x4xf32> {
  %0 = nn.matmul %x, %w : (tensor<2x64xf32>, tensor<64x4xf32>) -> tensor<2x4xf32>
  %1 = nn.softmax %0 {axis = 1 : si64} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = nn.log %1 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return %2 : tensor<2x4xf32>
}

// In a model that is f16 itself, a mean, what is left without it, and its
// squares are f32; products and results are not.
// FP32-LABEL: func.func @own
// FP32-SAME:    (%{{.*}}: tensor<2x64xf16>, %{{.*}}: tensor<64x4xf16>) -> tensor<2x4xf16>
// FP32:         nn.matmul {{.*}} -> tensor<2x4xf16>
// FP32:         nn.reduce_mean {{.*}} -> tensor<2x1xf32>
// FP32:         nn.sub {{.*}} -> tensor<2x4xf32>
// FP32:         nn.mul {{.*}} -> tensor<2x4xf32>
// FP32:         nn.reduce_mean {{.*}} -> tensor<2x1xf32>
// FP32:         nn.sqrt {{.*}} -> tensor<2x1xf32>
// FP32:         %[[D:.*]] = nn.div {{.*}} -> tensor<2x4xf32>
// FP32:         %[[R:.*]] = nn.cast %[[D]] {storage, to = f16}
// FP32:         return %[[R]]
func.func @own(%x: tensor<2x64xf16>, %w: tensor<64x4xf16>) -> tensor<2x4xf16> {
  %0 = nn.matmul %x, %w : (tensor<2x64xf16>, tensor<64x4xf16>) -> tensor<2x4xf16>
  %1 = nn.reduce_mean %0 {axes = array<i64: 1>} : (tensor<2x4xf16>) -> tensor<2x1xf16>
  %2 = nn.sub %0, %1 : (tensor<2x4xf16>, tensor<2x1xf16>) -> tensor<2x4xf16>
  %3 = nn.mul %2, %2 : (tensor<2x4xf16>, tensor<2x4xf16>) -> tensor<2x4xf16>
  %4 = nn.reduce_mean %3 {axes = array<i64: 1>} : (tensor<2x4xf16>) -> tensor<2x1xf16>
  %5 = nn.sqrt %4 : (tensor<2x1xf16>) -> tensor<2x1xf16>
  %6 = nn.div %2, %5 : (tensor<2x4xf16>, tensor<2x1xf16>) -> tensor<2x4xf16>
  return %6 : tensor<2x4xf16>
}

// Casts to f16 still round, and bits are those of the model's type.
// FP32-LABEL: func.func @own_types
// FP32:         nn.cast %{{.*}} {to = f16} : (tensor<4xf32>) -> tensor<4xf16>
// FP32:         nn.bit_cast %{{.*}} {to = i16} : (tensor<4xf16>) -> tensor<4xi16>
// FP32:         nn.cast %{{.*}} {to = f16} : (tensor<4xi64>) -> tensor<4xf16>
func.func @own_types(%x: tensor<4xf32>, %i: tensor<4xi64>) -> (tensor<4xi16>, tensor<4xf32>, tensor<4xf16>) {
  %0 = nn.cast %x {to = f16} : (tensor<4xf32>) -> tensor<4xf16>
  %1 = nn.bit_cast %0 {to = i16} : (tensor<4xf16>) -> tensor<4xi16>
  %2 = nn.cast %0 {to = f32} : (tensor<4xf16>) -> tensor<4xf32>
  %3 = nn.cast %i {to = f16} : (tensor<4xi64>) -> tensor<4xf16>
  return %1, %2, %3 : tensor<4xi16>, tensor<4xf32>, tensor<4xf16>
}
