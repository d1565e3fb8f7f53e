//===- Loss.cpp - Losses of classifiers -----------------------------------===//

#include "compiler/onnx/reader/Expr.h"
#include "compiler/onnx/reader/Hooks.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;

/// Builds -w[t] · log p[t] for the class t of every position, reduced by
/// `reduction`. Positions of the ignored class contribute nothing. `logs` are
/// f32 or wider; the loss has type `element`.
static Value likelihoodLoss(Node &node, Expr logs, Expr target,
                            size_t weightInput, Type element) {
  StringRef reduction = node.string("reduction", "mean");
  bool ignores = node.attribute("ignore_index");
  int64_t ignored = node.integer("ignore_index", -1);
  if (!logs || !target)
    return {};
  auto form = target.shape(), column = form;
  if (logs.rank() < 2 || logs.rank() != target.rank() + 1) {
    node.error() << "scores of shape " << nn::shapeText(logs.shape())
                 << " do not fit classes of shape " << nn::shapeText(form);
    return {};
  }
  column.insert(column.begin() + 1, 1);
  int64_t classes = logs.size(1);
  node.checkNumbers(target, 0, classes - 1,
                    "takes labels of " + Twine(classes) + " classes",
                    ignores ? std::optional(ignored) : std::nullopt);
  Expr place = target.to(node.builder().getI64Type());
  Expr counts = place.equals(place.number(ignored));
  Expr safe = ignores ? counts.select(place.number(0), place) : place;
  Expr loss = logs.gatherElements(safe.reshape(column), 1).reshape(form);
  Expr weight = loss.number(1);
  if (node.has(weightInput)) {
    Expr weights = input(node, weightInput);
    if (weights && weights.shape() != SmallVector<int64_t>{classes})
      node.error() << "has " << nn::shapeText(weights.shape())
                   << " weights for " << classes << " classes";
    weight = weights.gather(safe, 0).to(loss.element());
  }
  weight = weight.expand(form);
  if (ignores)
    weight = counts.select(weight.number(0), weight);
  loss = loss.number(0) - loss * weight;
  if (reduction == "none")
    return loss.to(element);
  auto all = llvm::to_vector(llvm::seq<int64_t>(target.rank()));
  Expr total = loss.sum(all);
  if (reduction == "mean") {
    total = total / weight.sum(all);
    // A mean over several calls divides by the weights of all.
    if (total && node.modelTrains())
      Value(total).getDefiningOp()->setAttr(
          "nn.most_items", node.builder().getF64FloatAttr(double(
                               nn::tensorType(target).getNumElements())));
  } else if (reduction != "sum")
    node.error() << "reduction '" << reduction
                 << "' is none of none, mean and sum";
  return total.to(element).reshape({});
}

static Results negativeLogLikelihood(Node &node) {
  Expr logs = input(node, 0);
  return {likelihoodLoss(node, logs.to(nn::workType(logs.element())),
                         input(node, 1), 2, logs.element())};
}

static Results softmaxCrossEntropy(Node &node) {
  Expr x = input(node, 0);
  Expr logs = x.to(nn::workType(x.element()))
                  .apply<nn::LogSoftmaxOp>({}, node.namedSigned("axis", 1));
  return {likelihoodLoss(node, logs, input(node, 1), 2, x.element()),
          logs.to(x.element())};
}

ArrayRef<Hook> frit::importer::lossHooks() {
  static constexpr Hook hooks[] = {
      {"NegativeLogLikelihoodLoss", 12, 2, 3, negativeLogLikelihood},
      {"SoftmaxCrossEntropyLoss", 12, 2, 3, softmaxCrossEntropy},
  };
  return hooks;
}
