// RUN: frit-opt %s --fusion | FileCheck %s
// RUN: frit-opt %s --fusion=fuse=false | FileCheck %s --check-prefix=O0

// A contraction fuses the elementwise operators after it; scalars become
// constants in the kernel.
// CHECK-LABEL: func.func @epilogue(
// CHECK-SAME:    %[[X:[^:]*]]: {{[^,]*}}, %[[W:[^:]*]]: {{[^,]*}}, %[[B:[^:]*]]:
// CHECK-NEXT:    %[[Y:.*]] = nn.fusion(%[[X]], %[[W]], %[[B]])
// CHECK:           nn.matmul
// CHECK:           nn.add
// CHECK:           nn.constant dense<2.000000e+00>
// CHECK:           nn.mul
// CHECK:           nn.yield
// CHECK:         return %[[Y]]
// O0-LABEL: func.func @epilogue
// O0-COUNT-3: nn.fusion
func.func @epilogue(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %b: tensor<8xf32>) -> tensor<4x8xf32> {
  %s = nn.constant dense<2.0> : tensor<f32>
  %0 = nn.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = nn.add %0, %b : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %2 = nn.mul %1, %s : (tensor<4x8xf32>, tensor<f32>) -> tensor<4x8xf32>
  return %2 : tensor<4x8xf32>
}

// Operators that the target rejects, and values with other readers, start a new
// kernel.
// CHECK-LABEL: func.func @no_epilogue
// CHECK:         %[[M:.*]] = nn.fusion
// CHECK:           nn.matmul
// CHECK-NEXT:      nn.yield
// CHECK:         nn.fusion(%[[M]])
// CHECK:           nn.exp
func.func @no_epilogue(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> tensor<4x8xf32> {
  %0 = nn.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = nn.exp %0 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %1 : tensor<4x8xf32>
}

// Two convolutions that are only added become one kernel with what follows.
// CHECK-LABEL: func.func @two_convolutions(
// CHECK-SAME:    %[[X:[^:]*]]: {{[^,]*}}, %[[W:[^:]*]]: {{[^,]*}}, %[[U:[^:]*]]: {{[^,]*}}, %[[V:[^:]*]]:
// CHECK-NEXT:    %[[Y:.*]] = nn.fusion(%[[X]], %[[W]], %[[U]], %[[V]])
// CHECK:           %[[A:.*]] = nn.conv
// CHECK-NEXT:      %[[B:.*]] = nn.conv
// CHECK-NEXT:      nn.add %[[B]], %[[A]]
// CHECK-NEXT:      nn.relu
// CHECK-NEXT:      nn.yield
// CHECK:         return %[[Y]]
func.func @two_convolutions(%x: tensor<1x8x8x4xf32>, %w: tensor<2x1x1x4xf32>, %u: tensor<1x8x8x3xf32>, %v: tensor<2x1x1x3xf32>) -> tensor<1x8x8x2xf32> {
  %0 = nn.conv %x, %w {dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>, channels_last} : (tensor<1x8x8x4xf32>, tensor<2x1x1x4xf32>) -> tensor<1x8x8x2xf32>
  %1 = nn.conv %u, %v {dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>, channels_last} : (tensor<1x8x8x3xf32>, tensor<2x1x1x3xf32>) -> tensor<1x8x8x2xf32>
  %2 = nn.add %1, %0 : (tensor<1x8x8x2xf32>, tensor<1x8x8x2xf32>) -> tensor<1x8x8x2xf32>
  %3 = nn.relu %2 : (tensor<1x8x8x2xf32>) -> tensor<1x8x8x2xf32>
  return %3 : tensor<1x8x8x2xf32>
}

// A convolution with other readers stays separate.
// CHECK-LABEL: func.func @two_convolutions_apart
// CHECK:         nn.fusion
// CHECK:           nn.conv
// CHECK-NEXT:      nn.yield
// CHECK:         nn.fusion
// CHECK:           nn.conv
// CHECK-NEXT:      nn.add
// CHECK-NEXT:      nn.yield
func.func @two_convolutions_apart(%x: tensor<1x8x8x4xf32>, %w: tensor<2x1x1x4xf32>) -> (tensor<1x8x8x2xf32>, tensor<1x8x8x2xf32>) {
  %0 = nn.conv %x, %w {dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>, channels_last} : (tensor<1x8x8x4xf32>, tensor<2x1x1x4xf32>) -> tensor<1x8x8x2xf32>
  %1 = nn.conv %x, %w {dilations = array<i64: 2, 2>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>, channels_last} : (tensor<1x8x8x4xf32>, tensor<2x1x1x4xf32>) -> tensor<1x8x8x2xf32>
  %2 = nn.add %1, %0 : (tensor<1x8x8x2xf32>, tensor<1x8x8x2xf32>) -> tensor<1x8x8x2xf32>
  return %2, %0 : tensor<1x8x8x2xf32>, tensor<1x8x8x2xf32>
}

// If the target allows it, a second convolution and its epilogue join the
// kernel of the first.
// CHECK-LABEL: func.func @convolutions_in_turn(
// CHECK-SAME:    %[[X:[^:]*]]: {{[^,]*}}, %[[W:[^:]*]]: {{[^,]*}}, %[[V:[^:]*]]: {{[^,]*}}, %[[R:[^:]*]]:
// CHECK-NEXT:    %[[Y:.*]] = nn.fusion(%[[X]], %[[W]], %[[V]], %[[R]])
// CHECK:           nn.conv
// CHECK-NEXT:      nn.relu
// CHECK-NEXT:      nn.conv
// CHECK-NEXT:      nn.add
// CHECK-NEXT:      nn.yield
// CHECK:         return %[[Y]]
func.func @convolutions_in_turn(%x: tensor<1x8x8x4xf32>, %w: tensor<8x3x3x4xf32>, %v: tensor<96x1x1x8xf32>, %r: tensor<1x8x8x96xf32>) -> tensor<1x8x8x96xf32> {
  %0 = nn.conv %x, %w {dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>, channels_last} : (tensor<1x8x8x4xf32>, tensor<8x3x3x4xf32>) -> tensor<1x8x8x8xf32>
  %1 = nn.relu %0 : (tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  %2 = nn.conv %1, %v {dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>, channels_last} : (tensor<1x8x8x8xf32>, tensor<96x1x1x8xf32>) -> tensor<1x8x8x96xf32>
  %3 = nn.add %2, %r : (tensor<1x8x8x96xf32>, tensor<1x8x8x96xf32>) -> tensor<1x8x8x96xf32>
  return %3 : tensor<1x8x8x96xf32>
}

// Not if its operand has other readers; and a convolution that is added to a
// third joins that one instead.
// CHECK-LABEL: func.func @convolutions_in_turn_apart
// CHECK:         nn.fusion
// CHECK:           nn.conv
// CHECK-NEXT:      nn.relu
// CHECK-NEXT:      nn.yield
// CHECK:         nn.fusion
// CHECK:           nn.conv
// CHECK-NEXT:      nn.yield
func.func @convolutions_in_turn_apart(%x: tensor<1x8x8x4xf32>, %w: tensor<8x3x3x4xf32>, %v: tensor<96x1x1x8xf32>) -> (tensor<1x8x8x96xf32>, tensor<1x8x8x8xf32>) {
  %0 = nn.conv %x, %w {dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>, channels_last} : (tensor<1x8x8x4xf32>, tensor<8x3x3x4xf32>) -> tensor<1x8x8x8xf32>
  %1 = nn.relu %0 : (tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  %2 = nn.conv %1, %v {dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>, channels_last} : (tensor<1x8x8x8xf32>, tensor<96x1x1x8xf32>) -> tensor<1x8x8x96xf32>
  return %2, %1 : tensor<1x8x8x96xf32>, tensor<1x8x8x8xf32>
}
// CHECK-LABEL: func.func @in_turn_or_added
// CHECK:         nn.fusion
// CHECK:           nn.conv
// CHECK-NEXT:      nn.relu
// CHECK-NEXT:      nn.yield
// CHECK:         nn.fusion
// CHECK:           nn.conv
// CHECK-NEXT:      nn.conv
// CHECK-NEXT:      nn.add
// CHECK-NEXT:      nn.yield
func.func @in_turn_or_added(%x: tensor<1x8x8x4xf32>, %w: tensor<8x3x3x4xf32>, %v: tensor<96x1x1x8xf32>, %u: tensor<96x1x1x4xf32>) -> tensor<1x8x8x96xf32> {
  %0 = nn.conv %x, %w {dilations = array<i64: 1, 1>, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 1, 1>, channels_last} : (tensor<1x8x8x4xf32>, tensor<8x3x3x4xf32>) -> tensor<1x8x8x8xf32>
  %1 = nn.relu %0 : (tensor<1x8x8x8xf32>) -> tensor<1x8x8x8xf32>
  %2 = nn.conv %1, %v {dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>, channels_last} : (tensor<1x8x8x8xf32>, tensor<96x1x1x8xf32>) -> tensor<1x8x8x96xf32>
  %3 = nn.conv %x, %u {dilations = array<i64: 1, 1>, pads = array<i64: 0, 0, 0, 0>, strides = array<i64: 1, 1>, channels_last} : (tensor<1x8x8x4xf32>, tensor<96x1x1x4xf32>) -> tensor<1x8x8x96xf32>
  %4 = nn.add %2, %3 : (tensor<1x8x8x96xf32>, tensor<1x8x8x96xf32>) -> tensor<1x8x8x96xf32>
  return %4 : tensor<1x8x8x96xf32>
}

// A row group: reductions of the same rows with the operators before, between
// and after them; a value in the middle may be an output.
// CHECK-LABEL: func.func @rows
// CHECK:         %[[R:.*]]:2 = nn.fusion(%{{.*}}) : (tensor<4x8xf32>) -> (tensor<4x1xf32>, tensor<4x8xf32>)
// CHECK:           nn.neg
// CHECK:           nn.reduce
// CHECK:           nn.sub
// CHECK:           nn.exp
// CHECK:           nn.reduce
// CHECK:           nn.log
// CHECK:           nn.div
// CHECK:         return %[[R]]#1, %[[R]]#0
func.func @rows(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<4x1xf32>) {
  %0 = nn.neg %x : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = nn.reduce %0 {axes = array<i64: 1>, kind = #nn<combiner max>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %2 = nn.sub %0, %1 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  %3 = nn.exp %2 : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %4 = nn.reduce %3 {axes = array<i64: 1>, kind = #nn<combiner sum>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  %5 = nn.log %4 : (tensor<4x1xf32>) -> tensor<4x1xf32>
  %6 = nn.div %3, %4 : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  return %6, %5 : tensor<4x8xf32>, tensor<4x1xf32>
}

// A reduction of leading dimensions fuses producers that only it reads, and an
// epilogue.
// CHECK-LABEL: func.func @columns
// CHECK:         nn.fusion
// CHECK:           nn.mul
// CHECK:           nn.reduce
// CHECK:           nn.sqrt
// CHECK-NEXT:      nn.yield
// CHECK-NOT:     nn.fusion
func.func @columns(%x: tensor<4x8xf32>) -> tensor<1x8xf32> {
  %0 = nn.mul %x, %x : (tensor<4x8xf32>, tensor<4x8xf32>) -> tensor<4x8xf32>
  %1 = nn.reduce %0 {axes = array<i64: 0>, kind = #nn<combiner sum>} : (tensor<4x8xf32>) -> tensor<1x8xf32>
  %2 = nn.sqrt %1 : (tensor<1x8xf32>) -> tensor<1x8xf32>
  return %2 : tensor<1x8xf32>
}

// So does one whose result loses dimensions of size 1 before what follows.
// CHECK-LABEL: func.func @squeezed
// CHECK:         %[[Y:.*]] = nn.fusion
// CHECK:           nn.reduce
// CHECK:           nn.mul %{{.*}} : (tensor<1x1x8xf32>, tensor<f32>) -> tensor<1x1x8xf32>
// CHECK:           nn.exp
// CHECK-NEXT:      nn.yield
// CHECK:         nn.reshape %[[Y]]
// CHECK-NOT:     nn.fusion
func.func @squeezed(%x: tensor<4x3x8xf32>) -> tensor<1x8xf32> {
  %s = nn.constant dense<2.0> : tensor<f32>
  %0 = nn.reduce %x {axes = array<i64: 0, 1>, kind = #nn<combiner sum>} : (tensor<4x3x8xf32>) -> tensor<1x1x8xf32>
  %1 = nn.reshape %0 {shape = array<i64: 1, 8>} : (tensor<1x1x8xf32>) -> tensor<1x8xf32>
  %2 = nn.mul %1, %s : (tensor<1x8xf32>, tensor<f32>) -> tensor<1x8xf32>
  %3 = nn.exp %2 : (tensor<1x8xf32>) -> tensor<1x8xf32>
  return %3 : tensor<1x8xf32>
}

// add and exp cannot share a kernel, because the contraction runs between them.
// CHECK-LABEL: func.func @cycle
// CHECK:         nn.fusion
// CHECK:           nn.exp
// CHECK-NEXT:      nn.yield
// CHECK:         nn.fusion
// CHECK:           nn.matmul
// CHECK:           nn.add
// CHECK-NEXT:      nn.yield
func.func @cycle(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %0 = nn.exp %x : (tensor<8x8xf32>) -> tensor<8x8xf32>
  %1 = nn.matmul %0, %0 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %2 = nn.add %1, %0 : (tensor<8x8xf32>, tensor<8x8xf32>) -> tensor<8x8xf32>
  return %2 : tensor<8x8xf32>
}

// The embedding is gathered where it is added; each reader gets its own
// counter.
// CHECK-LABEL: func.func @movement
// CHECK-COUNT-1: nn.fusion
// CHECK:           nn.gather
// CHECK:           nn.transpose
// CHECK:           nn.add
// CHECK:           nn.iota
// CHECK:           nn.add
// CHECK:           nn.yield
// CHECK-COUNT-1: nn.fusion
// CHECK:           nn.iota
// CHECK:           nn.reduce
// CHECK-NOT:     nn.fusion
func.func @movement(%t: tensor<9x4xf32>, %i: tensor<3xi64>, %p: tensor<4x3xf32>) -> (tensor<3x4xf32>, tensor<1x4xf32>) {
  %zero = nn.constant dense<0.0> : tensor<f32>
  %one = nn.constant dense<1.0> : tensor<f32>
  %0 = nn.gather %t, %i : (tensor<9x4xf32>, tensor<3xi64>) -> tensor<3x4xf32>
  %1 = nn.transpose %p {perm = array<i64: 1, 0>} : (tensor<4x3xf32>) -> tensor<3x4xf32>
  %2 = nn.iota %zero, %one {axis = 1 : i64, shape = array<i64: 3, 4>} : (tensor<f32>, tensor<f32>) -> tensor<3x4xf32>
  %3 = nn.add %0, %1 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %4 = nn.add %3, %2 : (tensor<3x4xf32>, tensor<3x4xf32>) -> tensor<3x4xf32>
  %5 = nn.exp %2 : (tensor<3x4xf32>) -> tensor<3x4xf32>
  %6 = nn.reduce %5 {axes = array<i64: 0>, kind = #nn<combiner sum>} : (tensor<3x4xf32>) -> tensor<1x4xf32>
  return %4, %6 : tensor<3x4xf32>, tensor<1x4xf32>
}

// A transpose must not read what other threads of its kernel compute.
// CHECK-LABEL: func.func @transposed
// CHECK-COUNT-2: nn.fusion
// CHECK:           nn.transpose
// CHECK-NEXT:      nn.add
func.func @transposed(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = nn.neg %x : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = nn.transpose %0 {perm = array<i64: 1, 0>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = nn.add %1, %0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// A reshape moves after the epilogue, and the residual is reshaped alike.
// CHECK-LABEL: func.func @reshaped
// CHECK-SAME:    %[[R:[^:]*]]: tensor<2x2x8xf32>
// CHECK:         %[[V:.*]] = nn.reshape %[[R]] {shape = array<i64: 4, 8>}
// CHECK:         %[[F:.*]] = nn.fusion(%{{.*}}, %{{.*}}, %[[V]])
// CHECK:           nn.matmul
// CHECK:           nn.add
// CHECK:         nn.reshape %[[F]] {shape = array<i64: 2, 2, 8>}
func.func @reshaped(%x: tensor<4x8xf32>, %w: tensor<8x8xf32>, %r: tensor<2x2x8xf32>) -> tensor<2x2x8xf32> {
  %0 = nn.matmul %x, %w : (tensor<4x8xf32>, tensor<8x8xf32>) -> tensor<4x8xf32>
  %1 = nn.reshape %0 {shape = array<i64: 2, 2, 8>} : (tensor<4x8xf32>) -> tensor<2x2x8xf32>
  %2 = nn.add %1, %r : (tensor<2x2x8xf32>, tensor<2x2x8xf32>) -> tensor<2x2x8xf32>
  return %2 : tensor<2x2x8xf32>
}

// The narrow value is stored; its reader widens it.
// CHECK-LABEL: func.func @widening
// CHECK:         nn.fusion{{.*}} -> tensor<4x8xf16>
// CHECK:           nn.matmul
// CHECK-NEXT:      nn.yield
// CHECK:         nn.fusion
// CHECK:           nn.cast
// CHECK:           nn.reduce
func.func @widening(%x: tensor<4x8xf16>, %w: tensor<8x8xf16>) -> tensor<4x1xf32> {
  %0 = nn.matmul %x, %w : (tensor<4x8xf16>, tensor<8x8xf16>) -> tensor<4x8xf16>
  %1 = nn.cast %0 {to = f32} : (tensor<4x8xf16>) -> tensor<4x8xf32>
  %2 = nn.reduce %1 {axes = array<i64: 1>, kind = #nn<combiner sum>} : (tensor<4x8xf32>) -> tensor<4x1xf32>
  return %2 : tensor<4x1xf32>
}

// CHECK-LABEL: func.func @chain
// CHECK-COUNT-1: nn.fusion
// CHECK:           nn.slice
// CHECK:           nn.transpose
// CHECK:           nn.neg
// CHECK-NOT:     nn.fusion
func.func @chain(%x: tensor<4x6x4xf32>) -> tensor<2x4x4xf32> {
  %0 = nn.slice %x {starts = array<i64: 0, 2, 0>, sizes = array<i64: 4, 2, 4>, steps = array<i64: 1, 1, 1>} : (tensor<4x6x4xf32>) -> tensor<4x2x4xf32>
  %1 = nn.transpose %0 {perm = array<i64: 1, 0, 2>} : (tensor<4x2x4xf32>) -> tensor<2x4x4xf32>
  %2 = nn.neg %1 : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  return %2 : tensor<2x4x4xf32>
}

// A transpose fuses producers that only it reads.
// CHECK-LABEL: func.func @before_transpose
// CHECK-COUNT-1: nn.fusion
// CHECK:           nn.cast
// CHECK:           nn.transpose
// CHECK-NOT:     nn.fusion
func.func @before_transpose(%x: tensor<2x3x4xf32>) -> tensor<2x4x3xf16> {
  %0 = nn.cast %x {to = f16} : (tensor<2x3x4xf32>) -> tensor<2x3x4xf16>
  %1 = nn.transpose %0 {perm = array<i64: 0, 2, 1>} : (tensor<2x3x4xf16>) -> tensor<2x4x3xf16>
  return %1 : tensor<2x4x3xf16>
}

// Contiguous rows are a view; a column is not, nor are rows that do not start
// at 16 bytes.
// CHECK-LABEL: func.func @sliced_views
// CHECK-SAME:    %[[X:[^:]*]]:
// CHECK-DAG:     %[[R:.*]] = nn.slice %[[X]] {{.*}}starts = array<i64: 1, 2, 0>{{.*}} -> tensor<1x2x4xf32>
// CHECK-DAG:     nn.fusion(%[[R]])
// CHECK:         nn.fusion(%[[X]])
// CHECK-NEXT:    ^bb0
// CHECK-NEXT:      nn.slice {{.*}} -> tensor<2x6x1xf32>
func.func @sliced_views(%x: tensor<2x6x4xf32>) -> (tensor<1x2x4xf32>, tensor<2x6x1xf32>) {
  %0 = nn.slice %x {starts = array<i64: 1, 2, 0>, sizes = array<i64: 1, 2, 4>, steps = array<i64: 1, 1, 1>} : (tensor<2x6x4xf32>) -> tensor<1x2x4xf32>
  %1 = nn.exp %0 : (tensor<1x2x4xf32>) -> tensor<1x2x4xf32>
  %2 = nn.slice %x {starts = array<i64: 0, 0, 1>, sizes = array<i64: 2, 6, 1>, steps = array<i64: 1, 1, 1>} : (tensor<2x6x4xf32>) -> tensor<2x6x1xf32>
  return %1, %2 : tensor<1x2x4xf32>, tensor<2x6x1xf32>
}

// A view of a cast input does not need its own kernel.
// CHECK-LABEL: func.func @viewed_cast
// CHECK-SAME:    %[[X:[^:]*]]:
// CHECK:         %[[R:.*]] = nn.reshape %[[X]]
// CHECK:         nn.fusion(%[[R]])
// CHECK-NEXT:    ^bb0
// CHECK-NEXT:      nn.cast
// CHECK-NEXT:      nn.transpose
func.func @viewed_cast(%x: tensor<8x6xf32>) -> tensor<2x6x4xf16> {
  %0 = nn.cast %x {to = f16} : (tensor<8x6xf32>) -> tensor<8x6xf16>
  %1 = nn.reshape %0 {shape = array<i64: 2, 4, 6>} : (tensor<8x6xf16>) -> tensor<2x4x6xf16>
  %2 = nn.transpose %1 {perm = array<i64: 0, 2, 1>} : (tensor<2x4x6xf16>) -> tensor<2x6x4xf16>
  return %2 : tensor<2x6x4xf16>
}

// Nor does a slice that several gathers read, with or without dropping a
// dimension of size 1: each reads the product's result.
// CHECK-LABEL: func.func @picked_slice
// CHECK-SAME:    %[[X:[^:]*]]: {{[^,]*}}, %[[W:[^:]*]]:
// CHECK:         %[[P:.*]] = nn.fusion(%[[X]], %[[W]])
// CHECK:         %[[V:.*]] = nn.reshape %[[P]] {shape = array<i64: 2, 6>}
// CHECK:         nn.fusion(%[[V]])
// CHECK:           nn.mul
// CHECK:         return
func.func @picked_slice(%x: tensor<1x2x8xf32>, %w: tensor<8x6xf32>) -> tensor<2x4xf32> {
  %0 = nn.matmul %x, %w : (tensor<1x2x8xf32>, tensor<8x6xf32>) -> tensor<1x2x6xf32>
  %1 = nn.slice %0 {starts = array<i64: 0, 0, 1>, sizes = array<i64: 1, 2, 4>, steps = array<i64: 1, 1, 1>} : (tensor<1x2x6xf32>) -> tensor<1x2x4xf32>
  %2 = nn.reshape %1 {shape = array<i64: 2, 4>} : (tensor<1x2x4xf32>) -> tensor<2x4xf32>
  %3 = nn.slice %2 {starts = array<i64: 0, 3>, sizes = array<i64: 2, 4>, steps = array<i64: 1, -1>} : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %4 = nn.mul %2, %3 : (tensor<2x4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  return %4 : tensor<2x4xf32>
}

// Selecting one of several is a contiguous range.
// CHECK-LABEL: func.func @picked_one
// CHECK-SAME:    %[[X:[^:]*]]:
// CHECK:         %[[V:.*]] = nn.reshape %[[X]] {shape = array<i64: 5, 12>}
// CHECK:         nn.fusion(%[[V]])
// CHECK:           nn.slice %{{.*}} {sizes = array<i64: 5, 4>, starts = array<i64: 0, 8>, steps = array<i64: 1, 1>}
// CHECK-NEXT:      nn.exp
func.func @picked_one(%x: tensor<5x3x4xf32>) -> tensor<5x4xf32> {
  %0 = nn.slice %x {starts = array<i64: 0, 2, 0>, sizes = array<i64: 5, 1, 4>, steps = array<i64: 1, 1, 1>} : (tensor<5x3x4xf32>) -> tensor<5x1x4xf32>
  %1 = nn.reshape %0 {shape = array<i64: 5, 4>} : (tensor<5x1x4xf32>) -> tensor<5x4xf32>
  %2 = nn.exp %1 : (tensor<5x4xf32>) -> tensor<5x4xf32>
  return %2 : tensor<5x4xf32>
}

// The kernel that reduces rows repeats a row's number for its elements.
// CHECK-LABEL: func.func @repeated
// CHECK:         %[[F:.*]]:2 = nn.fusion(%arg0)
// CHECK:           nn.reduce
// CHECK:           nn.expand
// CHECK:           nn.sub
// CHECK-NOT:     nn.fusion
// CHECK:         return
func.func @repeated(%x: tensor<8x4x6xf32>) -> (tensor<8x1x24xf32>, tensor<8x4x6xf32>) {
  %0 = nn.reduce %x {axes = array<i64: 2>, kind = #nn<combiner sum>} : (tensor<8x4x6xf32>) -> tensor<8x4x1xf32>
  %1 = nn.expand %0 {shape = array<i64: 8, 4, 6>} : (tensor<8x4x1xf32>) -> tensor<8x4x6xf32>
  %2 = nn.reshape %1 {shape = array<i64: 8, 1, 24>} : (tensor<8x4x6xf32>) -> tensor<8x1x24xf32>
  %3 = nn.sub %x, %0 : (tensor<8x4x6xf32>, tensor<8x4x1xf32>) -> tensor<8x4x6xf32>
  return %2, %3 : tensor<8x1x24xf32>, tensor<8x4x6xf32>
}

// A scale of channels, and what is added to it, are computed where they are
// read: they would be a kernel of few elements. A function is not.
// CHECK-LABEL: func.func @few_elements
// CHECK-SAME:    %[[X:[^:]*]]: {{[^,]*}}, %[[M:[^:]*]]:
// CHECK:         nn.fusion(%[[M]])
// CHECK:           nn.exp
// CHECK:         nn.fusion(%[[M]], %[[X]], %{{.*}})
// CHECK:           %[[S:.*]] = nn.slice
// CHECK:           %[[E:.*]] = nn.expand %[[S]] {shape = array<i64: 2, 256, 64>}
// CHECK:           %[[A:.*]] = nn.add %[[E]], %{{.*}} -> tensor<2x256x64xf16>
// CHECK:           nn.mul %{{.*}}, %[[A]]
// CHECK-NOT:     nn.fusion
func.func @few_elements(%x: tensor<2x256x64xf16>, %m: tensor<2x1x128xf16>) -> tensor<2x256x64xf16> {
  %one = nn.constant dense<1.0> : tensor<f16>
  %s = nn.slice %m {sizes = array<i64: 2, 1, 64>, starts = array<i64: 0, 0, 0>, steps = array<i64: 1, 1, 1>} : (tensor<2x1x128xf16>) -> tensor<2x1x64xf16>
  %t = nn.slice %m {sizes = array<i64: 2, 1, 64>, starts = array<i64: 0, 0, 64>, steps = array<i64: 1, 1, 1>} : (tensor<2x1x128xf16>) -> tensor<2x1x64xf16>
  %0 = nn.add %s, %one : (tensor<2x1x64xf16>, tensor<f16>) -> tensor<2x1x64xf16>
  %1 = nn.exp %t : (tensor<2x1x64xf16>) -> tensor<2x1x64xf16>
  %2 = nn.mul %x, %0 : (tensor<2x256x64xf16>, tensor<2x1x64xf16>) -> tensor<2x256x64xf16>
  %3 = nn.add %2, %1 : (tensor<2x256x64xf16>, tensor<2x1x64xf16>) -> tensor<2x256x64xf16>
  return %3 : tensor<2x256x64xf16>
}
