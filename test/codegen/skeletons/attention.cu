//===- attention.cu - Checks attention.cuh --------------------------------===//

#include "frit/attention.cuh"

/// Q, K and V are packed as [batch, row, Q K or V, head, size] where the counts
/// allow it, else [batch, head, row, size]; O is [batch, row, head, size].
template <class Type, int Batch, int Heads, int Groups, int Queries, int Keys,
          int Size>
struct Problem {
  using T = Type;
  using Mask = void;
  using M = frit::Strides<0, 0, 0, 0>;
  static constexpr int batch = Batch, heads = Heads, groups = Groups;
  static constexpr int queries = Queries, keys = Keys;
  static constexpr int size = Size, valueSize = Size;
  static constexpr float scale = 0.5f;
  static constexpr bool causal = false;
  static constexpr int causalOffset = 0;
  static constexpr bool packed = Heads == Groups && Queries == Keys;
  static constexpr int64_t width = Heads * Size;
  template <int Rows, int Count>
  using Layout =
      frit::Strides<packed ? 3 * width * Rows : int64_t(Count) * Rows * Size,
                    packed ? Size : int64_t(Rows) * Size,
                    packed ? 3 * width : Size>;
  using Q = Layout<Queries, Heads>;
  using K = Layout<Keys, Groups>;
  using V = K;
  using O = frit::Strides<Queries * width, Size, width>;
  static constexpr int tileM = 64, rowsPerWarp = 16, tileN = 64, splits = 1;
};

template <class Base, int Offset = 0> struct Causal : Base {
  static constexpr bool causal = true;
  static constexpr int causalOffset = Offset;
};
template <class Base> struct Backward : Base {
  static constexpr float scale = -0.25f;
};
template <class Base> struct Narrow : Base {
  static constexpr int valueSize = 16;
};

/// Tiles of M rows, `Rows` of them for a warp, and N keys for each set of
/// warps.
template <class Base, int TileM, int Rows, int TileN, int Splits>
struct Tiled : Base {
  static constexpr int tileM = TileM, rowsPerWarp = Rows, tileN = TileN;
  static constexpr int splits = Splits;
};

/// A mask of [batch or 1, heads or 1, queries or 1, keys or 1].
template <class Base, class Type, bool PerBatch, bool PerHead, bool PerRow,
          bool PerKey = true>
struct Masked : Base {
  using Mask = Type;
  static constexpr int64_t row = PerKey ? Base::keys : 1;
  static constexpr int64_t head = PerRow ? row * Base::queries : row;
  static constexpr int64_t item = PerHead ? head * Base::heads : head;
  using M = frit::Strides<PerBatch ? item : 0, PerHead ? head : 0,
                          PerRow ? row : 0, PerKey>;
  static constexpr int64_t elements = PerBatch ? item * Base::batch : item;
};

template <class P>
__global__ void __launch_bounds__(frit::AttentionShape<P>::kThreads)
    plain(const typename P::T *q, const typename P::T *k,
          const typename P::T *v, typename P::T *o) {
  frit::attention<P>(q, k, v, nullptr, o);
}
template <class P>
__global__ void __launch_bounds__(frit::AttentionShape<P>::kThreads)
    masked(const typename P::T *q, const typename P::T *k,
           const typename P::T *v, const typename P::Mask *mask,
           typename P::T *o) {
  frit::attention<P>(q, k, v, mask, o);
}

// Sizes of which the benchmark is made, also for NVRTC.
template <int Batch, int Heads, int Length, int Size>
using Square = Problem<frit::f16, Batch, Heads, Heads, Length, Length, Size>;
using Bert = Square<32, 16, 384, 64>;
using Bert1 = Square<1, 16, 384, 64>;
using Vit = Square<32, 12, 197, 64>;
using Vit1 = Square<1, 12, 197, 64>;
using Gpt1 = Causal<Square<1, 12, 1024, 64>>;
using Long = Square<4, 16, 2048, 128>;

template __global__ void plain<Tiled<Bert, 64, 16, 64, 1>>(const frit::f16 *,
                                                           const frit::f16 *,
                                                           const frit::f16 *,
                                                           frit::f16 *);
template __global__ void plain<Tiled<Gpt1, 64, 16, 64, 2>>(const frit::f16 *,
                                                           const frit::f16 *,
                                                           const frit::f16 *,
                                                           frit::f16 *);
template __global__ void plain<Tiled<Long, 128, 32, 64, 1>>(const frit::f16 *,
                                                            const frit::f16 *,
                                                            const frit::f16 *,
                                                            frit::f16 *);
template __global__ void
masked<Masked<Bert, frit::boolean, true, false, false>>(const frit::f16 *,
                                                        const frit::f16 *,
                                                        const frit::f16 *,
                                                        const frit::boolean *,
                                                        frit::f16 *);

#ifndef __CUDACC_RTC__
#include "harness.h"

using namespace harness;
using frit::boolean;

template <class P> static size_t lengthOf(int64_t rows, int64_t heads) {
  return P::packed ? P::batch * rows * 3 * P::width
                   : P::batch * heads * rows * P::size;
}

/// What a mask has for the keys that do not count: a large number, the lowest,
/// or none at all; as the bits of a T.
enum class Fill { large, lowest, infinite };

template <class T> static T never(Fill fill);
template <> f16 never(Fill fill) {
  return {uint16_t(fill == Fill::infinite ? 0xFC00 : 0xF8E2)};
}
template <> bf16 never(Fill fill) {
  return {uint16_t(fill == Fill::infinite ? 0xFF80 : 0xC71C)};
}
template <> float never(Fill fill) {
  return fill == Fill::infinite ? -INFINITY
         : fill == Fill::lowest ? -3.4028234e38f
                                : -40000;
}

/// Every seventh row sees nothing, the others always the first keys.
template <class T> static T maskOf(Fill fill, int row, int col, int random) {
  bool blind = row % 7 == 5, counts = !blind && (col < 4 || random & 3);
  if constexpr (std::is_same_v<T, boolean>)
    return {counts};
  else if (counts)
    return fromSixtyFourths<T>(random % 64);
  else
    return never<T>(blind && fill == Fill::infinite ? Fill::large : fill);
}
static double termOf(boolean mask) { return mask.bits ? 0 : -INFINITY; }
template <class T> static double termOf(T mask) { return toDouble(mask); }

/// What the definition gives for one row; `seen(j)` is the term of key j.
template <class P, class Dot, class Term, class Value>
static void expectRow(const Dot &dot, const Term &term, const Value &value,
                      int row, std::vector<double> &out) {
  std::vector<double> scores(P::keys, -INFINITY);
  double top = -INFINITY;
  for (int j = 0; j < P::keys; ++j) {
    if (P::causal && j > row + P::causalOffset)
      continue;
    scores[j] = float(P::scale * dot(j) + term(j));
    top = std::max(top, scores[j]);
  }
  out.assign(P::valueSize, 0);
  if (top == -INFINITY)
    return;
  double total = 0;
  for (double &score : scores)
    total += score = std::exp(score - top);
  for (int j = 0; j < P::keys; ++j)
    for (int d = 0; d < P::valueSize; ++d)
      out[d] += scores[j] / total * value(j, d);
}

template <class P> static void check(Fill fill = Fill::large, int blocks = 0) {
  using T = typename P::T;
  using Shape = frit::AttentionShape<P>;
  constexpr bool hasMask = frit::kHasMask<P>;
  Buffer<T> qkv(lengthOf<P>(P::queries, P::heads));
  Buffer<T> keys(P::packed ? 0 : lengthOf<P>(P::keys, P::groups));
  Buffer<T> values(keys.size());
  Buffer<T> o(P::batch * P::queries * P::width);
  qkv.randomize(1);
  keys.randomize(2);
  values.randomize(3);
  o.randomize(4);
  auto *q = qkv.get(), *k = P::packed ? q + P::width : keys.get();
  auto *v = P::packed ? q + 2 * P::width : values.get();
  auto *hostQ = qkv.host(), *hostK = P::packed ? hostQ + P::width : keys.host();
  auto *hostV = P::packed ? hostQ + 2 * P::width : values.host();

  auto run = [&](auto &mask) {
    std::vector<double> want, row;
    for (size_t i = 0; i < o.size(); ++i)
      want.push_back(toDouble(o[i])); // what lies between rows stays
    for (int b = 0; b < P::batch; ++b)
      for (int h = 0; h < P::heads; ++h)
        for (int i = 0; i < P::queries; ++i) {
          int group = h / (P::heads / P::groups);
          auto dot = [&](int j) {
            double sum = 0;
            for (int d = 0; d < P::size; ++d)
              sum += toDouble(hostQ[b * P::Q::batch + h * P::Q::head +
                                    i * P::Q::row + d]) *
                     toDouble(hostK[b * P::K::batch + group * P::K::head +
                                    j * P::K::row + d]);
            return sum;
          };
          auto term = [&](int j) -> double {
            if constexpr (hasMask) {
              return termOf(mask[b * P::M::batch + h * P::M::head +
                                 i * P::M::row + j * P::M::column]);
            }
            return 0;
          };
          auto value = [&](int j, int d) {
            return toDouble(hostV[b * P::V::batch + group * P::V::head +
                                  j * P::V::row + d]);
          };
          expectRow<P>(dot, term, value, i, row);
          for (int d = 0; d < P::valueSize; ++d)
            want[b * P::O::batch + h * P::O::head + i * P::O::row + d] = row[d];
        }
    dim3 grid(blocks ? blocks : unsigned(Shape::kBlocks));
    if constexpr (hasMask)
      launchShared(masked<P>, grid, Shape::kThreads, Shape::kShared, q, k, v,
                   mask.get(), o.get());
    else
      launchShared(plain<P>, grid, Shape::kThreads, Shape::kShared, q, k, v,
                   o.get());
    expect("attention " + std::to_string(P::batch) + "x" +
               std::to_string(P::heads) + "x" + std::to_string(P::queries) +
               "x" + std::to_string(P::keys) + "x" + std::to_string(P::size),
           o, want, 2 * epsilonOf<T>());
  };
  if constexpr (hasMask) {
    Buffer<typename P::Mask> mask(P::elements);
    uint64_t state = 99;
    int64_t row = P::M::column ? P::keys : 1;
    for (size_t i = 0; i < mask.size(); ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      mask[i] = maskOf<typename P::Mask>(fill, int(i / row), int(i % row),
                                         int(state >> 40) & 1023);
    }
    mask.upload();
    run(mask);
  } else {
    run(o);
  }
}

static void checks() {
  // Every length of tail, one key, one query, sizes that fill no fragment.
  check<Problem<f16, 1, 2, 2, 17, 17, 64>>();
  check<Problem<f16, 2, 3, 3, 1, 1, 32>>();
  check<Problem<bf16, 1, 2, 2, 70, 70, 80>>();
  check<Problem<f16, 1, 2, 2, 5, 131, 128>>();
  check<Problem<f16, 1, 1, 1, 33, 40, 24>>();
  // Heads that share keys, more rows for a warp, sets of warps, small grids.
  check<Tiled<Problem<f16, 2, 6, 2, 77, 150, 32>, 64, 32, 32, 1>>();
  check<Tiled<Problem<bf16, 1, 4, 1, 40, 197, 64>, 32, 16, 48, 2>>();
  check<Tiled<Problem<f16, 1, 2, 2, 197, 197, 64>, 32, 16, 64, 4>>(Fill::large,
                                                                   3);
  check<Tiled<Problem<f16, 1, 1, 1, 40, 100, 256>, 32, 16, 32, 1>>();
  // The causal rule, on its own and with tails, sets and rows without keys.
  check<Causal<Problem<f16, 1, 2, 2, 150, 150, 32>>>();
  check<Causal<Tiled<Problem<f16, 1, 2, 2, 150, 150, 64>, 64, 32, 32, 2>>>();
  check<Causal<Problem<f16, 1, 1, 1, 90, 40, 32>>>();
  check<Causal<Problem<f16, 1, 2, 1, 9, 85, 32>, 76>>();
  check<Causal<Problem<f16, 1, 2, 1, 85, 85, 32>, -20>>();
  // Masks of every type and shape.
  using Small = Problem<f16, 2, 2, 2, 71, 71, 32>;
  using Even = Problem<bf16, 2, 2, 2, 70, 70, 32>;
  check<Masked<Small, boolean, true, false, false>>();
  check<Masked<Small, boolean, false, false, true>>();
  check<Masked<Even, boolean, true, true, true>>();
  check<Masked<Even, boolean, true, false, true, false>>();
  check<Masked<Small, float, true, true, true>>();
  check<Masked<Small, f16, false, false, true>>();
  check<Masked<Even, bf16, false, true, false>>();
  check<Masked<Causal<Even>, float, true, false, false>>();
  check<Masked<Small, float, true, false, true>>(Fill::lowest);
  check<Masked<Tiled<Even, 32, 16, 16, 2>, float, true, false, true>>(
      Fill::infinite);
  check<Backward<Small>>();
  check<Narrow<Small>>();
#ifndef FRIT_EMULATE
  check<Tiled<Square<1, 2, 384, 64>, 64, 16, 96, 2>>();
  check<Tiled<Square<1, 1, 1000, 128>, 128, 32, 64, 1>>();
  check<Tiled<Causal<Square<1, 1, 1000, 64>>, 128, 16, 128, 1>>();
  check<Masked<Square<2, 2, 384, 64>, boolean, true, false, false>>();
#endif
}

#ifndef FRIT_EMULATE
template <class P> static void benchOne(const char *name) {
  using T = typename P::T;
  using Shape = frit::AttentionShape<P>;
  Buffer<T> qkv(lengthOf<P>(P::queries, P::heads));
  Buffer<T> o(P::batch * P::queries * P::width);
  qkv.randomize(1);
  auto *q = qkv.get();
  std::string text = std::string(name) + " " + std::to_string(P::tileM) + "/" +
                     std::to_string(P::rowsPerWarp) + "x" +
                     std::to_string(P::tileN) + "x" + std::to_string(P::splits);
  double work = 4e-12 * P::batch * P::heads * P::queries * P::keys * P::size;
  // Many at a time, which the small ones need to show more than their launch.
  constexpr int times = 20;
  text += ", 20 times";
  bench(text.c_str(), times * (P::causal ? work / 2 : work), "TFLOP/s", [&] {
    for (int i = 0; i < times; ++i)
      launchShared(plain<P>, dim3(Shape::kBlocks), Shape::kThreads,
                   Shape::kShared, q, q + P::width, q + 2 * P::width, o.get());
  });
}
#endif

static void benches() {
#ifndef FRIT_EMULATE
#define BENCH(name, ...) benchOne<Tiled<__VA_ARGS__>>(name)
  BENCH("bert b1", Bert1, 64, 16, 64, 1);
  BENCH("bert b1", Bert1, 64, 16, 96, 2);
  BENCH("vit b1", Vit1, 32, 16, 112, 2);
  BENCH("gpt b1", Gpt1, 64, 16, 64, 1);
  BENCH("gpt b1", Gpt1, 64, 16, 64, 2);
  BENCH("bert b32", Bert, 64, 16, 64, 1);
  BENCH("bert b32", Bert, 128, 32, 64, 1);
  BENCH("vit b32", Vit, 64, 16, 64, 1);
  BENCH("vit b32", Vit, 128, 32, 64, 1);
  BENCH("long", Long, 128, 32, 64, 1);
  BENCH("long causal", Causal<Long>, 128, 32, 64, 1);
#undef BENCH
#endif
}

int main(int argc, char **argv) { return run(argc, argv, checks, benches); }
#endif
