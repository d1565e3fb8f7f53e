// RUN: frit-opt %s --split-input-file --print-cuda -o /dev/null | FileCheck %s

// Kernels have the numbers of schedules that are written by hand: reductions.

// A row of a team of 8 threads, and two of a team of 16.
// CHECK: // k0 #cuda.row_staged<team = 8, per_thread = 26, vector = 2, skewed = true, threads = 128> grid 40x1x1 block 128 shared
// CHECK: // k1 #cuda.row_staged<team = 16, rows = 2, per_thread = 13, vector = 1, threads = 256> grid 20x1x1 block 256 shared
// CHECK: __launch_bounds__(128)
// CHECK: frit::rowStaged<k0_body, 8, 26, 2, 128, 197>({x0, y0}, 640);
// CHECK: __launch_bounds__(256)
// CHECK: frit::rowStaged<k1_body, 16, 13, 1, 256, 197, 2>({x0, y0}, 640);
func.func @row_staged(%x: tensor<640x197xf16>) {
  %p = nn.fusion(%x) schedule(#cuda.row_staged<team = 8, per_thread = 26, vector = 2, skewed = true, threads = 128>) : (tensor<640x197xf16>) -> tensor<640x197xf16> {
  ^bb0(%a: tensor<640x197xf16>):
    %1 = nn.reduce %a {kind = #nn<combiner max>, axes = array<i64: 1>} : (tensor<640x197xf16>) -> tensor<640x1xf16>
    %2 = nn.sub %a, %1 : (tensor<640x197xf16>, tensor<640x1xf16>) -> tensor<640x197xf16>
    nn.yield %2 : tensor<640x197xf16>
  }
  %q = nn.fusion(%x) schedule(#cuda.row_staged<team = 16, per_thread = 13, vector = 1, rows = 2, threads = 256>) : (tensor<640x197xf16>) -> tensor<640x197xf16> {
  ^bb0(%a: tensor<640x197xf16>):
    %1 = nn.reduce %a {kind = #nn<combiner max>, axes = array<i64: 1>} : (tensor<640x197xf16>) -> tensor<640x1xf16>
    %2 = nn.sub %a, %1 : (tensor<640x197xf16>, tensor<640x1xf16>) -> tensor<640x197xf16>
    nn.yield %2 : tensor<640x197xf16>
  }
  return
}

// -----

// Twelve warps with 24 elements per thread, and four with 32.
// CHECK: // k0 #cuda.row_columns<per_thread = 24, vector = 4, threads = 384> grid 4x1x1 block 384 shared
// CHECK: // k1 #cuda.row_columns<per_thread = 32, vector = 8, threads = 128> grid 4x1x1 block 128 shared
// CHECK: __launch_bounds__(384)
// CHECK: frit::rowColumns<k0_body, 24, 4, 384, 768>({x0, y0, y1}, 128);
// CHECK: __launch_bounds__(128)
// CHECK: frit::rowColumns<k1_body, 32, 8, 128, 768>({x0, y0, y1}, 128);
func.func @row_columns(%x: tensor<512x768xbf16>) {
  %p:2 = nn.fusion(%x) schedule(#cuda.row_columns<per_thread = 24, vector = 4, threads = 384>) : (tensor<512x768xbf16>) -> (tensor<512x768xbf16>, tensor<4x1x768xf32>) {
  ^bb0(%a: tensor<512x768xbf16>):
    %1 = nn.cast %a {to = f32} : (tensor<512x768xbf16>) -> tensor<512x768xf32>
    %2 = nn.mul %1, %1 : (tensor<512x768xf32>, tensor<512x768xf32>) -> tensor<512x768xf32>
    %3 = nn.reduce %2 {axes = array<i64: 1>, kind = #nn<combiner sum>} : (tensor<512x768xf32>) -> tensor<512x1xf32>
    %4 = nn.mul %1, %3 : (tensor<512x768xf32>, tensor<512x1xf32>) -> tensor<512x768xf32>
    %5 = nn.cast %4 {storage, to = bf16} : (tensor<512x768xf32>) -> tensor<512x768xbf16>
    %6 = nn.reshape %2 {shape = array<i64: 4, 128, 768>} : (tensor<512x768xf32>) -> tensor<4x128x768xf32>
    %7 = nn.reduce %6 {axes = array<i64: 1>, kind = #nn<combiner sum>} : (tensor<4x128x768xf32>) -> tensor<4x1x768xf32>
    nn.yield %5, %7 : tensor<512x768xbf16>, tensor<4x1x768xf32>
  }
  %q:2 = nn.fusion(%x) schedule(#cuda.row_columns<per_thread = 32, vector = 8, threads = 128>) : (tensor<512x768xbf16>) -> (tensor<512x768xbf16>, tensor<4x1x768xf32>) {
  ^bb0(%a: tensor<512x768xbf16>):
    %1 = nn.cast %a {to = f32} : (tensor<512x768xbf16>) -> tensor<512x768xf32>
    %2 = nn.mul %1, %1 : (tensor<512x768xf32>, tensor<512x768xf32>) -> tensor<512x768xf32>
    %3 = nn.reduce %2 {axes = array<i64: 1>, kind = #nn<combiner sum>} : (tensor<512x768xf32>) -> tensor<512x1xf32>
    %4 = nn.mul %1, %3 : (tensor<512x768xf32>, tensor<512x1xf32>) -> tensor<512x768xf32>
    %5 = nn.cast %4 {storage, to = bf16} : (tensor<512x768xf32>) -> tensor<512x768xbf16>
    %6 = nn.reshape %2 {shape = array<i64: 4, 128, 768>} : (tensor<512x768xf32>) -> tensor<4x128x768xf32>
    %7 = nn.reduce %6 {axes = array<i64: 1>, kind = #nn<combiner sum>} : (tensor<4x128x768xf32>) -> tensor<4x1x768xf32>
    nn.yield %5, %7 : tensor<512x768xbf16>, tensor<4x1x768xf32>
  }
  return
}

// -----

// Columns in the registers of 8 threads each, and read again by 4.
// CHECK: // k0 #cuda.column<team = 8, per_thread = 13, vector = 2, threads = 256> grid 6x1x1 block 256
// CHECK: // k1 #cuda.column<team = 4, vector = 4, threads = 128> grid 3x1x1 block 128
// CHECK: __launch_bounds__(256)
// CHECK: frit::column<k0_body, 8, 32, 13, 2>({x0, y0}, 384, 100);
// CHECK: __launch_bounds__(128)
// CHECK: frit::column<k1_body, 4, 32, 0, 4>({x0, y0}, 384, 100);
func.func @column(%x: tensor<4x100x96xf16>) {
  %p = nn.fusion(%x) schedule(#cuda.column<team = 8, per_thread = 13, vector = 2, threads = 256>) : (tensor<4x100x96xf16>) -> tensor<4x100x96xf16> {
  ^bb0(%a: tensor<4x100x96xf16>):
    %1 = nn.reduce %a {kind = #nn<combiner max>, axes = array<i64: 1>} : (tensor<4x100x96xf16>) -> tensor<4x1x96xf16>
    %2 = nn.sub %a, %1 : (tensor<4x100x96xf16>, tensor<4x1x96xf16>) -> tensor<4x100x96xf16>
    nn.yield %2 : tensor<4x100x96xf16>
  }
  %q = nn.fusion(%x) schedule(#cuda.column<team = 4, vector = 4, threads = 128>) : (tensor<4x100x96xf16>) -> tensor<4x100x96xf16> {
  ^bb0(%a: tensor<4x100x96xf16>):
    %1 = nn.reduce %a {kind = #nn<combiner max>, axes = array<i64: 1>} : (tensor<4x100x96xf16>) -> tensor<4x1x96xf16>
    %2 = nn.sub %a, %1 : (tensor<4x100x96xf16>, tensor<4x1x96xf16>) -> tensor<4x100x96xf16>
    nn.yield %2 : tensor<4x100x96xf16>
  }
  return
}

// -----

// A sum and what it sums, in one pass over the columns and in one for each.
// CHECK: // k0 #cuda.column<team = 8, vector = 2, threads = 256, joint = true> grid 6x1x1 block 256
// CHECK: // k1 #cuda.column<team = 8, vector = 2, threads = 256> grid 6x1x1 block 256
// CHECK: frit::columnJoint<k0_body, 8, 32, 2>({x0, y0, y1}, 384, 100);
// CHECK: frit::column<k1_body, 8, 32, 0, 2>({x0, y0, y1}, 384, 100);
func.func @column_joint(%x: tensor<4x100x96xf32>) {
  %p:2 = nn.fusion(%x) schedule(#cuda.column<team = 8, vector = 2, threads = 256, joint = true>) : (tensor<4x100x96xf32>) -> (tensor<4x1x96xf32>, tensor<4x100x96xf32>) {
  ^bb0(%a: tensor<4x100x96xf32>):
    %1 = nn.exp %a : (tensor<4x100x96xf32>) -> tensor<4x100x96xf32>
    %2 = nn.reduce %1 {kind = #nn<combiner sum>, axes = array<i64: 1>} : (tensor<4x100x96xf32>) -> tensor<4x1x96xf32>
    nn.yield %2, %1 : tensor<4x1x96xf32>, tensor<4x100x96xf32>
  }
  %q:2 = nn.fusion(%x) schedule(#cuda.column<team = 8, vector = 2, threads = 256>) : (tensor<4x100x96xf32>) -> (tensor<4x1x96xf32>, tensor<4x100x96xf32>) {
  ^bb0(%a: tensor<4x100x96xf32>):
    %1 = nn.exp %a : (tensor<4x100x96xf32>) -> tensor<4x100x96xf32>
    %2 = nn.reduce %1 {kind = #nn<combiner sum>, axes = array<i64: 1>} : (tensor<4x100x96xf32>) -> tensor<4x1x96xf32>
    nn.yield %2, %1 : tensor<4x1x96xf32>, tensor<4x100x96xf32>
  }
  return
}

// -----

// Columns in shared memory, of four blocks per SM and of two.
// CHECK: // k0 #cuda.column_shared<team = 32, vector = 8, threads = 256, occupancy = 4> grid 4x1x1 block 256 shared
// CHECK: // k1 #cuda.column_shared<team = 64, vector = 8, threads = 512, occupancy = 2> grid 4x1x1 block 512 shared
// CHECK: __launch_bounds__(256, 4)
// CHECK: frit::columnShared<k0_body, 32, 8, 8>({x0, y0}, 256, 256);
// CHECK: __launch_bounds__(512, 2)
// CHECK: frit::columnShared<k1_body, 64, 8, 8>({x0, y0}, 256, 256);
func.func @column_shared(%x: tensor<4x256x64xf16>) {
  %p = nn.fusion(%x) schedule(#cuda.column_shared<team = 32, vector = 8, threads = 256, occupancy = 4>) : (tensor<4x256x64xf16>) -> tensor<4x256x64xf16> {
  ^bb0(%a: tensor<4x256x64xf16>):
    %1 = nn.reduce %a {kind = #nn<combiner max>, axes = array<i64: 1>} : (tensor<4x256x64xf16>) -> tensor<4x1x64xf16>
    %2 = nn.sub %a, %1 : (tensor<4x256x64xf16>, tensor<4x1x64xf16>) -> tensor<4x256x64xf16>
    nn.yield %2 : tensor<4x256x64xf16>
  }
  %q = nn.fusion(%x) schedule(#cuda.column_shared<team = 64, vector = 8, threads = 512, occupancy = 2>) : (tensor<4x256x64xf16>) -> tensor<4x256x64xf16> {
  ^bb0(%a: tensor<4x256x64xf16>):
    %1 = nn.reduce %a {kind = #nn<combiner max>, axes = array<i64: 1>} : (tensor<4x256x64xf16>) -> tensor<4x1x64xf16>
    %2 = nn.sub %a, %1 : (tensor<4x256x64xf16>, tensor<4x1x64xf16>) -> tensor<4x256x64xf16>
    nn.yield %2 : tensor<4x256x64xf16>
  }
  return
}
