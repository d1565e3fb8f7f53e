//===- Custom.h - Operators that users define -----------------------------===//
//
// Apart from NN.h, because few files need it.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_DIALECTS_NN_OPERATORS_CUSTOM_H
#define FRIT_DIALECTS_NN_OPERATORS_CUSTOM_H

#include "dialects/nn/NN.h"

#define GET_OP_CLASSES
#include "dialects/nn/Custom.h.inc"

namespace frit::nn {

/// Returns the user's definition of `op`; null for frit's own operators.
CustomAttr customOf(mlir::Operation *op);

/// Reports a custom operator in `fusion` without a function for the target
/// `arch`: one for a host if `host`, else for a device.
llvm::LogicalResult checkHasFunctions(FusionOp fusion, bool host,
                                      llvm::StringRef arch);

/// Returns a path without characters that C and C++ do not take between quotes.
std::string printablePath(const llvm::Twine &path);

/// Returns the text of a user's function, whose lines compilers name by its
/// file.
std::string textOf(UserFunctionAttr function);
/// Returns the line directive for generated lines that call `function` for
/// `custom`, so that compilers' messages name both.
std::string callDirective(CustomAttr custom, UserFunctionAttr function);
/// Returns the folder of a user's function, where it finds its headers.
std::string folderOf(UserFunctionAttr function);

/// Returns the types that the variables of a user's operator stand for.
llvm::SmallVector<std::pair<mlir::StringAttr, mlir::Type>>
boundVariables(mlir::Operation *op);

/// Returns the type in which a value of type `body` is passed to a user's
/// function: integers have 32 bits or more.
mlir::Type callType(mlir::Type body);

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_OPERATORS_CUSTOM_H
