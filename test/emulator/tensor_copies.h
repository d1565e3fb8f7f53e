//===- tensor_copies.h - TMA of sm_90 -------------------------------------===//
//
// Copies between tensors in global memory and boxes in shared memory. See the
// PTX ISA, "Tensors": tiled and im2col, swizzled, zeros outside.
//
// The destination of a load is poison until it completes. The source of a store
// must not change until it has been read.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_TEST_EMULATOR_TENSOR_COPIES_H
#define FRIT_TEST_EMULATOR_TENSOR_COPIES_H

#include "barriers.h"
#include "tensor_map.h"

namespace emu {

//===----------------------------------------------------------------------===//
// Boxes
//===----------------------------------------------------------------------===//

/// Returns the swizzled offset: 16-byte pieces are permuted by the number of
/// their 128-byte line.
inline uint32_t swizzled(uint32_t offset, int bytes) {
  const uint32_t mask = bytes == 128  ? 7
                        : bytes == 64 ? 3
                        : bytes == 32 ? 1
                                      : 0;
  return offset ^ (offset >> 7 & mask) << 4;
}

/// The coordinates of a copy, and the offsets of an im2col copy.
struct Corner {
  int at[TensorMap::kMaxRank] = {};
  int tap[TensorMap::kMaxRank - 2] = {};
};

/// Calls `use(line, coordinates)` for the innermost lines of a box in order.
template <class Use>
void forLinesOfTile(const TensorMap &map, const Corner &corner,
                    const Use &use) {
  int counts[TensorMap::kMaxRank], lines = 1;
  for (int i = 1; i < int(map.rank); ++i) {
    // Only every elementStrides-th element of the box is copied.
    counts[i] =
        (map.box[i] + map.elementStrides[i] - 1) / map.elementStrides[i];
    lines *= counts[i];
  }
  for (int line = 0; line < lines; ++line) {
    int64_t at[TensorMap::kMaxRank] = {corner.at[0]};
    for (int i = 1, rest = line; i < int(map.rank); rest /= counts[i++])
      at[i] = corner.at[i] + int64_t(rest % counts[i]) * map.elementStrides[i];
    use(line, at);
  }
}

/// As forLinesOfTile, for the pixels of an im2col copy: consecutive pixels
/// inside the map's bounding box, shifted by the copy's offsets.
template <class Use>
void forPixels(const TensorMap &map, const Corner &corner, const Use &use) {
  const int spatial = int(map.rank) - 2;
  int64_t base[TensorMap::kMaxRank];
  for (int i = 0; i <= spatial + 1; ++i)
    base[i] = corner.at[i];
  for (int pixel = 0; pixel < int(map.pixels); ++pixel) {
    int64_t at[TensorMap::kMaxRank];
    for (int i = 0; i <= spatial + 1; ++i)
      at[i] = base[i] + (i > 0 && i <= spatial ? corner.tap[i - 1] : 0);
    use(pixel, at);
    for (int i = 0; i <= spatial; ++i) {
      if (i == spatial) {
        ++base[spatial + 1];
        break;
      }
      base[i + 1] += map.elementStrides[i + 1];
      if (base[i + 1] < int64_t(map.dims[i + 1]) + map.upper[i])
        break;
      base[i + 1] = map.lower[i];
    }
  }
}

/// Calls `use(offset, tensor, bytes)` for every 16-byte piece of a box: its
/// offset in shared memory, its address in the tensor, and how many of its
/// bytes are inside.
template <class Use>
void forPieces(const TensorMap &map, const Corner &corner, uint32_t offset,
               const Use &use) {
  const int line = map.lineBytes(), size = map.elementBytes();
  auto visit = [&](int index, const int64_t *at) {
    bool isInside = true;
    char *from = map.address;
    for (int i = 1; i < int(map.rank); ++i) {
      isInside &= at[i] >= 0 && at[i] < int64_t(map.dims[i]);
      from += at[i] * int64_t(map.strides[i - 1]);
    }
    for (int byte = 0; byte < line; byte += 16) {
      const int64_t first = at[0] + byte / size;
      const int64_t left = (int64_t(map.dims[0]) - first) * size;
      const int inside =
          isInside && first >= 0 ? int(std::clamp<int64_t>(left, 0, 16)) : 0;
      use(swizzled(offset + index * line + byte, map.swizzle),
          from + first * size, inside);
    }
  };
  if (map.isIm2col())
    forPixels(map, corner, visit);
  else
    forLinesOfTile(map, corner, visit);
}

inline int boxBytes(const TensorMap &map) {
  int bytes = map.lineBytes();
  if (map.isIm2col())
    return bytes * int(map.pixels);
  for (int i = 1; i < int(map.rank); ++i)
    bytes *= (map.box[i] + map.elementStrides[i] - 1) / map.elementStrides[i];
  return bytes;
}

/// Returns the map in a kernel's parameter and checks that it suits the copy.
inline const TensorMap &mapOf(const void *parameter, int rank, bool isIm2col,
                              const char *where) {
  EncodedMap encoded;
  memcpy(static_cast<void *>(&encoded), parameter, sizeof encoded);
  require(encoded.mark == EncodedMap::kMark, "the parameter is no tensor map",
          where);
  const TensorMap &map = *encoded.map;
  require(int(map.rank) == rank && map.isIm2col() == isIm2col && map.isValid(),
          "the tensor map is of another kind, or invalid", where);
  require(map.elementStrides[0] == 1 &&
              (!map.swizzle || map.lineBytes() == int(map.swizzle)),
          "strides inside lines, and lines shorter than the swizzle, are not "
          "emulated",
          where);
  return map;
}

inline void checkBox(const TensorMap &map, const Corner &corner,
                     const Block &block, uint32_t offset, const char *where) {
  require(offset % 128 == 0, "a box is not aligned to 128 bytes", where);
  require(offset + boxBytes(map) <= block.sharedBytes,
          "a box does not fit into shared memory", where);
  require(corner.at[0] * map.elementBytes() % 16 == 0,
          "boxes that begin inside 16 bytes are not emulated", where);
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Starts a load to the same offset in all blocks of the mask.
inline void loadBox(const TensorMap &map, const Corner &corner, void *to,
                    const void *barrier, unsigned blocks, const char *where) {
  actAlone();
  const uint32_t offset = sharedAddress(to), done = sharedAddress(barrier);
  const int bytes = boxBytes(map);
  for (uint32_t rank = 0; rank < machine.blocks.size(); ++rank) {
    if (!(blocks >> rank & 1))
      continue;
    Block &block = blockOf((rank + 1) << 24, where);
    checkBox(map, corner, block, offset, where);
    BarrierState &state = fencedBarrierAt(block, done, where);
    memset(block.shared + offset, kPoison, bytes);
    machine.pending.push_back(
        {"a block ends while a tensor copy into it is under way",
         [=, &block, &state] {
           forPieces(map, corner, offset,
                     [&](uint32_t at, const char *from, int inside) {
                       memset(block.shared + at, 0, 16);
                       if (inside)
                         memcpy(block.shared + at, from, inside);
                     });
           completeBytes(state, bytes);
         }});
  }
}

/// Starts a copy of bytes in a row to the same offset in all blocks of the
/// mask.
inline void copyInto(unsigned blocks, void *to, const void *from,
                     uint32_t bytes, const void *barrier) {
  constexpr char where[] = "cp.async.bulk.multicast";
  actAlone();
  const uint32_t offset = sharedAddress(to), done = sharedAddress(barrier);
  require(bytes % 16 == 0 && offset % 16 == 0 && uintptr_t(from) % 16 == 0,
          "a copy does not consist of aligned pieces of 16 bytes", where);
  for (uint32_t rank = 0; rank < machine.blocks.size(); ++rank) {
    if (!(blocks >> rank & 1))
      continue;
    Block &block = blockOf((rank + 1) << 24, where);
    require(offset + bytes <= block.sharedBytes,
            "a copy does not fit into shared memory", where);
    BarrierState &state = fencedBarrierAt(block, done, where);
    memset(block.shared + offset, kPoison, bytes);
    machine.pending.push_back(
        {"a block ends while a copy into it is under way", [=, &block, &state] {
           memcpy(block.shared + offset, from, bytes);
           completeBytes(state, bytes);
         }});
  }
}

/// Starts a store from shared memory, in the thread's open group.
inline void storeBox(const TensorMap &map, const Corner &corner,
                     const void *from, const char *where) {
  actAlone();
  Thread &me = *machine.current;
  Block &block = *me.block;
  const uint32_t offset = sharedAddress(from);
  checkBox(map, corner, block, offset, where);
  require(std::none_of(me.warp, me.warp + me.warpSize,
                       [](const Thread &lane) { return lane.isUnfenced; }),
          "what the warp has written is not fenced for the copy engine", where);
  const char *first = block.shared + offset;
  std::vector<char> box(first, first + boxBytes(map));
  const size_t group = me.stores.size() - 1;
  ++me.stores[group];
  machine.pending.push_back(
      {"a block ends while a tensor copy reads it", [=, &me] {
         if (memcmp(first, box.data(), box.size()))
           fail("shared memory changed while a tensor copy read it", me);
         forPieces(map, corner, offset, [&](uint32_t at, char *to, int inside) {
           if (inside)
             memcpy(to, me.block->shared + at, inside);
         });
         --me.stores[group];
       }});
}

inline void commitStores() { machine.current->stores.push_back(0); }

/// Waits until at most the last `pending` committed groups still read shared
/// memory.
inline void waitStores(int pending) {
  const std::vector<int> &stores = machine.current->stores;
  waitUntil("cp.async.bulk.wait_group.read", [&] {
    for (int group = 0; group < int(stores.size()) - 1 - pending; ++group)
      if (stores[group])
        return false;
    return true;
  });
}

/// Writes 16 bytes to another block's shared memory, asynchronously.
inline void sendToBlock(uint32_t to, uint32_t barrier,
                        const float (&values)[4]) {
  Block &block = blockOf(to, "st.async");
  require(to >> 24 == barrier >> 24 && offsetOf(to) % 16 == 0 &&
              offsetOf(to) + 16 <= block.sharedBytes,
          "not an aligned address of the barrier's block", "st.async");
  BarrierState &state = fencedBarrierAt(block, offsetOf(barrier), "st.async");
  char *at = block.shared + offsetOf(to);
  std::vector<float> kept(values, values + 4);
  machine.pending.push_back(
      {"a block ends while others write into it", [=, &state] {
         memcpy(at, kept.data(), 16);
         completeBytes(state, 16);
       }});
}

} // namespace emu

#endif // FRIT_TEST_EMULATOR_TENSOR_COPIES_H
