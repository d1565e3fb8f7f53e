// RUN: frit-opt %s -split-input-file --print-cuda -o /dev/null | FileCheck %s

// A few rows: mma.sp by warps that share k. The epilogue is a part of the kernel.
// CHECK: // k0 #cuda.sparse_rows<tiles = 1, stages = 1, split = 16, threads = 512> grid 128x1x1 block 512
// CHECK: using A = frit::bf16;
// CHECK: static constexpr int64_t m = 1, n = 2048, k = 2048;
// CHECK-NOT: using Scale
// CHECK: static constexpr bool early = false;
// CHECK: frit::sparseRows<k0_problem>(x0, nullptr, {{[{][{]}}x1, x2, nullptr{{[}][}]}}, x3, nullptr, y0);
func.func @residual(%x: tensor<1x2048xbf16>, %v: tensor<128x16x1024xbf16>, %p: tensor<128x16x256xui8>, %r: tensor<1x2048xbf16>) {
  %0 = nn.fusion(%x, %v, %p, %r) : (tensor<1x2048xbf16>, tensor<128x16x1024xbf16>, tensor<128x16x256xui8>, tensor<1x2048xbf16>) -> tensor<1x2048xbf16> {
  ^bb0(%a: tensor<1x2048xbf16>, %b: tensor<128x16x1024xbf16>, %c: tensor<128x16x256xui8>, %d: tensor<1x2048xbf16>):
    %w = nn.decompress %b, %c {to = bf16} : (tensor<128x16x1024xbf16>, tensor<128x16x256xui8>) -> tensor<2048x2048xbf16>
    %1 = nn.matmul %a, %w {transpose_b} : (tensor<1x2048xbf16>, tensor<2048x2048xbf16>) -> tensor<1x2048xbf16>
    %2 = nn.add %1, %d : (tensor<1x2048xbf16>, tensor<1x2048xbf16>) -> tensor<1x2048xbf16>
    nn.yield %2 : tensor<1x2048xbf16>
  }
  return
}

// -----

// Two matrices of normalized rows, by codes of a row's scale.
// CHECK: // k0 #cuda.sparse_rows<tiles = 1, stages = 2, split = 8, threads = 256> grid 512x1x1 block 256
// CHECK: using Scale = frit::f16;
// CHECK: static constexpr frit::Code code = frit::Code::int8;
// CHECK: static constexpr float epsilon = 9.99{{[0-9]*}}e-06;
// CHECK: static constexpr bool isPair = true;
// CHECK: frit::sparseRows<k0_problem>(x0, x1, {{[{][{]}}x2, x3, x4}, {x5, x6, x7{{[}][}]}}, nullptr, nullptr, y0);
func.func @gated(%x: tensor<1x2048xbf16>, %n: tensor<2048xbf16>, %v: tensor<512x16x1024xui8>, %p: tensor<512x16x256xui8>, %s: tensor<8192xf16>, %v2: tensor<512x16x1024xui8>, %p2: tensor<512x16x256xui8>, %s2: tensor<8192xf16>) {
  %0 = nn.fusion(%x, %n, %v, %p, %s, %v2, %p2, %s2) : (tensor<1x2048xbf16>, tensor<2048xbf16>, tensor<512x16x1024xui8>, tensor<512x16x256xui8>, tensor<8192xf16>, tensor<512x16x1024xui8>, tensor<512x16x256xui8>, tensor<8192xf16>) -> tensor<1x8192xbf16> {
  ^bb0(%a: tensor<1x2048xbf16>, %f: tensor<2048xbf16>, %b: tensor<512x16x1024xui8>, %c: tensor<512x16x256xui8>, %d: tensor<8192xf16>, %b2: tensor<512x16x1024xui8>, %c2: tensor<512x16x256xui8>, %d2: tensor<8192xf16>):
    %rows = nn.rms_norm %a, %f {axis = -1 : si64, epsilon = 1.0e-05 : f32} : (tensor<1x2048xbf16>, tensor<2048xbf16>) -> tensor<1x2048xbf16>
    %w = nn.decompress %b, %c, %d {code = "int8", to = bf16} : (tensor<512x16x1024xui8>, tensor<512x16x256xui8>, tensor<8192xf16>) -> tensor<8192x2048xbf16>
    %1 = nn.matmul %rows, %w {transpose_b} : (tensor<1x2048xbf16>, tensor<8192x2048xbf16>) -> tensor<1x8192xbf16>
    %w2 = nn.decompress %b2, %c2, %d2 {code = "int8", to = bf16} : (tensor<512x16x1024xui8>, tensor<512x16x256xui8>, tensor<8192xf16>) -> tensor<8192x2048xbf16>
    %2 = nn.matmul %rows, %w2 {transpose_b} : (tensor<1x2048xbf16>, tensor<8192x2048xbf16>) -> tensor<1x8192xbf16>
    %3 = nn.silu %1 : (tensor<1x8192xbf16>) -> tensor<1x8192xbf16>
    %4 = nn.mul %3, %2 : (tensor<1x8192xbf16>, tensor<1x8192xbf16>) -> tensor<1x8192xbf16>
    nn.yield %4 : tensor<1x8192xbf16>
  }
  return
}

// -----

// Many rows: WGMMA, with a map of the rows alone.
// CHECK: // k0 #cuda.wgmma_sparse<tile_n = 256, stages = 6> grid 256x1x1 block 384
// CHECK: static constexpr int tileN = 256, stages = 6;
// CHECK: frit::wgmmaSparse<k0_problem>(&m0, {x1, x2, nullptr}, nullptr, nullptr, y0);
// CHECK: frit::sparseFloor<k0_problem>(x0, {x1, x2, nullptr}, nullptr, nullptr, y0);
func.func @many(%x: tensor<2048x14336xf16>, %v: tensor<256x112x1024xf16>, %p: tensor<256x112x256xui8>) {
  %0 = nn.fusion(%x, %v, %p) : (tensor<2048x14336xf16>, tensor<256x112x1024xf16>, tensor<256x112x256xui8>) -> tensor<2048x4096xf16> {
  ^bb0(%a: tensor<2048x14336xf16>, %b: tensor<256x112x1024xf16>, %c: tensor<256x112x256xui8>):
    %w = nn.decompress %b, %c {to = f16} : (tensor<256x112x1024xf16>, tensor<256x112x256xui8>) -> tensor<4096x14336xf16>
    %1 = nn.matmul %a, %w {transpose_b} : (tensor<2048x14336xf16>, tensor<4096x14336xf16>) -> tensor<2048x4096xf16>
    nn.yield %1 : tensor<2048x4096xf16>
  }
  return
}

// -----

// Schedules may be written by hand.
// CHECK: // k0 #cuda.sparse_rows<tiles = 2, stages = 2, split = 2, threads = 128> grid 8x1x1 block 128
func.func @given(%x: tensor<6x512xf16>, %v: tensor<32x4x1024xf16>, %p: tensor<32x4x256xui8>) {
  %0 = nn.fusion(%x, %v, %p) schedule(#cuda.sparse_rows<tiles = 2, stages = 2, split = 2, threads = 128>) : (tensor<6x512xf16>, tensor<32x4x1024xf16>, tensor<32x4x256xui8>) -> tensor<6x512xf16> {
  ^bb0(%a: tensor<6x512xf16>, %b: tensor<32x4x1024xf16>, %c: tensor<32x4x256xui8>):
    %w = nn.decompress %b, %c {to = f16} : (tensor<32x4x1024xf16>, tensor<32x4x256xui8>) -> tensor<512x512xf16>
    %1 = nn.matmul %a, %w {transpose_b} : (tensor<6x512xf16>, tensor<512x512xf16>) -> tensor<6x512xf16>
    nn.yield %1 : tensor<6x512xf16>
  }
  return
}

// -----

// CHECK: // k0 #cuda.wgmma_sparse<tile_n = 128, stages = 3> grid 4x1x1 block 384
func.func @narrow(%x: tensor<100x512xf16>, %v: tensor<32x4x1024xf16>, %p: tensor<32x4x256xui8>) {
  %0 = nn.fusion(%x, %v, %p) schedule(#cuda.wgmma_sparse<tile_n = 128, stages = 3>) : (tensor<100x512xf16>, tensor<32x4x1024xf16>, tensor<32x4x256xui8>) -> tensor<100x512xf16> {
  ^bb0(%a: tensor<100x512xf16>, %b: tensor<32x4x1024xf16>, %c: tensor<32x4x256xui8>):
    %w = nn.decompress %b, %c {to = f16} : (tensor<32x4x1024xf16>, tensor<32x4x256xui8>) -> tensor<512x512xf16>
    %1 = nn.matmul %a, %w {transpose_b} : (tensor<100x512xf16>, tensor<512x512xf16>) -> tensor<100x512xf16>
    nn.yield %1 : tensor<100x512xf16>
  }
  return
}
