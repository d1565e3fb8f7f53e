// RUN: frit-opt --pass-pipeline='builtin.module(func.func(place-allocations))' %s | FileCheck %s

// The temporaries are the first operators of their function. Small ones go to
// the stack, up to 64 KiB; the others are arguments.

// CHECK-LABEL: func.func @first(
// CHECK-SAME: %[[X:.*]]: memref<4xf32>, %[[BIG:.*]]: memref<100000xf32>)
// CHECK-SAME: cpu.workspace_bytes = 400128 : i64
// CHECK-SAME: cpu.workspace_offsets = array<i64: 0>
// CHECK-DAG: %[[A:.*]] = memref.alloca() : memref<4xf32>
// CHECK-DAG: %[[B:.*]] = memref.alloca() : memref<8xf32>
// CHECK-DAG: %[[C:.*]] = memref.alloca() : memref<16xf32>
// CHECK: memref.copy %[[X]], %[[A]]
// CHECK: call @use(%[[A]], %[[B]], %[[C]], %[[BIG]])
func.func @first(%x: memref<4xf32>) {
  %a = memref.alloc() : memref<4xf32>
  %b = memref.alloc() : memref<8xf32>
  %big = memref.alloc() : memref<100000xf32>
  %c = memref.alloc() : memref<16xf32>
  memref.copy %x, %a : memref<4xf32> to memref<4xf32>
  func.call @use(%a, %b, %c, %big) : (memref<4xf32>, memref<8xf32>, memref<16xf32>, memref<100000xf32>) -> ()
  return
}

func.func private @use(memref<4xf32>, memref<8xf32>, memref<16xf32>, memref<100000xf32>)
