//===- State.cpp - Memory that lasts from call to call --------------------===//

#include "dialects/nn/NN.h"

#include "frit/role_names.h"

using namespace mlir;
using namespace frit::nn;

#define GET_OP_CLASSES
#include "dialects/nn/State.cpp.inc"

LogicalResult StateOp::verify() {
  if (!frit::artifact::stateRoleNamed(getRole()))
    return emitOpError("has no role '") << getRole() << "'";
  auto type = dyn_cast<RankedTensorType>(getType());
  if (!type || !type.hasStaticShape())
    return emitOpError("is of type ")
           << getType() << ", which is no tensor of static shape";
  return success();
}

FailureOr<RankedTensorType> UpdateOp::infer(Adaptor op,
                                            std::optional<Location> loc) {
  auto type = tensorType(op.getState()), value = tensorType(op.getValue());
  if (failed(checkElementTypes(loc, {op.getState(), op.getValue()})))
    return failure();
  int64_t axis = op.getAxis();
  bool fits = value.getRank() == type.getRank();
  for (int64_t dim = 0; fits && dim < type.getRank(); ++dim)
    fits = mayEqual(value.getDimSize(dim), type.getDimSize(dim)) ||
           (op.getOffset() && dim == axis);
  if (!fits)
    return emitOptionalError(
        loc, "a value of shape ", shapeText(value.getShape()),
        " replaces no part of a state of shape ", shapeText(type.getShape()));
  if (!op.getOffset() && axis != 0)
    return emitOptionalError(loc, "has axis ", axis, " and no offset");
  if (!op.getOffset())
    return type;
  if (axis < 0 || axis >= type.getRank())
    return emitOptionalError(loc, "axis ", axis, " is none of ",
                             shapeText(type.getShape()));
  ArrayRef<int64_t> offset = shapeOf(op.getOffset());
  if (!offset.empty() && (offset.size() > 1 || axis == 0 ||
                          !mayEqual(offset[0], type.getDimSize(0))))
    return emitOptionalError(loc, "an offset of shape ", shapeText(offset),
                             " has no entry for each index of dimension 0 of ",
                             shapeText(type.getShape()));
  return type;
}

Value frit::nn::storedValueOf(Value result) {
  auto update = result.getDefiningOp<UpdateOp>();
  return update && update.getOffset() ? update.getValue() : result;
}

std::optional<unsigned> UpdateOp::tiedOperand(unsigned) { return 0; }
