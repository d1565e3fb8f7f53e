//===- MicroKernel.h - Inner loops, one set per instruction set -----------===//
//
// Contractions are computed in tiles of rows × cols accumulators in registers.
// Operands are first packed into panels of the accumulator's type: depth × rows
// elements on the left-hand side, depth × cols on the right. Packing also
// converts 16-bit elements, once.
//
// Every loop adds the products of a sum one by one, from the first to the last
// of the depth, so that an element of a result does not depend on how many rows
// and columns are computed with it.
//
// Units compiled for different instruction sets include this header, so it must
// not define inline functions: the linker could pick one compiled for the wrong
// set.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_RUNTIME_CPU_KERNELS_MICROKERNEL_H
#define FRIT_RUNTIME_CPU_KERNELS_MICROKERNEL_H

#include "frit/artifact.h"

#include <cstddef>
#include <cstdint>

namespace frit::cpu {

/// Type of the sums and of packed panels.
enum class Accumulator : uint32_t { f32, f64, i32 };

/// The epilogue of integer sums; see artifact::Conv. Pointers are to the first
/// filter.
struct QuantizedOutput {
  /// Added to the sums of each filter: `offset`, unless null, less `zeroX`
  /// times `sums`, unless null.
  const int32_t *offset = nullptr, *sums = nullptr;
  int32_t zeroX = 0;
  const float *scale = nullptr; ///< null: the sums are stored
  bool scalePerFilter = false;
  const float *bias = nullptr; ///< may be null
  bool relu = false;
  int32_t zero = 0;
};

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
  /// If not 0, columns are computed in rows of `pitch`, of which the first
  /// `width` are stored, one row after the other.
  int64_t pitch = 0, width = 0;
  const QuantizedOutput *quantized = nullptr; ///< of integer kernels only
};

/// `count` contiguous elements, from offset `from` of the source to column `to`
/// of a panel's row.
struct Run {
  int64_t to, from, count;
};

/// Pixels of a tile of a convolution with channels last.
inline constexpr int64_t kPixelRows = 6;

/// to = max(start + x·b, least) for `rows` pixels and `cols` filters, the
/// latter rounded up to whole vectors. Pixel i is multiplied by `taps` pieces
/// of `depth` rows of b, which is packed; piece t is at pixels[t·pixelStride +
/// i], from element `skip` on. Rows of b are `width` apart, those of `start`
/// and `to` as their strides say. Pointers of kPixelRows pixels are read, and
/// as many rows are written unless there are 1, 4 or kPixelRows. NaN stays.
struct PixelTile {
  int64_t rows, cols, taps, depth;
  const void *const *pixels;
  int64_t pixelStride, skip;
  const void *b;
  int64_t width;
  const void *start;
  int64_t startStride;
  void *to;
  int64_t toStride;
  double least;
};

/// The inner loops for one accumulator type. "Packed" elements have that type.
struct MicroKernel {
  int64_t rows, cols;   ///< of a tile
  int64_t lanes;        ///< of a vector; cols is a multiple of it
  int64_t elementBytes; ///< of a packed element
  int64_t pixelCols;    ///< filters of a tile of pixels, a multiple of lanes

  /// tile = [tile +] a·b over `depth`, for the tile's first `rows` rows and
  /// first `cols` columns, the latter rounded up to whole vectors. Rows of a
  /// tile are MicroKernel::cols apart. Row k of b begins at element offsets[k],
  /// in a packed panel at k · MicroKernel::cols; integer kernels only read
  /// packed panels.
  void (*multiply)(int64_t rows, int64_t cols, int64_t depth, const void *a,
                   const void *b, const int64_t *offsets, void *tile,
                   bool accumulate);

  /// Applies the epilogue to a tile whose corner is (row, col) of a matrix and
  /// stores it. A single row may be wider than a tile, unless its elements are
  /// apart.
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

  /// Converts every `step`-th stored element of `rows` rows, which lie
  /// `toPitch` and `fromPitch` elements apart, to the accumulator's type.
  void (*widen)(void *to, const void *from, artifact::DType type, int64_t count,
                int64_t step, int64_t rows, int64_t toPitch, int64_t fromPitch);

  void (*multiplyPixels)(const PixelTile &tile);

  /// Adds the residual to such a tile, applies the activation, and stores it
  /// from element `at` of the result on. Changes the tile.
  void (*storePixels)(const Output &output, int64_t at, int64_t rows,
                      int64_t cols, void *tile, int64_t width);

  /// Computes and stores `rows` pixels of a depthwise convolution, from element
  /// `at` of the result on. Channel c of pixel i is bias[c] + Σ_t
  /// weights[t·channels + c] · pixels[t·pixelStride + i][c]. Pointers of
  /// kPixelRows pixels are read.
  void (*depthwise)(const Output &output, int64_t at, int64_t rows,
                    int64_t channels, int64_t taps, const void *const *pixels,
                    int64_t pixelStride, const void *weights);

  /// to[i] = first + i·step, in bytes.
  void (*listPixels)(const void **to, int64_t count, const void *first,
                     int64_t step);

  /// to[p·cols + q] = Σ_t weights[t] · from[offsets[t] + p·pitch + q]. Computes
  /// all `pitch` columns of rows into `sums`. Both have room for a vector past
  /// their (rows - 1)·pitch + cols elements, and as much is read past the last
  /// element of `from`.
  void (*plane)(void *to, void *sums, int64_t rows, int64_t cols, int64_t pitch,
                int64_t taps, const void *from, const int64_t *offsets,
                const void *weights);

  /// sums (rows `sumStride` apart) += a·b over `depth`, for a few packed rows
  /// of a and `cols` columns of a row-major b that is not packed.
  void (*streamRows)(int64_t rows, int64_t cols, int64_t depth, const void *a,
                     int64_t lda, const void *b, artifact::DType type,
                     int64_t ldb, void *sums, int64_t sumStride);

  /// As streamRows, for a column-major b whose columns are `ldb` apart.
  void (*streamCols)(int64_t rows, int64_t cols, int64_t depth, const void *a,
                     int64_t lda, const void *b, artifact::DType type,
                     int64_t ldb, void *sums, int64_t sumStride);

  /// Depths are rounded up to multiples of it, by zeros on the right-hand side.
  /// If above 1, a left-hand panel holds `rows` rows of so many elements, then
  /// the rows of the next elements.
  int64_t depthStep = 1;
  /// Called by a thread before and after its tiles; may be null.
  void (*begin)() = nullptr, (*end)() = nullptr;
};

/// The inner loops of integer products with exact 32-bit sums. An element of a
/// panel is a group of 4 bytes: four numbers of 8 bits, unsigned on the
/// left-hand side and signed on the right, or two signed ones of 16 bits whose
/// products with each other do not overflow 31 bits.
struct IntegerKernel {
  /// Only rows, cols, lanes, elementBytes, multiply and store, which wants
  /// Output::quantized. Results are contiguous along columns.
  MicroKernel pairs;
  MicroKernel quads;
  bool hasQuads; ///< otherwise only `pairs` may be used
  /// Multiplies quads of many rows, in place of `quads`; null: there is none.
  const MicroKernel *matrices;

  /// Packs a panel: element (k, i) is group k of `rows[i]`; zero for i from
  /// `count` on, which nothing reads if it is the only row of a left-hand
  /// panel. Width is a multiple of 4.
  void (*packRows)(void *panel, int64_t width, int64_t count, int64_t depth,
                   const void *const *rows);

  /// Flips the highest bit of each byte: u8 x becomes i8 x - 128, and back.
  void (*flip)(void *bytes, int64_t count);

  /// Subtracts `zero` from bytes.
  void (*centre)(int16_t *to, const void *from, bool isSigned, int32_t zero,
                 int64_t count);

  /// sums[i · cols + j] = Σ a[i · depth + k] · b[j · depth + k] over `depth`
  /// bytes, unsigned by signed, for up to 4 rows. Reads `depth` rounded up to
  /// kStreamBytes bytes of each row of a, whose rows are `lda` apart, and no
  /// more than `depth` of each of b. Only with quads.
  void (*dots)(int64_t rows, int64_t cols, int64_t depth, const uint8_t *a,
               int64_t lda, const int8_t *b, int32_t *sums);

  /// Computes and stores `pixels` pixels of a depthwise convolution, from
  /// element `at` of the result on:
  ///   sum(q, c) = Σ_t x[q · step + offsets[t] + c] · weights[t · channels + c]
  /// Weights are 16-bit numbers, each in the low half of 32 bits.
  void (*taps)(const Output &output, int64_t at, int64_t pixels,
               int64_t channels, int64_t taps, const void *x,
               const int64_t *offsets, int64_t step, bool isSigned,
               const int32_t *weights);
};

/// Bytes of a vector of IntegerKernel::dots, at most.
inline constexpr int64_t kStreamBytes = 64;

/// The kernels of one instruction set, by accumulator.
namespace sse2 {
const MicroKernel &microKernel(Accumulator accumulator);
const IntegerKernel &integerKernel();
} // namespace sse2
namespace avx2 {
const MicroKernel &microKernel(Accumulator accumulator);
const IntegerKernel &integerKernel();
} // namespace avx2
namespace avx512 {
const MicroKernel &microKernel(Accumulator accumulator);
const IntegerKernel &integerKernel();
} // namespace avx512
namespace avx512vnni {
const IntegerKernel &integerKernel();
}
namespace amx {
const IntegerKernel &integerKernel();
}
namespace neon {
const MicroKernel &microKernel(Accumulator accumulator);
const IntegerKernel &integerKernel();
} // namespace neon
namespace i8mm {
const IntegerKernel &integerKernel();
}

} // namespace frit::cpu

#endif // FRIT_RUNTIME_CPU_KERNELS_MICROKERNEL_H
