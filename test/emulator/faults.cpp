//===- faults.cpp - Faults of TMA and WGMMA that the emulator finds -------===//
//
// A kernel of one tile: TMA loads two matrices, a warpgroup multiplies them,
// and TMA stores the product in 16 bits. Without a fault its result is right
// for every order of threads; with each of the faults, the emulator must report
// the launch, or the result must be wrong.
//
//===----------------------------------------------------------------------===//

#include "frit/tma.cuh"
#include "frit/wgmma.cuh"

#include <cstdio>
#include <cstring>
#include <vector>

#define FAULTS(FAULT)                                                          \
  FAULT(none)                                                                  \
  /* barriers */                                                               \
  FAULT(uninitialisedBarrier)                                                  \
  FAULT(unfencedBarrier)                                                       \
  FAULT(extraArrival)                                                          \
  FAULT(wrongParity)                                                           \
  FAULT(missingSync)                                                           \
  FAULT(missingWarpSync)                                                       \
  /* copies */                                                                 \
  FAULT(missingWait)                                                           \
  FAULT(tooManyBytes)                                                          \
  FAULT(tooFewBytes)                                                           \
  FAULT(wrongCoordinate)                                                       \
  FAULT(misalignedBox)                                                         \
  FAULT(boxPastTheEnd)                                                         \
  FAULT(unswizzledReads)                                                       \
  FAULT(unfencedStore)                                                         \
  FAULT(changedStore)                                                          \
  FAULT(missingStoreWait)                                                      \
  /* products */                                                               \
  FAULT(missingProductFence)                                                   \
  FAULT(missingProductWait)                                                    \
  FAULT(wrongStride)                                                           \
  FAULT(descriptorPastTheEnd)                                                  \
  FAULT(differentProducts)                                                     \
  FAULT(changedOperand)                                                        \
  /* fragments */                                                              \
  FAULT(swappedRows)                                                           \
  FAULT(swappedColumns)                                                        \
  FAULT(swappedRegisters)

enum class Fault {
#define FAULT(name) name,
  FAULTS(FAULT)
#undef FAULT
};

/// Rows, columns and steps of k of the tile; bytes of a line and of a matrix.
static constexpr int kSide = 64, kLine = 2 * kSide, kMatrix = kLine * kSide;
/// Shared memory: a, b, y and the barrier.
static constexpr int kY = 2 * kMatrix, kBarrier = 3 * kMatrix,
                     kShared = kBarrier + 16;

/// Returns the descriptor of a matrix along k in lines of 128 bytes, swizzled.
static uint64_t descriptorOf(int offset, int stride = 8 * kLine) {
  return uint64_t(offset >> 4) | uint64_t(stride >> 4) << 32 | 1ull << 62;
}

/// Returns two floats as 16 bits each.
static uint32_t packed(float low, float high) {
  frit::f16 pair[2];
  frit::store(pair[0], low);
  frit::store(pair[1], high);
  uint32_t bits;
  memcpy(&bits, pair, sizeof bits);
  return bits;
}

/// The maps of a kernel's parameters.
struct Maps {
  emu::EncodedMap a, b, y;
};

/// Multiplies a, from shared memory or from registers, by b, along k.
static void multiply(Fault fault, bool fromRegisters, float (&d)[kSide / 2]) {
  using Product = frit::EmulatedWgmma<kSide>;
  const char *shared = emu::currentBlock().shared;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  const int stride = fault == Fault::wrongStride ? 4 * kLine : 8 * kLine;
  for (int step = 0; step < kSide / 16; ++step) {
    uint64_t b = descriptorOf(kMatrix + step * 32, stride);
    if (fault == Fault::differentProducts && threadIdx.x == 5)
      b += 2;
    if (fault == Fault::descriptorPastTheEnd)
      b = descriptorOf(kShared - 16);
    if (!fromRegisters) {
      Product::multiply<frit::f16, true, true>(d, descriptorOf(step * 32), b,
                                               true);
      continue;
    }
    uint32_t a[4];
    for (int i = 0; i < 4; ++i) {
      int row = warp * 16 + i % 2 * 8 + lane / 4;
      int at = row * kLine + step * 32 + i / 2 * 16 + lane % 4 * 4;
      if (fault != Fault::unswizzledReads)
        at = int(emu::swizzled(uint32_t(at), 128));
      memcpy(&a[i], shared + at, 4);
    }
    if (fault == Fault::swappedRegisters)
      std::swap(a[1], a[2]);
    Product::multiply<frit::f16, true>(d, a, b, true);
  }
}

/// Writes the sums to y in shared memory.
static void storeSums(Fault fault, const float (&d)[kSide / 2]) {
  char *shared = emu::currentBlock().shared;
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  for (int half = 0; half < kSide / 16; ++half) {
    const float *own = d + half * 8;
    const uint32_t pairs[4] = {packed(own[0], own[1]), packed(own[2], own[3]),
                               packed(own[4], own[5]), packed(own[6], own[7])};
    // The row of a matrix of 8 x 8 whose address this lane gives.
    int matrix = lane / 8;
    if (fault == Fault::swappedRows)
      matrix ^= 1;
    if (fault == Fault::swappedColumns)
      matrix ^= 2;
    int row = warp * 16 + matrix % 2 * 8 + lane % 8;
    uint32_t at = uint32_t(kY + row * kLine + half * 32 + matrix / 2 * 16);
    frit::storeMatrices(shared + emu::swizzled(at, 128), pairs);
  }
}

static void runTile(Fault fault, bool fromRegisters, const Maps &maps) {
  char *shared = emu::currentBlock().shared;
  auto &full = *reinterpret_cast<frit::Barrier *>(shared + kBarrier);
  auto mapAt = [](const emu::EncodedMap &map) {
    return reinterpret_cast<const frit::TensorMap *>(&map);
  };
  const bool isFirst = threadIdx.x == 0;
  if (isFirst) {
    if (fault != Fault::uninitialisedBarrier)
      full.init(1);
    if (fault != Fault::unfencedBarrier)
      frit::fenceBarrierInit();
  }
  __syncthreads();
  if (isFirst) {
    full.arriveExpecting(fault == Fault::tooManyBytes  ? 2 * kMatrix + 16
                         : fault == Fault::tooFewBytes ? kMatrix
                                                       : 2 * kMatrix);
    int from = fault == Fault::wrongCoordinate ? 1 : 0;
    int to = fault == Fault::misalignedBox   ? 64
             : fault == Fault::boxPastTheEnd ? kShared / 128 * 128
                                             : 0;
    frit::loadBox(shared + to, mapAt(maps.a), full, 0, from);
    frit::loadBox(shared + kMatrix, mapAt(maps.b), full, 0, 0);
  }
  if (fault == Fault::extraArrival && threadIdx.x == 1)
    full.arrive();
  // One lane has been in a branch, and warps begin products together.
  if (fault != Fault::missingWarpSync)
    __syncwarp();
  if (fault != Fault::missingWait)
    full.wait(fault == Fault::wrongParity);

  float d[kSide / 2] = {};
  if (fault != Fault::missingProductFence)
    frit::fenceProducts();
  multiply(fault, fromRegisters, d);
  frit::commitProducts();
  if (fault == Fault::changedOperand && isFirst)
    memset(shared + kMatrix, 0, 16);
  if (fault != Fault::missingProductWait)
    frit::waitProducts<0>();

  storeSums(fault, d);
  if (fault != Fault::unfencedStore)
    frit::fenceAsync();
  if (fault != Fault::missingSync)
    __syncthreads();
  if (isFirst) {
    frit::storeBox(mapAt(maps.y), shared + kY, 0, 0);
    frit::commitStores();
    if (fault == Fault::changedStore)
      shared[kY] ^= 1;
    if (fault != Fault::missingStoreWait)
      frit::waitStores<0>();
  }
}

namespace {
/// A matrix of f16 in global memory, and its map.
struct Matrix {
  Matrix() {
    map.rank = 2;
    map.type = frit::artifact::DType::f16;
    for (int i = 0; i < 2; ++i) {
      map.dims[i] = map.box[i] = kSide;
      map.elementStrides[i] = 1;
    }
    map.strides[0] = kLine;
    map.swizzle = kLine;
    map.address = reinterpret_cast<char *>(values);
  }

  alignas(128) frit::f16 values[kSide * kSide] = {};
  emu::TensorMap map;
};
} // namespace

/// Returns whether the kernel ends and its result is right.
static bool isRight(Fault fault, bool fromRegisters) {
  static Matrix a, b, y;
  std::vector<float> left(kSide * kSide), right(kSide * kSide);
  for (int i = 0; i < kSide * kSide; ++i) {
    // Sums of up to 64 products of these are exact in 16 bits.
    left[i] = float((i * 7 + i / kSide) % 5 - 2);
    right[i] = float((i * 3 + i / kSide) % 7 - 3);
    frit::store(a.values[i], left[i]);
    frit::store(b.values[i], right[i]);
    frit::store(y.values[i], 99.0f);
  }
  Maps maps;
  maps.a.map = &a.map;
  maps.b.map = &b.map;
  maps.y.map = &y.map;
  if (!emu::launch(1, 128, kShared,
                   [&] { runTile(fault, fromRegisters, maps); }))
    return false;
  for (int row = 0; row < kSide; ++row)
    for (int column = 0; column < kSide; ++column) {
      float sum = 0;
      for (int k = 0; k < kSide; ++k)
        sum += left[row * kSide + k] * right[column * kSide + k];
      if (frit::load(y.values[row * kSide + column]) != sum)
        return false;
    }
  return true;
}

/// Returns whether a fault only exists where a is in registers.
static bool needsRegisters(Fault fault) {
  return fault == Fault::unswizzledReads || fault == Fault::swappedRegisters;
}

int main() {
  int failures = 0;
  auto require = [&](bool ok, const char *name, const char *what) {
    if (!ok)
      printf("FAIL %s: %s\n", name, what);
    failures += !ok;
  };
  static constexpr const char *names[] = {
#define FAULT(name) #name,
      FAULTS(FAULT)
#undef FAULT
  };
  fprintf(stderr, "messages of most faults are expected here:\n");
  for (size_t i = 0; i < std::size(names); ++i) {
    auto fault = Fault(i);
    bool isFound = fault == Fault::none;
    for (uint64_t seed = 0; seed < 4; ++seed) {
      emu::setSeed(seed);
      for (bool fromRegisters : {false, true}) {
        if (fault == Fault::none)
          require(isRight(fault, fromRegisters), names[i], "fails");
        else if (fromRegisters || !needsRegisters(fault))
          isFound |= !isRight(fault, fromRegisters);
      }
      require(isRight(Fault::none, false), names[i], "outlasts its launch");
    }
    require(isFound, names[i], "is not found");
  }
  printf(failures ? "%d checks failed\n" : "all checks passed\n", failures);
  return failures != 0;
}
