// A smooth limit of logits: near 0 it is x, and it stays within ±limit.

__device__ float softcap(float x, float limit) {
  return limit * tanhf(x / limit);
}
