// RUN: frit-opt %s -split-input-file --schedule --run-beside | FileCheck %s

// On the test target a product of two rows takes 6 µs with half of the GPU, and
// elementwise kernels 3 µs with a quarter. Two of these leave time for one.
// CHECK-LABEL: func.func @beside
// CHECK:         nn.matmul
// CHECK:         nn.fusion(%0, %arg2) schedule(#cuda.gemv<columns = 128, threads = 512, blocks = 2>) {nn.beside}
func.func @beside(%t: tensor<2x8xf32>, %x: tensor<4x8xf32>, %w: tensor<8x8xf32>) -> (tensor<2x8xf32>, tensor<4x8xf32>, tensor<2x8xf32>) {
  // The first product, which the second reads, is not before it.
  %0 = nn.fusion(%t, %w) : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32> {
  ^bb0(%a: tensor<2x8xf32>, %b: tensor<8x8xf32>):
    %m = nn.matmul %a, %b : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
    nn.yield %m : tensor<2x8xf32>
  }
  %1 = nn.fusion(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %r = nn.relu %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    nn.yield %r : tensor<4x8xf32>
  }
  %2 = nn.fusion(%1) : (tensor<4x8xf32>) -> tensor<4x8xf32> {
  ^bb0(%a: tensor<4x8xf32>):
    %r = nn.exp %a : (tensor<4x8xf32>) -> tensor<4x8xf32>
    nn.yield %r : tensor<4x8xf32>
  }
  %3 = nn.fusion(%0, %w) : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32> {
  ^bb0(%a: tensor<2x8xf32>, %b: tensor<8x8xf32>):
    %m = nn.matmul %a, %b {transpose_b} : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
    nn.yield %m : tensor<2x8xf32>
  }
  return %0, %2, %3 : tensor<2x8xf32>, tensor<4x8xf32>, tensor<2x8xf32>
}

// -----

// The second product waits for the first, which has taken the time that there
// is. A product waits for its operands, also through views.
// CHECK-LABEL: func.func @late
// CHECK:         nn.fusion({{.*}}) schedule(#cuda.gemv<{{.*}}>) {nn.beside} :
// CHECK:         nn.fusion({{.*}}) schedule(#cuda.gemm<tile_m = 64, tile_n = 64>) :
// CHECK:         nn.fusion({{.*}}) schedule(#cuda.gemm<tile_m = 64, tile_n = 64>) :
func.func @late(%t: tensor<2x8xf32>, %x: tensor<16xf32>, %w: tensor<8x8xf32>) -> (tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>) {
  %0 = nn.fusion(%x) : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%a: tensor<16xf32>):
    %r = nn.relu %a : (tensor<16xf32>) -> tensor<16xf32>
    nn.yield %r : tensor<16xf32>
  }
  %1 = nn.fusion(%0) : (tensor<16xf32>) -> tensor<16xf32> {
  ^bb0(%a: tensor<16xf32>):
    %r = nn.exp %a : (tensor<16xf32>) -> tensor<16xf32>
    nn.yield %r : tensor<16xf32>
  }
  %v = nn.reshape %1 {shape = array<i64: 2, 8>} : (tensor<16xf32>) -> tensor<2x8xf32>
  %2 = nn.fusion(%t, %w) : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32> {
  ^bb0(%a: tensor<2x8xf32>, %b: tensor<8x8xf32>):
    %m = nn.matmul %a, %b {transpose_b} : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
    nn.yield %m : tensor<2x8xf32>
  }
  %3 = nn.fusion(%t, %w) : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32> {
  ^bb0(%a: tensor<2x8xf32>, %b: tensor<8x8xf32>):
    %m = nn.matmul %a, %b {transpose_b} : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
    %r = nn.relu %m : (tensor<2x8xf32>) -> tensor<2x8xf32>
    nn.yield %r : tensor<2x8xf32>
  }
  %4 = nn.fusion(%v, %w) : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32> {
  ^bb0(%a: tensor<2x8xf32>, %b: tensor<8x8xf32>):
    %m = nn.matmul %a, %b : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
    nn.yield %m : tensor<2x8xf32>
  }
  return %2, %3, %4 : tensor<2x8xf32>, tensor<2x8xf32>, tensor<2x8xf32>
}

// -----

// A kernel whose blocks fill the GPU leaves no room.
// CHECK-LABEL: func.func @full
// CHECK-NOT:     nn.beside
func.func @full(%t: tensor<2x8xf32>, %x: tensor<64x64xf32>, %w: tensor<8x8xf32>) -> (tensor<64x64xf32>, tensor<2x8xf32>) {
  %0 = nn.fusion(%x, %x) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>):
    %m = nn.matmul %a, %b : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    nn.yield %m : tensor<64x64xf32>
  }
  %1 = nn.fusion(%0, %0) : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%a: tensor<64x64xf32>, %b: tensor<64x64xf32>):
    %m = nn.matmul %a, %b : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
    nn.yield %m : tensor<64x64xf32>
  }
  %2 = nn.fusion(%t, %w) : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32> {
  ^bb0(%a: tensor<2x8xf32>, %b: tensor<8x8xf32>):
    %m = nn.matmul %a, %b : (tensor<2x8xf32>, tensor<8x8xf32>) -> tensor<2x8xf32>
    nn.yield %m : tensor<2x8xf32>
  }
  return %1, %2 : tensor<64x64xf32>, tensor<2x8xf32>
}
