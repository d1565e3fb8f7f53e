// RUN: frit-opt %s --compose --simplify -split-input-file | FileCheck %s

// The root of the scale on both operands, keys transposed twice, as PyTorch's
// exporters write it.
// CHECK-LABEL: func.func @split_scale
// CHECK-SAME:    %[[Q:[^:]*]]: {{[^,]*}}, %[[K:[^:]*]]: {{[^,]*}}, %[[V:[^:]*]]:
// CHECK:         %[[T:.*]] = nn.transpose %[[K]] {perm = array<i64: 0, 2, 1, 3>}
// CHECK:         %[[Y:.*]] = nn.attention %[[Q]], %[[T]], %[[V]] {scale = 2.500000e-01 : f32}
// CHECK:         return %[[Y]]
func.func @split_scale(%q: tensor<2x3x5x16xf32>, %k: tensor<2x5x3x16xf32>, %v: tensor<2x3x5x16xf32>) -> tensor<2x3x5x16xf32> {
  %s = nn.constant "val_7" dense<0.5> : tensor<1xf32>
  %0 = nn.transpose %k {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x5x3x16xf32>) -> tensor<2x3x5x16xf32>
  %1 = nn.reshape %0 {shape = array<i64: 6, 5, 16>} : (tensor<2x3x5x16xf32>) -> tensor<6x5x16xf32>
  %2 = nn.transpose %1 {perm = array<i64: 0, 2, 1>} : (tensor<6x5x16xf32>) -> tensor<6x16x5xf32>
  %3 = nn.reshape %2 {shape = array<i64: 2, 3, 16, 5>} : (tensor<6x16x5xf32>) -> tensor<2x3x16x5xf32>
  %4 = nn.mul %q, %s : (tensor<2x3x5x16xf32>, tensor<1xf32>) -> tensor<2x3x5x16xf32>
  %5 = nn.mul %3, %s : (tensor<2x3x16x5xf32>, tensor<1xf32>) -> tensor<2x3x16x5xf32>
  %6 = nn.matmul %4, %5 : (tensor<2x3x5x16xf32>, tensor<2x3x16x5xf32>) -> tensor<2x3x5x5xf32>
  %7 = nn.softmax %6 : (tensor<2x3x5x5xf32>) -> tensor<2x3x5x5xf32>
  %8 = nn.matmul %7, %v : (tensor<2x3x5x5xf32>, tensor<2x3x5x16xf32>) -> tensor<2x3x5x16xf32>
  return %8 : tensor<2x3x5x16xf32>
}

// -----

// Scores are divided, then masked. Batch and heads are one dimension in the
// products and two where the mask is added.
// CHECK-LABEL: func.func @merged_heads
// CHECK-SAME:    %[[Q:[^:]*]]: {{[^,]*}}, %[[K:[^:]*]]: {{[^,]*}}, %[[V:[^:]*]]: {{[^,]*}}, %[[M:[^:]*]]:
// CHECK-DAG:     %[[A:.*]] = nn.reshape %[[Q]] {shape = array<i64: 2, 3, 5, 16>}
// CHECK-DAG:     %[[B:.*]] = nn.reshape %[[K]] {shape = array<i64: 2, 3, 5, 16>}
// CHECK-DAG:     %[[C:.*]] = nn.reshape %[[V]] {shape = array<i64: 2, 3, 5, 16>}
// CHECK:         %[[Y:.*]] = nn.attention %[[A]], %[[B]], %[[C]], %[[M]] {scale = 1.250000e-01 : f32, unguarded}
// CHECK:         nn.reshape %[[Y]] {shape = array<i64: 6, 5, 16>}
func.func @merged_heads(%q: tensor<6x5x16xf32>, %k: tensor<6x5x16xf32>, %v: tensor<6x5x16xf32>, %m: tensor<2x1x1x5xf32>) -> tensor<6x5x16xf32> {
  %s = nn.constant dense<8.0> : tensor<f32>
  %0 = nn.matmul %q, %k {transpose_b} : (tensor<6x5x16xf32>, tensor<6x5x16xf32>) -> tensor<6x5x5xf32>
  %1 = nn.div %0, %s : (tensor<6x5x5xf32>, tensor<f32>) -> tensor<6x5x5xf32>
  %2 = nn.reshape %1 {shape = array<i64: 2, 3, 5, 5>} : (tensor<6x5x5xf32>) -> tensor<2x3x5x5xf32>
  %3 = nn.add %2, %m : (tensor<2x3x5x5xf32>, tensor<2x1x1x5xf32>) -> tensor<2x3x5x5xf32>
  %4 = nn.reshape %3 {shape = array<i64: 6, 5, 5>} : (tensor<2x3x5x5xf32>) -> tensor<6x5x5xf32>
  %5 = nn.softmax %4 {axis = 2 : si64} : (tensor<6x5x5xf32>) -> tensor<6x5x5xf32>
  %6 = nn.matmul %5, %v : (tensor<6x5x5xf32>, tensor<6x5x16xf32>) -> tensor<6x5x16xf32>
  return %6 : tensor<6x5x16xf32>
}

// -----

// One head without a batch.
// CHECK-LABEL: func.func @matrices
// CHECK:         nn.attention {{.*}} : (tensor<1x1x5x16xf32>, tensor<1x1x7x16xf32>, tensor<1x1x7x8xf32>) -> tensor<1x1x5x8xf32>
func.func @matrices(%q: tensor<5x16xf32>, %k: tensor<16x7xf32>, %v: tensor<7x8xf32>) -> tensor<5x8xf32> {
  %0 = nn.matmul %q, %k : (tensor<5x16xf32>, tensor<16x7xf32>) -> tensor<5x7xf32>
  %1 = nn.softmax %0 : (tensor<5x7xf32>) -> tensor<5x7xf32>
  %2 = nn.matmul %1, %v : (tensor<5x7xf32>, tensor<7x8xf32>) -> tensor<5x8xf32>
  return %2 : tensor<5x8xf32>
}

// -----

// An added causal mask: a named constant is recognized by its elements.
// CHECK-LABEL: func.func @causal_bias
// CHECK:         nn.attention %{{[^,]*}}, %{{[^,]*}}, %{{[^,]*}} {causal, scale = 1.000000e+00 : f32}
func.func @causal_bias(%q: tensor<1x2x3x16xf32>, %k: tensor<1x2x3x16xf32>, %v: tensor<1x2x3x16xf32>) -> tensor<1x2x3x16xf32> {
  %m = nn.constant "val_56" dense<[[0.0, 0xFF800000, 0xFF800000], [0.0, 0.0, 0xFF800000], [0.0, 0.0, 0.0]]> : tensor<3x3xf32>
  %0 = nn.matmul %q, %k {transpose_b} : (tensor<1x2x3x16xf32>, tensor<1x2x3x16xf32>) -> tensor<1x2x3x3xf32>
  %1 = nn.add %0, %m : (tensor<1x2x3x3xf32>, tensor<3x3xf32>) -> tensor<1x2x3x3xf32>
  %2 = nn.softmax %1 : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %3 = nn.matmul %2, %v : (tensor<1x2x3x3xf32>, tensor<1x2x3x16xf32>) -> tensor<1x2x3x16xf32>
  return %3 : tensor<1x2x3x16xf32>
}

// -----

// Zeros replace NaN in the softmax, as PyTorch writes after a mask.
// CHECK-LABEL: func.func @guarded
// CHECK-SAME:    %[[Q:[^:]*]]: {{[^,]*}}, %[[M:[^:]*]]:
// CHECK:         %[[Y:.*]] = nn.attention %[[Q]], %[[Q]], %[[Q]], %[[M]] {scale = 1.000000e+00 : f32}
// CHECK:         return %[[Y]]
func.func @guarded(%q: tensor<1x2x5x16xf32>, %m: tensor<1x1x1x5xi1>) -> tensor<1x2x5x16xf32> {
  %zero = nn.constant dense<0.0> : tensor<f32>
  %never = nn.constant dense<0xFF800000> : tensor<f32>
  %b = nn.where %m, %zero, %never : (tensor<1x1x1x5xi1>, tensor<f32>, tensor<f32>) -> tensor<1x1x1x5xf32>
  %0 = nn.matmul %q, %q {transpose_b} : (tensor<1x2x5x16xf32>, tensor<1x2x5x16xf32>) -> tensor<1x2x5x5xf32>
  %1 = nn.add %0, %b : (tensor<1x2x5x5xf32>, tensor<1x1x1x5xf32>) -> tensor<1x2x5x5xf32>
  %2 = nn.softmax %1 : (tensor<1x2x5x5xf32>) -> tensor<1x2x5x5xf32>
  %3 = nn.is_nan %2 : (tensor<1x2x5x5xf32>) -> tensor<1x2x5x5xi1>
  %4 = nn.where %3, %zero, %2 : (tensor<1x2x5x5xi1>, tensor<f32>, tensor<1x2x5x5xf32>) -> tensor<1x2x5x5xf32>
  %5 = nn.matmul %4, %q : (tensor<1x2x5x5xf32>, tensor<1x2x5x16xf32>) -> tensor<1x2x5x16xf32>
  return %5 : tensor<1x2x5x16xf32>
}

// -----

// So do zeros where the maximum of the scores is -inf, as ONNX's operator says.
// CHECK-LABEL: func.func @guarded_by_maximum
// CHECK-SAME:    %[[Q:[^:]*]]: {{[^,]*}}, %[[M:[^:]*]]:
// CHECK-NOT:     nn.reduce
// CHECK:         %[[Y:.*]] = nn.attention %[[Q]], %[[Q]], %[[Q]], %[[M]] {scale = 1.000000e+00 : f32}
// CHECK:         return %[[Y]]
func.func @guarded_by_maximum(%q: tensor<1x2x5x16xf32>, %m: tensor<5x5xf32>) -> tensor<1x2x5x16xf32> {
  %zero = nn.constant dense<0.0> : tensor<f32>
  %never = nn.constant dense<0xFF800000> : tensor<f32>
  %0 = nn.matmul %q, %q {transpose_b} : (tensor<1x2x5x16xf32>, tensor<1x2x5x16xf32>) -> tensor<1x2x5x5xf32>
  %1 = nn.add %0, %m : (tensor<1x2x5x5xf32>, tensor<5x5xf32>) -> tensor<1x2x5x5xf32>
  %2 = nn.softmax %1 : (tensor<1x2x5x5xf32>) -> tensor<1x2x5x5xf32>
  %3 = nn.reduce %1 {axes = array<i64: 3>, kind = #nn<combiner max>} : (tensor<1x2x5x5xf32>) -> tensor<1x2x5x1xf32>
  %4 = nn.equal %3, %never : (tensor<1x2x5x1xf32>, tensor<f32>) -> tensor<1x2x5x1xi1>
  %5 = nn.where %4, %zero, %2 : (tensor<1x2x5x1xi1>, tensor<f32>, tensor<1x2x5x5xf32>) -> tensor<1x2x5x5xf32>
  %6 = nn.matmul %5, %q : (tensor<1x2x5x5xf32>, tensor<1x2x5x16xf32>) -> tensor<1x2x5x16xf32>
  return %6 : tensor<1x2x5x16xf32>
}

// -----

// A finite number that replaces scores leaves nothing of them: if it hides all
// keys, the values' mean remains, whatever the number. -inf before it is no
// longer hidden.
// CHECK-LABEL: func.func @finite_selection
// CHECK-SAME:    %[[Q:[^:]*]]: {{[^,]*}}, %[[A:[^:]*]]: {{[^,]*}}, %[[B:[^:]*]]:
// CHECK-DAG:     %[[ZERO:.*]] = nn.constant dense<0.000000e+00> : tensor<f32>
// CHECK-DAG:     %[[NEVER:.*]] = nn.constant dense<0xFF800000> : tensor<f32>
// CHECK-DAG:     %[[FIRST:.*]] = nn.where %[[A]], %[[ZERO]], %[[NEVER]]
// CHECK-DAG:     %[[LOW:.*]] = nn.constant dense<-3.40282347E+38> : tensor<f32>
// CHECK:         %[[BIAS:.*]] = nn.where %[[B]], %[[FIRST]], %[[LOW]]
// CHECK:         nn.attention %[[Q]], %[[Q]], %[[Q]], %[[BIAS]] {scale = 1.000000e+00 : f32, unguarded}
func.func @finite_selection(%q: tensor<1x2x5x16xf16>, %a: tensor<5x5xi1>, %b: tensor<5x5xi1>) -> tensor<1x2x5x16xf16> {
  %never = nn.constant dense<0xFC00> : tensor<f16>
  %low = nn.constant dense<-10000.0> : tensor<f16>
  %0 = nn.matmul %q, %q {transpose_b} : (tensor<1x2x5x16xf16>, tensor<1x2x5x16xf16>) -> tensor<1x2x5x5xf16>
  %1 = nn.where %a, %0, %never : (tensor<5x5xi1>, tensor<1x2x5x5xf16>, tensor<f16>) -> tensor<1x2x5x5xf16>
  %2 = nn.where %b, %1, %low : (tensor<5x5xi1>, tensor<1x2x5x5xf16>, tensor<f16>) -> tensor<1x2x5x5xf16>
  %3 = nn.softmax %2 : (tensor<1x2x5x5xf16>) -> tensor<1x2x5x5xf16>
  %4 = nn.matmul %3, %q : (tensor<1x2x5x5xf16>, tensor<1x2x5x16xf16>) -> tensor<1x2x5x16xf16>
  return %4 : tensor<1x2x5x16xf16>
}

// -----

// Any other number than zero is not that pattern.
// CHECK-LABEL: func.func @replaced
// CHECK:         nn.softmax
func.func @replaced(%q: tensor<1x2x5x16xf32>) -> tensor<1x2x5x16xf32> {
  %one = nn.constant dense<1.0> : tensor<f32>
  %0 = nn.matmul %q, %q {transpose_b} : (tensor<1x2x5x16xf32>, tensor<1x2x5x16xf32>) -> tensor<1x2x5x5xf32>
  %1 = nn.softmax %0 : (tensor<1x2x5x5xf32>) -> tensor<1x2x5x5xf32>
  %2 = nn.is_nan %1 : (tensor<1x2x5x5xf32>) -> tensor<1x2x5x5xi1>
  %3 = nn.where %2, %one, %1 : (tensor<1x2x5x5xi1>, tensor<f32>, tensor<1x2x5x5xf32>) -> tensor<1x2x5x5xf32>
  %4 = nn.matmul %3, %q : (tensor<1x2x5x5xf32>, tensor<1x2x5x16xf32>) -> tensor<1x2x5x16xf32>
  return %4 : tensor<1x2x5x16xf32>
}

// -----

// A mask that hides nothing is dropped, unless it is a weight that may change.
// CHECK-LABEL: func.func @hides_nothing
// CHECK-SAME:    %[[Q:[^:]*]]:
// CHECK:         %[[B:.*]] = nn.constant "bias"
// CHECK:         nn.attention %[[Q]], %[[Q]], %[[Q]] {scale
// CHECK:         nn.attention %[[Q]], %[[Q]], %[[Q]], %[[B]] {scale = 1.000000e+00 : f32, unguarded}
func.func @hides_nothing(%q: tensor<1x2x3x16xf32>) -> (tensor<1x2x3x16xf32>, tensor<1x2x3x16xf32>) {
  %first = nn.constant dense<0> : tensor<i64>
  %step = nn.constant dense<1> : tensor<i64>
  %i = nn.iota %first, %step {shape = array<i64: 3, 3>, axis = 1 : i64} : (tensor<i64>, tensor<i64>) -> tensor<3x3xi64>
  %m = nn.greater_equal %i, %first : (tensor<3x3xi64>, tensor<i64>) -> tensor<3x3xi1>
  %b = nn.constant "bias" dense<0.0> : tensor<3x3xf32>
  %never = nn.constant dense<0xFF800000> : tensor<f32>
  %0 = nn.matmul %q, %q {transpose_b} : (tensor<1x2x3x16xf32>, tensor<1x2x3x16xf32>) -> tensor<1x2x3x3xf32>
  %1 = nn.where %m, %0, %never : (tensor<3x3xi1>, tensor<1x2x3x3xf32>, tensor<f32>) -> tensor<1x2x3x3xf32>
  %2 = nn.softmax %1 : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %3 = nn.matmul %2, %q : (tensor<1x2x3x3xf32>, tensor<1x2x3x16xf32>) -> tensor<1x2x3x16xf32>
  %4 = nn.matmul %q, %q {transpose_b} : (tensor<1x2x3x16xf32>, tensor<1x2x3x16xf32>) -> tensor<1x2x3x3xf32>
  %5 = nn.add %4, %b : (tensor<1x2x3x3xf32>, tensor<3x3xf32>) -> tensor<1x2x3x3xf32>
  %6 = nn.softmax %5 : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %7 = nn.matmul %6, %q : (tensor<1x2x3x3xf32>, tensor<1x2x3x16xf32>) -> tensor<1x2x3x16xf32>
  return %3, %7 : tensor<1x2x3x16xf32>, tensor<1x2x3x16xf32>
}

// -----

// A mask that lets a query see one more key is not causal.
// CHECK-LABEL: func.func @almost_causal
// CHECK:         nn.attention {{.*}} {scale = 1.000000e+00 : f32} : {{.*}}, tensor<1x1x3x2xi32>)
func.func @almost_causal(%q: tensor<1x2x3x16xf32>, %k: tensor<1x2x3x16xf32>, %v: tensor<1x2x3x16xf32>) -> tensor<1x2x3x16xf32> {
  %m = nn.constant "val_56" dense<[[0.0, 0xFF800000, 0xFF800000], [0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]> : tensor<3x3xf32>
  %0 = nn.matmul %q, %k {transpose_b} : (tensor<1x2x3x16xf32>, tensor<1x2x3x16xf32>) -> tensor<1x2x3x3xf32>
  %1 = nn.add %0, %m : (tensor<1x2x3x3xf32>, tensor<3x3xf32>) -> tensor<1x2x3x3xf32>
  %2 = nn.softmax %1 : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %3 = nn.matmul %2, %v : (tensor<1x2x3x3xf32>, tensor<1x2x3x16xf32>) -> tensor<1x2x3x16xf32>
  return %3 : tensor<1x2x3x16xf32>
}

// -----

// A lower triangle of ones that is too large to fold, together with a padding
// mask; softmax in f32 of a 16-bit model.
// CHECK-LABEL: func.func @causal_selection
// CHECK-SAME:    %[[Q:[^:]*]]: {{[^,]*}}, %[[M:[^:]*]]:
// CHECK:         nn.attention %[[Q]], %[[Q]], %[[Q]], %[[M]] {causal, scale = 1.250000e-01 : f32, unguarded}
func.func @causal_selection(%q: tensor<1x2x100x64xf16>, %m: tensor<1x1x1x100xf32>) -> tensor<1x2x100x64xf16> {
  %s = nn.constant dense<0.125> : tensor<f16>
  %one = nn.constant dense<1.0> : tensor<100x100xf32>
  %never = nn.constant dense<0xFF800000> : tensor<f32>
  %t = nn.trilu %one {k = 0 : i64, upper = false} : (tensor<100x100xf32>) -> tensor<100x100xf32>
  %b = nn.cast %t {to = i1} : (tensor<100x100xf32>) -> tensor<100x100xi1>
  %c = nn.reshape %b {shape = array<i64: 1, 1, 100, 100>} : (tensor<100x100xi1>) -> tensor<1x1x100x100xi1>
  %0 = nn.matmul %q, %q {transpose_b} : (tensor<1x2x100x64xf16>, tensor<1x2x100x64xf16>) -> tensor<1x2x100x100xf16>
  %1 = nn.mul %0, %s : (tensor<1x2x100x100xf16>, tensor<f16>) -> tensor<1x2x100x100xf16>
  %2 = nn.cast %1 {to = f32} : (tensor<1x2x100x100xf16>) -> tensor<1x2x100x100xf32>
  %3 = nn.where %c, %2, %never : (tensor<1x1x100x100xi1>, tensor<1x2x100x100xf32>, tensor<f32>) -> tensor<1x2x100x100xf32>
  %4 = nn.add %m, %3 : (tensor<1x1x1x100xf32>, tensor<1x2x100x100xf32>) -> tensor<1x2x100x100xf32>
  %5 = nn.softmax %4 : (tensor<1x2x100x100xf32>) -> tensor<1x2x100x100xf32>
  %6 = nn.cast %5 {to = f16} : (tensor<1x2x100x100xf32>) -> tensor<1x2x100x100xf16>
  %7 = nn.matmul %6, %q : (tensor<1x2x100x100xf16>, tensor<1x2x100x64xf16>) -> tensor<1x2x100x64xf16>
  return %7 : tensor<1x2x100x64xf16>
}

// -----

// The same with a finite number: a query that sees only padding gives weights
// to the future too, so it is not causal.
// CHECK-LABEL: func.func @finite_causal_selection
// CHECK-SAME:    %[[Q:[^:]*]]: {{[^,]*}}, %[[M:[^:]*]]:
// CHECK:         %[[R:.*]] = nn.range_mask
// CHECK-DAG:     %[[ZERO:.*]] = nn.constant dense<0.000000e+00> : tensor<f32>
// CHECK-DAG:     %[[LOW:.*]] = nn.constant dense<-3.40282347E+38> : tensor<f32>
// CHECK:         %[[C:.*]] = nn.where %[[R]], %[[ZERO]], %[[LOW]]
// CHECK:         %[[B:.*]] = nn.add %[[C]], %[[M]]
// CHECK:         nn.attention %[[Q]], %[[Q]], %[[Q]], %[[B]] {scale = 1.250000e-01 : f32, unguarded}
func.func @finite_causal_selection(%q: tensor<1x2x100x64xf16>, %m: tensor<1x1x1x100xf32>) -> tensor<1x2x100x64xf16> {
  %s = nn.constant dense<0.125> : tensor<f16>
  %one = nn.constant dense<1.0> : tensor<100x100xf32>
  %never = nn.constant dense<-3.40282347E+38> : tensor<f32>
  %t = nn.trilu %one {k = 0 : i64, upper = false} : (tensor<100x100xf32>) -> tensor<100x100xf32>
  %b = nn.cast %t {to = i1} : (tensor<100x100xf32>) -> tensor<100x100xi1>
  %c = nn.reshape %b {shape = array<i64: 1, 1, 100, 100>} : (tensor<100x100xi1>) -> tensor<1x1x100x100xi1>
  %0 = nn.matmul %q, %q {transpose_b} : (tensor<1x2x100x64xf16>, tensor<1x2x100x64xf16>) -> tensor<1x2x100x100xf16>
  %1 = nn.mul %0, %s : (tensor<1x2x100x100xf16>, tensor<f16>) -> tensor<1x2x100x100xf16>
  %2 = nn.cast %1 {to = f32} : (tensor<1x2x100x100xf16>) -> tensor<1x2x100x100xf32>
  %3 = nn.where %c, %2, %never : (tensor<1x1x100x100xi1>, tensor<1x2x100x100xf32>, tensor<f32>) -> tensor<1x2x100x100xf32>
  %4 = nn.add %m, %3 : (tensor<1x1x1x100xf32>, tensor<1x2x100x100xf32>) -> tensor<1x2x100x100xf32>
  %5 = nn.softmax %4 : (tensor<1x2x100x100xf32>) -> tensor<1x2x100x100xf32>
  %6 = nn.cast %5 {to = f16} : (tensor<1x2x100x100xf32>) -> tensor<1x2x100x100xf16>
  %7 = nn.matmul %6, %q : (tensor<1x2x100x100xf16>, tensor<1x2x100x64xf16>) -> tensor<1x2x100x64xf16>
  return %7 : tensor<1x2x100x64xf16>
}

// -----

// A learnt bias hides nothing, and neither does one that trains: finite numbers
// may be causal. -10000 in place of scores, beside a mask of other numbers, is
// not the same as -10000 added to them: no attention.
// CHECK-LABEL: func.func @finite_causal_and_bias
// CHECK-SAME:    %[[Q:[^:]*]]: {{[^,]*}}, %[[P:[^:]*]]: {{[^,]*}}, %[[T:[^:]*]]:
// CHECK:         nn.attention %[[Q]], %[[Q]], %[[Q]], %{{.*}} {causal, scale
// CHECK:         nn.attention %{{.*}}, %[[Q]], %[[Q]], %[[T]] {causal, scale
// CHECK:         nn.softmax
func.func @finite_causal_and_bias(%q: tensor<1x2x3x16xf32>, %padding: tensor<1x1x1x3xf32>, %trained: tensor<2x3x3xf32> {nn.parameter = "trained"}) -> tensor<1x2x3x16xf32> {
  %bias = nn.constant "bias" dense<[[[0.0, -9.0, -8.0], [1.0, 0.5, -9.0], [2.0, 3.0, 0.0]]]> : tensor<1x3x3xf32>
  %true = nn.constant dense<true> : tensor<3x3xi1>
  %low = nn.constant dense<-1.0e+4> : tensor<f32>
  %past = nn.trilu %true {k = 0 : i64, upper = false} : (tensor<3x3xi1>) -> tensor<3x3xi1>
  %0 = nn.matmul %q, %q {transpose_b} : (tensor<1x2x3x16xf32>, tensor<1x2x3x16xf32>) -> tensor<1x2x3x3xf32>
  %1 = nn.add %0, %bias : (tensor<1x2x3x3xf32>, tensor<1x3x3xf32>) -> tensor<1x2x3x3xf32>
  %2 = nn.where %past, %1, %low : (tensor<3x3xi1>, tensor<1x2x3x3xf32>, tensor<f32>) -> tensor<1x2x3x3xf32>
  %3 = nn.softmax %2 : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %4 = nn.matmul %3, %q : (tensor<1x2x3x3xf32>, tensor<1x2x3x16xf32>) -> tensor<1x2x3x16xf32>
  %5 = nn.matmul %4, %q {transpose_b} : (tensor<1x2x3x16xf32>, tensor<1x2x3x16xf32>) -> tensor<1x2x3x3xf32>
  %6 = nn.add %5, %trained : (tensor<1x2x3x3xf32>, tensor<2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %7 = nn.where %past, %6, %low : (tensor<3x3xi1>, tensor<1x2x3x3xf32>, tensor<f32>) -> tensor<1x2x3x3xf32>
  %8 = nn.softmax %7 : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %9 = nn.matmul %8, %q : (tensor<1x2x3x3xf32>, tensor<1x2x3x16xf32>) -> tensor<1x2x3x16xf32>
  %10 = nn.matmul %9, %q {transpose_b} : (tensor<1x2x3x16xf32>, tensor<1x2x3x16xf32>) -> tensor<1x2x3x3xf32>
  %11 = nn.where %past, %10, %low : (tensor<3x3xi1>, tensor<1x2x3x3xf32>, tensor<f32>) -> tensor<1x2x3x3xf32>
  %12 = nn.add %11, %padding : (tensor<1x2x3x3xf32>, tensor<1x1x1x3xf32>) -> tensor<1x2x3x3xf32>
  %13 = nn.softmax %12 : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %14 = nn.matmul %13, %q : (tensor<1x2x3x3xf32>, tensor<1x2x3x16xf32>) -> tensor<1x2x3x16xf32>
  return %14 : tensor<1x2x3x16xf32>
}

// -----

// A boolean mask converted to numbers.
// CHECK-LABEL: func.func @bool_bias
// CHECK-SAME:    %[[Q:[^:]*]]: {{[^,]*}}, %[[M:[^:]*]]:
// CHECK:         nn.attention %[[Q]], %[[Q]], %[[Q]], %[[M]] {scale = 1.000000e+00 : f32, unguarded} : (tensor<1x2x5x16xf32>, tensor<1x2x5x16xf32>, tensor<1x2x5x16xf32>, tensor<1x1x5x5xi1>)
func.func @bool_bias(%q: tensor<1x2x5x16xf32>, %m: tensor<1x1x5x5xi1>) -> tensor<1x2x5x16xf32> {
  %zero = nn.constant dense<0.0> : tensor<f32>
  %never = nn.constant dense<0xFF800000> : tensor<f32>
  %b = nn.where %m, %zero, %never : (tensor<1x1x5x5xi1>, tensor<f32>, tensor<f32>) -> tensor<1x1x5x5xf32>
  %0 = nn.matmul %q, %q {transpose_b} : (tensor<1x2x5x16xf32>, tensor<1x2x5x16xf32>) -> tensor<1x2x5x5xf32>
  %1 = nn.add %0, %b : (tensor<1x2x5x5xf32>, tensor<1x1x5x5xf32>) -> tensor<1x2x5x5xf32>
  %2 = nn.softmax %1 : (tensor<1x2x5x5xf32>) -> tensor<1x2x5x5xf32>
  %3 = nn.matmul %2, %q : (tensor<1x2x5x5xf32>, tensor<1x2x5x16xf32>) -> tensor<1x2x5x16xf32>
  return %3 : tensor<1x2x5x16xf32>
}

// -----

// Key heads that several query heads share are not repeated.
// CHECK-LABEL: func.func @shared_heads
// CHECK-SAME:    %[[Q:[^:]*]]: {{[^,]*}}, %[[K:[^:]*]]:
// CHECK-NOT:     nn.expand
// CHECK:         nn.attention %[[Q]], %[[K]], %[[K]] {{.*}} : (tensor<1x4x5x16xf32>, tensor<1x2x5x16xf32>, tensor<1x2x5x16xf32>)
func.func @shared_heads(%q: tensor<1x4x5x16xf32>, %k: tensor<1x2x5x16xf32>) -> tensor<1x4x5x16xf32> {
  %0 = nn.reshape %k {shape = array<i64: 1, 2, 1, 5, 16>} : (tensor<1x2x5x16xf32>) -> tensor<1x2x1x5x16xf32>
  %1 = nn.expand %0 {shape = array<i64: 1, 2, 2, 5, 16>} : (tensor<1x2x1x5x16xf32>) -> tensor<1x2x2x5x16xf32>
  %2 = nn.reshape %1 {shape = array<i64: 1, 4, 5, 16>} : (tensor<1x2x2x5x16xf32>) -> tensor<1x4x5x16xf32>
  %3 = nn.transpose %2 {perm = array<i64: 0, 1, 3, 2>} : (tensor<1x4x5x16xf32>) -> tensor<1x4x16x5xf32>
  %4 = nn.matmul %q, %3 : (tensor<1x4x5x16xf32>, tensor<1x4x16x5xf32>) -> tensor<1x4x5x5xf32>
  %5 = nn.softmax %4 : (tensor<1x4x5x5xf32>) -> tensor<1x4x5x5xf32>
  %6 = nn.matmul %5, %2 : (tensor<1x4x5x5xf32>, tensor<1x4x5x16xf32>) -> tensor<1x4x5x16xf32>
  return %6 : tensor<1x4x5x16xf32>
}

// -----

// Weights that the model returns are still computed.
// CHECK-LABEL: func.func @weights_read
// CHECK-NOT:     nn.attention
func.func @weights_read(%q: tensor<1x2x5x16xf32>) -> (tensor<1x2x5x16xf32>, tensor<1x2x5x5xf32>) {
  %0 = nn.matmul %q, %q {transpose_b} : (tensor<1x2x5x16xf32>, tensor<1x2x5x16xf32>) -> tensor<1x2x5x5xf32>
  %1 = nn.softmax %0 : (tensor<1x2x5x5xf32>) -> tensor<1x2x5x5xf32>
  %2 = nn.matmul %1, %q : (tensor<1x2x5x5xf32>, tensor<1x2x5x16xf32>) -> tensor<1x2x5x16xf32>
  return %2, %1 : tensor<1x2x5x16xf32>, tensor<1x2x5x5xf32>
}

// -----

// Keys with one more dimension, of size 1, than the values.
// CHECK-LABEL: func.func @other_dimensions
// CHECK:         nn.attention {{.*}} -> tensor<1x1x5x8xf32>
func.func @other_dimensions(%q: tensor<1x5x1xf32>, %k: tensor<1x1x2xf32>, %v: tensor<8x2xf32>) -> tensor<5x8xf32> {
  %0 = nn.matmul %q, %k : (tensor<1x5x1xf32>, tensor<1x1x2xf32>) -> tensor<1x5x2xf32>
  %1 = nn.reshape %0 {shape = array<i64: 5, 2>} : (tensor<1x5x2xf32>) -> tensor<5x2xf32>
  %2 = nn.softmax %1 {axis = 1 : si64} : (tensor<5x2xf32>) -> tensor<5x2xf32>
  %3 = nn.matmul %2, %v {transpose_b} : (tensor<5x2xf32>, tensor<8x2xf32>) -> tensor<5x8xf32>
  return %3 : tensor<5x8xf32>
}

// -----

// Keys shared by both matrices, but separate values: not attention. The pass
// must not loop on it.
// CHECK-LABEL: func.func @other_heads
// CHECK-NOT:     nn.attention
// CHECK:         nn.softmax
// CHECK:         nn.matmul
func.func @other_heads(%q: tensor<2x5x1xf32>, %k: tensor<1x1x2xf32>, %v: tensor<2x8x2xf32>) -> tensor<2x5x8xf32> {
  %0 = nn.matmul %q, %k : (tensor<2x5x1xf32>, tensor<1x1x2xf32>) -> tensor<2x5x2xf32>
  %1 = nn.softmax %0 : (tensor<2x5x2xf32>) -> tensor<2x5x2xf32>
  %2 = nn.matmul %1, %v {transpose_b} : (tensor<2x5x2xf32>, tensor<2x8x2xf32>) -> tensor<2x5x8xf32>
  return %2 : tensor<2x5x8xf32>
}

// -----

// Shifted windows of Swin: a mask per window, batches of windows, and score
// rows scaled by a factor per head, which is moved to the queries.
// CHECK-LABEL: func.func @windows
// CHECK-SAME:    %[[Q:[^:]*]]: {{[^,]*}}, %[[M:[^:]*]]: {{[^,]*}}, %[[F:[^:]*]]:
// CHECK-DAG:     %[[S:.*]] = nn.mul %[[Q]], %[[F]]
// CHECK-DAG:     %[[E:.*]] = nn.expand %[[M]] {shape = array<i64: 2, 4, 1, 5, 5>}
// CHECK-DAG:     %[[B:.*]] = nn.reshape %[[E]] {shape = array<i64: 8, 1, 5, 5>}
// CHECK:         nn.attention %[[S]], %[[Q]], %[[Q]], %[[B]] {scale = 1.000000e+00 : f32, unguarded}
func.func @windows(%q: tensor<8x3x5x16xf32>, %m: tensor<1x4x1x5x5xf32>, %f: tensor<3x1x1xf32>) -> tensor<8x3x5x16xf32> {
  %0 = nn.matmul %q, %q {transpose_b} : (tensor<8x3x5x16xf32>, tensor<8x3x5x16xf32>) -> tensor<8x3x5x5xf32>
  %1 = nn.mul %0, %f : (tensor<8x3x5x5xf32>, tensor<3x1x1xf32>) -> tensor<8x3x5x5xf32>
  %2 = nn.reshape %1 {shape = array<i64: 2, 4, 3, 5, 5>} : (tensor<8x3x5x5xf32>) -> tensor<2x4x3x5x5xf32>
  %3 = nn.add %2, %m : (tensor<2x4x3x5x5xf32>, tensor<1x4x1x5x5xf32>) -> tensor<2x4x3x5x5xf32>
  %4 = nn.reshape %3 {shape = array<i64: 8, 3, 5, 5>} : (tensor<2x4x3x5x5xf32>) -> tensor<8x3x5x5xf32>
  %5 = nn.softmax %4 : (tensor<8x3x5x5xf32>) -> tensor<8x3x5x5xf32>
  %6 = nn.matmul %5, %q : (tensor<8x3x5x5xf32>, tensor<8x3x5x16xf32>) -> tensor<8x3x5x16xf32>
  return %6 : tensor<8x3x5x16xf32>
}

// -----

// Scores with an added mask cannot be scaled through the queries.
// CHECK-LABEL: func.func @scaled_mask
// CHECK:         nn.softmax
func.func @scaled_mask(%q: tensor<1x3x5x16xf32>, %m: tensor<5x5xf32>, %f: tensor<3x1x1xf32>) -> tensor<1x3x5x16xf32> {
  %0 = nn.matmul %q, %q {transpose_b} : (tensor<1x3x5x16xf32>, tensor<1x3x5x16xf32>) -> tensor<1x3x5x5xf32>
  %1 = nn.add %0, %m : (tensor<1x3x5x5xf32>, tensor<5x5xf32>) -> tensor<1x3x5x5xf32>
  %2 = nn.mul %1, %f : (tensor<1x3x5x5xf32>, tensor<3x1x1xf32>) -> tensor<1x3x5x5xf32>
  %3 = nn.softmax %2 : (tensor<1x3x5x5xf32>) -> tensor<1x3x5x5xf32>
  %4 = nn.matmul %3, %q : (tensor<1x3x5x5xf32>, tensor<1x3x5x16xf32>) -> tensor<1x3x5x16xf32>
  return %4 : tensor<1x3x5x16xf32>
}

// -----

// Keys with merged batch and heads, values with separate ones, and a mask of
// the merged form, as in Bloom.
// CHECK-LABEL: func.func @keys_in_a_row
// CHECK:         nn.attention {{.*}} : (tensor<2x4x5x16xf32>, tensor<2x4x5x16xf32>, tensor<2x4x5x16xf32>, tensor<2x4x1x5xf32>)
func.func @keys_in_a_row(%q: tensor<8x5x16xf32>, %v: tensor<2x4x5x16xf32>, %m: tensor<8x1x5xf32>) -> tensor<2x4x5x16xf32> {
  %0 = nn.matmul %q, %q {transpose_b} : (tensor<8x5x16xf32>, tensor<8x5x16xf32>) -> tensor<8x5x5xf32>
  %1 = nn.add %0, %m : (tensor<8x5x5xf32>, tensor<8x1x5xf32>) -> tensor<8x5x5xf32>
  %2 = nn.reshape %1 {shape = array<i64: 2, 4, 5, 5>} : (tensor<8x5x5xf32>) -> tensor<2x4x5x5xf32>
  %3 = nn.softmax %2 : (tensor<2x4x5x5xf32>) -> tensor<2x4x5x5xf32>
  %4 = nn.matmul %3, %v : (tensor<2x4x5x5xf32>, tensor<2x4x5x16xf32>) -> tensor<2x4x5x16xf32>
  return %4 : tensor<2x4x5x16xf32>
}

// -----

// A mask of f32 in a model of f16 makes weights and values wide.
// CHECK-LABEL: func.func @wide_mask
// CHECK-SAME:    %[[Q:[^:]*]]: {{[^,]*}}, %[[K:[^:]*]]: {{[^,]*}}, %[[V:[^:]*]]: {{[^,]*}}, %[[M:[^:]*]]:
// CHECK-DAG:     %[[A:.*]] = nn.cast %[[Q]] {to = f32}
// CHECK-DAG:     %[[B:.*]] = nn.cast %[[K]] {to = f32}
// CHECK-DAG:     %[[C:.*]] = nn.cast %[[V]] {to = f32}
// CHECK:         nn.attention %[[A]], %[[B]], %[[C]], %[[M]]
// CHECK-SAME:      -> tensor<2x3x5x16xf32>
func.func @wide_mask(%q: tensor<2x3x5x16xf16>, %k: tensor<2x3x5x16xf16>, %v: tensor<2x3x5x16xf16>, %m: tensor<2x1x1x5xf32>) -> tensor<2x3x5x16xf32> {
  %0 = nn.matmul %q, %k {transpose_b} : (tensor<2x3x5x16xf16>, tensor<2x3x5x16xf16>) -> tensor<2x3x5x5xf16>
  %1 = nn.cast %0 {to = f32} : (tensor<2x3x5x5xf16>) -> tensor<2x3x5x5xf32>
  %2 = nn.add %1, %m : (tensor<2x3x5x5xf32>, tensor<2x1x1x5xf32>) -> tensor<2x3x5x5xf32>
  %3 = nn.softmax %2 : (tensor<2x3x5x5xf32>) -> tensor<2x3x5x5xf32>
  %4 = nn.cast %v {to = f32} : (tensor<2x3x5x16xf16>) -> tensor<2x3x5x16xf32>
  %5 = nn.matmul %3, %4 : (tensor<2x3x5x5xf32>, tensor<2x3x5x16xf32>) -> tensor<2x3x5x16xf32>
  return %5 : tensor<2x3x5x16xf32>
}
