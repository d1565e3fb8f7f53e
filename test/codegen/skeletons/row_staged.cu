//===- row_staged.cu - Checks row_staged.cuh ------------------------------===//

#include "frit/row_staged.cuh"

#include "layer_norm.h"

/// y = (x - mean) / sqrt(variance + 1e-5) * scale + shift, in place in shared
/// memory, of rows that start at any element of a vector; also stores the mean.
template <int V, int Cols, class T> struct SkewedNorm {
  const T *x, *scale;
  const float *shift;
  T *y;
  float *means;

  struct Element {
    float x;
  };
  static constexpr int kReductions = 2;
  static constexpr int kStagedBytes = sizeof(T), kWeights = 2;
  static constexpr int kScaleBytes =
      V * (((Cols + V - 1) * sizeof(T) + 127) / 128 * 128);
  static constexpr int kShiftBytes =
      V * (((Cols + V - 1) * sizeof(float) + 127) / 128 * 128);
  template <class Self, class Visit>
  __device__ static void forInputs(Self &self, const Visit &visit) {
    visit(self.x, 0);
  }
  template <class Self, class Visit>
  __device__ static void forOutputs(Self &self, const Visit &visit) {
    visit(self.y, 0);
  }
  template <class Self, class Visit>
  __device__ static void forWeights(Self &self, const Visit &visit) {
    visit(self.scale, 0);
    visit(self.shift, kScaleBytes);
  }

  __device__ void load(Element (&e)[V], unsigned row, int col) const {
    loadElements(e, x + size_t(row) * Cols + col);
  }
  template <int R>
  __device__ float term(Element &e, const float (&r)[2], unsigned, int) const {
    return momentTerm<R>(e.x, r[0], Cols);
  }
  template <int R> __device__ static float identity() { return 0; }
  template <int R> __device__ static float combine(float x, float y) {
    return x + y;
  }
  template <class Own>
  __device__ void store(const Element (&e)[V], const float (&r)[2],
                        unsigned row, int col, const Own &own) const {
    float out[V];
    normalize(out, e, r, Cols, scale + col, shift + col);
    frit::storeOwn(y + size_t(row) * Cols + col, out, own);
  }
  __device__ void finish(const float (&r)[2], unsigned row) const {
    means[row] = r[0] / Cols;
  }
};

template <class T, int Cols, int Threads, int PerThread, int V, int Block,
          int Held>
__global__ void normStaged(const T *x, const T *scale, const float *shift, T *y,
                           float *means, unsigned rows) {
  frit::rowStaged<SkewedNorm<V, Cols, T>, Threads, PerThread, V, Block, Cols,
                  Held>({x, scale, shift, y, means}, rows);
}

#ifndef __CUDACC_RTC__
using namespace harness;

template <class T, int Cols, int Threads, int PerThread, int V, int Block = 128,
          int Held = 1>
static void checkStaged(unsigned rows) {
  using Body = SkewedNorm<V, Cols, T>;
  constexpr unsigned kHeld = Block / Threads * Held;
  const unsigned shared = (kHeld * Cols * sizeof(T) + 127) / 128 * 128 +
                          Body::kScaleBytes + Body::kShiftBytes;
  Buffer<T> x(rows * Cols), y(rows * Cols), scale(Cols);
  Buffer<float> shift(Cols), means(rows);
  x.randomize(1);
  scale.randomize(2);
  shift.randomize(3);
  launchShared(normStaged<T, Cols, Threads, PerThread, V, Block, Held>,
               (rows + kHeld - 1) / kHeld, Block, shared, x.get(), scale.get(),
               shift.get(), y.get(), means.get(), rows);

  std::vector<double> want, wantMeans;
  for (unsigned i = 0; i < rows; ++i)
    normalizeRow(x.host() + i * Cols, Cols, scale.host(), shift.host(), want,
                 wantMeans);
  std::string shape = std::to_string(rows) + "x" + std::to_string(Cols) +
                      " by " + std::to_string(V);
  expect("staged layer norm " + shape, y, want, epsilonOf<T>());
  expect("staged row mean " + shape, means, wantMeans, 2e-6);
}

/// Skewed vectors. The last block has one row, half of its rows, or all.
static void checks() {
  checkStaged<f16, 17, 1, 18, 2>(128 + 1);
  checkStaged<f16, 17, 1, 20, 4>(128 + 64);
  checkStaged<f16, 49, 2, 26, 2>(64 + 33);
  checkStaged<f16, 49, 4, 16, 4, 128, 2>(64 + 35); // two rows per team
  checkStaged<bf16, 99, 4, 26, 2>(64);
  checkStaged<f16, 99, 16, 8, 4, 128, 2>(16 + 3);
  checkStaged<f16, 197, 8, 26, 2>(16 + 7);
  checkStaged<f16, 197, 16, 14, 2, 128, 2>(16 + 9);
  checkStaged<f16, 197, 8, 28, 4>(32 + 5);
  checkStaged<f16, 198, 8, 28, 4>(16 + 3); // rows start at even elements
  checkStaged<f16, 517, 32, 18, 2, 256>(8 + 3);
  checkStaged<f16, 517, 32, 20, 4, 256>(8 + 1);
  checkStaged<float, 99, 8, 16, 4>(16 + 5);
  checkStaged<f16, 3, 1, 4, 2>(128 + 5); // one or two vectors
  checkStaged<f16, 3, 1, 8, 4>(128 + 5);
}

static void benches() {}

int main(int argc, char **argv) { return run(argc, argv, checks, benches); }
#endif
