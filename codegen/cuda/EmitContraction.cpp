//===- EmitContraction.cpp - Own matrix products and convolutions
//-------------===//
//
// A struct of constants that says what is multiplied, given to the gemm or conv
// skeleton. An elementwise function after the sum becomes its epilogue.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/Emit.h"

#include "dialects/nn/ContractionInfo.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

static constexpr int64_t kMaxGridYZ = 65535;

static unsigned argumentOf(Value v) {
  return cast<BlockArgument>(v).getArgNumber();
}

static std::string parameter(Value v) {
  return v ? "x" + std::to_string(argumentOf(v)) : "nullptr";
}

/// The name of the functor that ends a kernel, its definition being added to
/// `source` where the skeletons have none.
static FailureOr<std::string> epilogue(const nn::EpilogueInfo &info,
                                       const Lowered &lowered, StringRef name,
                                       std::string &source,
                                       std::string &failure) {
  switch (info.activation) {
  case nn::ActivationKind::none:
    return std::string("frit::Identity");
  case nn::ActivationKind::relu:
    return std::string("frit::Relu");
  case nn::ActivationKind::geluTanh:
    return std::string("frit::GeluTanh");
  case nn::ActivationKind::gelu:
    return std::string("frit::Gelu");
  case nn::ActivationKind::silu:
    return std::string("frit::Silu");
  case nn::ActivationKind::other:
    break;
  }
  Graph graph(lowered.context());
  Value sum = lowered[info.sum];
  Node *x = graph.given(valueType(elementType(sum)), "x", 0);
  graph.give(sum, [&](ArrayRef<AffineExpr>) { return x; });
  AffineExpr i = graph.space.addDim(rankedType(sum).getNumElements());
  Node *result = graph.elementAt(lowered[info.result], i);
  if (!graph.failure().empty()) {
    failure = graph.failure();
    return llvm::failure();
  }
  Printer printer(graph);
  printer.expect(result);
  printer.line("return " + printer.value(result) + ";");
  std::string type = valueName(x->type).str();
  source +=
      ("struct " + name + "_epilogue {\n  __device__ " + type + " operator()(" +
       type + " x) const {\n" + printer.str(4) + "  }\n};\n")
          .str();
  return (name + "_epilogue").str();
}

/// "  static constexpr int64_t m = 8, n = 4;" from pairs of name and value.
static std::string constants(StringRef type,
                             ArrayRef<std::pair<StringRef, int64_t>> fields) {
  std::string text = ("  static constexpr " + type + " ").str();
  for (auto [i, field] : llvm::enumerate(fields))
    text += (i ? ", " : "") + field.first.str() + " = " +
            (type == "bool" ? (field.second ? "true" : "false")
                            : std::to_string(field.second));
  return text + ";\n";
}

/// Tiles of 128 where they still give every multiprocessor one.
static int64_t tileFor(int64_t m, int64_t n, int64_t batch) {
  int64_t large = ceilDiv(m, 128) * ceilDiv(n, 128) * batch;
  return m >= 128 && n >= 128 && large >= 132 ? 128 : 64;
}

static FailureOr<KernelText> emitGemm(const nn::GemmInfo &info,
                                      const Lowered &lowered, StringRef name,
                                      std::string &failure) {
  KernelText kernel;
  kernel.header = "gemm";
  auto functor = epilogue(info, lowered, name, kernel.source, failure);
  if (failed(functor))
    return llvm::failure();
  auto typeName = [&](Value v) {
    return storageName(lowered.inputElements()[argumentOf(v)]).str();
  };
  std::string d = storageName(elementType(lowered.outputs()[0])).str();
  int64_t tile = tileFor(info.m, info.n, info.batch);
  std::string problem = name.str() + "_problem";
  kernel.source +=
      "struct " + problem + " {\n  using A = " + typeName(info.a) +
      ";\n  using B = " + typeName(info.b) + ";\n  using D = " + d +
      ";\n  using Bias = " + (info.bias ? typeName(info.bias) : d) + ";\n" +
      constants("int64_t", {{"m", info.m},
                            {"n", info.n},
                            {"k", info.k},
                            {"batch", info.batch}}) +
      constants("int64_t",
                {{"lda", info.lda}, {"ldb", info.ldb}, {"ldd", info.ldd}}) +
      constants("int64_t", {{"strideA", info.strideA},
                            {"strideB", info.strideB},
                            {"strideD", info.strideD}}) +
      constants("bool", {{"transposeA", info.transposeA},
                         {"transposeB", info.transposeB}}) +
      "  using Epilogue = " + *functor + ";\n" +
      constants("int", {{"tileM", tile}, {"tileN", tile}}) + "};\n";
  std::string call = "frit::gemm<" + problem + ">(" + parameter(info.a) + ", " +
                     parameter(info.b) + ", " + parameter(info.bias) + ", " +
                     parameter(info.residual) + ", y0);\n";
  kernel.source += kernelFunction(name, lowered, 256, call);
  kernel.grid[0] = ceilDiv(info.n, tile);
  kernel.grid[1] = std::min<int64_t>(ceilDiv(info.m, tile), kMaxGridYZ);
  kernel.grid[2] = std::min(info.batch, kMaxGridYZ);
  kernel.block[0] = 256;
  return kernel;
}

static FailureOr<KernelText> emitConv(const nn::ConvInfo &info,
                                      const Lowered &lowered, StringRef name,
                                      std::string &failure) {
  KernelText kernel;
  kernel.header = "conv";
  auto functor = epilogue(info, lowered, name, kernel.source, failure);
  if (failed(functor))
    return llvm::failure();
  int64_t pixels = info.n * info.p * info.q, filters = info.k / info.groups;
  int64_t tile = tileFor(pixels, filters, info.groups);
  std::string problem = name.str() + "_problem";
  kernel.source +=
      "struct " + problem + " {\n  using T = " +
      storageName(elementType(lowered.outputs()[0])).str() + ";\n" +
      constants(
          "int",
          {{"n", info.n}, {"c", info.c}, {"h", info.h}, {"w", info.width}}) +
      constants("int", {{"k", info.k}, {"r", info.r}, {"s", info.s}}) +
      constants("int", {{"p", info.p}, {"q", info.q}}) +
      constants("int", {{"strideH", info.strideH},
                        {"strideW", info.strideW},
                        {"dilationH", info.dilationH},
                        {"dilationW", info.dilationW}}) +
      constants("int", {{"padTop", info.padTop},
                        {"padLeft", info.padLeft},
                        {"groups", info.groups}}) +
      constants("bool", {{"channelsLast", info.channelsLast}}) +
      "  using Epilogue = " + *functor + ";\n" +
      constants("int", {{"tileM", tile}, {"tileN", tile}}) + "};\n";
  std::string call = "frit::conv<" + problem + ">(" + parameter(info.x) + ", " +
                     parameter(info.w) + ", " + parameter(info.bias) + ", " +
                     parameter(info.residual) + ", y0);\n";
  kernel.source += kernelFunction(name, lowered, 256, call);
  kernel.grid[0] = ceilDiv(pixels, tile);
  kernel.grid[1] = std::min<int64_t>(ceilDiv(filters, tile), kMaxGridYZ);
  kernel.grid[2] = std::min(info.groups, kMaxGridYZ);
  kernel.block[0] = 256;
  return kernel;
}

FailureOr<KernelText> frit::cuda::emitContraction(nn::FusionOp fusion,
                                                  const Lowered &lowered,
                                                  StringRef name,
                                                  std::string &failure) {
  if (isa_and_nonnull<nn::ConvOp>(fusion.getAnchor())) {
    auto info = nn::describeConvolution(fusion, failure);
    return failed(info) ? FailureOr<KernelText>(llvm::failure())
                        : emitConv(*info, lowered, name, failure);
  }
  auto info = nn::describeGemm(fusion, failure);
  return failed(info) ? FailureOr<KernelText>(llvm::failure())
                      : emitGemm(*info, lowered, name, failure);
}

//===----------------------------------------------------------------------===//
// Schedule
//===----------------------------------------------------------------------===//

nn::ScheduleAttr frit::cuda::scheduleContraction(nn::FusionOp fusion,
                                                 const CudaOptions &options,
                                                 std::string &reason) {
  using Kind = nn::ActivationKind;
  auto get = [&](nn::Skeleton skeleton, bool library) {
    return nn::ScheduleAttr::get(fusion.getContext(), skeleton, 1, 256, 1,
                                 library);
  };
  Type type = nn::tensorType(fusion.getAnchor()->getResult(0)).getElementType();
  bool isFloat = isa<FloatType>(type);
  if (isa<nn::ConvOp>(fusion.getAnchor())) {
    auto info = nn::describeConvolution(fusion, reason);
    if (failed(info))
      return nullptr;
    bool known =
        info->activation == Kind::none || info->activation == Kind::relu;
    return get(nn::Skeleton::conv,
               options.cudnn && known && isFloat && !type.isF64());
  }
  auto info = nn::describeGemm(fusion, reason);
  if (failed(info))
    return nullptr;
  bool known = info->activation == Kind::none ||
               info->activation == Kind::relu ||
               (info->activation == Kind::geluTanh && !type.isF64());
  return get(nn::Skeleton::gemm, options.cublas && known && isFloat);
}
