// RUN: frit-opt %s --compose --simplify -split-input-file | FileCheck %s

// Three products of one value become one; the bias is 0 where a part has none.
// CHECK-LABEL: func.func @projections
// CHECK-SAME:    %[[X:[^:]*]]:
// CHECK-DAG:     %[[W:.*]] = nn.concat %{{.*}}, %{{.*}}, %{{.*}} {axis = 1 : si64} : {{.*}} -> tensor<32x96xf32>
// CHECK-DAG:     %[[B:.*]] = nn.concat %{{.*}}, %{{.*}}, %{{.*}} {axis = 0 : si64} : {{.*}} -> tensor<96xf32>
// CHECK-DAG:     %[[P:.*]] = nn.matmul %[[X]], %[[W]]
// CHECK:         %[[S:.*]] = nn.add %[[P]], %[[B]]
// CHECK:         %[[F:.*]] = nn.reshape %[[S]] {shape = array<i64: 2, 5, 6, 16>}
// CHECK-COUNT-3: nn.slice %[[F]]
// CHECK:         nn.attention
func.func @projections(%x: tensor<2x5x32xf32>) -> tensor<2x2x5x16xf32> {
  %wq = nn.constant "wq" dense<1.0> : tensor<32x32xf32>
  %wk = nn.constant "wk" dense<2.0> : tensor<32x32xf32>
  %wv = nn.constant "wv" dense<3.0> : tensor<32x32xf32>
  %bq = nn.constant "bq" dense<1.0> : tensor<32xf32>
  %bv = nn.constant "bv" dense<2.0> : tensor<32xf32>
  %s = nn.constant dense<0.25> : tensor<f32>
  %0 = nn.matmul %x, %wq : (tensor<2x5x32xf32>, tensor<32x32xf32>) -> tensor<2x5x32xf32>
  %1 = nn.add %0, %bq : (tensor<2x5x32xf32>, tensor<32xf32>) -> tensor<2x5x32xf32>
  %q = nn.mul %1, %s : (tensor<2x5x32xf32>, tensor<f32>) -> tensor<2x5x32xf32>
  %k = nn.matmul %x, %wk : (tensor<2x5x32xf32>, tensor<32x32xf32>) -> tensor<2x5x32xf32>
  %2 = nn.matmul %x, %wv : (tensor<2x5x32xf32>, tensor<32x32xf32>) -> tensor<2x5x32xf32>
  %v = nn.add %bv, %2 : (tensor<32xf32>, tensor<2x5x32xf32>) -> tensor<2x5x32xf32>
  %3 = nn.reshape %q {shape = array<i64: 2, 5, 2, 16>} : (tensor<2x5x32xf32>) -> tensor<2x5x2x16xf32>
  %4 = nn.transpose %3 {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x5x2x16xf32>) -> tensor<2x2x5x16xf32>
  %5 = nn.reshape %k {shape = array<i64: 2, 5, 2, 16>} : (tensor<2x5x32xf32>) -> tensor<2x5x2x16xf32>
  %6 = nn.transpose %5 {perm = array<i64: 0, 2, 3, 1>} : (tensor<2x5x2x16xf32>) -> tensor<2x2x16x5xf32>
  %7 = nn.reshape %v {shape = array<i64: 2, 5, 2, 16>} : (tensor<2x5x32xf32>) -> tensor<2x5x2x16xf32>
  %8 = nn.transpose %7 {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x5x2x16xf32>) -> tensor<2x2x5x16xf32>
  %9 = nn.matmul %4, %6 : (tensor<2x2x5x16xf32>, tensor<2x2x16x5xf32>) -> tensor<2x2x5x5xf32>
  %10 = nn.softmax %9 : (tensor<2x2x5x5xf32>) -> tensor<2x2x5x5xf32>
  %11 = nn.matmul %10, %8 : (tensor<2x2x5x5xf32>, tensor<2x2x5x16xf32>) -> tensor<2x2x5x16xf32>
  return %11 : tensor<2x2x5x16xf32>
}

// -----

// Sequence-first layout: the transpose before the projection becomes strides,
// and those after the attention cancel.
// CHECK-LABEL: func.func @sequence_first
// CHECK-SAME:    %[[X:[^:]*]]:
// CHECK:         %[[P:.*]] = nn.matmul %[[X]], %{{.*}} : (tensor<2x5x32xf32>, tensor<32x32xf32>)
// CHECK:         %[[S:.*]] = nn.add %[[P]]
// CHECK:         %[[A:.*]] = nn.attention
// CHECK:         %[[T:.*]] = nn.transpose %[[A]] {perm = array<i64: 0, 2, 1, 3>}
// CHECK:         %[[R:.*]] = nn.reshape %[[T]] {shape = array<i64: 2, 5, 32>}
// CHECK:         %[[M:.*]] = nn.matmul %[[R]]
// CHECK:         %[[Y:.*]] = nn.add %[[M]]
// CHECK:         return %[[Y]]
func.func @sequence_first(%x: tensor<2x5x32xf32>) -> tensor<2x5x32xf32> {
  %w = nn.constant "w" dense<1.0> : tensor<32x32xf32>
  %b = nn.constant "b" dense<1.0> : tensor<32xf32>
  %0 = nn.transpose %x {perm = array<i64: 1, 0, 2>} : (tensor<2x5x32xf32>) -> tensor<5x2x32xf32>
  %1 = nn.matmul %0, %w : (tensor<5x2x32xf32>, tensor<32x32xf32>) -> tensor<5x2x32xf32>
  %2 = nn.add %1, %b : (tensor<5x2x32xf32>, tensor<32xf32>) -> tensor<5x2x32xf32>
  %3 = nn.reshape %2 {shape = array<i64: 5, 2, 2, 16>} : (tensor<5x2x32xf32>) -> tensor<5x2x2x16xf32>
  %4 = nn.transpose %3 {perm = array<i64: 1, 2, 0, 3>} : (tensor<5x2x2x16xf32>) -> tensor<2x2x5x16xf32>
  %5 = nn.matmul %4, %4 {transpose_b} : (tensor<2x2x5x16xf32>, tensor<2x2x5x16xf32>) -> tensor<2x2x5x5xf32>
  %6 = nn.softmax %5 : (tensor<2x2x5x5xf32>) -> tensor<2x2x5x5xf32>
  %7 = nn.matmul %6, %4 : (tensor<2x2x5x5xf32>, tensor<2x2x5x16xf32>) -> tensor<2x2x5x16xf32>
  %8 = nn.transpose %7 {perm = array<i64: 2, 0, 1, 3>} : (tensor<2x2x5x16xf32>) -> tensor<5x2x2x16xf32>
  %9 = nn.reshape %8 {shape = array<i64: 10, 32>} : (tensor<5x2x2x16xf32>) -> tensor<10x32xf32>
  %10 = nn.matmul %9, %w : (tensor<10x32xf32>, tensor<32x32xf32>) -> tensor<10x32xf32>
  %11 = nn.add %10, %b : (tensor<10x32xf32>, tensor<32xf32>) -> tensor<10x32xf32>
  %12 = nn.reshape %11 {shape = array<i64: 5, 2, 32>} : (tensor<10x32xf32>) -> tensor<5x2x32xf32>
  %13 = nn.transpose %12 {perm = array<i64: 1, 0, 2>} : (tensor<5x2x32xf32>) -> tensor<2x5x32xf32>
  return %13 : tensor<2x5x32xf32>
}

// -----

// Heads repeated before keys are transposed, and projections of fewer heads.
// CHECK-LABEL: func.func @shared_projections
// CHECK:         nn.matmul %{{.*}}, %{{.*}} : (tensor<2x5x32xf32>, tensor<32x64xf32>)
// CHECK-NOT:     nn.expand
// CHECK:         nn.attention {{.*}} : (tensor<2x2x5x16xf32>, tensor<2x1x5x16xf32>, tensor<2x1x5x16xf32>)
func.func @shared_projections(%x: tensor<2x5x32xf32>) -> tensor<2x2x5x16xf32> {
  %wq = nn.constant "wq" dense<1.0> : tensor<32x32xf32>
  %wk = nn.constant "wk" dense<2.0> : tensor<32x16xf32>
  %wv = nn.constant "wv" dense<3.0> : tensor<32x16xf32>
  %0 = nn.matmul %x, %wq : (tensor<2x5x32xf32>, tensor<32x32xf32>) -> tensor<2x5x32xf32>
  %1 = nn.matmul %x, %wk : (tensor<2x5x32xf32>, tensor<32x16xf32>) -> tensor<2x5x16xf32>
  %2 = nn.matmul %x, %wv : (tensor<2x5x32xf32>, tensor<32x16xf32>) -> tensor<2x5x16xf32>
  %3 = nn.reshape %0 {shape = array<i64: 2, 5, 2, 16>} : (tensor<2x5x32xf32>) -> tensor<2x5x2x16xf32>
  %q = nn.transpose %3 {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x5x2x16xf32>) -> tensor<2x2x5x16xf32>
  %4 = nn.reshape %1 {shape = array<i64: 2, 1, 1, 5, 16>} : (tensor<2x5x16xf32>) -> tensor<2x1x1x5x16xf32>
  %5 = nn.expand %4 {shape = array<i64: 2, 1, 2, 5, 16>} : (tensor<2x1x1x5x16xf32>) -> tensor<2x1x2x5x16xf32>
  %6 = nn.reshape %5 {shape = array<i64: 2, 2, 5, 16>} : (tensor<2x1x2x5x16xf32>) -> tensor<2x2x5x16xf32>
  %k = nn.transpose %6 {perm = array<i64: 0, 1, 3, 2>} : (tensor<2x2x5x16xf32>) -> tensor<2x2x16x5xf32>
  %7 = nn.reshape %2 {shape = array<i64: 2, 1, 1, 5, 16>} : (tensor<2x5x16xf32>) -> tensor<2x1x1x5x16xf32>
  %8 = nn.expand %7 {shape = array<i64: 2, 1, 2, 5, 16>} : (tensor<2x1x1x5x16xf32>) -> tensor<2x1x2x5x16xf32>
  %v = nn.reshape %8 {shape = array<i64: 2, 2, 5, 16>} : (tensor<2x1x2x5x16xf32>) -> tensor<2x2x5x16xf32>
  %9 = nn.matmul %q, %k : (tensor<2x2x5x16xf32>, tensor<2x2x16x5xf32>) -> tensor<2x2x5x5xf32>
  %10 = nn.softmax %9 : (tensor<2x2x5x5xf32>) -> tensor<2x2x5x5xf32>
  %11 = nn.matmul %10, %v : (tensor<2x2x5x5xf32>, tensor<2x2x5x16xf32>) -> tensor<2x2x5x16xf32>
  return %11 : tensor<2x2x5x16xf32>
}

// -----

// Queries that are normalized and scaled by position between their projection
// and the attention: still one product.
// CHECK-LABEL: func.func @turned_projections
// CHECK-COUNT-1: nn.matmul
// CHECK-NOT:     nn.matmul
// CHECK:         nn.attention
func.func @turned_projections(%x: tensor<5x32xf32>) -> tensor<1x2x5x16xf32> {
  %wq = nn.constant "q" dense<0.5> : tensor<32x32xf32>
  %wk = nn.constant "k" dense<0.25> : tensor<32x16xf32>
  %wv = nn.constant "v" dense<0.125> : tensor<32x16xf32>
  %s = nn.constant "s" dense<0.5> : tensor<16xf32>
  %c = nn.constant "c" dense<0.5> : tensor<1x1x5x1xf32>
  %0 = nn.matmul %x, %wq : (tensor<5x32xf32>, tensor<32x32xf32>) -> tensor<5x32xf32>
  %1 = nn.matmul %x, %wk : (tensor<5x32xf32>, tensor<32x16xf32>) -> tensor<5x16xf32>
  %2 = nn.matmul %x, %wv : (tensor<5x32xf32>, tensor<32x16xf32>) -> tensor<5x16xf32>
  %3 = nn.reshape %0 {shape = array<i64: 1, 5, 2, 16>} : (tensor<5x32xf32>) -> tensor<1x5x2x16xf32>
  %4 = nn.transpose %3 {perm = array<i64: 0, 2, 1, 3>} : (tensor<1x5x2x16xf32>) -> tensor<1x2x5x16xf32>
  %5 = nn.rms_norm %4, %s : (tensor<1x2x5x16xf32>, tensor<16xf32>) -> tensor<1x2x5x16xf32>
  %6 = nn.mul %5, %c : (tensor<1x2x5x16xf32>, tensor<1x1x5x1xf32>) -> tensor<1x2x5x16xf32>
  %7 = nn.reshape %1 {shape = array<i64: 1, 1, 5, 16>} : (tensor<5x16xf32>) -> tensor<1x1x5x16xf32>
  %8 = nn.mul %7, %c : (tensor<1x1x5x16xf32>, tensor<1x1x5x1xf32>) -> tensor<1x1x5x16xf32>
  %9 = nn.reshape %2 {shape = array<i64: 1, 1, 5, 16>} : (tensor<5x16xf32>) -> tensor<1x1x5x16xf32>
  %10 = nn.attention %6, %8, %9 {scale = 0.25 : f32} : (tensor<1x2x5x16xf32>, tensor<1x1x5x16xf32>, tensor<1x1x5x16xf32>) -> tensor<1x2x5x16xf32>
  return %10 : tensor<1x2x5x16xf32>
}

// -----

// Products of quantized tensors whose results are quantized stay apart.
// CHECK-LABEL: func.func @quantized
// CHECK-NOT:     nn.concat
// CHECK-COUNT-3: nn.matmul
// CHECK:         nn.attention
func.func @quantized(%codes: tensor<2x5x32xi8>) -> tensor<2x2x5x16xf32> {
  %s = nn.constant dense<0.25> : tensor<f32>
  %low = nn.constant dense<-128.0> : tensor<f32>
  %high = nn.constant dense<127.0> : tensor<f32>
  %f = nn.cast %codes {to = f32} : (tensor<2x5x32xi8>) -> tensor<2x5x32xf32>
  %x = nn.mul %f, %s : (tensor<2x5x32xf32>, tensor<f32>) -> tensor<2x5x32xf32>
  %wq = nn.constant "wq" dense<1> : tensor<32x32xi8>
  %fq = nn.cast %wq {to = f32} : (tensor<32x32xi8>) -> tensor<32x32xf32>
  %dq = nn.mul %fq, %s : (tensor<32x32xf32>, tensor<f32>) -> tensor<32x32xf32>
  %pq = nn.matmul %x, %dq : (tensor<2x5x32xf32>, tensor<32x32xf32>) -> tensor<2x5x32xf32>
  %nq = nn.div %pq, %s : (tensor<2x5x32xf32>, tensor<f32>) -> tensor<2x5x32xf32>
  %rq = nn.round %nq : (tensor<2x5x32xf32>) -> tensor<2x5x32xf32>
  %lq = nn.max %rq, %low : (tensor<2x5x32xf32>, tensor<f32>) -> tensor<2x5x32xf32>
  %hq = nn.min %lq, %high : (tensor<2x5x32xf32>, tensor<f32>) -> tensor<2x5x32xf32>
  %cq = nn.cast %hq {to = i8} : (tensor<2x5x32xf32>) -> tensor<2x5x32xi8>
  %eq = nn.cast %cq {to = f32} : (tensor<2x5x32xi8>) -> tensor<2x5x32xf32>
  %q = nn.mul %eq, %s : (tensor<2x5x32xf32>, tensor<f32>) -> tensor<2x5x32xf32>
  %wk = nn.constant "wk" dense<2> : tensor<32x32xi8>
  %fk = nn.cast %wk {to = f32} : (tensor<32x32xi8>) -> tensor<32x32xf32>
  %dk = nn.mul %fk, %s : (tensor<32x32xf32>, tensor<f32>) -> tensor<32x32xf32>
  %pk = nn.matmul %x, %dk : (tensor<2x5x32xf32>, tensor<32x32xf32>) -> tensor<2x5x32xf32>
  %nk = nn.div %pk, %s : (tensor<2x5x32xf32>, tensor<f32>) -> tensor<2x5x32xf32>
  %rk = nn.round %nk : (tensor<2x5x32xf32>) -> tensor<2x5x32xf32>
  %lk = nn.max %rk, %low : (tensor<2x5x32xf32>, tensor<f32>) -> tensor<2x5x32xf32>
  %hk = nn.min %lk, %high : (tensor<2x5x32xf32>, tensor<f32>) -> tensor<2x5x32xf32>
  %ck = nn.cast %hk {to = i8} : (tensor<2x5x32xf32>) -> tensor<2x5x32xi8>
  %ek = nn.cast %ck {to = f32} : (tensor<2x5x32xi8>) -> tensor<2x5x32xf32>
  %k = nn.mul %ek, %s : (tensor<2x5x32xf32>, tensor<f32>) -> tensor<2x5x32xf32>
  %wv = nn.constant "wv" dense<3> : tensor<32x32xi8>
  %fv = nn.cast %wv {to = f32} : (tensor<32x32xi8>) -> tensor<32x32xf32>
  %dv = nn.mul %fv, %s : (tensor<32x32xf32>, tensor<f32>) -> tensor<32x32xf32>
  %pv = nn.matmul %x, %dv : (tensor<2x5x32xf32>, tensor<32x32xf32>) -> tensor<2x5x32xf32>
  %nv = nn.div %pv, %s : (tensor<2x5x32xf32>, tensor<f32>) -> tensor<2x5x32xf32>
  %rv = nn.round %nv : (tensor<2x5x32xf32>) -> tensor<2x5x32xf32>
  %lv = nn.max %rv, %low : (tensor<2x5x32xf32>, tensor<f32>) -> tensor<2x5x32xf32>
  %hv = nn.min %lv, %high : (tensor<2x5x32xf32>, tensor<f32>) -> tensor<2x5x32xf32>
  %cv = nn.cast %hv {to = i8} : (tensor<2x5x32xf32>) -> tensor<2x5x32xi8>
  %ev = nn.cast %cv {to = f32} : (tensor<2x5x32xi8>) -> tensor<2x5x32xf32>
  %v = nn.mul %ev, %s : (tensor<2x5x32xf32>, tensor<f32>) -> tensor<2x5x32xf32>
  %3 = nn.reshape %q {shape = array<i64: 2, 5, 2, 16>} : (tensor<2x5x32xf32>) -> tensor<2x5x2x16xf32>
  %4 = nn.transpose %3 {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x5x2x16xf32>) -> tensor<2x2x5x16xf32>
  %5 = nn.reshape %k {shape = array<i64: 2, 5, 2, 16>} : (tensor<2x5x32xf32>) -> tensor<2x5x2x16xf32>
  %6 = nn.transpose %5 {perm = array<i64: 0, 2, 3, 1>} : (tensor<2x5x2x16xf32>) -> tensor<2x2x16x5xf32>
  %7 = nn.reshape %v {shape = array<i64: 2, 5, 2, 16>} : (tensor<2x5x32xf32>) -> tensor<2x5x2x16xf32>
  %8 = nn.transpose %7 {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x5x2x16xf32>) -> tensor<2x2x5x16xf32>
  %9 = nn.matmul %4, %6 : (tensor<2x2x5x16xf32>, tensor<2x2x16x5xf32>) -> tensor<2x2x5x5xf32>
  %10 = nn.softmax %9 : (tensor<2x2x5x5xf32>) -> tensor<2x2x5x5xf32>
  %11 = nn.matmul %10, %8 : (tensor<2x2x5x5xf32>, tensor<2x2x5x16xf32>) -> tensor<2x2x5x16xf32>
  return %11 : tensor<2x2x5x16xf32>
}

// -----

// Products of the same two rows, which all layers have of a time.
// CHECK-LABEL: func.func @times
// CHECK-SAME:    %[[X:[^:]*]]:
// CHECK-DAG:     %[[W:.*]] = nn.concat {{.*}} {axis = 1 : si64} : {{.*}} -> tensor<32x88xf32>
// CHECK-DAG:     %[[P:.*]] = nn.matmul %[[X]], %[[W]]
// CHECK-DAG:     %[[B:.*]] = nn.concat {{.*}} {axis = 0 : si64} : {{.*}} -> tensor<88xf32>
// CHECK:         %[[S:.*]] = nn.add %[[P]], %[[B]]
// CHECK-DAG:     %[[F:.*]] = nn.reshape %[[S]] {shape = array<i64: 2, 1, 88>}
// CHECK-DAG:     %[[A:.*]] = nn.slice %[[F]] {sizes = array<i64: 2, 1, 16>, starts = array<i64: 0, 0, 0>
// CHECK-DAG:     %[[L:.*]] = nn.slice %[[S]] {sizes = array<i64: 2, 8>, starts = array<i64: 0, 80>
// CHECK:         nn.add %{{.*}}, %[[A]]
// CHECK-NOT:     nn.matmul
func.func @times(%x: tensor<2x32xf32>, %y: tensor<2x5x16xf32>) -> (tensor<2x5x16xf32>, tensor<2x5x16xf32>, tensor<2x16xf32>, tensor<2x16xf32>, tensor<2x16xf32>, tensor<2x8xf32>) {
  %b = nn.constant "b" dense<1.0> : tensor<16xf32>
  %w0 = nn.constant "w0" dense<1.0> : tensor<32x16xf32>
  %w1 = nn.constant "w1" dense<2.0> : tensor<32x16xf32>
  %w2 = nn.constant "w2" dense<3.0> : tensor<32x16xf32>
  %w3 = nn.constant "w3" dense<4.0> : tensor<32x16xf32>
  %w4 = nn.constant "w4" dense<5.0> : tensor<32x16xf32>
  %w5 = nn.constant "w5" dense<6.0> : tensor<32x8xf32>
  %p0 = nn.matmul %x, %w0 : (tensor<2x32xf32>, tensor<32x16xf32>) -> tensor<2x16xf32>
  %p1 = nn.matmul %x, %w1 : (tensor<2x32xf32>, tensor<32x16xf32>) -> tensor<2x16xf32>
  %p2 = nn.matmul %x, %w2 : (tensor<2x32xf32>, tensor<32x16xf32>) -> tensor<2x16xf32>
  %p3 = nn.matmul %x, %w3 : (tensor<2x32xf32>, tensor<32x16xf32>) -> tensor<2x16xf32>
  %p4 = nn.matmul %x, %w4 : (tensor<2x32xf32>, tensor<32x16xf32>) -> tensor<2x16xf32>
  %p5 = nn.matmul %x, %w5 : (tensor<2x32xf32>, tensor<32x8xf32>) -> tensor<2x8xf32>
  %0 = nn.add %p0, %b : (tensor<2x16xf32>, tensor<16xf32>) -> tensor<2x16xf32>
  %1 = nn.reshape %0 {shape = array<i64: 2, 1, 16>} : (tensor<2x16xf32>) -> tensor<2x1x16xf32>
  %2 = nn.add %y, %1 : (tensor<2x5x16xf32>, tensor<2x1x16xf32>) -> tensor<2x5x16xf32>
  %3 = nn.reshape %p1 {shape = array<i64: 2, 1, 16>} : (tensor<2x16xf32>) -> tensor<2x1x16xf32>
  %4 = nn.slice %3 {sizes = array<i64: 2, 1, 1>, starts = array<i64: 0, 0, 5>, steps = array<i64: 1, 1, 1>} : (tensor<2x1x16xf32>) -> tensor<2x1x1xf32>
  %5 = nn.add %y, %4 : (tensor<2x5x16xf32>, tensor<2x1x1xf32>) -> tensor<2x5x16xf32>
  return %2, %5, %p2, %p3, %p4, %p5 : tensor<2x5x16xf32>, tensor<2x5x16xf32>, tensor<2x16xf32>, tensor<2x16xf32>, tensor<2x16xf32>, tensor<2x8xf32>
}

// -----

// Five are of one layer, and stay; so do products of many rows.
// CHECK-LABEL: func.func @few_or_long
// CHECK-NOT:     nn.concat
func.func @few_or_long(%x: tensor<2x32xf32>, %z: tensor<17x32xf32>) -> (tensor<2x16xf32>, tensor<2x16xf32>, tensor<2x16xf32>, tensor<2x16xf32>, tensor<2x16xf32>, tensor<17x16xf32>, tensor<17x16xf32>, tensor<17x16xf32>, tensor<17x16xf32>, tensor<17x16xf32>, tensor<17x16xf32>) {
  %w0 = nn.constant "w0" dense<1.0> : tensor<32x16xf32>
  %w1 = nn.constant "w1" dense<2.0> : tensor<32x16xf32>
  %w2 = nn.constant "w2" dense<3.0> : tensor<32x16xf32>
  %w3 = nn.constant "w3" dense<4.0> : tensor<32x16xf32>
  %w4 = nn.constant "w4" dense<5.0> : tensor<32x16xf32>
  %w5 = nn.constant "w5" dense<6.0> : tensor<32x16xf32>
  %p0 = nn.matmul %x, %w0 : (tensor<2x32xf32>, tensor<32x16xf32>) -> tensor<2x16xf32>
  %p1 = nn.matmul %x, %w1 : (tensor<2x32xf32>, tensor<32x16xf32>) -> tensor<2x16xf32>
  %p2 = nn.matmul %x, %w2 : (tensor<2x32xf32>, tensor<32x16xf32>) -> tensor<2x16xf32>
  %p3 = nn.matmul %x, %w3 : (tensor<2x32xf32>, tensor<32x16xf32>) -> tensor<2x16xf32>
  %p4 = nn.matmul %x, %w4 : (tensor<2x32xf32>, tensor<32x16xf32>) -> tensor<2x16xf32>
  %q0 = nn.matmul %z, %w0 : (tensor<17x32xf32>, tensor<32x16xf32>) -> tensor<17x16xf32>
  %q1 = nn.matmul %z, %w1 : (tensor<17x32xf32>, tensor<32x16xf32>) -> tensor<17x16xf32>
  %q2 = nn.matmul %z, %w2 : (tensor<17x32xf32>, tensor<32x16xf32>) -> tensor<17x16xf32>
  %q3 = nn.matmul %z, %w3 : (tensor<17x32xf32>, tensor<32x16xf32>) -> tensor<17x16xf32>
  %q4 = nn.matmul %z, %w4 : (tensor<17x32xf32>, tensor<32x16xf32>) -> tensor<17x16xf32>
  %q5 = nn.matmul %z, %w5 : (tensor<17x32xf32>, tensor<32x16xf32>) -> tensor<17x16xf32>
  return %p0, %p1, %p2, %p3, %p4, %q0, %q1, %q2, %q3, %q4, %q5 : tensor<2x16xf32>, tensor<2x16xf32>, tensor<2x16xf32>, tensor<2x16xf32>, tensor<2x16xf32>, tensor<17x16xf32>, tensor<17x16xf32>, tensor<17x16xf32>, tensor<17x16xf32>, tensor<17x16xf32>, tensor<17x16xf32>
}

// -----

// Of products that read more than 128 MiB, each part has as many as all before
// it, and is where its first one was.
// CHECK-LABEL: func.func @many_bytes
// CHECK:         nn.matmul {{.*}} -> tensor<2x10240xf16>
// CHECK:         nn.relu
// CHECK-NEXT:    nn.matmul {{.*}} -> tensor<2x10240xf16>
// CHECK:         nn.relu
// CHECK:         nn.matmul {{.*}} -> tensor<2x20480xf16>
// CHECK:         nn.relu
// CHECK:         nn.relu
// CHECK:         nn.matmul {{.*}} -> tensor<2x30720xf16>
// CHECK-NOT:     nn.matmul
func.func @many_bytes(%x: tensor<2x1024xf16>, %y: tensor<2x8xf16>) -> (tensor<2x10240xf16>, tensor<2x10240xf16>, tensor<2x10240xf16>, tensor<2x10240xf16>, tensor<2x10240xf16>, tensor<2x10240xf16>, tensor<2x10240xf16>, tensor<2x8xf16>) {
  %w0 = nn.constant "w0" dense<1.0> : tensor<1024x10240xf16>
  %w1 = nn.constant "w1" dense<2.0> : tensor<1024x10240xf16>
  %w2 = nn.constant "w2" dense<3.0> : tensor<1024x10240xf16>
  %w3 = nn.constant "w3" dense<4.0> : tensor<1024x10240xf16>
  %w4 = nn.constant "w4" dense<5.0> : tensor<1024x10240xf16>
  %w5 = nn.constant "w5" dense<6.0> : tensor<1024x10240xf16>
  %w6 = nn.constant "w6" dense<7.0> : tensor<1024x10240xf16>
  %p0 = nn.matmul %x, %w0 : (tensor<2x1024xf16>, tensor<1024x10240xf16>) -> tensor<2x10240xf16>
  %y0 = nn.relu %y : (tensor<2x8xf16>) -> tensor<2x8xf16>
  %p1 = nn.matmul %x, %w1 : (tensor<2x1024xf16>, tensor<1024x10240xf16>) -> tensor<2x10240xf16>
  %y1 = nn.relu %y0 : (tensor<2x8xf16>) -> tensor<2x8xf16>
  %p2 = nn.matmul %x, %w2 : (tensor<2x1024xf16>, tensor<1024x10240xf16>) -> tensor<2x10240xf16>
  %y2 = nn.relu %y1 : (tensor<2x8xf16>) -> tensor<2x8xf16>
  %p3 = nn.matmul %x, %w3 : (tensor<2x1024xf16>, tensor<1024x10240xf16>) -> tensor<2x10240xf16>
  %y3 = nn.relu %y2 : (tensor<2x8xf16>) -> tensor<2x8xf16>
  %p4 = nn.matmul %x, %w4 : (tensor<2x1024xf16>, tensor<1024x10240xf16>) -> tensor<2x10240xf16>
  %y4 = nn.relu %y3 : (tensor<2x8xf16>) -> tensor<2x8xf16>
  %p5 = nn.matmul %x, %w5 : (tensor<2x1024xf16>, tensor<1024x10240xf16>) -> tensor<2x10240xf16>
  %y5 = nn.relu %y4 : (tensor<2x8xf16>) -> tensor<2x8xf16>
  %p6 = nn.matmul %x, %w6 : (tensor<2x1024xf16>, tensor<1024x10240xf16>) -> tensor<2x10240xf16>
  %y6 = nn.relu %y5 : (tensor<2x8xf16>) -> tensor<2x8xf16>
  return %p0, %p1, %p2, %p3, %p4, %p5, %p6, %y6 : tensor<2x10240xf16>, tensor<2x10240xf16>, tensor<2x10240xf16>, tensor<2x10240xf16>, tensor<2x10240xf16>, tensor<2x10240xf16>, tensor<2x10240xf16>, tensor<2x8xf16>
}

// -----

// Keys and values that six layers compute from one text become one product, whose
// slices attention reads. Queries come from elsewhere. What else reads the text
// stays apart.
// CHECK-LABEL: func.func @texts
// CHECK-SAME:    %[[T:[^:]*]]: tensor<2x24x32xf16>
// CHECK:         %[[P:.*]] = nn.matmul %[[T]], %{{.*}} : (tensor<2x24x32xf16>, tensor<32x384xf16>) -> tensor<2x24x384xf16>
// CHECK-COUNT-6: nn.slice %[[P]] {sizes = array<i64: 2, 24, 64>
// CHECK-COUNT-6: nn.attention
// CHECK:         nn.matmul %[[T]], %{{.*}} : (tensor<2x24x32xf16>, tensor<32x16xf16>)
func.func @texts(%t: tensor<2x24x32xf16>, %q0: tensor<2x2x5x16xf16>, %q1: tensor<2x2x5x16xf16>, %q2: tensor<2x2x5x16xf16>, %q3: tensor<2x2x5x16xf16>, %q4: tensor<2x2x5x16xf16>, %q5: tensor<2x2x5x16xf16>) -> (tensor<2x2x5x16xf16>, tensor<2x2x5x16xf16>, tensor<2x2x5x16xf16>, tensor<2x2x5x16xf16>, tensor<2x2x5x16xf16>, tensor<2x2x5x16xf16>, tensor<2x24x16xf16>) {
  %wk0 = nn.constant "wk0" dense<1.0> : tensor<32x32xf16>
  %k0 = nn.matmul %t, %wk0 : (tensor<2x24x32xf16>, tensor<32x32xf16>) -> tensor<2x24x32xf16>
  %kr0 = nn.reshape %k0 {shape = array<i64: 2, 24, 2, 16>} : (tensor<2x24x32xf16>) -> tensor<2x24x2x16xf16>
  %wv0 = nn.constant "wv0" dense<2.0> : tensor<32x32xf16>
  %v0 = nn.matmul %t, %wv0 : (tensor<2x24x32xf16>, tensor<32x32xf16>) -> tensor<2x24x32xf16>
  %vr0 = nn.reshape %v0 {shape = array<i64: 2, 24, 2, 16>} : (tensor<2x24x32xf16>) -> tensor<2x24x2x16xf16>
  %kt0 = nn.transpose %kr0 {perm = array<i64: 0, 2, 3, 1>} : (tensor<2x24x2x16xf16>) -> tensor<2x2x16x24xf16>
  %vt0 = nn.transpose %vr0 {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x24x2x16xf16>) -> tensor<2x2x24x16xf16>
  %s0 = nn.matmul %q0, %kt0 : (tensor<2x2x5x16xf16>, tensor<2x2x16x24xf16>) -> tensor<2x2x5x24xf16>
  %p0 = nn.softmax %s0 : (tensor<2x2x5x24xf16>) -> tensor<2x2x5x24xf16>
  %y0 = nn.matmul %p0, %vt0 : (tensor<2x2x5x24xf16>, tensor<2x2x24x16xf16>) -> tensor<2x2x5x16xf16>
  %wk1 = nn.constant "wk1" dense<3.0> : tensor<32x32xf16>
  %k1 = nn.matmul %t, %wk1 : (tensor<2x24x32xf16>, tensor<32x32xf16>) -> tensor<2x24x32xf16>
  %kr1 = nn.reshape %k1 {shape = array<i64: 2, 24, 2, 16>} : (tensor<2x24x32xf16>) -> tensor<2x24x2x16xf16>
  %wv1 = nn.constant "wv1" dense<4.0> : tensor<32x32xf16>
  %v1 = nn.matmul %t, %wv1 : (tensor<2x24x32xf16>, tensor<32x32xf16>) -> tensor<2x24x32xf16>
  %vr1 = nn.reshape %v1 {shape = array<i64: 2, 24, 2, 16>} : (tensor<2x24x32xf16>) -> tensor<2x24x2x16xf16>
  %kt1 = nn.transpose %kr1 {perm = array<i64: 0, 2, 3, 1>} : (tensor<2x24x2x16xf16>) -> tensor<2x2x16x24xf16>
  %vt1 = nn.transpose %vr1 {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x24x2x16xf16>) -> tensor<2x2x24x16xf16>
  %s1 = nn.matmul %q1, %kt1 : (tensor<2x2x5x16xf16>, tensor<2x2x16x24xf16>) -> tensor<2x2x5x24xf16>
  %p1 = nn.softmax %s1 : (tensor<2x2x5x24xf16>) -> tensor<2x2x5x24xf16>
  %y1 = nn.matmul %p1, %vt1 : (tensor<2x2x5x24xf16>, tensor<2x2x24x16xf16>) -> tensor<2x2x5x16xf16>
  %wk2 = nn.constant "wk2" dense<5.0> : tensor<32x32xf16>
  %k2 = nn.matmul %t, %wk2 : (tensor<2x24x32xf16>, tensor<32x32xf16>) -> tensor<2x24x32xf16>
  %kr2 = nn.reshape %k2 {shape = array<i64: 2, 24, 2, 16>} : (tensor<2x24x32xf16>) -> tensor<2x24x2x16xf16>
  %wv2 = nn.constant "wv2" dense<6.0> : tensor<32x32xf16>
  %v2 = nn.matmul %t, %wv2 : (tensor<2x24x32xf16>, tensor<32x32xf16>) -> tensor<2x24x32xf16>
  %vr2 = nn.reshape %v2 {shape = array<i64: 2, 24, 2, 16>} : (tensor<2x24x32xf16>) -> tensor<2x24x2x16xf16>
  %kt2 = nn.transpose %kr2 {perm = array<i64: 0, 2, 3, 1>} : (tensor<2x24x2x16xf16>) -> tensor<2x2x16x24xf16>
  %vt2 = nn.transpose %vr2 {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x24x2x16xf16>) -> tensor<2x2x24x16xf16>
  %s2 = nn.matmul %q2, %kt2 : (tensor<2x2x5x16xf16>, tensor<2x2x16x24xf16>) -> tensor<2x2x5x24xf16>
  %p2 = nn.softmax %s2 : (tensor<2x2x5x24xf16>) -> tensor<2x2x5x24xf16>
  %y2 = nn.matmul %p2, %vt2 : (tensor<2x2x5x24xf16>, tensor<2x2x24x16xf16>) -> tensor<2x2x5x16xf16>
  %wk3 = nn.constant "wk3" dense<7.0> : tensor<32x32xf16>
  %k3 = nn.matmul %t, %wk3 : (tensor<2x24x32xf16>, tensor<32x32xf16>) -> tensor<2x24x32xf16>
  %kr3 = nn.reshape %k3 {shape = array<i64: 2, 24, 2, 16>} : (tensor<2x24x32xf16>) -> tensor<2x24x2x16xf16>
  %wv3 = nn.constant "wv3" dense<8.0> : tensor<32x32xf16>
  %v3 = nn.matmul %t, %wv3 : (tensor<2x24x32xf16>, tensor<32x32xf16>) -> tensor<2x24x32xf16>
  %vr3 = nn.reshape %v3 {shape = array<i64: 2, 24, 2, 16>} : (tensor<2x24x32xf16>) -> tensor<2x24x2x16xf16>
  %kt3 = nn.transpose %kr3 {perm = array<i64: 0, 2, 3, 1>} : (tensor<2x24x2x16xf16>) -> tensor<2x2x16x24xf16>
  %vt3 = nn.transpose %vr3 {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x24x2x16xf16>) -> tensor<2x2x24x16xf16>
  %s3 = nn.matmul %q3, %kt3 : (tensor<2x2x5x16xf16>, tensor<2x2x16x24xf16>) -> tensor<2x2x5x24xf16>
  %p3 = nn.softmax %s3 : (tensor<2x2x5x24xf16>) -> tensor<2x2x5x24xf16>
  %y3 = nn.matmul %p3, %vt3 : (tensor<2x2x5x24xf16>, tensor<2x2x24x16xf16>) -> tensor<2x2x5x16xf16>
  %wk4 = nn.constant "wk4" dense<9.0> : tensor<32x32xf16>
  %k4 = nn.matmul %t, %wk4 : (tensor<2x24x32xf16>, tensor<32x32xf16>) -> tensor<2x24x32xf16>
  %kr4 = nn.reshape %k4 {shape = array<i64: 2, 24, 2, 16>} : (tensor<2x24x32xf16>) -> tensor<2x24x2x16xf16>
  %wv4 = nn.constant "wv4" dense<10.0> : tensor<32x32xf16>
  %v4 = nn.matmul %t, %wv4 : (tensor<2x24x32xf16>, tensor<32x32xf16>) -> tensor<2x24x32xf16>
  %vr4 = nn.reshape %v4 {shape = array<i64: 2, 24, 2, 16>} : (tensor<2x24x32xf16>) -> tensor<2x24x2x16xf16>
  %kt4 = nn.transpose %kr4 {perm = array<i64: 0, 2, 3, 1>} : (tensor<2x24x2x16xf16>) -> tensor<2x2x16x24xf16>
  %vt4 = nn.transpose %vr4 {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x24x2x16xf16>) -> tensor<2x2x24x16xf16>
  %s4 = nn.matmul %q4, %kt4 : (tensor<2x2x5x16xf16>, tensor<2x2x16x24xf16>) -> tensor<2x2x5x24xf16>
  %p4 = nn.softmax %s4 : (tensor<2x2x5x24xf16>) -> tensor<2x2x5x24xf16>
  %y4 = nn.matmul %p4, %vt4 : (tensor<2x2x5x24xf16>, tensor<2x2x24x16xf16>) -> tensor<2x2x5x16xf16>
  %wk5 = nn.constant "wk5" dense<11.0> : tensor<32x32xf16>
  %k5 = nn.matmul %t, %wk5 : (tensor<2x24x32xf16>, tensor<32x32xf16>) -> tensor<2x24x32xf16>
  %kr5 = nn.reshape %k5 {shape = array<i64: 2, 24, 2, 16>} : (tensor<2x24x32xf16>) -> tensor<2x24x2x16xf16>
  %wv5 = nn.constant "wv5" dense<12.0> : tensor<32x32xf16>
  %v5 = nn.matmul %t, %wv5 : (tensor<2x24x32xf16>, tensor<32x32xf16>) -> tensor<2x24x32xf16>
  %vr5 = nn.reshape %v5 {shape = array<i64: 2, 24, 2, 16>} : (tensor<2x24x32xf16>) -> tensor<2x24x2x16xf16>
  %kt5 = nn.transpose %kr5 {perm = array<i64: 0, 2, 3, 1>} : (tensor<2x24x2x16xf16>) -> tensor<2x2x16x24xf16>
  %vt5 = nn.transpose %vr5 {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x24x2x16xf16>) -> tensor<2x2x24x16xf16>
  %s5 = nn.matmul %q5, %kt5 : (tensor<2x2x5x16xf16>, tensor<2x2x16x24xf16>) -> tensor<2x2x5x24xf16>
  %p5 = nn.softmax %s5 : (tensor<2x2x5x24xf16>) -> tensor<2x2x5x24xf16>
  %y5 = nn.matmul %p5, %vt5 : (tensor<2x2x5x24xf16>, tensor<2x2x24x16xf16>) -> tensor<2x2x5x16xf16>
  %u = nn.constant "u" dense<13.0> : tensor<32x16xf16>
  %z = nn.matmul %t, %u : (tensor<2x24x32xf16>, tensor<32x16xf16>) -> tensor<2x24x16xf16>
  return %y0, %y1, %y2, %y3, %y4, %y5, %z : tensor<2x2x5x16xf16>, tensor<2x2x5x16xf16>, tensor<2x2x5x16xf16>, tensor<2x2x5x16xf16>, tensor<2x2x5x16xf16>, tensor<2x2x5x16xf16>, tensor<2x24x16xf16>
}
