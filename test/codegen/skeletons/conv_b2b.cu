//===- conv_b2b.cu - Checks conv_b2b.cuh on sm_90a ------------------------===//

#include "frit/conv_b2b.cuh"
#include "frit/tile.cuh"
#include "frit/wgmma_conv.cuh"
#include "frit/wgmma_gemm.cuh"

/// The problem: K intermediate channels, equal padding on all sides.
template <int N, int C, int H, int W, int K, int Filters, int R, int S,
          int Pad = 0, class Type = frit::f16, class Out = Type,
          class First = frit::Relu, class Second = frit::Relu>
struct Images {
  using T = Type;
  using D = Out;
  using Bias = Type;
  using LastBias = float;
  using Epilogue = First;
  using Last = Second;
  static constexpr int n = N, c = C, h = H, w = W, k = K, r = R, s = S;
  static constexpr int p = H + 2 * Pad - R + 1;
  static constexpr int q = W + 2 * Pad - S + 1;
  static constexpr int strideH = 1, strideW = 1;
  static constexpr int dilationH = 1, dilationW = 1;
  static constexpr int padTop = Pad, padLeft = Pad;
  static constexpr int filters = Filters;
  static constexpr bool constantB = true;
  static constexpr int64_t pixels = int64_t(N) * p * q;
};

/// The problem with its tiling.
template <class Of, int Warpgroups, int Stages, int Slots, int Columns = 64>
struct Problem : Of {
  static constexpr int warpgroups = Warpgroups, stages = Stages, slots = Slots;
  static constexpr int columns = Columns;
  static constexpr frit::ConvB2bLayout layout = {
      Of::k, Of::r, Of::s, Of::q, Of::filters, warpgroups, stages, slots};
  static_assert(layout.fits());
  static constexpr int threads = layout.threads();
  static constexpr int boxPixels = layout.pixels();
  static constexpr int tiles = Of::n * Of::p * ((Of::q + 63) / 64);
  static constexpr int shared = layout.sharedBytes();
};

template <class P, bool HasBias, bool HasResidual>
__global__ void __launch_bounds__(P::threads)
    chain(const typename P::T *x, const typename P::T *w,
          const typename P::T *v, const typename P::Bias *bias,
          const typename P::LastBias *lastBias, const typename P::D *r,
          typename P::D *y, const __grid_constant__ frit::TensorMap mapX,
          const __grid_constant__ frit::TensorMap mapW,
          const __grid_constant__ frit::TensorMap mapV,
          const __grid_constant__ frit::TensorMap mapY,
          const __grid_constant__ frit::TensorMap mapR) {
#ifdef FRIT_HAS_WGMMA
  frit::convB2b<P>(&mapX, &mapW, &mapV, &mapY, HasResidual ? &mapR : nullptr,
                   HasBias ? frit::present(bias) : nullptr,
                   HasBias ? frit::present(lastBias) : nullptr,
                   HasResidual ? frit::present(r) : nullptr, y);
#else
  frit::convB2bFloor<P>(x, w, v, HasBias ? bias : nullptr,
                        HasBias ? lastBias : nullptr, HasResidual ? r : nullptr,
                        y);
#endif
}

/// In the first stage of ResNet-50.
template <int N> struct Layer : Images<N, 64, 56, 56, 64, 256, 3, 3, 1> {
  using LastBias = frit::f16;
};

#ifdef __CUDACC_RTC__
template <class P> __device__ auto compiled = &chain<P, true, true>;
template __device__ auto compiled<Problem<Layer<128>, 2, 7, 4, 128>>;
template __device__ auto compiled<Problem<Layer<128>, 3, 8, 2>>;
#else
#include "activations.h"
#include "hopper.h"

using namespace harness;

/// The kernel with its arguments.
template <class P, bool HasBias, bool HasResidual> struct Launch {
  const typename P::T *x, *w, *v;
  const typename P::Bias *bias;
  const typename P::LastBias *lastBias;
  const typename P::D *r;
  typename P::D *y;

  void operator()() {
    constexpr int size = sizeof(typename P::D);
    frit::TensorMap mapX = tiledMap(x, {P::c, P::w, P::h, P::n},
                                    {P::c, P::c * P::w, P::c * P::w * P::h},
                                    {64, P::boxPixels, 1, 1});
    frit::TensorMap mapW = tiledMap(w, {P::c, P::r * P::s, P::k},
                                    {P::c, P::r * P::s * P::c}, {64, 1, P::k});
    frit::TensorMap mapV =
        tiledMap(v, {P::k, P::filters, 1}, {P::k, 0}, {64, 64, 1});
    auto map = [](auto *at) {
      return tiledMap(at, {P::filters, P::q, P::n * P::p},
                      {P::filters, P::filters * P::q}, {128 / size, 16, 1});
    };
    launchClusters(&chain<P, HasBias, HasResidual>,
                   std::min(P::tiles, processorCount()), P::threads, 1,
                   P::shared, x, w, v, bias, lastBias, r, y, mapX, mapW, mapV,
                   map(y), map(r));
  }
};

template <class P, bool HasBias = true, bool HasResidual = true>
static void check() {
  Buffer<typename P::T> x(int64_t(P::n) * P::h * P::w * P::c);
  Buffer<typename P::T> w(int64_t(P::k) * P::r * P::s * P::c);
  Buffer<typename P::T> v(P::filters * P::k);
  Buffer<typename P::Bias> bias(P::k);
  Buffer<typename P::LastBias> lastBias(P::filters);
  Buffer<typename P::D> r(P::pixels * P::filters), y(P::pixels * P::filters);
  x.randomize(1);
  w.randomize(2);
  v.randomize(3);
  bias.randomize(4);
  lastBias.randomize(5);
  r.randomize(6);
  y.randomize(7);
  std::vector<float> in = elementsOf<float>(x), taps = elementsOf<float>(w);
  std::vector<float> last = elementsOf<float>(v);
  std::vector<double> want(P::pixels * P::filters);
  for (int64_t at = 0; at < P::pixels; ++at) {
    float middle[P::k];
    for (int k = 0; k < P::k; ++k) {
      float sum = HasBias ? toDouble(bias[k]) : 0;
      for (int i = 0; i < P::r; ++i)
        for (int j = 0; j < P::s; ++j) {
          int row = at / P::q % P::p - P::padTop + i;
          int col = at % P::q - P::padLeft + j;
          if (row < 0 || row >= P::h || col < 0 || col >= P::w)
            continue;
          int64_t image = at / (P::p * P::q);
          const float *a = &in[((image * P::h + row) * P::w + col) * P::c];
          const float *b = &taps[((k * P::r + i) * P::s + j) * P::c];
          for (int c = 0; c < P::c; ++c)
            sum += a[c] * b[c];
        }
      middle[k] = activate(typename P::Epilogue(), sum);
    }
    for (int n = 0; n < P::filters; ++n) {
      float sum = HasBias ? lastBias[n] : 0;
      if (HasResidual)
        sum += toDouble(r[at * P::filters + n]);
      for (int k = 0; k < P::k; ++k)
        sum += middle[k] * last[n * P::k + k];
      want[at * P::filters + n] = activate(typename P::Last(), sum);
    }
  }
  Launch<P, HasBias, HasResidual> launch = {
      x.get(), w.get(), v.get(), bias.get(), lastBias.get(), r.get(), y.get()};
  launch();
  launch();
  waitForDevice();
  char name[200];
  snprintf(name, sizeof name,
           "wgmma chain %dx%dx%dx%d by %dx%dx%d by %d, %d warpgroups, %d "
           "stages, %d slots",
           P::n, P::h, P::w, P::c, P::k, P::r, P::s, P::filters, P::warpgroups,
           P::stages, P::slots);
  // The intermediate result is rounded as well.
  expect(name, y, want, 2 * epsilonOf<typename P::T>());
}

static void checks() {
  using frit::Identity, frit::Relu;
  check<Problem<Images<1, 64, 9, 7, 64, 256, 3, 3, 1>, 2, 7, 4, 128>>();
  check<Problem<Images<1, 64, 9, 7, 64, 64, 3, 3, 1>, 2, 4, 2>, false>();
  check<Problem<Images<2, 64, 8, 64, 64, 192, 1, 1>, 3, 4, 4>, true, false>();
  check<Problem<Images<1, 40, 9, 65, 64, 128, 3, 2, 2, bf16, bf16, Identity>, 2,
                4, 1>>();
  check<Problem<Images<1, 8, 5, 70, 128, 128, 1, 4>, 2, 2, 2>>();
  check<Problem<
      Images<1, 64, 9, 7, 128, 256, 1, 1, 0, f16, float, Relu, Identity>, 2, 4,
      4, 128>>();
#ifndef FRIT_EMULATE
  // Larger in every dimension.
  using Many = Images<9, 64, 56, 56, 64, 256, 3, 3, 1>;
  check<Problem<Many, 2, 7, 4, 128>>();
  check<Problem<Many, 2, 4, 4>, false, false>();
  check<Problem<Many, 3, 8, 2>>();
  check<Problem<Images<3, 64, 57, 150, 64, 64, 3, 3, 1, bf16>, 3, 9, 2>>();
  check<Problem<Images<5, 64, 57, 55, 128, 512, 1, 1>, 2, 2, 2>, true, false>();
#endif
}

#ifdef FRIT_EMULATE
static void benches() {}
#else
/// The two products as separate kernels.
template <class P, int TileM, int TileN, int Stages, int Blocks = 1>
struct Tiled : P {
  static constexpr Cut cut = {TileM, TileN, Stages, 1, 1, Blocks};
  static constexpr int threads = cut.threads();
  static constexpr int tileM = TileM, tileN = TileN, stages = Stages;
  static constexpr int cluster = 1, split = 1, blocks = Blocks;
  static constexpr int raster = cut.rasterRows(kSms);
  static constexpr bool pingPong = cut.pingPongs(P::pixels, P::k, 1, kSms);
};
template <class P> struct Expand : P {
  using A = typename P::T;
  using B = typename P::T;
  using Bias = typename P::LastBias;
  using Epilogue = typename P::Last;
  static constexpr int64_t m = P::pixels, n = P::filters, k = P::k, ldd = n;
  static constexpr int64_t batch = 1, strideA = 0, strideB = 0, strideD = 0;
  static constexpr bool transposeA = false, transposeB = true;
};

template <class P>
__global__ void __launch_bounds__(P::threads, P::blocks)
    convolve(const typename P::Bias *bias, typename P::D *y,
             const __grid_constant__ frit::TensorMap mapX,
             const __grid_constant__ frit::TensorMap mapW,
             const __grid_constant__ frit::TensorMap mapY) {
#ifdef FRIT_HAS_WGMMA
  frit::wgmmaConv<P>(&mapX, &mapW, &mapY, nullptr, frit::present(bias), nullptr,
                     y);
#endif
}
template <class P>
__global__ void __launch_bounds__(P::threads, P::blocks)
    expand(const typename P::Bias *bias, const typename P::D *r,
           typename P::D *d, const __grid_constant__ frit::TensorMap mapA,
           const __grid_constant__ frit::TensorMap mapB,
           const __grid_constant__ frit::TensorMap mapD,
           const __grid_constant__ frit::TensorMap mapR) {
#ifdef FRIT_HAS_WGMMA
  frit::wgmmaGemm<P>(&mapA, &mapB, &mapD, &mapR, frit::present(bias),
                     frit::present(r), d);
#endif
}

/// Fills with random numbers of a given deviation, which determines power draw.
static __global__ void fill(frit::f16 *to, size_t count, unsigned seed,
                            float deviation) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count;
       i += size_t(gridDim.x) * blockDim.x) {
    uint64_t x = (i + seed * 0x9e3779b97f4a7c15ull) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ x >> 29) * 0x94d049bb133111ebull;
    float sum = 0;
    for (int j = 0; j < 4; ++j)
      sum += float(x >> 16 * j & 0xffff) / 65536 - 0.5f;
    frit::store(to[i], deviation * 1.7f * sum);
  }
}

/// Times a layer of a model at a batch size, alone and with alternatives.
template <int N> struct Bench {
  using P = Layer<N>;
  static constexpr int64_t kIn = P::pixels * P::c,
                           kOut = P::pixels * P::filters;
  frit::f16 *x, *w, *v, *bias, *lastBias, *middle, *r, *y;
  cudaStream_t stream;

  Bench() {
    require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    auto allocate = [&](frit::f16 *&at, size_t count, float deviation) {
      require(cudaMalloc(&at, count * 2));
      fill<<<1024, 256>>>(at, count, unsigned(count), deviation);
    };
    allocate(x, kIn, 1);
    allocate(w, P::k * P::r * P::s * P::c, 0.05f);
    allocate(v, P::filters * P::k, 0.1f);
    allocate(bias, P::k, 0.1f);
    allocate(middle, kIn, 1);
    // The copy also moves the bytes of x.
    allocate(r, kOut + kIn, 1);
    allocate(y, kOut + kIn, 1);
    allocate(lastBias, P::filters, 0.1f);
    require(cudaDeviceSynchronize());
  }
  ~Bench() {
    for (void *at : {x, w, v, bias, lastBias, middle, r, y})
      cudaFree(at);
    cudaStreamDestroy(stream);
  }

  /// Times a graph of 20 launches.
  template <class Run>
  void time(const std::string &name, double bytes, Run &&run) {
    cudaGraph_t graph;
    cudaGraphExec_t executable;
    require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    for (int i = 0; i < 20; ++i)
      run();
    require(cudaStreamEndCapture(stream, &graph));
    require(cudaGraphInstantiate(&executable, graph, 0));
    bench(("b" + std::to_string(N) + " " + name + ", 20 times").c_str(),
          20 * bytes * 1e-9, "GB/s",
          [&] { require(cudaGraphLaunch(executable, nullptr)); });
    cudaGraphExecDestroy(executable);
    cudaGraphDestroy(graph);
  }

  template <int TileM, int TileN, int Stages, int Blocks = 1> auto first() {
    using Q = Tiled<P, TileM, TileN, Stages, Blocks>;
    auto mapX = pixelMap(x, {P::c, P::w, P::h, P::n},
                         {P::c, P::c * P::w, P::c * P::w * P::h}, {-1, -1},
                         {-1, -1}, {1, 1}, TileM);
    auto mapW = tiledMap(w, {P::c, P::r * P::s, P::k},
                         {P::c, P::r * P::s * P::c}, {64, 1, TileN});
    auto mapY = tiledMap(middle, {P::k, P::pixels, 1}, {P::k, 0}, {64, 16, 1});
    auto kernel = reinterpret_cast<const void *>(&convolve<Q>);
    allowShared(kernel, Q::cut.sharedBytes());
    return [=, this]() mutable {
      void *arguments[] = {&bias, &middle, &mapX, &mapW, &mapY};
      launchCut(kernel, Q::cut,
                Q::cut.gridOf(P::pixels, P::k, 1, processorCount()), arguments,
                stream, true);
    };
  }

  template <int TileM, int TileN, int Stages, int Blocks = 1> auto second() {
    using Q = Tiled<Expand<P>, TileM, TileN, Stages, Blocks>;
    auto mapA =
        tiledMap(middle, {P::k, P::pixels, 1}, {P::k, 0}, {64, TileM, 1});
    auto mapB = tiledMap(v, {P::k, P::filters, 1}, {P::k, 0}, {64, TileN, 1});
    auto map = [](auto *at) {
      return tiledMap(at, {P::filters, P::pixels, 1}, {P::filters, 0},
                      {64, 16, 1});
    };
    auto mapD = map(y), mapR = map(r);
    auto kernel = reinterpret_cast<const void *>(&expand<Q>);
    allowShared(kernel, Q::cut.sharedBytes());
    return [=, this]() mutable {
      void *arguments[] = {&lastBias, &r, &y, &mapA, &mapB, &mapD, &mapR};
      launchCut(kernel, Q::cut,
                Q::cut.gridOf(P::pixels, P::filters, 1, processorCount()),
                arguments, stream, true);
    };
  }

  template <int Warpgroups, int Stages, int Slots, int Columns = 64>
  void both() {
    using Q = Problem<P, Warpgroups, Stages, Slots, Columns>;
    Launch<Q, true, true> launch = {x, w, v, bias, lastBias, r, y};
    time("both, " + std::to_string(Warpgroups) + " warpgroups, " +
             std::to_string(Stages) + " stages, " + std::to_string(Slots) +
             " slots, " + std::to_string(Columns),
         kBytes, [&] {
           launchStream = stream;
           launch();
           launchStream = nullptr;
         });
  }

  static constexpr double kBytes = 2.0 * (kIn + 2 * kOut);

  void operator()() {
    time("copy of as much", kBytes, [&] {
      require(cudaMemcpyAsync(y, r, size_t(kBytes / 2),
                              cudaMemcpyDeviceToDevice, stream));
    });
    auto conv = first<192, 64, 5>();
    auto gemm = second<128, 256, 2>();
    time("convolution", 4.0 * kIn, conv);
    time("product", kBytes, gemm);
    time("one, then the other", kBytes + 4.0 * kIn, [&] {
      conv();
      gemm();
    });
    both<2, 6, 4, 128>();
    both<3, 4, 3>();
  }
};

static void benches() {
  Bench<32>()();
  Bench<128>()();
}
#endif

int main(int argc, char **argv) {
#ifndef FRIT_EMULATE
  cudaDeviceProp properties;
  require(cudaGetDeviceProperties(&properties, 0));
  if (properties.major != 9) {
    printf("skipped: no GPU of compute capability 9.0\n");
    return 0;
  }
#endif
  return run(argc, argv, checks, benches);
}
#endif
