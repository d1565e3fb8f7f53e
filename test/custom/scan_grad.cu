// The gradient of linear_scan: the recurrence runs backwards, and h, which it
// needs, is computed again into the workspace.

extern "C" __global__ void linear_scan_grad(const float *x, const float *a,
                                            const float *dh, float *dx,
                                            float *da, float *h, int batch,
                                            int steps, int channels) {
  int thread = blockIdx.x * blockDim.x + threadIdx.x;
  if (thread >= batch * channels)
    return;
  long long first =
      (long long)(thread / channels) * steps * channels + thread % channels;
  float state = 0;
  for (int t = 0; t < steps; ++t) {
    long long i = first + (long long)t * channels;
    h[i] = state = a[i] * state + x[i];
  }
  float sum = 0;
  for (int t = steps - 1; t >= 0; --t) {
    long long i = first + (long long)t * channels;
    sum += dh[i];
    dx[i] = sum;
    da[i] = t ? sum * h[i - channels] : 0;
    sum *= a[i];
  }
}
