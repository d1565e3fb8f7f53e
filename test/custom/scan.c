/* The same on the host; pointers and numbers come in the same order. */

static void linear_scan(const FRIT_T *x, const FRIT_T *a, FRIT_T *h, int batch,
                        int steps, int channels) {
  for (int b = 0; b < batch; ++b)
    for (int c = 0; c < channels; ++c) {
      float state = 0;
      for (int t = 0; t < steps; ++t) {
        long i = ((long)b * steps + t) * channels + c;
        state = (float)a[i] * state + (float)x[i];
        h[i] = (FRIT_T)state;
      }
    }
}
