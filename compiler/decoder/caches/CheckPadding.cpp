//===- CheckPadding.cpp - What of a model depends on its caches' size -----===//

#include "compiler/decoder/caches/Caches.h"

#include "dialects/nn/NN.h"
#include "dialects/nn/constants/ConstantValues.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace frit;

/// Returns the elements of a value that depends on sizes alone.
static std::optional<std::vector<float>> elementsOf(Value value) {
  auto constant = value.getDefiningOp<nn::ConstantOp>();
  if (constant && constant.getNameAttr())
    return std::nullopt;
  auto known = nn::evaluateConstant(value);
  if (!known || known->readsWeights)
    return std::nullopt;
  return nn::readElements(known->elements, nn::shapeOf(value));
}

/// Returns whether `more` is `less`, or that with an entry before it, or behind
/// it, along the dimension in which their shapes differ.
static bool isPadded(ArrayRef<float> less, ArrayRef<int64_t> shape,
                     ArrayRef<float> more, ArrayRef<int64_t> longer,
                     decoder::Padding padding) {
  if (shape == longer)
    return less == more;
  if (shape.size() != longer.size())
    return false;
  size_t axis = shape.size();
  for (size_t i = 0; i < shape.size(); ++i)
    if (shape[i] != longer[i]) {
      if (axis != shape.size() || longer[i] != shape[i] + 1)
        return false;
      axis = i;
    }
  int64_t inner = 1;
  for (int64_t size : shape.drop_front(axis + 1))
    inner *= size;
  const size_t row = size_t(shape[axis] * inner),
               longRow = size_t(longer[axis] * inner);
  const size_t before = padding == decoder::Padding::front ? size_t(inner) : 0;
  for (size_t at = 0, from = 0; at < less.size(); at += row, from += longRow)
    if (less.slice(at, row) != more.slice(from + before, row))
      return false;
  return true;
}

/// Returns whether an operator limits a number to that of the entries, as
/// places in caches are. Rows that count never reach it.
static bool isLimit(Operation *op, ArrayRef<float> less, ArrayRef<float> more,
                    int64_t entries) {
  auto isOnly = [](ArrayRef<float> values, int64_t number) {
    return llvm::all_of(values,
                        [&](float value) { return value == float(number); });
  };
  return isa<nn::MinOp>(op) && isOnly(less, entries) &&
         isOnly(more, entries + 1);
}

LogicalResult decoder::checkPadding(ModuleOp model, ModuleOp longer,
                                    Padding padding, int64_t entries) {
  auto first = model.lookupSymbol<func::FuncOp>("main");
  auto second = longer.lookupSymbol<func::FuncOp>("main");
  auto &operations = first.getBody().front().getOperations();
  auto &others = second.getBody().front().getOperations();
  auto fail = [](Operation *op) {
    return op->emitError()
           << "depends on the size of the caches, which frit keeps fixed, in "
              "another way than a mask or a row of a table of positions does; "
              "export the model with position_ids and attention_mask";
  };
  auto other = others.begin();
  for (Operation &op : operations) {
    if (other == others.end() || op.getName() != other->getName() ||
        op.getNumOperands() != other->getNumOperands())
      return fail(&op);
    Operation &theirs = *other++;
    // What all of an operator's operands decide is compared at its readers, if
    // it is known there.
    if (op.getNumResults() == 1 && elementsOf(op.getResult(0)))
      continue;
    for (auto [less, more] :
         llvm::zip_equal(op.getOperands(), theirs.getOperands())) {
      auto own = elementsOf(less);
      if (!own)
        continue;
      auto their = elementsOf(more);
      if (their && padding == Padding::back &&
          isLimit(&op, *own, *their, entries))
        continue;
      if (!their || !isPadded(*own, nn::shapeOf(less), *their,
                              nn::shapeOf(more), padding))
        return fail(&op);
    }
  }
  return success(other == others.end() || succeeded(fail(&*other)));
}
