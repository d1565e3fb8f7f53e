//===- TargetRewritePass.h - Base of target-dependent passes --------------===//

#ifndef FRIT_COMPILER_TRANSFORM_TARGETREWRITEPASS_H
#define FRIT_COMPILER_TRANSFORM_TARGETREWRITEPASS_H

#include "compiler/transform/Graph.h"
#include "dialects/nn/Target.h"
#include "dialects/nn/TargetRewrites.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace frit {

/// A pass over the blocks of a module's functions, which does nothing unless
/// the target adds a `Rewrite`. `Base` is the pass's generated base.
template <class Base, class Rewrite> class TargetRewritePass : public Base {
public:
  explicit TargetRewritePass(const nn::Target &target) {
    target.populateRewrites(rewrites);
    rewrite = rewrites.template find<Rewrite>();
  }

  void runOnOperation() final {
    if (!rewrite)
      return;
    for (auto function :
         this->getOperation().template getOps<mlir::func::FuncOp>())
      for (mlir::Block &block : function)
        run(block);
  }

protected:
  virtual void run(mlir::Block &block) = 0;

  /// Calls `fold` for what `match` finds at each Op of a block, in order, then
  /// erases what has no reader left.
  template <class Op, class Match, class Fold>
  static void foldEach(mlir::Block &block, Match match, Fold fold) {
    bool changed = false;
    for (Op op : llvm::to_vector(block.getOps<Op>()))
      if (auto found = match(op)) {
        fold(*found);
        changed = true;
      }
    if (changed)
      eraseDead(block);
  }

  nn::TargetRewrites rewrites;
  const Rewrite *rewrite; ///< null if the target has none
};

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_TARGETREWRITEPASS_H
