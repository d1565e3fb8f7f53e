// RUN: frit-opt %s -split-input-file --print-cuda -o /dev/null | FileCheck %s

// Products of a few rows read each weight once. Warps divide k until the SMs
// have enough of them; a warp has 4 columns.

// CHECK: // k0 #cuda.gemv<columns = 4, split = 8, threads = 256> grid 512x1x1 block 256
// CHECK: static constexpr int64_t m = 1, n = 2048, k = 2048, batch = 1;
// CHECK: static constexpr bool transposeA = false, transposeB = true;
// CHECK: static constexpr int columns = 4, split = 8, threads = 256;
// CHECK: static constexpr bool early = false;
// CHECK: void __launch_bounds__(256)
// CHECK-NEXT: k0(
// CHECK-NEXT: frit::pdlTrigger();
// CHECK-NEXT: frit::gemv<k0_problem>(x0, x1, x2, nullptr, y0);
func.func @residual(%x: tensor<1x2048xbf16>, %w: tensor<2048x2048xbf16>, %r: tensor<1x2048xbf16>) {
  %0 = nn.fusion(%x, %w, %r) : (tensor<1x2048xbf16>, tensor<2048x2048xbf16>, tensor<1x2048xbf16>) -> tensor<1x2048xbf16> {
  ^bb0(%a: tensor<1x2048xbf16>, %b: tensor<2048x2048xbf16>, %c: tensor<1x2048xbf16>):
    %1 = nn.matmul %a, %b {transpose_b} : (tensor<1x2048xbf16>, tensor<2048x2048xbf16>) -> tensor<1x2048xbf16>
    %2 = nn.add %1, %c : (tensor<1x2048xbf16>, tensor<1x2048xbf16>) -> tensor<1x2048xbf16>
    nn.yield %2 : tensor<1x2048xbf16>
  }
  return
}

// -----

// A large matrix has enough columns for all warps. Its rows are of n here.
// CHECK: // k0 #cuda.gemv<columns = 64, threads = 256> grid 512x1x1 block 256
// CHECK: transposeB = false
func.func @plain(%x: tensor<4x256xf16>, %w: tensor<256x32768xf16>) {
  %0 = nn.fusion(%x, %w) : (tensor<4x256xf16>, tensor<256x32768xf16>) -> tensor<4x32768xf16> {
  ^bb0(%a: tensor<4x256xf16>, %b: tensor<256x32768xf16>):
    %1 = nn.matmul %a, %b : (tensor<4x256xf16>, tensor<256x32768xf16>) -> tensor<4x32768xf16>
    nn.yield %1 : tensor<4x32768xf16>
  }
  return
}

// -----

// The schedule may be written by hand. A lane has a result, so columns of a warp
// times rows are at most 32.
// CHECK: // k0 #cuda.gemv<columns = 16, split = 2, threads = 128> grid 64x1x1 block 128
func.func @given(%x: tensor<3x512xf32>, %w: tensor<1024x512xf32>) {
  %0 = nn.fusion(%x, %w) schedule(#cuda.gemv<columns = 16, split = 2, threads = 128>) : (tensor<3x512xf32>, tensor<1024x512xf32>) -> tensor<3x1024xf32> {
  ^bb0(%a: tensor<3x512xf32>, %b: tensor<1024x512xf32>):
    %1 = nn.matmul %a, %b {transpose_b} : (tensor<3x512xf32>, tensor<1024x512xf32>) -> tensor<3x1024xf32>
    nn.yield %1 : tensor<3x1024xf32>
  }
  return
}

// -----

// More rows, and rows that begin elsewhere, are left to other kernels.
// CHECK: // k0 #cuda.rows_gemm
// CHECK: // k1 #cuda.{{(cublas_)?}}gemm
func.func @others(%x: tensor<5x512xf16>, %w: tensor<64x512xf16>, %y: tensor<1x510xf16>, %v: tensor<64x510xf16>) {
  %0 = nn.fusion(%x, %w) : (tensor<5x512xf16>, tensor<64x512xf16>) -> tensor<5x64xf16> {
  ^bb0(%a: tensor<5x512xf16>, %b: tensor<64x512xf16>):
    %1 = nn.matmul %a, %b {transpose_b} : (tensor<5x512xf16>, tensor<64x512xf16>) -> tensor<5x64xf16>
    nn.yield %1 : tensor<5x64xf16>
  }
  %2 = nn.fusion(%y, %v) : (tensor<1x510xf16>, tensor<64x510xf16>) -> tensor<1x64xf16> {
  ^bb0(%a: tensor<1x510xf16>, %b: tensor<64x510xf16>):
    %1 = nn.matmul %a, %b {transpose_b} : (tensor<1x510xf16>, tensor<64x510xf16>) -> tensor<1x64xf16>
    nn.yield %1 : tensor<1x64xf16>
  }
  return
}

// -----

// A few blocks, beside which other kernels run, take turns on all columns. The
// next kernel starts when they end.
// CHECK: // k0 #cuda.gemv<columns = 128, threads = 512, blocks = 22> grid 22x1x1 block 512
// CHECK: static constexpr bool inTurns = true;
// CHECK: void __launch_bounds__(512)
// CHECK-NOT: pdlTrigger
// CHECK: frit::gemv<k0_problem>
func.func @beside(%x: tensor<2x512xf16>, %w: tensor<8192x512xf16>) {
  %0 = nn.fusion(%x, %w) schedule(#cuda.gemv<columns = 128, threads = 512, blocks = 22>) : (tensor<2x512xf16>, tensor<8192x512xf16>) -> tensor<2x8192xf16> {
  ^bb0(%a: tensor<2x512xf16>, %b: tensor<8192x512xf16>):
    %1 = nn.matmul %a, %b {transpose_b} : (tensor<2x512xf16>, tensor<8192x512xf16>) -> tensor<2x8192xf16>
    nn.yield %1 : tensor<2x8192xf16>
  }
  return
}

// -----

// With stages, a warp has 16 columns, and copies parts of them to its ring in
// shared memory: all of an SM, so that no other block waits for its copies.
// CHECK: // k0 #cuda.gemv<columns = 256, threads = 512, blocks = 12, stages = 4> grid 12x1x1 block 512 shared 232448
// CHECK-NOT: inTurns
// CHECK: static constexpr int stages = 4, sharedBytes = 232448;
// CHECK-NOT: pdlTrigger
// CHECK: frit::gemvTurns<k0_problem>
func.func @rings(%x: tensor<2x512xf16>, %w: tensor<8192x512xf16>) {
  %0 = nn.fusion(%x, %w) schedule(#cuda.gemv<columns = 256, threads = 512, blocks = 12, stages = 4>) : (tensor<2x512xf16>, tensor<8192x512xf16>) -> tensor<2x8192xf16> {
  ^bb0(%a: tensor<2x512xf16>, %b: tensor<8192x512xf16>):
    %1 = nn.matmul %a, %b {transpose_b} : (tensor<2x512xf16>, tensor<8192x512xf16>) -> tensor<2x8192xf16>
    nn.yield %1 : tensor<2x8192xf16>
  }
  return
}
