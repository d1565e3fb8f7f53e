//===- ExpertRouting.h - Route tokens to experts --------------------------===//

#ifndef FRIT_COMPILER_TRANSFORM_RECOGNIZE_EXPERTROUTING_H
#define FRIT_COMPILER_TRANSFORM_RECOGNIZE_EXPERTROUTING_H

#include "dialects/nn/NN.h"

#include <optional>

namespace frit {

/// The experts that a router picks for each token, and their weights.
struct Routing {
  mlir::Value picks, weights; ///< t×k
  int64_t tokens = 0, perToken = 0, experts = 0;

  /// Rows per tile, and the maximum number of tiles.
  int64_t tile = 0, tiles = 0;

  int64_t pairs() const { return tokens * perToken; }

  /// Picks the tile size that takes the least time. Returns whether that beats
  /// multiplying all tokens by all experts.
  bool pickTiles();
};

/// Matches the routing whose weights are the matrix `gates`, e×t with
/// dimensions of size 1.
std::optional<Routing> routingOf(mlir::Value gates);

/// Maps between pairs of tokens and experts and their slots, as i64 tensors.
class ExpertSlots {
public:
  ExpertSlots(nn::NNBuilder &b, const Routing &routing);

  mlir::Value isRouted; ///< per pair: whether the expert exists
  mlir::Value ofPairs;  ///< per pair: its slot
  mlir::Value tokens;   ///< tiles×tile: token of the slot
  mlir::Value inMatrix; ///< tiles×tile: index in an experts×tokens matrix
  mlir::Value experts;  ///< tiles

private:
  mlir::Value number(int64_t value);
  /// Returns 0, 1, … along dimension `axis` of `shape`.
  mlir::Value count(llvm::ArrayRef<int64_t> shape, int64_t axis);
  /// Gathers elements of `table`, experts×pairs.
  mlir::Value at(mlir::Value table, mlir::Value row, mlir::Value column);
  /// Computes running sums along the second dimension.
  mlir::Value cumulate(mlir::Value x, int64_t rows, int64_t length);

  nn::NNBuilder &b;
  const Routing &r;
  int64_t pairs, tile, tiles;
};

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_RECOGNIZE_EXPERTROUTING_H
