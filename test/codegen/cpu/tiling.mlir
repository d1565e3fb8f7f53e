// RUN: frit-opt --pass-pipeline='builtin.module(func.func(tile-outer-loops))' %s | FileCheck %s
// RUN: frit-opt --pass-pipeline='builtin.module(func.func(tile-outer-loops,store-results))' %s | FileCheck %s --check-prefix=STORED

// The rows of the last operation become work items, and the maximum of a row is
// computed in its item.

// CHECK-LABEL: func.func @rows(
// CHECK-SAME: %[[BEGIN:[^:]*]]: index, %[[END:[^:]*]]: index)
// CHECK-SAME: cpu.items = 64 : i64
// CHECK: scf.for %{{.*}} = %[[BEGIN]] to %[[END]]
// CHECK: linalg.generic {{.*}}"reduction"
// CHECK: linalg.generic
// CHECK-NOT: linalg.generic
// CHECK: return %{{.*}} : tensor<64x256xf32>

// The result goes to the last argument before the bounds.

// STORED-LABEL: func.func @rows(
// STORED-SAME: %[[OUT:[^:]*]]: memref<64x256xf32>, %{{[^:]*}}: index, %{{[^:]*}}: index)
// STORED: bufferization.materialize_in_destination %{{.*}} in restrict writable %[[OUT]]
// STORED-NEXT: return
// STORED-NEXT: }
func.func @rows(%x: tensor<64x256xf32>, %out: memref<64x256xf32>, %begin: index, %end: index) -> tensor<64x256xf32> {
  %least = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<64xf32>
  %f = linalg.fill ins(%least : f32) outs(%e : tensor<64xf32>) -> tensor<64xf32>
  %m = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>], iterator_types = ["parallel", "reduction"]} ins(%x : tensor<64x256xf32>) outs(%f : tensor<64xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.maximumf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<64xf32>
  %d = tensor.empty() : tensor<64x256xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x, %m : tensor<64x256xf32>, tensor<64xf32>) outs(%d : tensor<64x256xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.subf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<64x256xf32>
  return %y : tensor<64x256xf32>
}

// The loop of a leading 1 is none of them: rows are work items here too.

// CHECK-LABEL: func.func @one(
// CHECK-SAME: %[[BEGIN:[^:]*]]: index, %[[END:[^:]*]]: index)
// CHECK-SAME: cpu.items = 64 : i64
// CHECK-NOT: scf.for
// CHECK: scf.for %{{.*}} = %[[BEGIN]] to %[[END]]
// CHECK-NOT: scf.for
// CHECK: return %{{.*}} : tensor<1x64x256xf32>
func.func @one(%x: tensor<1x64x256xf32>, %out: memref<1x64x256xf32>, %begin: index, %end: index) -> tensor<1x64x256xf32> {
  %e = tensor.empty() : tensor<1x64x256xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(b, i, j) -> (b, i, j)>, affine_map<(b, i, j) -> (b, i, j)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x : tensor<1x64x256xf32>) outs(%e : tensor<1x64x256xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.negf %a : f32
    linalg.yield %0 : f32
  } -> tensor<1x64x256xf32>
  return %y : tensor<1x64x256xf32>
}

// The loops over a window go outside of the one along channels, which are last
// in the result and in what the body extracts.

// CHECK-LABEL: func.func @window(
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "reduction", "reduction", "parallel"]
// CHECK: linalg.index 4
// CHECK: return
func.func @window(%x: tensor<12x12x64xf32>, %window: tensor<5x5xf32>, %out: memref<8x8x64xf32>, %begin: index, %end: index) -> tensor<8x8x64xf32> {
  %least = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<8x8x64xf32>
  %f = linalg.fill ins(%least : f32) outs(%e : tensor<8x8x64xf32>) -> tensor<8x8x64xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(p, q, c, r, s) -> (r, s)>, affine_map<(p, q, c, r, s) -> (p, q, c)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%window : tensor<5x5xf32>) outs(%f : tensor<8x8x64xf32>) {
  ^bb0(%w: f32, %b: f32):
    %p = linalg.index 0 : index
    %q = linalg.index 1 : index
    %c = linalg.index 2 : index
    %r = linalg.index 3 : index
    %s = linalg.index 4 : index
    %row = arith.addi %p, %r : index
    %col = arith.addi %q, %s : index
    %a = tensor.extract %x[%row, %col, %c] : tensor<12x12x64xf32>
    %0 = arith.maximumf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<8x8x64xf32>
  return %y : tensor<8x8x64xf32>
}

// With channels first, the body extracts elements that are apart.

// CHECK-LABEL: func.func @planes(
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]
// CHECK: return
func.func @planes(%x: tensor<64x12x12xf32>, %window: tensor<5x5xf32>, %out: memref<64x8x8xf32>, %begin: index, %end: index) -> tensor<64x8x8xf32> {
  %least = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<64x8x8xf32>
  %f = linalg.fill ins(%least : f32) outs(%e : tensor<64x8x8xf32>) -> tensor<64x8x8xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(c, p, q, r, s) -> (r, s)>, affine_map<(c, p, q, r, s) -> (c, p, q)>], iterator_types = ["parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%window : tensor<5x5xf32>) outs(%f : tensor<64x8x8xf32>) {
  ^bb0(%w: f32, %b: f32):
    %c = linalg.index 0 : index
    %p = linalg.index 1 : index
    %q = linalg.index 2 : index
    %r = linalg.index 3 : index
    %s = linalg.index 4 : index
    %row = arith.addi %p, %r : index
    %col = arith.addi %q, %s : index
    %a = tensor.extract %x[%c, %row, %col] : tensor<64x12x12xf32>
    %0 = arith.maximumf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<64x8x8xf32>
  return %y : tensor<64x8x8xf32>
}

// A reduction that does not vary along a loop would be repeated in each of its
// iterations: columns' maxima are computed in tiles of whole columns.

// CHECK-LABEL: func.func @columns(
// CHECK-SAME: cpu.items = 8 : i64
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK: linalg.generic {{.*}}"reduction"
// CHECK-NOT: scf.for
// CHECK: return
func.func @columns(%x: tensor<8x64x256xf32>, %out: memref<8x64x256xf32>, %begin: index, %end: index) -> tensor<8x64x256xf32> {
  %least = arith.constant 0xFF800000 : f32
  %e = tensor.empty() : tensor<8x256xf32>
  %f = linalg.fill ins(%least : f32) outs(%e : tensor<8x256xf32>) -> tensor<8x256xf32>
  %m = linalg.generic {indexing_maps = [affine_map<(b, j, i) -> (b, i, j)>, affine_map<(b, j, i) -> (b, j)>], iterator_types = ["parallel", "parallel", "reduction"]} ins(%x : tensor<8x64x256xf32>) outs(%f : tensor<8x256xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.maximumf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<8x256xf32>
  %d = tensor.empty() : tensor<8x64x256xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(b, i, j) -> (b, i, j)>, affine_map<(b, i, j) -> (b, j)>, affine_map<(b, i, j) -> (b, i, j)>], iterator_types = ["parallel", "parallel", "parallel"]} ins(%x, %m : tensor<8x64x256xf32>, tensor<8x256xf32>) outs(%d : tensor<8x64x256xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.subf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<8x64x256xf32>
  return %y : tensor<8x64x256xf32>
}

// A short one stays before the tiles of all loops.

// CHECK-LABEL: func.func @short(
// CHECK-SAME: cpu.items = 64 : i64
// CHECK: linalg.generic {{.*}}"reduction"
// CHECK: scf.for
// CHECK-NOT: "reduction"
// CHECK: return
func.func @short(%x: tensor<64x256xf32>, %w: tensor<4x256xf32>, %out: memref<64x256xf32>, %begin: index, %end: index) -> tensor<64x256xf32> {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<256xf32>
  %f = linalg.fill ins(%zero : f32) outs(%e : tensor<256xf32>) -> tensor<256xf32>
  %m = linalg.generic {indexing_maps = [affine_map<(j, i) -> (i, j)>, affine_map<(j, i) -> (j)>], iterator_types = ["parallel", "reduction"]} ins(%w : tensor<4x256xf32>) outs(%f : tensor<256xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.addf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<256xf32>
  %d = tensor.empty() : tensor<64x256xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%x, %m : tensor<64x256xf32>, tensor<256xf32>) outs(%d : tensor<64x256xf32>) {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %0 = arith.subf %a, %b : f32
    linalg.yield %0 : f32
  } -> tensor<64x256xf32>
  return %y : tensor<64x256xf32>
}

// What cannot be tiled, here for a reshape, would be repeated for every range of
// items: there is one.

// CHECK-LABEL: func.func @reshaped(
// CHECK-SAME: cpu.items = 1 : i64
func.func @reshaped(%x: tensor<16384xf32>, %out: memref<64x256xf32>, %begin: index, %end: index) -> tensor<64x256xf32> {
  %e = tensor.empty() : tensor<16384xf32>
  %flat = linalg.generic {indexing_maps = [affine_map<(i) -> (i)>, affine_map<(i) -> (i)>], iterator_types = ["parallel"]} ins(%x : tensor<16384xf32>) outs(%e : tensor<16384xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = math.exp %a : f32
    linalg.yield %0 : f32
  } -> tensor<16384xf32>
  %rows = tensor.expand_shape %flat [[0, 1]] output_shape [64, 256] : tensor<16384xf32> into tensor<64x256xf32>
  %d = tensor.empty() : tensor<64x256xf32>
  %y = linalg.generic {indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i, j)>], iterator_types = ["parallel", "parallel"]} ins(%rows : tensor<64x256xf32>) outs(%d : tensor<64x256xf32>) {
  ^bb0(%a: f32, %b: f32):
    %0 = arith.negf %a : f32
    linalg.yield %0 : f32
  } -> tensor<64x256xf32>
  return %y : tensor<64x256xf32>
}
