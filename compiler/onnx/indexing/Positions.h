//===- Positions.h - Rows of a table of positions -------------------------===//

#ifndef FRIT_COMPILER_ONNX_INDEXING_POSITIONS_H
#define FRIT_COMPILER_ONNX_INDEXING_POSITIONS_H

#include "compiler/onnx/reader/Node.h"

namespace frit::importer {

/// Returns the positions of the call's tokens in place of constant indices of
/// rows of a weight, if those are one for each token from the number of the
/// caches' entries on, or from a few after it; they have the shape of `indices`
/// or are batch × tokens. Null for other indices, and without
/// ImportOptions::positions.
mlir::Value positionsFor(Node &node, mlir::Value table, mlir::Value indices);

/// Returns such rows of a weight from `starts` to `ends`; or null.
mlir::Value rowsOfPositions(Node &node, mlir::Value table,
                            llvm::ArrayRef<int64_t> starts,
                            llvm::ArrayRef<int64_t> ends);

/// Replaces an operand of a product with constants, the frequencies of rotary
/// embeddings, if it lists the positions of the call's tokens.
void multiplyPositions(Node &node);

/// Replaces an operand of a sum with counts of the call's tokens, the number of
/// the caches' entries, by the position of the call's first token.
void addPositions(Node &node);

/// Holds positions to the rows of a weight, if `rows` of it count the call's
/// tokens from them on.
void limitPositions(Node &node, mlir::Value table, mlir::Value rows);

} // namespace frit::importer

#endif // FRIT_COMPILER_ONNX_INDEXING_POSITIONS_H
