//===- Activations.cpp - Activations by name ------------------------------===//

#include "compiler/onnx/ops/Activations.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;

/// Builds one operator.
template <typename Op> static Expr apply(Expr x, double, double) {
  return x.apply<Op>();
}

/// All activations, with ONNX's default parameters.
static const Activation knownActivations[] = {
    {"sigmoid", {}, {}, apply<nn::SigmoidOp>},
    {"tanh", {}, {}, apply<nn::TanhOp>},
    {"relu", {}, {}, apply<nn::ReluOp>},
    {"softplus", {}, {}, apply<nn::SoftplusOp>},
    {"softsign",
     {},
     {},
     [](Expr x, double, double) { return x / (x.apply<nn::AbsOp>() + 1.0); }},
    {"affine", 1, 0,
     [](Expr x, double alpha, double beta) { return x * alpha + beta; }},
    {"leakyrelu",
     0.01,
     {},
     [](Expr x, double alpha, double) {
       return (x < 0.0).select(x * alpha, x);
     }},
    {"thresholdedrelu",
     1,
     {},
     [](Expr x, double alpha, double) {
       return (x > alpha).select(x, x.number(0));
     }},
    {"elu",
     1,
     {},
     [](Expr x, double alpha, double) {
       return (x < 0.0).select((x.apply<nn::ExpOp>() - 1.0) * alpha, x);
     }},
    {"scaledtanh", 1, 1,
     [](Expr x, double alpha, double beta) {
       return (x * beta).apply<nn::TanhOp>() * alpha;
     }},
    {"hardsigmoid", 0.2, 0.5,
     [](Expr x, double alpha, double beta) {
       return (x * alpha + beta).clamp(0, 1);
     }},
};

const Activation *frit::importer::findActivation(StringRef name) {
  const auto *known =
      llvm::find_if(knownActivations, [&](const Activation &activation) {
        return name.equals_insensitive(activation.name);
      });
  return known == std::end(knownActivations) ? nullptr : known;
}

/// Sets the parameters that an attribute gives: a value for each activation
/// that takes one, in their order.
static void readParameters(Node &node, StringRef attribute,
                           MutableArrayRef<Activation> activations,
                           std::optional<double> Activation::*parameter) {
  SmallVector<double> given = node.reals(attribute);
  auto takers = llvm::count_if(activations, [&](const Activation &activation) {
    return (activation.*parameter).has_value();
  });
  if (given.empty())
    return;
  if (given.size() != static_cast<size_t>(takers)) {
    node.error() << "attribute '" << attribute << "' has " << given.size()
                 << (given.size() == 1 ? " value, but " : " values, but ")
                 << takers << " of the activations "
                 << (takers == 1 ? "takes one" : "take one");
    return;
  }
  const double *next = given.begin();
  for (Activation &activation : activations)
    if (activation.*parameter)
      activation.*parameter = *next++;
}

SmallVector<Activation>
frit::importer::readActivations(Node &node, int64_t directions,
                                ArrayRef<StringRef> defaults) {
  SmallVector<StringRef> names = node.strings("activations");
  if (names.empty())
    for (int64_t i = 0; i < directions; ++i)
      names.append(defaults.begin(), defaults.end());
  if (names.size() != defaults.size() * directions)
    node.error() << "has " << names.size() << " activations instead of "
                 << defaults.size() * directions;
  SmallVector<Activation> activations;
  for (StringRef name : names) {
    if (const Activation *known = findActivation(name))
      activations.push_back(*known);
    else
      node.error() << "activation '" << name << "' is not supported";
  }
  if (node.failed)
    return {};
  readParameters(node, "activation_alpha", activations, &Activation::alpha);
  readParameters(node, "activation_beta", activations, &Activation::beta);
  return activations;
}
