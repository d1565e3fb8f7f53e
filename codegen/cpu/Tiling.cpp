//===- Tiling.cpp - One loop over independent work items ------------------===//

#include "codegen/cpu/Passes.h"
#include "codegen/cpu/TiledLoops.h"

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
#include "mlir/Dialect/Tensor/Transforms/Transforms.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Iterators.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Pass/Pass.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"

namespace frit::cpu {
#define GEN_PASS_DEF_STORERESULTS
#define GEN_PASS_DEF_TILEOUTERLOOPS
#include "codegen/cpu/Passes.h.inc"
} // namespace frit::cpu

using namespace mlir;

/// The part of a kernel's work that may be repeated for every range of items.
static constexpr int64_t kRepeated = 8;

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

/// Counts the iterations of the linalg operations of a function that are
/// outside of loops. Erases operations whose results nothing reads.
static int64_t countOutside(func::FuncOp function) {
  function.walk<WalkOrder::PostOrder, ReverseIterator>([](Operation *op) {
    if (isOpTriviallyDead(op))
      op->erase();
  });
  int64_t count = 0;
  for (auto op : function.getOps<linalg::LinalgOp>())
    if (!isa<linalg::FillOp>(op))
      count += frit::cpu::countIterations(op);
  return count;
}

/// Makes temporaries of a tile as large as the tile: parts of temporaries of
/// the whole become temporaries of their own.
static void shrinkTemporaries(func::FuncOp function) {
  RewritePatternSet patterns(function.getContext());
  tensor::populateFoldTensorEmptyPatterns(patterns);
  walkAndApplyPatterns(function, std::move(patterns));
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
  frit::cpu::TiledLoops loops = frit::cpu::chooseTiledLoops(last);
  if (llvm::all_of(loops.sizes, [](int64_t s) { return s == 0; }))
    return 1;
  const int64_t all = countOutside(function);

  IRRewriter rewriter(function.getContext());
  rewriter.setInsertionPoint(last);
  copyStarts(last, rewriter);
  scf::SCFTilingOptions tiling;
  tiling.setTileSizes(
      getAsIndexOpFoldResult(function.getContext(), loops.sizes));
  scf::SCFTileAndFuseOptions options;
  options.setTilingOptions(tiling);
  using Fused = scf::SCFTileAndFuseOptions::ControlFnResult;
  options.setFusionControlFn([&](tensor::ExtractSliceOp, OpResult producer,
                                 bool) -> std::optional<Fused> {
    if (loops.outside.contains(producer.getOwner()))
      return std::nullopt;
    return Fused();
  });
  auto result = scf::tileConsumerAndFuseProducersUsingSCF(
      rewriter, cast<TilingInterface>(last.getOperation()), options);
  if (failed(result))
    return 1;
  for (auto [from, to] : result->replacements)
    rewriter.replaceAllUsesWith(from, to);
  shrinkTemporaries(function);
  if (countOutside(function) > all / kRepeated)
    return 1;

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
