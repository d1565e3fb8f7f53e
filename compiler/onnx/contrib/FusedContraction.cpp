//===- FusedContraction.cpp - Products that ONNX Runtime has fused --------===//
//
//   FusedConv: activation(conv(x, w, bias) + z)
//
// ONNX Runtime's graph optimiser writes these; each is the operators that it
// replaced, which frit fuses by itself.
//
//===----------------------------------------------------------------------===//

#include "compiler/onnx/ops/Activations.h"
#include "compiler/onnx/ops/Contraction.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;

/// Applies the activation that an attribute names to a product. `numbers` are
/// the values of its parameters, as many as are given.
static Expr activate(Node &node, Expr x, StringRef name,
                     ArrayRef<double> numbers) {
  auto number = [&](size_t i, double otherwise) {
    return i < numbers.size() ? numbers[i] : otherwise;
  };
  if (name.empty())
    return x;
  if (name == "Clip")
    return x.clamp(number(0, -std::numeric_limits<float>::max()),
                   number(1, std::numeric_limits<float>::max()));
  if (const Activation *known = findActivation(name))
    return known->build(x, number(0, known->alpha.value_or(0)),
                        number(1, known->beta.value_or(0)));
  node.error() << "activation '" << name << "' is not supported";
  return x;
}

static Results fusedConv(Node &node) {
  StringRef name = node.string("activation", "");
  SmallVector<double> numbers = node.reals("activation_params");
  Results results = conv(node);
  if (results.empty())
    return {};
  Expr y = {node, results.front()};
  if (node.has(3))
    y = y + input(node, 3);
  return {activate(node, y, name, numbers)};
}

/// Imports a convolution of channels-last tensors, filters too.
static Results nhwcConv(Node &node) {
  Expr x = input(node, 0), w = input(node, 1);
  if (!x || !w || x.rank() != 4 || w.rank() != 4) {
    if (!node.failed)
      node.error() << "convolves " << nn::shapeText(x.shape()) << " with "
                   << nn::shapeText(w.shape()) << ", which have no 4 "
                   << "dimensions";
    return {};
  }
  node.setInput(0, x.transpose({0, 3, 1, 2}));
  node.setInput(1, w.transpose({0, 3, 1, 2}));
  Results results = conv(node);
  if (results.empty())
    return {};
  return {Expr(node, results.front()).transpose({0, 2, 3, 1})};
}

static Results fusedGemm(Node &node) {
  StringRef name = node.string("activation", "");
  SmallVector<double> numbers;
  for (StringRef attribute : {"activation_alpha", "activation_beta"})
    if (node.attribute(attribute))
      numbers.push_back(node.real(attribute, 0));
  node.ignore("activation_gamma");
  Results results = gemm(node);
  if (results.empty())
    return {};
  return {activate(node, {node, results.front()}, name, numbers)};
}

/// Transposes an operand of FusedMatMul: its first dimension becomes the last
/// but one with `movesBatch`, and the last two are exchanged with
/// `isTransposed`.
static Expr arrange(Expr x, bool isTransposed, bool movesBatch) {
  if (!x || x.rank() < 2)
    return x;
  auto perm = llvm::to_vector(llvm::seq<int64_t>(0, x.rank()));
  if (movesBatch)
    std::rotate(perm.begin(), perm.begin() + 1, perm.end() - 1);
  if (isTransposed)
    std::swap(perm.back(), perm[perm.size() - 2]);
  return x.transpose(perm);
}

static Results fusedMatMul(Node &node) {
  double alpha = node.real("alpha", 1);
  auto operand = [&](size_t i, StringRef which) {
    return arrange(input(node, i), node.integer("trans" + which.str(), 0),
                   node.integer("transBatch" + which.str(), 0));
  };
  Expr a = operand(0, "A"), b = operand(1, "B");
  Expr y = a.matmul(b);
  return {alpha == 1 ? y : y * alpha};
}

ArrayRef<Hook> frit::importer::fusedContractionHooks() {
  static constexpr Hook hooks[] = {
      {"com.microsoft::FusedConv", 1, 2, 4, fusedConv, takesCounts},
      {"com.microsoft::NhwcConv", 1, 2, 3, nhwcConv},
      {"com.microsoft::FusedGemm", 1, 2, 3, fusedGemm, takesCounts},
      {"com.microsoft::FusedMatMul", 1, 2, 2, fusedMatMul, takesCounts},
      {"com.microsoft::TransposeMatMul", 1, 2, 2, fusedMatMul, takesCounts},
  };
  return hooks;
}
