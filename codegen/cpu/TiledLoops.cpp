//===- TiledLoops.cpp - Which loops of a kernel are tiled -----------------===//

#include "codegen/cpu/TiledLoops.h"

#include <numeric>

using namespace mlir;
using namespace frit;

/// Elements per tile, which stays in L1 and L2 with its temporaries.
static constexpr int64_t kTileElements = 8192;

/// A reduction takes long if this many of it take as long as the last
/// operation, or longer.
static constexpr int64_t kLong = 8;

int64_t cpu::countIterations(linalg::LinalgOp op) {
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  return std::accumulate(ranges.begin(), ranges.end(), int64_t(1),
                         std::multiplies<>());
}

namespace {
/// For loops of an operation, or indices of an operand: which loop of the last
/// operation each is, if any.
using Places = SmallVector<std::optional<unsigned>>;

/// Finds the reductions that the last operation reads, and which of its loops
/// each depends on.
class Reductions {
public:
  explicit Reductions(linalg::LinalgOp last) {
    Places own;
    for (unsigned loop = 0; loop < last.getNumLoops(); ++loop)
      own.push_back(loop);
    visit(last, own);
  }

  struct Found {
    linalg::LinalgOp op;
    Places loops;
  };
  SmallVector<Found> all;

private:
  /// Visits what `op`, whose loops are `loops`, reads.
  void visit(linalg::LinalgOp op, const Places &loops) {
    for (OpOperand *operand : op.getDpsInputOperands()) {
      auto producer = operand->get().getDefiningOp<linalg::LinalgOp>();
      if (!producer)
        continue;
      AffineMap result =
          producer.getIndexingMapMatchingResult(cast<OpResult>(operand->get()));
      if (!result.isProjectedPermutation())
        continue; // tiling does not fuse it
      Places inner(producer.getNumLoops());
      for (auto [read, written] :
           llvm::zip_equal(op.getMatchingIndexingMap(operand).getResults(),
                           result.getResults()))
        if (auto dim = dyn_cast<AffineDimExpr>(read))
          inner[cast<AffineDimExpr>(written).getPosition()] =
              loops[dim.getPosition()];
      SmallVector<Places> &before = known[producer];
      if (llvm::is_contained(before, inner))
        continue;
      before.push_back(inner);
      if (producer.getNumReductionLoops())
        all.push_back({producer, inner});
      visit(producer, inner);
    }
  }

  llvm::DenseMap<Operation *, SmallVector<Places>> known;
};
} // namespace

cpu::TiledLoops cpu::chooseTiledLoops(linalg::LinalgOp last) {
  SmallVector<int64_t> ranges = last.getStaticLoopRanges();
  auto iterators = last.getIteratorTypesArray();
  Reductions reductions(last);
  TiledLoops result;
  result.sizes.resize(ranges.size());
  const int64_t whole = countIterations(last);
  int64_t left = whole;
  for (unsigned i = 0; i + 1 < ranges.size(); ++i) {
    if (left <= kTileElements || iterators[i] != utils::IteratorType::parallel)
      break;
    bool isRepeated = llvm::any_of(reductions.all, [&](const auto &found) {
      return countIterations(found.op) >= whole / kLong &&
             !llvm::is_contained(found.loops, std::optional(i));
    });
    if (ranges[i] == 1 || isRepeated)
      continue;
    result.sizes[i] = 1;
    left /= ranges[i];
  }
  for (const auto &[op, loops] : reductions.all)
    for (unsigned i = 0; i < ranges.size(); ++i)
      if (result.sizes[i] && !llvm::is_contained(loops, std::optional(i)))
        result.outside.insert(op);
  return result;
}
