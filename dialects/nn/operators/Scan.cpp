//===- Scan.cpp - Loops over the rows of a tensor -------------------------===//

#include "dialects/nn/NN.h"

#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace frit::nn;

bool ScanOp::scansAllRows() {
  auto constant = getCount().getDefiningOp<ConstantOp>();
  auto elements = constant ? dyn_cast<DenseElementsAttr>(constant.getValue())
                           : DenseElementsAttr();
  return elements && (*elements.value_begin<APInt>()).getSExtValue() ==
                         shapeOf(getXs()).front();
}

LogicalResult ScanOp::verify() {
  auto rows = tensorType(getXs()), ys = tensorType(getYs());
  auto scalar = RankedTensorType::get({}, IntegerType::get(getContext(), 64));
  if (getCount().getType() != scalar)
    return emitOpError("its count is not a single i64");
  if (rows.getRank() == 0 || getInitial().empty())
    return emitOpError("has no rows or no states");
  if (getInitial().getTypes() != getLast().getTypes())
    return emitOpError("its last states have other types than the first");
  SmallVector<int64_t> shape = {rows.getDimSize(0)};
  llvm::append_range(shape, shapeOf(getInitial().front()));
  if (ys != tensorType(getInitial().front()).clone(shape))
    return emitOpError("its first result is not a state for each row");
  SmallVector<Type> types = {scalar, rows.clone(rows.getShape().drop_front())};
  llvm::append_range(types, getInitial().getTypes());
  Block &block = getBody().front();
  if (block.getArgumentTypes() != TypeRange(types))
    return emitOpError("its block's arguments are not the index, a row and the "
                       "states");
  auto yield = block.empty() ? YieldOp() : dyn_cast<YieldOp>(block.back());
  if (!yield || yield.getOperandTypes() != getInitial().getTypes())
    return emitOpError("its block does not yield the states");
  return success();
}

/// Copies the block once for each row. Where `count` may be smaller, a row from
/// there on changes nothing.
SmallVector<Value> ScanOp::decompose(NNBuilder &b) {
  auto rows = tensorType(getXs());
  int64_t count = rows.getDimSize(0);
  SmallVector<int64_t> row(rows.getShape().drop_front());
  SmallVector<int64_t> sizes(rows.getShape()), output = {1};
  sizes.front() = 1;
  llvm::append_range(output, shapeOf(getInitial().front()));
  SmallVector<int64_t> starts(rows.getRank(), 0), steps(rows.getRank(), 1);
  Block &block = getBody().front();
  SmallVector<Value> states(getInitial()), ys(count);
  for (int64_t i = 0; i < count; ++i) {
    int64_t at = getReversed() ? count - 1 - i : i;
    starts.front() = at;
    IRMapping map;
    Value index = b.integer(at);
    map.map(block.getArgument(0), index);
    map.map(block.getArgument(1),
            b.reshape(SliceOp::create(b, getXs(), starts, sizes, steps), row));
    map.map(block.getArguments().drop_front(2), states);
    for (Operation &op : block.without_terminator())
      b.clone(op, map);
    SmallVector<Value> next;
    for (Value state : block.getTerminator()->getOperands())
      next.push_back(map.lookupOrDefault(state));
    Value shown = next.front();
    if (!scansAllRows()) {
      Value isIn = LessOp::create(b, index, getCount());
      for (auto [after, before] : llvm::zip_equal(next, states))
        after = WhereOp::create(b, isIn, after, before);
      shown = WhereOp::create(b, isIn, shown, b.scalarLike(shown, 0));
    }
    states = next;
    ys[at] = b.reshape(shown, output);
  }
  SmallVector<Value> results = {
      count == 0   ? b.zeros(tensorType(getYs()))
      : count == 1 ? ys.front()
                   : Value(ConcatOp::create(b, ys, /*axis=*/0))};
  llvm::append_range(results, states);
  return results;
}
