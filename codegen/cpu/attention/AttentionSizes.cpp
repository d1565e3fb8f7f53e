//===- AttentionSizes.cpp - Tiles of attention to ranges ------------------===//

#include "codegen/cpu/attention/AttentionSizes.h"

#include <numeric>

using namespace frit;
using namespace frit::cpu;

/// Queries whose scores are in registers at once.
static constexpr int64_t kTileRows = 4;
/// Most queries of an item, which read keys from L1, and the bytes of their
/// scores, which stay in L2.
static constexpr int64_t kMostRows = 32, kRowBytes = 512 << 10;

/// Returns the most of `limit` vectors that divides `count`, a power of two.
static int64_t vectorsOfTile(int64_t count, int64_t limit) {
  int64_t vectors = 1;
  while (vectors * 2 <= limit && count % (vectors * 2) == 0)
    vectors *= 2;
  return vectors;
}

AttentionSizes::AttentionSizes(const nn::AttentionInfo &info, Vectors vectors)
    : lanes(std::gcd(std::gcd(info.size, info.valueSize), vectors.lanes)),
      sharing(info.heads / info.groups), rows(sharing * info.queries),
      keys(llvm::alignTo(info.keys, vectors.lanes)),
      tileRows(std::min(rows, kTileRows)),
      tileKeys(vectors.registers > 16 ? 4 : 2),
      tileVectors(vectorsOfTile(info.valueSize / lanes,
                                vectors.registers / 2 / tileRows)) {
  int64_t most = std::min(kMostRows, kRowBytes / (keys * 4));
  most = std::max<int64_t>(most / tileRows, 1) * tileRows;
  itemRows = std::min<int64_t>(most, llvm::alignTo(rows, tileRows));
  itemsPerGroup = llvm::divideCeil(rows, itemRows);
}
