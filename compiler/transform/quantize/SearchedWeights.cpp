//===- SearchedWeights.cpp - Weights and the inputs that they multiply ----===//

#include "compiler/transform/quantize/SearchedWeights.h"

#include "compiler/transform/Graph.h"
#include "compiler/transform/Names.h"
#include "compiler/transform/quantize/RoundableProducts.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Adds the constants that a weight consists of.
static void addConstants(Value weight, bool isTransposed,
                         const SearchedWeight &product,
                         std::vector<SearchedWeight> &all) {
  Operation *def = weight.getDefiningOp();
  if (auto cast = dyn_cast_or_null<CastOp>(def))
    return addConstants(cast.getX(), isTransposed, product, all);
  if (auto move = dyn_cast_or_null<TransposeOp>(def)) {
    if (move.getPerm() == ArrayRef<int64_t>{1, 0})
      addConstants(move.getX(), !isTransposed, product, all);
    return;
  }
  if (auto concat = dyn_cast_or_null<ConcatOp>(def)) {
    if (axisOf(concat.getY(), concat.getAxis()) == (isTransposed ? 1 : 0))
      for (Value x : concat.getXs())
        addConstants(x, isTransposed, product, all);
    return;
  }
  auto constant = dyn_cast_or_null<ConstantOp>(def);
  if (!constant || tensorType(weight).getRank() != 2 ||
      tensorType(weight).getNumElements() < kFewestRounded ||
      shapeOf(weight)[isTransposed ? 0 : 1] != product.columns)
    return;
  SearchedWeight one = product;
  one.value = constant.getValue();
  one.isTransposed = isTransposed;
  all.push_back(one);
}

std::vector<SearchedWeight> frit::findSearchedWeights(ModuleOp module) {
  std::vector<SearchedWeight> all;
  auto main = module.lookupSymbol<func::FuncOp>("main");
  main.walk([&](MatmulOp op) {
    auto input = tensorType(op.getA());
    if (!isRoundable(op) || endsModel(op) || op.getTransposeA() ||
        !input.hasStaticShape() || dependsOnConstants(op.getA()))
      return;
    SmallVector<StringRef> names = nodeNamesOf(op);
    addConstants(op.getB(), !op.getTransposeB(),
                 {names.empty() ? "product" : names.front().str(), op.getA(),
                  input.getShape().back(), nullptr, false},
                 all);
  });
  return all;
}

void frit::observeValues(ModuleOp module, ArrayRef<Value> values) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  Block &block = main.getBody().front();
  Operation *end = block.getTerminator();
  Builder b(module.getContext());
  SmallVector<Value> results(values);
  SmallVector<Attribute> attributes;
  for (size_t i = 0; i < values.size(); ++i)
    attributes.push_back(b.getDictionaryAttr(
        b.getNamedAttr("nn.name", b.getStringAttr("observed." + Twine(i)))));
  for (unsigned i = 0; i < end->getNumOperands(); ++i)
    if (main.getResultAttr(i, "nn.state")) {
      results.push_back(end->getOperand(i));
      attributes.push_back(main.getResultAttrDict(i));
    }
  end->setOperands(results);
  main.setFunctionType(b.getFunctionType(main.getArgumentTypes(),
                                         ValueRange(results).getTypes()));
  main.setAllResultAttrs(attributes);
  eraseDead(block);
}

void frit::fixInput(ModuleOp module, StringRef name, int64_t number) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  for (BlockArgument argument : main.getArguments()) {
    unsigned index = argument.getArgNumber();
    auto own = main.getArgAttrOfType<StringAttr>(index, "nn.name");
    if (!own || own.getValue() != name)
      continue;
    NNBuilder b(main.getLoc(), &main.getBody().front().front());
    auto type = tensorType(argument);
    auto value = DenseElementsAttr::get(
        type, b.getIntegerAttr(type.getElementType(), number));
    argument.replaceAllUsesWith(ConstantOp::create(b, value, StringAttr()));
    (void)main.eraseArgument(index);
    return;
  }
}
