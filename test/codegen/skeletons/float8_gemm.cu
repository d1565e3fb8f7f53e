//===- float8_gemm.cu - Checks integer_gemm.cuh on floats on sm_90a -------===//

#include "integer_gemm.h"

/// A convolution of 8-bit floats whose sums are stored as they are.
template <class P, frit::Float8 X, frit::Float8 W> struct Floats : P {
  static constexpr frit::Float8 floatX = X, floatW = W;

  __device__ void store(const float (&sum)[P::kVector],
                        const typename P::Columns &,
                        const typename P::Elements &, unsigned row,
                        unsigned col, bool isInside) const {
    frit::storeVectorIf(isInside, floats + row * P::k + col, sum);
  }
  float *floats;
};

inline constexpr frit::Float8 e4m3 = frit::Float8::e4m3,
                              e5m2 = frit::Float8::e5m2;
template <class P> using Small8 = Floats<P, e4m3, e4m3>;

template <class P>
__global__ void __launch_bounds__(frit::IntegerPlan<P>::kThreads)
    floatSums(const uint8_t *x, const uint8_t *w, float *y) {
  frit::pdlTrigger();
  frit::integerGemm(P{{{}, nullptr}, y}, x, w);
}

// BERT's, also for NVRTC.
using Square = Tile<128, 128, 64, 64, 64, 4>;
using Few = Tile<16, 32, 16, 32, 128, 4, 4>;
#define FRIT_SUMS(...)                                                         \
  template __global__ void floatSums<__VA_ARGS__>(const uint8_t *,             \
                                                  const uint8_t *, float *)
FRIT_SUMS(Small8<Product<Square, true, true, 4096, 4096, 1024>>);
FRIT_SUMS(Floats<Product<Few, true, true, 16, 1024, 1024>, e5m2, e4m3>);
FRIT_SUMS(Small8<Product<Wide<128, 256, 4>, true, true, 4096, 4096, 1024>>);
FRIT_SUMS(Floats<Product<Wide<128, 128, 4>, true, true, 4096, 4096, 1024>, e4m3,
                 e5m2>);

#ifndef __CUDACC_RTC__
#include "float8_codes.h"
#include "hopper.h"

template <class P> static void check(bool isExact) {
  Buffer<uint8_t> x{P::n * P::h * P::w * P::c}, w{P::k * P::r * P::s * P::c};
  Buffer<float> y{size_t(P::n) * P::p * P::q * P::k};
  fill(x, 1, P::floatX, isExact);
  fill(w, 2, P::floatW, isExact);
  std::vector<double> want =
      convolve<P>([&](int i) { return numberOf(x[i], P::floatX); },
                  [&](int i) { return numberOf(w[i], P::floatW); });
  const uint8_t *ofX = x.get(), *ofW = w.get();
  if constexpr (P::cluster > 1)
    launchClusters(floatSums<P>, int(blocksOf<P>()) * P::cluster,
                   frit::IntegerPlan<P>::kThreads, P::cluster, sharedBytes<P>(),
                   ofX, ofW, y.get());
  else
    launchShared(floatSums<P>, blocksOf<P>(), frit::IntegerPlan<P>::kThreads,
                 sharedBytes<P>(), ofX, ofW, y.get());
#ifdef FRIT_EMULATE
  const double rounding = isExact ? 0 : 1e-6;
#else
  // Tensor cores align the terms of a sum, warpgroups' those of exact ones too.
  const double rounding = isExact && !P::wgmma ? 0 : 1e-3;
#endif
  expect("floats " + std::to_string(P::r) + "x" + std::to_string(P::s) +
             " of " + std::to_string(P::c) + " channels",
         y, want, rounding);
}

static void checks() {
  using Small = Tile<64, 64, 32, 32, 64, 3>;
  using Thin = Tile<32, 16, 16, 16, 64, 2>;
  using Shared = Tile<16, 32, 16, 32, 128, 3, 4>;
  // Every pair of formats; tails of rows, columns and depth; subnormals.
  for (bool isExact : {true, false}) {
    check<Small8<Product<Small, true, true, 75, 72, 144>>>(isExact);
    check<Floats<Product<Small, true, true, 33, 24, 200>, e4m3, e5m2>>(isExact);
    check<Floats<Product<Small, true, true, 64, 64, 64>, e5m2, e4m3>>(isExact);
    check<Floats<Product<Thin, true, true, 5, 14, 52, 2>, e5m2, e5m2>>(isExact);
  }
  check<Small8<Product<Thin, true, true, 35, 7, 131, 1>>>(true);
  check<Small8<Product<Shared, true, true, 17, 40, 96>>>(true);
  check<Small8<Product<Shared, true, true, 3, 96, 700>>>(true);
  // Windows with padding.
  check<Small8<Conv<Small, true, true, 2, 9, 7, 16, 24, 3, 3, 1, 1>>>(true);
  check<Small8<Conv<Thin, true, true, 1, 12, 13, 3, 20, 5, 5, 2, 2, 1, 4>>>(
      true);
  // Warpgroups.
  for (bool isExact : {true, false}) {
    check<Small8<Product<Wide<64, 32, 3>, true, true, 70, 40, 300>>>(isExact);
    check<Floats<Product<Wide<64, 64, 3>, true, true, 33, 24, 48>, e4m3, e5m2>>(
        isExact);
    check<Floats<Product<Wide<128, 64, 4>, true, true, 140, 72, 272>, e5m2,
                 e4m3>>(isExact);
    check<
        Floats<Product<Wide<64, 64, 4>, true, true, 33, 24, 160>, e5m2, e5m2>>(
        isExact);
  }
  check<Small8<Conv<Wide<64, 32, 4>, true, true, 1, 9, 7, 16, 24, 3, 3, 1, 1>>>(
      true);
  // Clusters that share the steps.
  using Four = Tile<16, 32, 16, 32, 128, 3, 4, false, 4>;
  check<Small8<Product<Four, true, true, 17, 40, 1100>>>(true);
  check<Small8<Product<Wide<64, 32, 3, 4>, true, true, 49, 40, 1040>>>(true);
}

static void benches() {}

int main(int argc, char **argv) { return run(argc, argv, checks, benches); }
#endif
