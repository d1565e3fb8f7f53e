//===- Strings.h - What the variants do with strings ----------------------===//

#ifndef FRIT_COMPILER_PADDING_STRINGS_H
#define FRIT_COMPILER_PADDING_STRINGS_H

#include "dialects/plan/OpenShapes.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace frit {

/// Moves what the variants' modules do with strings to `shapes`. @main has:
///
///   nn.strings     on arguments and results: they are numbers of strings
///   nn.computed    on arguments that string steps compute
///   nn.vocabulary  the strings by number
///   nn.string_steps
///
/// Fails, after an error, if the variants do different things.
llvm::LogicalResult
describeStrings(llvm::ArrayRef<mlir::OwningOpRef<mlir::ModuleOp>> modules,
                plan::OpenShapes &shapes);

} // namespace frit

#endif // FRIT_COMPILER_PADDING_STRINGS_H
