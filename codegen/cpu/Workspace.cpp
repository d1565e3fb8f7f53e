//===- Workspace.cpp - Memory of a kernel's temporaries -------------------===//

#include "codegen/cpu/Workspace.h"

#include "codegen/cpu/Passes.h"
#include "frit/artifact.h"

#include "mlir/Dialect/Bufferization/Transforms/BufferViewFlowAnalysis.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Interfaces/DataLayoutInterfaces.h"
#include "mlir/Interfaces/LoopLikeInterface.h"
#include "mlir/Pass/Pass.h"
#include "llvm/Support/MathExtras.h"

namespace frit::cpu {
#define GEN_PASS_DEF_PLACEALLOCATIONS
#include "codegen/cpu/Passes.h.inc"
} // namespace frit::cpu

using namespace mlir;
using namespace frit;

/// Stack limit of a kernel in bytes; a thread may have as little as 128 KiB.
static constexpr int64_t kStackBytes = 64 << 10;

/// Limits of a launch's workspaces: bytes that they may always take, and their
/// number.
static constexpr int64_t kWorkspacesBytes = 16 << 20, kMostWorkspaces = 64;

/// Returns whether the memory of `alloc` is still used in the next iteration of
/// the loop that allocates it.
static bool outlivesIteration(memref::AllocOp alloc,
                              const BufferViewFlowAnalysis &views) {
  auto loop = alloc->getParentOfType<LoopLikeOpInterface>();
  if (!loop)
    return false;
  return llvm::any_of(views.resolve(alloc), [&](Value alias) {
    return alias.getDefiningOp() == loop ||
           (isa<BlockArgument>(alias) &&
            alias.getParentBlock()->getParentOp() == loop);
  });
}

static FailureOr<cpu::Workspace> placeAllocations(func::FuncOp function) {
  struct Temporary {
    memref::AllocOp op;
    int64_t bytes;
  };
  SmallVector<Temporary> all;
  DataLayout layout = DataLayout::closest(function);
  BufferViewFlowAnalysis views(function);
  WalkResult walked = function.walk([&](memref::AllocOp op) {
    MemRefType type = op.getType();
    if (!type.hasStaticShape() || outlivesIteration(op, views)) {
      op.emitError("a temporary of the kernel cannot be planned");
      return WalkResult::interrupt();
    }
    int64_t element = layout.getTypeSize(type.getElementType());
    all.push_back({op, type.getNumElements() * element});
    return WalkResult::advance();
  });
  if (walked.wasInterrupted())
    return failure();
  llvm::stable_sort(all, [](const Temporary &a, const Temporary &b) {
    return a.bytes < b.bytes;
  });

  cpu::Workspace workspace;
  int64_t stackBytes = 0;
  Block &entry = function.getBody().front();
  OpBuilder b(function.getContext());
  for (auto [op, bytes] : all) {
    // The first operator of the block may be one that was erased.
    b.setInsertionPointToStart(&entry);
    if (stackBytes + bytes <= kStackBytes) {
      stackBytes += bytes;
      op.replaceAllUsesWith(memref::AllocaOp::create(b, op.getLoc(),
                                                     op.getType(),
                                                     op.getAlignmentAttr())
                                .getResult());
    } else {
      workspace.offsets.push_back(workspace.bytes);
      workspace.bytes += llvm::alignTo(uint64_t(bytes), artifact::kAlignment);
      op.replaceAllUsesWith(entry.addArgument(op.getType(), op.getLoc()));
    }
    op.erase();
  }
  function.setFunctionType(b.getFunctionType(
      entry.getArgumentTypes(), function.getFunctionType().getResults()));
  return workspace;
}

namespace {
struct PlaceAllocations
    : frit::cpu::impl::PlaceAllocationsBase<PlaceAllocations> {
  void runOnOperation() override {
    if (getOperation().isExternal())
      return;
    auto workspace = placeAllocations(getOperation());
    if (failed(workspace))
      return signalPassFailure();
    Builder b(&getContext());
    getOperation()->setAttr(cpu::kOffsets,
                            b.getDenseI64ArrayAttr(workspace->offsets));
    getOperation()->setAttr(cpu::kBytes, b.getI64IntegerAttr(workspace->bytes));
  }
};
} // namespace

std::unique_ptr<Pass> cpu::createPlaceAllocationsPass() {
  return std::make_unique<PlaceAllocations>();
}

void cpu::registerPasses() {
  registerPass(createReadUnexpandedPass);
  registerPass(createTileOuterLoopsPass);
  registerPass(createMergeLoopsPass);
  registerPass(createStoreResultsPass);
  registerPass(createPlaceAllocationsPass);
  registerPass(createFlattenLoopsPass);
  registerPass(createSplitLoopsPass);
}

int64_t cpu::countWorkspaces(const Workspace &workspace, int64_t items,
                             int64_t tensorBytes) {
  if (!workspace.bytes)
    return 0;
  int64_t fitting = std::max(tensorBytes, kWorkspacesBytes) / workspace.bytes;
  return std::clamp<int64_t>(fitting, 1, std::min(items, kMostWorkspaces));
}
