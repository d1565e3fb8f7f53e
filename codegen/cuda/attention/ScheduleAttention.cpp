//===- ScheduleAttention.cpp - Attention in tiles -------------------------===//
//
// What the attention kernels take, and which tiles of which of the two are
// fastest.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/attention/EmitAttention.h"

#include "codegen/cuda/contraction/EmitContraction.h"
#include "codegen/cuda/target/Tuning.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Multiprocessors of the devices that matter most; any number works.
static constexpr int64_t kMultiprocessors = 132;
/// Rows are copied in pieces of 16 bytes.
static constexpr int64_t kPieceBytes = 16;
static constexpr int64_t kMaxSize = 256, kMaxSingleSize = 128;
static constexpr int64_t kMaxWgmmaSize = 128;
/// What the blocks of a multiprocessor of sm_90 may have of shared memory.
static constexpr int64_t kSharedOfAll = 228 << 10;
static constexpr int64_t kMostResident = 3;
/// Tiles of a causal attention read keys up to those of their last query: only
/// long sequences make up for what large tiles read in vain.
static constexpr int64_t kLongCausal = 2048;

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

static int64_t bytesOf(Type element) { return isTwoBytes(element) ? 2 : 4; }

static Type elementOf(const nn::AttentionInfo &info) {
  nn::AttentionOp op = info.op;
  return nn::tensorType(op.getQ()).getElementType();
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
  Type element = nn::tensorType(op.getQ()).getElementType();
  int64_t piece = kPieceBytes / bytesOf(element);
  return architectureOf(options) >= 80 &&
         (isTwoBytes(element) || element.isF32()) && size % piece == 0 &&
         valueSize % piece == 0 &&
         std::max(size, valueSize) <=
             (element.isF32() ? kMaxSingleSize : kMaxSize);
}

bool frit::cuda::takesAttentionView(Type element,
                                    const nn::StridedPlaces &places) {
  auto isPieces = [&](int64_t elements) {
    return elements * bytesOf(element) % kPieceBytes == 0;
  };
  return (isTwoBytes(element) || element.isF32()) &&
         places.strides.back() == 1 && isPieces(places.offset) &&
         llvm::all_of(ArrayRef(places.strides).drop_back(), isPieces);
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

static int64_t roundUp(int64_t x, int64_t to) { return ceilDiv(x, to) * to; }

int64_t AttentionTile::threads() const {
  return usesWgmma() ? 2 * m * splits + 128 : 32 * splits * m / rowsPerWarp;
}

int64_t AttentionTile::leastShared(const nn::AttentionInfo &info) const {
  int64_t size = roundUp(info.size, 64);
  int64_t valueSize = roundUp(info.valueSize, 64);
  return 2 * (m + stages * n) * (size + valueSize) +
         (splits - 1) * 512 * (valueSize / 2 + 4) + 256;
}

int64_t AttentionTile::sharedBytes(const nn::AttentionInfo &info) const {
  if (usesWgmma()) {
    int64_t least = leastShared(info);
    int64_t more = least + 2 * m * roundUp(info.size, 64);
    return more <= kSharedOfAll / resident(info) - 1024 ? more : least;
  }
  // As AttentionShape has it.
  int64_t bytes = bytesOf(elementOf(info)), step = 2 * kPieceBytes / bytes;
  auto pitch = [&](int64_t size) { return size * bytes + kPieceBytes; };
  int64_t size = roundUp(info.size, step);
  int64_t valueSize = roundUp(info.valueSize, bytes == 4 ? 32 : 16);
  int64_t held = n * splits, parts = info.keys > held ? 2 : 1;
  int64_t keys = parts * held * (pitch(size) + pitch(valueSize));
  int64_t joined = (splits - 1) * rowsPerWarp / 16 * (valueSize / 2 + 4) *
                   threads() / splits * int64_t(sizeof(float));
  return m * pitch(bytes == 4 ? size : std::max(size, valueSize)) +
         std::max(keys, joined);
}

int64_t AttentionTile::tiles(const nn::AttentionInfo &info) const {
  return info.batch * info.heads * ceilDiv(info.queries, m);
}

bool AttentionTile::hasRegisters(const nn::AttentionInfo &info,
                                 int64_t blocks) const {
  // A thread has the products with a tile's keys, as many weights of half the
  // size, its sums, what a mask adds to all rows, and some more.
  int64_t needed = n / 2 + n / 4 + roundUp(info.valueSize, 64) / 2 + 32;
  if (info.mask)
    needed += info.mask->strides[2] ? 12 : n / 4;
  // The registers of wgmma_attention.cuh: those who copy keep 24.
  int64_t groups = threads() / 128;
  int64_t equal = 65536 / (threads() * blocks) / 8 * 8;
  return (equal * groups - 24) / (groups - 1) / 8 * 8 >= needed;
}

int64_t AttentionTile::resident(const nn::AttentionInfo &info) const {
  for (int64_t blocks = kMostResident; blocks > 1; --blocks)
    if (hasRegisters(info, blocks) &&
        blocks * (leastShared(info) + 1024) <= kSharedOfAll)
      return blocks;
  return 1;
}

int64_t AttentionTile::blocks(const nn::AttentionInfo &info) const {
  return usesWgmma() ? std::min(tiles(info), kMultiprocessors * resident(info))
                     : tiles(info);
}

AttentionTile frit::cuda::attentionTileOf(nn::ScheduleAttr schedule) {
  AttentionTile tile;
  tile.m = schedule.getTileM();
  tile.n = schedule.getTileN();
  tile.splits = schedule.getSplit();
  tile.stages = schedule.getStages();
  if (!tile.usesWgmma())
    tile.rowsPerWarp = 32 * tile.splits * tile.m / schedule.getThreads();
  return tile;
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

/// Many queries make large tiles pay, which read the keys less often. Few must
/// be spread over the device, the keys of one block over more warps.
static AttentionTile chooseTile(const nn::AttentionInfo &info, int64_t shared) {
  int64_t heads = info.batch * info.heads;
  int64_t size = std::max(info.size, info.valueSize);
  int64_t rows = std::min<int64_t>(roundUp(info.queries, 16), 64);
  int64_t blocks = heads * ceilDiv(info.queries, 64);
  bool isSingle = bytesOf(elementOf(info)) == 4;
  AttentionTile tile = {rows, 16, 64, 1};
  if (size > (isSingle ? 64 : 128)) {
    tile.n = 32;
  } else if (blocks >= 4 * kMultiprocessors) {
    if (info.queries > 64)
      tile = {128, 32, 64, 1};
    // The keys that fill up the last tile cost more than smaller tiles.
    if (isSingle && roundUp(info.keys, 32) < roundUp(info.keys, 64))
      tile.n = 32;
  } else {
    if (2 * blocks < kMultiprocessors)
      tile.m = std::min<int64_t>(rows, 32);
    tile.splits = tile.m > 16 ? 2 : 4;
    int64_t share = roundUp(ceilDiv(info.keys, tile.splits), 16);
    if (size <= 64)
      tile.n = share <= (isSingle ? 64 : 112)        ? share
               : info.keys % (96 * tile.splits) != 0 ? 64
                                                     : 96;
  }
  while (tile.sharedBytes(info) > shared && tile.n > 16)
    tile.n = roundUp(tile.n / 2, 16);
  return tile;
}

/// Whether tensor copies can read an operand whose dimensions are these.
static bool hasMap(const nn::AttentionOperand &operand, int64_t batch,
                   int64_t heads, int64_t rows) {
  const int64_t sizes[] = {batch, heads, rows};
  for (int dim = 0; dim < 3; ++dim)
    if (sizes[dim] > 1 && operand.strides[dim] <= 0)
      return false;
  return true;
}

static bool haveMaps(const nn::AttentionInfo &info) {
  return hasMap(info.q, info.batch, info.heads, info.queries) &&
         hasMap(info.k, info.batch, info.groups, info.keys) &&
         hasMap(info.v, info.batch, info.groups, info.keys) &&
         hasMap(info.result, info.batch, info.heads, info.queries);
}

static bool takesWgmma(const nn::AttentionInfo &info) {
  int64_t size = std::max(info.size, info.valueSize);
  return isTwoBytes(elementOf(info)) && size > 32 && size <= kMaxWgmmaSize &&
         haveMaps(info);
}

/// What a warpgroup multiplies with, which is told the width of the last stage.
static int64_t paddedKeys(const nn::AttentionInfo &info, int64_t n) {
  int64_t whole = info.keys / n * n;
  if (!info.causal && whole)
    for (int64_t width : {0, 16, 32, 64, 80, 96})
      if (info.keys - whole <= width && width < n)
        return whole + width;
  return roundUp(info.keys, n);
}

/// As measured on an H200: three or four warpgroups overlap best, of one block,
/// which reads keys once for all, or of three where their queries fill no such
/// block; where there are few queries, warpgroups share them.
static AttentionTile chooseWgmmaTile(const nn::AttentionInfo &info) {
  AttentionTile tile;
  tile.stages = 2;
  int64_t blocks = tile.tiles(info);
  bool isLong = info.causal && info.queries >= kLongCausal;
  if (std::max(info.size, info.valueSize) > 64) {
    AttentionTile three = {192, 16, 64, 1, /*stages=*/3};
    tile.n = 128;
    if (blocks > 2 * kMultiprocessors && isLong && three.hasRegisters(info, 1))
      tile = three;
    else if (blocks > 2 * kMultiprocessors)
      tile.m = 128;
    else if (info.keys > tile.n)
      tile.splits = 2;
    return tile;
  }
  if (blocks > 2 * kMultiprocessors) {
    AttentionTile four = {256, 16, 64, 1, /*stages=*/4};
    if (!info.causal && info.queries % 192 == 0)
      tile = {192, 16, 64, 1, /*stages=*/5};
    else if ((isLong ||
              (!info.causal && info.queries > 192 &&
               roundUp(info.queries, 256) == roundUp(info.queries, 64))) &&
             four.hasRegisters(info, 1))
      tile = four;
    // The keys that fill up the last tile cost as much as any.
    for (int64_t n : {80, 96}) {
      AttentionTile wider = tile;
      wider.n = n;
      if (wider.resident(info) == tile.resident(info) &&
          wider.hasRegisters(info, tile.resident(info)) &&
          paddedKeys(info, n) <= paddedKeys(info, tile.n))
        tile = wider;
    }
    return tile;
  }
  // Two warpgroups take the tiles of keys in turn.
  auto time = [&](int64_t n) { return roundUp(ceilDiv(info.keys, n), 2) * n; };
  tile.n = time(96) < time(128) ? 96 : 128;
  tile.splits = info.keys > tile.n ? 2 : 1;
  // A stage is always the same warpgroup's.
  tile.stages = roundUp(std::clamp<int64_t>(ceilDiv(info.keys, tile.n), 2, 4),
                        tile.splits);
  return tile;
}

/// The strides of an operand whose rows are copied in pieces.
static bool isAligned(const nn::AttentionOperand &operand, Type element) {
  int64_t piece = kPieceBytes / bytesOf(element);
  return operand.strides[3] <= 1 && operand.offset % piece == 0 &&
         llvm::all_of(ArrayRef(operand.strides).drop_back(),
                      [&](int64_t stride) { return stride % piece == 0; });
}

nn::Match<nn::AttentionInfo>
frit::cuda::describeAttention(nn::FusionOp fusion) {
  auto info = nn::describeAttention(fusion);
  if (!info)
    return info;
  const nn::AttentionOperand *operands[] = {&info->q, &info->k, &info->v,
                                            &info->result};
  Type element = elementOf(*info);
  if (!llvm::all_of(operands, [&](const nn::AttentionOperand *operand) {
        return isAligned(*operand, element);
      }))
    return nn::Mismatch("its rows are not in pieces of 16 bytes");
  return info;
}

/// Tiles of wgmma_attention.cuh that may be the fastest somewhere.
static SmallVector<AttentionTile> wgmmaTiles(const nn::AttentionInfo &info,
                                             int64_t shared) {
  SmallVector<AttentionTile> tiles;
  for (int64_t m : {64, 128, 192, 256})
    for (int64_t n : {64, 80, 96, 128})
      for (int64_t splits : {1, 2, 3})
        for (int64_t stages : {2, 3, 4, 5}) {
          AttentionTile tile = {m, /*rowsPerWarp=*/16, n, splits, stages};
          bool small = m == 64 || m < info.queries + 64;
          bool few = tile.tiles(info) <= 2 * kMultiprocessors;
          bool shares =
              splits == 1 || (m == 64 && info.keys > n * (splits - 1) && few &&
                              stages % splits == 0);
          // Stages behind the last keys are for those of another tile.
          bool filled = stages == 2 || (stages - 1) * n < info.keys ||
                        tile.tiles(info) > tile.blocks(info);
          if (small && shares && filled && tile.sharedBytes(info) <= shared)
            tiles.push_back(tile);
        }
  return tiles;
}

/// Tiles of attention.cuh that may be.
static SmallVector<AttentionTile> plainTiles(const nn::AttentionInfo &info,
                                             int64_t shared) {
  SmallVector<AttentionTile> tiles;
  bool isWide = std::max(info.size, info.valueSize) > 64;
  for (auto [m, rowsPerWarp] :
       {std::pair<int64_t, int64_t>{64, 16}, {128, 32}, {32, 16}, {64, 32}})
    for (int64_t n : {32, 48, 64, 96})
      for (int64_t splits : {1, 2, 4}) {
        AttentionTile tile = {m, rowsPerWarp, n, splits};
        bool small = m == 32 || m < info.queries + 32;
        bool shares = splits == 1 || info.keys > n * (splits - 1);
        // Two parts of wide rows do not fit a thread's registers.
        if (small && shares && !(isWide && rowsPerWarp == 32) &&
            tile.threads() <= 512 && tile.sharedBytes(info) <= shared)
          tiles.push_back(tile);
      }
  return tiles;
}

/// Whether cuDNN may have a kernel for it, which it is asked where it runs.
static bool cudnnTakes(const nn::AttentionInfo &info,
                       const CudaOptions &options) {
  nn::AttentionOp op = info.op;
  bool adds = !info.mask ||
              (isa<FloatType>(nn::tensorType(op.getMask()).getElementType()) &&
               llvm::all_of(info.mask->strides,
                            [](int64_t stride) { return stride >= 0; }));
  return options.cudnn && isTwoBytes(elementOf(info)) && adds && haveMaps(info);
}

SmallVector<nn::ScheduleAttr>
frit::cuda::attentionSchedules(nn::FusionOp fusion, const CudaOptions &options,
                               bool all) {
  SmallVector<AttentionTile> tiles;
  auto info = cuda::describeAttention(fusion);
  if (!info) {
    tiles = {AttentionTile()};
  } else {
    int64_t shared = maxShared(options);
    if (hasWgmma(options) && takesWgmma(*info)) {
      tiles.push_back(chooseWgmmaTile(*info));
      if (all)
        llvm::append_range(tiles, wgmmaTiles(*info, shared));
    }
    bool isPlain = tiles.empty();
    if (all || isPlain)
      tiles.push_back(chooseTile(*info, shared));
    if (all && isPlain)
      llvm::append_range(tiles, plainTiles(*info, shared));
  }
  SmallVector<nn::ScheduleAttr> schedules;
  auto add = [&](const AttentionTile &tile, bool library) {
    auto schedule = nn::ScheduleAttr::get(
        fusion.getContext(), nn::Skeleton::attention, /*vector=*/1,
        tile.threads(), /*perThread=*/1, library, tile.m, tile.n,
        /*tileK=*/0, tile.stages, /*cluster=*/1, tile.splits, /*algorithm=*/0);
    if (!llvm::is_contained(schedules, schedule))
      schedules.push_back(schedule);
  };
  for (const AttentionTile &tile : tiles)
    add(tile, /*library=*/false);
  if (all && info && cudnnTakes(*info, options))
    add(tiles.front(), /*library=*/true);
  return schedules;
}

nn::ScheduleAttr frit::cuda::scheduleAttention(nn::FusionOp fusion,
                                               const CudaOptions &options) {
  if (options.tuning)
    if (nn::ScheduleAttr tuned = options.tuning->pick(
            fusion, attentionSchedules(fusion, options, /*all=*/true),
            options.arch))
      return tuned;
  return attentionSchedules(fusion, options, /*all=*/false).front();
}
