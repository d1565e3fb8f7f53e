// RUN: frit-opt %s -split-input-file --print-cuda -o /dev/null | FileCheck %s

// Products of a few rows read codes. Warps share k until all SMs have enough of
// them; the epilogue is a part of the kernel.

// CHECK: // k0 #cuda.rows_gemm<tiles = 1, stages = 2, split = 8, threads = 256, together = 2> grid 128x1x1 block 256
// CHECK: static constexpr int64_t m = 1, n = 2048, k = 2048;
// CHECK: using Scale = frit::f16;
// CHECK: static constexpr int block = 64;
// CHECK: static constexpr bool hasOffsets = false;
// CHECK: static constexpr frit::Code code = frit::Code::int4;
// CHECK: static constexpr int tiles = 1, stages = 2, split = 8, threads = 256,
// CHECK: frit::codeRows<k0_problem>(x0, nullptr, {{[{][{]}}x1, x2, nullptr{{[}][}]}}, x3, nullptr, y0);
func.func @residual(%x: tensor<1x2048xbf16>, %c: tensor<128x32x512xui8>, %s: tensor<128x32x16xf16>, %r: tensor<1x2048xbf16>) {
  %0 = nn.fusion(%x, %c, %s, %r) : (tensor<1x2048xbf16>, tensor<128x32x512xui8>, tensor<128x32x16xf16>, tensor<1x2048xbf16>) -> tensor<1x2048xbf16> {
  ^bb0(%a: tensor<1x2048xbf16>, %b: tensor<128x32x512xui8>, %f: tensor<128x32x16xf16>, %d: tensor<1x2048xbf16>):
    %w = nn.dequantize %b, %f {code = "int4", tiled, to = bf16} : (tensor<128x32x512xui8>, tensor<128x32x16xf16>) -> tensor<2048x2048xbf16>
    %1 = nn.matmul %a, %w {transpose_b} : (tensor<1x2048xbf16>, tensor<2048x2048xbf16>) -> tensor<1x2048xbf16>
    %2 = nn.add %1, %d : (tensor<1x2048xbf16>, tensor<1x2048xbf16>) -> tensor<1x2048xbf16>
    nn.yield %2 : tensor<1x2048xbf16>
  }
  return
}

// -----

// Of many columns each warp has several tiles, one after another. For more rows,
// parts of k, and so the order of sums, are the same.
// CHECK: // k0 #cuda.rows_gemm<tiles = 1, stages = 4, split = 8, threads = 512, rounds = 4, together = 2> grid 128x1x1
// CHECK: // k1 #cuda.rows_gemm<tiles = 1, stages = 4, split = 8, threads = 512, rounds = 4, together = 2> grid 128x1x1
// CHECK: static constexpr int rounds = 4;
// CHECK: static constexpr int together = 2;
// CHECK: static constexpr frit::Code code = frit::Code::int8;
func.func @wide(%x: tensor<8x512xf16>, %y: tensor<16x512xf16>, %c: tensor<1024x16x512xui8>, %s: tensor<1024x1x16xf16>) {
  %0 = nn.fusion(%x, %c, %s) : (tensor<8x512xf16>, tensor<1024x16x512xui8>, tensor<1024x1x16xf16>) -> tensor<8x16384xf16> {
  ^bb0(%a: tensor<8x512xf16>, %b: tensor<1024x16x512xui8>, %f: tensor<1024x1x16xf16>):
    %w = nn.dequantize %b, %f {code = "int8", tiled, to = f16} : (tensor<1024x16x512xui8>, tensor<1024x1x16xf16>) -> tensor<16384x512xf16>
    %1 = nn.matmul %a, %w {transpose_b} : (tensor<8x512xf16>, tensor<16384x512xf16>) -> tensor<8x16384xf16>
    nn.yield %1 : tensor<8x16384xf16>
  }
  %2 = nn.fusion(%y, %c, %s) : (tensor<16x512xf16>, tensor<1024x16x512xui8>, tensor<1024x1x16xf16>) -> tensor<16x16384xf16> {
  ^bb0(%a: tensor<16x512xf16>, %b: tensor<1024x16x512xui8>, %f: tensor<1024x1x16xf16>):
    %w = nn.dequantize %b, %f {code = "int8", tiled, to = f16} : (tensor<1024x16x512xui8>, tensor<1024x1x16xf16>) -> tensor<16384x512xf16>
    %1 = nn.matmul %a, %w {transpose_b} : (tensor<16x512xf16>, tensor<16384x512xf16>) -> tensor<16x16384xf16>
    nn.yield %1 : tensor<16x16384xf16>
  }
  return
}

// -----

// The head of a model has fewer sums in shared memory if its layers have small
// blocks, as those of int4.
// CHECK: // k0 #cuda.rows_gemm<tiles = 1, stages = 2, split = 8, threads = 512, rounds = 31, together = 4> grid 130x1x1
// CHECK: sharedBytes = 102176;
func.func @head(%x: tensor<1x2048xbf16>, %c: tensor<8016x64x512xui8>, %s: tensor<8016x1x16xf16>) {
  %0 = nn.fusion(%x, %c, %s) : (tensor<1x2048xbf16>, tensor<8016x64x512xui8>, tensor<8016x1x16xf16>) -> tensor<1x128256xbf16> {
  ^bb0(%a: tensor<1x2048xbf16>, %b: tensor<8016x64x512xui8>, %f: tensor<8016x1x16xf16>):
    %w = nn.dequantize %b, %f {code = "int8", tiled, to = bf16} : (tensor<8016x64x512xui8>, tensor<8016x1x16xf16>) -> tensor<128256x2048xbf16>
    %1 = nn.matmul %a, %w {transpose_b} : (tensor<1x2048xbf16>, tensor<128256x2048xbf16>) -> tensor<1x128256xbf16>
    nn.yield %1 : tensor<1x128256xbf16>
  }
  return
}

// -----

// CHECK: // k0 #cuda.rows_gemm<{{.*}}rounds = 31, together = 4, sums = 28> grid 130x1x1
// CHECK: // k1 #cuda.rows_gemm<tiles = 1, stages = 2, split = 8, threads = 256, together = 2> grid 128x1x1
// CHECK: static constexpr int sums = 28;
// CHECK: sharedBytes = 98336;
func.func @head_of_int4(%x: tensor<1x2048xbf16>, %c: tensor<8016x64x512xui8>, %s: tensor<8016x1x16xf16>, %d: tensor<128x32x512xui8>, %t: tensor<128x32x16xf16>) {
  %0 = nn.fusion(%x, %c, %s) : (tensor<1x2048xbf16>, tensor<8016x64x512xui8>, tensor<8016x1x16xf16>) -> tensor<1x128256xbf16> {
  ^bb0(%a: tensor<1x2048xbf16>, %b: tensor<8016x64x512xui8>, %f: tensor<8016x1x16xf16>):
    %w = nn.dequantize %b, %f {code = "int8", tiled, to = bf16} : (tensor<8016x64x512xui8>, tensor<8016x1x16xf16>) -> tensor<128256x2048xbf16>
    %1 = nn.matmul %a, %w {transpose_b} : (tensor<1x2048xbf16>, tensor<128256x2048xbf16>) -> tensor<1x128256xbf16>
    nn.yield %1 : tensor<1x128256xbf16>
  }
  %2 = nn.fusion(%x, %d, %t) : (tensor<1x2048xbf16>, tensor<128x32x512xui8>, tensor<128x32x16xf16>) -> tensor<1x2048xbf16> {
  ^bb0(%a: tensor<1x2048xbf16>, %b: tensor<128x32x512xui8>, %f: tensor<128x32x16xf16>):
    %w = nn.dequantize %b, %f {code = "int4", tiled, to = bf16} : (tensor<128x32x512xui8>, tensor<128x32x16xf16>) -> tensor<2048x2048xbf16>
    %1 = nn.matmul %a, %w {transpose_b} : (tensor<1x2048xbf16>, tensor<2048x2048xbf16>) -> tensor<1x2048xbf16>
    nn.yield %1 : tensor<1x2048xbf16>
  }
  return
}

// -----

// For several rows a long kernel has more on its way, and products of a short
// one begin when the first tiles have arrived. Of its blocks, an SM gets one.
// CHECK: // k0 #cuda.rows_gemm<tiles = 1, stages = 4, split = 8, threads = 512, rounds = 31, together = 4> grid 130x1x1
// CHECK: // k1 #cuda.rows_gemm<tiles = 1, stages = 4, split = 8, threads = 512, shared = 114> grid 96x1x1 block 512 shared 116736
func.func @several(%x: tensor<8x2048xf16>, %c: tensor<8016x64x512xui8>, %s: tensor<8016x1x16xf16>, %d: tensor<192x32x512xui8>, %t: tensor<192x32x16xf16>) {
  %0 = nn.fusion(%x, %c, %s) : (tensor<8x2048xf16>, tensor<8016x64x512xui8>, tensor<8016x1x16xf16>) -> tensor<8x128256xf16> {
  ^bb0(%a: tensor<8x2048xf16>, %b: tensor<8016x64x512xui8>, %f: tensor<8016x1x16xf16>):
    %w = nn.dequantize %b, %f {code = "int8", tiled, to = f16} : (tensor<8016x64x512xui8>, tensor<8016x1x16xf16>) -> tensor<128256x2048xf16>
    %1 = nn.matmul %a, %w {transpose_b} : (tensor<8x2048xf16>, tensor<128256x2048xf16>) -> tensor<8x128256xf16>
    nn.yield %1 : tensor<8x128256xf16>
  }
  %2 = nn.fusion(%x, %d, %t) : (tensor<8x2048xf16>, tensor<192x32x512xui8>, tensor<192x32x16xf16>) -> tensor<8x3072xf16> {
  ^bb0(%a: tensor<8x2048xf16>, %b: tensor<192x32x512xui8>, %f: tensor<192x32x16xf16>):
    %w = nn.dequantize %b, %f {code = "int4", tiled, to = f16} : (tensor<192x32x512xui8>, tensor<192x32x16xf16>) -> tensor<3072x2048xf16>
    %1 = nn.matmul %a, %w {transpose_b} : (tensor<8x2048xf16>, tensor<3072x2048xf16>) -> tensor<8x3072xf16>
    nn.yield %1 : tensor<8x3072xf16>
  }
  return
}

// -----

// For long rows an SM has two blocks; for several of them one, whose warps
// convert them together.
// CHECK: // k0 #cuda.rows_gemm<tiles = 1, stages = 4, split = 8, threads = 256, together = 4> grid 256x1x1
// CHECK: // k1 #cuda.rows_gemm<tiles = 1, stages = 2, split = 8, threads = 512, together = 4> grid 128x1x1
func.func @long(%x: tensor<1x14336xbf16>, %y: tensor<4x14336xbf16>, %c: tensor<256x448x512xui8>, %s: tensor<256x1x16xf16>) {
  %0 = nn.fusion(%x, %c, %s) : (tensor<1x14336xbf16>, tensor<256x448x512xui8>, tensor<256x1x16xf16>) -> tensor<1x4096xbf16> {
  ^bb0(%a: tensor<1x14336xbf16>, %b: tensor<256x448x512xui8>, %f: tensor<256x1x16xf16>):
    %w = nn.dequantize %b, %f {code = "int8", tiled, to = bf16} : (tensor<256x448x512xui8>, tensor<256x1x16xf16>) -> tensor<4096x14336xbf16>
    %1 = nn.matmul %a, %w {transpose_b} : (tensor<1x14336xbf16>, tensor<4096x14336xbf16>) -> tensor<1x4096xbf16>
    nn.yield %1 : tensor<1x4096xbf16>
  }
  %2 = nn.fusion(%y, %c, %s) : (tensor<4x14336xbf16>, tensor<256x448x512xui8>, tensor<256x1x16xf16>) -> tensor<4x4096xbf16> {
  ^bb0(%a: tensor<4x14336xbf16>, %b: tensor<256x448x512xui8>, %f: tensor<256x1x16xf16>):
    %w = nn.dequantize %b, %f {code = "int8", tiled, to = bf16} : (tensor<256x448x512xui8>, tensor<256x1x16xf16>) -> tensor<4096x14336xbf16>
    %1 = nn.matmul %a, %w {transpose_b} : (tensor<4x14336xbf16>, tensor<4096x14336xbf16>) -> tensor<4x4096xbf16>
    nn.yield %1 : tensor<4x4096xbf16>
  }
  return
}

// -----

// Several rows of bf16 stay as they are, and codes of 4 bits become numbers of
// their type. Results that must not depend on the batch need bytes, as of one
// row (batch-invariant.py).
// CHECK: // k0 #cuda.rows_gemm<tiles = 1, stages = 1, split = 16, threads = 512, together = 4, widens = true, sharing = 2> grid 128x1x1 block 512
// CHECK: // k1 #cuda.rows_gemm<tiles = 1, stages = 1, split = 16, threads = 512, together = 4> grid
// CHECK: static constexpr bool widens = true;
// CHECK-NOT: widens
func.func @widened(%x: tensor<8x8192xbf16>, %y: tensor<8x8192xf16>, %c: tensor<128x128x512xui8>, %s: tensor<128x128x16xf16>) {
  %0 = nn.fusion(%x, %c, %s) : (tensor<8x8192xbf16>, tensor<128x128x512xui8>, tensor<128x128x16xf16>) -> tensor<8x2048xbf16> {
  ^bb0(%a: tensor<8x8192xbf16>, %b: tensor<128x128x512xui8>, %f: tensor<128x128x16xf16>):
    %w = nn.dequantize %b, %f {code = "int4", tiled, to = bf16} : (tensor<128x128x512xui8>, tensor<128x128x16xf16>) -> tensor<2048x8192xbf16>
    %1 = nn.matmul %a, %w {transpose_b} : (tensor<8x8192xbf16>, tensor<2048x8192xbf16>) -> tensor<8x2048xbf16>
    nn.yield %1 : tensor<8x2048xbf16>
  }
  %2 = nn.fusion(%y, %c, %s) : (tensor<8x8192xf16>, tensor<128x128x512xui8>, tensor<128x128x16xf16>) -> tensor<8x2048xf16> {
  ^bb0(%a: tensor<8x8192xf16>, %b: tensor<128x128x512xui8>, %f: tensor<128x128x16xf16>):
    %w = nn.dequantize %b, %f {code = "int4", tiled, to = f16} : (tensor<128x128x512xui8>, tensor<128x128x16xf16>) -> tensor<2048x8192xf16>
    %1 = nn.matmul %a, %w {transpose_b} : (tensor<8x8192xf16>, tensor<2048x8192xf16>) -> tensor<8x2048xf16>
    nn.yield %1 : tensor<8x2048xf16>
  }
  return
}

// -----

// Products of many rows read numbers, which a kernel stores.
// CHECK: // k0 #cuda.dequantize<threads = 256> grid 8x1x1 block 256
// CHECK: // k1 #cuda.dequantize<threads = 128> grid 16x1x1 block 128
// CHECK: frit::dequantizeTiles<k0_problem>(x0, x1, x2, y0);
func.func @numbers(%c: tensor<8x8x512xui8>, %s: tensor<8x16x16xbf16>, %o: tensor<8x16x16xbf16>) {
  %0 = nn.fusion(%c, %s, %o) : (tensor<8x8x512xui8>, tensor<8x16x16xbf16>, tensor<8x16x16xbf16>) -> tensor<128x512xbf16> {
  ^bb0(%b: tensor<8x8x512xui8>, %f: tensor<8x16x16xbf16>, %g: tensor<8x16x16xbf16>):
    %w = nn.dequantize %b, %f, %g {code = "int4", tiled, to = bf16} : (tensor<8x8x512xui8>, tensor<8x16x16xbf16>, tensor<8x16x16xbf16>) -> tensor<128x512xbf16>
    nn.yield %w : tensor<128x512xbf16>
  }
  %1 = nn.fusion(%c, %s, %o) schedule(#cuda.dequantize<threads = 128>) : (tensor<8x8x512xui8>, tensor<8x16x16xbf16>, tensor<8x16x16xbf16>) -> tensor<128x512xbf16> {
  ^bb0(%b: tensor<8x8x512xui8>, %f: tensor<8x16x16xbf16>, %g: tensor<8x16x16xbf16>):
    %w = nn.dequantize %b, %f, %g {code = "int4", tiled, to = bf16} : (tensor<8x8x512xui8>, tensor<8x16x16xbf16>, tensor<8x16x16xbf16>) -> tensor<128x512xbf16>
    nn.yield %w : tensor<128x512xbf16>
  }
  return
}

// -----

// From 5 rows on numbers are read likewise.
// CHECK: // k0 #cuda.rows_gemm<tiles = 1, stages = 2, split = 16, threads = 512>
// CHECK: static constexpr int64_t ldb = 2048;
// CHECK: frit::rowsGemm<k0_problem>(x0, nullptr, {x1}, nullptr, nullptr, y0);
func.func @plain(%x: tensor<8x2048xbf16>, %w: tensor<2048x2048xbf16>) {
  %0 = nn.fusion(%x, %w) : (tensor<8x2048xbf16>, tensor<2048x2048xbf16>) -> tensor<8x2048xbf16> {
  ^bb0(%a: tensor<8x2048xbf16>, %b: tensor<2048x2048xbf16>):
    %1 = nn.matmul %a, %b {transpose_b} : (tensor<8x2048xbf16>, tensor<2048x2048xbf16>) -> tensor<8x2048xbf16>
    nn.yield %1 : tensor<8x2048xbf16>
  }
  return
}

// -----

// The schedule may be written by hand; its stages must fit.
// CHECK: // k0 #cuda.rows_gemm<tiles = 2, stages = 1, split = 2, threads = 128> grid 16x1x1 block 128
func.func @given(%x: tensor<6x512xf16>, %w: tensor<1024x512xf16>) {
  %0 = nn.fusion(%x, %w) schedule(#cuda.rows_gemm<tiles = 2, stages = 1, split = 2, threads = 128>) : (tensor<6x512xf16>, tensor<1024x512xf16>) -> tensor<6x1024xf16> {
  ^bb0(%a: tensor<6x512xf16>, %b: tensor<1024x512xf16>):
    %1 = nn.matmul %a, %b {transpose_b} : (tensor<6x512xf16>, tensor<1024x512xf16>) -> tensor<6x1024xf16>
    nn.yield %1 : tensor<6x1024xf16>
  }
  return
}

// -----

// Codes of floats are likewise read.
// CHECK: // k0 #cuda.rows_gemm
// CHECK: static constexpr frit::Code code = frit::Code::e4m3;
// CHECK: frit::codeRows<k0_problem>(x0, nullptr, {{[{][{]}}x1, x2, nullptr{{[}][}]}}, nullptr, nullptr, y0);
func.func @floats(%x: tensor<3x512xbf16>, %c: tensor<64x16x512xui8>, %s: tensor<64x1x16xf16>) {
  %0 = nn.fusion(%x, %c, %s) : (tensor<3x512xbf16>, tensor<64x16x512xui8>, tensor<64x1x16xf16>) -> tensor<3x1024xbf16> {
  ^bb0(%a: tensor<3x512xbf16>, %b: tensor<64x16x512xui8>, %f: tensor<64x1x16xf16>):
    %w = nn.dequantize %b, %f {code = "e4m3", tiled, to = bf16} : (tensor<64x16x512xui8>, tensor<64x1x16xf16>) -> tensor<1024x512xbf16>
    %1 = nn.matmul %a, %w {transpose_b} : (tensor<3x512xbf16>, tensor<1024x512xbf16>) -> tensor<3x1024xbf16>
    nn.yield %1 : tensor<3x1024xbf16>
  }
  return
}

// -----

// For several rows an SM has one block, whose threads may have all registers.
// CHECK: // k0 #cuda.rows_gemm<tiles = 1, stages = 1, split = 8, threads = 512, together = 4, widens = true, sharing = 2, shared = 114> grid 64x1x1 block 512
// CHECK: __launch_bounds__(512, 1)
func.func @registers(%x: tensor<8x2048xbf16>, %c: tensor<128x32x512xui8>, %s: tensor<128x32x16xf16>) {
  %0 = nn.fusion(%x, %c, %s) : (tensor<8x2048xbf16>, tensor<128x32x512xui8>, tensor<128x32x16xf16>) -> tensor<8x2048xbf16> {
  ^bb0(%a: tensor<8x2048xbf16>, %b: tensor<128x32x512xui8>, %f: tensor<128x32x16xf16>):
    %w = nn.dequantize %b, %f {code = "int4", tiled, to = bf16} : (tensor<128x32x512xui8>, tensor<128x32x16xf16>) -> tensor<2048x2048xbf16>
    %1 = nn.matmul %a, %w {transpose_b} : (tensor<8x2048xbf16>, tensor<2048x2048xbf16>) -> tensor<8x2048xbf16>
    nn.yield %1 : tensor<8x2048xbf16>
  }
  return
}
