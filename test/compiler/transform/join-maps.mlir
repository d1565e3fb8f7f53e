// RUN: frit-opt %s --join-maps | FileCheck %s

// Fusions that do not depend on each other become one, at the place of the
// last; what depends on the first follows it.
// CHECK-LABEL: func.func @independent
// CHECK-NEXT:    %[[TWO:.*]]:2 = nn.fusion(%arg0, %arg1, %arg2)
// CHECK-NEXT:    ^bb0(%[[X:.*]]: tensor<4x8xf32>, %[[C:.*]]: tensor<8xf32>, %[[Y:.*]]: tensor<2x8xf32>):
// CHECK-NEXT:      %[[A:.*]] = nn.mul %[[X]], %[[C]]
// CHECK-NEXT:      %[[B:.*]] = nn.mul %[[Y]], %[[C]]
// CHECK-NEXT:      nn.yield %[[A]], %[[B]]
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[V:.*]] = nn.reshape %[[TWO]]#0
// CHECK-NEXT:    return %[[V]], %[[TWO]]#1
func.func @independent(%x: tensor<4x8xf32>, %c: tensor<8xf32>, %y: tensor<2x8xf32>) -> (tensor<32xf32>, tensor<2x8xf32>) {
  %0 = nn.fusion(%x, %c) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>, %b: tensor<8xf32>):
    %3 = nn.mul %a, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
    nn.yield %3 : tensor<4x8xf32>
  }
  %1 = nn.reshape %0 {shape = array<i64: 32>} : (tensor<4x8xf32>) -> tensor<32xf32>
  %2 = nn.fusion(%y, %c) : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32> {
  ^bb0(%a: tensor<2x8xf32>, %b: tensor<8xf32>):
    %3 = nn.mul %a, %b : (tensor<2x8xf32>, tensor<8xf32>) -> tensor<2x8xf32>
    nn.yield %3 : tensor<2x8xf32>
  }
  return %1, %2 : tensor<32xf32>, tensor<2x8xf32>
}

// The rows of two updates go into states of other sizes.
// CHECK-LABEL: func.func @updates
// CHECK:         nn.fusion(%arg0, %arg2, %arg3, %arg1)
// CHECK:           nn.update
// CHECK:           nn.update
// CHECK-NOT:     nn.fusion
func.func @updates(%k: tensor<64x8xf32>, %v: tensor<32x8xf32>, %row: tensor<1x8xf32>, %at: tensor<i32>) -> (tensor<64x8xf32>, tensor<32x8xf32>) {
  %0 = nn.fusion(%k, %row, %at) : (tensor<64x8xf32>, tensor<1x8xf32>, tensor<i32>) -> tensor<64x8xf32> {
  ^bb0(%a: tensor<64x8xf32>, %b: tensor<1x8xf32>, %c: tensor<i32>):
    %2 = nn.update %a, %b, %c {axis = 0 : i64} : (tensor<64x8xf32>, tensor<1x8xf32>, tensor<i32>) -> tensor<64x8xf32>
    nn.yield %2 : tensor<64x8xf32>
  }
  %1 = nn.fusion(%v, %row, %at) : (tensor<32x8xf32>, tensor<1x8xf32>, tensor<i32>) -> tensor<32x8xf32> {
  ^bb0(%a: tensor<32x8xf32>, %b: tensor<1x8xf32>, %c: tensor<i32>):
    %2 = nn.update %a, %b, %c {axis = 0 : i64} : (tensor<32x8xf32>, tensor<1x8xf32>, tensor<i32>) -> tensor<32x8xf32>
    nn.yield %2 : tensor<32x8xf32>
  }
  return %0, %1 : tensor<64x8xf32>, tensor<32x8xf32>
}

// What reads the rows that an update replaces stays before it.
// CHECK-LABEL: func.func @replaced
// CHECK-COUNT-2: = nn.fusion
func.func @replaced(%k: tensor<64x8xf32>, %row: tensor<1x8xf32>, %at: tensor<i32>) -> (tensor<1x8xf32>, tensor<64x8xf32>) {
  %0 = nn.fusion(%k) : (tensor<64x8xf32>) -> tensor<1x8xf32> {
  ^bb0(%a: tensor<64x8xf32>):
    %2 = nn.slice %a {sizes = array<i64: 1, 8>, starts = array<i64: 3, 0>, steps = array<i64: 1, 1>} : (tensor<64x8xf32>) -> tensor<1x8xf32>
    nn.yield %2 : tensor<1x8xf32>
  }
  %1 = nn.fusion(%k, %row, %at) : (tensor<64x8xf32>, tensor<1x8xf32>, tensor<i32>) -> tensor<64x8xf32> {
  ^bb0(%a: tensor<64x8xf32>, %b: tensor<1x8xf32>, %c: tensor<i32>):
    %2 = nn.update %a, %b, %c {axis = 0 : i64} : (tensor<64x8xf32>, tensor<1x8xf32>, tensor<i32>) -> tensor<64x8xf32>
    nn.yield %2 : tensor<64x8xf32>
  }
  return %0, %1 : tensor<1x8xf32>, tensor<64x8xf32>
}

// One depends on the other, one reduces, one is large, and those of @prepare
// stay.
// CHECK-LABEL: func.func @apart
// CHECK-COUNT-4: = nn.fusion
// CHECK-LABEL: func.func @prepare
// CHECK-COUNT-2: = nn.fusion
func.func @apart(%x: tensor<4x8xf32>, %large: tensor<1024x1024xf32>) -> (tensor<4x8xf32>, tensor<4x1xf32>, tensor<1024x1024xf32>) {
  %0 = nn.fusion(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %4 = nn.exp %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    nn.yield %4 : tensor<4x8xf32>
  }
  %1 = nn.fusion(%0) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %4 = nn.exp %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    nn.yield %4 : tensor<4x8xf32>
  }
  %2 = nn.fusion(%x) : (tensor<4x8xf32>) -> tensor<4x1xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %4 = nn.reduce %a {axes = array<i64: 1>, kind = #nn<combiner sum>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
    nn.yield %4 : tensor<4x1xf32>
  }
  %3 = nn.fusion(%large) : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32> {
  ^bb0(%a: tensor<1024x1024xf32>):
    %4 = nn.exp %a : (tensor<1024x1024xf32>) -> tensor<1024x1024xf32>
    nn.yield %4 : tensor<1024x1024xf32>
  }
  return %1, %2, %3 : tensor<4x8xf32>, tensor<4x1xf32>, tensor<1024x1024xf32>
}
func.func @prepare(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %0 = nn.fusion(%x) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %2 = nn.exp %a : (tensor<8xf32>) -> tensor<8xf32>
    nn.yield %2 : tensor<8xf32>
  }
  %1 = nn.fusion(%y) : (tensor<8xf32>) -> tensor<8xf32> {
  ^bb0(%a: tensor<8xf32>):
    %2 = nn.exp %a : (tensor<8xf32>) -> tensor<8xf32>
    nn.yield %2 : tensor<8xf32>
  }
  return %0, %1 : tensor<8xf32>, tensor<8xf32>
}

// Few elements that one computes for the other are computed by both: the first
// kernel of a step that reads its token, places it and looks up its rotation.
// What had no other reader is gone, and so are results without readers.
// CHECK-LABEL: func.func @recomputed
// CHECK-NEXT:    nn.reshape
// CHECK-NEXT:    %[[ALL:.*]]:2 = nn.fusion(
// CHECK-DAG:       %[[TOKEN:.*]] = nn.gather_elements
// CHECK-DAG:       %[[ROW:.*]] = nn.gather %{{.*}}, %[[TOKEN]]
// CHECK-DAG:       %[[PLACE:.*]] = nn.add
// CHECK-DAG:       %[[ANGLES:.*]] = nn.gather
// CHECK:           nn.yield %[[ROW]], %[[ANGLES]]
// CHECK-NEXT:    }
// CHECK-NEXT:    %[[PRODUCT:.*]] = nn.matmul %[[ALL]]#0
// CHECK-NEXT:    return %[[PRODUCT]], %[[ALL]]#1
func.func @recomputed(%tokens: tensor<1x64xi32>, %length: tensor<1xi32>, %table: tensor<32x8xf32>, %cosines: tensor<64x4xf32>, %w: tensor<8x8xf32>) -> (tensor<1x1x8xf32>, tensor<1x4xf32>) {
  %0 = nn.reshape %length {shape = array<i64: 1, 1>} : (tensor<1xi32>) -> tensor<1x1xi32>
  %1 = nn.fusion(%tokens, %0) : (tensor<1x64xi32>, tensor<1x1xi32>) -> tensor<1x1xi32> {
  ^bb0(%a: tensor<1x64xi32>, %b: tensor<1x1xi32>):
    %7 = nn.gather_elements %a, %b {axis = 1 : si64} : (tensor<1x64xi32>, tensor<1x1xi32>) -> tensor<1x1xi32>
    nn.yield %7 : tensor<1x1xi32>
  }
  %2:2 = nn.fusion(%table, %1, %0) : (tensor<32x8xf32>, tensor<1x1xi32>, tensor<1x1xi32>) -> (tensor<1x1x8xf32>, tensor<1x1xi32>) {
  ^bb0(%a: tensor<32x8xf32>, %b: tensor<1x1xi32>, %c: tensor<1x1xi32>):
    %7 = nn.gather %a, %b : (tensor<32x8xf32>, tensor<1x1xi32>) -> tensor<1x1x8xf32>
    %8 = nn.constant dense<1> : tensor<i32>
    %9 = nn.add %c, %8 : (tensor<1x1xi32>, tensor<i32>) -> tensor<1x1xi32>
    nn.yield %7, %9 : tensor<1x1x8xf32>, tensor<1x1xi32>
  }
  %3 = nn.matmul %2#0, %w : (tensor<1x1x8xf32>, tensor<8x8xf32>) -> tensor<1x1x8xf32>
  %4 = nn.reshape %2#1 {shape = array<i64: 1>} : (tensor<1x1xi32>) -> tensor<1xi32>
  %5 = nn.fusion(%cosines, %4) : (tensor<64x4xf32>, tensor<1xi32>) -> tensor<1x4xf32> {
  ^bb0(%a: tensor<64x4xf32>, %b: tensor<1xi32>):
    %7 = nn.gather %a, %b : (tensor<64x4xf32>, tensor<1xi32>) -> tensor<1x4xf32>
    nn.yield %7 : tensor<1x4xf32>
  }
  return %3, %5 : tensor<1x1x8xf32>, tensor<1x4xf32>
}

// An update between the two replaces what would be read again.
// CHECK-LABEL: func.func @replaced_between
// CHECK-COUNT-3: = nn.fusion
func.func @replaced_between(%state: tensor<64xi32>, %at: tensor<i32>, %values: tensor<8xi32>, %cosines: tensor<64x4xf32>) -> (tensor<64xi32>, tensor<1x4xf32>) {
  %0 = nn.fusion(%state) : (tensor<64xi32>) -> tensor<1xi32> {
  ^bb0(%a: tensor<64xi32>):
    %3 = nn.slice %a {sizes = array<i64: 1>, starts = array<i64: 3>, steps = array<i64: 1>} : (tensor<64xi32>) -> tensor<1xi32>
    nn.yield %3 : tensor<1xi32>
  }
  %1 = nn.fusion(%state, %at, %values) : (tensor<64xi32>, tensor<i32>, tensor<8xi32>) -> tensor<64xi32> {
  ^bb0(%a: tensor<64xi32>, %b: tensor<i32>, %c: tensor<8xi32>):
    %3 = nn.reduce %c {axes = array<i64: 0>, kind = #nn<combiner sum>} : (tensor<8xi32>) -> tensor<1xi32>
    %4 = nn.update %a, %3, %b {axis = 0 : i64} : (tensor<64xi32>, tensor<1xi32>, tensor<i32>) -> tensor<64xi32>
    nn.yield %4 : tensor<64xi32>
  }
  %2 = nn.fusion(%cosines, %0) : (tensor<64x4xf32>, tensor<1xi32>) -> tensor<1x4xf32> {
  ^bb0(%a: tensor<64x4xf32>, %b: tensor<1xi32>):
    %3 = nn.gather %a, %b : (tensor<64x4xf32>, tensor<1xi32>) -> tensor<1x4xf32>
    nn.yield %3 : tensor<1x4xf32>
  }
  return %1, %2 : tensor<64xi32>, tensor<1x4xf32>
}

// What updates a state does so once.
// CHECK-LABEL: func.func @updated_once
// CHECK-COUNT-2: = nn.fusion
// CHECK-NOT:     = nn.fusion
func.func @updated_once(%length: tensor<1xi32>, %cosines: tensor<64x4xf32>) -> (tensor<1xi32>, tensor<1x4xf32>) {
  %0 = nn.fusion(%length) : (tensor<1xi32>) -> tensor<1xi32> {
  ^bb0(%a: tensor<1xi32>):
    %2 = nn.constant dense<1> : tensor<i32>
    %3 = nn.add %a, %2 : (tensor<1xi32>, tensor<i32>) -> tensor<1xi32>
    %4 = nn.update %a, %3 {axis = 0 : i64} : (tensor<1xi32>, tensor<1xi32>) -> tensor<1xi32>
    nn.yield %4 : tensor<1xi32>
  }
  %1 = nn.fusion(%cosines, %0) : (tensor<64x4xf32>, tensor<1xi32>) -> tensor<1x4xf32> {
  ^bb0(%a: tensor<64x4xf32>, %b: tensor<1xi32>):
    %2 = nn.gather %a, %b : (tensor<64x4xf32>, tensor<1xi32>) -> tensor<1x4xf32>
    nn.yield %2 : tensor<1x4xf32>
  }
  return %0, %1 : tensor<1xi32>, tensor<1x4xf32>
}

// Keys of a prompt are rotated where they enter their cache, and queries beside
// them, although these are many.
// CHECK-LABEL: func.func @prompt
// CHECK-NEXT:    %[[ALL:.*]]:3 = nn.fusion(
// CHECK:           %[[Q:.*]] = nn.mul
// CHECK:           %[[K:.*]] = nn.mul
// CHECK-NEXT:      %[[SAME:.*]] = nn.reshape %[[K]]
// CHECK-NEXT:      %[[MOVED:.*]] = nn.transpose %[[SAME]] {perm = array<i64: 1, 0, 2>}
// CHECK-NEXT:      %[[KEYS:.*]] = nn.update %{{.*}}, %[[MOVED]], %{{.*}} {axis = 1 : i64}
// CHECK:           %[[VALUES:.*]] = nn.update
// CHECK-NEXT:      nn.yield %[[Q]], %[[KEYS]], %[[VALUES]]
// CHECK-NEXT:    }
// CHECK-NEXT:    return %[[ALL]]#0, %[[ALL]]#1, %[[ALL]]#2
func.func @prompt(%x: tensor<16x8x8xf32>, %y: tensor<16x16xf32>, %c: tensor<16x1xf32>, %d: tensor<16x1x1xf32>, %keys: tensor<2x64x8xf32>, %values: tensor<2x64x8xf32>, %rows: tensor<2x16x8xf32>, %at: tensor<i32>) -> (tensor<16x8x8xf32>, tensor<2x64x8xf32>, tensor<2x64x8xf32>) {
  %0 = nn.fusion(%x, %d) : (tensor<16x8x8xf32>, tensor<16x1x1xf32>) -> tensor<16x8x8xf32> {
  ^bb0(%a: tensor<16x8x8xf32>, %b: tensor<16x1x1xf32>):
    %5 = nn.mul %a, %b : (tensor<16x8x8xf32>, tensor<16x1x1xf32>) -> tensor<16x8x8xf32>
    nn.yield %5 : tensor<16x8x8xf32>
  }
  %1 = nn.fusion(%y, %c) : (tensor<16x16xf32>, tensor<16x1xf32>) -> tensor<16x16xf32> {
  ^bb0(%a: tensor<16x16xf32>, %b: tensor<16x1xf32>):
    %5 = nn.mul %a, %b : (tensor<16x16xf32>, tensor<16x1xf32>) -> tensor<16x16xf32>
    nn.yield %5 : tensor<16x16xf32>
  }
  %2 = nn.reshape %1 {shape = array<i64: 16, 2, 8>} : (tensor<16x16xf32>) -> tensor<16x2x8xf32>
  %3 = nn.fusion(%2, %keys, %at) : (tensor<16x2x8xf32>, tensor<2x64x8xf32>, tensor<i32>) -> tensor<2x64x8xf32> {
  ^bb0(%a: tensor<16x2x8xf32>, %b: tensor<2x64x8xf32>, %e: tensor<i32>):
    %5 = nn.transpose %a {perm = array<i64: 1, 0, 2>} : (tensor<16x2x8xf32>) -> tensor<2x16x8xf32>
    %6 = nn.update %b, %5, %e {axis = 1 : i64} : (tensor<2x64x8xf32>, tensor<2x16x8xf32>, tensor<i32>) -> tensor<2x64x8xf32>
    nn.yield %6 : tensor<2x64x8xf32>
  }
  %4 = nn.fusion(%rows, %values, %at) : (tensor<2x16x8xf32>, tensor<2x64x8xf32>, tensor<i32>) -> tensor<2x64x8xf32> {
  ^bb0(%a: tensor<2x16x8xf32>, %b: tensor<2x64x8xf32>, %e: tensor<i32>):
    %5 = nn.update %b, %a, %e {axis = 1 : i64} : (tensor<2x64x8xf32>, tensor<2x16x8xf32>, tensor<i32>) -> tensor<2x64x8xf32>
    nn.yield %5 : tensor<2x64x8xf32>
  }
  return %0, %3, %4 : tensor<16x8x8xf32>, tensor<2x64x8xf32>, tensor<2x64x8xf32>
}

// A transpose that parts neighbours reads them from memory, and so do two readers.
// CHECK-LABEL: func.func @prompt_apart
// CHECK-COUNT-4: = nn.fusion
// CHECK-NOT:     = nn.fusion
func.func @prompt_apart(%y: tensor<16x16xf32>, %c: tensor<16x1xf32>, %keys: tensor<16x64xf32>, %values: tensor<16x64xf32>, %at: tensor<i32>) -> (tensor<16x64xf32>, tensor<16x64xf32>, tensor<16x16xf32>, tensor<16x16xf32>) {
  %0 = nn.fusion(%y, %c) : (tensor<16x16xf32>, tensor<16x1xf32>) -> tensor<16x16xf32> {
  ^bb0(%a: tensor<16x16xf32>, %b: tensor<16x1xf32>):
    %5 = nn.mul %a, %b : (tensor<16x16xf32>, tensor<16x1xf32>) -> tensor<16x16xf32>
    nn.yield %5 : tensor<16x16xf32>
  }
  %1 = nn.fusion(%0, %keys, %at) : (tensor<16x16xf32>, tensor<16x64xf32>, tensor<i32>) -> tensor<16x64xf32> {
  ^bb0(%a: tensor<16x16xf32>, %b: tensor<16x64xf32>, %e: tensor<i32>):
    %5 = nn.transpose %a {perm = array<i64: 1, 0>} : (tensor<16x16xf32>) -> tensor<16x16xf32>
    %6 = nn.update %b, %5, %e {axis = 1 : i64} : (tensor<16x64xf32>, tensor<16x16xf32>, tensor<i32>) -> tensor<16x64xf32>
    nn.yield %6 : tensor<16x64xf32>
  }
  %2 = nn.fusion(%1, %c) : (tensor<16x64xf32>, tensor<16x1xf32>) -> tensor<16x16xf32> {
  ^bb0(%a: tensor<16x64xf32>, %b: tensor<16x1xf32>):
    %5 = nn.slice %a {sizes = array<i64: 16, 16>, starts = array<i64: 0, 0>, steps = array<i64: 1, 1>} : (tensor<16x64xf32>) -> tensor<16x16xf32>
    %6 = nn.mul %5, %b : (tensor<16x16xf32>, tensor<16x1xf32>) -> tensor<16x16xf32>
    nn.yield %6 : tensor<16x16xf32>
  }
  %3 = nn.fusion(%2, %values, %at) : (tensor<16x16xf32>, tensor<16x64xf32>, tensor<i32>) -> tensor<16x64xf32> {
  ^bb0(%a: tensor<16x16xf32>, %b: tensor<16x64xf32>, %e: tensor<i32>):
    %6 = nn.update %b, %a, %e {axis = 1 : i64} : (tensor<16x64xf32>, tensor<16x16xf32>, tensor<i32>) -> tensor<16x64xf32>
    nn.yield %6 : tensor<16x64xf32>
  }
  %4 = nn.fusion(%2) : (tensor<16x16xf32>) -> tensor<16x16xf32> {
  ^bb0(%a: tensor<16x16xf32>):
    %5 = nn.exp %a : (tensor<16x16xf32>) -> tensor<16x16xf32>
    nn.yield %5 : tensor<16x16xf32>
  }
  return %1, %3, %2, %4 : tensor<16x64xf32>, tensor<16x64xf32>, tensor<16x16xf32>, tensor<16x16xf32>
}
