// RUN: frit-opt %s --fusion --remark-format=emitRemark --remarks-filter=fusion -o /dev/null 2>&1 | FileCheck %s
// RUN: frit-opt %s --fusion -mlir-print-debuginfo -mlir-use-nameloc-as-prefix | FileCheck %s --check-prefix=LOC

// CHECK-DAG: NotFused{{.*}}not in one kernel with node 'bias' (Add): the target's kernel does not take it
// CHECK-DAG: Fused{{.*}}2 operators in one kernel: matmul, add

// A fusion names the model's nodes that it computes.
// LOC-DAG: #[[A:.*]] = loc("node 'fc' (MatMul)")
// LOC-DAG: #[[B:.*]] = loc("node 'bias' (Add)")
// LOC-DAG: loc(fused[#[[A]], #[[B]]])
func.func @main(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %0 = nn.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32> loc("node 'fc' (MatMul)")
  %1 = nn.add %0, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32> loc("node 'bias' (Add)")
  %2 = nn.exp %1 : (tensor<4x8xf32>) -> tensor<4x8xf32> loc("node 'exp' (Exp)")
  return %2 : tensor<4x8xf32>
}

// CHECK-DAG: Copy{{.*}}a kernel of its own between nn.matmul and nn.matmul only moves elements
func.func @copy(%x: tensor<4x8xf32>) -> tensor<4x6xf32> {
  %0 = nn.matmul %x, %x {transpose_a} : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<8x8xf32>
  %1 = nn.reshape %0 {shape = array<i64: 2, 4, 8>} : (tensor<8x8xf32>) -> tensor<2x4x8xf32>
  %2 = nn.transpose %1 {perm = array<i64: 1, 0, 2>} : (tensor<2x4x8xf32>) -> tensor<4x2x8xf32>
  %3 = nn.reshape %2 {shape = array<i64: 4, 16>} : (tensor<4x2x8xf32>) -> tensor<4x16xf32>
  %w = nn.constant "w" dense<1.0> : tensor<16x6xf32>
  %4 = nn.matmul %3, %w : (tensor<4x16xf32>, tensor<16x6xf32>) -> tensor<4x6xf32>
  return %4 : tensor<4x6xf32>
}

// No operator fuses into a composite that the target implements.
// CHECK-DAG: NotFused{{.*}}not in one kernel with node 'double' (Add): the target implements its reader as one kernel
// CHECK-DAG: NotFused{{.*}}not in one kernel with node 'attn' (Attention): the target implements it as one kernel
func.func @whole(%q: tensor<1x2x4x64xf32>) -> tensor<1x2x4x64xf32> {
  %0 = nn.add %q, %q : (tensor<1x2x4x64xf32>, tensor<1x2x4x64xf32>) -> tensor<1x2x4x64xf32> loc("node 'double' (Add)")
  %1 = nn.attention %0, %q, %q {scale = 1.0 : f32} : (tensor<1x2x4x64xf32>, tensor<1x2x4x64xf32>, tensor<1x2x4x64xf32>) -> tensor<1x2x4x64xf32> loc("node 'attn' (Attention)")
  %2 = nn.exp %1 : (tensor<1x2x4x64xf32>) -> tensor<1x2x4x64xf32> loc("node 'exp' (Exp)")
  return %2 : tensor<1x2x4x64xf32>
}

// A view is in no kernel: a boundary is between what computes its elements and
// its reader. There is none behind an argument.
// CHECK-DAG: loc("node 'second' (MatMul)"): {{.*}}not in one kernel with node 'first' (MatMul): a view lies between
// CHECK-NOT: not in one kernel with {{.*}}Reshape
func.func @view(%x: tensor<4x8xf32>, %w: tensor<16x4xf32>) -> tensor<2x4xf32> {
  %0 = nn.reshape %x {shape = array<i64: 8, 4>} : (tensor<4x8xf32>) -> tensor<8x4xf32> loc("node 'flat' (Reshape)")
  %1 = nn.matmul %0, %x : (tensor<8x4xf32>, tensor<4x8xf32>) -> tensor<8x8xf32> loc("node 'first' (MatMul)")
  %2 = nn.reshape %1 {shape = array<i64: 4, 16>} : (tensor<8x8xf32>) -> tensor<4x16xf32> loc("node 'view' (Reshape)")
  %3 = nn.slice %2 {starts = array<i64: 0, 0>, sizes = array<i64: 2, 16>, steps = array<i64: 1, 1>} : (tensor<4x16xf32>) -> tensor<2x16xf32> loc("node 'rows' (Slice)")
  %4 = nn.matmul %3, %w : (tensor<2x16xf32>, tensor<16x4xf32>) -> tensor<2x4xf32> loc("node 'second' (MatMul)")
  return %4 : tensor<2x4xf32>
}
