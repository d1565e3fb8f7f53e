//===- SupportVectors.cpp - Support vector machines -----------------------===//

#include "compiler/onnx/ops/Tables.h"

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
