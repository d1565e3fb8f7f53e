//===- end_stages.cuh - Stages of an epilogue in device code --------------===//
//
// Kernels of products normalize, reduce and store by classes that the problem P
// names; each has a header in this folder. P may have
//
//   using Gate = frit::Silu;            // gate.cuh: gates columns
//   using Norm = frit::NormOfProduct;   // norm.cuh: normalizes an operand
//   static constexpr int parts;         // moments per row: 1, or 4 i
//   static constexpr int partWidth;     // elements per moment
//   static constexpr float epsilon;     // added to the variance
//   using Reduce = frit::RowMoments;    // reductions.cuh: a statistic of D
//   using Second = frit::StoredSum;     // store.cuh: what is stored beside D
//
// Its functions, P::Epilogue, are in tile.cuh.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_EPILOGUE_END_STAGES_CUH
#define FRIT_CODEGEN_CUDA_EPILOGUE_END_STAGES_CUH

#include "frit/tile.cuh"

namespace frit {

/// Additional operands and results of a kernel; null if P does not use them.
struct EndOperands {
  const float *moments = nullptr; ///< [m][parts][2]
  const float *column = nullptr;  ///< [n]
  /// What P::Reduce gives.
  float *reduced = nullptr;
  /// What P::Second stores, with D's type and layout.
  void *second = nullptr;
};

/// Normalizes nothing.
struct NoNorm {};

/// Reduces nothing. Other reductions derive from it.
struct NoReduce {
  /// Whether it reads elements of D before they are rounded; whether it
  /// multiplies them by R, which is then not added; whether it reads complete
  /// boxes, whose numbers warps exchange.
  static constexpr bool kReadsSums = false, kReadsFactor = false,
                        kReadsBoxes = false;

  /// What a thread has reduced of its 16 elements of one row of a box. A thread
  /// has two such rows, lane / 4 and lane / 4 + 8, and two elements of every 8
  /// columns in each.
  struct Row {
    /// Adds an element before it is rounded.
    __device__ void addSum(float sum, bool isFirst) {}
    /// Adds two elements of D, as stored, and two of R.
    template <class Pair>
    __device__ void addPair(const Pair &stored, const float (&factor)[2]) {}
    /// Stores what four lanes have reduced together, in part `part` of all
    /// parts of all rows, if the row `isInside`.
    __device__ void store(float *to, int64_t part, bool isInside) const {}
  };
  /// What a warp has reduced of the columns of a box of 16 rows.
  struct Columns {
    /// Adds the thread's two rows of the `group`-th 8 columns, as stored.
    template <class Pair>
    __device__ void addGroup(const Pair (&rows)[2], int group) {}
    /// Stores what the box at `from` gives.
    template <class P, class Tile>
    __device__ void store(float *to, const Tile &from) const {}
  };

  /// Reduces the tile of D at (row, col), which the block has stored: for
  /// architectures without WGMMA.
  template <class P>
  __device__ static void reduceTile(float *to, const typename P::D *d,
                                    const typename P::D *r, int64_t row,
                                    int64_t col) {}
};

/// Stores nothing beside D.
struct NoSecond {};

/// Return the types of P's stages, or those that do nothing.
template <class P> __device__ constexpr auto findNorm() {
  if constexpr (requires { typename P::Norm; })
    return typename P::Norm();
  else
    return NoNorm();
}
template <class P> __device__ constexpr auto findReduce() {
  if constexpr (requires { typename P::Reduce; })
    return typename P::Reduce();
  else
    return NoReduce();
}
template <class P> __device__ constexpr auto findSecond() {
  if constexpr (requires { typename P::Second; })
    return typename P::Second();
  else
    return NoSecond();
}
template <class P> using NormOf = decltype(findNorm<P>());
template <class P> using ReduceOf = decltype(findReduce<P>());
template <class P> using SecondOf = decltype(findSecond<P>());

/// Whether columns gate each other.
template <class P>
inline constexpr bool kGates = requires { typename P::Gate; };
/// Whether there is a second matrix B: what its columns give, rounded to D,
/// takes the place of R.
template <class P> __device__ constexpr bool findPair() {
  if constexpr (requires { P::isPair; })
    return P::isPair;
  return false;
}
template <class P> inline constexpr bool kIsPair = findPair<P>();
/// The sums that an element of D is computed from.
template <class P>
inline constexpr int kSumsPerResult = kGates<P> || kIsPair<P> ? 2 : 1;
template <class P>
inline constexpr bool kNormalizes = !kSame<NormOf<P>, NoNorm>;
template <class P>
inline constexpr bool kStoresSecond = !kSame<SecondOf<P>, NoSecond>;

} // namespace frit

#endif // FRIT_CODEGEN_CUDA_EPILOGUE_END_STAGES_CUH
