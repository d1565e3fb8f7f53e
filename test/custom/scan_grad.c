static void linear_scan_grad(const float *x, const float *a, const float *dh,
                             float *dx, float *da, float *h, int batch,
                             int steps, int channels) {
  for (int b = 0; b < batch; ++b)
    for (int c = 0; c < channels; ++c) {
      long first = (long)b * steps * channels + c;
      float state = 0, sum = 0;
      for (int t = 0; t < steps; ++t) {
        long i = first + (long)t * channels;
        h[i] = state = a[i] * state + x[i];
      }
      for (int t = steps - 1; t >= 0; --t) {
        long i = first + (long)t * channels;
        sum += dh[i];
        dx[i] = sum;
        da[i] = t ? sum * h[i - channels] : 0;
        sum *= a[i];
      }
    }
}
