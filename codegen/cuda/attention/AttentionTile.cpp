//===- AttentionTile.cpp - Tiles of frit's attention kernels --------------===//

#include "codegen/cuda/attention/AttentionTile.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Copies of rows have this many bytes.
static constexpr int64_t kPieceBytes = 16;
/// Maximum head sizes: for 16-bit elements, for f32, and for WGMMA, whose
/// fallback has no more shared memory (attentionFloor).
static constexpr int64_t kMaxSize = 256, kMaxSingleSize = 128,
                         kMaxWgmmaSize = 176;
/// Maximum blocks per SM: more of them gain nothing.
static constexpr int64_t kMostOccupancy = 3;

//===----------------------------------------------------------------------===//
// Supported problems
//===----------------------------------------------------------------------===//

static int64_t bytesOf(Type element) { return isHalf(element) ? 2 : 4; }

int64_t frit::cuda::elementBytes(const nn::AttentionInfo &info) {
  nn::AttentionOp op = info.op;
  return bytesOf(nn::tensorType(op.getQ()).getElementType());
}

static Type elementOf(const nn::AttentionInfo &info) {
  nn::AttentionOp op = info.op;
  return nn::tensorType(op.getQ()).getElementType();
}

bool frit::cuda::takesAttention(nn::AttentionOp op) {
  if (!haveElements(op->getOperands()))
    return false;
  if (Value mask = op.getMask()) {
    Type element = nn::tensorType(mask).getElementType();
    if (!isHalf(element) && !element.isF32() && !element.isInteger(1) &&
        !nn::hasRanges(mask))
      return false;
  }
  int64_t size = nn::shapeOf(op.getQ()).back();
  int64_t valueSize = nn::shapeOf(op.getV()).back();
  Type element = nn::tensorType(op.getQ()).getElementType();
  int64_t piece = kPieceBytes / bytesOf(element);
  return (isHalf(element) || element.isF32()) && size % piece == 0 &&
         valueSize % piece == 0 &&
         std::max(size, valueSize) <=
             (element.isF32() ? kMaxSingleSize : kMaxSize);
}

bool frit::cuda::takesAttentionView(Type element,
                                    const nn::StridedPlaces &places) {
  auto isPieces = [&](int64_t elements) {
    return elements * bytesOf(element) % kPieceBytes == 0;
  };
  return (isHalf(element) || element.isF32()) && places.strides.back() == 1 &&
         isPieces(places.offset) &&
         llvm::all_of(ArrayRef(places.strides).drop_back(), isPieces);
}

bool frit::cuda::takesGradientMask(nn::AttentionGradOp op) {
  Value mask = op.getMask();
  if (!mask)
    return true;
  Type element = nn::tensorType(mask).getElementType();
  return (isHalf(element) || element.isF32()) &&
         nn::shapeOf(mask).back() == nn::shapeOf(op.getK())[2];
}

bool frit::cuda::takesGradientView(Type element,
                                   const nn::StridedPlaces &places) {
  for (auto [size, stride] : llvm::zip(places.shape, places.strides))
    if (size > 1 && stride == 0)
      return false;
  return takesAttentionView(element, places);
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

int64_t AttentionTile::threads() const {
  return usesWgmma()
             ? WgmmaAttentionLayout{0, 0, m, n, splits, stages}.threads()
             : 32 * splits * m / rowsPerWarp;
}

int64_t AttentionTile::sharedBytes(const nn::AttentionInfo &info) const {
  if (usesWgmma())
    return layout(info).sharedBytes();
  // As in AttentionShape of attention.cuh.
  int64_t bytes = bytesOf(elementOf(info)), step = 2 * kPieceBytes / bytes;
  auto pitch = [&](int64_t size) { return size * bytes + kPieceBytes; };
  int64_t size = roundUp(info.size, step);
  int64_t valueSize = roundUp(info.valueSize, bytes == 4 ? 32 : 16);
  int64_t keys = std::min(held, stagesOfBlock(info)) * n * splits *
                 (pitch(size) + pitch(valueSize));
  int64_t sets = hasColumns() ? splits : splits > 1 ? splits - 1 : cluster > 1;
  int64_t floats =
      hasColumns() ? valueSize / 4 + 2 : rowsPerWarp / 16 * (valueSize / 2 + 4);
  int64_t joined = sets * floats * threads() / splits * int64_t(sizeof(float));
  return m * pitch(bytes == 4 ? size : std::max(size, valueSize)) +
         std::max(keys, joined);
}

int64_t AttentionTile::tiles(const nn::AttentionInfo &info) const {
  return info.batch * info.heads * ceilDiv(info.queries, m) * cluster;
}

bool AttentionTile::hasRegisters(const nn::AttentionInfo &info, int64_t blocks,
                                 const GpuArch &arch) const {
  // Per thread: the scores of a tile's keys in f32, their weights in 16 bits,
  // the accumulators, the mask's addends, and a few more.
  int64_t needed =
      n / 2 + n / 4 + WgmmaAttentionLayout::columns(info.valueSize) / 2 + 32;
  if (info.mask)
    needed += info.mask->strides[2] ? 12 : n / 4;
  // The producer warpgroup of wgmma_attention.cuh keeps 24 registers.
  int64_t groups = threads() / 128;
  int64_t equal = arch.registersFor(threads() * blocks);
  return (equal * groups - 24) / (groups - 1) / 8 * 8 >= needed;
}

AttentionTile AttentionTile::withOccupancy(const nn::AttentionInfo &info,
                                           const GpuArch &arch) const {
  AttentionTile tile = *this;
  tile.occupancy = kMostOccupancy;
  while (tile.occupancy > 1 &&
         (!hasRegisters(info, tile.occupancy, arch) ||
          layout(info).leastBytes() > arch.sharedFor(tile.occupancy)))
    --tile.occupancy;
  tile.blocks = arch.persistentBlocks(tiles(info), tile.occupancy);
  return tile;
}

//===----------------------------------------------------------------------===//
// Problems
//===----------------------------------------------------------------------===//

/// Returns whether TMA can read an operand with these dimensions.
static bool hasMap(const nn::AttentionOperand &operand, int64_t batch,
                   int64_t heads, int64_t rows) {
  const int64_t sizes[] = {batch, heads, rows};
  for (int dim = 0; dim < 3; ++dim)
    if (sizes[dim] > 1 && operand.strides[dim] <= 0)
      return false;
  return true;
}

bool frit::cuda::haveMaps(const nn::AttentionInfo &info) {
  return hasMap(info.q, info.batch, info.heads, info.queries) &&
         hasMap(info.k, info.batch, info.groups, info.keys) &&
         hasMap(info.v, info.batch, info.groups, info.keys) &&
         hasMap(info.result, info.batch, info.heads, info.queries);
}

bool frit::cuda::readsManyKeys(const nn::AttentionInfo &info) {
  constexpr int64_t fewRows = 16, manyKeys = 256;
  return info.queries <= fewRows && info.keys >= manyKeys && !info.causal;
}

bool frit::cuda::takesColumns(const nn::AttentionInfo &info) {
  nn::AttentionOp op = info.op;
  Value mask = op.getMask();
  return isHalf(elementOf(info)) && (!mask || nn::hasRanges(mask));
}

bool frit::cuda::usesWgmmaAttention(const nn::AttentionInfo &info,
                                    const Machine &machine) {
  int64_t size = std::max(info.size, info.valueSize);
  return machine.arch.mma == Mma::wgmma && !machine.batchInvariant &&
         isHalf(elementOf(info)) && size > 32 && size <= kMaxWgmmaSize &&
         haveMaps(info) && !readsManyKeys(info) && !info.appends();
}

/// Returns whether rows of an operand can be copied in pieces of 16 bytes.
static bool isAligned(const nn::AttentionOperand &operand, Type element) {
  int64_t piece = kPieceBytes / bytesOf(element);
  return operand.strides[3] <= 1 && operand.offset % piece == 0 &&
         llvm::all_of(ArrayRef(operand.strides).drop_back(),
                      [&](int64_t stride) { return stride % piece == 0; });
}

/// Makes one head of those that share keys and values: its rows are their
/// queries. Then a block reads the keys once for all of them.
static void packHeads(nn::AttentionInfo &info) {
  int64_t shared = info.heads / info.groups;
  if (info.queries != 1 || shared == 1 || info.causal)
    return;
  auto pack = [&](nn::AttentionOperand &operand) {
    operand.strides[2] = operand.strides[1];
    operand.strides[1] *= shared;
  };
  pack(info.q);
  pack(info.result);
  if (info.mask)
    pack(*info.mask);
  info.heads = info.groups;
  info.queries = shared;
}

nn::Match<nn::AttentionInfo>
frit::cuda::describeKernelAttention(Problem &problem) {
  nn::Match<nn::AttentionInfo> info = problem.attention();
  if (!info)
    if (auto appending = nn::describeAppendingAttention(problem.fusion()))
      info = appending;
  if (!info)
    return info;
  const nn::AttentionOperand *operands[] = {&info->q, &info->k, &info->v,
                                            &info->result};
  Type element = elementOf(*info);
  if (!llvm::all_of(operands, [&](const nn::AttentionOperand *operand) {
        return isAligned(*operand, element);
      }))
    return nn::Mismatch("its rows are not in pieces of 16 bytes");
  nn::AttentionInfo packed = *info;
  packHeads(packed);
  return packed;
}
