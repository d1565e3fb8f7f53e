//===- EmitAttention.cpp - Own attention ----------------------------------===//
//
// A problem for attention.cuh and its launch; the header says what each must
// be. What moves Q, K, V, the mask and the result becomes strides.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/EmitAttention.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Multiprocessors of the devices that matter most; any number works.
static constexpr int64_t kMultiprocessors = 132;
/// Elements of a piece of 16 bytes, in which rows are copied.
static constexpr int64_t kPiece = 8;
static constexpr int64_t kMaxSize = 256;

//===----------------------------------------------------------------------===//
// What the skeleton takes
//===----------------------------------------------------------------------===//

/// "sm_90a" is 90.
static int64_t architectureOf(const CudaOptions &options) {
  StringRef digits = StringRef(options.arch).drop_while([](char c) {
    return !llvm::isDigit(c);
  });
  int64_t number = 0;
  digits.consumeInteger(10, number);
  return number;
}

/// What a block may have of shared memory (CUDA C++ Programming Guide, "Feature
/// Availability").
static int64_t maxShared(const CudaOptions &options) {
  int64_t arch = architectureOf(options);
  if (arch >= 120 || arch == 86 || arch == 89)
    return 99 << 10;
  return (arch >= 90 ? 227 : 163) << 10;
}

static bool isTwoBytes(Type element) {
  return element.isF16() || element.isBF16();
}

bool frit::cuda::takesAttention(nn::AttentionOp op,
                                const CudaOptions &options) {
  for (Value v : op->getOperands())
    if (!nn::tensorType(v).hasStaticShape() ||
        nn::tensorType(v).getNumElements() == 0)
      return false;
  if (Value mask = op.getMask()) {
    Type element = nn::tensorType(mask).getElementType();
    if (!isTwoBytes(element) && !element.isF32() && !element.isInteger(1))
      return false;
  }
  int64_t size = nn::shapeOf(op.getQ()).back();
  int64_t valueSize = nn::shapeOf(op.getV()).back();
  return architectureOf(options) >= 80 &&
         isTwoBytes(nn::tensorType(op.getQ()).getElementType()) &&
         size % kPiece == 0 && valueSize % kPiece == 0 &&
         std::max(size, valueSize) <= kMaxSize;
}

bool frit::cuda::takesAttentionView(Type element,
                                    const nn::StridedPlaces &places) {
  auto isPieces = [](int64_t elements) { return elements % kPiece == 0; };
  return isTwoBytes(element) && places.strides.back() == 1 &&
         isPieces(places.offset) &&
         llvm::all_of(ArrayRef(places.strides).drop_back(), isPieces);
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

namespace {
/// The tiles of attention.cuh.
struct AttentionTile {
  int64_t m, rowsPerWarp, n, splits;

  int64_t threads() const { return 32 * splits * m / rowsPerWarp; }
  int64_t sharedBytes(const nn::AttentionInfo &info) const;
};
} // namespace

static int64_t fragments(int64_t elements) {
  return ceilDiv(elements, 16) * 16;
}

int64_t AttentionTile::sharedBytes(const nn::AttentionInfo &info) const {
  auto pitch = [](int64_t size) { return (fragments(size) / 8 + 1) * 16; };
  int64_t held = n * splits, stages = info.keys > held ? 2 : 1;
  int64_t keys = stages * held * (pitch(info.size) + pitch(info.valueSize));
  int64_t joined = (splits - 1) * rowsPerWarp / 16 *
                   (fragments(info.valueSize) / 2 + 4) * threads() / splits *
                   int64_t(sizeof(float));
  return m * pitch(std::max(info.size, info.valueSize)) +
         std::max(keys, joined);
}

/// Many queries make large tiles pay, which read the keys less often. Few must
/// be spread over the device, the keys of one block over more warps.
static AttentionTile chooseTile(const nn::AttentionInfo &info, int64_t shared) {
  int64_t heads = info.batch * info.heads;
  int64_t size = std::max(info.size, info.valueSize);
  int64_t rows = std::min<int64_t>(fragments(info.queries), 64);
  int64_t blocks = heads * ceilDiv(info.queries, 64);
  AttentionTile tile = {rows, 16, 64, 1};
  if (size > 128) {
    tile.n = 32;
  } else if (blocks >= 4 * kMultiprocessors) {
    if (info.queries > 64)
      tile = {128, 32, 64, 1};
  } else {
    if (2 * blocks < kMultiprocessors)
      tile.m = std::min<int64_t>(rows, 32);
    tile.splits = tile.m > 16 ? 2 : 4;
    int64_t share = fragments(ceilDiv(info.keys, tile.splits));
    if (size <= 64)
      tile.n = share <= 112 ? share : info.keys % (96 * tile.splits) ? 64 : 96;
  }
  while (tile.sharedBytes(info) > shared && tile.n > 16)
    tile.n = fragments(tile.n / 2);
  return tile;
}

/// The strides of an operand whose rows are copied in pieces.
static bool isAligned(const nn::AttentionOperand &operand) {
  return operand.strides[3] <= 1 && operand.offset % kPiece == 0 &&
         llvm::all_of(ArrayRef(operand.strides).drop_back(),
                      [](int64_t stride) { return stride % kPiece == 0; });
}

/// What a fusion computes, or why attention.cuh does not.
static FailureOr<nn::AttentionInfo> describe(nn::FusionOp fusion,
                                             std::string &reason) {
  auto info = nn::describeAttention(fusion, reason);
  if (failed(info))
    return failure();
  if (!isAligned(info->q) || !isAligned(info->k) || !isAligned(info->v) ||
      !isAligned(info->result)) {
    reason = "its rows are not in pieces of 16 bytes";
    return failure();
  }
  return info;
}

nn::ScheduleAttr frit::cuda::scheduleAttention(nn::FusionOp fusion,
                                               const CudaOptions &options) {
  AttentionTile tile = {64, 16, 64, 1};
  std::string reason; // told by the emitter
  auto info = describe(fusion, reason);
  if (succeeded(info))
    tile = chooseTile(*info, maxShared(options));
  return nn::ScheduleAttr::get(
      fusion.getContext(), nn::Skeleton::attention, /*vector=*/1,
      tile.threads(), /*perThread=*/1, /*library=*/false, tile.m, tile.n,
      /*tileK=*/0, /*stages=*/0, /*cluster=*/1, tile.splits);
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

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
                              const Lowered &lowered) {
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
  text += constants("int", {{"tileM", tile.m},
                            {"rowsPerWarp", tile.rowsPerWarp},
                            {"tileN", tile.n},
                            {"splits", tile.splits}});
  return text + "};\n";
}

FailureOr<KernelText> frit::cuda::emitAttention(nn::FusionOp fusion,
                                                const Lowered &lowered,
                                                StringRef name,
                                                nn::ScheduleAttr schedule,
                                                std::string &failure) {
  auto info = describe(fusion, failure);
  if (failed(info))
    return llvm::failure();
  int64_t split = schedule.getSplit();
  AttentionTile tile = {schedule.getTileM(),
                        32 * split * schedule.getTileM() /
                            schedule.getThreads(),
                        schedule.getTileN(), split};
  auto pointer = [](const nn::AttentionOperand &operand) {
    std::string text = "x" + std::to_string(operand.argument.getArgNumber());
    return operand.offset ? text + " + " + std::to_string(operand.offset)
                          : text;
  };
  std::string problem = (name + "_problem").str();
  std::string call =
      "frit::attention<" + problem + ">(" + pointer(info->q) + ", " +
      pointer(info->k) + ", " + pointer(info->v) + ", " +
      (info->mask ? pointer(*info->mask) : "nullptr") + ", y0" +
      (info->result.offset ? " + " + std::to_string(info->result.offset) : "") +
      ");\n";
  KernelText kernel;
  kernel.header = "attention";
  kernel.grid[0] = info->batch * info->heads * ceilDiv(info->queries, tile.m);
  kernel.block[0] = tile.threads();
  kernel.sharedBytes = tile.sharedBytes(*info);
  kernel.source = definition(problem, *info, tile, lowered) +
                  kernelFunction(name, lowered, tile.threads(), call,
                                 /*mapCount=*/0, Waits::inSkeleton);
  return kernel;
}
