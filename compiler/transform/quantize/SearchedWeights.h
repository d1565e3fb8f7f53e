//===- SearchedWeights.h - Weights and the inputs that they multiply ------===//

#ifndef FRIT_COMPILER_TRANSFORM_QUANTIZE_SEARCHEDWEIGHTS_H
#define FRIT_COMPILER_TRANSFORM_QUANTIZE_SEARCHEDWEIGHTS_H

#include "compiler/transform/quantize/RoundedWeights.h"
#include "dialects/nn/NN.h"

#include "mlir/IR/BuiltinOps.h"

namespace frit {

/// A weight that the pass quantize-weights rounds, and the input of its
/// product.
struct SearchedWeight {
  std::string node; ///< of the product
  mlir::Value input;
  int64_t columns; ///< of the input, and of the weight's rows
  mlir::ElementsAttr value;
  bool isTransposed;
};

/// Returns the weights in the function main that the pass rounds to the chosen
/// format, in order. Weights of the products whose results leave the model are
/// not among them, since these have int8.
std::vector<SearchedWeight> findSearchedWeights(mlir::ModuleOp module);

/// Makes the results of main the given values, and keeps the next values of
/// states. Results with the names "observed.0" and so on come first.
void observeValues(mlir::ModuleOp module, llvm::ArrayRef<mlir::Value> values);

/// Makes an input of main the same in all calls.
void fixInput(mlir::ModuleOp module, llvm::StringRef name, int64_t number);

/// Returns the key of a weight among rounded ones.
inline RoundedWeights::key_type keyOf(mlir::ElementsAttr value,
                                      bool isTransposed, WeightFormat format) {
  return {value.getAsOpaquePointer(), isTransposed, int(format.code),
          format.block};
}

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_QUANTIZE_SEARCHEDWEIGHTS_H
