//===- FunctionBuilder.h - Inputs, states and outputs of @main ------------===//

#ifndef FRIT_COMPILER_DECODER_FUNCTIONBUILDER_H
#define FRIT_COMPILER_DECODER_FUNCTIONBUILDER_H

#include "compiler/decoder/Layers.h"
#include "compiler/decoder/Sizes.h"
#include "compiler/decoder/Weights.h"

#include "frit/roles.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/OwningOpRef.h"

namespace frit::decoder {

/// Builds a module with the function @main. Arguments are inputs, then states.
class FunctionBuilder {
public:
  FunctionBuilder(const DecoderConfig &config, DecoderWeights &weights,
                  const DecoderSizes &sizes, int64_t rows);

protected:
  /// A state's value: first before the call, then after it.
  struct State {
    std::string name;
    mlir::Value value;
    bool isWritten = true;
  };

  /// Adds an input and returns its value.
  mlir::Value addInput(llvm::StringRef name, llvm::ArrayRef<int64_t> shape,
                       mlir::Type element);
  /// Adds an i32 input whose elements are from 0 to `most`.
  mlir::Value addInput(llvm::StringRef name, llvm::ArrayRef<int64_t> shape,
                       int64_t most, const llvm::Twine &use);
  /// Adds a state of one tensor and returns its index.
  size_t addState(const llvm::Twine &name, llvm::ArrayRef<int64_t> shape,
                  mlir::Type element, frit_state_role stateRole);
  /// Adds the keys and values that decoder layers attend to of what an encoder
  /// has read, and its length. Returns the index of the first of them.
  size_t addSource();
  Cache sourceOf(size_t first, int64_t layer) const {
    return {states[first + 2 * layer].value,
            states[first + 2 * layer + 1].value};
  }
  /// Ends the function. Null after an error.
  mlir::OwningOpRef<mlir::ModuleOp> finish();

  const DecoderConfig &config;
  DecoderWeights &weights;
  const DecoderSizes &sizes;
  nn::NNBuilder b;
  Tokens tokens;
  std::vector<State> states;
  llvm::SmallVector<std::pair<llvm::StringRef, mlir::Value>> outputs;

private:
  mlir::OwningOpRef<mlir::ModuleOp> owner;
  mlir::func::FuncOp main;
  llvm::SmallVector<mlir::NamedAttrList> argumentAttributes;
};

} // namespace frit::decoder

#endif // FRIT_COMPILER_DECODER_FUNCTIONBUILDER_H
