// RUN: frit-opt %s --compose --simplify -split-input-file | FileCheck %s

// Masks that depend on constants alone are recognised by their elements.

// Causal for a batch of two, from positions that are summed up and gathered, as
// decoders of transformers compute it. The scores get the lowest float.
// CHECK-LABEL: func.func @from_positions
// CHECK-SAME:    %[[Q:[^:]*]]:
// CHECK-NEXT:    %[[Y:.*]] = nn.attention %[[Q]], %[[Q]], %[[Q]] {causal, scale = 1.000000e+00 : f32}
// CHECK-NEXT:    return %[[Y]]
func.func @from_positions(%q: tensor<2x2x3x16xf32>) -> tensor<2x2x3x16xf32> {
  %zero = nn.constant dense<0> : tensor<i64>
  %one = nn.constant dense<1> : tensor<i64>
  %low = nn.constant dense<-3.40282347E+38> : tensor<f32>
  %ones = nn.constant dense<1> : tensor<2x3xi64>
  %sum = nn.cum_sum %ones {axis = -1 : si64} : (tensor<2x3xi64>) -> tensor<2x3xi64>
  %position = nn.sub %sum, %one : (tensor<2x3xi64>, tensor<i64>) -> tensor<2x3xi64>
  %i = nn.iota %zero, %one {shape = array<i64: 3>, axis = 0 : i64} : (tensor<i64>, tensor<i64>) -> tensor<3xi64>
  %of_keys = nn.gather %position, %i {axis = 1 : si64} : (tensor<2x3xi64>, tensor<3xi64>) -> tensor<2x3xi64>
  %k = nn.reshape %of_keys {shape = array<i64: 2, 1, 1, 3>} : (tensor<2x3xi64>) -> tensor<2x1x1x3xi64>
  %p = nn.reshape %position {shape = array<i64: 2, 1, 3, 1>} : (tensor<2x3xi64>) -> tensor<2x1x3x1xi64>
  %m = nn.less_equal %k, %p : (tensor<2x1x1x3xi64>, tensor<2x1x3x1xi64>) -> tensor<2x1x3x3xi1>
  %0 = nn.matmul %q, %q {transpose_b} : (tensor<2x2x3x16xf32>, tensor<2x2x3x16xf32>) -> tensor<2x2x3x3xf32>
  %1 = nn.where %m, %0, %low : (tensor<2x1x3x3xi1>, tensor<2x2x3x3xf32>, tensor<f32>) -> tensor<2x2x3x3xf32>
  %2 = nn.softmax %1 : (tensor<2x2x3x3xf32>) -> tensor<2x2x3x3xf32>
  %3 = nn.matmul %2, %q : (tensor<2x2x3x3xf32>, tensor<2x2x3x16xf32>) -> tensor<2x2x3x16xf32>
  return %3 : tensor<2x2x3x16xf32>
}

// -----

// A sliding window: a causal mask in a select and another of far keys as a
// bias. Their ranges intersect.
// CHECK-LABEL: func.func @window
// CHECK-SAME:    %[[Q:[^:]*]]:
// CHECK:         %[[R:.*]] = nn.constant dense<{{\[\[\[}}[0, 1], [0, 2], [1, 3], [2, 4]]]]> : tensor<1x1x4x2xi32>
// CHECK:         nn.attention %[[Q]], %[[Q]], %[[Q]], %[[R]] {scale = 1.000000e+00 : f32}
func.func @window(%q: tensor<1x2x4x16xf32>) -> tensor<1x2x4x16xf32> {
  %never = nn.constant dense<0xFF800000> : tensor<f32>
  %true = nn.constant dense<true> : tensor<4x4xi1>
  %far = nn.constant "far" dense<[[0.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.0], [-1.0e+9, 0.0, 0.0, 0.0], [-1.0e+9, -1.0e+9, 0.0, 0.0]]> : tensor<4x4xf32>
  %past = nn.trilu %true {k = 0 : i64, upper = false} : (tensor<4x4xi1>) -> tensor<4x4xi1>
  %0 = nn.matmul %q, %q {transpose_b} : (tensor<1x2x4x16xf32>, tensor<1x2x4x16xf32>) -> tensor<1x2x4x4xf32>
  %1 = nn.where %past, %0, %never : (tensor<4x4xi1>, tensor<1x2x4x4xf32>, tensor<f32>) -> tensor<1x2x4x4xf32>
  %2 = nn.add %1, %far : (tensor<1x2x4x4xf32>, tensor<4x4xf32>) -> tensor<1x2x4x4xf32>
  %3 = nn.softmax %2 : (tensor<1x2x4x4xf32>) -> tensor<1x2x4x4xf32>
  %4 = nn.matmul %3, %q : (tensor<1x2x4x4xf32>, tensor<1x2x4x16xf32>) -> tensor<1x2x4x16xf32>
  return %4 : tensor<1x2x4x16xf32>
}

// -----

// Packed sequences: queries see the keys of their own sequence. True hides, and
// sequences differ by batch.
// CHECK-LABEL: func.func @packed
// CHECK:         %[[R:.*]] = nn.constant dense<{{\[\[\[}}[0, 2], [0, 2], [2, 4], [2, 4]]], {{\[\[}}[0, 1], [1, 4], [1, 4], [1, 4]]]]> : tensor<2x1x4x2xi32>
// CHECK:         nn.attention %{{.*}}, %{{.*}}, %{{.*}}, %[[R]] {scale
func.func @packed(%q: tensor<2x2x4x16xf32>) -> tensor<2x2x4x16xf32> {
  %never = nn.constant dense<0xFF800000> : tensor<f32>
  %of_query = nn.constant dense<[[[[1], [1], [2], [2]]], [[[1], [2], [2], [2]]]]> : tensor<2x1x4x1xi64>
  %of_key = nn.constant dense<[[[[1, 1, 2, 2]]], [[[1, 2, 2, 2]]]]> : tensor<2x1x1x4xi64>
  %same = nn.equal %of_query, %of_key : (tensor<2x1x4x1xi64>, tensor<2x1x1x4xi64>) -> tensor<2x1x4x4xi1>
  %other = nn.not %same : (tensor<2x1x4x4xi1>) -> tensor<2x1x4x4xi1>
  %0 = nn.matmul %q, %q {transpose_b} : (tensor<2x2x4x16xf32>, tensor<2x2x4x16xf32>) -> tensor<2x2x4x4xf32>
  %1 = nn.where %other, %never, %0 : (tensor<2x1x4x4xi1>, tensor<f32>, tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32>
  %2 = nn.softmax %1 : (tensor<2x2x4x4xf32>) -> tensor<2x2x4x4xf32>
  %3 = nn.matmul %2, %q : (tensor<2x2x4x4xf32>, tensor<2x2x4x16xf32>) -> tensor<2x2x4x16xf32>
  return %3 : tensor<2x2x4x16xf32>
}

// -----

// All queries see a prefix and their past. The mask of padding keys is not
// constant: it stays a mask, and the prefix becomes part of it.
// CHECK-LABEL: func.func @prefix
// CHECK-SAME:    %[[Q:[^:]*]]: {{[^,]*}}, %[[P:[^:]*]]:
// CHECK:         %[[R:.*]] = nn.constant dense<{{\[\[\[}}[0, 2], [0, 2], [0, 3]]]]>
// CHECK:         nn.attention %[[Q]], %[[Q]], %[[Q]], %[[R]] {scale
// CHECK:         %[[M:.*]] = nn.range_mask %[[R]] {keys = 3 : i64}
// CHECK:         %[[B:.*]] = nn.and %[[M]], %[[P]]
// CHECK:         nn.attention %[[Q]], %[[Q]], %[[Q]], %[[B]] {scale
func.func @prefix(%q: tensor<1x2x3x16xf32>, %padding: tensor<1x1x1x3xi1>) -> (tensor<1x2x3x16xf32>, tensor<1x2x3x16xf32>) {
  %never = nn.constant dense<0xFF800000> : tensor<f32>
  %zero = nn.constant dense<0.0> : tensor<f32>
  %m = nn.constant dense<[[[[true, true, false], [true, true, false], [true, true, true]]]]> : tensor<1x1x3x3xi1>
  %both = nn.and %m, %padding : (tensor<1x1x3x3xi1>, tensor<1x1x1x3xi1>) -> tensor<1x1x3x3xi1>
  %b = nn.where %both, %zero, %never : (tensor<1x1x3x3xi1>, tensor<f32>, tensor<f32>) -> tensor<1x1x3x3xf32>
  %0 = nn.matmul %q, %q {transpose_b} : (tensor<1x2x3x16xf32>, tensor<1x2x3x16xf32>) -> tensor<1x2x3x3xf32>
  %1 = nn.where %m, %0, %never : (tensor<1x1x3x3xi1>, tensor<1x2x3x3xf32>, tensor<f32>) -> tensor<1x2x3x3xf32>
  %2 = nn.softmax %1 : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %3 = nn.matmul %2, %q : (tensor<1x2x3x3xf32>, tensor<1x2x3x16xf32>) -> tensor<1x2x3x16xf32>
  %4 = nn.matmul %q, %q {transpose_b} : (tensor<1x2x3x16xf32>, tensor<1x2x3x16xf32>) -> tensor<1x2x3x3xf32>
  %5 = nn.add %4, %b : (tensor<1x2x3x3xf32>, tensor<1x1x3x3xf32>) -> tensor<1x2x3x3xf32>
  %6 = nn.softmax %5 : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %7 = nn.matmul %6, %q : (tensor<1x2x3x3xf32>, tensor<1x2x3x16xf32>) -> tensor<1x2x3x16xf32>
  return %3, %7 : tensor<1x2x3x16xf32>, tensor<1x2x3x16xf32>
}

// -----

// The constant part of a mask is causal: the flag, and a mask of padding keys.
// CHECK-LABEL: func.func @causal_and_padding
// CHECK-SAME:    %[[Q:[^:]*]]: {{[^,]*}}, %[[P:[^:]*]]:
// CHECK-NEXT:    nn.attention %[[Q]], %[[Q]], %[[Q]], %[[P]] {causal, scale
func.func @causal_and_padding(%q: tensor<1x2x3x16xf32>, %padding: tensor<1x1x1x3xi1>) -> tensor<1x2x3x16xf32> {
  %never = nn.constant dense<0xFF800000> : tensor<f32>
  %true = nn.constant dense<true> : tensor<3x3xi1>
  %past = nn.trilu %true {k = 0 : i64, upper = false} : (tensor<3x3xi1>) -> tensor<3x3xi1>
  %both = nn.and %past, %padding : (tensor<3x3xi1>, tensor<1x1x1x3xi1>) -> tensor<1x1x3x3xi1>
  %0 = nn.matmul %q, %q {transpose_b} : (tensor<1x2x3x16xf32>, tensor<1x2x3x16xf32>) -> tensor<1x2x3x3xf32>
  %1 = nn.where %both, %0, %never : (tensor<1x1x3x3xi1>, tensor<1x2x3x3xf32>, tensor<f32>) -> tensor<1x2x3x3xf32>
  %2 = nn.softmax %1 : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %3 = nn.matmul %2, %q : (tensor<1x2x3x3xf32>, tensor<1x2x3x16xf32>) -> tensor<1x2x3x16xf32>
  return %3 : tensor<1x2x3x16xf32>
}

// -----

// These are no ranges: a window that moves back, a query that sees no key, and
// numbers too small to hide.
// CHECK-LABEL: func.func @others
// CHECK-COUNT-3: nn.attention {{.*}}tensor<3x3xi1>) ->
// CHECK:         nn.attention {{.*}}tensor<3x3xf32>) ->
func.func @others(%q: tensor<1x2x3x16xf32>) -> tensor<1x2x3x16xf32> {
  %never = nn.constant dense<0xFF800000> : tensor<f32>
  %back = nn.constant dense<[[false, true, true], [true, true, false], [true, true, true]]> : tensor<3x3xi1>
  %none = nn.constant dense<[[true, false, false], [false, false, false], [true, true, true]]> : tensor<3x3xi1>
  %holes = nn.constant dense<[[true, false, true], [true, true, true], [true, true, true]]> : tensor<3x3xi1>
  %small = nn.constant "small" dense<[[0.0, -9.0, -9.0], [0.0, 0.0, -9.0], [0.0, 0.0, 0.0]]> : tensor<3x3xf32>
  %0 = nn.matmul %q, %q {transpose_b} : (tensor<1x2x3x16xf32>, tensor<1x2x3x16xf32>) -> tensor<1x2x3x3xf32>
  %1 = nn.where %back, %0, %never : (tensor<3x3xi1>, tensor<1x2x3x3xf32>, tensor<f32>) -> tensor<1x2x3x3xf32>
  %2 = nn.softmax %1 : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %3 = nn.matmul %2, %q : (tensor<1x2x3x3xf32>, tensor<1x2x3x16xf32>) -> tensor<1x2x3x16xf32>
  %4 = nn.matmul %3, %q {transpose_b} : (tensor<1x2x3x16xf32>, tensor<1x2x3x16xf32>) -> tensor<1x2x3x3xf32>
  %5 = nn.where %none, %4, %never : (tensor<3x3xi1>, tensor<1x2x3x3xf32>, tensor<f32>) -> tensor<1x2x3x3xf32>
  %6 = nn.softmax %5 : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %7 = nn.matmul %6, %q : (tensor<1x2x3x3xf32>, tensor<1x2x3x16xf32>) -> tensor<1x2x3x16xf32>
  %8 = nn.matmul %7, %q {transpose_b} : (tensor<1x2x3x16xf32>, tensor<1x2x3x16xf32>) -> tensor<1x2x3x3xf32>
  %9 = nn.where %holes, %8, %never : (tensor<3x3xi1>, tensor<1x2x3x3xf32>, tensor<f32>) -> tensor<1x2x3x3xf32>
  %10 = nn.softmax %9 : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %11 = nn.matmul %10, %q : (tensor<1x2x3x3xf32>, tensor<1x2x3x16xf32>) -> tensor<1x2x3x16xf32>
  %12 = nn.matmul %11, %q {transpose_b} : (tensor<1x2x3x16xf32>, tensor<1x2x3x16xf32>) -> tensor<1x2x3x3xf32>
  %13 = nn.add %12, %small : (tensor<1x2x3x3xf32>, tensor<3x3xf32>) -> tensor<1x2x3x3xf32>
  %14 = nn.softmax %13 : (tensor<1x2x3x3xf32>) -> tensor<1x2x3x3xf32>
  %15 = nn.matmul %14, %q : (tensor<1x2x3x3xf32>, tensor<1x2x3x16xf32>) -> tensor<1x2x3x16xf32>
  return %15 : tensor<1x2x3x16xf32>
}
