//===- FlattenLoops.cpp - One loop over contiguous elements ---------------===//

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

/// Returns whether a map leads to one element, whatever the loops' indices are.
static bool isOneElement(AffineMap map) {
  return llvm::all_of(map.getResults(), [](AffineExpr index) {
    return isa<AffineConstantExpr>(index);
  });
}

/// Returns whether every operand of `op` is one element or a contiguous buffer
/// whose elements are visited in the order of memory.
static bool isContiguous(linalg::GenericOp op) {
  if (!op.hasPureBufferSemantics() || op.getNumLoops() < 2 ||
      !op.getBody()->getOps<linalg::IndexOp>().empty())
    return false;
  return llvm::all_of(op->getOpOperands(), [&](OpOperand &operand) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    if (isOneElement(map))
      return true;
    auto type = cast<MemRefType>(operand.get().getType());
    return map.isIdentity() && type.hasStaticShape() &&
           type.getLayout().isIdentity();
  });
}

/// Returns whether `op` is to become one loop: a merged one, which LLVM then
/// compiles faster, or one that reduces everything, whose vectors it would
/// reduce after each row.
static bool isFlattened(linalg::GenericOp op) {
  bool isMerged = op->removeAttr(frit::cpu::kMerged) != nullptr;
  unsigned loops = op.getNumLoops();
  return (isMerged && op.getNumParallelLoops() == loops) ||
         op.getNumReductionLoops() == loops;
}

/// Makes `op` one loop over views of one dimension.
static void flatten(linalg::GenericOp op) {
  OpBuilder b(op);
  SmallVector<AffineMap> maps;
  for (OpOperand &operand : op->getOpOperands()) {
    AffineMap map = op.getMatchingIndexingMap(&operand);
    if (isOneElement(map)) {
      maps.push_back(AffineMap::get(/*dimCount=*/1, /*symbolCount=*/0,
                                    map.getResults(), op.getContext()));
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
  auto kind = cast<linalg::IteratorTypeAttr>(op.getIteratorTypes()[0]);
  op.setIndexingMapsAttr(b.getAffineMapArrayAttr(maps));
  op.setIteratorTypesAttr(b.getArrayAttr(kind));
}

namespace {
struct FlattenLoops : frit::cpu::impl::FlattenLoopsBase<FlattenLoops> {
  void runOnOperation() override {
    getOperation().walk([](linalg::GenericOp op) {
      if (isFlattened(op) && isContiguous(op))
        flatten(op);
    });
  }
};
} // namespace

std::unique_ptr<Pass> frit::cpu::createFlattenLoopsPass() {
  return std::make_unique<FlattenLoops>();
}
