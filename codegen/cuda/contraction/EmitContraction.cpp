//===- EmitContraction.cpp - Own matrix products and convolutions ---------===//
//
// A struct of constants that says what is multiplied, given to the gemm or conv
// skeleton. An elementwise function after the sum becomes its epilogue.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/contraction/EmitContraction.h"

#include "codegen/cuda/contraction/EmitConvB2b.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

static constexpr int64_t kMaxGridYZ = 65535;

//===----------------------------------------------------------------------===//
// Epilogues
//===----------------------------------------------------------------------===//

/// Statements that return the fusion's result where some of its values are
/// known by name.
static FailureOr<std::string>
epilogueBody(const nn::EpilogueInfo &info, const LinalgFusion &lowered,
             ArrayRef<std::pair<Value, StringRef>> known, StringRef first,
             std::string &failure) {
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
  if (!graph.failure().empty()) {
    failure = graph.failure();
    return llvm::failure();
  }
  Printer printer(graph);
  if (!first.empty())
    printer.line(first);
  printer.expect(result);
  printer.line("return " + printer.value(result) + ";");
  return printer.str(4);
}

/// The skeletons' functor for an activation of `result`, or nothing.
static StringRef knownEpilogue(nn::ActivationKind kind, Type result) {
  bool exact =
      kind == nn::ActivationKind::none || kind == nn::ActivationKind::relu;
  if (result.isF64() && !exact)
    return "";
  switch (kind) {
  case nn::ActivationKind::none:
    return "frit::Identity";
  case nn::ActivationKind::relu:
    return "frit::Relu";
  case nn::ActivationKind::geluTanh:
    return "frit::GeluTanh";
  case nn::ActivationKind::gelu:
    return result.getIntOrFloatBitWidth() == 16 ? "frit::GeluTo16Bits"
                                                : "frit::Gelu";
  case nn::ActivationKind::silu:
    return "frit::Silu";
  case nn::ActivationKind::other:
    break;
  }
  return "";
}

LogicalResult ProblemText::addEpilogue(const nn::EpilogueInfo &info,
                                       std::string &failure, StringRef field) {
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
    auto body = epilogueBody(info, lowered, known, first, failure);
    if (failed(body))
      return llvm::failure();
    epilogue = name.str() + "_epilogue";
    functor = "struct " + epilogue + " {\n  __device__ " + type +
              " operator()(" + parameters + ") const {\n" + *body + "  }\n};\n";
  }
  fields += ("  using " + field + " = " + epilogue + ";\n").str();
  return success();
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
    addConstants("bool", {{"resultMoments", true}});
}

std::string ProblemText::normParameters(const nn::EpilogueInfo &info) const {
  if (!info.hasMoments())
    return "";
  return ", {" + parameter(info.moments) + ", " + parameter(info.column) +
         ", " + (info.resultMoments ? "y1}" : "nullptr}");
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

KernelText frit::cuda::emitMergeMoments(nn::FusionOp fusion,
                                        const LinalgFusion &lowered,
                                        StringRef name,
                                        nn::ScheduleAttr schedule) {
  auto merge = cast<nn::MergeMomentsOp>(fusion.getAnchor());
  ArrayRef<int64_t> shape = nn::shapeOf(merge.getX());
  int64_t parts = shape.end()[-2];
  int64_t rows = nn::tensorType(merge.getX()).getNumElements() / (2 * parts);
  int64_t threads = schedule.getThreads();
  constexpr int64_t lanes = 4;
  KernelText kernel;
  kernel.header = "norm";
  kernel.block[0] = threads;
  kernel.grid[0] = ceilDiv(rows * lanes, threads);
  kernel.source =
      kernelFunction(name, lowered, threads,
                     llvm::formatv("frit::mergeRows<{0}, {1}, {2}>(x0, y0);\n",
                                   rows, parts, merge.getWidth())
                         .str());
  return kernel;
}

//===----------------------------------------------------------------------===//
// Kernels for every architecture
//===----------------------------------------------------------------------===//

/// Launches a kernel of gemm.cuh or conv.cuh over rows × cols in its tiles.
static void launchTiles(KernelText &kernel, nn::ScheduleAttr schedule,
                        int64_t rows, int64_t cols, int64_t batch,
                        bool rowsFirst) {
  int64_t m = ceilDiv(rows, schedule.getTileM());
  int64_t n = ceilDiv(cols, schedule.getTileN());
  kernel.grid[0] = rowsFirst ? m : n;
  kernel.grid[1] = std::min<int64_t>(rowsFirst ? n : m, kMaxGridYZ);
  kernel.grid[2] = std::min(batch, kMaxGridYZ);
  kernel.block[0] = 256;
}

static FailureOr<KernelText>
emitTiles(StringRef skeleton, ProblemText &text, const nn::EpilogueInfo &info,
          Value a, Value b, const LinalgFusion &lowered, StringRef name,
          nn::ScheduleAttr schedule, std::string &failure) {
  if (failed(text.addEpilogue(info, failure)))
    return llvm::failure();
  text.addConstants(
      "int", {{"tileM", schedule.getTileM()}, {"tileN", schedule.getTileN()}});
  KernelText kernel;
  kernel.header = skeleton;
  std::string call = ("frit::" + skeleton + "<").str() + text.problem() + ">(" +
                     text.parameter(a) + ", " + text.parameter(b) + ", " +
                     text.parameter(info.bias) + ", " +
                     text.parameter(info.residual) + ", y0);\n";
  kernel.source = text.definition() + kernelFunction(name, lowered, 256, call);
  return kernel;
}

FailureOr<KernelText> frit::cuda::emitContraction(nn::FusionOp fusion,
                                                  const LinalgFusion &lowered,
                                                  StringRef name,
                                                  nn::ScheduleAttr schedule,
                                                  std::string &failure) {
  bool wgmma = schedule.getSkeleton() == nn::Skeleton::wgmma_gemm ||
               schedule.getSkeleton() == nn::Skeleton::wgmma_conv;
  if (schedule.getSkeleton() == nn::Skeleton::conv_b2b)
    return emitConvB2b(fusion, lowered, name, failure);
  ProblemText text(lowered, name);
  FailureOr<KernelText> kernel = llvm::failure();
  if (isa_and_nonnull<nn::ConvOp>(fusion.getAnchor())) {
    auto info = nn::describeConvolution(fusion);
    if (!info) {
      failure = info.reason();
      return llvm::failure();
    }
    if (wgmma)
      return emitWgmmaConv(*info, lowered, name, schedule, failure);
    text.addConv(*info);
    kernel = emitTiles("conv", text, *info, info->x, info->w, lowered, name,
                       schedule, failure);
    if (succeeded(kernel))
      launchTiles(*kernel, schedule, info->n * info->p * info->q,
                  info->k / info->groups, info->groups, /*rowsFirst=*/true);
    return kernel;
  }
  auto info = nn::describeGemm(fusion);
  if (!info) {
    failure = info.reason();
    return llvm::failure();
  }
  if (wgmma)
    return emitWgmmaGemm(*info, lowered, name, schedule, failure);
  text.addGemm(*info);
  kernel = emitTiles("gemm", text, *info, info->a, info->b, lowered, name,
                     schedule, failure);
  if (succeeded(kernel))
    launchTiles(*kernel, schedule, info->m, info->n, info->batch,
                /*rowsFirst=*/false);
  return kernel;
}
