//===- selftest.cpp - Tests that the emulator finds faults ----------------===//
//
// Kernels with one mistake each: the emulator must report or show every one.
//
//===----------------------------------------------------------------------===//

#include "emulator.h"

/// Adds values of different warps. Without the barrier, a warp may read before
/// the next has written.
template <bool Barrier> static void exchangeWarps(const float *x, float *y) {
  __shared__ float row[256];
  row[threadIdx.x] = x[threadIdx.x];
  if (Barrier)
    __syncthreads();
  y[threadIdx.x] = row[threadIdx.x] + row[(threadIdx.x + 32) % 256];
  __syncthreads();
  row[threadIdx.x] = -1;
}

static void divergentBarrier(float *) {
  if (threadIdx.x < 40)
    __syncthreads();
}

static void divergentShuffle(float *y) {
  if (threadIdx.x != 7)
    y[threadIdx.x] = __shfl_xor_sync(~0u, 1.0f, 1);
}

static void halves(float *y) {
  // The halves of a warp are at different shuffles, which is legal.
  unsigned lane = threadIdx.x % 32, mask = lane < 16 ? 0xffffu : 0xffff0000u;
  float sum = float(lane);
  for (unsigned d = lane < 16 ? 8 : 1; d > 0 && d < 16;
       d = lane < 16 ? d / 2 : d * 2)
    sum += __shfl_xor_sync(mask, sum, d);
  y[threadIdx.x] = sum;
}

/// Reads an asynchronous copy, with or without waiting for it.
template <bool Wait> static void copyAhead(const float *x, float *y) {
  __shared__ float row[128];
  emu::copyAsync(&row[threadIdx.x * 4], x + threadIdx.x * 4, 12, 16);
  emu::commitCopies();
  emu::waitCopies(Wait ? 0 : 1);
  __syncthreads();
  for (int i = 0; i < 4; ++i)
    y[threadIdx.x * 4 + i] = row[threadIdx.x * 4 + i];
}

static int failures = 0;

static void require(bool ok, const char *what) {
  if (!ok)
    printf("FAIL %s\n", what);
  failures += !ok;
}

int main() {
  std::vector<float> x(256), y(256);
  for (int i = 0; i < 256; ++i)
    x[i] = float(i);
  auto isRight = [&] {
    bool right = true;
    for (int i = 0; i < 256; ++i)
      right &= y[i] == x[i] + x[(i + 32) % 256];
    return right;
  };
  for (uint64_t seed = 0; seed < 4; ++seed) {
    emu::setSeed(seed);
    require(emu::launch(2, 256, 0,
                        [&] { exchangeWarps<true>(x.data(), y.data()); }) &&
                isRight(),
            "a correct kernel runs");
    emu::launch(2, 256, 0, [&] { exchangeWarps<false>(x.data(), y.data()); });
    require(!isRight(), "a missing barrier shows");
  }
  require(emu::launch(1, 64, 0, [&] { halves(y.data()); }) && y[3] == 120 &&
              y[30] == 376,
          "parts of a warp shuffle on their own");
  emu::launch(1, 32, 0, [&] { copyAhead<true>(x.data(), y.data()); });
  require(y[6] == 6 && y[7] == 0, "an awaited copy is there, padded by zeros");
  emu::launch(1, 32, 0, [&] { copyAhead<false>(x.data(), y.data()); });
  require(y[6] != 6 || y[5] != 5, "a copy not waited for is not there");

  fprintf(stderr, "four messages are expected here:\n");
  require(!emu::launch(1, 64, 0, [&] { divergentBarrier(y.data()); }),
          "a divergent barrier is reported");
  require(!emu::launch(1, 64, 0, [&] { divergentShuffle(y.data()); }),
          "a divergent shuffle is reported");
  require(!emu::launch(0, 64, 0, [&] { halves(y.data()); }),
          "a launch of no blocks is reported");
  require(!emu::launch(
              3, 64, 0, [&] { halves(y.data()); }, 2),
          "a launch of one and a half clusters is reported");
  printf(failures ? "%d checks failed\n" : "all checks passed\n", failures);
  return failures != 0;
}
