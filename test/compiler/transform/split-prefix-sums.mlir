// RUN: frit-opt %s --split-prefix-sums | FileCheck %s

// Blocks of 64, which get the sums of the blocks before them.
// CHECK-LABEL: func.func @long
// CHECK:         %[[P:.*]] = nn.pad %arg0, %{{.*}} {high = array<i64: 0, 24>, low = array<i64: 0, 0>}
// CHECK:         %[[B:.*]] = nn.reshape %[[P]] {shape = array<i64: 2, 16, 64>}
// CHECK:         %[[S:.*]] = nn.reduce %[[B]] {axes = array<i64: 2>, kind = #nn<combiner sum>}
// CHECK:         %[[R:.*]] = nn.reshape %[[S]] {shape = array<i64: 2, 16>}
// CHECK:         %[[T:.*]] = nn.cum_sum %[[R]] {axis = 1 : si64, exclusive}
// CHECK:         %[[I:.*]] = nn.cum_sum %[[B]] {axis = 2 : si64}
// CHECK:         nn.add %[[I]],
// CHECK:         nn.slice %{{.*}} {sizes = array<i64: 2, 1000>
func.func @long(%x: tensor<2x1000xf32>) -> tensor<2x1000xf32> {
  %y = nn.cum_sum %x {axis = 1 : si64} : (tensor<2x1000xf32>) -> tensor<2x1000xf32>
  return %y : tensor<2x1000xf32>
}

// As many blocks as make a long dimension are split, too.
// CHECK-LABEL: func.func @longer
// CHECK-COUNT-3: nn.cum_prod {{.*}} {axis = {{.}} : si64, exclusive, reverse}
// CHECK-NOT:     nn.slice
func.func @longer(%x: tensor<16384xf32>) -> tensor<16384xf32> {
  %y = nn.cum_prod %x {axis = 0 : si64, exclusive, reverse} : (tensor<16384xf32>) -> tensor<16384xf32>
  return %y : tensor<16384xf32>
}

// CHECK-LABEL: func.func @short
// CHECK:         %[[Y:.*]] = nn.cum_sum %arg0
// CHECK-NEXT:    return %[[Y]]
func.func @short(%x: tensor<128xi64>) -> tensor<128xi64> {
  %y = nn.cum_sum %x {axis = 0 : si64} : (tensor<128xi64>) -> tensor<128xi64>
  return %y : tensor<128xi64>
}
