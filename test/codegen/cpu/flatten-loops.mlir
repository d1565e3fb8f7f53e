// RUN: frit-opt --pass-pipeline='builtin.module(func.func(flatten-loops))' %s | FileCheck %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#none = affine_map<(d0, d1) -> ()>
#rows = affine_map<(d0, d1) -> (d0)>

// CHECK: #[[ID:.*]] = affine_map<(d0) -> (d0)>
// CHECK: #[[NONE:.*]] = affine_map<(d0) -> ()>
// CHECK: #[[ONE:.*]] = affine_map<(d0) -> (0, 0)>

// CHECK-LABEL: @merged
// CHECK: %[[X:.*]] = memref.reinterpret_cast %arg0 to offset: [0], sizes: [384], strides: [1] : memref<16x24xf32> to memref<384xf32>
// CHECK: %[[Y:.*]] = memref.reinterpret_cast %arg2
// CHECK: linalg.generic {indexing_maps = [#[[ID]], #[[NONE]], #[[ID]]], iterator_types = ["parallel"]}
// CHECK-SAME: ins(%[[X]], %arg1 : memref<384xf32>, f32) outs(%[[Y]] : memref<384xf32>)
// CHECK-NOT: cpu.merged
func.func @merged(%x: memref<16x24xf32>, %s: f32, %y: memref<16x24xf32>) {
  linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x, %s : memref<16x24xf32>, f32) outs(%y : memref<16x24xf32>) attrs = {cpu.merged} {
  ^bb0(%a: f32, %b: f32, %c: f32):
    %sum = arith.addf %a, %b : f32
    linalg.yield %sum : f32
  }
  return
}

// Operations that were not merged stay as they are.
// CHECK-LABEL: @ordinary
// CHECK-NOT: reinterpret_cast
func.func @ordinary(%x: memref<16x24xf32>, %y: memref<16x24xf32>) {
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<16x24xf32>) outs(%y : memref<16x24xf32>) {
  ^bb0(%a: f32, %c: f32):
    linalg.yield %a : f32
  }
  return
}

// A row's value is read for each element of the row; a view is not contiguous;
// an index is that of the row.
// CHECK-LABEL: @needs_rows
// CHECK-NOT: reinterpret_cast
func.func @needs_rows(%x: memref<16xf32>, %v: memref<16x24xf32, strided<[32, 1]>>, %i: memref<16x24xindex>, %y: memref<16x24xf32>) {
  linalg.generic {indexing_maps = [#rows, #id], iterator_types = ["parallel", "parallel"]}
      ins(%x : memref<16xf32>) outs(%y : memref<16x24xf32>) attrs = {cpu.merged} {
  ^bb0(%a: f32, %c: f32):
    linalg.yield %a : f32
  }
  linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
      ins(%v : memref<16x24xf32, strided<[32, 1]>>) outs(%y : memref<16x24xf32>) attrs = {cpu.merged} {
  ^bb0(%a: f32, %c: f32):
    linalg.yield %a : f32
  }
  linalg.generic {indexing_maps = [#id], iterator_types = ["parallel", "parallel"]}
      outs(%i : memref<16x24xindex>) attrs = {cpu.merged} {
  ^bb0(%c: index):
    %row = linalg.index 0 : index
    linalg.yield %row : index
  }
  return
}

// What reduces everything becomes one loop, whatever the rank of its result.
// CHECK-LABEL: @reduction
// CHECK: %[[X:.*]] = memref.reinterpret_cast %arg0
// CHECK: linalg.generic {indexing_maps = [#[[ID]], #[[ONE]]], iterator_types = ["reduction"]}
// CHECK-SAME: ins(%[[X]] : memref<384xf32>) outs(%arg1 : memref<1x1xf32>)
func.func @reduction(%x: memref<16x24xf32>, %y: memref<1x1xf32>) {
  linalg.generic {indexing_maps = [#id, affine_map<(d0, d1) -> (0, 0)>], iterator_types = ["reduction", "reduction"]}
      ins(%x : memref<16x24xf32>) outs(%y : memref<1x1xf32>) {
  ^bb0(%a: f32, %c: f32):
    %most = arith.maximumf %a, %c : f32
    linalg.yield %most : f32
  }
  return
}

// A reduction of columns is no such.
// CHECK-LABEL: @columns
// CHECK-NOT: reinterpret_cast
func.func @columns(%x: memref<16x24xf32>, %y: memref<24xf32>) {
  linalg.generic {indexing_maps = [#id, affine_map<(d0, d1) -> (d1)>], iterator_types = ["reduction", "parallel"]}
      ins(%x : memref<16x24xf32>) outs(%y : memref<24xf32>) {
  ^bb0(%a: f32, %c: f32):
    %most = arith.maximumf %a, %c : f32
    linalg.yield %most : f32
  }
  return
}
