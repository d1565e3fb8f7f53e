//===- wgmma_attention_gradient.cu - Checks the gradient on sm_90a --------===//
//
// wgmma_attention_gradient.cuh against the definition of the gradient in f64.
//
//===----------------------------------------------------------------------===//

#include "frit/wgmma_attention_gradient.cuh"

/// Tensors are [batch, row, head, size].
template <class Type, int Batch, int Heads, int Groups, int Queries, int Keys,
          int Size, int Stages = 4>
struct Gradient {
  using T = Type;
  static constexpr int batch = Batch, heads = Heads, groups = Groups;
  static constexpr int queries = Queries, keys = Keys, size = Size;
  static constexpr float scale = 0.25f;
  static constexpr bool causal = false;
  using Mask = void;
  using M = frit::Strides<0, 0, 0, 0>;
  static constexpr int64_t maskSize = 0;
  static constexpr bool sumsColumns = false, lowest = false;
  using Stats = frit::Strides<Heads * Queries, Queries, 1>;
  using Delta = frit::Strides<Heads * Queries, 1, Heads>;
  using Q = frit::Strides<Queries * Heads * Size, Size, Heads * Size>;
  using K = frit::Strides<Keys * Groups * Size, Size, Groups * Size>;
  using V = K;
  using Dy = Q;
  using Dq = Q;
  using Dk = K;
  using Dv = K;
  static constexpr int stages = Stages;
};
template <class Base> struct Causal : Base {
  static constexpr bool causal = true;
};
template <class Base> struct Backward : Base {
  static constexpr float scale = -0.5f;
};
/// A scale that leaves few keys their weight.
template <class Base> struct Steep : Base {
  static constexpr float scale = 8;
};

template <class Base> struct Summed : Base {
  static constexpr bool sumsColumns = true;
};
/// A mask of [batch, 1, 1, keys], of [heads, 1, keys] if `PerHead`, or of
/// [heads, queries, keys] if `PerScore`.
template <class Base, class Type, bool PerScore = false, bool PerHead = false>
struct Masked : Base {
  using Mask = Type;
  static constexpr int64_t row = PerScore ? Base::keys : 0;
  static constexpr int64_t head = PerScore  ? row * Base::queries
                                  : PerHead ? Base::keys
                                            : 0;
  using M = frit::Strides<head ? 0 : Base::keys, head, row, 1>;
  static constexpr int64_t maskSize =
      head ? head * Base::heads : Base::keys * Base::batch;
};

/// A mask that hides keys by the lowest number, and all keys of some queries.
template <class Base> struct Lowest : Base {
  static constexpr bool lowest = true;
};

/// Ranges as the window of Ranged in attention.h, for queries and then keys.
template <class Base, int Window, bool PerBatch = false> struct Ranged : Base {
  using Mask = int32_t;
  static constexpr int64_t ends = 2 * (Base::queries + Base::keys);
  using M = frit::Strides<PerBatch ? ends : 0, 0, 2, 1>;
  static constexpr int64_t maskSize = PerBatch ? ends * Base::batch : ends;

  static void fill(int32_t *all) {
    for (int batch = 0; batch < maskSize / ends; ++batch, all += ends) {
      int32_t *ofKeys = all + 2 * Base::queries;
      for (int j = 0; j < 2 * Base::keys; ++j)
        ofKeys[j] = 0;
      for (int i = 0; i < Base::queries; ++i) {
        const int next = i + batch * 5 + 1;
        const int last = next < Base::keys ? next : Base::keys;
        const int first = next - Window;
        all[2 * i] = first < 0 ? 0 : first < last ? first : last - 1;
        all[2 * i + 1] = last;
        for (int j = 0; j < Base::keys; ++j) {
          ofKeys[2 * j] += last <= j;
          ofKeys[2 * j + 1] += all[2 * i] <= j;
        }
      }
    }
  }
};

template <class P>
__global__ void
__launch_bounds__(frit::WgmmaAttentionGradientShape<P>::kThreads, 1)
    gradient(const frit::GradientTensors<P> tensors,
             const __grid_constant__ frit::TensorMap q,
             const __grid_constant__ frit::TensorMap k,
             const __grid_constant__ frit::TensorMap v,
             const __grid_constant__ frit::TensorMap dy,
             const __grid_constant__ frit::TensorMap dq,
             const __grid_constant__ frit::TensorMap dk,
             const __grid_constant__ frit::TensorMap dv) {
#ifdef FRIT_HAS_WGMMA
  frit::wgmmaAttentionGradient<P>({&q, &k, &v, &dy, &dq, &dk, &dv}, tensors);
#else
  frit::attentionGradientFloor(tensors);
#endif
}

using Bert = Summed<Gradient<frit::bf16, 32, 16, 16, 512, 512, 64, 6>>;
using Gpt = Summed<Causal<Gradient<frit::bf16, 16, 12, 12, 1024, 1024, 64, 6>>>;

#ifdef __CUDACC_RTC__
template <class P> __device__ auto compiled = &gradient<P>;
template __device__ auto compiled<Bert>;
template __device__ auto compiled<Gpt>;
#else
#include "hopper.h"

using namespace harness;

/// -inf.
template <class T> static T hidden();
template <> f16 hidden() { return {0xFC00}; }
template <> bf16 hidden() { return {0xFF80}; }
template <> float hidden() { return -INFINITY; }

/// The lowest number.
template <class T> static T lowest();
template <> f16 lowest() { return {0xFBFF}; }
template <> bf16 lowest() { return {0xFF7F}; }
template <> float lowest() { return -3.4028234e38f; }

/// The tensors of a problem, and the maps of the kernel.
template <class P> struct Tensors {
  using T = typename P::T;
  static constexpr size_t kRows = size_t(P::batch) * P::heads * P::queries;
  static constexpr size_t kQueries = kRows * P::size;
  static constexpr size_t kKeys =
      size_t(P::batch) * P::groups * P::keys * P::size;

  Buffer<T> q{kQueries}, k{kKeys}, v{kKeys}, dy{kQueries};
  Buffer<T> dq{kQueries}, dk{kKeys}, dv{kKeys};
  Buffer<float> stats{kRows}, delta{kRows};
  static constexpr bool kHasMask = !std::is_void_v<typename P::Mask>;
  using Mask = std::conditional_t<kHasMask, typename P::Mask, float>;
  Buffer<Mask> mask{size_t(P::maskSize)};
  static constexpr int kHeads = P::heads + 2 * P::groups;
  Buffer<float> columnSums{P::sumsColumns ? size_t(P::batch) * P::queries / 16 *
                                                kHeads * P::size
                                          : 0};

  Tensors() {
    q.randomize(1);
    k.randomize(2);
    v.randomize(3);
    dy.randomize(4);
    stats.randomize(5);
    delta.randomize(6);
    if constexpr (frit::kHasRanges<P>) {
      P::fill(&mask[0]);
    } else {
      mask.randomize(7);
      // Every third key is hidden, and the first ones too.
      for (size_t i = 0; i < mask.size(); ++i)
        if (i % 3 == 1 || i % P::keys < 2)
          mask[i] = P::lowest && i % 2 ? lowest<Mask>() : hidden<Mask>();
      // Some queries see nothing but keys with the lowest number.
      for (size_t i = 0; P::lowest && i < mask.size(); ++i)
        if (i / P::keys % 7 == 1)
          mask[i] = i % 5 ? lowest<Mask>() : hidden<Mask>();
    }
    mask.upload();
  }

  static size_t queryAt(int b, int h, int i) {
    return ((size_t(b) * P::queries + i) * P::heads + h) * P::size;
  }
  static size_t keyAt(int b, int g, int j) {
    return ((size_t(b) * P::keys + j) * P::groups + g) * P::size;
  }

  void setRow(int b, int h, int i, double stat, double sum) {
    stats[(size_t(b) * P::heads + h) * P::queries + i] = float(stat);
    delta[(size_t(b) * P::queries + i) * P::heads + h] = float(sum);
  }

  static frit::TensorMap mapOf(Buffer<T> &buffer, int rows, int heads,
                               int lines) {
    const int64_t row = int64_t(heads) * P::size;
    return tiledMap<T, 4>(buffer.get(), {P::size, rows, heads, P::batch},
                          {row, P::size, row * rows}, {64, lines, 1, 1});
  }

  void launch(int blocks = 0) {
    using Shape = frit::WgmmaAttentionGradientShape<P>;
    auto ofQueries = [&](Buffer<T> &x, int lines) {
      return mapOf(x, P::queries, P::heads, lines);
    };
    auto ofKeys = [&](Buffer<T> &x, int lines) {
      return mapOf(x, P::keys, P::groups, lines);
    };
    if (!blocks)
      blocks = int(std::min<int64_t>(Shape::kBlocks, kSms));
    launchShared(gradient<P>, dim3(blocks), Shape::kThreads, Shape::kShared,
                 frit::GradientTensors<P>{
                     q.get(), k.get(), v.get(), dy.get(), dq.get(), dk.get(),
                     dv.get(), stats.get(), delta.get(),
                     kHasMask ? mask.get() : nullptr, columnSums.get()},
                 ofQueries(q, 64), ofKeys(k, 64), ofKeys(v, 64),
                 ofQueries(dy, 64), ofQueries(dq, 16), ofKeys(dk, 16),
                 ofKeys(dv, 16));
  }
};

/// Returns what a mask adds: the lowest f16 stands for the lowest float.
template <class T> static double scoreOf(T mask) {
  const double value = toDouble(mask);
  return value == toDouble(lowest<T>()) ? -3.4028234e38 : value;
}

/// Checks a problem with `blocks` blocks, or as many as the kernel has.
template <class P> static void check(int blocks = 0) {
  using T = typename P::T;
  Tensors<P> all;
  std::vector<double> dq(all.kQueries), dk(all.kKeys), dv(all.kKeys);
  auto dot = [](Buffer<T> &a, size_t i, Buffer<T> &b, size_t j) {
    double sum = 0;
    for (int d = 0; d < P::size; ++d)
      sum += toDouble(a[i + d]) * toDouble(b[j + d]);
    return sum;
  };
  std::vector<double> weights(P::keys), dWeights(P::keys);
  for (int b = 0; b < P::batch; ++b)
    for (int h = 0; h < P::heads; ++h)
      for (int i = 0; i < P::queries; ++i) {
        const int group = h / (P::heads / P::groups);
        const size_t query = all.queryAt(b, h, i);
        auto term = [&](int j) -> double {
          const size_t ends = b * P::M::batch + i * P::M::row;
          if constexpr (frit::kHasRanges<P>)
            return j >= all.mask[ends] && j < all.mask[ends + 1] ? 0
                                                                 : -INFINITY;
          else if constexpr (!frit::kHasMask<P>)
            return 0;
          else
            return scoreOf(
                all.mask[b * P::M::batch + h * P::M::head + i * P::M::row + j]);
        };
        const int seen = P::causal ? std::min(i + 1, P::keys) : P::keys;
        double top = -INFINITY, total = 0, delta = 0;
        for (int j = 0; j < seen; ++j) {
          const size_t key = all.keyAt(b, group, j);
          weights[j] = P::scale * dot(all.q, query, all.k, key) + term(j);
          dWeights[j] = dot(all.dy, query, all.v, key);
          top = std::max(top, weights[j]);
        }
        // A query without keys has no gradient.
        if (top == -INFINITY) {
          all.setRow(b, h, i, INFINITY, 0);
          continue;
        }
        for (int j = 0; j < seen; ++j)
          total += weights[j] = std::exp(weights[j] - top);
        for (int j = 0; j < seen; ++j)
          delta += (weights[j] /= total) * dWeights[j];
        const double floor = frit::AttentionScores<P>::kFloor * std::log(2.0);
        all.setRow(b, h, i, std::max(top, floor) + std::log(total), delta);
        for (int j = 0; j < seen; ++j) {
          const size_t key = all.keyAt(b, group, j);
          const double ds = weights[j] * (dWeights[j] - delta);
          for (int d = 0; d < P::size; ++d) {
            dq[query + d] += P::scale * ds * toDouble(all.k[key + d]);
            dk[key + d] += P::scale * ds * toDouble(all.q[query + d]);
            dv[key + d] += weights[j] * toDouble(all.dy[query + d]);
          }
        }
      }
  all.stats.upload();
  all.delta.upload();
  all.launch(blocks);
  std::string name = "gradient " + std::to_string(P::batch) + "x" +
                     std::to_string(P::heads) + "x" +
                     std::to_string(P::queries) + "x" +
                     std::to_string(P::keys) + "x" + std::to_string(P::size);
  const double tolerance = 2 * epsilonOf<T>();
  if constexpr (P::sumsColumns) {
    std::vector<double> sums(all.columnSums.size());
    for (int b = 0; b < P::batch; ++b)
      for (int i = 0; i < P::queries; ++i)
        for (int h = 0; h < all.kHeads; ++h)
          for (int d = 0; d < P::size; ++d) {
            const int group = (h - P::heads + P::groups) % P::groups;
            const size_t part = (size_t(b) * P::queries + i) / 16;
            sums[(part * all.kHeads + h) * P::size + d] +=
                h < P::heads               ? dq[all.queryAt(b, h, i) + d]
                : h < P::heads + P::groups ? dk[all.keyAt(b, group, i) + d]
                                           : dv[all.keyAt(b, group, i) + d];
          }
    expect(name + " sums", all.columnSums, sums, 2 * epsilonOf<T>());
  }
  expect(name + " dq", all.dq, dq, tolerance);
  expect(name + " dk", all.dk, dk, tolerance);
  expect(name + " dv", all.dv, dv, tolerance);
}

#ifndef FRIT_EMULATE
/// Checks that all of many launches have the bits of the first.
template <class P> static void checkRepeats() {
  Tensors<P> all;
  for (size_t i = 0; i < all.stats.size(); ++i)
    all.stats[i] += 4;
  all.stats.upload();
  all.launch();
  all.dq.download();
  std::vector<uint16_t> first(all.kQueries), now(all.kQueries);
  memcpy(first.data(), all.dq.host(), 2 * all.kQueries);
  int others = 0;
  for (int launch = 0; launch < 40; ++launch) {
    all.launch();
    all.dq.download();
    memcpy(now.data(), all.dq.host(), 2 * all.kQueries);
    others += now != first;
  }
  if (others) {
    ++failures;
    printf("gradient: %d of 40 launches have other bits than the first\n",
           others);
  }
}
#endif

#ifdef FRIT_FEW_CHECKS
/// The checks for planted.py.
static void checks() {
  check<Causal<Gradient<f16, 1, 2, 2, 200, 200, 64, 3>>>(2);
}
#else
static void checks() {
  // Whole tiles and tails, several tiles per block, warpgroups without rows,
  // heads that share keys.
  check<Gradient<f16, 1, 2, 2, 17, 17, 64, 3>>();
  check<Gradient<bf16, 2, 1, 1, 128, 128, 64>>();
  check<Gradient<f16, 1, 2, 2, 197, 197, 64>>(3);
  check<Gradient<bf16, 1, 4, 2, 130, 70, 40>>(2);
  check<Gradient<f16, 2, 1, 1, 40, 300, 56, 3>>(1);
  check<Causal<Gradient<f16, 1, 2, 2, 250, 250, 64, 3>>>(3);
  check<Causal<Gradient<bf16, 1, 4, 1, 200, 200, 64>>>(1);
  check<Causal<Gradient<f16, 1, 2, 2, 70, 260, 64>>>(1);
  check<Causal<Gradient<f16, 1, 1, 1, 260, 70, 64>>>(1);
  check<Backward<Gradient<f16, 1, 1, 1, 100, 100, 64>>>();
  check<Causal<Steep<Gradient<f16, 1, 1, 1, 150, 150, 64>>>>();
  // Sums of columns.
  check<Summed<Gradient<bf16, 2, 2, 2, 144, 144, 64>>>(2);
  check<Summed<Causal<Gradient<f16, 1, 4, 2, 208, 208, 56>>>>(1);
  // Masks: of keys and of scores; queries that see no key; large numbers.
  check<Masked<Gradient<f16, 2, 2, 1, 130, 130, 64>, f16>>(2);
  check<Causal<Masked<Gradient<bf16, 2, 1, 1, 90, 90, 64>, float>>>(1);
  check<Masked<Gradient<f16, 1, 4, 2, 70, 150, 64>, float, false, true>>();
  check<Masked<Gradient<f16, 1, 2, 2, 70, 150, 64>, float, true>>();
  check<Causal<Masked<Gradient<f16, 1, 2, 1, 100, 100, 40>, bf16, true>>>();
  // The lowest number of each type, for all keys of some queries.
  check<Lowest<Masked<Gradient<f16, 2, 2, 1, 130, 130, 64>, float>>>(2);
  check<Lowest<Masked<Gradient<f16, 1, 2, 2, 70, 150, 64>, f16, true>>>();
  check<Causal<
      Lowest<Masked<Gradient<bf16, 1, 2, 1, 100, 100, 40>, bf16, true>>>>();
  // Ranges of keys, narrower and wider than tiles.
  check<Ranged<Gradient<f16, 2, 2, 1, 300, 300, 64, 3>, 40, true>>(2);
  check<Ranged<Gradient<bf16, 1, 2, 2, 260, 260, 40>, 150>>(1);
  check<Ranged<Gradient<f16, 1, 1, 1, 200, 330, 64>, 70>>();
  check<Ranged<Gradient<f16, 1, 1, 1, 330, 100, 64>, 70>>(1);
  check<Summed<Ranged<Gradient<bf16, 1, 2, 2, 208, 208, 64>, 33>>>(1);
#ifndef FRIT_EMULATE
  check<Gradient<bf16, 2, 3, 3, 512, 512, 64, 6>>(5);
  check<Causal<Gradient<bf16, 1, 3, 3, 1024, 1024, 64, 6>>>(7);
  // The next head's rows arrive while a tile's are read.
  checkRepeats<Causal<Gradient<bf16, 4, 32, 8, 512, 512, 64, 6>>>();
#endif
}
#endif

static void benches() {
#ifndef FRIT_EMULATE
  auto one = []<class P>(P, const char *name) {
    Tensors<P> all;
    // Five products of gradients, as others count them.
    const double work =
        10e-12 * P::batch * P::heads * P::queries * P::keys * P::size;
    bench(name, P::causal ? work / 2 : work, "TFLOP/s", [&] { all.launch(); });
  };
  one(Bert(), "bert-large b32");
  one(Gpt(), "gpt3-small b16");
#endif
}

int main(int argc, char **argv) {
  return runOnHopper(argc, argv, checks, benches);
}
#endif
