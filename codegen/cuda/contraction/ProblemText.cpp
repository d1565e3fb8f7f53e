//===- ProblemText.cpp - A contraction as constants of a C++ struct -------===//

#include "codegen/cuda/contraction/ProblemText.h"

#include "codegen/cuda/contraction/Wgmma.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

//===----------------------------------------------------------------------===//
// Epilogues
//===----------------------------------------------------------------------===//

/// Prints statements that return the fusion's result, given names for some of
/// its values.
static nn::Match<std::string>
epilogueBody(const nn::EpilogueInfo &info, const LinalgFusion &lowered,
             ArrayRef<std::pair<Value, StringRef>> known, StringRef first) {
  Graph graph(lowered.context());
  for (auto [value, name] : known) {
    if (!value)
      continue;
    Value tensor = lowered[value];
    Node *x = graph.given(valueType(elementType(tensor)), name.str(), 0);
    graph.give(tensor, [x](ArrayRef<AffineExpr>) { return x; });
  }
  Value last = lowered[info.result];
  AffineExpr i = graph.space.addDim(rankedType(last).getNumElements());
  Node *result = graph.elementAt(last, i);
  if (!graph.failure().empty())
    return nn::Mismatch(graph.failure());
  Printer printer(graph);
  if (!first.empty())
    printer.line(first);
  printer.expect(result);
  printer.line("return " + printer.value(result) + ";");
  return printer.str(4);
}

/// Returns the device functor of an activation with this result type, or "".
static StringRef knownEpilogue(Activation kind, Type result) {
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

nn::Legality ProblemText::addEpilogue(const nn::EpilogueInfo &info,
                                      StringRef field) {
  Type result = elementType(lowered.outputs()[0]);
  std::string epilogue = knownEpilogue(info.activation, result).str();
  if (epilogue.empty()) {
    std::string type =
        valueName(valueType(elementType(lowered[info.sum]))).str();
    std::string parameters = type + " x", first;
    SmallVector<std::pair<Value, StringRef>> known = {{info.sum, "x"}};
    if (info.mixed) {
      parameters = "float sum, float bias, float residual";
      known = {{info.product, "sum"},
               {info.bias, "bias"},
               {info.residual, "residual"}};
      auto conv = info.product.getDefiningOp<nn::ConvOp>();
      first = conv && conv.getBias() ? "sum += bias;" : "";
    }
    auto body = epilogueBody(info, lowered, known, first);
    if (!body)
      return body.mismatch();
    epilogue = name.str() + "_epilogue";
    functor = "struct " + epilogue + " {\n  __device__ " + type +
              " operator()(" + parameters + ") const {\n" + *body + "  }\n};\n";
  }
  fields += ("  using " + field + " = " + epilogue + ";\n").str();
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Problems
//===----------------------------------------------------------------------===//

unsigned ProblemText::argument(Value v) const {
  return cast<BlockArgument>(v).getArgNumber();
}

bool ProblemText::isConstant(Value v) const {
  return llvm::is_contained(lowered.constantInputs(), int64_t(argument(v)));
}

std::string ProblemText::parameter(Value v) const {
  return v ? "x" + std::to_string(argument(v)) : "nullptr";
}

void ProblemText::addType(StringRef field, Value v) {
  Type element = v ? lowered.inputElements()[argument(v)]
                   : elementType(lowered.outputs()[0]);
  fields += ("  using " + field + " = " + storageName(element) + ";\n").str();
}

void ProblemText::addConstants(
    StringRef type, ArrayRef<std::pair<StringRef, int64_t>> constants) {
  fields += constantsText(type, constants);
}

void ProblemText::addNorm(const nn::EpilogueInfo &info) {
  if (info.norm != nn::NormKind::none) {
    StringRef kind =
        info.norm == nn::NormKind::product ? "product" : "residual";
    fields += llvm::formatv("  static constexpr frit::Norm norm = "
                            "frit::Norm::{0};\n"
                            "  static constexpr float epsilon = {1:e9};\n",
                            kind, info.epsilon);
    addConstants("int", {{"parts", info.parts()}, {"partWidth", info.width}});
  }
  if (info.resultMoments)
    addConstants("bool", {{info.factor          ? "rowDots"
                           : sumsColumns(info)  ? "columnSums"
                           : takesColumns(info) ? "columnMoments"
                                                : "resultMoments",
                           true}});
  if (info.second)
    fields += llvm::formatv(
        "  static constexpr frit::Second second = frit::Second::{0};\n",
        info.storesSlope() ? "slope" : "sum");
}

std::string ProblemText::normParameters(const nn::EpilogueInfo &info) const {
  if (!info.isExtended())
    return "";
  std::string last = info.second          ? "nullptr, y1}"
                     : info.resultMoments ? "y1}"
                                          : "nullptr}";
  return ", {" + parameter(info.moments) + ", " + parameter(info.column) +
         ", " + last;
}

void ProblemText::addGemm(const nn::GemmInfo &info) {
  addType("A", info.a);
  addType("B", info.b);
  addType("D", nullptr);
  addType("Bias", info.bias);
  addConstants(
      "int64_t",
      {{"m", info.m}, {"n", info.n}, {"k", info.k}, {"batch", info.batch}});
  addConstants("int64_t",
               {{"lda", info.lda}, {"ldb", info.ldb}, {"ldd", info.ldd}});
  addConstants("int64_t", {{"strideA", info.strideA},
                           {"strideB", info.strideB},
                           {"strideD", info.strideD}});
  addConstants("bool", {{"transposeA", info.transposeA},
                        {"transposeB", info.transposeB}});
}

void ProblemText::addWindows(const nn::ConvInfo &info) {
  addConstants("int", {{"c", info.c}, {"h", info.h}, {"w", info.width}});
  addConstants("int", {{"r", info.r}, {"s", info.s}});
  addConstants("int", {{"strideH", info.strideH},
                       {"strideW", info.strideW},
                       {"dilationH", info.dilationH},
                       {"dilationW", info.dilationW}});
  addConstants("int", {{"padTop", info.padTop}, {"padLeft", info.padLeft}});
}

void ProblemText::addConv(const nn::ConvInfo &info) {
  addType("T", info.x);
  addType("D", nullptr);
  addType("Bias", info.bias);
  addConstants("int", {{"n", info.n},
                       {"k", info.k},
                       {"p", info.p},
                       {"q", info.q},
                       {"groups", info.groups}});
  addWindows(info);
  addConstants("bool", {{"channelsLast", info.channelsLast}});
}

void ProblemText::addAddend(const nn::ConvInfo &addend) {
  std::swap(fields, addendFields);
  addWindows(addend);
  std::swap(fields, addendFields);
}

std::string ProblemText::definition() const {
  std::string text = functor + "struct " + problem() + " {\n" + fields + "};\n";
  if (!addendFields.empty())
    text += "struct " + addend() + " : " + problem() + " {\n" + addendFields +
            "};\n";
  return text;
}
