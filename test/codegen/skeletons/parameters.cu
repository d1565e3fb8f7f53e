//===- parameters.cu - Checks parameters.cuh ------------------------------===//

#include "frit/base.cuh"
#include "frit/parameters.cuh"

namespace frit::user {

// Values, by reference too, and integers whatever their sign.
static_assert(Takes<float, float>::value);
static_assert(Takes<const float &, float>::value);
static_assert(Takes<unsigned, int>::value);
static_assert(!Takes<int, float>::value);
static_assert(!Takes<float, double>::value);
static_assert(!Takes<short, int>::value);

// Inputs are constant, outputs are not.
static_assert(Takes<const float *, const float *>::value);
static_assert(Takes<float *, float *>::value);
static_assert(!Takes<const float *, float *>::value);
static_assert(!Takes<const int *, const float *>::value);
static_assert(!Takes<double *, float *>::value);

// Integers that hold so many bytes, and bools as bytes.
static_assert(Takes<int, Narrow<long long, 4>>::value);
static_assert(!Takes<short, Narrow<long long, 4>>::value);
static_assert(!Takes<float, Narrow<long long, 4>>::value);
static_assert(Takes<bool, Narrow<unsigned char, 1>>::value);

static_assert(Takes<void *, Workspace>::value);
static_assert(!Takes<const float *, Workspace>::value);

} // namespace frit::user

/// Doubles a number; there is one for each type.
template <class T> __device__ T twice(T x) { return x + x; }

// One of several functions, and an instance of a template.
static_assert(sizeof(frit::user::Function<float(float)>::check(twice<float>)) >
              0);
static_assert(sizeof(frit::user::Function<int(int)>::check(twice)) > 0);

extern "C" __global__ void doubled(float *x) {
  x[threadIdx.x] = twice(x[threadIdx.x]);
}

#ifndef __CUDACC_RTC__
#include "harness.h"

using namespace harness;

static void checks() {
  Buffer<float> x(32);
  x.randomize(1);
  std::vector<double> want;
  for (size_t i = 0; i < x.size(); ++i)
    want.push_back(2 * toDouble(x[i]));
  launch(doubled, 1, 32, x.get());
  expect("a user's function", x, want, 0);
}

static void benches() {}

int main(int argc, char **argv) { return run(argc, argv, checks, benches); }
#endif
