// Printing and parsing round-trips.
// RUN: frit-opt %s > %t && frit-opt %t | FileCheck %s && frit-opt %t | diff %t -

// CHECK-LABEL: @constants
func.func @constants() -> (tensor<2xf32>, tensor<ui8>, tensor<f8E4M3FN>) {
  // CHECK: nn.constant "encoder.0.weight" dense<[1.000000e+00, 2.000000e+00]> : tensor<2xf32>
  %0 = nn.constant "encoder.0.weight" dense<[1.0, 2.0]> : tensor<2xf32>
  // CHECK: nn.constant dense<255> : tensor<ui8>
  %1 = nn.constant dense<255> : tensor<ui8>
  // CHECK: nn.constant dense<1.000000e+00> : tensor<f8E4M3FN>
  %2 = nn.constant dense<1.0> : tensor<f8E4M3FN>
  return %0, %1, %2 : tensor<2xf32>, tensor<ui8>, tensor<f8E4M3FN>
}

// CHECK-LABEL: @fusion
func.func @fusion(%x: tensor<4x8xf16>, %b: tensor<8xf16>) -> (tensor<4x8xf16>, tensor<4x1xf16>) {
  // CHECK: nn.fusion(%{{.*}}, %{{.*}}) schedule(#cuda.row<team = 1, per_thread = 8, vector = 8, threads = 128>) :
  // CHECK-SAME: (tensor<4x8xf16>, tensor<8xf16>) -> (tensor<4x8xf16>, tensor<4x1xf16>) {
  %0:2 = nn.fusion(%x, %b) schedule(#cuda.row<team = 1, per_thread = 8, vector = 8, threads = 128>) : (tensor<4x8xf16>, tensor<8xf16>) -> (tensor<4x8xf16>, tensor<4x1xf16>) {
  // CHECK-NEXT: ^bb0(%{{.*}}: tensor<4x8xf16>, %{{.*}}: tensor<8xf16>):
  ^bb0(%a: tensor<4x8xf16>, %c: tensor<8xf16>):
    %1 = nn.add %a, %c : (tensor<4x8xf16>, tensor<8xf16>) -> tensor<4x8xf16>
    // CHECK: nn.reduce %{{.*}} {axes = array<i64: 1>, kind = #nn<combiner max>}
    %2 = nn.reduce %1 {kind = #nn<combiner max>, axes = array<i64: 1>} : (tensor<4x8xf16>) -> tensor<4x1xf16>
    // CHECK: nn.yield %{{.*}}, %{{.*}} : tensor<4x8xf16>, tensor<4x1xf16>
    nn.yield %1, %2 : tensor<4x8xf16>, tensor<4x1xf16>
  }
  // CHECK: nn.fusion(%{{.*}}) : (tensor<4x8xf16>) -> () {
  nn.fusion(%x) : (tensor<4x8xf16>) -> () {
  ^bb0(%a: tensor<4x8xf16>):
    nn.yield
  }
  return %0#0, %0#1 : tensor<4x8xf16>, tensor<4x1xf16>
}

// CHECK-LABEL: @attributes
func.func @attributes(%x: tensor<1x4x8x8xbf16>, %w: tensor<4x2x3x3xbf16>) {
  // CHECK: nn.conv %{{.*}}, %{{.*}} {dilations = array<i64: 1, 1>, group = 2 : i64, pads = array<i64: 1, 1, 1, 1>, strides = array<i64: 2, 2>, tf32}
  %0 = nn.conv %x, %w {strides = array<i64: 2, 2>, pads = array<i64: 1, 1, 1, 1>, dilations = array<i64: 1, 1>, group = 2 : i64, tf32} : (tensor<1x4x8x8xbf16>, tensor<4x2x3x3xbf16>) -> tensor<1x4x4x4xbf16>
  // CHECK: nn.gelu %{{.*}} {approximate = "tanh"}
  %1 = nn.gelu %0 {approximate = "tanh"} : (tensor<1x4x4x4xbf16>) -> tensor<1x4x4x4xbf16>
  // CHECK: nn.gelu %{{.*}} : (
  %2 = nn.gelu %0 : (tensor<1x4x4x4xbf16>) -> tensor<1x4x4x4xbf16>
  return
}

// CHECK-LABEL: @counted
func.func @counted(%x: tensor<2x12xf32>, %n: tensor<i64>) -> tensor<2x7xf32> {
  // CHECK: nn.counted %{{.*}}, %{{.*}} {axis = 1 : i64, number = 0 : i64, size = 7 : i64} :
  %0 = nn.counted %x, %n {axis = 1 : i64, number = 0 : i64, size = 7 : i64} : (tensor<2x12xf32>, tensor<i64>) -> tensor<2x7xf32>
  return %0 : tensor<2x7xf32>
}

// CHECK: nn.state @params : tensor<8xf32> [#nn.member<"w" at 0 : tensor<2x3xf32>>]
nn.state @params : tensor<8xf32> [#nn.member<"w" at 0 : tensor<2x3xf32>>]
// CHECK: nn.state @params.f16 : tensor<8xf16> [] {derived_from = @params}
nn.state @params.f16 : tensor<8xf16> [] {derived_from = @params}

// CHECK-LABEL: @all_reduce
func.func @all_reduce(%x: tensor<8xf32>) -> tensor<8xf32> {
  // CHECK: nn.all_reduce %{{.*}} : (tensor<8xf32>) -> tensor<8xf32>
  %0 = nn.all_reduce %x : (tensor<8xf32>) -> tensor<8xf32>
  // CHECK: nn.all_reduce %{{.*}} {sum} : (tensor<8xf32>) -> tensor<8xf32>
  %1 = nn.all_reduce %0 {sum} : (tensor<8xf32>) -> tensor<8xf32>
  return %1 : tensor<8xf32>
}

// CHECK: nn.state @m : tensor<8192xf32> [#nn.member<"w" at 0 : tensor<8192xf32>>] {sharded}
nn.state @m : tensor<8192xf32> [#nn.member<"w" at 0 : tensor<8192xf32>>] {sharded}

// CHECK-LABEL: @shards
func.func @shards(%g: tensor<8192xbf16>, %p: tensor<8192xf32>) -> (tensor<8192xbf16>, tensor<8192xf32>) {
  // CHECK: nn.reduce_scatter %{{.*}} : (tensor<8192xbf16>) -> tensor<8192xbf16>
  %0 = nn.reduce_scatter %g : (tensor<8192xbf16>) -> tensor<8192xbf16>
  // CHECK: nn.all_gather %{{.*}} : (tensor<8192xf32>) -> tensor<8192xf32>
  %1 = nn.all_gather %p : (tensor<8192xf32>) -> tensor<8192xf32>
  return %0, %1 : tensor<8192xbf16>, tensor<8192xf32>
}

// CHECK-LABEL: @pack
func.func @pack(%x: tensor<2x3xf32>) -> tensor<8xf32> {
  // CHECK: nn.pack %{{.*}} {offsets = array<i64: 0>, size = 8 : i64} :
  %0 = nn.pack %x {offsets = array<i64: 0>, size = 8 : i64} : (tensor<2x3xf32>) -> tensor<8xf32>
  return %0 : tensor<8xf32>
}
