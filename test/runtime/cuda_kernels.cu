//===- cuda_kernels.cu - The kernels of cuda_test -------------------------===//

extern "C" __global__ void doubled(const float *from, float *to) {
  to[threadIdx.x] = 2 * from[threadIdx.x];
}

/// One block is one row of three.
extern "C" __global__ void add_ids(const float *rows, const long long *ids,
                                   float *to) {
  int i = blockIdx.x * 3 + threadIdx.x;
  to[i] = rows[i] + float(ids[blockIdx.x]);
}

/// x·w + bias, through relu, for the sizes of the test model: what runs where
/// there is no library.
extern "C" __global__ void fc_fallback(const float *x, const float *w,
                                       const float *bias, float *to) {
  int row = blockIdx.x, column = threadIdx.x;
  float sum = bias[column];
  for (int k = 0; k < 8; ++k)
    sum += x[row * 8 + k] * w[k * 3 + column];
  to[row * 3 + column] = fmaxf(sum, 0.0f);
}

/// Reverses 16384 floats through 64 KiB of dynamic shared memory.
extern "C" __global__ void reverse(const float *from, float *to) {
  extern __shared__ float shared[];
  for (int i = threadIdx.x; i < 16384; i += blockDim.x)
    shared[i] = from[i];
  __syncthreads();
  for (int i = threadIdx.x; i < 16384; i += blockDim.x)
    to[i] = shared[16383 - i];
}

extern "C" __global__ void increment(float *value) { value[0] += 1; }

/// Reads where nothing is.
extern "C" __global__ void stray(float *value) {
  value[0] = *reinterpret_cast<float *>(16);
}
