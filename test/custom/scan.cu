// A linear recurrence, as in state-space models: h[t] = a[t] * h[t - 1] + x[t]
// along the second dimension of [batch, steps, channels]. Each thread runs one
// channel of one sequence, so that neighbours read neighbouring elements.

#include <cuda_fp16.h>

// frit defines FRIT_T as the type that T of scan.json is in the model.
extern "C" __global__ void linear_scan(const FRIT_T *x, const FRIT_T *a,
                                       FRIT_T *h, int batch, int steps,
                                       int channels) {
  int thread = blockIdx.x * blockDim.x + threadIdx.x;
  if (thread >= batch * channels)
    return;
  long long first =
      (long long)(thread / channels) * steps * channels + thread % channels;
  float state = 0;
  for (int t = 0; t < steps; ++t) {
    long long i = first + (long long)t * channels;
    state = float(a[i]) * state + float(x[i]);
    h[i] = FRIT_T(state);
  }
}
