//===- ProblemText.cpp - A contraction as constants of a C++ struct -------===//

#include "codegen/cuda/contraction/ProblemText.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

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
  text.fields +=
      ("  using " + field + " = " + storageName(element) + ";\n").str();
}

void ProblemText::addConstants(
    StringRef type, ArrayRef<std::pair<StringRef, int64_t>> constants) {
  text.fields += constantsText(type, constants);
}

void ProblemText::addField(const Twine &declaration) {
  text.fields += ("  " + declaration + "\n").str();
}

std::string ProblemText::endOperands(const nn::Epilogue &epilogue) const {
  if (!epilogue.isExtended())
    return "";
  auto *norm = epilogue.find<nn::stage::Norm>();
  std::string last = epilogue.secondStore()               ? "nullptr, y1}"
                     : epilogue.find<nn::stage::Reduce>() ? "y1}"
                                                          : "nullptr}";
  return ", {" + parameter(norm ? norm->moments : nullptr) + ", " +
         parameter(norm ? norm->column : nullptr) + ", " + last;
}

void ProblemText::addGemm(const nn::GemmInfo &info) {
  addType("A", info.a);
  addType("B", info.b);
  addType("D", nullptr);
  addType("Bias", info.epilogue.bias());
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
  addType("Bias", info.epilogue.bias());
  addConstants("int", {{"n", info.n},
                       {"k", info.k},
                       {"p", info.p},
                       {"q", info.q},
                       {"groups", info.groups}});
  addWindows(info);
  addConstants("bool", {{"channelsLast", info.channelsLast}});
}

void ProblemText::addAddend(const nn::ConvInfo &addend) {
  std::swap(text.fields, addendFields);
  addWindows(addend);
  std::swap(text.fields, addendFields);
}

std::string ProblemText::definition() const {
  std::string all =
      text.definitions + "struct " + problem() + " {\n" + text.fields + "};\n";
  if (!addendFields.empty())
    all += "struct " + addend() + " : " + problem() + " {\n" + addendFields +
           "};\n";
  return all;
}
