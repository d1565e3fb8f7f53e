//===- wgmma_gemm.cu - Checks wgmma_gemm.cuh on sm_90a --------------------===//

#include "wgmma_gemm.h"

using Large = Problem<Matrices<8192, 8192, 8192>, 128, 256, 4, 2>;
using Out = Problem<Normed<Matrices<12288, 1024, 1024, 1, false, false>,
                           frit::NormOfResidual, 16, true>,
                    128, 128, 6, 2>;
using Bert = Problem<Matrices<384, 1024, 4096, 1, false, true, frit::f16,
                              frit::f16, frit::f16, frit::GeluTo16Bits>,
                     64, 128, 6, 1, 8>;
using UpBoth =
    Problem<Both<Matrices<16384, 4096, 1024, 1, false, true, frit::bf16,
                          frit::bf16, frit::bf16, frit::GeluTo16Bits>,
                 frit::StoredSlope>,
            128, 192, 4>;
using UpSummed =
    Problem<Summed<Matrices<16384, 4096, 1024, 1, false, false, frit::bf16>>,
            128, 192, 4>;
using UpGated = Problem<
    Gated<Matrices<8192, 2560, 320, 1, false, false>, frit::GeluTo16Bits>, 128,
    128, 6>;
using OutDotted =
    Problem<Dotted<Matrices<16384, 1024, 1024, 1, false, false, frit::bf16>>,
            128, 128, 6, 2>;

#ifdef __CUDACC_RTC__
template <class P, bool Full> __device__ auto compiled = &product<P, Full>;
template __device__ auto compiled<Large, false>;
template __device__ auto compiled<Out, true>;
template __device__ auto compiled<Bert, true>;
template __device__ auto compiled<UpBoth, true>;
template __device__ auto compiled<UpSummed, true>;
template __device__ auto compiled<OutDotted, true>;
template __device__ auto compiled<UpGated, true>;
#else
using namespace harness;

#ifdef FRIT_FEW_CHECKS
/// Has ping-pong warpgroups also for few tiles.
template <class Of> struct PingPong : Of {
  static_assert(Of::layout.canPingPong());
  static constexpr bool pingPong = true;
};

/// The checks for planted.py: both operand layouts, two boxes of columns,
/// several tiles per block; a cluster, split-K and ping-pong.
static void checks() {
  using Few = Matrices<331, 264, 200, 1, false, false>;
  check<Problem<Few, 64, 128, 3>>();
  using Small = Matrices<130, 136, 200>;
  check<Problem<Small, 64, 64, 2, 2>, false>();
  check<Problem<Small, 64, 64, 2, 1, 2>, false>();
  check<Problem<Small, 64, 128, 2, 2, 2>, false>();
  check<PingPong<Problem<Matrices<520, 264, 136>, 128, 64, 3>>, false>();
  check<Problem<Dotted<Matrices<70, 192, 72>>, 64, 128, 2>>();
  check<Problem<Gated<Matrices<70, 272, 72>>, 64, 128, 2>>();
}
#else
static void checks() {
  using frit::Gelu, frit::GeluTanh, frit::GeluTo16Bits, frit::Identity;
  using frit::NoNorm, frit::NormOfProduct, frit::NormOfResidual, frit::Relu;
  // Every tile, with tails in every direction.
  using Odd = Matrices<331, 520, 200>;
  check<Problem<Odd, 64, 64, 3>>();
  check<Problem<Odd, 64, 256, 3>>();
  check<Problem<Odd, 128, 128, 6>>();
  check<Problem<Odd, 128, 256, 4>>();
  check<Problem<Odd, 192, 192, 4>>();
  check<Problem<Odd, 128, 128, 3, 1, 1, 2>>();
  // Enough tiles for ping-pong.
  check<Problem<Matrices<1200, 900, 136>, 128, 64, 3>>();
  // Both layouts of either operand.
  using TN = Matrices<264, 392, 200, 3, true, true, bf16>;
  using NN = Matrices<264, 392, 200, 3, false, false, bf16>;
  using TT = Matrices<264, 392, 200, 2, true, false>;
  check<Problem<TN, 64, 192, 4>>();
  check<Problem<NN, 128, 128, 4>>();
  check<Problem<TT, 128, 192, 4>>();
  check<Problem<TT, 192, 64, 4, 1>, false>();
  // Clusters that multicast B, the last one half empty.
  check<Problem<Matrices<330, 520, 328>, 128, 256, 4, 2>>();
  check<Problem<Matrices<330, 520, 328, 3, false, false>, 64, 128, 4, 2>>();
  check<Problem<Matrices<120, 520, 328>, 128, 128, 4, 4>, false>();
  // Split-K clusters.
  using Deep =
      Matrices<197, 328, 1096, 1, false, true, f16, f16, f16, GeluTo16Bits>;
  check<Problem<Deep, 64, 192, 2, 1, 4, 2>>();
  check<Problem<Deep, 64, 128, 4, 1, 8>>();
  check<Problem<Deep, 192, 128, 3, 1, 4>>();
  // Blocks that split k and share B, the last row of tiles half empty.
  check<Problem<Matrices<264, 392, 1096>, 64, 128, 3, 2, 4>>();
  check<Problem<Matrices<330, 264, 328, 1, false, false>, 64, 192, 4, 2, 2>>();
  // Partial sums of other blocks that overlay the stages.
  using Wide = Matrices<200, 392, 392, 1, true, false, bf16, float>;
  check<Problem<Wide, 192, 192, 4, 1, 2>, false>();
  check<Problem<
      Matrices<131, 129, 320, 2, false, true, bf16, bf16, bf16, Relu, 8, 5>, 64,
      64, 4, 1, 4>>();
  // Norms by moments, and moments of the result, with every epilogue.
  using Rows = Matrices<331, 576, 200, 1, false, false>;
  check<Problem<Normed<Rows, NormOfProduct, 16, true>, 128, 192, 4>, false>();
  check<Problem<Normed<Rows, NormOfResidual, 32, true>, 128, 256, 3, 2>>();
  check<Problem<Normed<Rows, NormOfResidual, 8, true>, 64, 128, 4, 1, 4>>();
  // Moments of columns: cooperative and ping-pong warpgroups, a last tile that
  // is half empty, a residual, few columns and odd ones.
  using High = Columns<Matrices<320, 264, 200, 1, false, true, bf16>>;
  check<Problem<High, 64, 64, 3>, false>();
  check<Problem<High, 128, 128, 4, 2>>();
  check<Problem<High, 192, 192, 3>, false>();
  check<Problem<High, 128, 128, 2, 1, 1, 2>>();
  check<Problem<
      Columns<Matrices<1216, 899, 136, 1, false, true, f16, f16, f16, Relu>>,
      128, 64, 3>>();
  check<Problem<Columns<Matrices<1216, 904, 72, 1, false, true, bf16>>, 128,
                192, 3>>();
  // Sums of columns, also with split-K and for rows that TMA does not store.
  using Low = Summed<Matrices<336, 264, 200, 1, false, true, bf16>>;
  check<Problem<Low, 64, 64, 3>, false>();
  check<Problem<Low, 128, 128, 4, 2>>();
  check<Problem<Low, 192, 192, 3>>();
  check<Problem<Low, 192, 192, 4>>();
  check<Problem<Low, 64, 128, 3, 1, 2>>();
  check<Problem<
      Summed<Matrices<1232, 902, 136, 1, false, true, f16, f16, f16, Relu>>,
      128, 64, 3>>();
  check<Problem<Summed<Matrices<1232, 904, 72, 1, false, true, bf16>>, 128, 192,
                3>>();
  // Dot products of rows, also with tails of rows, a last tile that is half
  // empty, split-K and several tiles per block.
  using Heads = Dotted<Matrices<331, 576, 200, 1, false, false, bf16>>;
  check<Problem<Heads, 64, 64, 3>>();
  check<Problem<Heads, 128, 128, 4, 2>>();
  check<Problem<Heads, 192, 192, 3>>();
  check<Problem<Heads, 128, 256, 3>>();
  check<Problem<Heads, 64, 128, 3, 1, 2>>();
  check<Problem<
      Dotted<Matrices<1231, 896, 136, 1, false, true, f16, f16, float, Relu>>,
      128, 64, 3>>();
  check<Problem<Dotted<Matrices<1231, 896, 72, 1, false, true, bf16>>, 128, 128,
                4, 2>>();
  // The result of GELU, together with its argument.
  using Act =
      Both<Matrices<331, 264, 200, 1, false, true, f16, f16, f16, Gelu>>;
  check<Problem<Act, 64, 64, 3>>();
  check<Problem<Act, 128, 128, 4, 2>>();
  check<Problem<Act, 128, 256, 4>, false>();
  check<Problem<Act, 64, 128, 3, 1, 2>>();
  check<Problem<Both<Matrices<1231, 904, 136, 1, false, true, bf16, bf16, bf16,
                              GeluTo16Bits>>,
                128, 192, 4>>();
  // The result of GELU, together with its slope.
  using Slope =
      Both<Matrices<331, 264, 200, 1, false, true, f16, f16, f16, GeluTo16Bits>,
           frit::StoredSlope>;
  check<Problem<Slope, 64, 64, 3>>();
  check<Problem<Slope, 128, 128, 4, 2>>();
  check<Problem<Slope, 64, 128, 3, 1, 2>>();
  check<Problem<
      Both<Matrices<1231, 904, 136, 1, false, true, bf16, bf16, bf16, GeluTanh>,
           frit::StoredSlope>,
      128, 192, 4>>();
  // Gated columns, which normalize, are split, or leave a last box half empty.
  using Halves = Gated<Matrices<331, 544, 200, 1, false, false>>;
  check<Problem<Halves, 64, 128, 3>>();
  check<Problem<Halves, 128, 256, 3>, false>();
  check<Problem<Halves, 64, 128, 4, 1, 4>>();
  check<Problem<Gated<Matrices<331, 576, 200, 1, false, true, bf16>, GeluTanh>,
                128, 128, 4, 2>>();
  check<Problem<Normed<Gated<Rows, GeluTo16Bits>, NormOfProduct, 16, false>,
                192, 128, 3>>();
  check<Problem<Gated<Matrices<1200, 912, 136>>, 128, 128, 3>>();
  // Types, padded lines, and lines that are not a multiple of 16 bytes.
  check<Problem<Matrices<100, 203, 72, 2, false, true, f16, float, float>, 64,
                128, 3>>();
  check<Problem<
      Matrices<100, 131, 72, 3, false, true, bf16, bf16, float, Relu, 8, 2>,
      128, 128, 3>>();
  check<Problem<Matrices<100, 72, 8, 2, false, true, bf16, f16>, 64, 64, 2>>();
#ifndef FRIT_EMULATE
  check<Problem<Odd, 64, 128, 4>>();
  check<Problem<Odd, 128, 64, 2>>();
  check<Problem<Odd, 128, 192, 4>>();
  check<Problem<Odd, 192, 128, 4>>();
  // Many tiles per block: pipeline stages and output boxes wrap around.
  check<Problem<Matrices<1700, 1608, 136>, 64, 64, 3>>();
  check<Problem<Matrices<1700, 1608, 136>, 64, 64, 3>, false>();
  check<Problem<Matrices<3001, 1608, 72>, 128, 192, 3>>();
  check<Problem<Matrices<1700, 3080, 456>, 128, 192, 4>>();
  check<Problem<Matrices<1700, 3080, 200>, 128, 192, 4, 2>>();
  check<Problem<Matrices<1700, 1800, 456>, 128, 128, 5>>();
  check<Problem<Matrices<3001, 1608, 72>, 128, 64, 3>, false>();
  check<Problem<Matrices<3001, 1604, 72>, 128, 128, 4>>();
  check<Problem<Matrices<3001, 1608, 72, 1, false, true, f16, float, f16, Gelu>,
                128, 192, 3>>();
  check<Problem<Matrices<1704, 1608, 200, 2, true, false>, 128, 128, 4, 2>>();
  check<Problem<Matrices<3001, 2056, 72>, 128, 256, 4, 2>>();
  check<Problem<TN, 128, 128, 4>>();
  check<Problem<NN, 64, 256, 4>>();
  check<Problem<Deep, 64, 64, 4, 1, 2>>();
  check<Problem<Deep, 128, 128, 4, 1, 4>>();
  check<Problem<Deep, 128, 256, 3, 1, 2>, false>();
  check<Problem<Deep, 128, 128, 3, 1, 8>>();
  check<Problem<Deep, 192, 192, 4, 1, 2>>();
  check<Problem<Deep, 192, 128, 5, 1, 4>>();
  check<Problem<Deep, 128, 256, 4, 1, 2>>();
  check<Problem<Matrices<100, 200, 520, 2, false, true, f16, float, f16, Gelu>,
                64, 256, 3, 1, 8>>();
  using Tall = Matrices<3001, 1600, 136, 1, false, true, bf16>;
  check<Problem<Normed<Rows, NormOfProduct, 4, false>, 64, 64, 3>>();
  check<Problem<Normed<Rows, NormOfResidual, 16, true>, 128, 128, 6>>();
  check<Problem<Normed<Rows, NormOfResidual, 12, true>, 192, 192, 4>>();
  check<Problem<Normed<Rows, NoNorm, 4, true>, 64, 128, 4, 1, 2>>();
  check<Problem<Normed<Rows, NormOfResidual, 4, true>, 128, 64, 2, 1, 2>>();
  check<Problem<Normed<Tall, NormOfProduct, 16, true>, 128, 192, 4, 2>>();
  check<Problem<Normed<Tall, NormOfProduct, 1, false>, 128, 192, 4, 2>>();
  check<Problem<Normed<Rows, NormOfResidual, 1, true>, 128, 256, 3>>();
  check<Problem<Normed<Tall, NormOfResidual, 16, true>, 128, 128, 5, 2>>();
  check<Problem<Normed<Matrices<130, 1000, 264, 1, false, true, f16, float,
                                float, Gelu>,
                       NormOfProduct, 16, false>,
                128, 192, 3>,
        false>();
  check<Problem<Matrices<100, 200, 72, 2, false, true, f16, float, f16, Gelu>,
                128, 128, 3>>();
  check<Problem<
      Matrices<1, 1000, 2048, 1, false, true, f16, f16, f16, Identity, 16, 24>,
      64, 64, 6>>();
#endif
}
#endif

#ifdef FRIT_EMULATE
static void benches() {}
#else
template <class P, bool Full = false> static void benchOne(const char *name) {
  Buffer<typename P::A> a(P::m * P::k);
  Buffer<typename P::B> b(P::k * P::n);
  Buffer<typename P::D> d(P::m * P::n);
  Buffer<typename P::Bias> bias(P::n);
  Buffer<typename P::D> r(P::m * P::n);
  Norms<P> norms;
  a.randomize(1);
  b.randomize(2);
  Launch<P, Full> launch(a.get(), b.get(), bias.get(), r.get(), d.get(),
                         norms.operands());
  bench(name, 2e-12 * P::m * P::n * P::k, "TFLOP/s", [&] { launch(); });
}

/// Times a product alone, with a residual, and with norms.
template <int K, int TileM, int TileN, int Stages, int Cluster>
static void benchNorms(const std::string &name) {
  using frit::NoNorm, frit::NormOfResidual;
  using M = Matrices<12288, 1024, K, 1, false, false>;
  using Plain = Normed<M, NoNorm, 16, false>;
  using Given = Normed<M, NoNorm, 16, true>;
  using Row = Normed<M, NormOfResidual, 16, false>;
  using Both = Normed<M, NormOfResidual, 16, true>;
  benchOne<Problem<M, TileM, TileN, Stages, Cluster>>(name.c_str());
  benchOne<Problem<Plain, TileM, TileN, Stages, Cluster>, true>(
      (name + ", residual").c_str());
  benchOne<Problem<Given, TileM, TileN, Stages, Cluster>, true>(
      (name + ", residual, moments").c_str());
  benchOne<Problem<Row, TileM, TileN, Stages, Cluster>, true>(
      (name + ", residual normalised").c_str());
  benchOne<Problem<Both, TileM, TileN, Stages, Cluster>, true>(
      (name + ", both").c_str());
}

static void benches() {
  benchOne<Large>("wgmma gemm f16 8192^3, clusters of 2");
  benchOne<Problem<Matrices<8192, 8192, 8192>, 128, 256, 4>>(
      "wgmma gemm f16 8192^3");
  benchOne<Problem<Matrices<4096, 4096, 4096>, 128, 256, 4, 2>>(
      "wgmma gemm f16 4096^3, clusters of 2");
  using Up = Matrices<12288, 4096, 1024>;
  benchOne<Problem<Up, 128, 128, 6, 2>>("wgmma gemm f16 12288x4096x1024");
  benchOne<Problem<Matrices<12288, 4096, 1024, 1, false, true, frit::f16,
                            frit::f16, frit::f16, frit::GeluTo16Bits>,
                   128, 128, 6, 2>>("wgmma gemm f16 12288x4096x1024, gelu");
  benchOne<Problem<Matrices<8192, 2560, 320, 1, false, false>, 128, 192, 4>,
           true>("wgmma gemm f16 8192x2560x320");
  benchOne<UpGated, true>("wgmma gemm f16 8192x2560x320, gated");
  benchNorms<1024, 128, 128, 6, 2>("wgmma gemm f16 12288x1024x1024");
  benchNorms<1024, 128, 256, 4, 1>("wgmma gemm f16 12288x1024x1024, wide");
  benchNorms<4096, 128, 256, 4, 1>("wgmma gemm f16 12288x1024x4096");
  benchNorms<4096, 128, 128, 6, 2>("wgmma gemm f16 12288x1024x4096, ping-pong");
  benchOne<Bert>("wgmma gemm f16 384x1024x4096, split by 8");
}
#endif

int main(int argc, char **argv) {
  return runOnHopper(argc, argv, checks, benches);
}
#endif
