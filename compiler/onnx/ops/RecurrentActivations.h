//===- RecurrentActivations.h - Activations of LSTM, GRU and RNN ----------===//

#ifndef FRIT_COMPILER_ONNX_OPS_RECURRENTACTIVATIONS_H
#define FRIT_COMPILER_ONNX_OPS_RECURRENTACTIVATIONS_H

#include "compiler/onnx/reader/Expr.h"

namespace frit::importer {

/// An activation: its name in lower case, the values of its parameters, none
/// for one that it does not take, and its formula.
struct Activation {
  llvm::StringLiteral name;
  std::optional<double> alpha, beta;
  Expr (*build)(Expr x, double alpha, double beta);
};

/// Returns the activations of all directions; `defaults` are those of one.
/// Nothing after an error.
llvm::SmallVector<Activation>
readActivations(Node &node, int64_t directions,
                llvm::ArrayRef<llvm::StringRef> defaults);

} // namespace frit::importer

#endif // FRIT_COMPILER_ONNX_OPS_RECURRENTACTIVATIONS_H
