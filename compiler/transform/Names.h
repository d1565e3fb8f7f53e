//===- Names.h - Find nodes and weights by their names --------------------===//

#ifndef FRIT_COMPILER_TRANSFORM_NAMES_H
#define FRIT_COMPILER_TRANSFORM_NAMES_H

#include "mlir/IR/Operation.h"

namespace frit {

/// Returns whether one of the patterns, which are valid globs, matches.
bool matchesAny(llvm::ArrayRef<std::string> patterns, llvm::StringRef name);

/// Returns the names of the model's nodes that an operator comes from.
llvm::SmallVector<llvm::StringRef> nodeNamesOf(mlir::Operation *op);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_NAMES_H
