//===- emulated_tma.h - frit/tma.cuh under the emulator -------------------===//
//
// Implements the functions of tma.cuh, which documents them.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_TEST_EMULATOR_EMULATED_TMA_H
#define FRIT_TEST_EMULATOR_EMULATED_TMA_H

#include "tensor_copies.h"

namespace frit {

inline unsigned char *tensorShared() {
  return reinterpret_cast<unsigned char *>(emu::currentBlock().shared);
}
inline uint32_t sharedAddress(const void *pointer) {
  return emu::sharedAddress(pointer);
}
inline uint32_t addressInBlock(const void *here, uint32_t rank) {
  return emu::addressInBlock(here, rank);
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

struct Barrier {
  uint64_t state;

  void init(uint32_t count) { emu::initBarrier(this, count); }
  // One instruction, which needs no branch.
  void arrive() { emu::arriveHere(this); }
  void arriveIf(bool asked) {
    if (asked)
      arrive();
  }
  void arriveAt(uint32_t rank) { emu::arriveAt(addressInBlock(this, rank)); }
  void arriveExpecting(uint32_t bytes) {
    emu::actAlone();
    emu::arriveHere(this, bytes);
  }
  void wait(uint32_t parity) { emu::waitBarrier(this, parity); }
};

inline void fenceBarrierInit() { emu::fenceBarrierInit(); }

inline void joinThreads(int threads) { emu::syncNamed(1, threads); }
template <int Threads> inline void syncNamedBarrier(int barrier) {
  emu::syncNamed(barrier, Threads);
}
template <int Threads> inline void arriveNamedBarrier(int barrier) {
  emu::arriveNamed(barrier, Threads);
}

inline void storeMatrices(void *row, const uint32_t (&from)[4]) {
  struct Part {
    void *row;
    const uint32_t *from;
  };
  const Part mine = {row, from};
  emu::withWarp(&mine, [&](auto partOf, unsigned lane) {
    // Each lane's row belongs to four lanes, in one of four matrices.
    uint32_t pairs[4];
    for (unsigned i = 0; i < 4; ++i)
      pairs[i] = partOf(lane % 8 * 4 + i)->from[lane / 8];
    memcpy(row, pairs, sizeof pairs);
  });
  emu::machine.current->isUnfenced = true;
}
inline void fenceAsync() { emu::machine.current->isUnfenced = false; }

//===----------------------------------------------------------------------===//
// Clusters
//===----------------------------------------------------------------------===//

template <class T> inline const T *sameInBlock(const T *here, uint32_t rank) {
  uint32_t address = emu::addressInBlock(here, rank);
  emu::Block &block = emu::blockOf(address, "mapa");
  return reinterpret_cast<const T *>(block.shared + (address & 0xffffff));
}
inline uint32_t clusterRank() { return emu::currentBlock().rank; }
inline void arriveCluster() { emu::arriveCluster(); }
inline void waitCluster() { emu::waitCluster(); }
inline void arriveClusterShared() { emu::arriveCluster(); }
inline void arriveClusterRelaxed() { emu::arriveCluster(); }
inline void sendToBlock(uint32_t to, uint32_t barrier, float x, float y,
                        float z, float w) {
  emu::sendToBlock(to, barrier, {x, y, z, w});
}

//===----------------------------------------------------------------------===//
// Tensor copies
//===----------------------------------------------------------------------===//

inline void prefetchMap(const TensorMap *) {}

template <class... Coordinates>
inline void loadBox(void *to, const TensorMap *map, Barrier &barrier,
                    Coordinates... at) {
  constexpr char where[] = "cp.async.bulk.tensor.tile";
  emu::loadBox(emu::mapOf(map, sizeof...(at), false, where), {{at...}, {}}, to,
               &barrier, 1u << emu::currentBlock().rank, where);
}
template <class... Coordinates>
inline void loadBoxInto(uint16_t blocks, void *to, const TensorMap *map,
                        Barrier &barrier, Coordinates... at) {
  constexpr char where[] = "cp.async.bulk.tensor.tile.multicast";
  emu::loadBox(emu::mapOf(map, sizeof...(at), false, where), {{at...}, {}}, to,
               &barrier, blocks, where);
}
inline void loadPixels(void *to, const TensorMap *map, Barrier &barrier, int c,
                       int col, int row, int image, int tapCol, int tapRow) {
  constexpr char where[] = "cp.async.bulk.tensor.im2col";
  emu::loadBox(emu::mapOf(map, 4, true, where),
               {{c, col, row, image}, {tapCol, tapRow}}, to, &barrier,
               1u << emu::currentBlock().rank, where);
}
inline void copyInto(uint16_t blocks, void *to, const void *from,
                     uint32_t bytes, Barrier &barrier) {
  emu::copyInto(blocks, to, from, bytes, &barrier);
}
inline void prefetchBox(const TensorMap *, int, int, int) {}

template <class... Coordinates>
inline void storeBox(const TensorMap *map, const void *from,
                     Coordinates... at) {
  constexpr char where[] = "cp.async.bulk.tensor.tile from shared memory";
  emu::storeBox(emu::mapOf(map, sizeof...(at), false, where), {{at...}, {}},
                from, where);
}
inline void commitStores() { emu::commitStores(); }
template <int Pending> inline void waitStores() {
  emu::actAlone();
  emu::waitStores(Pending);
}

} // namespace frit

#endif // FRIT_TEST_EMULATOR_EMULATED_TMA_H
