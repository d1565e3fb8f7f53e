// RUN: frit-opt %s --split-input-file --print-cuda -o /dev/null | FileCheck %s
// RUN: frit-opt %s --split-input-file --print-cuda -o /dev/null | sed -n 's/.*\(#cuda[^ ]*.*>\) grid.*/\1/p' | FileCheck %s --check-prefix=KEPT

// Emission uses the schedule that the file states; it decides nothing.

func.func @written(%x: tensor<4096x256xf32>) {
  // CHECK: // k0 #cuda.map<vector = 2, threads = 128> grid 4096x1x1 block 128
  // CHECK: frit::map<2>(
  // KEPT: #cuda.map<vector = 2, threads = 128>
  %0 = nn.fusion(%x) schedule(#cuda.map<vector = 2, threads = 128>) : (tensor<4096x256xf32>) -> tensor<4096x256xf32> {
  ^bb0(%a: tensor<4096x256xf32>):
    %1 = nn.relu %a : (tensor<4096x256xf32>) -> tensor<4096x256xf32>
    nn.yield %1 : tensor<4096x256xf32>
  }
  return
}

// -----

// The same rows in registers of two threads, in registers of a block, in shared
// memory, and read again in each phase.
func.func @rows(%x: tensor<64x64xf32>) {
  // CHECK: // k0 {{.*}} grid 1x1x1 block 128
  // CHECK: // k1 {{.*}} grid 64x1x1 block 64
  // CHECK: // k2 {{.*}} grid 64x1x1 block 32 shared 256
  // CHECK: // k3 {{.*}} grid 64x1x1 block 32
  // CHECK: frit::row<k0_body, 2, 32, 4, 128>(
  // CHECK: frit::row<k1_body, 64, 1, 1>(
  // CHECK: frit::rowShared<k2_body, 32, 2>(
  // CHECK: frit::row<k3_body, 32, 1, 1>(
  // KEPT: #cuda.row<team = 2, per_thread = 32, vector = 4, threads = 128>
  // KEPT: #cuda.row<team = 64, per_thread = 1, vector = 1, threads = 64>
  // KEPT: #cuda.row_shared<vector = 2, threads = 32>
  // KEPT: #cuda.row_streamed<per_thread = 1, vector = 1, threads = 32>
  %0 = nn.fusion(%x) schedule(#cuda.row<team = 2, per_thread = 32, vector = 4, threads = 128>) : (tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%a: tensor<64x64xf32>):
    %1 = nn.reduce %a {kind = #nn<combiner max>, axes = array<i64: 1>} : (tensor<64x64xf32>) -> tensor<64x1xf32>
    %2 = nn.sub %a, %1 : (tensor<64x64xf32>, tensor<64x1xf32>) -> tensor<64x64xf32>
    nn.yield %2 : tensor<64x64xf32>
  }
  %r1 = nn.fusion(%x) schedule(#cuda.row<team = 64, per_thread = 1, vector = 1, threads = 64>) : (tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%a: tensor<64x64xf32>):
    %1 = nn.reduce %a {kind = #nn<combiner max>, axes = array<i64: 1>} : (tensor<64x64xf32>) -> tensor<64x1xf32>
    %2 = nn.sub %a, %1 : (tensor<64x64xf32>, tensor<64x1xf32>) -> tensor<64x64xf32>
    nn.yield %2 : tensor<64x64xf32>
  }
  %r2 = nn.fusion(%x) schedule(#cuda.row_shared<vector = 2, threads = 32>) : (tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%a: tensor<64x64xf32>):
    %1 = nn.reduce %a {kind = #nn<combiner max>, axes = array<i64: 1>} : (tensor<64x64xf32>) -> tensor<64x1xf32>
    %2 = nn.sub %a, %1 : (tensor<64x64xf32>, tensor<64x1xf32>) -> tensor<64x64xf32>
    nn.yield %2 : tensor<64x64xf32>
  }
  %r3 = nn.fusion(%x) schedule(#cuda.row_streamed<per_thread = 1, vector = 1, threads = 32>) : (tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%a: tensor<64x64xf32>):
    %1 = nn.reduce %a {kind = #nn<combiner max>, axes = array<i64: 1>} : (tensor<64x64xf32>) -> tensor<64x1xf32>
    %2 = nn.sub %a, %1 : (tensor<64x64xf32>, tensor<64x1xf32>) -> tensor<64x64xf32>
    nn.yield %2 : tensor<64x64xf32>
  }
  return
}
