//===- WrittenCaches.h - Caches of a fixed size ---------------------------===//
//
// transformers' StaticCache, as PyTorch exports it: an input of all entries,
// and an output that has the rows of the call at the places of their tokens; or
// GroupQueryAttention of ONNX Runtime, which writes them where its lengths say.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_DECODER_CACHES_WRITTENCACHES_H
#define FRIT_COMPILER_DECODER_CACHES_WRITTENCACHES_H

#include "dialects/nn/NN.h"

#include <optional>

namespace frit::decoder {

/// How a model writes rows into an input.
struct WrittenCache {
  mlir::BlockArgument past;
  mlir::Operation *reader; ///< of `past`; it has no other
  int64_t axis;            ///< of the entries
  int64_t rows;            ///< that are written
  mlir::Value places;      ///< of the rows, one for each; or null and
  mlir::Value offset;      ///< the place of the first row of each sequence
  mlir::Value values;      ///< the rows, as the operator that writes takes them
  /// The dimensions of the cache before the scatter, which may join the last.
  llvm::SmallVector<int64_t> perm;
};

/// Returns how `all` is an input with rows written into it; none if it is not.
std::optional<WrittenCache> findWritten(mlir::Value all);

/// Builds the rows with the dimensions of the cache.
mlir::Value buildRows(nn::NNBuilder &b, const WrittenCache &cache);

/// Returns whether row i is written at position i of the call, for some calls
/// with `entries` of the cache. All of `positions` have the same elements.
bool writesAtPositions(const WrittenCache &cache,
                       llvm::ArrayRef<mlir::BlockArgument> positions,
                       int64_t entries);

/// Returns whether the first row is written behind the entries that the mask of
/// keys, batch × entries, counts before the tokens of the call, for some
/// lengths.
bool writesBehindMask(const WrittenCache &cache, mlir::BlockArgument mask);

} // namespace frit::decoder

#endif // FRIT_COMPILER_DECODER_CACHES_WRITTENCACHES_H
