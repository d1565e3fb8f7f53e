//===- byte_chain.cu - Checks byte_chain.cuh on sm_90a --------------------===//

#include "byte_rows.h"

/// The first convolution: the operands of `Of`, whose sums become codes.
template <class P, class Of> struct Middle : P {
  static constexpr int k = Of::k, h = Of::h, w = Of::w, c = Of::c;
  static constexpr int r = Of::r, s = Of::s, kVector = 4;
  static constexpr int padTop = Of::padTop, padLeft = Of::padLeft;
  static constexpr bool signedX = Of::signedX, signedW = Of::signedW;
  struct Elements {};
  __device__ Elements elements(unsigned, unsigned) const { return {}; }
  __device__ void keep(const int (&sum)[4], const typename P::Columns &,
                       const Elements &, unsigned, unsigned,
                       frit::Codes<4> &to) const {
    int8_t out[4];
#pragma unroll
    for (int v = 0; v < 4; ++v)
      out[v] = int8_t(sum[v] >> 4);
    frit::storeVectorIf(true, to, out);
  }
};

/// A convolution of unsigned by signed bytes, and the pointwise one of as many
/// pixels that follows, to which bytes are added or not.
template <class T, int N, int H, int W, int C, int K, int R, int Filters>
struct Chain {
  using First = Conv<T, false, true, N, H, W, C, K, R, R, 1, R / 2>;
  struct Last : Conv<T, false, true, N, First::p, First::q, K, Filters, 1, 1> {
    static constexpr int64_t m = int64_t(N) * First::p * First::q;
  };
};

template <class P, class Q>
inline constexpr frit::ByteChainLayout kChainLayout = {kRowsLayout<Q>, P::k};

template <class P, class Q>
__global__ void __launch_bounds__(kChainLayout<P, Q>.threads(), P::blocks)
    chain(const int8_t *added, void *to, const uint8_t *x, const uint8_t *w,
          const uint8_t *last, const uint8_t *zero,
          const __grid_constant__ frit::TensorMap mapX,
          const __grid_constant__ frit::TensorMap mapW,
          const __grid_constant__ frit::TensorMap mapLast,
          const __grid_constant__ frit::TensorMap mapY,
          const __grid_constant__ frit::TensorMap mapR) {
  frit::pdlTrigger();
  P end;
  end.added = added;
  end.to = static_cast<decltype(end.to)>(to);
#ifdef FRIT_HAS_WGMMA
  frit::byteChain(end, Q{}, &mapX, &mapW, &mapLast, &mapR, &mapY);
#else
  frit::byteChainFloor(end, Q{}, x, w, zero, zero, last);
#endif
}

// ResNet-50's, also for NVRTC.
using Stage = Chain<TilesOfRows<1, 2>, 32, 56, 56, 64, 64, 3, 256>;

#ifdef __CUDACC_RTC__
using Whole = Added<Stage::Last, int8_t, int8_t>;
template <class P, class Q> __device__ auto compiled = &chain<P, Q>;
template __device__ auto compiled<Whole, Middle<Whole, Stage::First>>;
#else
using namespace harness;

template <class P, class Q>
static void launch(const int8_t *added, void *to, const uint8_t *x,
                   const uint8_t *w, const uint8_t *last, const uint8_t *zero) {
  constexpr auto layout = kChainLayout<P, Q>;
  static_assert(layout.fits());
  const int rows = layout.first.tileRows();
  const int tiles = P::n * ((P::p + rows - 1) / rows);
  const int most = processorCount() * P::blocks;
  auto boxes = [](const void *at) {
    return tiledBytes(at, 128, {P::k, P::q, P::n * P::p}, {P::k, P::k * P::q},
                      {128, 16, 1});
  };
  launchClusters(&chain<P, Q>, tiles < most ? tiles : most, layout.threads(), 1,
                 layout.sharedBytes(), added, to, x, w, last, zero,
                 mapOfRows<Q>(x), mapOfFilters<Q, 2>(w, 128, Q::k),
                 mapOfFilters<P>(last, P::c, 128), boxes(to), boxes(added));
}

/// Compares codes of sums of codes, and of bytes that are added.
template <class Of, template <class, class, class> class Kind, class D = int8_t>
static void check() {
  using P = Kind<typename Of::Last, int8_t, D>;
  using Q = Middle<P, typename Of::First>;
  Buffer<uint8_t> x{Q::n * Q::h * Q::w * Q::c}, w{Q::k * Q::r * Q::s * Q::c};
  Buffer<uint8_t> last{P::k * P::c}, zero{1};
  set(zero, 0);
  Buffer<int8_t> added{size_t(P::n) * P::p * P::q * P::k};
  Buffer<D> y{added.size()};
  fill(x, 1);
  fill(w, 2);
  fill(last, 3);
  for (size_t i = 0; i < added.size(); ++i)
    added.host()[i] = int8_t(i * 2654435761u >> 20);
  added.upload();
  std::vector<double> first =
      convolve<Q>([&](int i) { return double(valueOf(x[i], false)); },
                  [&](int i) { return double(valueOf(w[i], true)); });
  // The second product reads the bytes as unsigned ones.
  std::vector<double> want =
      convolve<P>([&](int i) { return double(uint8_t(int(first[i]) >> 4)); },
                  [&](int i) { return double(valueOf(last[i], true)); });
  for (size_t i = 0; i < want.size(); ++i)
    want[i] = D(int(want[i]) + added[i]);
  for (int i = 0; i < 2; ++i)
    launch<P, Q>(added.get(), y.get(), x.get(), w.get(), last.get(),
                 zero.get());
  waitForDevice();
  char name[200];
  snprintf(
      name, sizeof name,
      "chain of bytes %dx%dx%dx%d by %dx%dx%d and %d, %d stages, %d blocks",
      Q::n, Q::h, Q::w, Q::c, Q::k, Q::r, Q::s, P::k, Q::stages, Q::blocks);
  expect(name, y, want, 0);
}

static void checks() {
  // Two rows a tile, the last half empty; several tiles per block.
  check<Chain<TilesOfRows<2>, 3, 9, 20, 64, 64, 3, 256>, Added>();
#ifndef FRIT_FEW_CHECKS
  check<Chain<TilesOfRows<1, 2>, 1, 13, 56, 64, 64, 3, 256>, Added>();
  check<Chain<TilesOfRows<2>, 3, 9, 20, 64, 64, 3, 128>, Unread>();
  check<Chain<TilesOfRows<2>, 1, 6, 30, 32, 32, 5, 384>, Added>();
  // Results that threads store.
  check<Chain<TilesOfRows<2>, 1, 7, 20, 64, 64, 3, 128>, Added, int32_t>();
  // One row, in two groups of pixels.
  check<Chain<TilesOfRows<2>, 2, 5, 101, 32, 64, 3, 128>, Added>();
#endif
}

static void benches() {
#ifndef FRIT_EMULATE
  using P = Added<Stage::Last, int8_t, int8_t>;
  using Q = Middle<P, Stage::First>;
  Buffer<uint8_t> x{Q::n * Q::h * Q::w * Q::c}, w{Q::k * Q::r * Q::s * Q::c};
  Buffer<uint8_t> last{P::k * P::c}, zero{1};
  set(zero, 0);
  Buffer<int8_t> added{size_t(P::n) * P::p * P::q * P::k}, y{added.size()};
  fill(x, 1);
  fill(w, 2);
  fill(last, 3);
  bench("3x3 and 1x1 of 64 channels of bytes",
        2e-12 * double(P::n) * P::p * P::q * 64 * (64 * 9 + 256), "TOP/s", [&] {
          launch<P, Q>(added.get(), y.get(), x.get(), w.get(), last.get(),
                       zero.get());
        });
#endif
}

int main(int argc, char **argv) {
  return runOnHopper(argc, argv, checks, benches);
}
#endif
