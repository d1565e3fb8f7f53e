//===- Graph.cpp - Queries about the graph --------------------------------===//

#include "compiler/transform/Graph.h"
#include "dialects/nn/operators/Quantized.h"
#include "dialects/nn/operators/Sparse.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

DenseElementsAttr frit::splatOf(Value value) {
  auto constant = value.getDefiningOp<ConstantOp>();
  if (!constant || !isFoldable(constant))
    return {};
  auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
  return elements && elements.isSplat() ? elements : DenseElementsAttr();
}

std::optional<double> frit::splatNumber(Value value) {
  DenseElementsAttr splat = splatOf(value);
  if (!splat)
    return std::nullopt;
  if (isa<FloatType>(splat.getElementType())) {
    APFloat number = splat.getSplatValue<APFloat>();
    bool lossy;
    number.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven, &lossy);
    return number.convertToDouble();
  }
  if (auto integer = dyn_cast<IntegerType>(splat.getElementType())) {
    APInt number = splat.getSplatValue<APInt>();
    return integer.isUnsigned() || integer.getWidth() == 1
               ? double(number.getZExtValue())
               : double(number.getSExtValue());
  }
  return std::nullopt;
}

bool frit::isSplat(Value value, double number) {
  auto found = splatNumber(value);
  return found && *found == number;
}

Value frit::createSplat(OpBuilder &builder, Location loc, RankedTensorType type,
                        DenseElementsAttr splat) {
  return ConstantOp::create(builder, loc,
                            cast<ElementsAttr>(Attribute(splat.resizeSplat(
                                type.clone(splat.getElementType())))),
                            StringAttr());
}

Value frit::createSplat(OpBuilder &builder, Location loc, RankedTensorType type,
                        double number) {
  Type element = type.getElementType();
  DenseElementsAttr value;
  if (auto f = dyn_cast<FloatType>(element)) {
    APFloat converted(number);
    bool lossy;
    converted.convert(f.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                      &lossy);
    value = DenseElementsAttr::get(type, converted);
  } else {
    unsigned bits = cast<IntegerType>(element).getWidth();
    value = DenseElementsAttr::get(
        type, APInt(bits, static_cast<int64_t>(number), /*isSigned=*/true,
                    /*implicitTrunc=*/true));
  }
  return ConstantOp::create(builder, loc, value, StringAttr());
}

/// Visits at most `left` operators, since operands may be shared.
static bool dependsOnConstants(Value value, unsigned depth, unsigned &left) {
  Operation *op = value.getDefiningOp();
  if (!op || depth == 0 || left == 0)
    return false;
  --left;
  return llvm::all_of(op->getOperands(), [&](Value operand) {
    return dependsOnConstants(operand, depth - 1, left);
  });
}

bool frit::dependsOnConstants(Value value, unsigned depth) {
  unsigned left = 1 << 12;
  return ::dependsOnConstants(value, depth, left);
}

bool frit::isPlainWeight(Value w) {
  return dependsOnConstants(w) && !w.getDefiningOp<DequantizeOp>() &&
         !w.getDefiningOp<DecompressOp>();
}

bool frit::isReadOnce(Value value) {
  if (!value.hasOneUse())
    return false;
  Operation *op = value.getDefiningOp();
  return op && llvm::all_of(op->getOperands(), isReadOnce);
}

std::string frit::nodeName(Operation *op) {
  Location loc = op->getLoc();
  if (auto fused = dyn_cast<FusedLoc>(loc))
    loc = fused.getLocations().front();
  if (auto name = dyn_cast<NameLoc>(loc))
    return name.getName().str();
  return op->getName().getStringRef().str();
}

SmallVector<Value> frit::cloneBody(OpBuilder &b, nn::FusionOp fusion,
                                   const IRMapping &values) {
  IRMapping map;
  for (auto [input, argument] :
       llvm::zip(fusion.getInputs(), fusion.getBody().getArguments()))
    map.map(argument, values.lookup(input));
  Block &body = fusion.getBody().front();
  for (Operation &op : body.without_terminator())
    b.clone(op, map);
  return llvm::map_to_vector(body.getTerminator()->getOperands(),
                             [&](Value result) { return map.lookup(result); });
}

Location frit::fuseLocations(ArrayRef<Operation *> ops) {
  SmallVector<Location> locs;
  for (Operation *op : ops)
    locs.push_back(op->getLoc());
  return FusedLoc::get(ops.front()->getContext(), locs);
}

bool frit::isParameter(Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return false;
  auto function = dyn_cast<func::FuncOp>(argument.getOwner()->getParentOp());
  return function &&
         function.getArgAttr(argument.getArgNumber(), "nn.parameter");
}

bool frit::isBefore(Value value, Operation *op) {
  Operation *def = value.getDefiningOp();
  return !def || def->getBlock() != op->getBlock() || def->isBeforeInBlock(op);
}

std::optional<SmallVector<Operation *>>
frit::dependentsBefore(Operation *op, Operation *end, size_t most) {
  llvm::SetVector<Operation *> found;
  found.insert(op);
  for (size_t i = 0; i < found.size(); ++i)
    for (Operation *user : found[i]->getUsers()) {
      if (user == end || found.size() > most)
        return std::nullopt;
      if (user->isBeforeInBlock(end))
        found.insert(user);
    }
  SmallVector<Operation *> order = found.takeVector();
  llvm::sort(order,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  order.erase(order.begin()); // `op`
  return order;
}

void frit::eraseDead(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
}
