//===- FoldProducts.cpp - Products of sums with products ------------------===//
//
//   %p = nn.add nn.matmul(%x, %w), %b
//   %s = nn.add %r, %p
//   %y = nn.conv %s, %v, %c              // pointwise, channels last
// ==>
//   %y = nn.add nn.conv(%x, %w · %v, %b · %v + %c), nn.conv(%r, %v)
//
// A product of a sum is the sum of its terms' products, and the product of a
// product is one by the weights' product. The last layer of a transformer in a
// network of images ends so: its feed-forward part is added to what it read,
// and a pointwise convolution of the sum follows. One kernel computes both
// terms, along one k, with as many operations as there were; the sum is neither
// written nor read. The weights are multiplied in @prepare. The sum must have
// no other reader, nor more columns after the convolution than before it.
//
//===----------------------------------------------------------------------===//

#include "dialects/nn/rewrites/FoldProducts.h"
#include "compiler/transform/Graph.h"
#include "compiler/transform/Passes.h"
#include "compiler/transform/TargetRewritePass.h"
#include "dialects/nn/contraction/Contraction.h"

namespace frit {
#define GEN_PASS_DEF_FOLDPRODUCTS
#include "compiler/transform/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

namespace {
/// A pointwise convolution of the sum of a product and a rest.
struct Folded {
  ConvOp conv;
  MatmulOp product;
  Value bias; ///< added to the product; or null
  Value rest; ///< of the product's shape
  SmallVector<Operation *> between;
};

class FoldProducts
    : public TargetRewritePass<frit::impl::FoldProductsBase<FoldProducts>,
                               FoldProductsRewrite> {
public:
  using TargetRewritePass::TargetRewritePass;

private:
  void run(Block &block) override {
    foldEach<ConvOp>(
        block, [this](ConvOp conv) { return match(conv); },
        [this](const auto &found) { fold(found); });
  }

  std::optional<Folded> match(ConvOp conv) const;
  void fold(Folded folded) const;
};
} // namespace

/// Finds the product, with its bias, among the terms of a sum.
static bool findTerms(Folded &found, Value value, unsigned depth = 4) {
  Operation *def = value.getDefiningOp();
  if (!def || !def->hasOneUse() || depth == 0)
    return false;
  found.between.push_back(def);
  if (auto product = dyn_cast<MatmulOp>(def)) {
    found.product = product;
    return true;
  }
  auto sum = dyn_cast<AddOp>(def);
  for (unsigned i = 0; sum && i < 2; ++i) {
    Value other = sum->getOperand(1 - i);
    bool isRest = other.getType() == value.getType();
    bool isBias = dependsOnConstants(other) &&
                  shapeOf(other) == shapeOf(value).take_back();
    if ((isRest ? bool(found.rest) : !isBias || found.bias))
      continue;
    Folded term = found;
    (isRest ? term.rest : term.bias) = other;
    if (sum->getOperand(i).getType() != value.getType() ||
        !findTerms(term, sum->getOperand(i), depth - 1))
      continue;
    found = term;
    return true;
  }
  return false;
}

std::optional<Folded> FoldProducts::match(ConvOp conv) const {
  Folded found;
  found.conv = conv;
  auto info = describeConv(conv);
  if (!info || !pointwiseGemm(*info) || !isPlainWeight(conv.getW()) ||
      (conv.getBias() && tensorType(conv.getBias()).getElementType() !=
                             tensorType(conv.getX()).getElementType()))
    return std::nullopt;
  Value sum = conv.getX();
  if (auto view = sum.getDefiningOp<ReshapeOp>()) {
    if (!view->hasOneUse())
      return std::nullopt;
    found.between.push_back(view);
    sum = view.getX();
  }
  if (!findTerms(found, sum) || !found.rest)
    return std::nullopt;
  MatmulOp product = found.product;
  Value w = product.getB();
  if (product.getTransposeA() || shapeOf(w).size() != 2 || !isPlainWeight(w) ||
      !isReadOnce(w) || shapeOf(sum).back() != info->c || info->k > info->c ||
      product.getY().getType() != sum.getType() ||
      tensorType(product.getA()).getElementType() !=
          tensorType(conv.getX()).getElementType())
    return std::nullopt;
  return found;
}

void FoldProducts::fold(Folded folded) const {
  ConvOp conv = folded.conv;
  MatmulOp product = folded.product;
  SmallVector<Operation *> replaced(llvm::reverse(folded.between));
  replaced.push_back(conv);
  NNBuilder b(fuseLocations(replaced), conv);
  int64_t rows = shapeOf(conv.getW())[0], columns = shapeOf(conv.getW())[3];
  int64_t depth = shapeOf(product.getA()).back();
  auto inImage = [&](Value v) {
    SmallVector<int64_t> shape(shapeOf(conv.getX()));
    shape.back() = shapeOf(v).back();
    return b.reshape(v, shape);
  };
  Value v = b.reshape(conv.getW(), {rows, columns});
  Value w = MatmulOp::create(b, v, product.getB(), /*transposeA=*/false,
                             /*transposeB=*/!product.getTransposeB(),
                             product.getTf32());
  Value bias = conv.getBias();
  if (folded.bias) {
    Value row = MatmulOp::create(b, b.reshape(folded.bias, {1, columns}), v,
                                 /*transposeA=*/false, /*transposeB=*/true,
                                 product.getTf32());
    row = b.reshape(row, {rows});
    bias = bias ? b.add(row, bias) : row;
  }
  auto convolve = [&](Value x, Value w, Value bias) {
    IRMapping operands;
    auto made = cast<ConvOp>(b.clone(*conv, operands));
    made->setLoc(b.getLoc());
    made.getXMutable().assign(x);
    made.getWMutable().assign(w);
    made.getBiasMutable().clear();
    if (bias)
      made.getBiasMutable().assign(bias);
    return made;
  };
  ConvOp ofProduct = convolve(inImage(product.getA()),
                              b.reshape(w, {rows, 1, 1, depth}), bias);
  ConvOp ofRest = convolve(inImage(folded.rest), conv.getW(), Value());
  Value y = b.add(ofProduct, ofRest);
  if (rewrite->takes(ofProduct, ofRest, y.getDefiningOp<AddOp>()))
    conv->replaceAllUsesWith(ValueRange{y});
}

std::unique_ptr<Pass> frit::createFoldProducts(const Target &target) {
  return std::make_unique<FoldProducts>(target);
}
