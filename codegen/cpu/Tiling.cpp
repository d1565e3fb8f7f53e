//===- Tiling.cpp - One loop over independent work items ------------------===//

#include "codegen/cpu/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Linalg/Transforms/Transforms.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/TileUsingInterface.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Pass/Pass.h"

#include <numeric>

namespace frit::cpu {
#define GEN_PASS_DEF_STORERESULTS
#define GEN_PASS_DEF_TILEOUTERLOOPS
#include "codegen/cpu/Passes.h.inc"
} // namespace frit::cpu

using namespace mlir;

/// Elements per tile, which stays in L1 and L2 with its temporaries.
static constexpr int64_t kTileElements = 8192;

/// Returns the tile size, 1 or 0 (not tiled), of each loop of `op`. Tiles
/// leading parallel loops until one tile remains, but never the last,
/// contiguous one. The outermost tiled loop becomes work items, so `skipsOnes`
/// leaves loops of one iteration untiled.
static SmallVector<int64_t> tileSizes(linalg::LinalgOp op, bool skipsOnes) {
  SmallVector<int64_t> ranges = op.getStaticLoopRanges();
  SmallVector<int64_t> sizes(ranges.size(), 0);
  auto iterators = op.getIteratorTypesArray();
  int64_t left = std::accumulate(ranges.begin(), ranges.end(), int64_t(1),
                                 std::multiplies<>());
  for (size_t i = 0; i + 1 < ranges.size(); ++i) {
    if (left <= kTileElements || iterators[i] != utils::IteratorType::parallel)
      break;
    if (skipsOnes && ranges[i] == 1)
      continue;
    sizes[i] = 1;
    left /= ranges[i];
  }
  return sizes;
}

/// Returns whether a value with `map` is a vector along a loop: its last index
/// is the loop's, and no other index is.
static bool isAlong(AffineMap map, unsigned loop) {
  AffineExpr dim = getAffineDimExpr(loop, map.getContext());
  return map.getNumResults() > 0 && map.getResults().back() == dim &&
         llvm::none_of(map.getResults().drop_back(), [&](AffineExpr index) {
           return index.isFunctionOfDim(loop);
         });
}

/// Returns whether a loop's index is the last of each element that the body
/// extracts, and is used for nothing else.
static bool extractsAlong(linalg::GenericOp op, unsigned loop) {
  auto walked = op.getBody()->walk([&](linalg::IndexOp index) {
    if (index.getDim() != loop)
      return WalkResult::advance();
    for (OpOperand &use : index->getUses()) {
      auto extract = dyn_cast<tensor::ExtractOp>(use.getOwner());
      if (!extract || use.getOperandNumber() != extract->getNumOperands() - 1)
        return WalkResult::interrupt();
    }
    return WalkResult::advance();
  });
  return !walked.wasInterrupted();
}

/// Puts the loops over windows outside of the one along channels, if these are
/// last: LLVM vectorises only the innermost loop, and unrolls small windows at
/// best.
static void putWindowsOutside(func::FuncOp function) {
  SmallVector<linalg::GenericOp> work;
  function.walk([&](linalg::GenericOp op) {
    unsigned loops = op.getNumLoops(), parallel = op.getNumParallelLoops();
    if (parallel == 0 || loops - parallel < 2 || op.getNumDpsInits() != 1)
      return;
    for (auto [i, kind] : llvm::enumerate(op.getIteratorTypesArray()))
      if ((kind == utils::IteratorType::parallel) != (i < parallel))
        return;
    unsigned channels = parallel - 1;
    if (!isAlong(op.getMatchingIndexingMap(op.getDpsInitOperand(0)), channels))
      return;
    for (OpOperand *input : op.getDpsInputOperands()) {
      AffineMap map = op.getMatchingIndexingMap(input);
      if (map.isFunctionOfDim(channels) && !isAlong(map, channels))
        return;
    }
    if (extractsAlong(op, channels))
      work.push_back(op);
  });
  IRRewriter rewriter(function.getContext());
  for (linalg::GenericOp op : work) {
    unsigned parallel = op.getNumParallelLoops();
    SmallVector<unsigned> order;
    for (unsigned i = 0; i < op.getNumLoops(); ++i)
      if (i != parallel - 1)
        order.push_back(i);
    order.push_back(parallel - 1);
    rewriter.setInsertionPoint(op);
    (void)linalg::interchangeGenericOp(rewriter, op, order);
  }
}

/// Copies initial values that are function arguments by operations of their
/// own, which are tiled with the rest. Bufferization would copy the whole value
/// in every call, although a call computes only some items.
static void copyStarts(linalg::LinalgOp op, IRRewriter &rewriter) {
  for (OpOperand &init : op.getDpsInitsMutable()) {
    if (!op.payloadUsesValueFromOperand(&init) || init.get().getDefiningOp())
      continue;
    auto type = cast<RankedTensorType>(init.get().getType());
    Location loc = op.getLoc();
    Value empty = tensor::EmptyOp::create(rewriter, loc, type.getShape(),
                                          type.getElementType());
    auto copy = linalg::CopyOp::create(rewriter, loc, init.get(), empty);
    init.set(copy.getResult(0));
  }
}

/// Returns whether a function has neither reductions nor reshapes. Reductions
/// that stay outside of the tiles would be repeated for every range of items.
static bool isElementwise(func::FuncOp function) {
  return !function
              .walk([](Operation *op) {
                auto loops = dyn_cast<linalg::LinalgOp>(op);
                return isa<tensor::ExpandShapeOp, tensor::CollapseShapeOp>(
                           op) ||
                               (loops && loops.getNumReductionLoops())
                           ? WalkResult::interrupt()
                           : WalkResult::advance();
              })
              .wasInterrupted();
}

/// Returns the number of work items.
static int64_t tileOuterLoops(func::FuncOp function) {
  Operation *terminator = function.getBody().front().getTerminator();
  if (terminator->getNumOperands() != 1 ||
      function.getArgAttr(function.getNumArguments() - 3, frit::cpu::kUpdate))
    return 1;
  auto last = terminator->getOperand(0).getDefiningOp<linalg::LinalgOp>();
  if (!last || last->getNumResults() != 1)
    return 1;
  SmallVector<int64_t> sizes = tileSizes(last, isElementwise(function));
  if (llvm::all_of(sizes, [](int64_t s) { return s == 0; }))
    return 1;

  IRRewriter rewriter(function.getContext());
  rewriter.setInsertionPoint(last);
  copyStarts(last, rewriter);
  scf::SCFTilingOptions tiling;
  tiling.setTileSizes(getAsIndexOpFoldResult(function.getContext(), sizes));
  scf::SCFTileAndFuseOptions options;
  options.setTilingOptions(tiling);
  auto result = scf::tileConsumerAndFuseProducersUsingSCF(
      rewriter, cast<TilingInterface>(last.getOperation()), options);
  if (failed(result))
    return 1;
  for (auto [from, to] : result->replacements)
    rewriter.replaceAllUsesWith(from, to);

  // The outermost loop with more than one iteration gets the bounds.
  for (LoopLikeOpInterface loop : result->loops) {
    auto forOp = dyn_cast<scf::ForOp>(*loop);
    if (!forOp)
      return 1;
    auto count = getConstantIntValue(forOp.getUpperBound());
    if (!count || *count == 1)
      continue;
    // Every call would repeat the writes before the loop.
    if (!llvm::all_of(forOp.getInitArgs(), [](Value init) {
          return init.getDefiningOp<tensor::EmptyOp>();
        }))
      return 1;
    unsigned arguments = function.getNumArguments();
    forOp.setLowerBound(function.getArgument(arguments - 2));
    forOp.setUpperBound(function.getArgument(arguments - 1));
    return *count;
  }
  return 1;
}

/// Stores `rows` to the part of `state` that they replace:
///   for each row i: at = offsets + i; if at is inside: state[at] = rows[i]
/// With a place for each index of dimension 0, the loop is over that, too.
static void storeRows(ImplicitLocOpBuilder &b, Value rows, Value state,
                      int64_t axis, Value offsets) {
  auto type = cast<RankedTensorType>(rows.getType());
  auto buffer = cast<MemRefType>(state.getType());
  bool isShared = cast<ShapedType>(offsets.getType()).getRank() == 0;
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(b, value);
  };
  auto loop = [&](int64_t count) {
    auto made = scf::ForOp::create(b, index(0), index(count), index(1));
    b.setInsertionPointToStart(made.getBody());
    return made.getInductionVar();
  };
  OpBuilder::InsertionGuard guard(b);
  SmallVector<OpFoldResult> from(type.getRank(), b.getIndexAttr(0)), to = from,
                                                                     sizes;
  for (int64_t size : type.getShape())
    sizes.push_back(b.getIndexAttr(size));
  SmallVector<Value> entry;
  if (!isShared) {
    entry.push_back(loop(type.getDimSize(0)));
    from[0] = to[0] = entry[0];
    sizes[0] = b.getIndexAttr(1);
  }
  Value row = loop(type.getDimSize(axis));
  Value offset = arith::IndexCastOp::create(
      b, b.getIndexType(), memref::LoadOp::create(b, offsets, entry));
  Value at = arith::AddIOp::create(b, offset, row);
  Value isInside = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, at,
                                         index(buffer.getDimSize(axis)));
  auto inside = scf::IfOp::create(b, isInside);
  b.setInsertionPointToStart(&inside.getThenRegion().front());
  from[axis] = row;
  to[axis] = at;
  sizes[axis] = b.getIndexAttr(1);
  SmallVector<OpFoldResult> steps(type.getRank(), b.getIndexAttr(1));
  auto slice = tensor::ExtractSliceOp::create(b, rows, from, sizes, steps);
  auto place = memref::SubViewOp::create(b, state, to, sizes, steps);
  auto layout = StridedLayoutAttr::get(
      b.getContext(), ShapedType::kDynamic,
      SmallVector<int64_t>(type.getRank(), ShapedType::kDynamic));
  auto strided = MemRefType::get(slice.getType().getShape(),
                                 type.getElementType(), layout);
  auto source = bufferization::ToBufferOp::create(b, strided, slice);
  source.setReadOnly(true);
  linalg::CopyOp::create(b, ValueRange{source}, ValueRange{place});
}

static void storeResults(func::FuncOp function) {
  Operation *terminator = function.getBody().front().getTerminator();
  ImplicitLocOpBuilder b(function.getLoc(), terminator);
  SmallVector<Value> results(terminator->getOperands());
  unsigned first = function.getNumArguments() - 2 - results.size();
  for (auto [i, result] : llvm::enumerate(results)) {
    if (auto update = function.getArgAttrOfType<DenseI64ArrayAttr>(
            first + i, frit::cpu::kUpdate)) {
      function.removeArgAttr(first + i, frit::cpu::kUpdate);
      storeRows(b, result, function.getArgument(first + i), update[0],
                function.getArgument(update[1]));
      continue;
    }
    auto store = bufferization::MaterializeInDestinationOp::create(
        b, Type(), result, function.getArgument(first + i));
    store.setRestrict(true);
    store.setWritable(true);
  }
  terminator->eraseOperands(0, results.size());
  function.setFunctionType(
      b.getFunctionType(function.getBody().front().getArgumentTypes(), {}));
}

namespace {
struct TileOuterLoops : frit::cpu::impl::TileOuterLoopsBase<TileOuterLoops> {
  void runOnOperation() override {
    // Kernels that are made as loops have their work items.
    if (getOperation().isExternal() ||
        getOperation()->hasAttr(frit::cpu::kItems))
      return;
    putWindowsOutside(getOperation());
    int64_t items = tileOuterLoops(getOperation());
    getOperation()->setAttr(frit::cpu::kItems,
                            Builder(&getContext()).getI64IntegerAttr(items));
  }
};

struct StoreResults : frit::cpu::impl::StoreResultsBase<StoreResults> {
  void runOnOperation() override {
    if (!getOperation().isExternal())
      storeResults(getOperation());
  }
};
} // namespace

std::unique_ptr<Pass> frit::cpu::createTileOuterLoopsPass() {
  return std::make_unique<TileOuterLoops>();
}

std::unique_ptr<Pass> frit::cpu::createStoreResultsPass() {
  return std::make_unique<StoreResults>();
}
