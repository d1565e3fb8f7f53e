//===- group_norm.cu - Checks group_norm.cuh on sm_90a --------------------===//

#include "frit/group_norm.cuh"

template <class Type, int Samples, int Pixels, int Channels, int Groups,
          int Runs, int Blocks, int Threads = 256>
struct Problem {
  using T = Type;
  static constexpr int samples = Samples, pixels = Pixels, channels = Channels;
  static constexpr int groups = Groups, run = Runs, cluster = Blocks;
  static constexpr int threads = Threads;
  static constexpr float epsilon = 1e-5f;

  const T *x, *added;
  const float *scales, *biases;
  T *y;

  /// Each sample has numbers for its channels, which are added before.
  __device__ void load(frit::Pack<T, 8> &to, unsigned sample, unsigned pixel,
                       unsigned channel) const {
    float a[8], b[8];
    frit::loadVector(a, x + (sample * Pixels + pixel) * Channels + channel);
    frit::loadVector(b, added + sample * Channels + channel);
#pragma unroll
    for (int v = 0; v < 8; ++v)
      a[v] += b[v];
    frit::roundToPack(to, a, 0);
  }
  __device__ void factors(float (&scale)[8], float (&bias)[8],
                          unsigned channel) const {
    frit::loadVector(scale, scales + channel);
    frit::loadVector(bias, biases + channel);
  }
  __device__ void store(const float (&norm)[8], unsigned sample, unsigned pixel,
                        unsigned channel) const {
    float out[8];
#pragma unroll
    for (int v = 0; v < 8; ++v)
      out[v] = norm[v] > 0 ? norm[v] : 0;
    frit::storeVector(y + (sample * Pixels + pixel) * Channels + channel, out);
  }
};

template <class P>
__global__ void __launch_bounds__(P::threads)
    normalized(const typename P::T *x, const typename P::T *added,
               const float *scales, const float *biases, typename P::T *y) {
  frit::pdlTrigger();
  frit::groupNorm<P::run, P::cluster, P::threads>(
      P{x, added, scales, biases, y});
}

// Stable Diffusion's, two samples; also for NVRTC.
using Wide = Problem<frit::f16, 2, 4096, 320, 32, 4, 8>;
using Joined = Problem<frit::f16, 2, 4096, 960, 32, 4, 8, 512>;
using Middle = Problem<frit::f16, 2, 1024, 640, 32, 2, 8>;
using Small = Problem<frit::f16, 2, 256, 1280, 32, 1, 4>;
using Least = Problem<frit::f16, 2, 64, 2560, 32, 1, 4>;

#ifdef __CUDACC_RTC__
#ifdef FRIT_HAS_CLUSTERS
template <class P> __device__ auto compiled = &normalized<P>;
template __device__ auto compiled<Wide>;
template __device__ auto compiled<Joined>;
#endif
#else
#include "hopper.h"
#include "launch_graph.h"

using namespace harness;

/// The tensors of a problem.
template <class P> struct Tensors {
  using T = typename P::T;
  Buffer<T> x{size_t(P::samples) * P::pixels * P::channels};
  Buffer<T> added{size_t(P::samples) * P::channels}, y{x.size()};
  Buffer<float> scales{P::channels}, biases{P::channels};

  Tensors() {
    x.randomize(1);
    added.randomize(2);
    scales.randomize(3);
    biases.randomize(4);
    y.randomize(5);
  }
  void launch() {
    using Plan = frit::GroupNormPlan<P::run, P::cluster, P::threads, P>;
    launchClusters(normalized<P>, P::samples * Plan::kRuns * P::cluster,
                   P::threads, P::cluster, Plan::kShared,
                   static_cast<const T *>(x.get()),
                   static_cast<const T *>(added.get()),
                   static_cast<const float *>(scales.get()),
                   static_cast<const float *>(biases.get()), y.get());
  }
};

/// With `offset`, all numbers are far from zero, where sums of squares would
/// lose the variance. Sums of what is added are exact.
template <class P> static void check(int offset = 0) {
  using T = typename P::T;
  Tensors<P> tensors;
  if (offset) {
    for (size_t i = 0; i < tensors.x.size(); ++i)
      tensors.x[i] = fromSixtyFourths<T>(int(i * 7 % 128) + 64 * offset);
    tensors.x.upload();
  }
  constexpr int each = P::channels / P::groups;
  std::vector<double> values(tensors.x.size()), want(values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const size_t channel = i % P::channels;
    const size_t sample = i / P::channels / P::pixels;
    values[i] = toDouble(tensors.x[i]) +
                toDouble(tensors.added[sample * P::channels + channel]);
  }
  for (int n = 0; n < P::samples; ++n)
    for (int g = 0; g < P::groups; ++g) {
      auto forEach = [&](auto &&use) {
        for (int p = 0; p < P::pixels; ++p)
          for (int c = g * each; c < (g + 1) * each; ++c)
            use((size_t(n) * P::pixels + p) * P::channels + c, c);
      };
      const double count = double(P::pixels) * each;
      double mean = 0, variance = 0;
      forEach([&](size_t i, int) { mean += values[i]; });
      mean /= count;
      forEach([&](size_t i, int) {
        variance += (values[i] - mean) * (values[i] - mean);
      });
      const double factor = 1 / std::sqrt(variance / count + P::epsilon);
      forEach([&](size_t i, int c) {
        double norm =
            (values[i] - mean) * factor * tensors.scales[c] + tensors.biases[c];
        want[i] = norm > 0 ? norm : 0;
      });
    }
  tensors.launch();
  expect("group norm " + std::to_string(P::pixels) + "x" +
             std::to_string(P::channels) + " by " + std::to_string(P::groups),
         tensors.y, want, 2 * epsilonOf<T>());
}

#ifdef FRIT_FEW_CHECKS
/// The checks for planted.py.
static void checks() { check<Problem<f16, 1, 37, 40, 4, 4, 2, 64>>(); }
#else
static void checks() {
  // One block and several; groups of less, and of more, than a vector; groups
  // that share a vector; pixels that leave threads idle.
  check<Problem<f16, 2, 24, 64, 8, 4, 1, 64>>();
  check<Problem<bf16, 1, 37, 40, 4, 4, 2, 64>>();
  check<Problem<f16, 2, 100, 120, 4, 4, 4, 96>>();
  check<Problem<f16, 1, 61, 160, 2, 1, 8, 64>>();
  check<Problem<f16, 1, 50, 64, 16, 8, 4, 32>>();
  check<Problem<f16, 1, 64, 320, 32, 4, 4, 256>>(16);
#ifndef FRIT_EMULATE
  check<Wide>();
  check<Middle>(8);
  check<Small>();
  check<Least>();
#endif
}
#endif

#ifndef FRIT_EMULATE
template <class P> static void benchOne(const char *name) {
  Tensors<P> tensors;
  benchGraph(name, 4e-9 * tensors.x.size(), "GB/s", [&] { tensors.launch(); });
}
#endif

static void benches() {
#ifndef FRIT_EMULATE
  benchOne<Wide>("64x64x320");
  benchOne<Problem<f16, 2, 4096, 320, 32, 4, 8, 512>>("64x64x320, 512 threads");
  benchOne<Joined>("64x64x960");
  benchOne<Middle>("32x32x640");
  benchOne<Small>("16x16x1280");
  benchOne<Least>("8x8x2560");
#endif
}

int main(int argc, char **argv) {
  return runOnHopper(argc, argv, checks, benches);
}
#endif
