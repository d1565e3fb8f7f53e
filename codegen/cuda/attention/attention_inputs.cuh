//===- attention_inputs.cuh - What attention computes instead of reading --===//
//
// A kernel may compute its queries, and the rows that it appends to keys and
// values before it reads these. A struct says how:
//
//   struct Inputs {
//     static constexpr bool computesQueries; // or q points to them
//     static constexpr int appended;         // rows of each head of K and V
//     static constexpr bool early;           // whether firstRow, and earlier
//                                            // rows, may be read before the
//                                            PDL
//                                            // wait
//     int64_t firstRow(int batch) const;     // where they go; a row outside
//                                            // of K and V is dropped
//
//     // Store 16 bytes of a tensor of batch × heads × rows × size, contiguous,
//     // from element i on: of Q with P::heads and P::queries, and of the rows
//     // with P::groups and `appended`.
//     void query(T *to, unsigned i) const;
//     void key(T *to, unsigned i) const;
//     void value(T *to, unsigned i) const;
//   };
//
// P::Q are then the strides of that tensor of queries.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_ATTENTION_ATTENTION_INPUTS_CUH
#define FRIT_CODEGEN_CUDA_ATTENTION_ATTENTION_INPUTS_CUH

#include "frit/attention_warp.cuh"

namespace frit {

/// Inputs that are all in memory.
struct StoredInputs {
  static constexpr bool computesQueries = false;
  static constexpr int appended = 0;
  static constexpr bool early = false;
};

/// Stores the queries of a tile. `q` is the place of the head's first one.
template <class P, class Inputs, class Tile>
__device__ inline void computeQueries(Tile &tile, const Inputs &inputs,
                                      unsigned q, int firstRow) {
  using T = typename P::T;
  using Piece = typename Tile::Piece;
  constexpr int threads = AttentionShape<P>::kThreads;
  constexpr int pieces = AttentionShape<P>::kSize / kPiece<T>;
  // Rows that are appended are computed by the first warps.
  for (int i = threads - 1 - threadIdx.x; i < P::tileM * pieces; i += threads) {
    const int row = i / pieces, col = i % pieces * kPiece<T>;
    T *to = reinterpret_cast<T *>(tile.at(row, col));
    if (firstRow + row < P::queries && col < P::size)
      inputs.query(to, q + unsigned((firstRow + row) * P::Q::row + col));
    else
      *reinterpret_cast<Piece *>(to) = {};
  }
}

/// The rows that are appended to a head of K and V.
template <class P, class Inputs> struct AppendedRows {
  using T = typename P::T;
  static constexpr int kThreads = AttentionShape<P>::kThreads;

  const Inputs &inputs;
  T *k, *v;
  /// Their number in the order of all heads, and the place of the first one in
  /// K and V.
  unsigned head;
  int first = P::keys;

  __device__ AppendedRows(const Inputs &inputs, const T *k, const T *v,
                          int batch, int group)
      : inputs(inputs), k(const_cast<T *>(k)), v(const_cast<T *>(v)),
        head(unsigned(batch * P::groups + group)) {
    if constexpr (Inputs::appended > 0) {
      const int64_t row = inputs.firstRow(batch);
      first = row < -Inputs::appended || row > P::keys ? P::keys : int(row);
    }
  }

  __device__ bool contains(int row) const {
    return unsigned(row - first) < unsigned(Inputs::appended);
  }

  /// Answers of `slotOf`.
  static constexpr int kNowhere = -2, kOutside = -1;

  /// Computes the rows of each stage into the tiles of its slot, and stores
  /// them to K and V if it shall: `slotOf` returns a stage's number in `keys`
  /// and `values`, kOutside if the rows go to K and V alone, or kNowhere if
  /// they are not computed. Threads that read the tiles must be synchronized
  /// with.
  template <class KTile, class VTile, class SlotOf>
  __device__ void place(KTile *keys, VTile *values, bool stores,
                        const SlotOf &slotOf) const {
    constexpr int stageKeys = KTile::kRows;
    forEach([&](auto isKey, int row, int col, unsigned i) {
      const int slot = slotOf(row / stageKeys);
      if (slot == kNowhere || (slot == kOutside && !stores))
        return;
      T *state = placeOf<isKey.value>(row, col), *to = state;
      if (slot != kOutside) {
        if constexpr (isKey.value)
          to = reinterpret_cast<T *>(keys[slot].at(row % stageKeys, col));
        else
          to = reinterpret_cast<T *>(values[slot].at(row % stageKeys, col));
      }
      compute<isKey.value>(to, i);
      if (slot != kOutside && stores)
        *reinterpret_cast<Piece *>(state) =
            *reinterpret_cast<const Piece *>(to);
    });
  }

private:
  using Piece = typename AttentionShape<P>::KTile::Piece;
  template <bool IsKey> struct Is {
    static constexpr bool value = IsKey;
  };

  template <bool IsKey> __device__ void compute(T *to, unsigned i) const {
    if constexpr (IsKey)
      inputs.key(to, i);
    else
      inputs.value(to, i);
  }
  template <bool IsKey> __device__ T *placeOf(int row, int col) const {
    return IsKey ? k + int64_t(row) * P::K::row + col
                 : v + int64_t(row) * P::V::row + col;
  }

  /// Calls `visit` for this thread's pieces of the rows within K and V. Keys
  /// and values are different warps', so that both are loaded at once.
  template <class Visit> __device__ void forEach(const Visit &visit) const {
    visitRows<P::size>(Is<true>(), threadIdx.x, visit);
    visitRows<P::valueSize>(Is<false>(),
                            (threadIdx.x + kThreads - 32) % kThreads, visit);
  }
  template <int Size, class IsKey, class Visit>
  __device__ void visitRows(IsKey isKey, int thread, const Visit &visit) const {
    constexpr int pieces = Size / kPiece<T>;
    for (int i = thread; i < Inputs::appended * pieces; i += kThreads) {
      const int row = i / pieces, col = i % pieces * kPiece<T>;
      if (first + row >= 0 && first + row < P::keys)
        visit(isKey, first + row, col,
              (head * Inputs::appended + row) * Size + col);
    }
  }
};

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_ATTENTION_ATTENTION_INPUTS_CUH
