//===- attention.cu - Checks attention.cuh and wgmma_attention.cuh --------===//

#include "frit/wgmma_attention.cuh"

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
  static constexpr bool tf32 = false;
  static constexpr int tileM = 64, rowsPerWarp = 16, tileN = 64, splits = 1;
};

/// Of f32, by TF32 or as good as exact.
template <class Base, bool IsTf32> struct Single : Base {
  using T = float;
  static constexpr bool tf32 = IsTf32;
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

/// Tiles of wgmma_attention.cuh.
template <class Base, int TileM, int TileN, int Stages, int Blocks,
          int Splits = 1>
struct Hopper : Base {
  static constexpr int tileM = TileM, tileN = TileN, stages = Stages;
  static constexpr int blocks = Blocks, splits = Splits;
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

template <class P>
__global__ void __launch_bounds__(frit::WgmmaAttentionShape<P>::kThreads,
                                  P::blocks)
    hopper(const typename P::T *q, const typename P::T *k,
           const typename P::T *v, const typename P::Mask *mask,
           typename P::T *o, const __grid_constant__ frit::TensorMap mapQ,
           const __grid_constant__ frit::TensorMap mapK,
           const __grid_constant__ frit::TensorMap mapV) {
#ifdef FRIT_HAS_WGMMA
  frit::wgmmaAttention<P>(&mapQ, &mapK, &mapV, mask, o);
#else
  frit::attentionFloor<P>(q, k, v, mask, o);
#endif
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
plain<Tiled<Single<Bert, false>, 128, 32, 64, 1>>(const float *, const float *,
                                                  const float *, float *);
template __global__ void
plain<Tiled<Single<Gpt1, true>, 64, 16, 32, 2>>(const float *, const float *,
                                                const float *, float *);
template __global__ void
plain<Tiled<Single<Long, true>, 64, 16, 32, 1>>(const float *, const float *,
                                                const float *, float *);
template __global__ void
masked<Masked<Bert, frit::boolean, true, false, false>>(const frit::f16 *,
                                                        const frit::f16 *,
                                                        const frit::f16 *,
                                                        const frit::boolean *,
                                                        frit::f16 *);

#ifdef __CUDACC_RTC__
template <class P> __device__ auto compiled = &hopper<P>;
template __device__ auto compiled<Hopper<Bert, 192, 128, 2, 1>>;
template __device__ auto compiled<Hopper<Causal<Long>, 128, 128, 2, 1>>;
#else
#ifdef FRIT_EMULATE
#include "harness.h"
#else
#include "hopper.h"
#endif

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

/// The maps of wgmma_attention.cuh; the emulator runs what needs none.
template <class P> struct Maps {
  frit::TensorMap q = {}, k = {}, v = {};

  Maps(typename P::T *q, typename P::T *k, typename P::T *v) {
#ifndef FRIT_EMULATE
    auto map = []<class Strides>(Strides, typename P::T *at, int size, int rows,
                                 int heads, int lines) {
      return tiledMap(at, {size, rows, heads, P::batch},
                      {Strides::row, Strides::head, Strides::batch},
                      {64, lines, 1, 1});
    };
    this->q = map(typename P::Q(), q, P::size, P::queries, P::heads, P::tileM);
    this->k = map(typename P::K(), k, P::size, P::keys, P::groups, P::tileN);
    this->v =
        map(typename P::V(), v, P::valueSize, P::keys, P::groups, P::tileN);
#endif
  }
};

/// Runs the kernel that P is made for, in `blocks` blocks or as many as it asks
/// for.
template <class P>
static void launchAttention(typename P::T *q, typename P::T *k,
                            typename P::T *v, const typename P::Mask *mask,
                            typename P::T *o, int64_t blocks = 0) {
  if constexpr (requires { P::stages; }) {
    using Shape = frit::WgmmaAttentionShape<P>;
    Maps<P> maps(q, k, v);
    if (!blocks)
      blocks = std::min<int64_t>(Shape::kBlocks, 132 * P::blocks);
    launchShared(hopper<P>, dim3(blocks), Shape::kThreads, Shape::kShared, q, k,
                 v, mask, o, maps.q, maps.k, maps.v);
  } else {
    using Shape = frit::AttentionShape<P>;
    dim3 grid(blocks ? blocks : Shape::kBlocks);
    if constexpr (frit::kHasMask<P>)
      launchShared(masked<P>, grid, Shape::kThreads, Shape::kShared, q, k, v,
                   mask, o);
    else
      launchShared(plain<P>, grid, Shape::kThreads, Shape::kShared, q, k, v, o);
  }
}

template <class P> static void check(Fill fill = Fill::large, int blocks = 0) {
  using T = typename P::T;
  constexpr bool hasMask = frit::kHasMask<P>;
  Buffer<T> qkv(lengthOf<P>(P::queries, P::heads));
  Buffer<T> keys(P::packed ? 0 : lengthOf<P>(P::keys, P::groups));
  Buffer<T> values(keys.size());
  Buffer<T> o(P::batch * P::queries * P::width);
  qkv.randomize(1);
  keys.randomize(2);
  values.randomize(3);
  o.randomize(4);
  // Numbers that TF32 has not.
  if constexpr (sizeof(T) == 4)
    for (Buffer<T> *buffer : {&qkv, &keys, &values}) {
      for (size_t i = 0; i < buffer->size(); ++i)
        (*buffer)[i] *= 0.98712343f;
      buffer->upload();
    }
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
    if constexpr (hasMask)
      launchAttention<P>(q, k, v, mask.get(), o.get(), blocks);
    else
      launchAttention<P>(q, k, v, nullptr, o.get(), blocks);
    expect("attention " + std::to_string(P::batch) + "x" +
               std::to_string(P::heads) + "x" + std::to_string(P::queries) +
               "x" + std::to_string(P::keys) + "x" + std::to_string(P::size),
           o, want, 2 * (P::tf32 ? epsilonOf<f16>() : epsilonOf<T>()));
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
  // Of f32: the same, by one product and by three.
  check<Problem<float, 1, 2, 2, 17, 17, 64>>();
  check<Problem<float, 2, 3, 3, 1, 1, 32>>();
  check<Single<Problem<float, 1, 2, 2, 70, 70, 80>, true>>();
  check<Tiled<Problem<float, 1, 1, 1, 33, 40, 28>, 32, 16, 32, 1>>();
  check<Tiled<Problem<float, 1, 2, 2, 5, 131, 128>, 64, 16, 32, 1>>();
  check<Tiled<Problem<float, 2, 6, 2, 77, 150, 64>, 64, 32, 32, 1>>();
  check<Tiled<Single<Problem<float, 1, 4, 1, 40, 197, 64>, true>, 32, 16, 48,
              2>>();
  check<Tiled<Problem<float, 1, 2, 2, 197, 197, 64>, 32, 16, 32, 4>>(
      Fill::large, 3);
  check<Causal<Tiled<Problem<float, 1, 2, 2, 150, 150, 64>, 64, 32, 32, 2>>>();
  check<Causal<Single<Problem<float, 1, 2, 1, 85, 85, 32>, true>, -20>>();
  check<Masked<Single<Small, false>, boolean, true, false, true>>();
  check<Masked<Single<Even, true>, float, true, true, true>>();
  check<Masked<Single<Small, false>, float, true, false, true>>(Fill::lowest);
  check<Backward<Single<Small, false>>>();
  check<Narrow<Single<Small, false>>>();
  // Warpgroups: whole tiles and tails, several tiles for a block, both sizes,
  // warpgroups without rows, keys that only some of a block's rows see.
  check<Hopper<Problem<f16, 1, 2, 2, 17, 17, 64>, 64, 64, 2, 1>>();
  check<Hopper<Problem<bf16, 1, 4, 2, 40, 197, 64>, 128, 80, 3, 1>>(Fill::large,
                                                                    3);
  check<Hopper<Problem<f16, 2, 2, 2, 130, 130, 128>, 128, 64, 2, 1>>();
  check<Hopper<Problem<f16, 1, 2, 2, 70, 70, 80>, 64, 32, 2, 1>>();
  check<Hopper<Causal<Problem<f16, 1, 3, 3, 250, 250, 64>>, 192, 64, 2, 1>>(
      Fill::large, 2);
  check<Hopper<Causal<Problem<f16, 1, 1, 1, 90, 40, 64>>, 64, 32, 2, 1>>();
  check<Hopper<Problem<f16, 1, 3, 3, 130, 197, 64>, 64, 80, 3, 1, 3>>(
      Fill::large, 2);
  check<Hopper<Causal<Problem<f16, 1, 5, 5, 250, 250, 128>>, 64, 32, 4, 1, 2>>(
      Fill::large, 3);
  check<Hopper<Masked<Small, boolean, true, false, false>, 64, 32, 2, 1>>();
  check<Hopper<Masked<Even, boolean, true, true, true>, 128, 64, 2, 1>>();
  check<Hopper<Masked<Small, float, true, false, true>, 64, 64, 2, 1>>(
      Fill::lowest);
#ifndef FRIT_EMULATE
  check<Tiled<Square<1, 2, 384, 64>, 64, 16, 96, 2>>();
  check<Tiled<Square<1, 1, 1000, 128>, 128, 32, 64, 1>>();
  check<Tiled<Causal<Square<1, 1, 1000, 64>>, 128, 16, 128, 1>>();
  check<Masked<Square<2, 2, 384, 64>, boolean, true, false, false>>();
  check<Tiled<Single<Square<1, 2, 384, 64>, false>, 128, 32, 64, 1>>();
  check<Tiled<Single<Square<1, 1, 1000, 128>, false>, 64, 16, 32, 1>>();
  check<Tiled<Causal<Single<Square<1, 1, 1000, 64>, true>>, 64, 32, 64, 1>>();
#endif
}

#ifndef FRIT_EMULATE
template <class P> static void benchOne(const char *name) {
  using T = typename P::T;
  Buffer<T> qkv(lengthOf<P>(P::queries, P::heads));
  Buffer<T> o(P::batch * P::queries * P::width);
  qkv.randomize(1);
  auto *q = qkv.get();
  std::string text = std::string(name) + " " + std::to_string(P::tileM) + "x" +
                     std::to_string(P::tileN);
  text += "x" + std::to_string(P::splits);
  if constexpr (sizeof(T) == 4)
    text += P::tf32 ? ", tf32" : ", f32";
  if constexpr (requires { P::stages; })
    text += ", wgmma " + std::to_string(P::stages) + "x" +
            std::to_string(P::blocks);
  else
    text += ", rows " + std::to_string(P::rowsPerWarp);
  double work = 4e-12 * P::batch * P::heads * P::queries * P::keys * P::size;
  // A graph of many, so that small ones show more than their launch.
  constexpr int times = 20;
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  require(cudaStreamCreate(&launchStream));
  require(cudaStreamBeginCapture(launchStream, cudaStreamCaptureModeRelaxed));
  for (int i = 0; i < times; ++i)
    launchAttention<P>(q, q + P::width, q + 2 * P::width, nullptr, o.get());
  require(cudaStreamEndCapture(launchStream, &graph));
  require(cudaGraphInstantiate(&executable, graph, 0));
  text += ", 20 times";
  bench(text.c_str(), times * (P::causal ? work / 2 : work), "TFLOP/s",
        [&] { require(cudaGraphLaunch(executable, nullptr)); });
  launchStream = nullptr;
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
#define SINGLE(name, base, ...)                                                \
  benchOne<Tiled<Single<base, true>, __VA_ARGS__>>(name);                      \
  benchOne<Tiled<Single<base, false>, __VA_ARGS__>>(name)
  SINGLE("bert b1", Bert1, 64, 16, 96, 2);
  SINGLE("vit b1", Vit1, 32, 16, 64, 2);
  SINGLE("gpt b1", Gpt1, 64, 16, 64, 2);
  SINGLE("bert b32", Bert, 128, 32, 64, 1);
  SINGLE("bert b32", Bert, 128, 32, 32, 1);
  SINGLE("vit b32", Vit, 128, 32, 64, 1);
  SINGLE("vit b32", Vit, 128, 32, 32, 1);
  SINGLE("long", Long, 64, 16, 32, 1);
  SINGLE("long causal", Causal<Long>, 64, 16, 32, 1);
#undef SINGLE
#define HOPPER(name, ...) benchOne<Hopper<__VA_ARGS__>>(name)
  HOPPER("bert b1", Bert1, 64, 96, 4, 1, 2);
  HOPPER("vit b1", Vit1, 64, 128, 2, 1, 2);
  HOPPER("gpt b1", Gpt1, 64, 128, 4, 1, 2);
  HOPPER("bert b32", Bert, 64, 96, 2, 3);
  HOPPER("bert b32", Bert, 192, 128, 2, 1);
  HOPPER("vit b32", Vit, 64, 80, 2, 3);
  HOPPER("long", Long, 128, 128, 2, 1);
  HOPPER("long causal", Causal<Long>, 128, 128, 2, 1);
#undef HOPPER
#undef BENCH
#endif
}

int main(int argc, char **argv) { return run(argc, argv, checks, benches); }
#endif
