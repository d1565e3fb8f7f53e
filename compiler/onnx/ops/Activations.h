//===- Activations.h - Activations by name --------------------------------===//

#ifndef FRIT_COMPILER_ONNX_OPS_ACTIVATIONS_H
#define FRIT_COMPILER_ONNX_OPS_ACTIVATIONS_H

#include "compiler/onnx/reader/Expr.h"

namespace frit::importer {

/// An activation: its name in lower case, the values of its parameters, none
/// for one that it does not take, and its formula.
struct Activation {
  llvm::StringLiteral name;
  std::optional<double> alpha, beta;
  Expr (*build)(Expr x, double alpha, double beta);
};

/// Returns the activation of that name, in any case, with ONNX's default
/// parameters; null if there is none.
const Activation *findActivation(llvm::StringRef name);

/// Returns the activations of all directions of a recurrent layer; `defaults`
/// are those of one. Nothing after an error.
llvm::SmallVector<Activation>
readActivations(Node &node, int64_t directions,
                llvm::ArrayRef<llvm::StringRef> defaults);

} // namespace frit::importer

#endif // FRIT_COMPILER_ONNX_OPS_ACTIVATIONS_H
