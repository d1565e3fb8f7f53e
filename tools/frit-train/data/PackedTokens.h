//===- PackedTokens.h - Documents of tokens in rows -----------------------===//

#ifndef FRIT_TOOLS_FRIT_TRAIN_DATA_PACKEDTOKENS_H
#define FRIT_TOOLS_FRIT_TRAIN_DATA_PACKEDTOKENS_H

#include <cstdint>
#include <functional>
#include <vector>

namespace frit::train {

/// Documents of any length in rows of `length` tokens. A token that ends
/// documents is the label of the one before it, and the input of none; so no
/// label is of another document. Documents longer than a row are cut into
/// pieces. Each piece, the longest first, goes to the row that it fills best.
class PackedTokens {
public:
  /// Returns the token at a place in the file.
  using TokenAt = std::function<int64_t(uint64_t)>;

  /// Finds the documents of `count` tokens, each up to a token `end`, or the
  /// file's.
  void pack(const TokenAt &tokenAt, uint64_t count, int64_t end,
            uint64_t length);

  uint64_t rows() const { return starts.empty() ? 0 : starts.size() - 1; }

  /// Calls `visit` for each place of a row: its document in the row, from 1,
  /// its position in that piece and its token's place in the file. Places that
  /// are not called for are padding.
  void visit(uint64_t row,
             const std::function<void(uint64_t place, uint64_t document,
                                      uint64_t position, uint64_t token)>
                 &visit) const;

private:
  /// Tokens that become inputs, from `start` on.
  struct Piece {
    uint64_t start, length;
  };

  std::vector<Piece> pieces;    ///< by row
  std::vector<uint64_t> starts; ///< of each row's pieces, and their number
};

} // namespace frit::train

#endif // FRIT_TOOLS_FRIT_TRAIN_DATA_PACKEDTOKENS_H
