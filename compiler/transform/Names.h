//===- Names.h - Find nodes and weights by their names --------------------===//

#ifndef FRIT_COMPILER_TRANSFORM_NAMES_H
#define FRIT_COMPILER_TRANSFORM_NAMES_H

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Operation.h"

namespace frit {

/// Returns whether one of the patterns, which are valid globs, matches.
bool matchesAny(llvm::ArrayRef<std::string> patterns, llvm::StringRef name);

/// Reports, by `emit`, a pattern that matches none of `names`, which are of
/// `things` such as "weight", with the name that is nearest to it; the message
/// ends with `end`. Returns whether all match some.
bool checkPatterns(llvm::ArrayRef<std::string> patterns,
                   llvm::ArrayRef<llvm::StringRef> names,
                   llvm::StringRef things, llvm::StringRef end,
                   llvm::function_ref<mlir::InFlightDiagnostic()> emit);

/// Returns the names of the model's nodes that an operator comes from.
llvm::SmallVector<llvm::StringRef> nodeNamesOf(mlir::Operation *op);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_NAMES_H
