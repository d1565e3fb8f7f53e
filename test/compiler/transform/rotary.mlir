// RUN: frit-opt %s --compose --simplify -split-input-file | FileCheck %s

// Rotary embeddings as Llama writes them, after the heads were moved: the
// halves are swapped by a backward slice before that move, with the signs in
// the sines.
// CHECK-LABEL: func.func @rotary
// CHECK-SAME:    %[[X:[^:]*]]: {{[^,]*}}, %[[C:[^:]*]]: {{[^,]*}}, %[[S:[^:]*]]:
// CHECK-DAG:     %[[SIGN:.*]] = nn.constant dense<{{\[\[}}-1.000000e+00], [1.000000e+00]]>
// CHECK-DAG:     %[[H:.*]] = nn.reshape %[[X]] {shape = array<i64: 5, 3, 2, 8>}
// CHECK-DAG:     %[[SWAP:.*]] = nn.slice %[[H]] {sizes = array<i64: 5, 3, 2, 8>, starts = array<i64: 0, 0, 1, 0>, steps = array<i64: 1, 1, -1, 1>}
// CHECK-DAG:     %[[COS:.*]] = nn.reshape %[[C]] {shape = array<i64: 5, 1, 2, 8>}
// CHECK-DAG:     %[[A:.*]] = nn.mul %[[H]], %[[COS]]
// CHECK-DAG:     %[[SIN:.*]] = nn.reshape %[[S]] {shape = array<i64: 5, 1, 2, 8>}
// CHECK-DAG:     %[[SINS:.*]] = nn.mul %[[SIN]], %[[SIGN]]
// CHECK-DAG:     %[[B:.*]] = nn.mul %[[SWAP]], %[[SINS]]
// CHECK:         %[[Y:.*]] = nn.add %[[A]], %[[B]]
// CHECK:         nn.transpose
// CHECK-NOT:     nn.concat
func.func @rotary(%x: tensor<1x5x3x16xf32>, %cos: tensor<1x1x5x16xf32>, %sin: tensor<1x1x5x16xf32>) -> tensor<1x3x5x16xf32> {
  %0 = nn.transpose %x {perm = array<i64: 0, 2, 1, 3>} : (tensor<1x5x3x16xf32>) -> tensor<1x3x5x16xf32>
  %1 = nn.mul %0, %cos : (tensor<1x3x5x16xf32>, tensor<1x1x5x16xf32>) -> tensor<1x3x5x16xf32>
  %2 = nn.slice %0 {sizes = array<i64: 1, 3, 5, 8>, starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : (tensor<1x3x5x16xf32>) -> tensor<1x3x5x8xf32>
  %3 = nn.slice %0 {sizes = array<i64: 1, 3, 5, 8>, starts = array<i64: 0, 0, 0, 8>, steps = array<i64: 1, 1, 1, 1>} : (tensor<1x3x5x16xf32>) -> tensor<1x3x5x8xf32>
  %4 = nn.neg %3 : (tensor<1x3x5x8xf32>) -> tensor<1x3x5x8xf32>
  %5 = nn.concat %4, %2 {axis = 3 : si64} : (tensor<1x3x5x8xf32>, tensor<1x3x5x8xf32>) -> tensor<1x3x5x16xf32>
  %6 = nn.mul %5, %sin : (tensor<1x3x5x16xf32>, tensor<1x1x5x16xf32>) -> tensor<1x3x5x16xf32>
  %7 = nn.add %1, %6 : (tensor<1x3x5x16xf32>, tensor<1x3x5x16xf32>) -> tensor<1x3x5x16xf32>
  return %7 : tensor<1x3x5x16xf32>
}

// -----

// An empty tensor has no halves.
// CHECK-LABEL: func.func @rotary_of_nothing
// CHECK:         nn.concat
func.func @rotary_of_nothing(%x: tensor<3x0xf32>, %cos: tensor<3x0xf32>) -> tensor<3x0xf32> {
  %0 = nn.mul %x, %cos : (tensor<3x0xf32>, tensor<3x0xf32>) -> tensor<3x0xf32>
  %1 = nn.slice %x {sizes = array<i64: 3, 0>, starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : (tensor<3x0xf32>) -> tensor<3x0xf32>
  %2 = nn.neg %1 : (tensor<3x0xf32>) -> tensor<3x0xf32>
  %3 = nn.concat %2, %1 {axis = 1 : si64} : (tensor<3x0xf32>, tensor<3x0xf32>) -> tensor<3x0xf32>
  %4 = nn.mul %3, %cos : (tensor<3x0xf32>, tensor<3x0xf32>) -> tensor<3x0xf32>
  %5 = nn.add %0, %4 : (tensor<3x0xf32>, tensor<3x0xf32>) -> tensor<3x0xf32>
  return %5 : tensor<3x0xf32>
}

// -----

// A model of 16 bits may rotate in f32: its casts come before the heads are
// moved, so that one elementwise kernel reads and stores 16 bits.
// CHECK-LABEL: func.func @rotary_in_f32
// CHECK-SAME:    %[[X:[^:]*]]:
// CHECK-NOT:     nn.concat
// CHECK:         nn.cast {{.*}} -> tensor<5x3x{{.*}}xf32>
// CHECK:         %[[Y:.*]] = nn.add {{.*}} -> tensor<5x3x2x8xf32>
// CHECK:         nn.cast {{.*}} -> tensor<5x3x{{.*}}xf16>
// CHECK:         nn.transpose {{.*}} -> tensor<3x5x2x8xf16>
// CHECK-NOT:     nn.cast
func.func @rotary_in_f32(%x: tensor<1x5x3x16xf16>, %cos: tensor<1x1x5x16xf32>, %sin: tensor<1x1x5x16xf32>) -> tensor<1x3x5x16xf16> {
  %0 = nn.transpose %x {perm = array<i64: 0, 2, 1, 3>} : (tensor<1x5x3x16xf16>) -> tensor<1x3x5x16xf16>
  %1 = nn.cast %0 {to = f32} : (tensor<1x3x5x16xf16>) -> tensor<1x3x5x16xf32>
  %2 = nn.mul %1, %cos : (tensor<1x3x5x16xf32>, tensor<1x1x5x16xf32>) -> tensor<1x3x5x16xf32>
  %3 = nn.slice %1 {sizes = array<i64: 1, 3, 5, 8>, starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : (tensor<1x3x5x16xf32>) -> tensor<1x3x5x8xf32>
  %4 = nn.slice %1 {sizes = array<i64: 1, 3, 5, 8>, starts = array<i64: 0, 0, 0, 8>, steps = array<i64: 1, 1, 1, 1>} : (tensor<1x3x5x16xf32>) -> tensor<1x3x5x8xf32>
  %5 = nn.neg %4 : (tensor<1x3x5x8xf32>) -> tensor<1x3x5x8xf32>
  %6 = nn.concat %5, %3 {axis = 3 : si64} : (tensor<1x3x5x8xf32>, tensor<1x3x5x8xf32>) -> tensor<1x3x5x16xf32>
  %7 = nn.mul %6, %sin : (tensor<1x3x5x16xf32>, tensor<1x1x5x16xf32>) -> tensor<1x3x5x16xf32>
  %8 = nn.add %2, %7 : (tensor<1x3x5x16xf32>, tensor<1x3x5x16xf32>) -> tensor<1x3x5x16xf32>
  %9 = nn.cast %8 {to = f16} : (tensor<1x3x5x16xf32>) -> tensor<1x3x5x16xf16>
  return %9 : tensor<1x3x5x16xf16>
}

// -----

// Or only its sines are f32, so that halves are swapped before the cast.
// CHECK-LABEL: func.func @rotary_by_sines_of_f32
// CHECK-NOT:     nn.concat
// CHECK:         nn.cast {{.*}} -> tensor<5x3x{{.*}}xf32>
// CHECK-NOT:     nn.concat
// CHECK:         nn.add {{.*}} -> tensor<5x3x2x8xf32>
// CHECK:         nn.cast {{.*}} -> tensor<5x3x{{.*}}xf16>
// CHECK:         nn.transpose {{.*}} -> tensor<3x5x2x8xf16>
func.func @rotary_by_sines_of_f32(%x: tensor<1x5x3x16xf16>, %cos: tensor<1x1x5x16xf32>, %sin: tensor<1x1x5x16xf32>) -> tensor<1x3x5x16xf16> {
  %0 = nn.transpose %x {perm = array<i64: 0, 2, 1, 3>} : (tensor<1x5x3x16xf16>) -> tensor<1x3x5x16xf16>
  %1 = nn.cast %0 {to = f32} : (tensor<1x3x5x16xf16>) -> tensor<1x3x5x16xf32>
  %2 = nn.mul %1, %cos : (tensor<1x3x5x16xf32>, tensor<1x1x5x16xf32>) -> tensor<1x3x5x16xf32>
  %3 = nn.slice %0 {sizes = array<i64: 1, 3, 5, 8>, starts = array<i64: 0, 0, 0, 0>, steps = array<i64: 1, 1, 1, 1>} : (tensor<1x3x5x16xf16>) -> tensor<1x3x5x8xf16>
  %4 = nn.slice %0 {sizes = array<i64: 1, 3, 5, 8>, starts = array<i64: 0, 0, 0, 8>, steps = array<i64: 1, 1, 1, 1>} : (tensor<1x3x5x16xf16>) -> tensor<1x3x5x8xf16>
  %5 = nn.neg %4 : (tensor<1x3x5x8xf16>) -> tensor<1x3x5x8xf16>
  %6 = nn.concat %5, %3 {axis = 3 : si64} : (tensor<1x3x5x8xf16>, tensor<1x3x5x8xf16>) -> tensor<1x3x5x16xf16>
  %7 = nn.cast %6 {to = f32} : (tensor<1x3x5x16xf16>) -> tensor<1x3x5x16xf32>
  %8 = nn.mul %7, %sin : (tensor<1x3x5x16xf32>, tensor<1x1x5x16xf32>) -> tensor<1x3x5x16xf32>
  %9 = nn.add %2, %8 : (tensor<1x3x5x16xf32>, tensor<1x3x5x16xf32>) -> tensor<1x3x5x16xf32>
  %10 = nn.cast %9 {to = f16} : (tensor<1x3x5x16xf32>) -> tensor<1x3x5x16xf16>
  return %10 : tensor<1x3x5x16xf16>
}
