//===- Contraction.cpp - Block sizes and work split of a contraction ------===//

#include "runtime/cpu/kernels/Gemm.h"

#include <algorithm>

using namespace frit::cpu;

namespace {
/// Maximum rows and columns of a part of the result, whose sums and packed
/// operands fit in L2. Rows are computed in groups of kGroupRows, whose panels
/// of A stay in L2 while they are multiplied by all panels of B.
constexpr int64_t kPartRows = 1024, kGroupRows = 96, kPartCols = 384;
/// Maximum bytes of an operand that is packed once and shared. A larger one is
/// packed by every part that reads it.
constexpr size_t kLargestShared = size_t(64) << 20;
} // namespace

Contraction::Side::Side(int64_t extent, int64_t width, int64_t largest)
    : extent(extent), width(width), panels(ceilDiv(extent, width)),
      splits(ceilDiv(panels, std::max<int64_t>(1, largest / width))) {}

Contraction::Part Contraction::Side::part(int64_t index) const {
  return {panels * index / splits, panels * (index + 1) / splits};
}

int64_t Contraction::Side::count(int64_t panel) const {
  return std::min(width, extent - panel * width);
}

Contraction::Contraction(const MicroKernel &kernel, int64_t m, int64_t n,
                         int64_t k, int64_t batch, unsigned threads)
    : kernel(kernel), k(ceilDiv(k, kernel.depthStep) * kernel.depthStep),
      batch(batch), blocks(std::max<int64_t>(1, ceilDiv(k, kDepth))),
      a(m, kernel.rows, kPartRows), b(n, kernel.cols, kPartCols) {
  depth = ceilDiv(ceilDiv(k, blocks), kernel.depthStep) * kernel.depthStep;
  // Split the longer side until there are a few parts per thread, a multiple of
  // the threads for an even load.
  const double work = double(m) * double(n) * double(k) * double(batch);
  const int64_t wanted =
      threads == 1 ? 1 : int64_t(std::min(work / kSmallestPart, threads * 4.));
  for (;;) {
    const int64_t items = batch * a.splits * b.splits;
    if (items >= wanted && (items % threads == 0 || items >= 2 * wanted))
      break;
    const bool splitA = a.splits < a.panels, splitB = b.splits < b.panels;
    if (!splitA && !splitB)
      break;
    const bool longer = a.largestPart() * a.width > b.largestPart() * b.width;
    ++(splitA && (longer || !splitB) ? a : b).splits;
  }
  a.shared = b.splits > 1 && bytesOf(a) <= kLargestShared;
  b.shared = a.splits > 1 && bytesOf(b) <= kLargestShared;
}

int64_t Contraction::depthOf(int64_t block) const {
  return std::max<int64_t>(0, std::min(depth, k - block * depth));
}

size_t Contraction::bytesOf(const Side &side) const {
  return wholeLines(size_t(batch * side.panels * side.width * k) *
                    kernel.elementBytes);
}

int64_t Contraction::offsetOf(const Side &side, int64_t matrix, int64_t block,
                              int64_t panel) const {
  return side.width * kernel.elementBytes *
         (side.panels * (matrix * k + block * depth) + panel * depthOf(block));
}

/// One part of the result and the scratch memory to compute it in.
struct Contraction::Item {
  int64_t matrix;
  Part rows, cols;
  PackPanel packA, packB;
  const char *panelsA, *panelsB; ///< all of the matrix; null: packed here
  const Direct *direct;          ///< may be null
  char *scratch;
  const Output &output;
};

ScratchSize Contraction::scratch() const {
  const int64_t tiles = blocks > 1 ? a.largestPart() * b.largestPart() : 1;
  const int64_t group = std::max<int64_t>(1, kGroupRows / a.width);
  const int64_t elements = a.width * b.width * tiles +
                           depth * a.width * (a.shared ? 0 : group) +
                           depth * b.width * (b.shared ? 1 : b.largestPart());
  return {(a.shared ? bytesOf(a) : 0) + (b.shared ? bytesOf(b) : 0),
          uint64_t(kernel.elementBytes * elements)};
}

void Contraction::packAll(bool isB, PackPanel pack, char *to) const {
  const Side &side = isB ? b : a;
  packRange(side, pack, to, 0, batch * blocks * side.panels);
}

void Contraction::packShared(const Side &side, PackPanel pack, char *to,
                             ThreadPool &pool) const {
  pool.parallelFor(batch * blocks * side.panels, [&](int64_t at, int64_t end) {
    packRange(side, pack, to, at, end);
  });
}

/// Packs panels [at, end) of all blocks of all matrices.
void Contraction::packRange(const Side &side, PackPanel pack, char *to,
                            int64_t at, int64_t end) const {
  for (; at < end; ++at) {
    const int64_t panel = at % side.panels, block = at / side.panels % blocks;
    const int64_t matrix = at / side.panels / blocks;
    pack(to + offsetOf(side, matrix, block, panel), side.width, matrix,
         panel * side.width, side.count(panel), block * depth, depthOf(block));
  }
}

void Contraction::compute(const Item &item) const {
  const int64_t bytes = kernel.elementBytes;
  const int64_t group = std::max<int64_t>(1, kGroupRows / a.width);
  const int64_t tileBytes = a.width * b.width * bytes;
  char *tiles = item.scratch;
  char *localA =
      tiles +
      tileBytes * (blocks > 1 ? item.rows.size() * item.cols.size() : 1);
  char *localB = localA + (a.shared ? 0 : group * a.width * depth * bytes);

  int64_t packedRows[kDepth];
  for (int64_t i = 0; i < depth; ++i)
    packedRows[i] = i * b.width;
  // Panels of B from here on are packed.
  int64_t packed = item.cols.begin;
  const char *directB = nullptr;
  if (item.direct) {
    packed = std::clamp(item.direct->readable / b.width, packed, item.cols.end);
    directB = item.direct->data + item.direct->origin(item.matrix) * bytes;
  }

  if (kernel.begin)
    kernel.begin();
  for (int64_t block = 0; block < blocks; ++block) {
    const int64_t deep = depthOf(block);
    auto packLocal = [&](const Side &side, PackPanel pack, char *to,
                         int64_t begin, int64_t end) {
      for (int64_t panel = begin; panel < end; ++panel)
        pack(to + (panel - begin) * side.width * deep * bytes, side.width,
             item.matrix, panel * side.width, side.count(panel), block * depth,
             deep);
    };
    const char *panelsB = localB;
    if (item.panelsB)
      panelsB = item.panelsB + offsetOf(b, 0, block, packed);
    else
      packLocal(b, item.packB, localB, packed, item.cols.end);

    for (int64_t first = item.rows.begin; first < item.rows.end;
         first += group) {
      const int64_t last = std::min(first + group, item.rows.end);
      const char *panelsA = localA;
      if (item.panelsA)
        panelsA = item.panelsA + offsetOf(a, 0, block, first);
      else
        packLocal(a, item.packA, localA, first, last);

      for (int64_t col = item.cols.begin; col < item.cols.end; ++col)
        for (int64_t row = first; row < last; ++row) {
          char *tile = tiles;
          if (blocks > 1)
            tile += tileBytes * ((row - item.rows.begin) * item.cols.size() +
                                 (col - item.cols.begin));
          const bool isDirect = col < packed;
          kernel.multiply(
              a.count(row), b.count(col), deep,
              panelsA + (row - first) * a.width * deep * bytes,
              isDirect ? directB + col * b.width * bytes
                       : panelsB + (col - packed) * b.width * deep * bytes,
              isDirect ? item.direct->offsets + block * depth : packedRows,
              tile, block > 0);
          if (block == blocks - 1)
            store(item, row, col, tile);
        }
    }
  }
  if (kernel.end)
    kernel.end();
}

/// Stores a tile.
void Contraction::store(const Item &item, int64_t row, int64_t col,
                        const char *tile) const {
  const Output &output = item.output;
  const int64_t first = col * b.width, end = first + b.count(col);
  const int64_t pitch = output.pitch ? output.pitch : end + 1;
  const int64_t width = output.pitch ? output.width : pitch;
  for (int64_t at = first; at < end;) {
    const int64_t line = at / pitch * pitch;
    const int64_t count = std::min(end, line + width) - at;
    if (count > 0)
      kernel.store(output, item.matrix, row * a.width,
                   at / pitch * width + (at - line), a.count(row), count,
                   tile + (at - first) * kernel.elementBytes);
    at = line + pitch;
  }
}

void Contraction::run(PackPanel packA, PackPanel packB, const Output &output,
                      ThreadPool &pool, const Packed &packed, char *shared,
                      const Direct *direct) const {
  char *next = shared ? shared : static_cast<char *>(pool.sharedScratch());
  // Returns the panels of a side, by matrix; null if each part packs its own.
  auto panels = [&](const Side &side, PackPanel pack, const char *known) {
    char *own = next;
    next += side.shared ? bytesOf(side) : 0;
    if (known || !side.shared)
      return known;
    packShared(side, pack, own, pool);
    return static_cast<const char *>(own);
  };
  const char *allA = panels(a, packA, packed.a);
  const char *allB = direct ? nullptr : panels(b, packB, packed.b);
  auto of = [&](const Side &side, const char *all, bool isPacked,
                int64_t matrix) {
    if (isPacked)
      matrix %= packed.matrices;
    return all ? all + offsetOf(side, matrix, 0, 0) : nullptr;
  };
  pool.parallelItems(
      batch * a.splits * b.splits, [&](int64_t at, unsigned thread) {
        const int64_t matrix = at / b.splits / a.splits;
        compute({matrix, a.part(at / b.splits % a.splits),
                 b.part(at % b.splits), packA, packB,
                 of(a, allA, packed.a, matrix), of(b, allB, packed.b, matrix),
                 direct, static_cast<char *>(pool.scratch(thread)), output});
      });
}
