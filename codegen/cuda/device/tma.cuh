//===- tma.cuh - Tensor copies, their barriers, clusters ------------------===//
//
// Words for what sm_90 brought: copies of boxes of a tensor between global and
// shared memory, which one thread starts and the copy engine makes; mbarriers,
// on which they complete; blocks that form a cluster and reach each other's
// shared memory. After the PTX ISA, "Data Movement and Conversion
// Instructions" and "Parallel Synchronization". Under the emulator the same
// names come from test/emulator/emulated_tma.h.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_DEVICE_TMA_CUH
#define FRIT_DEVICE_TMA_CUH

#include "frit/base.cuh"

#if FRIT_EMULATE >= 90
#include "emulated_tma.h"
#elif __CUDA_ARCH__ >= 900

namespace frit {

/// The block's dynamic shared memory, aligned as the widest swizzle wants it.
__device__ inline unsigned char *tensorShared() {
  extern __shared__ __align__(1024) unsigned char fritTensorShared[];
  return fritTensorShared;
}

/// Where an address of shared memory lies in block `rank` of the cluster.
__device__ inline uint32_t addressInBlock(const void *here, uint32_t rank) {
  uint32_t there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(there)
               : "r"(sharedAddress(here)), "r"(rank));
  return there;
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

/// An mbarrier in shared memory. A phase ends when `count` threads have arrived
/// and all bytes that were expected have come; phases alternate between the
/// parities 0, which is the first, and 1.
struct Barrier {
  uint64_t state;

  __device__ void init(uint32_t count) {
    asm volatile(
        "mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(sharedAddress(this)),
        "r"(count)
        : "memory");
  }

  __device__ void arrive() {
    asm volatile(
        "mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(sharedAddress(this))
        : "memory");
  }

  /// Arrives where that is asked for, without a branch.
  __device__ void arriveIf(bool asked) {
    asm volatile("{\n"
                 ".reg .pred p;\n"
                 "setp.ne.u32 p, %1, 0;\n"
                 "@p mbarrier.arrive.shared::cta.b64 _, [%0];\n"
                 "}\n" ::"r"(sharedAddress(this)),
                 "r"(uint32_t(asked))
                 : "memory");
  }

  /// Arrives at the same barrier of another block of the cluster.
  __device__ void arriveAt(uint32_t rank) {
    asm volatile("mbarrier.arrive.shared::cluster.b64 _, [%0];" ::"r"(
                     addressInBlock(this, rank))
                 : "memory");
  }

  /// Arrives, and lets the phase last until `bytes` more have been copied.
  __device__ void arriveExpecting(uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                     sharedAddress(this)),
                 "r"(bytes)
                 : "memory");
  }

  /// Waits for the end of the phase of this parity. The parity of the phase
  /// before the first one, 1, does not wait. Threads sleep for up to 10 ms
  /// between looks: those that look more often draw power.
  __device__ void wait(uint32_t parity) {
    uint32_t done;
    do
      asm volatile("{\n"
                   ".reg .pred p;\n"
                   "mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2, %3;\n"
                   "selp.b32 %0, 1, 0, p;\n"
                   "}\n"
                   : "=r"(done)
                   : "r"(sharedAddress(this)), "r"(parity), "r"(10'000'000)
                   : "memory");
    while (!done);
  }
};

/// Joins the block's first threads, warps all of them.
__device__ inline void joinThreads(int threads) {
  asm volatile("bar.sync 1, %0;" ::"r"(threads) : "memory");
}

/// Waits at a barrier until so many threads have come there or arrived.
template <int Threads> __device__ inline void syncTurn(int barrier) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "n"(Threads) : "memory");
}
/// Arrives there, and goes on.
template <int Threads> __device__ inline void arriveTurn(int barrier) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "n"(Threads) : "memory");
}

/// Lets the copy engine and the other blocks of the cluster see barriers that
/// were initialised.
__device__ inline void fenceBarrierInit() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

/// Stores four 8 × 8 matrices of 16-bit elements; lane l gives the address of
/// row l % 8 of matrix l / 8, and the elements that `loadMatrices` would give
/// it.
__device__ inline void storeMatrices(void *row, const uint32_t (&from)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 "
               "[%0], {%1, %2, %3, %4};" ::"r"(sharedAddress(row)),
               "r"(from[0]), "r"(from[1]), "r"(from[2]), "r"(from[3])
               : "memory");
}

/// Orders this thread's ordinary accesses to shared memory before those of the
/// copy engine and the tensor cores that follow the next barrier.
__device__ inline void fenceAsync() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

//===----------------------------------------------------------------------===//
// Clusters
//===----------------------------------------------------------------------===//

__device__ inline uint32_t clusterRank() {
  uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

/// Every thread of every block of the cluster arrives, and later waits for all
/// others to have arrived; what was written to shared memory before is seen.
__device__ inline void arriveCluster() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
__device__ inline void waitCluster() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}

/// Writes four floats into the shared memory of another block, which count as
/// bytes of a barrier there.
__device__ inline void sendToBlock(uint32_t to, uint32_t barrier, float x,
                                   float y, float z, float w) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 "
               "[%0], {%1, %2, %3, %4}, [%5];" ::"r"(to),
               "f"(x), "f"(y), "f"(z), "f"(w), "r"(barrier)
               : "memory");
}

//===----------------------------------------------------------------------===//
// Tensor copies, each started by one thread
//===----------------------------------------------------------------------===//

__device__ inline void prefetchMap(const TensorMap *map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/// Copies the box at these coordinates, innermost first, into shared memory;
/// elements outside the tensor become zeros, and count as bytes of the barrier.
__device__ inline void loadBox(void *to, const TensorMap *map, Barrier &barrier,
                               int x, int y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.tile"
      ".mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], [%2];" ::"r"(
          sharedAddress(to)),
      "l"(map), "r"(sharedAddress(&barrier)), "r"(x), "r"(y)
      : "memory");
}
__device__ inline void loadBox(void *to, const TensorMap *map, Barrier &barrier,
                               int x, int y, int z) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile"
               ".mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5}], "
               "[%2];" ::"r"(sharedAddress(to)),
               "l"(map), "r"(sharedAddress(&barrier)), "r"(x), "r"(y), "r"(z)
               : "memory");
}
__device__ inline void loadBox(void *to, const TensorMap *map, Barrier &barrier,
                               int x, int y, int z, int w) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.tile"
               ".mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], "
               "[%2];" ::"r"(sharedAddress(to)),
               "l"(map), "r"(sharedAddress(&barrier)), "r"(x), "r"(y), "r"(z),
               "r"(w)
               : "memory");
}

/// The same into every block of the cluster whose bit is set in `blocks`, at
/// the same place, completing on the same barrier of each.
__device__ inline void loadBoxInto(uint16_t blocks, void *to,
                                   const TensorMap *map, Barrier &barrier,
                                   int x, int y, int z) {
  asm volatile("cp.async.bulk.tensor.3d.shared::cluster.global.tile"
               ".mbarrier::complete_tx::bytes.multicast::cluster "
               "[%0], [%1, {%3, %4, %5}], [%2], %6;" ::"r"(sharedAddress(to)),
               "l"(map), "r"(sharedAddress(&barrier)), "r"(x), "r"(y), "r"(z),
               "h"(blocks)
               : "memory");
}

/// Copies the channels from `c` on of a map's pixels, which follow each other
/// from (image, row, col) on as the corners and strides of an im2col map say,
/// each moved by the offsets of a tap.
__device__ inline void loadPixels(void *to, const TensorMap *map,
                                  Barrier &barrier, int c, int col, int row,
                                  int image, int tapCol, int tapRow) {
  asm volatile("cp.async.bulk.tensor.4d.shared::cluster.global.im2col"
               ".mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6}], "
               "[%2], {%7, %8};" ::"r"(sharedAddress(to)),
               "l"(map), "r"(sharedAddress(&barrier)), "r"(c), "r"(col),
               "r"(row), "r"(image), "h"(uint16_t(tapCol)),
               "h"(uint16_t(tapRow))
               : "memory");
}

/// Brings a box into the second-level cache.
__device__ inline void prefetchBox(const TensorMap *map, int x, int y, int z) {
  asm volatile("cp.async.bulk.prefetch.tensor.3d.L2.global.tile "
               "[%0, {%1, %2, %3}];" ::"l"(map),
               "r"(x), "r"(y), "r"(z));
}

/// Copies a box out of shared memory, less what lies outside the tensor. Those
/// who wrote the box have called fenceAsync, and this thread knows of it.
__device__ inline void storeBox(const TensorMap *map, const void *from, int x,
                                int y, int z) {
  asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.tile.bulk_group "
               "[%0, {%2, %3, %4}], [%1];" ::"l"(map),
               "r"(sharedAddress(from)), "r"(x), "r"(y), "r"(z)
               : "memory");
}
__device__ inline void storeBox(const TensorMap *map, const void *from, int x,
                                int y, int z, int w) {
  asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.tile.bulk_group "
               "[%0, {%2, %3, %4, %5}], [%1];" ::"l"(map),
               "r"(sharedAddress(from)), "r"(x), "r"(y), "r"(z), "r"(w)
               : "memory");
}

/// Closes a group of this thread's stores.
__device__ inline void commitStores() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/// Waits until at most the last `Pending` groups still read shared memory.
template <int Pending> __device__ inline void waitStores() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Pending) : "memory");
}

} // namespace frit

#endif

#endif // FRIT_DEVICE_TMA_CUH
