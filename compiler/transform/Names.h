//===- Names.h - Find nodes and weights by their names --------------------===//

#ifndef FRIT_COMPILER_TRANSFORM_NAMES_H
#define FRIT_COMPILER_TRANSFORM_NAMES_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"

namespace frit {

/// Returns whether one of the patterns, which are valid globs, matches.
bool matchesAny(llvm::ArrayRef<std::string> patterns, llvm::StringRef name);

/// Returns whether every pattern matches one of `names`. Otherwise reports the
/// pattern by `emit`, with the nearest name. `things` is what the names denote,
/// such as "weight"; the message ends with `end`.
bool checkPatterns(llvm::ArrayRef<std::string> patterns,
                   llvm::ArrayRef<llvm::StringRef> names,
                   llvm::StringRef things, llvm::StringRef end,
                   llvm::function_ref<mlir::InFlightDiagnostic()> emit);

/// Returns the names of the model's nodes that an operator comes from.
llvm::SmallVector<llvm::StringRef> nodeNamesOf(mlir::Operation *op);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_NAMES_H
