//===- tma.cuh - Tensor copies, their barriers, clusters ------------------===//
//
// Wrappers of sm_90 instructions: TMA, which copies boxes of a tensor between
// global and shared memory and is started by one thread; mbarriers, on which
// the copies complete; clusters of blocks, which access each other's shared
// memory. See the PTX ISA, "Data Movement and Conversion Instructions" and
// "Parallel Synchronization". The emulator defines the same names in
// test/emulator/emulated_tma.h.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_DEVICE_TMA_CUH
#define FRIT_CODEGEN_CUDA_DEVICE_TMA_CUH

#include "frit/base.cuh"

#if FRIT_EMULATE >= 90
#include "emulated_tma.h"
#elif __CUDA_ARCH__ >= 900

namespace frit {

/// Returns the block's dynamic shared memory, aligned to 1024 bytes for the
/// 128-byte swizzle.
__device__ inline unsigned char *tensorShared() {
  extern __shared__ __align__(1024) unsigned char fritTensorShared[];
  return fritTensorShared;
}

/// Maps an address of this block's shared memory to the same place in block
/// `rank` of the cluster.
__device__ inline uint32_t addressInBlock(const void *here, uint32_t rank) {
  uint32_t there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;"
               : "=r"(there)
               : "r"(sharedAddress(here)), "r"(rank));
  return there;
}

/// Returns where block `rank` of the cluster has the same object of its shared
/// memory. The block must not have ended.
template <class T>
__device__ inline const T *sameInBlock(const T *here, uint32_t rank) {
  const T *there;
  asm volatile("mapa.u64 %0, %1, %2;" : "=l"(there) : "l"(here), "r"(rank));
  return there;
}

//===----------------------------------------------------------------------===//
// Barriers
//===----------------------------------------------------------------------===//

/// An mbarrier in shared memory. A phase completes when `count` threads have
/// arrived and all expected bytes have been copied. The parity of phases
/// alternates, beginning with 0.
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

  /// Arrives if `asked`, without a branch.
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

  /// Arrives and adds `bytes` to the bytes that the phase expects.
  __device__ void arriveExpecting(uint32_t bytes) {
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(
                     sharedAddress(this)),
                 "r"(bytes)
                 : "memory");
  }

  /// Waits until the phase with this parity has completed. On a new barrier,
  /// parity 1 (the phase before the first) returns at once. Threads sleep for
  /// up to 10 ms between polls, since polling more often draws power.
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

/// Barrier for the block's first `threads` threads, a multiple of 32.
__device__ inline void joinThreads(int threads) {
  asm volatile("bar.sync 1, %0;" ::"r"(threads) : "memory");
}

/// Waits at a named barrier until `Threads` threads have waited or arrived
/// there.
template <int Threads> __device__ inline void syncNamedBarrier(int barrier) {
  asm volatile("bar.sync %0, %1;" ::"r"(barrier), "n"(Threads) : "memory");
}
/// Arrives at a named barrier without waiting.
template <int Threads> __device__ inline void arriveNamedBarrier(int barrier) {
  asm volatile("bar.arrive %0, %1;" ::"r"(barrier), "n"(Threads) : "memory");
}

/// Makes initialised barriers visible to TMA and the other blocks of the
/// cluster.
__device__ inline void fenceBarrierInit() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}

/// Stores four 8 × 8 matrices of 16-bit elements. Lane l passes the address of
/// row l % 8 of matrix l / 8, and the elements that loadMatrices() would return
/// to it.
__device__ inline void storeMatrices(void *row, const uint32_t (&from)[4]) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 "
               "[%0], {%1, %2, %3, %4};" ::"r"(sharedAddress(row)),
               "r"(from[0]), "r"(from[1]), "r"(from[2]), "r"(from[3])
               : "memory");
}

/// Orders this thread's ordinary accesses to shared memory before accesses of
/// TMA and the tensor cores after the next barrier.
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

/// Split cluster barrier: every thread of the cluster arrives, and later waits
/// for all others. Writes to shared memory before it are visible after.
__device__ inline void arriveCluster() {
  asm volatile("barrier.cluster.arrive.release.aligned;" ::: "memory");
}
__device__ inline void waitCluster() {
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
}
/// Arrives, and makes only this block's writes to its own shared memory
/// visible: it does not wait for writes to global memory, which takes up to
/// half a microsecond.
__device__ inline void arriveClusterShared() {
#if __CUDACC_VER_MAJOR__ >= 13
  asm volatile("fence.release.sync_restrict::shared::cta.cluster;\n"
               "barrier.cluster.arrive.relaxed.aligned;" ::
                   : "memory");
#else
  arriveCluster();
#endif
}
/// Arrives, and makes no writes visible.
__device__ inline void arriveClusterRelaxed() {
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}

/// Writes four floats to the shared memory of another block, and counts their
/// bytes on a barrier there.
__device__ inline void sendToBlock(uint32_t to, uint32_t barrier, float x,
                                   float y, float z, float w) {
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.f32 "
               "[%0], {%1, %2, %3, %4}, [%5];" ::"r"(to),
               "f"(x), "f"(y), "f"(z), "f"(w), "r"(barrier)
               : "memory");
}

//===----------------------------------------------------------------------===//
// TMA copies, each started by one thread
//===----------------------------------------------------------------------===//

__device__ inline void prefetchMap(const TensorMap *map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}

/// Copies the box at these coordinates, innermost first, to shared memory.
/// Elements outside the tensor become zeros and also count as bytes of the
/// barrier.
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

__device__ inline void loadBox(void *to, const TensorMap *map, Barrier &barrier,
                               int x, int y, int z, int w, int v) {
  asm volatile("cp.async.bulk.tensor.5d.shared::cluster.global.tile"
               ".mbarrier::complete_tx::bytes [%0], [%1, {%3, %4, %5, %6, %7}],"
               " [%2];" ::"r"(sharedAddress(to)),
               "l"(map), "r"(sharedAddress(&barrier)), "r"(x), "r"(y), "r"(z),
               "r"(w), "r"(v)
               : "memory");
}

/// Multicasts a box to every block of the cluster whose bit is set in `blocks`,
/// at the same address, completing on the same barrier of each.
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

__device__ inline void loadBoxInto(uint16_t blocks, void *to,
                                   const TensorMap *map, Barrier &barrier,
                                   int x, int y, int z, int w, int v) {
  asm volatile(
      "cp.async.bulk.tensor.5d.shared::cluster.global.tile"
      ".mbarrier::complete_tx::bytes.multicast::cluster "
      "[%0], [%1, {%3, %4, %5, %6, %7}], [%2], %8;" ::"r"(sharedAddress(to)),
      "l"(map), "r"(sharedAddress(&barrier)), "r"(x), "r"(y), "r"(z), "r"(w),
      "r"(v), "h"(blocks)
      : "memory");
}

/// Copies channels from `c` on of consecutive pixels of an im2col map,
/// beginning at (image, row, col) and shifted by the offsets of a tap. The
/// map's corners and strides define the order of pixels.
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

/// Copies `bytes` bytes, a multiple of 16, to the same place of every block of
/// the cluster whose bit is set in `blocks`, completing on the same barrier of
/// each.
__device__ inline void copyInto(uint16_t blocks, void *to, const void *from,
                                uint32_t bytes, Barrier &barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global"
               ".mbarrier::complete_tx::bytes.multicast::cluster "
               "[%0], [%1], %2, [%3], %4;" ::"r"(sharedAddress(to)),
               "l"(from), "r"(bytes), "r"(sharedAddress(&barrier)), "h"(blocks)
               : "memory");
}

/// Prefetches a box into L2.
__device__ inline void prefetchBox(const TensorMap *map, int x, int y, int z) {
  asm volatile("cp.async.bulk.prefetch.tensor.3d.L2.global.tile "
               "[%0, {%1, %2, %3}];" ::"l"(map),
               "r"(x), "r"(y), "r"(z));
}

/// Copies a box from shared memory, except elements outside the tensor. Before,
/// the threads that wrote the box have called fenceAsync() and synchronized
/// with this one.
__device__ inline void storeBox(const TensorMap *map, const void *from, int x,
                                int y) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group "
               "[%0, {%2, %3}], [%1];" ::"l"(map),
               "r"(sharedAddress(from)), "r"(x), "r"(y)
               : "memory");
}
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

/// Closes the current group of this thread's stores.
__device__ inline void commitStores() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}

/// Waits until at most the last `Pending` groups still read shared memory.
template <int Pending> __device__ inline void waitStores() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(Pending) : "memory");
}

} // namespace frit

#endif

#endif // FRIT_CODEGEN_CUDA_DEVICE_TMA_CUH
