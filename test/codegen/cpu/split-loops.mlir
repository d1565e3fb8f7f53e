// RUN: frit-opt --pass-pipeline='builtin.module(func.func(split-loops,canonicalize))' %s | FileCheck %s

// A concatenation of 16 and 32 columns becomes two copies. Clamped indices,
// which are never outside then, become plain ones.

// CHECK-LABEL: func.func @concat(
// CHECK-DAG: %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-DAG: %[[FIRST:.*]] = arith.constant 16 : index
// CHECK-DAG: %[[ALL:.*]] = arith.constant 48 : index
// CHECK: scf.for %[[I:.*]] = %[[ZERO]] to %[[FIRST]]
// CHECK-NEXT: %[[A:.*]] = memref.load %arg0[%[[I]]]
// CHECK-NEXT: memref.store %[[A]], %arg2[%[[I]]]
// CHECK-NEXT: }
// CHECK: scf.for %[[J:.*]] = %[[FIRST]] to %[[ALL]]
// CHECK-NEXT: %[[AT:.*]] = arith.addi %[[J]],
// CHECK-NEXT: %[[B:.*]] = memref.load %arg1[%[[AT]]]
// CHECK-NEXT: memref.store %[[B]], %arg2[%[[J]]]
// CHECK-NEXT: }
// CHECK-NOT: scf.for
func.func @concat(%a: memref<16xf32>, %b: memref<32xf32>, %y: memref<48xf32>) {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %lastA = arith.constant 15 : index
  %first = arith.constant 16 : index
  %back = arith.constant -16 : index
  %lastB = arith.constant 31 : index
  %all = arith.constant 48 : index
  scf.for %i = %zero to %all step %one {
    %0 = arith.minsi %i, %lastA : index
    %1 = memref.load %a[%0] : memref<16xf32>
    %2 = arith.addi %i, %back : index
    %3 = arith.maxsi %2, %zero : index
    %4 = arith.minsi %3, %lastB : index
    %5 = memref.load %b[%4] : memref<32xf32>
    %6 = arith.cmpi slt, %i, %first : index
    %7 = arith.select %6, %1, %5 : f32
    memref.store %7, %y[%i] : memref<48xf32>
  }
  return
}

// Loops with results and loops that select by something else stay.

// CHECK-LABEL: func.func @stays(
// CHECK: scf.for
// CHECK: arith.select
// CHECK: scf.for
// CHECK: arith.select
// CHECK-NOT: scf.for
func.func @stays(%a: memref<48xf32>, %n: index) -> f32 {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %half = arith.constant 24 : index
  %all = arith.constant 48 : index
  %none = arith.constant 0.0 : f32
  %sum = scf.for %i = %zero to %all step %one iter_args(%s = %none) -> f32 {
    %0 = memref.load %a[%i] : memref<48xf32>
    %1 = arith.cmpi slt, %i, %half : index
    %2 = arith.select %1, %0, %none : f32
    %3 = arith.addf %s, %2 : f32
    scf.yield %3 : f32
  }
  scf.for %i = %zero to %all step %one {
    %0 = memref.load %a[%i] : memref<48xf32>
    %1 = arith.cmpi slt, %i, %n : index
    %2 = arith.select %1, %0, %none : f32
    memref.store %2, %a[%i] : memref<48xf32>
  }
  return %sum : f32
}
