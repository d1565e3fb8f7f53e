//===- MicroKernel.h - Inner loops, one set per instruction set -----------===//
//
// Contractions are computed in tiles of rows × cols accumulators in registers.
// Operands are first packed into panels of the accumulator's type: depth × rows
// elements on the left-hand side, depth × cols on the right. Packing also
// converts 16-bit elements, once.
//
// Units compiled for different instruction sets include this header, so it must
// not define inline functions: the linker could pick one compiled for the wrong
// set.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_RUNTIME_CPU_MICROKERNEL_H
#define FRIT_RUNTIME_CPU_MICROKERNEL_H

#include "frit/artifact.h"

#include <cstddef>
#include <cstdint>

namespace frit::cpu {

/// Type of the sums and of packed panels.
enum class Accumulator : uint32_t { f32, f64, i32 };

/// The result and its epilogue: D = act(sum + bias + residual). Element (i, j)
/// of matrix `b` is at b·stride + i·rowStride + j·colStride of `data` and
/// `residual`; rowStride or colStride is 1. Its bias is element (b mod
/// biasPeriod)·biasStride + i·biasRow + j·biasCol.
struct Output {
  artifact::DType type = artifact::DType::f32;
  void *data = nullptr;
  const void *residual = nullptr;
  const void *bias = nullptr;
  int64_t stride = 0, rowStride = 0, colStride = 1;
  int64_t biasPeriod = 1, biasStride = 0, biasRow = 0, biasCol = 1;
  Activation activation = Activation::none;
};

/// `count` contiguous elements, from offset `from` of the source to column `to`
/// of a panel's row.
struct Run {
  int64_t to, from, count;
};

/// The inner loops for one accumulator type. "Packed" elements have that type.
struct MicroKernel {
  int64_t rows, cols;   ///< of a tile
  int64_t lanes;        ///< of a vector; cols is a multiple of it
  int64_t elementBytes; ///< of a packed element

  /// tile = [tile +] a·b over `depth`, for the tile's first `rows` rows and
  /// first `cols` columns, the latter rounded up to whole vectors. Rows of a
  /// tile are MicroKernel::cols apart.
  void (*multiply)(int64_t rows, int64_t cols, int64_t depth, const void *a,
                   const void *b, void *tile, bool accumulate);

  /// Applies the epilogue to a tile whose corner is (row, col) of a matrix and
  /// stores it.
  void (*store)(const Output &output, int64_t matrix, int64_t row, int64_t col,
                int64_t rows, int64_t cols, const void *tile);

  /// Packs a panel: element (k, i) is source[i·outer + k·inner]; zero for i
  /// from `count` to `width`. `width` is `rows` or `cols`.
  void (*pack)(void *panel, int64_t width, int64_t count, int64_t depth,
               const void *source, artifact::DType type, int64_t outer,
               int64_t inner);

  /// Packs a panel: element (k, i) is packed element k of `rows[i]`; zero for i
  /// from `count` on.
  void (*packRows)(void *panel, int64_t width, int64_t count, int64_t depth,
                   const void *const *rows);

  /// Packs a panel: row k consists of `runs`, relative to element `origins[k]`
  /// of `source`. May read one vector past a run's end.
  void (*packRuns)(void *panel, int64_t width, int64_t depth,
                   const void *source, const int64_t *origins, const Run *runs,
                   int64_t runCount);

  /// Converts every `step`-th stored element to the accumulator's type.
  void (*widen)(void *to, const void *from, artifact::DType type, int64_t count,
                int64_t step);

  /// sum[j] = Σ_t weights[t·weightStride + (perColumn ? j : 0)] · rows[t][j]
  /// for a tile's columns. May read a tile's width of each row.
  void (*taps)(void *sum, int64_t taps, const void *const *rows,
               const void *weights, int64_t weightStride, bool perColumn);

  /// sums (rows `sumStride` apart) += a·b over `depth`, for a few packed rows
  /// of a and `cols` columns of a row-major b that is not packed.
  void (*streamRows)(int64_t rows, int64_t cols, int64_t depth, const void *a,
                     int64_t lda, const void *b, artifact::DType type,
                     int64_t ldb, void *sums, int64_t sumStride);

  /// As streamRows, for a column-major b whose columns are `ldb` apart.
  void (*streamCols)(int64_t rows, int64_t cols, int64_t depth, const void *a,
                     int64_t lda, const void *b, artifact::DType type,
                     int64_t ldb, void *sums, int64_t sumStride);
};

/// The kernels of one instruction set, by accumulator.
namespace sse2 {
const MicroKernel &microKernel(Accumulator accumulator);
}
namespace avx2 {
const MicroKernel &microKernel(Accumulator accumulator);
}
namespace avx512 {
const MicroKernel &microKernel(Accumulator accumulator);
}

} // namespace frit::cpu

#endif // FRIT_RUNTIME_CPU_MICROKERNEL_H
