// RUN: frit-opt %s --side-outputs | FileCheck %s

// The gradient of a layer norm, and sums of its operands and results. Sums that
// come first move behind it, with their readers.
// CHECK-LABEL: func.func @norm
// CHECK-NEXT:    %[[F:.*]]:4 = nn.fusion(%arg0, %arg1, %arg2)
// CHECK-NEXT:    ^bb0(%[[DY:.*]]: tensor<4x64x768xbf16>, %[[X:.*]]: tensor<4x64x768xf32>, %[[V:.*]]: tensor<768xf32>):
// CHECK:           %[[R:.*]] = nn.reduce %{{.*}} {axes = array<i64: 2>
// CHECK:           %[[DX:.*]] = nn.sub %{{.*}}, %[[R]]
// CHECK-NEXT:      %[[DY3:.*]] = nn.reshape %[[DY]] {shape = array<i64: 8, 32, 768>}
// CHECK-NEXT:      %[[X3:.*]] = nn.reshape %[[X]] {shape = array<i64: 8, 32, 768>}
// CHECK:           %[[S:.*]] = nn.reduce %{{.*}} {axes = array<i64: 1>
// CHECK-NEXT:      %[[T:.*]] = nn.reduce %[[X3]] {axes = array<i64: 1>
// CHECK-NEXT:      %[[DX3:.*]] = nn.reshape %[[DX]] {shape = array<i64: 8, 32, 768>}
// CHECK:           %[[U:.*]] = nn.reduce %{{.*}} {axes = array<i64: 1>
// CHECK-NEXT:      nn.yield %[[DX]], %[[S]], %[[T]], %[[U]]
// CHECK:         nn.reshape %[[F]]#1
// CHECK:         return %{{.*}}, %[[F]]#0, %[[F]]#2, %[[F]]#3
func.func @norm(%dy: tensor<4x64x768xbf16>, %x: tensor<4x64x768xf32>, %v: tensor<768xf32>)
    -> (tensor<8x768xf32>, tensor<4x64x768xf32>, tensor<8x1x768xf32>, tensor<8x1x768xf32>) {
  %0 = nn.reshape %dy {shape = array<i64: 8, 32, 768>} : (tensor<4x64x768xbf16>) -> tensor<8x32x768xbf16>
  %1 = nn.reshape %x {shape = array<i64: 8, 32, 768>} : (tensor<4x64x768xf32>) -> tensor<8x32x768xf32>
  %2:2 = nn.fusion(%0, %1, %v) : (tensor<8x32x768xbf16>, tensor<8x32x768xf32>, tensor<768xf32>) -> (tensor<8x1x768xf32>, tensor<8x1x768xf32>) {
  ^bb0(%a: tensor<8x32x768xbf16>, %b: tensor<8x32x768xf32>, %c: tensor<768xf32>):
    %w = nn.cast %a {to = f32} : (tensor<8x32x768xbf16>) -> tensor<8x32x768xf32>
    %m = nn.mul %w, %c : (tensor<8x32x768xf32>, tensor<768xf32>) -> tensor<8x32x768xf32>
    %s = nn.reduce %m {axes = array<i64: 1>, kind = #nn<combiner sum>} : (tensor<8x32x768xf32>) -> tensor<8x1x768xf32>
    %t = nn.reduce %b {axes = array<i64: 1>, kind = #nn<combiner sum>} : (tensor<8x32x768xf32>) -> tensor<8x1x768xf32>
    nn.yield %s, %t : tensor<8x1x768xf32>, tensor<8x1x768xf32>
  }
  %3 = nn.reshape %2#0 {shape = array<i64: 8, 768>} : (tensor<8x1x768xf32>) -> tensor<8x768xf32>
  %4 = nn.fusion(%dy, %x) : (tensor<4x64x768xbf16>, tensor<4x64x768xf32>) -> tensor<4x64x768xf32> {
  ^bb0(%a: tensor<4x64x768xbf16>, %b: tensor<4x64x768xf32>):
    %w = nn.cast %a {to = f32} : (tensor<4x64x768xbf16>) -> tensor<4x64x768xf32>
    %m = nn.mul %w, %b : (tensor<4x64x768xf32>, tensor<4x64x768xf32>) -> tensor<4x64x768xf32>
    %r = nn.reduce %m {axes = array<i64: 2>, kind = #nn<combiner sum>} : (tensor<4x64x768xf32>) -> tensor<4x64x1xf32>
    %d = nn.sub %w, %r : (tensor<4x64x768xf32>, tensor<4x64x1xf32>) -> tensor<4x64x768xf32>
    nn.yield %d : tensor<4x64x768xf32>
  }
  %5 = nn.reshape %4 {shape = array<i64: 8, 32, 768>} : (tensor<4x64x768xf32>) -> tensor<8x32x768xf32>
  %6 = nn.fusion(%5) : (tensor<8x32x768xf32>) -> tensor<8x1x768xf32> {
  ^bb0(%a: tensor<8x32x768xf32>):
    %m = nn.mul %a, %a : (tensor<8x32x768xf32>, tensor<8x32x768xf32>) -> tensor<8x32x768xf32>
    %s = nn.reduce %m {axes = array<i64: 1>, kind = #nn<combiner sum>} : (tensor<8x32x768xf32>) -> tensor<8x1x768xf32>
    nn.yield %s : tensor<8x1x768xf32>
  }
  return %3, %4, %2#1, %6 : tensor<8x768xf32>, tensor<4x64x768xf32>, tensor<8x1x768xf32>, tensor<8x1x768xf32>
}

// Rows that depend on the sums, and sums that read another large tensor, stay
// apart.
// CHECK-LABEL: func.func @apart
// CHECK-COUNT-3: nn.fusion(
func.func @apart(%x: tensor<256x768xf32>, %y: tensor<8x32x768xf32>) -> (tensor<256x768xf32>, tensor<8x1x768xf32>) {
  %0 = nn.reshape %x {shape = array<i64: 8, 32, 768>} : (tensor<256x768xf32>) -> tensor<8x32x768xf32>
  %1 = nn.fusion(%0) : (tensor<8x32x768xf32>) -> tensor<8x1x768xf32> {
  ^bb0(%a: tensor<8x32x768xf32>):
    %s = nn.reduce %a {axes = array<i64: 1>, kind = #nn<combiner sum>} : (tensor<8x32x768xf32>) -> tensor<8x1x768xf32>
    nn.yield %s : tensor<8x1x768xf32>
  }
  %2 = nn.fusion(%x, %1) : (tensor<256x768xf32>, tensor<8x1x768xf32>) -> tensor<256x768xf32> {
  ^bb0(%a: tensor<256x768xf32>, %b: tensor<8x1x768xf32>):
    %r = nn.reduce %a {axes = array<i64: 1>, kind = #nn<combiner sum>} : (tensor<256x768xf32>) -> tensor<256x1xf32>
    %m = nn.mul %a, %r : (tensor<256x768xf32>, tensor<256x1xf32>) -> tensor<256x768xf32>
    %c = nn.reshape %b {shape = array<i64: 8, 768>} : (tensor<8x1x768xf32>) -> tensor<8x768xf32>
    %s = nn.reduce %c {axes = array<i64: 0>, kind = #nn<combiner sum>} : (tensor<8x768xf32>) -> tensor<1x768xf32>
    %d = nn.sub %m, %s : (tensor<256x768xf32>, tensor<1x768xf32>) -> tensor<256x768xf32>
    nn.yield %d : tensor<256x768xf32>
  }
  %3 = nn.fusion(%0, %y) : (tensor<8x32x768xf32>, tensor<8x32x768xf32>) -> tensor<8x1x768xf32> {
  ^bb0(%a: tensor<8x32x768xf32>, %b: tensor<8x32x768xf32>):
    %m = nn.mul %a, %b : (tensor<8x32x768xf32>, tensor<8x32x768xf32>) -> tensor<8x32x768xf32>
    %s = nn.reduce %m {axes = array<i64: 1>, kind = #nn<combiner sum>} : (tensor<8x32x768xf32>) -> tensor<8x1x768xf32>
    nn.yield %s : tensor<8x1x768xf32>
  }
  return %2, %3 : tensor<256x768xf32>, tensor<8x1x768xf32>
}

// Sums of the parts become one fusion.
// CHECK-LABEL: func.func @parts
// CHECK:         %[[F:.*]]:3 = nn.fusion(%arg0)
// CHECK-DAG:     %[[A:.*]] = nn.reshape %[[F]]#1
// CHECK-DAG:     %[[B:.*]] = nn.reshape %[[F]]#2
// CHECK:         %[[S:.*]]:2 = nn.fusion(%[[A]], %[[B]])
// CHECK-NOT:     nn.fusion
// CHECK:         return %[[F]]#0, %[[S]]#0, %[[S]]#1
func.func @parts(%x: tensor<256x768xf32>) -> (tensor<256x768xf32>, tensor<1x768xf32>, tensor<1x768xf32>) {
  %0 = nn.fusion(%x) : (tensor<256x768xf32>) -> tensor<256x768xf32> {
  ^bb0(%a: tensor<256x768xf32>):
    %r = nn.reduce %a {axes = array<i64: 1>, kind = #nn<combiner sum>} : (tensor<256x768xf32>) -> tensor<256x1xf32>
    %m = nn.mul %a, %r : (tensor<256x768xf32>, tensor<256x1xf32>) -> tensor<256x768xf32>
    nn.yield %m : tensor<256x768xf32>
  }
  %1 = nn.reshape %x {shape = array<i64: 8, 32, 768>} : (tensor<256x768xf32>) -> tensor<8x32x768xf32>
  %2 = nn.fusion(%1) : (tensor<8x32x768xf32>) -> tensor<8x1x768xf32> {
  ^bb0(%a: tensor<8x32x768xf32>):
    %s = nn.reduce %a {axes = array<i64: 1>, kind = #nn<combiner sum>} : (tensor<8x32x768xf32>) -> tensor<8x1x768xf32>
    nn.yield %s : tensor<8x1x768xf32>
  }
  %3 = nn.reshape %2 {shape = array<i64: 8, 768>} : (tensor<8x1x768xf32>) -> tensor<8x768xf32>
  %4 = nn.fusion(%3) : (tensor<8x768xf32>) -> tensor<1x768xf32> {
  ^bb0(%a: tensor<8x768xf32>):
    %s = nn.reduce %a {axes = array<i64: 0>, kind = #nn<combiner sum>} : (tensor<8x768xf32>) -> tensor<1x768xf32>
    nn.yield %s : tensor<1x768xf32>
  }
  %5 = nn.reshape %0 {shape = array<i64: 8, 32, 768>} : (tensor<256x768xf32>) -> tensor<8x32x768xf32>
  %6 = nn.fusion(%5) : (tensor<8x32x768xf32>) -> tensor<8x1x768xf32> {
  ^bb0(%a: tensor<8x32x768xf32>):
    %s = nn.reduce %a {axes = array<i64: 1>, kind = #nn<combiner sum>} : (tensor<8x32x768xf32>) -> tensor<8x1x768xf32>
    nn.yield %s : tensor<8x1x768xf32>
  }
  %7 = nn.reshape %6 {shape = array<i64: 8, 768>} : (tensor<8x1x768xf32>) -> tensor<8x768xf32>
  %8 = nn.fusion(%7) : (tensor<8x768xf32>) -> tensor<1x768xf32> {
  ^bb0(%a: tensor<8x768xf32>):
    %s = nn.reduce %a {axes = array<i64: 0>, kind = #nn<combiner sum>} : (tensor<8x768xf32>) -> tensor<1x768xf32>
    nn.yield %s : tensor<1x768xf32>
  }
  return %0, %4, %8 : tensor<256x768xf32>, tensor<1x768xf32>, tensor<1x768xf32>
}
