//===- Pixels.cpp - Convolutions with channels last -----------------------===//
//
// y(pixel, filter) = Σ x(pixel, tap)·w(tap, filter). Filters are packed in
// panels of a tile's width. A thread computes a part of the pixels for some
// panels; it reads each block of a panel once, for all pixels of the part.
//
//===----------------------------------------------------------------------===//

#include "runtime/cpu/kernels/Gemm.h"
#include "runtime/cpu/kernels/PixelPieces.h"
#include "runtime/exec/Types.h"

#include <algorithm>
#include <cstring>
#include <limits>

using namespace frit;
using namespace frit::cpu;

namespace {
/// Rows of a block of filters, which stays in L2 with the pixels.
constexpr int64_t kBlockDepth = 768;
/// Maximum pixels of a part, and of pointers that are listed for it.
constexpr int64_t kPartPixels = 192, kPartPointers = 8192;
/// Items per thread from which it does not matter who has one more.
constexpr int64_t kManyItems = 32;

/// Returns whether MicroKernel::multiplyPixels writes no row past this many.
bool isWholeTile(int64_t rows) {
  return rows == kPixelRows || rows == 4 || rows == 1;
}

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
    blockDepth =
        ceilDiv(depth, std::max<int64_t>(1, ceilDiv(depth, kBlockDepth)));
    const int64_t taps = pieces.taps();
    blockTaps = depth == blockDepth
                    ? std::min(taps, std::max<int64_t>(1, kBlockDepth / depth))
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
      if (items >= wanted &&
          (items % threads == 0 || items >= kManyItems * threads))
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

  /// Filters of a panel in its group. The last one consists of whole vectors,
  /// if there are enough filters, of which it repeats some.
  struct Panel {
    int64_t first, repeated, count;
  };
  Panel panelAt(int64_t panel) const {
    const int64_t own = std::min(width, filters - panel * width);
    const int64_t whole = ceilDiv(own, kernel.lanes) * kernel.lanes;
    const int64_t first = panel * width;
    if (whole > filters)
      return {first, 0, own};
    return {first - (whole - own), whole - own, whole};
  }
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
  const int64_t end = std::min(pixels, tiles * (part + 1) / parts * kPixelRows);
  auto **table = reinterpret_cast<const void **>(scratch);
  char *start = scratch + tableBytes(), *sums = start + width * bytes;
  pieces.list(table, stride(), first, end - first);

  const bool isRelu = output.activation == Activation::relu;
  // Whole tiles are stored by the kernel that computes them.
  const bool isSimple =
      !output.residual && (isRelu || output.activation == Activation::none);
  constexpr double kNone = -std::numeric_limits<double>::infinity();
  PixelTile tile;
  tile.pixelStride = stride();
  tile.width = width;
  const int64_t lastPanel = panels * (split + 1) / splits;
  for (int64_t panel = panels * split / splits; panel < lastPanel; ++panel) {
    const auto [filter, repeated, count] = panelAt(panel);
    const char *b = packed + (group * panels + panel) * rows() * width * bytes;
    std::memset(start, 0, width * bytes);
    if (output.bias)
      std::memcpy(start,
                  advance(output.bias, (group * filters + filter) * bytes),
                  count * bytes);
    tile.cols = count;
    for (int64_t tap = 0; tap < taps; tap += blockTaps)
      for (int64_t k = 0; k < depth; k += blockDepth) {
        tile.taps = std::min(blockTaps, taps - tap);
        tile.depth = std::min(blockDepth, depth - k);
        tile.skip = group * channels + k;
        tile.b = b + (tap * depth + k) * width * bytes;
        const bool isFirst = tap == 0 && k == 0;
        const bool isLast = tap + tile.taps == taps && k + tile.depth == depth;
        for (int64_t pixel = first; pixel < end; pixel += kPixelRows) {
          tile.rows = std::min(kPixelRows, end - pixel);
          tile.pixels = table + tap * stride() + (pixel - first);
          char *own = sums + (hasBlocks() ? pixel - first : 0) * width * bytes;
          const int64_t at = pixel * problem.k + group * filters + filter;
          tile.start = isFirst ? start : own;
          tile.startStride = isFirst ? 0 : width;
          const bool isDirect = isLast && isSimple && isWholeTile(tile.rows) &&
                                count % kernel.lanes == 0;
          tile.to =
              isDirect ? static_cast<char *>(output.data) + at * bytes : own;
          tile.toStride = isDirect ? problem.k : width;
          tile.least = isDirect && isRelu ? 0 : kNone;
          kernel.multiplyPixels(tile);
          if (isLast && !isDirect)
            kernel.storePixels(output, at + repeated, tile.rows,
                               count - repeated, own + repeated * bytes, width);
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
                                 const MicroKernel &kernel, const void *filters,
                                 void *to) {
  const Plan plan(problem, kernel, 1);
  const int64_t rows = plan.rows();
  auto *panel = static_cast<char *>(to);
  for (int64_t at = 0; at < problem.groups * plan.panels; ++at) {
    const auto [first, repeated, count] = plan.panelAt(at % plan.panels);
    const int64_t filter = at / plan.panels * plan.filters + first;
    kernel.pack(
        panel, plan.width, count, rows,
        advance(filters, filter * rows * int64_t(elementBytes(problem.type))),
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
