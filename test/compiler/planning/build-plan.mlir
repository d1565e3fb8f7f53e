// RUN: frit-opt %s -split-input-file --build-plan | FileCheck %s

// Two fusions with the same text share a kernel. The returned one writes the
// output directly; the reshape between them is a view.

// CHECK: plan.function "main" inputs ["x"] outputs ["y"]
// CHECK: plan.target "sm_90a"
// CHECK: plan.kernel @relu_0
// CHECK-NOT: plan.kernel @relu_1
// CHECK: plan.command_list @main
// CHECK: %[[x:.*]] = plan.buffer input[0] : memref<8xf32>
// CHECK: %[[y:.*]] = plan.buffer output[0] : memref<8xf32>
// CHECK: %[[t:.*]] = plan.buffer arena : memref<8xf32>
// CHECK: plan.launch @relu_0(%[[x]]) -> (%[[t]])
// CHECK: %[[v:.*]] = plan.view %[[t]] : memref<8xf32> to memref<2x4xf32>
// CHECK: plan.view %[[v]] : memref<2x4xf32> to memref<8xf32>
// CHECK: plan.launch @relu_0(%{{.*}}) -> (%[[y]])
func.func @main(%x: tensor<8xf32> {nn.name = "x"})
    -> (tensor<8xf32> {nn.name = "y"}) {
  %0 = nn.fusion(%x) schedule(#cuda.map<threads = 64>) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %r = nn.relu %a : (tensor<8xf32>) -> tensor<8xf32>
    nn.yield %r : tensor<8xf32>
  }
  %1 = nn.reshape %0 {shape = array<i64: 2, 4>} : (tensor<8xf32>) -> tensor<2x4xf32>
  %2 = nn.reshape %1 {shape = array<i64: 8>} : (tensor<2x4xf32>) -> tensor<8xf32>
  %3 = nn.fusion(%2) schedule(#cuda.map<threads = 64>) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %r = nn.relu %a : (tensor<8xf32>) -> tensor<8xf32>
    nn.yield %r : tensor<8xf32>
  }
  return %3 : tensor<8xf32>
}

// -----

// Rows of a buffer are a view with an offset.

// CHECK: plan.command_list @main
// CHECK: %[[x:.*]] = plan.buffer input[0] : memref<4x8xf32>
// CHECK: %[[v:.*]] = plan.view %[[x]] at 64 : memref<4x8xf32> to memref<1x8xf32>
// CHECK: plan.launch @relu_0(%[[v]])
func.func @main(%x: tensor<4x8xf32> {nn.name = "x"})
    -> (tensor<1x8xf32> {nn.name = "y"}) {
  %0 = nn.slice %x {starts = array<i64: 2, 0>, sizes = array<i64: 1, 8>, steps = array<i64: 1, 1>} : (tensor<4x8xf32>) -> tensor<1x8xf32>
  %1 = nn.fusion(%0) schedule(#cuda.map<threads = 64>) : (tensor<1x8xf32>) -> tensor<1x8xf32> {
  ^bb0(%a: tensor<1x8xf32>):
    %r = nn.relu %a : (tensor<1x8xf32>) -> tensor<1x8xf32>
    nn.yield %r : tensor<1x8xf32>
  }
  return %1 : tensor<1x8xf32>
}

// -----

// A library product has a fallback kernel with the library's arguments,
// whatever the order of the fusion's inputs, a workspace, and the tuned
// algorithm.

// CHECK: plan.constant @w
// CHECK: plan.kernel @matmul_add_0 attributes {flops = 128 : i64}
// CHECK: nn.fusion(%[[a:.*]], %[[b:.*]], %[[bias:.*]]) schedule
// CHECK: plan.gemm fallback @matmul_add_0(%[[x:.*]], %[[w:.*]], %[[c:.*]]) -> (%{{.*}}) workspace(%{{.*}} : memref<33554432xi8>)
// CHECK-SAME: algorithm = 77 : i64
// CHECK-SAME: batch = 1
// CHECK-SAME: bias
// CHECK-SAME: k = 4
// CHECK-SAME: : memref<2x4xf32>, memref<4x8xf32>, memref<8xf32> -> memref<2x8xf32>
func.func @main(%x: tensor<2x4xf32>, %bias: tensor<8xf32>) -> tensor<2x8xf32> {
  %w = nn.constant "w" dense<1.0> : tensor<4x8xf32>
  %0 = nn.fusion(%bias, %w, %x) schedule(#cuda.cublas_gemm<algorithm = 77, fallback = #cuda.gemm<tile_m = 64, tile_n = 64>>) : (tensor<8xf32>, tensor<4x8xf32>, tensor<2x4xf32>) -> tensor<2x8xf32> {
  ^bb0(%c: tensor<8xf32>, %b: tensor<4x8xf32>, %a: tensor<2x4xf32>):
    %m = nn.matmul %a, %b : (tensor<2x4xf32>, tensor<4x8xf32>) -> tensor<2x8xf32>
    %r = nn.add %m, %c : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
    nn.yield %r : tensor<2x8xf32>
  }
  return %0 : tensor<2x8xf32>
}

// -----

// Library attention has the kernel's arguments: data movement of Q, K, V and
// the result becomes strides.

// CHECK: plan.kernel @slice_transpose_attention_0
// CHECK: plan.attention fallback @slice_transpose_attention_0(%[[qkv:.*]]) -> (%{{.*}}) workspace(%{{.*}} : memref<33554432xi8>)
// CHECK-SAME: algorithm = 307 : i64
// CHECK-SAME: batch = 2
// CHECK-SAME: causal
// CHECK-SAME: groups = 4
// CHECK-SAME: heads = 4
// CHECK-SAME: k = #plan.operand<argument = 0, offset = 32, strides = [480, 8, 96, 1]>
// CHECK-SAME: keys = 5
// CHECK-SAME: q = #plan.operand<argument = 0, strides = [480, 8, 96, 1]>
// CHECK-SAME: queries = 5
// CHECK-SAME: scale = 2.500000e-01 : f32
// CHECK-SAME: size = 8
// CHECK-SAME: v = #plan.operand<argument = 0, offset = 64, strides = [480, 8, 96, 1]>
// CHECK-SAME: value_size = 8
// CHECK-SAME: y = #plan.operand<argument = 1, strides = [160, 8, 32, 1]>
func.func @main(%qkv: tensor<2x5x96xf16>) -> tensor<2x5x32xf16> {
  %0 = nn.fusion(%qkv) schedule(#cuda.cudnn_attention<algorithm = 307, fallback = #cuda.attention<tile_m = 32, tile_n = 32, rows_per_warp = 16>>) : (tensor<2x5x96xf16>) -> tensor<2x5x32xf16> {
  ^bb0(%a: tensor<2x5x96xf16>):
    %qs = nn.slice %a {starts = array<i64: 0, 0, 0>, sizes = array<i64: 2, 5, 32>, steps = array<i64: 1, 1, 1>} : (tensor<2x5x96xf16>) -> tensor<2x5x32xf16>
    %qr = nn.reshape %qs {shape = array<i64: 2, 5, 4, 8>} : (tensor<2x5x32xf16>) -> tensor<2x5x4x8xf16>
    %q = nn.transpose %qr {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x5x4x8xf16>) -> tensor<2x4x5x8xf16>
    %ks = nn.slice %a {starts = array<i64: 0, 0, 32>, sizes = array<i64: 2, 5, 32>, steps = array<i64: 1, 1, 1>} : (tensor<2x5x96xf16>) -> tensor<2x5x32xf16>
    %kr = nn.reshape %ks {shape = array<i64: 2, 5, 4, 8>} : (tensor<2x5x32xf16>) -> tensor<2x5x4x8xf16>
    %k = nn.transpose %kr {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x5x4x8xf16>) -> tensor<2x4x5x8xf16>
    %vs = nn.slice %a {starts = array<i64: 0, 0, 64>, sizes = array<i64: 2, 5, 32>, steps = array<i64: 1, 1, 1>} : (tensor<2x5x96xf16>) -> tensor<2x5x32xf16>
    %vr = nn.reshape %vs {shape = array<i64: 2, 5, 4, 8>} : (tensor<2x5x32xf16>) -> tensor<2x5x4x8xf16>
    %v = nn.transpose %vr {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x5x4x8xf16>) -> tensor<2x4x5x8xf16>
    %y = nn.attention %q, %k, %v {scale = 0.25 : f32, causal} : (tensor<2x4x5x8xf16>, tensor<2x4x5x8xf16>, tensor<2x4x5x8xf16>) -> tensor<2x4x5x8xf16>
    %t = nn.transpose %y {perm = array<i64: 0, 2, 1, 3>} : (tensor<2x4x5x8xf16>) -> tensor<2x5x4x8xf16>
    %r = nn.reshape %t {shape = array<i64: 2, 5, 32>} : (tensor<2x5x4x8xf16>) -> tensor<2x5x32xf16>
    nn.yield %r : tensor<2x5x32xf16>
  }
  return %0 : tensor<2x5x32xf16>
}

// -----

// Prepared values are placed one after the other; an input that is returned is
// copied.

// CHECK: plan.target
// CHECK-SAME: prepared_bytes = 512
// CHECK: plan.command_list @prepare
// CHECK: plan.buffer prepared at 0 : memref<4xf32>
// CHECK: plan.buffer prepared at 256 : memref<4xf32>
// CHECK: plan.command_list @main
// CHECK: %[[x:.*]] = plan.buffer input[0]
// CHECK: plan.buffer prepared at 256 : memref<4xf32>
// CHECK: %[[y:.*]] = plan.buffer output[0]
// CHECK: plan.copy %[[x]] to %[[y]]
func.func @prepare() -> (tensor<4xf32>, tensor<4xf32>) {
  %w = nn.constant "w" dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %0 = nn.fusion(%w) schedule(#cuda.map<threads = 64>) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %r = nn.exp %a : (tensor<4xf32>) -> tensor<4xf32>
    nn.yield %r : tensor<4xf32>
  }
  %1 = nn.fusion(%w) schedule(#cuda.map<threads = 64>) : (tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>):
    %r = nn.log %a : (tensor<4xf32>) -> tensor<4xf32>
    nn.yield %r : tensor<4xf32>
  }
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}
func.func @main(%x: tensor<4xf32>, %p: tensor<4xf32> {nn.prepared = 1 : i64})
    -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = nn.fusion(%x, %p) schedule(#cuda.map<threads = 64>) : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32> {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
    %r = nn.add %a, %b : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    nn.yield %r : tensor<4xf32>
  }
  return %x, %0 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Two rows of the table are read, and a quarter of the other input.

// CHECK: plan.kernel @gather_slice_add_0 attributes {skipped = 176 : i64}
func.func @main(%ids: tensor<2xi64>, %x: tensor<4x4xf32>) -> tensor<2x4xf32> {
  %w = nn.constant "w" dense<1.0> : tensor<10x4xf32>
  %0 = nn.fusion(%w, %ids, %x) schedule(#cuda.map<threads = 64>) : (tensor<10x4xf32>, tensor<2xi64>, tensor<4x4xf32>) -> tensor<2x4xf32> {
  ^bb0(%t: tensor<10x4xf32>, %i: tensor<2xi64>, %a: tensor<4x4xf32>):
    %g = nn.gather %t, %i : (tensor<10x4xf32>, tensor<2xi64>) -> tensor<2x4xf32>
    %s = nn.slice %a {starts = array<i64: 0, 0>, sizes = array<i64: 1, 4>, steps = array<i64: 1, 1>} : (tensor<4x4xf32>) -> tensor<1x4xf32>
    %r = nn.add %g, %s : (tensor<2x4xf32>, tensor<1x4xf32>) -> tensor<2x4xf32>
    nn.yield %r : tensor<2x4xf32>
  }
  return %0 : tensor<2x4xf32>
}

// -----

// Every other pixel of the input is read, a quarter of it.

// CHECK: plan.kernel @conv_0 attributes {flops = 64 : i64, skipped = 96 : i64}
func.func @main(%x: tensor<1x4x4x2xf32>, %w: tensor<4x1x1x2xf32>) -> tensor<1x2x2x4xf32> {
  %0 = nn.fusion(%x, %w) schedule(#cuda.conv<tile_m = 64, tile_n = 64>) : (tensor<1x4x4x2xf32>, tensor<4x1x1x2xf32>) -> tensor<1x2x2x4xf32> {
  ^bb0(%a: tensor<1x4x4x2xf32>, %f: tensor<4x1x1x2xf32>):
    %c = nn.conv %a, %f {strides = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, dilations = array<i64: 1, 1>, channels_last} : (tensor<1x4x4x2xf32>, tensor<4x1x1x2xf32>) -> tensor<1x2x2x4xf32>
    nn.yield %c : tensor<1x2x2x4xf32>
  }
  return %0 : tensor<1x2x2x4xf32>
}

// -----

// A mean over ranks begins where its operand is ready, on the buffer itself,
// and is awaited where the result is read. An operand with other readers is
// copied first.

// CHECK: command_list @main
// CHECK: %[[Y:.*]] = plan.buffer output[0] : memref<2xf32>
// CHECK: plan.launch @{{.*}} -> (%[[A:.*]]) : memref<2xf32> -> memref<2xf32>
// CHECK: plan.launch @{{.*}}(%[[A]]) -> (%[[B:.*]]) :
// CHECK: plan.collective mean %[[B]] : memref<2xf32>
// CHECK: plan.copy %[[A]] to %[[COPY:.*]] :
// CHECK: plan.collective mean %[[COPY]] : memref<2xf32>
// CHECK: plan.await %[[B]], %[[COPY]] : memref<2xf32>, memref<2xf32>
// CHECK: plan.launch @{{.*}}(%[[COPY]], %[[B]]) -> (%[[Y]])
func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
  %a = nn.fusion(%x) schedule(#cuda.map<vector = 1, threads = 64>) : (tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%i: tensor<2xf32>):
    %r = nn.relu %i : (tensor<2xf32>) -> tensor<2xf32>
    nn.yield %r : tensor<2xf32>
  }
  %b = nn.fusion(%a) schedule(#cuda.map<vector = 1, threads = 64>) : (tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%i: tensor<2xf32>):
    %r = nn.relu %i : (tensor<2xf32>) -> tensor<2xf32>
    nn.yield %r : tensor<2xf32>
  }
  %c = nn.all_reduce %a : (tensor<2xf32>) -> tensor<2xf32>
  %d = nn.all_reduce %b : (tensor<2xf32>) -> tensor<2xf32>
  %y = nn.fusion(%c, %d) schedule(#cuda.map<vector = 1, threads = 64>) : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32> {
  ^bb0(%i: tensor<2xf32>, %j: tensor<2xf32>):
    %r = nn.add %i, %j : (tensor<2xf32>, tensor<2xf32>) -> tensor<2xf32>
    nn.yield %r : tensor<2xf32>
  }
  return %y : tensor<2xf32>
}

// -----

// Kernels that compute parts of what is reduced, here a cast, come when the last
// part is ready, however late the function has them.

// CHECK: plan.command_list @main
// CHECK: %[[BUCKET:.*]] = plan.buffer arena : memref<8xf32>
// CHECK: plan.launch @relu_0
// CHECK: plan.launch @neg_1
// CHECK: plan.launch @copy_2
// CHECK: plan.collective mean %[[BUCKET]] : memref<8xf32>
// CHECK: plan.launch @exp_3
// CHECK: plan.await %[[BUCKET]]
func.func @main(%x: tensor<4xbf16>) -> (tensor<8xf32>, tensor<4xbf16>) {
  %a = nn.fusion(%x) schedule(#cuda.map<threads = 64>) : (tensor<4xbf16>) -> tensor<4xbf16> {
  ^bb0(%i: tensor<4xbf16>):
    %r = nn.relu %i : (tensor<4xbf16>) -> tensor<4xbf16>
    nn.yield %r : tensor<4xbf16>
  }
  %b = nn.fusion(%a) schedule(#cuda.map<threads = 64>) : (tensor<4xbf16>) -> tensor<4xf32> {
  ^bb0(%i: tensor<4xbf16>):
    %n = nn.neg %i : (tensor<4xbf16>) -> tensor<4xbf16>
    %r = nn.cast %n {to = f32} : (tensor<4xbf16>) -> tensor<4xf32>
    nn.yield %r : tensor<4xf32>
  }
  %c = nn.fusion(%a) schedule(#cuda.map<threads = 64>) : (tensor<4xbf16>) -> tensor<4xbf16> {
  ^bb0(%i: tensor<4xbf16>):
    %r = nn.exp %i : (tensor<4xbf16>) -> tensor<4xbf16>
    nn.yield %r : tensor<4xbf16>
  }
  %flat = nn.reshape %a {shape = array<i64: 2, 2>} : (tensor<4xbf16>) -> tensor<2x2xbf16>
  %d = nn.fusion(%flat) schedule(#cuda.map<threads = 64>) : (tensor<2x2xbf16>) -> tensor<2x2xf32> {
  ^bb0(%i: tensor<2x2xbf16>):
    %r = nn.cast %i {to = f32} : (tensor<2x2xbf16>) -> tensor<2x2xf32>
    nn.yield %r : tensor<2x2xf32>
  }
  %pack = nn.pack %b, %d {offsets = array<i64: 0, 4>, size = 8 : i64} : (tensor<4xf32>, tensor<2x2xf32>) -> tensor<8xf32>
  %mean = nn.all_reduce %pack : (tensor<8xf32>) -> tensor<8xf32>
  %y = nn.fusion(%mean) schedule(#cuda.map<threads = 64>) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%i: tensor<8xf32>):
    %r = nn.relu %i : (tensor<8xf32>) -> tensor<8xf32>
    nn.yield %r : tensor<8xf32>
  }
  return %y, %c : tensor<8xf32>, tensor<4xbf16>
}

// -----

// So do short products; one that takes longer than the exchange of its result
// stays, and earlier exchanges overlap with it.

// CHECK: plan.kernel @matmul_1 attributes {flops = 2048 : i64
// CHECK: plan.kernel @matmul_3 attributes {flops = 1048576 : i64
// CHECK: plan.command_list @main
// CHECK: plan.launch @matmul_1
// CHECK: plan.collective
// CHECK: plan.launch @exp_2
// CHECK: plan.launch @matmul_3
// CHECK: plan.collective
func.func @main(%x: tensor<8x8192xf32>, %y: tensor<8192x8xf32>, %z: tensor<8x16xf32>, %w: tensor<16x8xf32>) -> (tensor<8x16xf32>, tensor<8x8xf32>, tensor<8x8xf32>) {
  %s = nn.fusion(%z) schedule(#cuda.map<threads = 64>) : (tensor<8x16xf32>) -> tensor<8x16xf32> {
  ^bb0(%i: tensor<8x16xf32>):
    %r = nn.relu %i : (tensor<8x16xf32>) -> tensor<8x16xf32>
    nn.yield %r : tensor<8x16xf32>
  }
  %0 = nn.fusion(%z) schedule(#cuda.map<threads = 64>) : (tensor<8x16xf32>) -> tensor<8x16xf32> {
  ^bb0(%i: tensor<8x16xf32>):
    %r = nn.exp %i : (tensor<8x16xf32>) -> tensor<8x16xf32>
    nn.yield %r : tensor<8x16xf32>
  }
  %long = nn.fusion(%x, %y) schedule(#cuda.gemm<tile_m = 64, tile_n = 64>) : (tensor<8x8192xf32>, tensor<8192x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%i: tensor<8x8192xf32>, %j: tensor<8192x8xf32>):
    %r = nn.matmul %i, %j : (tensor<8x8192xf32>, tensor<8192x8xf32>) -> tensor<8x8xf32>
    nn.yield %r : tensor<8x8xf32>
  }
  %short = nn.fusion(%s, %w) schedule(#cuda.gemm<tile_m = 64, tile_n = 64>) : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%i: tensor<8x16xf32>, %j: tensor<16x8xf32>):
    %r = nn.matmul %i, %j : (tensor<8x16xf32>, tensor<16x8xf32>) -> tensor<8x8xf32>
    nn.yield %r : tensor<8x8xf32>
  }
  %a = nn.all_reduce %long : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %b = nn.all_reduce %short : (tensor<8x8xf32>) -> tensor<8x8xf32>
  return %0, %a, %b : tensor<8x16xf32>, tensor<8x8xf32>, tensor<8x8xf32>
}

// -----

// A pack's parts are written where they belong, and zeros to its gaps before the
// first part. The second part, an input, is copied.

// CHECK: plan.command_list @main
// CHECK: %[[P:.*]] = plan.buffer arena : memref<16xf32>
// CHECK: plan.copy %{{.*}} to %[[GAP:.*]] : memref<2xf32>
// CHECK: plan.copy %{{.*}} to %[[END:.*]] : memref<3xf32>
// CHECK: plan.launch @relu_0(%{{.*}}) -> (%[[A:.*]]) : memref<6xf32>
// CHECK-NOT: memref<2xf32>
// CHECK: plan.copy %{{.*}} to %{{.*}} : memref<5xf32>
// CHECK: plan.launch @neg_1(%[[P]])
func.func @main(%x: tensor<6xf32>, %y: tensor<5xf32>) -> tensor<16xf32> {
  %0 = nn.fusion(%x) schedule(#cuda.map<threads = 64>) : (tensor<6xf32>) -> tensor<6xf32> {
  ^bb0(%a: tensor<6xf32>):
    %r = nn.relu %a : (tensor<6xf32>) -> tensor<6xf32>
    nn.yield %r : tensor<6xf32>
  }
  %1 = nn.pack %0, %y {offsets = array<i64: 0, 8>, size = 16 : i64} : (tensor<6xf32>, tensor<5xf32>) -> tensor<16xf32>
  %2 = nn.fusion(%1) schedule(#cuda.map<threads = 64>) : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%a: tensor<16xf32>):
    %r = nn.neg %a : (tensor<16xf32>) -> tensor<16xf32>
    nn.yield %r : tensor<16xf32>
  }
  return %2 : tensor<16xf32>
}
