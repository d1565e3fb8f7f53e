//===- Pixels.cpp - Convolutions with channels last -----------------------===//
//
// y(pixel, filter) = Σ x(pixel, tap)·w(tap, filter). Filters are packed in
// panels of a tile's width. A thread computes a part of the pixels for some
// panels; it reads each block of a panel once, for all pixels of the part.
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/kernels/Pixels.h"
#include "runtime/cpu/kernels/Gemm.h"
#include "runtime/exec/Types.h"

#include <algorithm>
#include <cstring>

using namespace frit;
using namespace frit::cpu;

namespace {
/// Rows of a block of filters, which stays in L2 with the pixels.
constexpr int64_t kBlockDepth = 768;
/// Maximum pixels of a part, and of pointers that are listed for it.
constexpr int64_t kPartPixels = 192, kPartPointers = 8192;
/// Minimum multiplications per part.
constexpr int64_t kSmallestPart = 200'000;

/// How a convolution is computed.
struct Plan {
  const artifact::Conv &problem;
  const MicroKernel &kernel;
  PixelPieces pieces;
  int64_t pixels, filters, channels; ///< of all images; per group
  int64_t depth;                     ///< of a piece, in a group
  int64_t panels, width;             ///< of filters, per group
  int64_t blockTaps, blockDepth;     ///< one of them is 1 or whole
  int64_t parts, splits;             ///< of pixels, and of panels

  Plan(const artifact::Conv &problem, const MicroKernel &kernel,
       unsigned threads)
      : problem(problem), kernel(kernel), pieces(problem, kernel, false),
        pixels(problem.n * problem.p * problem.q),
        filters(problem.k / problem.groups),
        channels(problem.c / problem.groups),
        depth(pieces.depth() / problem.groups) {
    const int64_t vectors = ceilDiv(filters, kernel.lanes);
    panels = ceilDiv(vectors, kernel.pixelCols / kernel.lanes);
    width = ceilDiv(vectors, panels) * kernel.lanes;
    panels = ceilDiv(filters, width);
    // Whole taps, or a part of one.
    blockDepth = ceilDiv(depth, std::max<int64_t>(1, ceilDiv(depth, kBlockDepth)));
    const int64_t taps = pieces.taps();
    blockTaps = depth == blockDepth ? std::min(taps, std::max<int64_t>(
                                                         1, kBlockDepth / depth))
                                    : 1;
    blockTaps = ceilDiv(taps, ceilDiv(taps, blockTaps));

    const int64_t tiles = ceilDiv(pixels, kPixelRows);
    const int64_t largest =
        std::clamp<int64_t>(kPartPointers / taps, kPixelRows, kPartPixels);
    parts = std::min(tiles, ceilDiv(pixels, largest));
    splits = 1;
    const double work = double(pixels) * double(filters) * double(depth) *
                        double(taps) * double(problem.groups);
    const int64_t wanted =
        threads == 1 ? 1
                     : int64_t(std::min(work / kSmallestPart, threads * 4.));
    for (;;) {
      const int64_t items = parts * splits * problem.groups;
      if (items >= wanted && (items % threads == 0 || items >= 2 * wanted))
        break;
      const bool canPart = parts < tiles, canSplit = splits < panels;
      if (!canPart && !canSplit)
        break;
      // Parts of pixels read all filters, splits all pixels.
      ++(canSplit && (!canPart || pixels / parts < filters / splits) ? splits
                                                                    : parts);
    }
  }

  int64_t rows() const { return depth * pieces.taps(); } ///< of a panel
  uint64_t packedBytes() const {
    return uint64_t(problem.groups) * panels * rows() * width *
           kernel.elementBytes;
  }
  int64_t partPixels() const {
    return ceilDiv(ceilDiv(pixels, kPixelRows), parts) * kPixelRows;
  }
  /// Of a thread's table of pointers, per tap.
  int64_t stride() const { return partPixels() + kPixelRows; }
  bool hasBlocks() const {
    return blockDepth < depth || blockTaps < pieces.taps();
  }
  uint64_t tableBytes() const {
    return wholeLines(stride() * pieces.taps() * sizeof(void *));
  }
  uint64_t sumsBytes() const {
    const int64_t tiles = hasBlocks() ? partPixels() / kPixelRows : 1;
    return wholeLines((tiles * kPixelRows + 1) * width * kernel.elementBytes);
  }
  void compute(int64_t item, const char *packed, const Output &output,
               char *scratch) const;
};
} // namespace

/// Computes one part of the pixels for some panels of a group.
void Plan::compute(int64_t item, const char *packed, const Output &output,
                   char *scratch) const {
  const int64_t bytes = kernel.elementBytes, taps = pieces.taps();
  const int64_t group = item % problem.groups;
  const int64_t split = item / problem.groups % splits;
  const int64_t part = item / problem.groups / splits;
  const int64_t tiles = ceilDiv(pixels, kPixelRows);
  const int64_t first = tiles * part / parts * kPixelRows;
  const int64_t end =
      std::min(pixels, tiles * (part + 1) / parts * kPixelRows);
  auto **table = reinterpret_cast<const void **>(scratch);
  char *start = scratch + tableBytes(), *sums = start + width * bytes;
  pieces.list(table, stride(), first, end - first);

  const int64_t lastPanel = panels * (split + 1) / splits;
  for (int64_t panel = panels * split / splits; panel < lastPanel; ++panel) {
    const int64_t filter = panel * width;
    const int64_t cols = std::min(width, filters - filter);
    const char *b =
        packed + (group * panels + panel) * rows() * width * bytes;
    std::memset(start, 0, width * bytes);
    if (output.bias)
      std::memcpy(start,
                  advance(output.bias, (group * filters + filter) * bytes),
                  cols * bytes);
    for (int64_t tap = 0; tap < taps; tap += blockTaps)
      for (int64_t k = 0; k < depth; k += blockDepth) {
        const int64_t blockRows = std::min(blockDepth, depth - k);
        const int64_t some = std::min(blockTaps, taps - tap);
        const bool isFirst = tap == 0 && k == 0;
        const bool isLast = tap + some == taps && k + blockRows == depth;
        for (int64_t pixel = first; pixel < end; pixel += kPixelRows) {
          const int64_t count = std::min(kPixelRows, end - pixel);
          char *tile =
              sums + (hasBlocks() ? pixel - first : 0) * width * bytes;
          kernel.multiplyPixels(count, cols, some, blockRows,
                                table + tap * stride() + (pixel - first),
                                stride(), group * channels + k,
                                b + (tap * depth + k) * width * bytes, width,
                                isFirst ? start : tile, isFirst ? 0 : width,
                                tile);
          if (isLast)
            kernel.storePixels(output,
                               pixel * problem.k + group * filters + filter,
                               count, cols, tile, width);
        }
      }
  }
}

bool frit::cpu::takesPixels(const artifact::Conv &problem) {
  return problem.channelsLast && problem.type == artifact::DType::f32;
}

std::optional<ScratchSize>
frit::cpu::pixelScratch(const artifact::Conv &problem,
                        const MicroKernel &kernel, unsigned threads) {
  const Plan plan(problem, kernel, threads);
  const std::optional<uint64_t> bytes = plan.pieces.bytes();
  if (!bytes)
    return std::nullopt;
  return ScratchSize{*bytes + wholeLines(plan.packedBytes()),
                     plan.tableBytes() + plan.sumsBytes()};
}

PackedForm frit::cpu::pixelForm(const artifact::Conv &problem,
                                const MicroKernel &kernel) {
  const Plan plan(problem, kernel, 1);
  return {plan.packedBytes(), 2};
}

void frit::cpu::packPixelFilters(const artifact::Conv &problem,
                                 const MicroKernel &kernel,
                                 const void *filters, void *to) {
  const Plan plan(problem, kernel, 1);
  const int64_t rows = plan.rows();
  auto *panel = static_cast<char *>(to);
  for (int64_t at = 0; at < problem.groups * plan.panels; ++at) {
    const int64_t first = at % plan.panels * plan.width;
    const int64_t filter = at / plan.panels * plan.filters + first;
    kernel.pack(
        panel, plan.width, std::min(plan.width, plan.filters - first), rows,
        advance(filters,
                filter * rows * int64_t(elementBytes(problem.type))),
        problem.type, rows, 1);
    panel += rows * plan.width * kernel.elementBytes;
  }
}

void frit::cpu::convolvePixels(const artifact::Conv &problem,
                               const MicroKernel &kernel, const void *x,
                               const void *w, const void *packed,
                               const Output &output, ThreadPool &pool) {
  Plan plan(problem, kernel, pool.size());
  auto *shared = static_cast<char *>(pool.sharedScratch());
  plan.pieces.prepare(x, shared, pool);
  if (!packed) {
    char *own = shared + *plan.pieces.bytes();
    packPixelFilters(problem, kernel, w, own);
    packed = own;
  }
  pool.parallelItems(plan.parts * plan.splits * problem.groups,
                     [&](int64_t item, unsigned thread) {
                       plan.compute(item, static_cast<const char *>(packed),
                                    output,
                                    static_cast<char *>(pool.scratch(thread)));
                     });
}
