//===- ReadUnexpanded.cpp - Read tensors without their dimensions of 1 ----===//

#include "codegen/cpu/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Pass/Pass.h"

namespace frit::cpu {
#define GEN_PASS_DEF_READUNEXPANDED
#include "codegen/cpu/Passes.h.inc"
} // namespace frit::cpu

using namespace mlir;

/// Returns the indices into the source of `expand` of what `map` reads in its
/// result; none if it adds more than dimensions of 1.
static std::optional<AffineMap> indexSource(tensor::ExpandShapeOp expand,
                                            AffineMap map) {
  ArrayRef<int64_t> shape = expand.getResultType().getShape();
  SmallVector<AffineExpr> indices;
  for (const ReassociationIndices &group : expand.getReassociationIndices()) {
    int64_t kept = group.front();
    for (int64_t dim : group)
      if (shape[dim] != 1)
        kept = dim;
    for (int64_t dim : group)
      if (dim != kept && shape[dim] != 1)
        return std::nullopt;
    indices.push_back(map.getResult(kept));
  }
  return AffineMap::get(map.getNumDims(), map.getNumSymbols(), indices,
                        map.getContext());
}

/// Lets `op` read what its operands were before dimensions of 1 were added.
static void readUnexpanded(linalg::GenericOp op) {
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  for (OpOperand *input : op.getDpsInputOperands())
    while (auto expand = input->get().getDefiningOp<tensor::ExpandShapeOp>()) {
      AffineMap &map = maps[input->getOperandNumber()], before = map;
      auto inner = indexSource(expand, map);
      if (!inner)
        break;
      map = *inner;
      // The operands' shapes give the loops their bounds.
      if (!inversePermutation(concatAffineMaps(maps, op.getContext()))) {
        map = before;
        break;
      }
      input->set(expand.getSrc());
    }
  op.setIndexingMapsAttr(Builder(op.getContext()).getAffineMapArrayAttr(maps));
}

namespace {
struct ReadUnexpanded : frit::cpu::impl::ReadUnexpandedBase<ReadUnexpanded> {
  void runOnOperation() override { getOperation().walk(readUnexpanded); }
};
} // namespace

std::unique_ptr<Pass> frit::cpu::createReadUnexpandedPass() {
  return std::make_unique<ReadUnexpanded>();
}
