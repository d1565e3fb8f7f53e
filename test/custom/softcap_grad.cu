__device__ float softcap_grad(float x, float dy, float limit) {
  float t = tanhf(x / limit);
  return dy * (1 - t * t);
}
