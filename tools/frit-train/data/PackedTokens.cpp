//===- PackedTokens.cpp - Documents of tokens in rows ---------------------===//

#include "tools/frit-train/data/PackedTokens.h"

#include <algorithm>
#include <map>

using namespace frit::train;

void PackedTokens::pack(const TokenAt &tokenAt, uint64_t count, int64_t end,
                        uint64_t length) {
  std::vector<Piece> found;
  uint64_t start = 0;
  auto close = [&](uint64_t last) { // the place of the document's last token
    for (; start < last; start += std::min(length, last - start))
      found.push_back({start, std::min(length, last - start)});
    start = last + 1;
  };
  for (uint64_t i = 0; i < count; ++i)
    if (tokenAt(i) == end)
      close(i);
  if (start < count)
    close(count - 1);
  std::ranges::stable_sort(found, std::greater(), &Piece::length);

  // Rows with free places, by their number; the row of each piece.
  std::multimap<uint64_t, uint64_t> open;
  std::vector<uint64_t> rowOf;
  rowOf.reserve(found.size());
  uint64_t rows = 0;
  for (const Piece &piece : found) {
    auto best = open.lower_bound(piece.length);
    uint64_t free = length, row = rows;
    if (best == open.end()) {
      ++rows;
    } else {
      std::tie(free, row) = *best;
      open.erase(best);
    }
    rowOf.push_back(row);
    if (free > piece.length)
      open.emplace(free - piece.length, row);
  }

  starts.assign(rows + 1, 0);
  for (uint64_t row : rowOf)
    ++starts[row + 1];
  for (uint64_t row = 0; row < rows; ++row)
    starts[row + 1] += starts[row];
  std::vector<uint64_t> next(starts);
  pieces.resize(found.size());
  for (size_t i = 0; i < found.size(); ++i)
    pieces[next[rowOf[i]]++] = found[i];
}

void PackedTokens::visit(uint64_t row,
                         const std::function<void(uint64_t, uint64_t, uint64_t,
                                                  uint64_t)> &visit) const {
  uint64_t place = 0;
  for (uint64_t i = starts[row]; i < starts[row + 1]; ++i)
    for (uint64_t position = 0; position < pieces[i].length; ++position)
      visit(place++, i - starts[row] + 1, position, pieces[i].start + position);
}
