//===- Map.cpp - The function of an epilogue ------------------------------===//

#include "codegen/cuda/epilogue/EndStages.h"
#include "codegen/cuda/scalar/Printer.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;
using nn::stage::Map;

namespace {
class MapCode : public StageCode {
public:
  explicit MapCode(const Map &map) : map(map) {}

private:
  /// A product of sums and residual does not take longer than its stores.
  void addNeeds(const nn::Epilogue &epilogue, EndNeeds &needs) const override {
    auto factors = map.result.getDefiningOp<nn::MulOp>();
    bool multiplies = factors && (factors.getA() == epilogue.product ||
                                  factors.getB() == epilogue.product);
    needs.computesLong |= map.isMixed && epilogue.residual() && !multiplies;
  }
  StringRef words() const override {
    if (map.isMixed)
      return "mixed";
    switch (map.activation) {
    case Activation::none:
      return "";
    case Activation::relu:
      return "relu";
    case Activation::geluTanh:
      return "gelu-tanh";
    case Activation::gelu:
      return "gelu";
    case Activation::silu:
      return "silu";
    case Activation::other:
      return "function";
    }
    llvm_unreachable("no activation");
  }

  const Map &map;
};
} // namespace

std::unique_ptr<StageCode> frit::cuda::codeOf(const Map &map) {
  return std::make_unique<MapCode>(map);
}

//===----------------------------------------------------------------------===//
// Functors
//===----------------------------------------------------------------------===//

/// Prints statements that return a function's result, given names for some of
/// its values.
static nn::Match<std::string>
functionBody(Value result, const LinalgFusion &lowered,
             ArrayRef<std::pair<Value, StringRef>> known, StringRef first) {
  Graph graph(lowered.context());
  for (auto [value, name] : known) {
    if (!value)
      continue;
    Value tensor = lowered[value];
    Node *x = graph.given(valueType(elementType(tensor)), name.str(), 0);
    graph.give(tensor, [x](ArrayRef<AffineExpr>) { return x; });
  }
  Value last = lowered[result];
  AffineExpr i = graph.space.addDim(rankedType(last).getNumElements());
  Node *node = graph.elementAt(last, i);
  if (!graph.failure().empty())
    return nn::Mismatch(graph.failure());
  Printer printer(graph);
  if (!first.empty())
    printer.line(first);
  printer.expect(node);
  printer.line("return " + printer.value(node) + ";");
  return printer.str(4);
}

/// Returns the device functor of an activation with this result type, or "".
static StringRef knownFunctor(Activation kind, Type result) {
  bool exact = kind == Activation::none || kind == Activation::relu;
  if (result.isF64() && !exact)
    return "";
  switch (kind) {
  case Activation::none:
    return "frit::Identity";
  case Activation::relu:
    return "frit::Relu";
  case Activation::geluTanh:
    return "frit::GeluTanh";
  case Activation::gelu:
    return result.getIntOrFloatBitWidth() == 16 ? "frit::GeluTo16Bits"
                                                : "frit::Gelu";
  case Activation::silu:
    return "frit::Silu";
  case Activation::other:
    break;
  }
  return "";
}

/// Returns the device functor of the function of an epilogue, or "".
static StringRef knownFunctor(const nn::Epilogue &epilogue,
                              const LinalgFusion &lowered) {
  return knownFunctor(epilogue.activation(), elementType(lowered.outputs()[0]));
}

/// Prints the functor `name` of a function for which device code has none.
static nn::Match<std::string> printFunctor(StringRef name,
                                           const nn::Epilogue &epilogue,
                                           const LinalgFusion &lowered) {
  const Map &map = *epilogue.find<Map>();
  std::string type =
      valueName(valueType(elementType(lowered[map.operand]))).str();
  std::string parameters = type + " x", first;
  SmallVector<std::pair<Value, StringRef>> known = {{map.operand, "x"}};
  if (map.isMixed) {
    parameters = "float sum, float bias, float residual";
    known = {{epilogue.product, "sum"},
             {epilogue.bias(), "bias"},
             {epilogue.residual(), "residual"}};
    auto conv = epilogue.product.getDefiningOp<nn::ConvOp>();
    first = conv && conv.getBias() ? "sum += bias;" : "";
  }
  auto body = functionBody(map.result, lowered, known, first);
  if (!body)
    return body;
  return ("struct " + name + " {\n  __device__ " + type + " operator()(" +
          parameters + ") const {\n" + *body + "  }\n};\n")
      .str();
}

nn::Legality frit::cuda::checkFunction(const nn::Epilogue &epilogue,
                                       const LinalgFusion &lowered) {
  if (!knownFunctor(epilogue, lowered).empty())
    return std::nullopt;
  auto printed = printFunctor("", epilogue, lowered);
  return printed ? nn::Legality() : nn::Legality(printed.mismatch());
}

void frit::cuda::addFunction(const nn::Epilogue &epilogue, StringRef field,
                             EpilogueText &text) {
  std::string functor = knownFunctor(epilogue, text.lowered).str();
  if (functor.empty()) {
    functor = text.kernel.str() + "_epilogue";
    text.definitions = *printFunctor(functor, epilogue, text.lowered);
  }
  text.fields += ("  using " + field + " = " + functor + ";\n").str();
}
