//===- MergeLoops.cpp - Merge many elementwise loops ----------------------===//

#include "codegen/cpu/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Pass/Pass.h"

namespace frit::cpu {
#define GEN_PASS_DEF_MERGELOOPS
#include "codegen/cpu/Passes.h.inc"
} // namespace frit::cpu

using namespace mlir;

/// Fewer loops than this stay as they are. Kernels of ordinary models, which
/// have up to 11 tensors, have fewer.
static constexpr size_t kMany = 16;
/// Loops that become one. With more, the vectors that are live at once exceed
/// the registers: dense graphs ran up to 40 % longer with all in one, and no
/// longer than before with 6.
static constexpr size_t kOperations = 6;

/// Returns whether `op` computes each element of its results on its own.
static bool isElementwise(linalg::GenericOp op) {
  return op.hasPureTensorSemantics() &&
         op.getNumParallelLoops() == op.getNumLoops() &&
         !ShapedType::isDynamicShape(op.getStaticLoopRanges()) &&
         llvm::all_of(op.getDpsInitsMutable(), [&](OpOperand &init) {
           return op.getMatchingIndexingMap(&init).isIdentity() &&
                  !op.payloadUsesValueFromOperand(&init);
         });
}

namespace {

/// Elementwise operations of a block over the same elements, in order.
class Group {
public:
  /// Returns whether `op` or an operation in it reads a result of the group.
  bool isReadBy(Operation &op) const {
    return llvm::any_of(op.getOperands(),
                        [&](Value value) { return defines(value); }) ||
           isReadIn(op);
  }

  /// Returns whether `op` can be added: it reads an element of the group's
  /// results to compute the same element.
  bool takes(linalg::GenericOp op) const {
    if (!members.empty()) {
      linalg::GenericOp first = members.front();
      if (first.getStaticLoopRanges() != op.getStaticLoopRanges())
        return false;
    }
    for (OpOperand &operand : op->getOpOperands())
      if (defines(operand.get()) &&
          (op.isDpsInit(&operand) ||
           !op.getMatchingIndexingMap(&operand).isIdentity()))
        return false;
    return !isReadIn(*op);
  }

  void add(linalg::GenericOp op) {
    members.push_back(op);
    set.insert(op);
  }

  /// Merges the operations, some at a time, if there are many. Empties the
  /// group.
  void flush() {
    SmallVector<linalg::GenericOp> all = std::move(members);
    for (size_t i = 0; all.size() >= kMany && i < all.size();
         i += kOperations) {
      members.assign(all.begin() + i,
                     all.begin() + std::min(i + kOperations, all.size()));
      set.clear();
      set.insert_range(members);
      merge();
    }
    members.clear();
    set.clear();
  }

private:
  /// Returns whether a value is a result of the group.
  bool defines(Value value) const {
    return set.contains(value.getDefiningOp());
  }

  /// Returns whether an operation in `op` reads a result of the group, such as
  /// any element of it.
  bool isReadIn(Operation &op) const {
    return llvm::any_of(op.getRegions(), [&](Region &region) {
      return region
          .walk([&](Operation *reader) {
            return llvm::any_of(reader->getOperands(),
                                [&](Value value) { return defines(value); })
                       ? WalkResult::interrupt()
                       : WalkResult::advance();
          })
          .wasInterrupted();
    });
  }

  void merge() {
    // Results that only the group reads are not stored.
    SmallVector<OpResult> results;
    SmallVector<Value> inputs, inits;
    SmallVector<AffineMap> maps;
    llvm::DenseMap<std::pair<Value, AffineMap>, size_t> known;
    OpBuilder b(members.back());
    for (linalg::GenericOp op : members) {
      for (OpOperand *input : op.getDpsInputOperands()) {
        AffineMap map = op.getMatchingIndexingMap(input);
        if (!defines(input->get()) &&
            known.try_emplace({input->get(), map}, inputs.size()).second) {
          inputs.push_back(input->get());
          maps.push_back(map);
        }
      }
      for (OpResult result : op->getResults())
        if (!llvm::all_of(result.getUsers(),
                          [&](Operation *user) { return set.contains(user); }))
          results.push_back(result);
    }
    if (results.empty())
      return;
    for (OpResult result : results) {
      auto op = cast<linalg::GenericOp>(result.getOwner());
      Value init = op.getDpsInitOperand(result.getResultNumber())->get();
      // Every result gets a buffer of its own.
      if (auto empty = init.getDefiningOp<tensor::EmptyOp>())
        init = b.clone(*empty)->getResult(0);
      inits.push_back(init);
      maps.push_back(b.getMultiDimIdentityMap(op.getNumLoops()));
    }
    auto buildBody = [&](OpBuilder &b, Location loc, ValueRange arguments) {
      IRMapping scalars;
      for (linalg::GenericOp op : members) {
        for (OpOperand *input : op.getDpsInputOperands()) {
          Value value = input->get();
          scalars.map(op.getMatchingBlockArgument(input),
                      defines(value)
                          ? scalars.lookup(value)
                          : arguments[known.at(
                                {value, op.getMatchingIndexingMap(input)})]);
        }
        for (Operation &inner : op.getBody()->without_terminator())
          b.clone(inner, scalars);
        for (auto [result, yielded] :
             llvm::zip_equal(op->getResults(),
                             op.getBody()->getTerminator()->getOperands()))
          scalars.map(result, scalars.lookupOrDefault(yielded));
      }
      linalg::YieldOp::create(b, loc,
                              llvm::map_to_vector(results, [&](Value result) {
                                return scalars.lookup(result);
                              }));
    };
    auto merged = linalg::GenericOp::create(
        b, members.back().getLoc(), TypeRange(ValueRange(inits)), inputs, inits,
        maps, members.back().getIteratorTypesArray(), buildBody);
    merged->setAttr(frit::cpu::kMerged, b.getUnitAttr());
    for (auto [result, by] : llvm::zip_equal(results, merged.getResults()))
      result.replaceAllUsesWith(by);
    for (linalg::GenericOp op : llvm::reverse(members))
      op.erase();
  }

  SmallVector<linalg::GenericOp> members;
  llvm::SmallPtrSet<Operation *, 16> set;
};

struct MergeLoops : frit::cpu::impl::MergeLoopsBase<MergeLoops> {
  void runOnOperation() override {
    getOperation().walk([](Block *block) {
      Group group;
      for (Operation &op : llvm::make_early_inc_range(*block)) {
        auto generic = dyn_cast<linalg::GenericOp>(op);
        bool fits = generic && isElementwise(generic);
        if ((fits && !group.takes(generic)) || (!fits && group.isReadBy(op)))
          group.flush();
        if (fits)
          group.add(generic);
      }
      group.flush();
    });
  }
};

} // namespace

std::unique_ptr<Pass> frit::cpu::createMergeLoopsPass() {
  return std::make_unique<MergeLoops>();
}
