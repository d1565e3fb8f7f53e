//===- map.cu - Checks map.cuh, vector access and scalar functions --------===//

#include "frit/map.cuh"

template <int V, class T> struct ScaleAdd {
  const T *x, *y;
  T *z;
  template <class Index> __device__ void operator()(Index i) const {
    frit::Compute<T> a[V], b[V], c[V];
    frit::loadVector(a, x + i);
    frit::loadVector(b, y + i);
#pragma unroll
    for (int v = 0; v < V; ++v)
      c[v] = a[v] * 3 + b[v];
    frit::storeVector(z + i, c);
  }
};

template <int V, class T, class Index>
__global__ void scaleAdd(const T *x, const T *y, T *z, Index n) {
  frit::map<V>(ScaleAdd<V, T>{x, y, z}, n);
}

/// Every scalar function and conversion once; `n` inputs, kScalars outputs
/// each.
constexpr int kScalars = 29;
struct Scalars {
  const float *x;
  double *out;
  __device__ void operator()(unsigned i) const {
    float v = x[i];
    int n = frit::toInt<int>(v * 64), d = n % 5 - 2;
    double *to = out + i * kScalars;
    *to++ = frit::exp(v);
    *to++ = frit::log(v + 2);
    *to++ = frit::sqrt(v + 2);
    *to++ = frit::rsqrt(v + 2);
    *to++ = frit::erf(v);
    *to++ = frit::tanh(v);
    *to++ = frit::sin(v);
    *to++ = frit::cos(v);
    *to++ = frit::pow(v + 2, 1.5f);
    *to++ = frit::floor(v * 8);
    *to++ = frit::ceil(v * 8);
    *to++ = frit::roundEven(v * 8);
    *to++ = frit::abs(v);
    *to++ = frit::fmod(v * 8, 3.0f);
    *to++ = frit::maximum(v, 0.25f);
    *to++ = frit::minimum(v, 0.25f);
    *to++ = frit::isNan(frit::maximum(v, NAN)) &&
            frit::isNan(frit::minimum(float(NAN), v));
    *to++ = frit::divS(n, d);
    *to++ = frit::remS(n, d);
    *to++ = frit::floorDiv(n, 7);
    *to++ = frit::ceilDiv(n, 7);
    *to++ = frit::floorMod(n, -7);
    *to++ = frit::toInt<int8_t>(v * 1000);
    *to++ = frit::toInt<uint8_t>(v * 1000);
    *to++ = frit::toInt<int64_t>(v * 1e30f) == (v < 0 ? -0x7fffffffffffffff - 1
                                                : v > 0 ? 0x7fffffffffffffff
                                                        : 0);
    *to++ = frit::toInt<int>(v * float(NAN)) == 0;
    *to++ = frit::saturate32((int64_t(n) << 32) + n) == (n < 0 ? -0x7fffffff - 1
                                                         : n > 0 ? 0x7fffffff
                                                                 : 0);
    *to++ = frit::roundQuotient(v * 15.5f, 0.3f, 1 / 0.3f);
    *to++ = frit::roundQuotient(v < 0 ? -INFINITY : 1e38f * 3, 0.3f,
                                1 / 0.3f) == (v < 0 ? -INFINITY : INFINITY);
  }
};

extern "C" __global__ void scalars(const float *x, double *out) {
  frit::map<1>(Scalars{x, out}, 128u);
}

/// Rounds floats to f16 and bf16 with `store`; returns the bits.
struct Round {
  const float *x;
  uint16_t *half, *brain;
  __device__ void operator()(unsigned i) const {
    frit::f16 h;
    frit::bf16 b;
    frit::store(h, x[i]);
    frit::store(b, x[i]);
    half[i] = h.bits;
    brain[i] = b.bits;
  }
};
extern "C" __global__ void roundings(const float *x, uint16_t *half,
                                     uint16_t *brain) {
  frit::map<1>(Round{x, half, brain}, 12u);
}

template __global__ void scaleAdd<8>(const frit::f16 *, const frit::f16 *,
                                     frit::f16 *, unsigned);
template __global__ void scaleAdd<4>(const float *, const float *, float *,
                                     uint64_t);
template __global__ void scaleAdd<8>(const frit::bf16 *, const frit::bf16 *,
                                     frit::bf16 *, unsigned);

#ifndef __CUDACC_RTC__
#include "harness.h"

using namespace harness;

template <int V, class T, class Index>
static void checkMap(Index n, unsigned blocks) {
  Buffer<T> x(n), y(n), z(n);
  x.randomize(1);
  y.randomize(2);
  launch(scaleAdd<V, T, Index>, blocks, 128, x.get(), y.get(), z.get(), n);
  std::vector<double> want(n);
  for (size_t i = 0; i < want.size(); ++i)
    want[i] = toDouble(x[i]) * 3 + toDouble(y[i]);
  expect("map of " + std::to_string(n), z, want, epsilonOf<T>());
}

static void checkScalars() {
  const int n = 128;
  Buffer<float> x(n);
  Buffer<double> out(n * kScalars);
  for (int i = 0; i < n; ++i)
    x[i] = (i - 64) / 64.0f;
  x.upload();
  launch(scalars, 1, 64, x.get(), out.get());
  std::vector<double> want;
  for (int i = 0; i < n; ++i) {
    double v = x[i];
    int m = i - 64, d = m % 5 - 2;
    auto clamp = [](double value, double low, double high) {
      return std::trunc(std::min(std::max(value, low), high));
    };
    want.insert(want.end(), {std::exp(v),
                             std::log(v + 2),
                             std::sqrt(v + 2),
                             1 / std::sqrt(v + 2),
                             std::erf(v),
                             std::tanh(v),
                             std::sin(v),
                             std::cos(v),
                             std::pow(v + 2, 1.5),
                             std::floor(v * 8),
                             std::ceil(v * 8),
                             std::nearbyint(v * 8),
                             std::fabs(v),
                             std::fmod(v * 8, 3),
                             std::max(v, 0.25),
                             std::min(v, 0.25),
                             1,
                             d ? double(m / d) : 0,
                             d ? double(m % d) : 0,
                             std::floor(m / 7.0),
                             std::ceil(m / 7.0),
                             m - -7 * std::floor(m / -7.0),
                             clamp(v * 1000, -128, 127),
                             clamp(v * 1000, 0, 255),
                             1,
                             1,
                             1,
                             std::nearbyint(float(v * 15.5) / 0.3f),
                             1});
  }
  expect("scalar functions", out, want, 1e-8);
}

static void checkRoundings() {
  // Ties to even both ways, overflow, subnormals, zero, infinity, NaN.
  const float in[] = {1.0f,     1.00048828125f, 1.00146484375f, 65519.0f,
                      65520.0f, 0x1p-24f,       0x1.8p-24f,     0x1p-25f,
                      -0.0f,    INFINITY,       1.00390625f,    1.01171875f};
  const double half[] = {0x3c00, 0x3c00, 0x3c02, 0x7bff, 0x7c00, 0x0001,
                         0x0002, 0x0000, 0x8000, 0x7c00, 0x3c04, 0x3c0c};
  const double brain[] = {0x3f80, 0x3f80, 0x3f80, 0x4780, 0x4780, 0x3380,
                          0x33c0, 0x3300, 0x8000, 0x7f80, 0x3f80, 0x3f82};
  Buffer<float> x(12);
  Buffer<uint16_t> h(12), b(12);
  std::copy(in, in + 12, x.host());
  x.upload();
  launch(roundings, 1, 32, x.get(), h.get(), b.get());
  expect("f16 rounding", h, {half, half + 12}, 0);
  expect("bf16 rounding", b, {brain, brain + 12}, 0);
}

static void checks() {
  checkMap<1, float>(1009u, 3);
  checkMap<4, float>(4u * 257, 2);
  checkMap<2, double>(2u * 501, 9);
  checkMap<8, f16>(8u * 331, 1);
  checkMap<8, bf16>(uint64_t(8 * 131), 5);
  checkMap<16, f16>(16u * 31, 1);
  checkMap<4, int8_t>(4u * 77, 1);
  checkMap<2, int64_t>(2u * 77, 1);
  checkScalars();
  checkRoundings();
}

static void benches() {
#ifndef FRIT_EMULATE
  const unsigned n = 1u << 28;
  Buffer<f16> x(n), y(n), z(n);
  x.randomize(1);
  y.randomize(2);
  for (unsigned blocks : {132u * 8, 132u * 16, n / 8 / 256})
    bench(("map f16 x8, blocks " + std::to_string(blocks)).c_str(), 6e-9 * n,
          "GB/s", [&] {
            launch(scaleAdd<8, f16, unsigned>, blocks, 256, x.get(), y.get(),
                   z.get(), n);
          });
#endif
}

int main(int argc, char **argv) { return run(argc, argv, checks, benches); }
#endif
