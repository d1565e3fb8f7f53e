//===- SupportVectors.cpp - Support vector machines -----------------------===//

#include "compiler/onnx/tables/Tables.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;

/// Returns the kernel of each row of x and each vector, [rows, vectors].
static Expr kernelOf(Expr x, Expr vectors) {
  Node &node = *x.node;
  StringRef kind = node.string("kernel_type", "LINEAR");
  auto given = node.reals("kernel_params");
  if (kind != "LINEAR" && given.size() != 3) {
    node.error() << "kernel_params has " << given.size()
                 << " entries instead of gamma, coef0 and degree";
    return {node, {}};
  }
  if (kind == "RBF") {
    // |x|² + |v|² - 2x·v would lose digits of vectors that are close.
    int64_t features = x.size(1);
    Expr apart = x.reshape({x.size(0), 1, features}) -
                 vectors.reshape({1, vectors.size(0), features});
    return ((apart * apart).sum({2}) * -given[0])
        .apply<nn::ExpOp>()
        .reshape({x.size(0), vectors.size(0)});
  }
  Expr product = x.apply<nn::MatmulOp>(
      {vectors}, node.named("transpose_b", node.builder().getUnitAttr()));
  if (kind == "LINEAR")
    return product;
  Expr scaled = product * given[0] + given[1];
  if (kind == "POLY")
    return scaled.apply<nn::PowOp>({scaled.number(given[2])});
  if (kind == "SIGMOID")
    return scaled.apply<nn::TanhOp>();
  node.error() << "kernel_type '" << kind << "' is not supported";
  return {node, {}};
}

/// Imports SVMRegressor: sums the vectors' kernels or, without vectors, the
/// features, weighted by their coefficients.
Results frit::importer::svmRegressor(Node &node) {
  Expr x = rowsOf(node);
  auto coefficients = node.reals("coefficients"),
       vectors = node.reals("support_vectors"), rho = node.reals("rho");
  int64_t count = node.integer("n_supports", 0);
  bool oneClass = node.integer("one_class", 0);
  if (!x)
    return {};
  auto given = static_cast<int64_t>(coefficients.size());
  auto numbers = static_cast<int64_t>(vectors.size());
  int64_t features = x.size(1);
  if (count < 0 || (count && features && numbers / count != features) ||
      numbers != count * features || given != (count ? count : features) ||
      rho.size() != 1) {
    node.error() << "has " << given << " coefficients, " << numbers
                 << " numbers of " << count << " support vectors and "
                 << rho.size() << " of rho for " << features << " features";
    return {};
  }
  Type f32 = x.element();
  Expr weights = table(node, f32, {1, given}, coefficients);
  Expr y = count ? kernelOf(x, table(node, f32, {count, features}, vectors))
                       .apply<nn::MatmulOp>(
                           {weights}, node.named("transpose_b",
                                                 node.builder().getUnitAttr()))
                 : kernelOf(x, weights);
  y = y + rho[0];
  if (oneClass)
    y = (y > 0.0).select(y.number(1), y.number(-1));
  return {transformed(y)};
}

//===----------------------------------------------------------------------===//
// SVMClassifier
//===----------------------------------------------------------------------===//

namespace {
/// Classes in pairs (0, 1), (0, 2), …, (1, 2), …: a score above 0 is a vote for
/// the first.
struct Pairs {
  SmallVector<double> weights; ///< Of each pair and support vector.
  SmallVector<double> votes;   ///< Of each pair and class: 1, -1 or 0.
  SmallVector<double> least; ///< Each class's votes if all scores are negative.
};
} // namespace

/// A vector of class c has a coefficient for each other class.
static Pairs pairsOf(ArrayRef<double> coefficients, ArrayRef<int64_t> sizes) {
  auto classes = static_cast<int64_t>(sizes.size());
  SmallVector<int64_t> classOf;
  for (int64_t c = 0; c < classes; ++c)
    classOf.append(sizes[c], c);
  auto vectors = static_cast<int64_t>(classOf.size());
  Pairs pairs;
  pairs.least.assign(classes, 0);
  for (int64_t i = 0; i < classes; ++i)
    for (int64_t j = i + 1; j < classes; ++j) {
      for (int64_t v = 0; v < vectors; ++v)
        pairs.weights.push_back(
            classOf[v] == i   ? coefficients[(j - 1) * vectors + v]
            : classOf[v] == j ? coefficients[i * vectors + v]
                              : 0);
      for (int64_t c = 0; c < classes; ++c)
        pairs.votes.push_back(c == i ? 1 : c == j ? -1 : 0);
      ++pairs.least[j];
    }
  return pairs;
}

/// Imports SVMClassifier. Results: the label that most pairs vote for, and the
/// pairs' scores, of two classes a score for each; or each class's probability.
Results frit::importer::svmClassifier(Node &node) {
  Expr x = rowsOf(node);
  auto coefficients = node.reals("coefficients"),
       vectors = node.reals("support_vectors"), rho = node.reals("rho"),
       slope = node.reals("prob_a"), offset = node.reals("prob_b");
  auto sizes = node.integers("vectors_per_class");
  if (!x)
    return {};
  auto labels = labelsOf(node, "classlabels_ints");
  if (!labels)
    return {};
  auto classes = static_cast<int64_t>(labels->size());
  int64_t features = x.size(1), number = classes * (classes - 1) / 2;
  if (!sizes || sizes->empty()) {
    node.error() << "without support vectors is not supported; fit a LinearSVC";
    return {};
  }
  int64_t count = 0;
  bool fits = sizes->size() == labels->size() && rho.size() == size_t(number);
  for (int64_t size : *sizes) {
    fits &= size >= 0 && size <= static_cast<int64_t>(coefficients.size());
    count += fits ? size : 0;
  }
  if (!fits || coefficients.size() != size_t(count * (classes - 1)) ||
      vectors.size() != size_t(count * features)) {
    node.error() << "has " << coefficients.size() << " coefficients, "
                 << vectors.size() << " numbers of support vectors and "
                 << rho.size() << " of rho for " << classes << " labels and "
                 << features << " features";
    return {};
  }
  bool isLikely = !slope.empty();
  if (isLikely &&
      (slope.size() != size_t(number) || offset.size() != size_t(number))) {
    node.error() << "has " << slope.size() << " prob_a and " << offset.size()
                 << " prob_b for " << number
                 << (number == 1 ? " pair" : " pairs") << " of labels";
    return {};
  }
  Type f32 = x.element();
  Pairs pairs = pairsOf(coefficients, *sizes);
  Expr score =
      kernelOf(x, table(node, f32, {count, features}, vectors))
          .apply<nn::MatmulOp>(
              {table(node, f32, {number, count}, pairs.weights)},
              node.named("transpose_b", node.builder().getUnitAttr())) +
      table(node, f32, {1, number}, rho);
  Expr votes = (score > 0.0)
                   .to(f32)
                   .apply<nn::MatmulOp>(
                       {table(node, f32, {number, classes}, pairs.votes)}) +
               table(node, f32, {1, classes}, pairs.least);
  Expr best = votes.apply<nn::ArgMaxOp>(
      {}, {node.namedSigned("axis", 1), node.namedSigned("keepdims", 0)});
  if (isLikely) {
    Expr power = score * table(node, f32, {1, number}, slope) +
                 table(node, f32, {1, number}, offset);
    score = couplePairs((power * -1.0).apply<nn::SigmoidOp>(), classes);
  } else if (classes == 2) {
    score = score * table(node, f32, {1, 2}, {-1.0, 1.0});
  }
  return {labels->at(best), transformed(score)};
}
