//===- attention.h - Shared code of the attention checks ------------------===//
//
// Problems for attention.cuh and wgmma_attention.cuh, reference results, and
// the check and benchmark of a kernel. Kernels and problems are device code;
// `harness` is host code.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_TEST_CODEGEN_SKELETONS_ATTENTION_H
#define FRIT_TEST_CODEGEN_SKELETONS_ATTENTION_H

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
  static constexpr bool causal = false, unguarded = false;
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
  static constexpr bool tf32 = false;
  static constexpr int tileM = 64, rowsPerWarp = 16, tileN = 64, splits = 1;
};

/// f32, with TF32 or nearly exact products.
template <class Base, bool IsTf32> struct Single : Base {
  using T = float;
  static constexpr bool tf32 = IsTf32;
};

template <class Base, int Offset = 0> struct Causal : Base {
  static constexpr bool causal = true;
  static constexpr int causalOffset = Offset;
};
/// Rows that see no key are NaN.
template <class Base> struct Unguarded : Base {
  static constexpr bool unguarded = true;
};
template <class Base> struct Backward : Base {
  static constexpr float scale = -0.25f;
};
/// A scale so large that a single distant key may dominate.
template <class Base> struct Steep : Base {
  static constexpr float scale = 40;
};
template <class Base> struct Narrow : Base {
  static constexpr int valueSize = 16;
};

/// Tiles of M rows, `Rows` per warp, and N keys per warp set.
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

/// Ranges of keys: a sliding window of `Window` keys, or parts of as many that
/// see each other. Batches differ by their first key, if `PerBatch`.
template <class Base, int Window, bool InParts = false, bool PerBatch = false>
struct Ranged : Base {
  using Mask = int32_t;
  using M = frit::Strides<PerBatch ? 2 * Base::queries : 0, 0, 2, 1>;
  static constexpr int64_t elements =
      2 * Base::queries * (PerBatch ? Base::batch : 1);

  /// Returns the first key that a query sees, or the key after the last.
  static int endOf(int batch, int query, bool isLast) {
    int last = query + batch * 3 + 1, first = last - Window;
    if (InParts) {
      first = (last - 1) / Window * Window;
      last = first + Window;
    }
    last = last < Base::keys ? last : Base::keys;
    first = first < 0 ? 0 : first < last ? first : last - 1;
    return isLast ? last : first;
  }
};

// Sizes of the benchmark, also for NVRTC.
template <int Batch, int Heads, int Length, int Size>
using Square = Problem<frit::f16, Batch, Heads, Heads, Length, Length, Size>;
using Bert = Square<32, 16, 384, 64>;
using Bert1 = Square<1, 16, 384, 64>;
using Vit = Square<32, 12, 197, 64>;
using Vit1 = Square<1, 12, 197, 64>;
using Gpt1 = Causal<Square<1, 12, 1024, 64>>;
using Long = Square<4, 16, 2048, 128>;

#ifndef __CUDACC_RTC__
#include "launch_graph.h"

namespace harness {

using frit::boolean;

template <class P> size_t lengthOf(int64_t rows, int64_t heads) {
  return P::packed ? P::batch * rows * 3 * P::width
                   : P::batch * heads * rows * P::size;
}

/// The mask value of hidden keys: a large number, the lowest, or -inf; as the
/// bits of a T.
enum class Fill { large, lowest, infinite };

template <class T> T never(Fill fill);
template <> inline f16 never(Fill fill) {
  return {uint16_t(fill == Fill::infinite ? 0xFC00 : 0xF8E2)};
}
template <> inline bf16 never(Fill fill) {
  return {uint16_t(fill == Fill::infinite ? 0xFF80 : 0xC71C)};
}
template <> inline float never(Fill fill) {
  return fill == Fill::infinite ? -INFINITY
         : fill == Fill::lowest ? -3.4028234e38f
                                : -40000;
}

/// Returns a mask term. Every seventh row sees no key; the others always see
/// the first keys.
template <class T> T maskOf(Fill fill, int row, int col, int random) {
  bool blind = row % 7 == 5, counts = !blind && (col < 4 || random & 3);
  if constexpr (std::is_same_v<T, boolean>)
    return {counts};
  else if (counts)
    return fromSixtyFourths<T>(random % 64);
  else
    return never<T>(fill);
}
inline double termOf(boolean mask) { return mask.bits ? 0 : -INFINITY; }
template <class T> double termOf(T mask) { return toDouble(mask); }

/// Computes a row by definition, and returns its statistics; `seen(j)` is the
/// mask term of key j.
template <class P, class Dot, class Term, class Value>
double expectRow(const Dot &dot, const Term &term, const Value &value, int row,
                 std::vector<double> &out) {
  std::vector<double> scores(P::keys, -INFINITY);
  double top = -INFINITY;
  for (int j = 0; j < P::keys; ++j) {
    if (P::causal && j > row + P::causalOffset)
      continue;
    scores[j] = float(P::scale * dot(j) + term(j));
    top = std::max(top, scores[j]);
  }
  out.assign(P::valueSize, P::unguarded ? NAN : 0);
  if (top == -INFINITY)
    return P::unguarded ? NAN : INFINITY;
  out.assign(P::valueSize, 0);
  double total = 0;
  for (double &score : scores)
    total += score = std::exp(score - top);
  for (int j = 0; j < P::keys; ++j)
    for (int d = 0; d < P::valueSize; ++d)
      out[d] += scores[j] / total * value(j, d);
  const double floor = frit::AttentionScores<P>::kFloor * std::log(2.0);
  return (frit::kHasMask<P> ? std::max(top, floor) : top) + std::log(total);
}

/// Compares results or statistics. Infinity and NaN of rows without keys are
/// not compared as numbers.
template <class T>
void expectRows(const std::string &name, Buffer<T> &got,
                std::vector<double> want, double tolerance) {
  got.download();
  for (size_t i = 0; i < want.size(); ++i) {
    double found = toDouble(got[i]);
    bool same = want[i] == INFINITY ? found == INFINITY
                                    : std::isnan(want[i]) && std::isnan(found);
    if (same) {
      want[i] = 0;
      got[i] = {};
    }
  }
  got.upload();
  expect(name, got, want, tolerance);
}

/// Checks `launch(q, k, v, mask, o, stats)`. All are device pointers; mask may
/// be null.
template <class P, class Launch>
void checkAttention(Fill fill, const Launch &launch) {
  using T = typename P::T;
  constexpr bool hasMask = frit::kHasMask<P>;
  Buffer<T> qkv(lengthOf<P>(P::queries, P::heads));
  Buffer<T> keys(P::packed ? 0 : lengthOf<P>(P::keys, P::groups));
  Buffer<T> values(keys.size());
  Buffer<T> o(P::batch * P::queries * P::width);
  Buffer<float> stats(P::batch * P::heads * P::queries);
  qkv.randomize(1);
  keys.randomize(2);
  values.randomize(3);
  o.randomize(4);
  // Numbers that TF32 cannot represent.
  if constexpr (sizeof(T) == 4)
    for (Buffer<T> *buffer : {&qkv, &keys, &values}) {
      for (size_t i = 0; i < buffer->size(); ++i)
        (*buffer)[i] *= 0.98712343f;
      buffer->upload();
    }
  auto *q = qkv.get(), *k = P::packed ? q + P::width : keys.get();
  auto *v = P::packed ? q + 2 * P::width : values.get();
  const std::vector<double> all[] = {elementsOf<double>(qkv),
                                     elementsOf<double>(keys),
                                     elementsOf<double>(values)};
  auto *hostQ = all[0].data();
  auto *hostK = P::packed ? hostQ + P::width : all[1].data();
  auto *hostV = P::packed ? hostQ + 2 * P::width : all[2].data();

  auto run = [&](auto &mask) {
    std::vector<double> row, wantStats;
    // Padding between rows stays.
    std::vector<double> want = elementsOf<double>(o);
    for (int b = 0; b < P::batch; ++b)
      for (int h = 0; h < P::heads; ++h)
        for (int i = 0; i < P::queries; ++i) {
          int group = h / (P::heads / P::groups);
          auto dot = [&](int j) {
            double sum = 0;
            for (int d = 0; d < P::size; ++d)
              sum +=
                  hostQ[b * P::Q::batch + h * P::Q::head + i * P::Q::row + d] *
                  hostK[b * P::K::batch + group * P::K::head + j * P::K::row +
                        d];
            return sum;
          };
          auto term = [&](int j) -> double {
            if constexpr (frit::kHasRanges<P>) {
              const int32_t *ends =
                  &mask[b * P::M::batch + int64_t(i) * P::M::row];
              return j >= ends[0] && j < ends[1] ? 0 : -INFINITY;
            } else if constexpr (hasMask) {
              return termOf(mask[b * P::M::batch + h * P::M::head +
                                 i * P::M::row + j * P::M::column]);
            }
            return 0;
          };
          auto value = [&](int j, int d) {
            return hostV[b * P::V::batch + group * P::V::head + j * P::V::row +
                         d];
          };
          wantStats.push_back(expectRow<P>(dot, term, value, i, row));
          for (int d = 0; d < P::valueSize; ++d)
            want[b * P::O::batch + h * P::O::head + i * P::O::row + d] = row[d];
        }
    if constexpr (hasMask || frit::kHasRanges<P>)
      launch(q, k, v, mask.get(), o.get(), stats.get());
    else
      launch(q, k, v, nullptr, o.get(), stats.get());
    std::string name = "attention " + std::to_string(P::batch) + "x" +
                       std::to_string(P::heads) + "x" +
                       std::to_string(P::queries) + "x" +
                       std::to_string(P::keys) + "x" + std::to_string(P::size);
    double tolerance = 2 * (P::tf32 ? epsilonOf<f16>() : epsilonOf<T>());
    expectRows(name, o, want, tolerance);
    expectRows(name + " stats", stats, wantStats, tolerance);
  };
  if constexpr (frit::kHasRanges<P>) {
    Buffer<int32_t> mask(P::elements);
    for (int64_t i = 0; i < P::elements; ++i)
      mask[i] = P::endOf(int(i / 2 / P::queries), int(i / 2 % P::queries),
                         i % 2 != 0);
    mask.upload();
    run(mask);
  } else if constexpr (hasMask) {
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

#ifndef FRIT_EMULATE
/// Returns "bert b1 64x96x2", with the tile's sizes after the name.
template <class P> std::string nameOf(const char *name) {
  return std::string(name) + " " + std::to_string(P::tileM) + "x" +
         std::to_string(P::tileN) + "x" + std::to_string(P::splits);
}

/// Times `launch(q, k, v, o)`, device pointers.
template <class P, class Launch>
void benchAttention(const std::string &name, const Launch &launch) {
  using T = typename P::T;
  Buffer<T> qkv(lengthOf<P>(P::queries, P::heads));
  Buffer<T> o(P::batch * P::queries * P::width);
  qkv.randomize(1);
  auto *q = qkv.get();
  double work = 4e-12 * P::batch * P::heads * P::queries * P::keys * P::size;
  benchGraph(name, P::causal ? work / 2 : work, "TFLOP/s",
             [&] { launch(q, q + P::width, q + 2 * P::width, o.get()); });
}
#endif

} // namespace harness

#endif

#endif // FRIT_TEST_CODEGEN_SKELETONS_ATTENTION_H
