//===- QuantizableProducts.cpp - Find and observe products of floats ------===//

#include "compiler/transform/quantize/QuantizableProducts.h"
#include "compiler/transform/Graph.h"
#include "compiler/transform/Names.h"
#include "compiler/transform/recognize/QuantizedOperands.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

bool QuantizableProduct::isConv() const { return isa<ConvOp>(op); }

int64_t QuantizableProduct::columns() const {
  auto product = dyn_cast<MatmulOp>(op);
  return shapeOf(weights())[product && !product.getTransposeB() ? 1 : 0];
}

int64_t QuantizableProduct::depth() const { return shapeOf(input()).back(); }

bool QuantizableProduct::readsNorm() const {
  if (isConv())
    return false;
  // A head may read some rows of the norm's result.
  Operation *def = input().getDefiningOp();
  while (isa_and_nonnull<ReshapeOp, SliceOp>(def)) {
    Value from = def->getOperand(0);
    if (shapeOf(from).empty() || shapeOf(from).back() != depth())
      return false;
    def = from.getDefiningOp();
  }
  return isa_and_nonnull<LayerNormOp, RmsNormOp>(def);
}

/// Returns whether a product is one that QuantizedConvs rewrites for every
/// target.
static bool isQuantizable(Operation *op) {
  auto isStatic = [](Value value) {
    auto type = tensorType(value);
    return type.hasStaticShape() && type.getNumElements() > 0 &&
           type.getElementType().isF32();
  };
  if (!isa<ConvOp, MatmulOp>(op) || !isStatic(op->getOperand(0)) ||
      !isStatic(op->getOperand(1)) || !isStatic(op->getResult(0)))
    return false;
  Value x = op->getOperand(0), w = op->getOperand(1);
  if (dependsOnConstants(x) || !dependsOnConstants(w) || isDequantized(x) ||
      isDequantized(w))
    return false;
  if (auto conv = dyn_cast<ConvOp>(op))
    return conv.getGroup() == 1 && shapeOf(x).size() >= 3 &&
           shapeOf(x).size() <= 4;
  auto product = cast<MatmulOp>(op);
  return !product.getTransposeA() && shapeOf(w).size() == 2 &&
         shapeOf(x).size() >= 2;
}

std::vector<QuantizableProduct> frit::findQuantizable(ModuleOp module) {
  std::vector<QuantizableProduct> products;
  llvm::StringMap<unsigned> uses;
  auto main = module.lookupSymbol<func::FuncOp>("main");
  for (Operation &op : main.getBody().front()) {
    if (!isQuantizable(&op))
      continue;
    SmallVector<StringRef> names = nodeNamesOf(&op);
    std::string name = names.empty() ? "product" : names.front().str();
    if (unsigned before = uses[name]++)
      name += "#" + std::to_string(before + 1);
    products.push_back({name, &op});
  }
  return products;
}

std::vector<ObservedProduct> frit::observeProducts(ModuleOp module) {
  auto main = module.lookupSymbol<func::FuncOp>("main");
  std::vector<QuantizableProduct> products = findQuantizable(module);
  llvm::MapVector<Value, unsigned> results;
  auto numberOf = [&](Value value) {
    return results.insert({value, unsigned(results.size())}).first->second;
  };
  std::vector<ObservedProduct> observed;
  for (const QuantizableProduct &product : products)
    observed.push_back({numberOf(product.input()), std::nullopt});
  Operation *end = main.getBody().front().getTerminator();
  NNBuilder b(main.getLoc(), end);
  for (auto [product, place] : llvm::zip_equal(products, observed)) {
    auto matmul = dyn_cast<MatmulOp>(product.op);
    if (!matmul)
      continue;
    int64_t axis = matmul.getTransposeB() ? 0 : 1;
    Value sizes =
        b.reduce(AbsOp::create(b, product.weights()), Combiner::max, {axis});
    place.weights = numberOf(b.reshape(sizes, {product.depth()}));
  }
  SmallVector<Value> values;
  SmallVector<Attribute> attributes;
  for (auto [value, number] : results) {
    values.push_back(value);
    attributes.push_back(b.getDictionaryAttr(b.getNamedAttr(
        "nn.name", b.getStringAttr("observed." + Twine(number)))));
  }
  end->setOperands(values);
  main.setFunctionType(b.getFunctionType(main.getArgumentTypes(),
                                         ValueRange(values).getTypes()));
  main.setAllResultAttrs(attributes);
  eraseDead(main.getBody().front());
  return observed;
}
