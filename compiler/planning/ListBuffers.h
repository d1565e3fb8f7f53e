//===- ListBuffers.h - Buffers of a command list --------------------------===//

#ifndef FRIT_COMPILER_PLANNING_LISTBUFFERS_H
#define FRIT_COMPILER_PLANNING_LISTBUFFERS_H

#include "compiler/planning/Constants.h"
#include "dialects/plan/Plan.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace frit::planning {

/// The buffers that hold the values of a function while its command list runs.
/// A value may share the buffer of another: reshapes are views, and a fusion
/// writes a result of the function, or a part of a pack, where it belongs.
class ListBuffers {
public:
  /// `b` creates the buffers where it inserts. With `overwritesState`, a kernel
  /// may write a state's next value over the one before.
  ListBuffers(mlir::func::FuncOp function, mlir::ImplicitLocOpBuilder &b,
              Constants &constants, bool overwritesState)
      : function(function), b(b), constants(constants),
        overwritesState(overwritesState) {}

  /// Creates the buffers of the arguments, the results and the packs.
  /// `resultSpace` is the memory space of the results; `prepared` has the
  /// offsets of prepared buffers.
  llvm::LogicalResult bind(plan::Space resultSpace,
                           llvm::ArrayRef<int64_t> prepared);

  /// Types of the caller's inputs and outputs, without states and prepared
  /// values. Known after bind().
  llvm::ArrayRef<mlir::Type> inputTypes() const { return inputs; }
  llvm::ArrayRef<mlir::Type> outputTypes() const { return outputs; }

  /// Returns the buffer of a value, or null if it has none yet.
  mlir::Value find(mlir::Value value) const { return map.lookupOrNull(value); }
  /// Returns the buffer of a value that has one.
  mlir::Value of(mlir::Value value) const { return map.lookup(value); }
  void set(mlir::Value value, mlir::Value buffer) { map.map(value, buffer); }

  /// Creates a buffer in the arena.
  mlir::Value createInArena(mlir::Type tensor) {
    return create(tensor, plan::Space::arena, {});
  }
  /// Creates the buffer of a plan.constant.
  mlir::Value createConstant(mlir::Type tensor, mlir::StringAttr symbol) {
    return create(tensor, plan::Space::constant, {}, symbol);
  }
  /// Creates the buffer that a fusion writes `result` to. If that is the first
  /// part of a pack, zeros are copied to where the pack has no parts.
  mlir::Value createFor(mlir::Value result);

  /// Creates the buffer of a result that replaces rows of `operand`: the
  /// operand's own if it is a state and nothing reads the old rows later, else
  /// a copy of it, with a remark.
  mlir::Value createTied(nn::FusionOp fusion, unsigned result,
                         unsigned operand);

  /// Returns `buffer` viewed with the shape of `tensor`.
  mlir::Value view(mlir::Value buffer, mlir::Type tensor);
  /// Returns the view of a flat buffer from element `offset` on.
  mlir::Value part(mlir::Value whole, int64_t offset, mlir::Type tensor);

  /// Copies the parts of a pack that no fusion has written in place.
  void fill(nn::PackOp pack);
  /// Returns whether the next value of a state has been written in place.
  bool isInPlace(nn::UpdateOp replacement) const;
  /// Replaces a state by its next value: copies the value, with a remark,
  /// unless it has been written in place. If the value before is read later,
  /// the state is written by storeResults().
  void replace(nn::UpdateOp replacement);
  /// Copies results that no fusion has written in place.
  void storeResults();

private:
  mlir::Value create(mlir::Type tensor, plan::Space space,
                     std::optional<int64_t> index,
                     mlir::StringAttr symbol = nullptr,
                     std::optional<int64_t> offset = {});
  llvm::LogicalResult bindArguments(llvm::ArrayRef<int64_t> prepared);
  llvm::LogicalResult bindResults(plan::Space space,
                                  llvm::ArrayRef<int64_t> prepared);
  bool bindReplacements(mlir::BlockArgument before, mlir::Value after);
  void bindPacks();
  void clearGaps(nn::PackOp pack);

  mlir::func::FuncOp function;
  mlir::ImplicitLocOpBuilder &b;
  Constants &constants;
  bool overwritesState;
  mlir::IRMapping map;
  llvm::SmallVector<mlir::Type> inputs, outputs;
  llvm::SmallVector<mlir::Value> results; ///< buffers of the results
  /// Buffers of the states that replacements make the next values of.
  llvm::DenseMap<mlir::Operation *, mlir::Value> replaced;
  /// Buffers that a fusion's result belongs in.
  llvm::DenseMap<mlir::Value, mlir::Value> destination;
  /// Results of fusions that replace rows of a state, up to its next value.
  llvm::DenseSet<mlir::Value> replacements;
  /// Packs that results are parts of, and packs whose gaps are zeros.
  llvm::DenseMap<mlir::Value, nn::PackOp> packs;
  llvm::DenseSet<mlir::Operation *> cleared;
  /// Values of states before the call.
  llvm::DenseMap<mlir::StringAttr, mlir::BlockArgument> states;
};

} // namespace frit::planning

#endif // FRIT_COMPILER_PLANNING_LISTBUFFERS_H
