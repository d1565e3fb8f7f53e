//===- PaddingMaskBuilder.cpp - Insert masks into a model -----------------===//
//
// What depends on the sizes of a call is computed of scalars that the runtime
// passes, once for all that need the same number.
//
//===----------------------------------------------------------------------===//

#include "compiler/padding/PaddingMasks.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

static Value buildScalar(NNBuilder &b, Type element, Attribute value) {
  auto type = RankedTensorType::get({}, element);
  return ConstantOp::create(b, DenseElementsAttr::get(type, value),
                            StringAttr());
}

static Value buildInteger(NNBuilder &b, int64_t value) {
  return buildScalar(b, b.getI64Type(), b.getI64IntegerAttr(value));
}

Value PaddingMasks::buildSize(const SizeExpr &expr) {
  Value &size = built[expr];
  if (size)
    return size;
  size = sizeOf(expr.symbol);
  OpBuilder at(size.getContext());
  at.setInsertionPointAfterValue(size);
  NNBuilder b(size.getLoc(), at);
  if (expr.scale != 1)
    size = b.mul(size, buildInteger(b, expr.scale));
  if (expr.shift != 0)
    size = b.add(size, buildInteger(b, expr.shift));
  if (expr.divisor != 1)
    size = b.div(size, buildInteger(b, expr.divisor));
  if (expr.factor != 1)
    size = b.mul(size, buildInteger(b, expr.factor));
  if (expr.offset != 0)
    size = b.add(size, buildInteger(b, expr.offset));
  if (expr.secondFactor != 0)
    size = b.add(
        size, b.mul(sizeOf(expr.second), buildInteger(b, expr.secondFactor)));
  return size;
}

/// Builds the condition that an index of the masked dimension is inside, in a
/// shape that broadcasts to that of `like`.
Value PaddingMasks::buildIsInside(const Mask &mask, Value like) {
  SmallVector<int64_t> line(shapeOf(like).size(), 1), parts;
  line[mask.dim] = shapeOf(like)[mask.dim];
  std::string key;
  llvm::raw_string_ostream os(key);
  llvm::interleave(line, os, "x");
  Value last;
  for (const Part &part : mask.parts) {
    parts.push_back(part.length);
    os << "," << part.length;
    if (auto size = part.sizes.fit()) {
      Value built = buildSize(*size);
      os << ":" << built.getAsOpaquePointer();
      if (!last ||
          (built.getDefiningOp() &&
           (!last.getDefiningOp() ||
            last.getDefiningOp()->isBeforeInBlock(built.getDefiningOp()))))
        last = built;
    }
  }
  Value &result = inside[key];
  if (result)
    return result;
  OpBuilder at(last.getContext());
  at.setInsertionPointAfterValue(last);
  NNBuilder b(last.getLoc(), at);
  if (parts.size() == 1)
    parts = line;
  Value zero = buildInteger(b, 0), one = buildInteger(b, 1);
  for (auto [i, part] : llvm::enumerate(mask.parts)) {
    auto size = part.sizes.fit();
    if (!size)
      continue;
    unsigned axis = mask.parts.size() == 1 ? mask.dim : i;
    Value isIn = LessOp::create(b, IotaOp::create(b, zero, one, parts, axis),
                                buildSize(*size));
    result = result ? Value(AndOp::create(b, result, isIn)) : isIn;
  }
  return result = b.reshape(result, line);
}

void PaddingMasks::applyLimits() {
  for (const auto &[op, limit] : limits) {
    if (!limit.isNeeded)
      continue;
    auto gather = cast<GatherOp>(op);
    Value last = buildSize(*limit.last.fit());
    OpBuilder at(op);
    NNBuilder b(op->getLoc(), at);
    Value indices = gather.getIndices();
    last = b.cast(last, tensorType(indices).getElementType());
    gather.getIndicesMutable().assign(MinOp::create(b, indices, last));
  }
}

void PaddingMasks::apply(llvm::function_ref<Value(unsigned)> sizes) {
  sizeOf = sizes;
  auto order = llvm::to_vector(llvm::make_first_range(masks));
  llvm::sort(order,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  std::map<std::tuple<void *, unsigned, void *>, Value> masked;
  for (Operation *op : order)
    for (const Mask &mask : masks[op]) {
      Value x = op->getOperand(mask.operand);
      Value &value =
          masked[{x.getAsOpaquePointer(), mask.dim,
                  const_cast<void *>(mask.value.getAsOpaquePointer())}];
      if (!value) {
        Value isInside = buildIsInside(mask, x);
        OpBuilder at(op);
        NNBuilder b(op->getLoc(), at);
        Type element = tensorType(x).getElementType();
        Attribute number = mask.value;
        if (auto integer = dyn_cast<IntegerAttr>(number))
          number = IntegerAttr::get(element, integer.getValue());
        value =
            WhereOp::create(b, isInside, x, buildScalar(b, element, number));
      }
      op->setOperand(mask.operand, value);
    }
  applyLimits();
  for (auto &[op, join] : joins)
    join.apply(cast<ConcatOp>(op),
               [&](const SizeExpr &expr) { return buildSize(expr); });
  for (auto &[op, pick] : picks)
    pick.apply(op, [&](const SizeExpr &expr) { return buildSize(expr); });
  for (auto &[op, slice] : slices)
    slice.apply(cast<SliceOp>(op), buildSize(*slice.start().fit()));
  for (auto &[op, samples] : constants) {
    auto constant = cast<ConstantOp>(op);
    Value size = buildSize(*samples.fit());
    auto type = constant.getY().getType();
    OpBuilder at(op->getContext());
    at.setInsertionPointAfterValue(size);
    NNBuilder b(op->getLoc(), at);
    constant.getY().replaceAllUsesWith(
        b.reshape(b.cast(size, type.getElementType()), type.getShape()));
    constant.erase();
  }
}
