//===- Expansion.cpp - Operators as several, in place ---------------------===//

#include "compiler/padding/Expansion.h"

#include "dialects/nn/NN.h"
#include "dialects/nn/lowering/Lowering.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Returns a pool whose windows count all of their elements: pads behind the
/// input reach as far as they do.
static Value meanOfAll(AvgPoolOp pool, NNBuilder &b, Value x) {
  size_t rank = pool.getWindow().size(), first = pool.getChannelsLast() ? 1 : 2;
  SmallVector<int64_t> pads(pool.getPads());
  for (size_t d = 0; d < rank; ++d) {
    int64_t end = (pool.getShape()[d] - 1) * pool.getStrides()[d] - pads[d] +
                  (pool.getWindow()[d] - 1) * pool.getDilations()[d] + 1;
    pads[rank + d] = std::max(pads[rank + d], end - shapeOf(x)[first + d]);
  }
  return AvgPoolOp::create(b, x, pool.getWindow(), pool.getStrides(), pads,
                           pool.getDilations(), pool.getShape(),
                           /*include_pad=*/true, pool.getChannelsLast());
}

/// The mean of the elements inside of the input is that of all, with zeros
/// outside, divided by the same of ones. The ones are no constant, so that they
/// may be masked.
static SmallVector<Value> splitMean(AvgPoolOp pool, NNBuilder &b) {
  SmallVector<int64_t> shape(shapeOf(pool.getX()));
  shape[0] = shape[pool.getChannelsLast() ? shape.size() - 1 : 1] = 1;
  size_t first = pool.getChannelsLast() ? 1 : 2;
  Value places = b.iota(shape, first);
  Value ones = LessEqualOp::create(b, b.integer(0), places);
  ones = b.cast(ones, tensorType(pool.getX()).getElementType());
  return {b.div(meanOfAll(pool, b, pool.getX()), meanOfAll(pool, b, ones))};
}

/// Replaces the mean of several dimensions by means of one, since each then
/// divides by one size.
static SmallVector<Value> splitAxes(ReduceMeanOp mean, NNBuilder &b) {
  Value x = mean.getX();
  for (int64_t axis : mean.getAxes())
    x = ReduceMeanOp::create(b, x, ArrayRef<int64_t>(axis));
  return {x};
}

static bool leavesPaddingOut(Operation *op) {
  auto pool = dyn_cast<AvgPoolOp>(op);
  return pool && !pool.getIncludePad();
}

bool frit::isExpandable(Operation *op) {
  return isa<CompositeOp>(op) || leavesPaddingOut(op);
}

bool frit::isPartOf(Operation *part, Operation *whole) {
  return isExpandable(whole) &&
         (leavesPaddingOut(whole) ? !leavesPaddingOut(part)
                                  : part->getName() != whole->getName());
}

Block::iterator frit::expand(Operation *op) {
  Block *block = op->getBlock();
  Operation *before = op->getPrevNode();
  NNBuilder b(op->getLoc(), op);
  auto mean = dyn_cast<ReduceMeanOp>(op);
  if (auto pool = dyn_cast<AvgPoolOp>(op))
    op->replaceAllUsesWith(splitMean(pool, b));
  else if (mean && mean.getAxes().size() > 1)
    op->replaceAllUsesWith(splitAxes(mean, b));
  else
    op->replaceAllUsesWith(cast<CompositeOp>(op).decompose(b));
  op->erase();
  return before ? std::next(before->getIterator()) : block->begin();
}

OwningOpRef<func::FuncOp> frit::expandAlone(Operation *op) {
  OwningOpRef<func::FuncOp> function = isolate(op);
  Block *entry = &function->getBody().front();
  OpBuilder b = OpBuilder::atBlockEnd(entry);
  func::ReturnOp::create(b, op->getLoc(), entry->front().getResults());
  for (auto at = entry->begin(); at != entry->end();)
    at = isa<CompositeOp>(*at) ? expand(&*at) : std::next(at);
  return function;
}
