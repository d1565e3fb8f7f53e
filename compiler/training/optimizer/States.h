//===- States.h - State of a function under construction ------------------===//

#ifndef FRIT_COMPILER_TRAINING_OPTIMIZER_STATES_H
#define FRIT_COMPILER_TRAINING_OPTIMIZER_STATES_H

#include "dialects/nn/NN.h"

#include "frit/roles.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace frit {

/// The state of a function: for each an nn.state of the module, an argument
/// with the value before a call, and a result with the value after, which an
/// nn.update ties to it.
class States {
public:
  explicit States(mlir::func::FuncOp main) : main(main) {}

  /// Adds a state and returns its value before the call. Ranks divide a
  /// `sharded` one among them.
  mlir::Value add(llvm::StringRef name, frit_state_role role,
                  mlir::RankedTensorType type,
                  llvm::ArrayRef<nn::MemberAttr> members, bool sharded = false);
  /// Adds a single number that begins as `initial`.
  nn::TensorExpr addNumber(nn::NNBuilder &b, llvm::StringRef name,
                           frit_state_role role, mlir::Type element,
                           double initial);
  /// Sets the value of `before` after the call.
  void set(mlir::Value before, mlir::Value after) {
    after_.push_back({before, after});
  }
  /// Makes the values after the call the last results of the function.
  void addResults();

private:
  mlir::func::FuncOp main;
  llvm::SmallVector<std::pair<mlir::Value, mlir::Value>> after_;
};

} // namespace frit

#endif // FRIT_COMPILER_TRAINING_OPTIMIZER_STATES_H
