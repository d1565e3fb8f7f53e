//===- cuda_kernels.cu - The kernels of cuda_test -------------------------===//

extern "C" __global__ void doubled(const float *from, float *to) {
  to[threadIdx.x] = 2 * from[threadIdx.x];
}

extern "C" __global__ void twice(const float *from, float *to) {
  to[2 * threadIdx.x] = to[2 * threadIdx.x + 1] = from[threadIdx.x];
}

/// Packs the columns of 2x4 elements whose first is positive, and counts them.
extern "C" __global__ void pack(const float *x, float *y, float *z, float *w,
                                long long *count) {
  int n = 0;
  for (int i = 0; i < 4; ++i)
    if (x[i] > 0) {
      y[n] = z[n] = x[i];
      z[4 + n] = x[4 + i];
      ++n;
    }
  for (int i = 0; i < 9; ++i)
    w[i] = float(i);
  *count = x[0] == 100 ? 5 : x[0] == 200 ? -1 : n;
}

/// One block computes one row of three.
extern "C" __global__ void add_ids(const float *rows, const long long *ids,
                                   float *to) {
  int i = blockIdx.x * 3 + threadIdx.x;
  to[i] = rows[i] + float(ids[blockIdx.x]);
}

/// relu(x·w + bias) for the sizes of the test model; runs without a library.
extern "C" __global__ void fc_fallback(const float *x, const float *w,
                                       const float *bias, float *to) {
  int row = blockIdx.x, column = threadIdx.x;
  float sum = bias[column];
  for (int k = 0; k < 8; ++k)
    sum += x[row * 8 + k] * w[k * 3 + column];
  to[row * 3 + column] = fmaxf(sum, 0.0f);
}

template <int Count>
__device__ void reverseShared(const float *from, float *to, float *shared) {
  for (int i = threadIdx.x; i < Count; i += blockDim.x)
    shared[i] = from[i];
  __syncthreads();
  for (int i = threadIdx.x; i < Count; i += blockDim.x)
    to[i] = shared[Count - 1 - i];
}

/// Reverses 16384 floats through 64 KiB of dynamic shared memory.
extern "C" __global__ void reverse(const float *from, float *to) {
  extern __shared__ float shared[];
  reverseShared<16384>(from, to, shared);
}

/// Reverses 12288 floats through 48 KiB beside a shared variable.
extern "C" __global__ void reverse_beside(const float *from, float *to) {
  extern __shared__ float shared[];
  __shared__ float first;
  if (threadIdx.x == 0)
    first = from[0];
  reverseShared<12288>(from, to, shared);
  if (threadIdx.x == 0)
    to[12287] = first;
}

extern "C" __global__ void increment(float *value) { value[0] += 1; }

/// Reads an invalid address.
extern "C" __global__ void stray(float *value) {
  value[0] = *reinterpret_cast<float *>(16);
}

//===----------------------------------------------------------------------===//
// Tensor maps
//===----------------------------------------------------------------------===//

extern "C" __global__ void increment_all(const float *from, float *to) {
  to[threadIdx.x] = from[threadIdx.x] + 1;
}

struct alignas(64) Map {
  unsigned char bytes[128];
};

#if __CUDA_ARCH__ >= 900
__device__ inline unsigned sharedAddress(const void *pointer) {
  return unsigned(__cvta_generic_to_shared(pointer));
}

/// Sets up a barrier for `bytes`; called by every thread of the block.
__device__ inline void expectBytes(unsigned barrier, unsigned bytes) {
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(barrier));
    asm volatile("fence.proxy.async.shared::cta;");
    asm volatile(
        "mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(barrier),
        "r"(bytes));
  }
  __syncthreads();
}

__device__ inline void waitFor(unsigned barrier) {
  unsigned done = 0;
  while (!done)
    asm volatile("{\n .reg .pred p;\n"
                 " mbarrier.try_wait.parity.shared.b64 p, [%1], 0;\n"
                 " selp.u32 %0, 1, 0, p;\n}"
                 : "=r"(done)
                 : "r"(barrier)
                 : "memory");
}
#endif

/// Block b copies the tile of 8x16 at (b / 2, b % 2) through the map.
extern "C" __global__ void tiles(const float *, float *to,
                                 const __grid_constant__ Map map) {
#if __CUDA_ARCH__ >= 900
  __shared__ alignas(128) float tile[8 * 16];
  __shared__ alignas(8) unsigned long long bar;
  unsigned barrier = sharedAddress(&bar);
  expectBytes(barrier, sizeof tile);
  if (threadIdx.x == 0)
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::"
                 "complete_tx::bytes [%0], [%1, {%2, %3}], [%4];" ::"r"(
                     sharedAddress(tile)),
                 "l"(&map), "r"(blockIdx.x % 2 * 16), "r"(blockIdx.x / 2 * 8),
                 "r"(barrier)
                 : "memory");
  waitFor(barrier);
  to[blockIdx.x * 128 + threadIdx.x] = tile[threadIdx.x];
#endif
}

/// Block b copies tap (b / 3, b % 3) of 40 pixels of 16 channels.
extern "C" __global__ void taps(const float *, float *to,
                                const __grid_constant__ Map map) {
#if __CUDA_ARCH__ >= 900
  __shared__ alignas(128) float tile[40 * 16];
  __shared__ alignas(8) unsigned long long bar;
  unsigned barrier = sharedAddress(&bar);
  expectBytes(barrier, sizeof tile);
  if (threadIdx.x == 0)
    asm volatile(
        "cp.async.bulk.tensor.4d.shared::cluster.global.im2col.mbarrier::"
        "complete_tx::bytes [%0], [%1, {%2, %3, %4, %5}], [%6], {%7, %8};" ::
            "r"(sharedAddress(tile)),
        "l"(&map), "r"(0), "r"(-1), "r"(-1), "r"(0), "r"(barrier),
        "h"((unsigned short)(blockIdx.x % 3)),
        "h"((unsigned short)(blockIdx.x / 3))
        : "memory");
  waitFor(barrier);
  for (int i = threadIdx.x; i < 40 * 16; i += blockDim.x)
    to[blockIdx.x * 40 * 16 + i] = tile[i];
#endif
}

//===----------------------------------------------------------------------===//
// Programmatic dependent launch
//===----------------------------------------------------------------------===//

/// Reads the results of a distant block of the preceding kernel.
__device__ inline void moveAndAdd(const float *from, float *to) {
  unsigned count = gridDim.x * blockDim.x;
  unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  to[i] = from[(i + count / 2 + 77) % count] + 1;
}

extern "C" __global__ void chained_early(const float *from, float *to) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  moveAndAdd(from, to);
}

extern "C" __global__ void chained_late(const float *from, float *to) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
  moveAndAdd(from, to);
}

/// Averages two buffers, which blocks of chained_early have fully written.
extern "C" __global__ void mean_early(const float *a, const float *b,
                                      float *to) {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int count = gridDim.x * blockDim.x;
  int other = (i + count / 2 + 77) % count;
  to[i] = (a[other] + b[other]) / 2;
}
