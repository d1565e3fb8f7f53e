//===- TensorMapCheck.cpp - Check TMA descriptors -------------------------===//
//
// Limits: CUDA driver documentation of cuTensorMapEncodeTiled and
// cuTensorMapEncodeIm2col.
//
//===----------------------------------------------------------------------===//

#include "runtime/plan/TensorMapCheck.h"
#include "runtime/exec/Types.h"

using namespace frit;
using namespace frit::artifact;

static constexpr uint64_t kMaxDim = uint64_t(1) << 32;
static constexpr uint64_t kMaxStride = uint64_t(1) << 40;
static constexpr uint32_t kMaxBox = 256;
static constexpr uint32_t kMaxElementStride = 8;
static constexpr uint32_t kMaxPixels = 1024;
/// Alignment of addresses, strides and box rows, in bytes.
static constexpr uint64_t kGranule = 16;

static const char *checkBox(const TensorMap &map) {
  uint32_t inner = map.kind == MapKind::tiled ? map.box[0] : map.channels;
  uint64_t innerBytes = uint64_t(inner) * elementBytes(map.type);
  if (!inner || inner > kMaxBox || innerBytes % kGranule)
    return "the rows of a tensor map's box have a wrong size";
  if (map.swizzle && innerBytes > map.swizzle)
    return "the rows of a tensor map's box are longer than its swizzle";
  if (map.kind == MapKind::tiled) {
    for (uint32_t i = 1; i < map.rank; ++i)
      if (!map.box[i] || map.box[i] > kMaxBox)
        return "a tensor map's box is too large or empty";
    return nullptr;
  }
  if (map.rank < 3)
    return "an im2col tensor map has fewer than three dimensions";
  if (!map.pixels || map.pixels > kMaxPixels)
    return "a tensor map's pixels are too many or none";
  // The driver packs all corners into 32 bits.
  uint32_t spatial = map.rank - 2;
  int32_t limit = spatial == 1 ? 1 << 15 : spatial == 2 ? 1 << 7 : 1 << 4;
  for (uint32_t i = 0; i < spatial; ++i)
    if (map.lower[i] < -limit || map.lower[i] >= limit ||
        map.upper[i] < -limit || map.upper[i] >= limit)
      return "a tensor map's corners are out of range";
  return nullptr;
}

const char *frit::checkTensorMap(const TensorMap &map) {
  if (map.kind > MapKind::im2col)
    return "a tensor map is of no known kind";
  if (!elementBytes(map.type))
    return "the type of a tensor map is unknown";
  if (!map.rank || map.rank > kMaxMapRank)
    return "a tensor map has an impossible rank";
  if (map.swizzle != 0 && map.swizzle != 32 && map.swizzle != 64 &&
      map.swizzle != 128)
    return "a tensor map's swizzle is unknown";
  for (uint32_t i = 0; i < map.rank; ++i)
    if (!map.dims[i] || map.dims[i] > kMaxDim || !map.elementStrides[i] ||
        map.elementStrides[i] > kMaxElementStride)
      return "a tensor map's sizes are out of range";
  for (uint32_t i = 0; i + 1 < map.rank; ++i)
    if (map.strides[i] % kGranule || map.strides[i] >= kMaxStride)
      return "a tensor map's strides are out of range";
  return checkBox(map);
}

const char *frit::checkTensorMap(const TensorMap &map,
                                 std::span<const Buffer> arguments) {
  if (map.argument >= arguments.size())
    return "a tensor map is of an argument that is not there";
  const Buffer &buffer = arguments[map.argument];
  if (map.offset > buffer.bytes || (buffer.offset + map.offset) % kGranule)
    return "a tensor map starts at a wrong place";
  // Every factor is below 2^41, so nothing overflows.
  using Wide = unsigned __int128;
  Wide bytes = Wide(map.dims[0]) * elementBytes(map.type);
  for (uint32_t i = 1; i < map.rank; ++i)
    bytes += Wide(map.dims[i] - 1) * map.strides[i - 1];
  if (bytes > buffer.bytes - map.offset)
    return "a tensor map reaches past its argument's end";
  return nullptr;
}
