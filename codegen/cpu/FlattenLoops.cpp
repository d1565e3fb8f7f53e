//===- FlattenLoops.cpp - One loop over the elements of merged operations -===//

#include "codegen/cpu/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Pass/Pass.h"

namespace frit::cpu {
#define GEN_PASS_DEF_FLATTENLOOPS
#include "codegen/cpu/Passes.h.inc"
} // namespace frit::cpu

using namespace mlir;

/// Returns whether every operand of `op` is a scalar or a contiguous buffer
/// whose elements are visited in the order of memory.
static bool isContiguous(linalg::GenericOp op) {
  if (!op.hasPureBufferSemantics() || op.getNumLoops() < 2 ||
      op.getNumParallelLoops() != op.getNumLoops() ||
      !op.getBody()->getOps<linalg::IndexOp>().empty())
    return false;
  return llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    if (map.getNumResults() == 0)
      return true;
    auto type = cast<MemRefType>(operand.get().getType());
    return map.isIdentity() && type.hasStaticShape() &&
           type.getLayout().isIdentity();
  });
}

/// Makes `op` one loop over views of one dimension.
static void flatten(linalg::GenericOp op) {
  OpBuilder b(op);
  SmallVector<AffineMap> maps;
  for (OpOperand &operand : op->getOpOperands()) {
    if (op.getMatchingIndexingMap(&operand).getNumResults() == 0) {
      maps.push_back(
          AffineMap::get(/*dimCount=*/1, /*symbolCount=*/0, op.getContext()));
      continue;
    }
    maps.push_back(b.getMultiDimIdentityMap(1));
    auto type = cast<MemRefType>(operand.get().getType());
    int64_t elements = type.getNumElements();
    auto flat =
        MemRefType::get({elements}, type.getElementType(),
                        MemRefLayoutAttrInterface(), type.getMemorySpace());
    // Upstream's passes fold collapse_shape into the accesses, which would then
    // divide for each index.
    operand.set(memref::ReinterpretCastOp::create(
        b, op.getLoc(), flat, operand.get(), /*offset=*/0,
        ArrayRef<int64_t>{elements}, ArrayRef<int64_t>{1}));
  }
  op.setIndexingMapsAttr(b.getAffineMapArrayAttr(maps));
  op.setIteratorTypesAttr(b.getArrayAttr(linalg::IteratorTypeAttr::get(
      op.getContext(), utils::IteratorType::parallel)));
}

namespace {
struct FlattenLoops : frit::cpu::impl::FlattenLoopsBase<FlattenLoops> {
  void runOnOperation() override {
    getOperation().walk([](linalg::GenericOp op) {
      if (op->removeAttr(frit::cpu::kMerged) && isContiguous(op))
        flatten(op);
    });
  }
};
} // namespace

std::unique_ptr<Pass> frit::cpu::createFlattenLoopsPass() {
  return std::make_unique<FlattenLoops>();
}
