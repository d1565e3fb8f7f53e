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

/// Defines the functor of a function for which device code has none. Returns
/// its name.
static nn::Match<std::string> defineFunctor(const Map &map,
                                            const nn::Epilogue &epilogue,
                                            EpilogueText &text) {
  std::string type =
      valueName(valueType(elementType(text.lowered[map.operand]))).str();
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
  auto body = functionBody(map.result, text.lowered, known, first);
  if (!body)
    return body.mismatch();
  std::string functor = text.kernel.str() + "_epilogue";
  text.definitions = "struct " + functor + " {\n  __device__ " + type +
                     " operator()(" + parameters + ") const {\n" + *body +
                     "  }\n};\n";
  return functor;
}

nn::Legality frit::cuda::addFunction(const nn::Epilogue &epilogue,
                                     StringRef field, EpilogueText &text) {
  Type result = elementType(text.lowered.outputs()[0]);
  std::string functor = knownFunctor(epilogue.activation(), result).str();
  if (functor.empty()) {
    auto defined = defineFunctor(*epilogue.find<Map>(), epilogue, text);
    if (!defined)
      return defined.mismatch();
    functor = *defined;
  }
  text.fields += ("  using " + field + " = " + functor + ";\n").str();
  return std::nullopt;
}
