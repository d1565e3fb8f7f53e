//===- EmitAttention.cpp - Own attention ----------------------------------===//
//
// Problems for attention.cuh and wgmma_attention.cuh and their launches; the
// headers say what each must be. What moves Q, K, V, the mask and the result
// becomes strides.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/attention/EmitAttention.h"

#include "codegen/cuda/contraction/Wgmma.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// "  using Q = frit::Strides<24576, 64, 192>;".
static std::string stridesText(StringRef name, ArrayRef<int64_t> strides) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "  using " << name << " = frit::Strides<";
  llvm::interleaveComma(strides, os);
  os << ">;\n";
  return text;
}

static std::string definition(StringRef name, nn::AttentionInfo &info,
                              const AttentionTile &tile,
                              const LinalgFusion &lowered) {
  auto storage = [&](const nn::AttentionOperand &operand) {
    return storageName(
        lowered.inputElements()[operand.argument.getArgNumber()]);
  };
  auto constants =
      [](StringRef type,
         ArrayRef<std::pair<StringRef, int64_t>> fields) -> std::string {
    std::string text;
    llvm::raw_string_ostream os(text);
    os << "  static constexpr " << type << " ";
    llvm::interleaveComma(fields, os, [&](const auto &field) {
      os << field.first << " = " << field.second;
    });
    os << ";\n";
    return text;
  };
  std::string text = ("struct " + name + " {\n").str();
  text += ("  using T = " + storage(info.q) + ";\n").str();
  nn::AttentionOp op = info.op;
  if (nn::tensorType(op.getQ()).getElementType().isF32())
    text += "  static constexpr bool tf32 = " +
            std::string(op.getTf32() ? "true" : "false") + ";\n";
  text +=
      ("  using Mask = " + (info.mask ? storage(*info.mask) : "void") + ";\n")
          .str();
  text += constants(
      "int",
      {{"batch", info.batch}, {"heads", info.heads}, {"groups", info.groups}});
  text += constants("int", {{"queries", info.queries},
                            {"keys", info.keys},
                            {"size", info.size},
                            {"valueSize", info.valueSize}});
  text += "  static constexpr float scale = " +
          literal(info.op.getScaleAttr(), info.op.getScaleAttr().getType()) +
          ";\n";
  text += ("  static constexpr bool causal = " +
           StringRef(info.causal ? "true" : "false") + ";\n")
              .str();
  text += constants("int", {{"causalOffset", 0}});
  std::pair<StringRef, const nn::AttentionOperand *> operands[] = {
      {"Q", &info.q}, {"K", &info.k}, {"V", &info.v}, {"O", &info.result}};
  for (auto [field, operand] : operands)
    text += stridesText(field, ArrayRef(operand->strides).drop_back());
  const int64_t none[4] = {0, 0, 0, 0};
  text += stridesText("M", info.mask ? info.mask->strides : none);
  text += constants(
      "int", {{"tileM", tile.m}, {"tileN", tile.n}, {"splits", tile.splits}});
  if (tile.usesWgmma())
    text += constants(
        "int", {{"stages", tile.stages}, {"blocks", tile.resident(info)}});
  else
    text += constants("int", {{"rowsPerWarp", tile.rowsPerWarp}});
  return text + "};\n";
}

/// What a warp of wgmma_attention.cuh stores at once.
static constexpr int64_t kStoredLines = 16;

/// A map of Q, K, V or O: boxes of 64 elements by `lines` rows of a head.
static TensorMap operandMap(const nn::AttentionOperand &operand,
                            unsigned argument, Type element,
                            ArrayRef<int64_t> dims, int64_t lines) {
  const int64_t bytes = 2;
  TensorMap map;
  map.argument = argument;
  map.offset = operand.offset * bytes;
  map.type = element;
  map.dims.assign(dims.begin(), dims.end());
  // Of a dimension of size 1 any stride is right.
  for (int dim : {2, 1, 0}) {
    int64_t stride = operand.strides[dim];
    map.strides.push_back(stride ? stride * bytes : kLineBytes);
  }
  map.box = {kLineBytes / bytes, lines, 1, 1};
  map.swizzle = kLineBytes;
  return map;
}

FailureOr<KernelText> frit::cuda::emitAttention(nn::FusionOp fusion,
                                                const LinalgFusion &lowered,
                                                StringRef name,
                                                nn::ScheduleAttr schedule,
                                                std::string &failure) {
  auto info = cuda::describeAttention(fusion);
  if (!info) {
    failure = info.reason();
    return llvm::failure();
  }
  AttentionTile tile = attentionTileOf(schedule);
  auto pointer = [](StringRef name, int64_t offset) {
    return name.str() + (offset ? " + " + std::to_string(offset) : "");
  };
  auto input = [&](const nn::AttentionOperand &operand) {
    return pointer("x" + std::to_string(operand.argument.getArgNumber()),
                   operand.offset);
  };
  KernelText kernel;
  std::string problem = (name + "_problem").str();
  std::string tensors =
      input(info->q) + ", " + input(info->k) + ", " + input(info->v) + ", ";
  std::string mask = info->mask ? input(*info->mask) : "nullptr";
  std::string rest = mask + ", " + pointer("y0", info->result.offset) + ");\n";
  std::string call = "frit::attention<" + problem + ">(" + tensors + rest;
  kernel.header = "attention";
  if (tile.usesWgmma()) {
    kernel.header = "wgmma_attention";
    Type element = elementType(lowered.outputs()[0]);
    auto add = [&](const nn::AttentionOperand &operand, int64_t size,
                   int64_t rows, int64_t heads, int64_t lines) {
      unsigned argument = operand.argument ? operand.argument.getArgNumber()
                                           : lowered.inputElements().size();
      kernel.tensorMaps.push_back(operandMap(
          operand, argument, element, {size, rows, heads, info->batch}, lines));
    };
    add(info->q, info->size, info->queries, info->heads, tile.m);
    add(info->k, info->size, info->keys, info->groups, tile.n);
    add(info->v, info->valueSize, info->keys, info->groups, tile.n);
    add(info->result, info->valueSize, info->queries, info->heads,
        kStoredLines);
    call = "#ifdef FRIT_HAS_WGMMA\nfrit::wgmmaAttention<" + problem +
           ">(&m0, &m1, &m2, &m3, " + mask +
           ");\n#else\nfrit::attentionFloor<" + problem + ">(" + tensors +
           rest + "#endif\n";
  }
  kernel.grid[0] = tile.blocks(*info);
  kernel.block[0] = tile.threads();
  kernel.sharedBytes = tile.sharedBytes(*info);
  kernel.source = definition(problem, *info, tile, lowered) +
                  kernelFunction(name, lowered, tile.threads(), call,
                                 kernel.tensorMaps.size(), Waits::inSkeleton,
                                 /*cluster=*/1,
                                 tile.usesWgmma() ? tile.resident(*info) : 0);
  return kernel;
}
