// RUN: frit-opt %s --simplify | FileCheck %s

// Shape arithmetic folds.
// CHECK-LABEL: func.func @shapes
// CHECK-NEXT:    %[[N:.*]] = nn.constant dense<6.000000e+00> : tensor<1xf32>
// CHECK-NEXT:    nn.mul %{{.*}}, %[[N]]
// CHECK-NEXT:    return
func.func @shapes(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %s = nn.constant "shape" dense<[2, 3]> : tensor<2xi64>
  %0 = nn.reduce %s {axes = array<i64: 0>, kind = #nn<combiner prod>} : (tensor<2xi64>) -> tensor<1xi64>
  %1 = nn.cast %0 {to = f32} : (tensor<1xi64>) -> tensor<1xf32>
  %2 = nn.expand %1 {shape = array<i64: 4, 6>} : (tensor<1xf32>) -> tensor<4x6xf32>
  %3 = nn.mul %x, %2 : (tensor<4x6xf32>, tensor<4x6xf32>) -> tensor<4x6xf32>
  return %3 : tensor<4x6xf32>
}

// So do a shape with a replaced element, as the exporter writes for index_copy,
// and prefix sums.
// CHECK-LABEL: func.func @changed_shapes
// CHECK-DAG:     nn.constant dense<[2, 5, 6]> : tensor<3xi64>
// CHECK-DAG:     nn.constant dense<[6, 2]> : tensor<2xi64>
// CHECK-DAG:     nn.constant dense<[0, 2, 6]> : tensor<3xi64>
// CHECK-DAG:     nn.constant dense<[48, 24, 6]> : tensor<3xi64>
// CHECK-NEXT:    return
func.func @changed_shapes() -> (tensor<3xi64>, tensor<2xi64>, tensor<3xi64>, tensor<3xi64>) {
  %x = nn.constant dense<[2, 4, 6]> : tensor<3xi64>
  %i = nn.constant dense<[-2, 3]> : tensor<2xi64>
  %j = nn.constant dense<[-1, 0]> : tensor<2xi64>
  %u = nn.constant dense<[5, 7]> : tensor<2xi64>
  %0 = nn.scatter_elements %x, %i, %u {axis = 0 : si64} : (tensor<3xi64>, tensor<2xi64>, tensor<2xi64>) -> tensor<3xi64>
  %1 = nn.gather_elements %x, %j {axis = 0 : si64} : (tensor<3xi64>, tensor<2xi64>) -> tensor<2xi64>
  %2 = nn.cum_sum %x {axis = 0 : si64, exclusive} : (tensor<3xi64>) -> tensor<3xi64>
  %3 = nn.cum_prod %x {axis = -1 : si64, reverse} : (tensor<3xi64>) -> tensor<3xi64>
  return %0, %1, %2, %3 : tensor<3xi64>, tensor<2xi64>, tensor<3xi64>, tensor<3xi64>
}

// A number that is repeated has any shape.
// CHECK-LABEL: func.func @repeated
// CHECK-SAME:    %[[X:[^:]*]]:
// CHECK-NEXT:    %[[Y:.*]] = nn.expand %[[X]] {shape = array<i64: 6, 1>}
// CHECK-NEXT:    return %[[Y]]
func.func @repeated(%x: tensor<f32>) -> tensor<6x1xf32> {
  %0 = nn.expand %x {shape = array<i64: 6>} : (tensor<f32>) -> tensor<6xf32>
  %1 = nn.reshape %0 {shape = array<i64: 6, 1>} : (tensor<6xf32>) -> tensor<6x1xf32>
  return %1 : tensor<6x1xf32>
}

// The least integer divided by -1 is itself, with remainder 0.
// CHECK-LABEL: func.func @least_by_minus_one
// CHECK-DAG:     nn.constant dense<[-128, -127, 7]> : tensor<3xi8>
// CHECK-DAG:     nn.constant dense<0> : tensor<3xi8>
// CHECK-NEXT:    return
func.func @least_by_minus_one() -> (tensor<3xi8>, tensor<3xi8>) {
  %x = nn.constant dense<[-128, 127, -7]> : tensor<3xi8>
  %y = nn.constant dense<-1> : tensor<i8>
  %0 = nn.div %x, %y : (tensor<3xi8>, tensor<i8>) -> tensor<3xi8>
  %1 = nn.mod %x, %y : (tensor<3xi8>, tensor<i8>) -> tensor<3xi8>
  return %0, %1 : tensor<3xi8>, tensor<3xi8>
}

// A weight's value is not used: it may be replaced.
// CHECK-LABEL: func.func @weights
// CHECK-DAG:     nn.constant "a" dense<1.000000e+00>
// CHECK-DAG:     nn.constant "b" dense<1.000000e+00>
// CHECK:         nn.mul
// CHECK:         nn.mul
func.func @weights(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  %a = nn.constant "a" dense<1.0> : tensor<6xf32>
  %b = nn.constant "b" dense<1.0> : tensor<6xf32>
  %0 = nn.mul %x, %a : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
  %1 = nn.mul %0, %b : (tensor<4x6xf32>, tensor<6xf32>) -> tensor<4x6xf32>
  return %1 : tensor<4x6xf32>
}

// Elementwise operators on splats of any size fold to splats.
// CHECK-LABEL: func.func @splats
// CHECK-NEXT:    nn.constant dense<5.000000e-01> : tensor<100x100xf32>
// CHECK-NEXT:    return
func.func @splats() -> tensor<100x100xf32> {
  %one = nn.constant dense<1.0> : tensor<100x100xf32>
  %two = nn.constant dense<2.0> : tensor<f32>
  %0 = nn.div %one, %two : (tensor<100x100xf32>, tensor<f32>) -> tensor<100x100xf32>
  return %0 : tensor<100x100xf32>
}

// CHECK-LABEL: func.func @identities
// CHECK-SAME:    %[[X:[^:]*]]:
// CHECK-NEXT:    return %[[X]]
func.func @identities(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
  %zero = nn.constant dense<0.0> : tensor<f32>
  %one = nn.constant dense<1.0> : tensor<3xf32>
  %true = nn.constant dense<true> : tensor<2x3xi1>
  %0 = nn.add %zero, %x : (tensor<f32>, tensor<2x3xf32>) -> tensor<2x3xf32>
  %1 = nn.div %0, %one : (tensor<2x3xf32>, tensor<3xf32>) -> tensor<2x3xf32>
  %2 = nn.where %true, %1, %zero : (tensor<2x3xi1>, tensor<2x3xf32>, tensor<f32>) -> tensor<2x3xf32>
  %3 = nn.slice %2 {starts = array<i64: 0, 0>, sizes = array<i64: 2, 3>, steps = array<i64: 1, 1>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %4 = nn.expand %3 {shape = array<i64: 2, 3>} : (tensor<2x3xf32>) -> tensor<2x3xf32>
  %5 = nn.transpose %4 {perm = array<i64: 1, 0>} : (tensor<2x3xf32>) -> tensor<3x2xf32>
  %6 = nn.transpose %5 {perm = array<i64: 1, 0>} : (tensor<3x2xf32>) -> tensor<2x3xf32>
  %7 = nn.reshape %6 {shape = array<i64: 6>} : (tensor<2x3xf32>) -> tensor<6xf32>
  %8 = nn.reshape %7 {shape = array<i64: 2, 3>} : (tensor<6xf32>) -> tensor<2x3xf32>
  return %8 : tensor<2x3xf32>
}

// f16 -> f32 -> f16 is removed, and so is f32 -> f16 -> f32 by the compiler's
// own casts unless the narrow value is stored; then the wide value is read from
// it.
// CHECK-LABEL: func.func @casts
// CHECK-SAME:    %[[H:[^:]*]]: tensor<4xf16>, %[[F:[^:]*]]: tensor<4xf32>
// CHECK-NEXT:    %[[N:.*]] = nn.cast %[[F]] {storage, to = f16}
// CHECK-NEXT:    %[[W:.*]] = nn.cast %[[N]] {to = f32}
// CHECK-NEXT:    return %[[H]], %[[F]], %[[N]], %[[W]]
func.func @casts(%h: tensor<4xf16>, %f: tensor<4xf32>) -> (tensor<4xf16>, tensor<4xf32>, tensor<4xf16>, tensor<4xf32>) {
  %0 = nn.cast %h {to = f32} : (tensor<4xf16>) -> tensor<4xf32>
  %1 = nn.cast %0 {to = f16} : (tensor<4xf32>) -> tensor<4xf16>
  %2 = nn.cast %f {storage, to = bf16} : (tensor<4xf32>) -> tensor<4xbf16>
  %3 = nn.cast %2 {to = f32} : (tensor<4xbf16>) -> tensor<4xf32>
  %4 = nn.cast %f {storage, to = f16} : (tensor<4xf32>) -> tensor<4xf16>
  %5 = nn.cast %4 {to = f32} : (tensor<4xf16>) -> tensor<4xf32>
  return %1, %3, %4, %5 : tensor<4xf16>, tensor<4xf32>, tensor<4xf16>, tensor<4xf32>
}

// Casts of a sum are removed across a reshape too. An elementwise value goes
// from kernel to kernel in its narrow type.
// CHECK-LABEL: func.func @reshaped_casts
// CHECK-NEXT:    %[[S:.*]] = nn.reduce %arg0
// CHECK-NEXT:    %[[R:.*]] = nn.reshape %[[S]] {shape = array<i64: 2, 2>} : (tensor<4x1xf32>) -> tensor<2x2xf32>
// CHECK-NEXT:    %[[E:.*]] = nn.neg %arg1
// CHECK-NEXT:    %[[N:.*]] = nn.cast %[[E]] {storage, to = f16}
// CHECK-NEXT:    %[[T:.*]] = nn.reshape %[[N]]
// CHECK-NEXT:    %[[W:.*]] = nn.cast %[[T]] {to = f32}
// CHECK-NEXT:    return %[[R]], %[[W]]
func.func @reshaped_casts(%f: tensor<4x3xf32>, %g: tensor<4xf32>) -> (tensor<2x2xf32>, tensor<2x2xf32>) {
  %s = nn.reduce %f {axes = array<i64: 1>, kind = #nn<combiner sum>} : (tensor<4x3xf32>) -> tensor<4x1xf32>
  %0 = nn.cast %s {storage, to = bf16} : (tensor<4x1xf32>) -> tensor<4x1xbf16>
  %1 = nn.reshape %0 {shape = array<i64: 2, 2>} : (tensor<4x1xbf16>) -> tensor<2x2xbf16>
  %2 = nn.cast %1 {to = f32} : (tensor<2x2xbf16>) -> tensor<2x2xf32>
  %e = nn.neg %g : (tensor<4xf32>) -> tensor<4xf32>
  %3 = nn.cast %e {storage, to = f16} : (tensor<4xf32>) -> tensor<4xf16>
  %4 = nn.reshape %3 {shape = array<i64: 2, 2>} : (tensor<4xf16>) -> tensor<2x2xf16>
  %5 = nn.cast %4 {to = f32} : (tensor<2x2xf16>) -> tensor<2x2xf32>
  return %2, %5 : tensor<2x2xf32>, tensor<2x2xf32>
}

// A model's casts stay if they round, and are removed if not.
// CHECK-LABEL: func.func @model_casts
// CHECK-SAME:    %[[F:[^:]*]]: tensor<4xf32>, %[[D:[^:]*]]: tensor<4xf64>
// CHECK-DAG:     %[[N:.*]] = nn.cast %[[F]] {to = f16}
// CHECK-DAG:     %[[W:.*]] = nn.cast %[[N]] {to = f32}
// CHECK-DAG:     %[[S:.*]] = nn.cast %[[D]] {to = f32}
// CHECK-DAG:     %[[L:.*]] = nn.cast %[[S]] {to = f64}
// CHECK-DAG:     %[[I:.*]] = nn.cast %[[F]] {to = i8}
// CHECK-DAG:     %[[J:.*]] = nn.cast %[[I]] {to = f32}
// CHECK:         return %[[W]], %[[L]], %[[J]], %[[F]]
func.func @model_casts(%f: tensor<4xf32>, %d: tensor<4xf64>) -> (tensor<4xf32>, tensor<4xf64>, tensor<4xf32>, tensor<4xf32>) {
  %0 = nn.cast %f {to = f16} : (tensor<4xf32>) -> tensor<4xf16>
  %1 = nn.cast %0 {to = f32} : (tensor<4xf16>) -> tensor<4xf32>
  %2 = nn.cast %d {to = f32} : (tensor<4xf64>) -> tensor<4xf32>
  %3 = nn.cast %2 {to = f64} : (tensor<4xf32>) -> tensor<4xf64>
  %4 = nn.cast %f {to = i8} : (tensor<4xf32>) -> tensor<4xi8>
  %5 = nn.cast %4 {to = f32} : (tensor<4xi8>) -> tensor<4xf32>
  %6 = nn.cast %f {to = f64} : (tensor<4xf32>) -> tensor<4xf64>
  %7 = nn.cast %6 {to = f32} : (tensor<4xf64>) -> tensor<4xf32>
  return %1, %3, %5, %7 : tensor<4xf32>, tensor<4xf64>, tensor<4xf32>, tensor<4xf32>
}

// CHECK-LABEL: func.func @powers
// CHECK:         nn.mul %{{.*}}, %{{.*}}
// CHECK:         nn.sqrt
// CHECK-NOT:     nn.pow
func.func @powers(%x: tensor<4xf32>) -> tensor<4xf32> {
  %two = nn.constant dense<2.0> : tensor<f32>
  %half = nn.constant dense<0.5> : tensor<f32>
  %0 = nn.pow %x, %two : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %1 = nn.pow %0, %half : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// Equal operators are computed once; a broadcast is duplicated per reader.
// CHECK-LABEL: func.func @duplicates
// CHECK-NEXT:    %[[E:.*]] = nn.exp
// CHECK-NEXT:    nn.add %[[E]], %[[E]] : (tensor<1x4xf32>, tensor<1x4xf32>)
// CHECK-NEXT:    nn.add
func.func @duplicates(%x: tensor<1x4xf32>, %y: tensor<3x4xf32>) -> tensor<3x4xf32> {
  %0 = nn.exp %x : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %1 = nn.exp %x : (tensor<1x4xf32>) -> tensor<1x4xf32>
  %2 = nn.add %0, %1 : (tensor<1x4xf32>, tensor<1x4xf32>) -> tensor<1x4xf32>
  %3 = nn.expand %2 {shape = array<i64: 3, 4>} : (tensor<1x4xf32>) -> tensor<3x4xf32>
  %4 = nn.add %3, %y : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  return %4 : tensor<3x4xf32>
}

// Splits of dimensions move before a transpose, whatever dimensions of size 1
// there are.
// CHECK-LABEL: func.func @split_behind
// CHECK-SAME:    %[[X:[^:]*]]:
// CHECK:         %[[V:.*]] = nn.reshape %[[X]] {shape = array<i64: 2, 6, 3>}
// CHECK:         %[[T:.*]] = nn.transpose %[[V]] {perm = array<i64: 2, 0, 1>}
// CHECK:         %[[Y:.*]] = nn.reshape %[[T]] {shape = array<i64: 1, 3, 2, 6>}
// CHECK:         return %[[Y]]
func.func @split_behind(%x: tensor<12x3xf32>) -> tensor<1x3x2x6xf32> {
  %0 = nn.transpose %x {perm = array<i64: 1, 0>} : (tensor<12x3xf32>) -> tensor<3x12xf32>
  %1 = nn.reshape %0 {shape = array<i64: 1, 3, 2, 6>} : (tensor<3x12xf32>) -> tensor<1x3x2x6xf32>
  return %1 : tensor<1x3x2x6xf32>
}

// Operators on an expanded value are computed before the expansion.
// CHECK-LABEL: func.func @expanded_alone
// CHECK-SAME:    %[[X:[^:]*]]: {{[^,]*}}, %[[M:[^:]*]]:
// CHECK-DAG:     %[[E:.*]] = nn.exp %[[X]] : (tensor<1x4xf32>) -> tensor<1x4xf32>
// CHECK-DAG:     nn.expand %[[E]] {shape = array<i64: 3, 4>}
// CHECK-DAG:     nn.expand %[[M]] {shape = array<i64: 3, 4>}
func.func @expanded_alone(%x: tensor<1x4xf32>, %m: tensor<1x4xi1>) -> (tensor<3x4xf32>, tensor<3x4xi1>) {
  %0 = nn.expand %x {shape = array<i64: 3, 4>} : (tensor<1x4xf32>) -> tensor<3x4xf32>
  %1 = nn.exp %0 : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %true = nn.constant dense<true> : tensor<3x1xi1>
  %2 = nn.and %true, %m : (tensor<3x1xi1>, tensor<1x4xi1>) -> tensor<3x4xi1>
  return %1, %2 : tensor<3x4xf32>, tensor<3x4xi1>
}

// CHECK-LABEL: func.func @pick_each
// CHECK-SAME:    %[[X:[^:]*]]:
// CHECK:         nn.reshape %[[X]] {shape = array<i64: 1, 3, 4>}
// CHECK:         nn.slice %[[X]] {sizes = array<i64: 3, 2>, starts = array<i64: 0, 1>, steps = array<i64: 1, 2>}
// CHECK:         nn.gather
func.func @pick_each(%x: tensor<3x4xf32>) -> (tensor<1x3x4xf32>, tensor<3x2xf32>, tensor<2x4xf32>) {
  %all = nn.constant dense<[[0, 1, -1]]> : tensor<1x3xi64>
  %0 = nn.gather %x, %all : (tensor<3x4xf32>, tensor<1x3xi64>) -> tensor<1x3x4xf32>
  %odd = nn.constant dense<[1, 3]> : tensor<2xi64>
  %1 = nn.gather %x, %odd {axis = 1 : si64} : (tensor<3x4xf32>, tensor<2xi64>) -> tensor<3x2xf32>
  %back = nn.constant dense<[1, 0]> : tensor<2xi64>
  %2 = nn.gather %x, %back : (tensor<3x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
  return %0, %1, %2 : tensor<1x3x4xf32>, tensor<3x2xf32>, tensor<2x4xf32>
}

// CHECK-LABEL: func.func @pick
// CHECK:         nn.slice {{.*}}starts = array<i64: 2, 0>
// CHECK-NEXT:    nn.reshape
func.func @pick(%x: tensor<3x4xf32>) -> tensor<4xf32> {
  %i = nn.constant dense<-1> : tensor<i64>
  %0 = nn.gather %x, %i : (tensor<3x4xf32>, tensor<i64>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// The halves of a projection, split into heads: each slice ends next to the
// transpose that reads it, after one view.
// CHECK-LABEL: func.func @heads
// CHECK:         %[[V:.*]] = nn.reshape %{{.*}} {shape = array<i64: 4, 6, 4>}
// CHECK:         %[[A:.*]] = nn.slice %[[V]] {sizes = array<i64: 4, 2, 4>, starts = array<i64: 0, 2, 0>
// CHECK:         nn.transpose %[[A]]
func.func @heads(%x: tensor<4x24xf32>) -> tensor<2x4x4xf32> {
  %0 = nn.slice %x {starts = array<i64: 0, 8>, sizes = array<i64: 4, 8>, steps = array<i64: 1, 1>} : (tensor<4x24xf32>) -> tensor<4x8xf32>
  %1 = nn.reshape %0 {shape = array<i64: 4, 2, 4>} : (tensor<4x8xf32>) -> tensor<4x2x4xf32>
  %2 = nn.transpose %1 {perm = array<i64: 1, 0, 2>} : (tensor<4x2x4xf32>) -> tensor<2x4x4xf32>
  return %2 : tensor<2x4x4xf32>
}

// CHECK-LABEL: func.func @slice_of_transpose
// CHECK:         %[[S:.*]] = nn.slice %{{.*}} {sizes = array<i64: 4, 1>, starts = array<i64: 0, 2>
// CHECK-NEXT:    nn.reshape %[[S]] {shape = array<i64: 1, 4>}
func.func @slice_of_transpose(%x: tensor<4x3xf32>) -> tensor<1x4xf32> {
  %0 = nn.transpose %x {perm = array<i64: 1, 0>} : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %1 = nn.slice %0 {starts = array<i64: 2, 0>, sizes = array<i64: 1, 4>, steps = array<i64: 1, 1>} : (tensor<3x4xf32>) -> tensor<1x4xf32>
  return %1 : tensor<1x4xf32>
}

// Queries from a packed projection: splits of dimensions move first and merges
// last; the slice and the transpose end up adjacent.
// CHECK-LABEL: func.func @packed
// CHECK-NEXT:    %[[V:.*]] = nn.reshape %{{.*}} {shape = array<i64: 5, 2, 3, 2, 4>}
// CHECK-NEXT:    %[[S:.*]] = nn.slice %[[V]] {sizes = array<i64: 5, 2, 1, 2, 4>, starts = array<i64: 0, 0, 1, 0, 0>
// CHECK-NEXT:    %[[T:.*]] = nn.transpose %[[S]]
// CHECK-NEXT:    %[[Y:.*]] = nn.reshape %[[T]] {shape = array<i64: 2, 2, 5, 4>}
// CHECK-NEXT:    return %[[Y]]
func.func @packed(%x: tensor<5x2x24xf32>) -> tensor<2x2x5x4xf32> {
  %one = nn.constant dense<1> : tensor<i64>
  %0 = nn.reshape %x {shape = array<i64: 1, 5, 2, 3, 8>} : (tensor<5x2x24xf32>) -> tensor<1x5x2x3x8xf32>
  %1 = nn.transpose %0 {perm = array<i64: 3, 1, 2, 0, 4>} : (tensor<1x5x2x3x8xf32>) -> tensor<3x5x2x1x8xf32>
  %2 = nn.reshape %1 {shape = array<i64: 3, 5, 2, 8>} : (tensor<3x5x2x1x8xf32>) -> tensor<3x5x2x8xf32>
  %3 = nn.gather %2, %one : (tensor<3x5x2x8xf32>, tensor<i64>) -> tensor<5x2x8xf32>
  %4 = nn.reshape %3 {shape = array<i64: 5, 4, 4>} : (tensor<5x2x8xf32>) -> tensor<5x4x4xf32>
  %5 = nn.transpose %4 {perm = array<i64: 1, 0, 2>} : (tensor<5x4x4xf32>) -> tensor<4x5x4xf32>
  %6 = nn.reshape %5 {shape = array<i64: 2, 2, 5, 4>} : (tensor<4x5x4xf32>) -> tensor<2x2x5x4xf32>
  return %6 : tensor<2x2x5x4xf32>
}

// The gradient of rotary positions reads a part of a packed gradient, whose
// transposes cancel.
// CHECK-LABEL: func.func @rotary_gradient
// CHECK-NOT:     nn.transpose
// CHECK:         return
func.func @rotary_gradient(%x: tensor<2x5x6x8xf32>) -> tensor<2x5x4x2x4xf32> {
  %0 = nn.slice %x {starts = array<i64: 0, 0, 0, 0>, sizes = array<i64: 2, 5, 4, 8>, steps = array<i64: 1, 1, 1, 1>} : (tensor<2x5x6x8xf32>) -> tensor<2x5x4x8xf32>
  %1 = nn.transpose %0 {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x5x4x8xf32>) -> tensor<2x4x5x8xf32>
  %2 = nn.reshape %1 {shape = array<i64: 2, 4, 5, 2, 4>} : (tensor<2x4x5x8xf32>) -> tensor<2x4x5x2x4xf32>
  %3 = nn.transpose %2 {perm = array<i64: 0, 2, 1, 3, 4>} : (tensor<2x4x5x2x4xf32>) -> tensor<2x5x4x2x4xf32>
  return %3 : tensor<2x5x4x2x4xf32>
}

// Only the sliced part is computed: of a sum, a norm and a product of rows,
// here under another shape.
// CHECK-LABEL: func.func @sliced_rows
// CHECK-SAME:    %[[X:[^:]*]]: {{[^,]*}}, %[[R:[^:]*]]:
// CHECK-DAG:     %[[A:.*]] = nn.slice %{{.*}} -> tensor<1x2x8xf32>
// CHECK-DAG:     nn.matmul %[[A]], %{{.*}} -> tensor<1x2x4xf32>
// CHECK-DAG:     nn.slice %[[R]] {{.*}} -> tensor<1x2x4xf32>
// CHECK:         nn.layer_norm {{.*}} -> tensor<1x2x4xf32>
// CHECK:         nn.gelu {{.*}} -> tensor<1x2x4xf32>
func.func @sliced_rows(%x: tensor<10x8xf32>, %r: tensor<5x2x4xf32>) -> tensor<1x2x4xf32> {
  %w = nn.constant "w" dense<1.0> : tensor<8x4xf32>
  %b = nn.constant "b" dense<1.0> : tensor<4xf32>
  %0 = nn.matmul %x, %w : (tensor<10x8xf32>, tensor<8x4xf32>) -> tensor<10x4xf32>
  %1 = nn.add %0, %b : (tensor<10x4xf32>, tensor<4xf32>) -> tensor<10x4xf32>
  %2 = nn.reshape %1 {shape = array<i64: 5, 2, 4>} : (tensor<10x4xf32>) -> tensor<5x2x4xf32>
  %3 = nn.add %2, %r : (tensor<5x2x4xf32>, tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
  %4 = nn.layer_norm %3, %b, %b {axis = 2 : si64} : (tensor<5x2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<5x2x4xf32>
  %5 = nn.gelu %4 : (tensor<5x2x4xf32>) -> tensor<5x2x4xf32>
  %6 = nn.slice %5 {starts = array<i64: 3, 0, 0>, sizes = array<i64: 1, 2, 4>, steps = array<i64: 1, 1, 1>} : (tensor<5x2x4xf32>) -> tensor<1x2x4xf32>
  return %6 : tensor<1x2x4xf32>
}

// A norm along the sliced dimension stays, as does a sum with other readers.
// CHECK-LABEL: func.func @kept_rows
// CHECK:         %[[S:.*]] = nn.add {{.*}} -> tensor<4x8xf32>
// CHECK:         %[[N:.*]] = nn.layer_norm %[[S]]{{.*}} -> tensor<4x8xf32>
// CHECK:         nn.slice %[[N]]
func.func @kept_rows(%x: tensor<4x8xf32>, %s: tensor<8xf32>) -> (tensor<4x8xf32>, tensor<4x2xf32>) {
  %0 = nn.add %x, %s : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %1 = nn.layer_norm %0, %s {axis = 1 : si64} : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %2 = nn.slice %1 {starts = array<i64: 0, 0>, sizes = array<i64: 4, 2>, steps = array<i64: 1, 1>} : (tensor<4x8xf32>) -> tensor<4x2xf32>
  return %0, %2 : tensor<4x8xf32>, tensor<4x2xf32>
}

// Queries of an attention, and its keys whole.
// CHECK-LABEL: func.func @sliced_queries
// CHECK-SAME:    %[[Q:[^:]*]]:
// CHECK:         %[[S:.*]] = nn.slice %[[Q]] {{.*}} -> tensor<1x2x1x8xf32>
// CHECK:         nn.attention %[[S]], %[[Q]], %[[Q]] {{.*}} -> tensor<1x2x1x8xf32>
func.func @sliced_queries(%q: tensor<1x2x5x8xf32>) -> tensor<1x1x2x8xf32> {
  %0 = nn.attention %q, %q, %q {scale = 0.5 : f32} : (tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>, tensor<1x2x5x8xf32>) -> tensor<1x2x5x8xf32>
  %1 = nn.transpose %0 {perm = array<i64: 0, 2, 1, 3>} : (tensor<1x2x5x8xf32>) -> tensor<1x5x2x8xf32>
  %2 = nn.slice %1 {starts = array<i64: 0, 4, 0, 0>, sizes = array<i64: 1, 1, 2, 8>, steps = array<i64: 1, 1, 1, 1>} : (tensor<1x5x2x8xf32>) -> tensor<1x1x2x8xf32>
  return %2 : tensor<1x1x2x8xf32>
}

// Parts of a tensor that are padded to their places and added are the tensor;
// at other places they are not.
// CHECK-LABEL: func.func @sum_of_parts
// CHECK-SAME: (%[[G:.*]]: tensor<2x6x4xf32>)
func.func @sum_of_parts(%g: tensor<2x6x4xf32>) -> (tensor<2x3x8xf32>, tensor<2x6x4xf32>) {
  // CHECK: %[[R:.*]] = nn.reshape %[[G]]
  // CHECK: %[[S:.*]] = nn.add
  // CHECK: return %[[R]], %[[S]]
  %0 = nn.slice %g {starts = array<i64: 0, 0, 0>, sizes = array<i64: 2, 2, 4>, steps = array<i64: 1, 1, 1>} : (tensor<2x6x4xf32>) -> tensor<2x2x4xf32>
  %1 = nn.slice %g {starts = array<i64: 0, 2, 0>, sizes = array<i64: 2, 4, 4>, steps = array<i64: 1, 1, 1>} : (tensor<2x6x4xf32>) -> tensor<2x4x4xf32>
  %2 = nn.reshape %0 {shape = array<i64: 2, 1, 8>} : (tensor<2x2x4xf32>) -> tensor<2x1x8xf32>
  %3 = nn.reshape %1 {shape = array<i64: 2, 2, 8>} : (tensor<2x4x4xf32>) -> tensor<2x2x8xf32>
  %4 = nn.pad %2 {low = array<i64: 0, 0, 0>, high = array<i64: 0, 2, 0>} : (tensor<2x1x8xf32>) -> tensor<2x3x8xf32>
  %5 = nn.pad %3 {low = array<i64: 0, 1, 0>, high = array<i64: 0, 0, 0>} : (tensor<2x2x8xf32>) -> tensor<2x3x8xf32>
  %6 = nn.add %5, %4 : (tensor<2x3x8xf32>, tensor<2x3x8xf32>) -> tensor<2x3x8xf32>
  %7 = nn.pad %0 {low = array<i64: 0, 4, 0>, high = array<i64: 0, 0, 0>} : (tensor<2x2x4xf32>) -> tensor<2x6x4xf32>
  %8 = nn.pad %1 {low = array<i64: 0, 0, 0>, high = array<i64: 0, 2, 0>} : (tensor<2x4x4xf32>) -> tensor<2x6x4xf32>
  %9 = nn.add %7, %8 : (tensor<2x6x4xf32>, tensor<2x6x4xf32>) -> tensor<2x6x4xf32>
  return %6, %9 : tensor<2x3x8xf32>, tensor<2x6x4xf32>
}

// A wider type comes after the order in which attention's result is stored.
// CHECK-LABEL: func.func @wide_attention
// CHECK:         %[[A:.*]] = nn.attention
// CHECK-NOT:     nn.cast
// CHECK:         nn.transpose {{.*}} -> tensor<5x2x8xf16>
// CHECK:         %[[C:.*]] = nn.cast {{.*}} -> tensor<1x5x16xf32>
// CHECK-NEXT:    return %[[C]]
func.func @wide_attention(%q: tensor<1x2x5x8xf16>) -> tensor<1x5x16xf32> {
  %0 = nn.attention %q, %q, %q {scale = 0.5 : f32} : (tensor<1x2x5x8xf16>, tensor<1x2x5x8xf16>, tensor<1x2x5x8xf16>) -> tensor<1x2x5x8xf16>
  %1 = nn.cast %0 {to = f32} : (tensor<1x2x5x8xf16>) -> tensor<1x2x5x8xf32>
  %2 = nn.transpose %1 {perm = array<i64: 0, 2, 1, 3>} : (tensor<1x2x5x8xf32>) -> tensor<1x5x2x8xf32>
  %3 = nn.reshape %2 {shape = array<i64: 1, 5, 16>} : (tensor<1x5x2x8xf32>) -> tensor<1x5x16xf32>
  return %3 : tensor<1x5x16xf32>
}
