//===- harness.h - Shared code of the skeleton checks ---------------------===//
//
// A check is one source for two compilers. g++ -x c++ -DFRIT_EMULATE=90 runs it
// on the host under test/emulator; nvcc runs it on a GPU, where --bench times
// the kernels as well. Kernels stand above `#ifndef __CUDACC_RTC__` and the
// host part below it, so that NVRTC can compile the kernels of the same file.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_TEST_CODEGEN_SKELETONS_HARNESS_H
#define FRIT_TEST_CODEGEN_SKELETONS_HARNESS_H

#include "frit/base.cuh"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace harness {

using frit::bf16;
using frit::f16;

inline int failures = 0;

inline void require(bool ok, const char *what) {
  if (ok)
    return;
  fprintf(stderr, "%s\n", what);
  exit(1);
}

#ifdef FRIT_EMULATE
template <class Kernel, class... Args>
void launchShared(Kernel kernel, dim3 grid, unsigned block, int sharedBytes,
                  Args... args) {
  if (!emu::launch(grid, block, sharedBytes, [&] { kernel(args...); }))
    ++failures;
}
#else
inline void require(cudaError_t error) {
  require(error == cudaSuccess, cudaGetErrorString(error));
}
/// The stream of all launches.
inline cudaStream_t launchStream = nullptr;

template <class Kernel, class... Args>
void launchShared(Kernel kernel, dim3 grid, unsigned block, int sharedBytes,
                  Args... args) {
  if (sharedBytes > 48 << 10)
    require(cudaFuncSetAttribute(
        kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sharedBytes));
  kernel<<<grid, block, sharedBytes, launchStream>>>(args...);
  require(cudaGetLastError());
}
#endif
template <class Kernel, class... Args>
void launch(Kernel kernel, dim3 grid, unsigned block, Args... args) {
  launchShared(kernel, grid, block, 0, args...);
}

//===----------------------------------------------------------------------===//
// Values: 16-bit floats on the host of either compiler
//===----------------------------------------------------------------------===//

inline double toDouble(f16 value) {
  int exponent = value.bits >> 10 & 31, mantissa = value.bits & 1023;
  double magnitude = exponent == 0    ? ldexp(mantissa, -24)
                     : exponent == 31 ? (mantissa ? NAN : INFINITY)
                                      : ldexp(1024 + mantissa, exponent - 25);
  return value.bits & 0x8000 ? -magnitude : magnitude;
}
inline double toDouble(bf16 value) {
  uint32_t bits = uint32_t(value.bits) << 16;
  float result;
  memcpy(&result, &bits, sizeof result);
  return result;
}
template <class T> double toDouble(T value) { return double(value); }

/// Converts n / 64. Random values are such multiples in [-1, 1), which are
/// exact in every type.
template <class T> T fromSixtyFourths(int n) { return T(n / 64.0); }
template <> inline f16 fromSixtyFourths<f16>(int n) {
  if (n == 0)
    return {0};
  int magnitude = n < 0 ? -n : n, exponent = 0;
  while (magnitude >> (exponent + 1))
    ++exponent;
  int mantissa = (magnitude << (10 - exponent)) & 1023;
  return {uint16_t((n < 0) << 15 | (exponent - 6 + 15) << 10 | mantissa)};
}
template <> inline bf16 fromSixtyFourths<bf16>(int n) {
  float value = n / 64.0f;
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  return {uint16_t(bits >> 16)};
}
template <> inline int8_t fromSixtyFourths<int8_t>(int n) { return n / 4; }
template <> inline int32_t fromSixtyFourths<int32_t>(int n) { return n; }
template <> inline int64_t fromSixtyFourths<int64_t>(int n) { return n; }

/// Returns the relative rounding error of a T.
template <class T> double epsilonOf() {
  return sizeof(T) == 8 ? 1e-12 : sizeof(T) == 4 ? 2e-6 : 1e-3;
}
template <> inline double epsilonOf<bf16>() { return 8e-3; }

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

/// `count` elements on the host and on the device, which are the same memory
/// under the emulator. Poisoned at first, and followed by a poisoned guard.
template <class T> class Buffer {
  static constexpr size_t kGuard = 64;

public:
  explicit Buffer(size_t count)
      : values(count + kGuard + 128 / sizeof(T)), count(count) {
    memset(static_cast<void *>(values.data()), 0xC7, values.size() * sizeof(T));
#ifndef FRIT_EMULATE
    require(cudaMalloc(&device, (count + kGuard) * sizeof(T)));
    upload();
#endif
  }
  Buffer(const Buffer &) = delete;
#ifndef FRIT_EMULATE
  ~Buffer() { cudaFree(device); }
  T *get() { return device; }
  void upload() {
    require(cudaMemcpy(device, host(), (count + kGuard) * sizeof(T),
                       cudaMemcpyHostToDevice));
  }
  void download() {
    require(cudaMemcpy(host(), device, (count + kGuard) * sizeof(T),
                       cudaMemcpyDeviceToHost));
  }
#else
  T *get() { return host(); }
  void upload() {}
  void download() {}
#endif

  /// Returns the host address. It is 128-byte aligned, like device memory.
  T *host() {
    auto address = reinterpret_cast<uintptr_t>(values.data());
    return reinterpret_cast<T *>((address + 127) & ~uintptr_t(127));
  }
  size_t size() const { return count; }
  T &operator[](size_t i) { return host()[i]; }

  Buffer &randomize(unsigned seed) {
    uint64_t state = seed * 2654435761u + 12345;
    for (size_t i = 0; i < count; ++i) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      host()[i] = fromSixtyFourths<T>(int(state >> 33) % 128 - 64);
    }
    upload();
    return *this;
  }

  bool guardIsIntact() {
    auto *bytes = reinterpret_cast<unsigned char *>(host() + count);
    return std::all_of(bytes, bytes + kGuard * sizeof(T),
                       [](unsigned char byte) { return byte == 0xC7; });
  }

private:
  std::vector<T> values;
  size_t count;
#ifndef FRIT_EMULATE
  T *device = nullptr;
#endif
};

/// Returns the elements of a buffer on the host.
template <class To, class T> std::vector<To> elementsOf(Buffer<T> &buffer) {
  std::vector<To> elements;
  for (size_t i = 0; i < buffer.size(); ++i)
    elements.push_back(To(toDouble(buffer[i])));
  return elements;
}

/// Counts a failure unless every element of `got` is within `tolerance` of
/// `want`, relative to the largest magnitude of `want`. NaN never passes.
template <class T>
void expect(const std::string &name, Buffer<T> &got,
            const std::vector<double> &want, double tolerance) {
  got.download();
  double scale = 1e-30, worst = 0;
  size_t where = 0;
  for (double value : want)
    scale = std::max(scale, std::fabs(value));
  for (size_t i = 0; i < want.size(); ++i) {
    double error = std::fabs(toDouble(got[i]) - want[i]) / scale;
    if (!(error <= worst)) {
      worst = error;
      where = i;
    }
    if (worst != worst)
      break;
  }
  bool ok = worst <= tolerance && got.guardIsIntact();
  if (ok)
    return;
  ++failures;
  printf("FAIL %s: element %zu is %g, not %g; error %.2e over %.2e%s\n",
         name.c_str(), where, toDouble(got[where]), want[where], worst,
         tolerance, got.guardIsIntact() ? "" : "; wrote past the end");
}

//===----------------------------------------------------------------------===//
// Timing
//===----------------------------------------------------------------------===//

#ifndef FRIT_EMULATE
/// Prints the median time of `run` and `work` per second in units of `unit`.
template <class Run>
void bench(const char *name, double work, const char *unit, const Run &run) {
  cudaEvent_t start, stop;
  require(cudaEventCreate(&start));
  require(cudaEventCreate(&stop));
  std::vector<float> times;
  for (int i = 0; i < 45; ++i) {
    require(cudaEventRecord(start));
    run();
    require(cudaEventRecord(stop));
    require(cudaEventSynchronize(stop));
    float milliseconds;
    require(cudaEventElapsedTime(&milliseconds, start, stop));
    if (i >= 10)
      times.push_back(milliseconds);
  }
  std::nth_element(times.begin(), times.begin() + times.size() / 2,
                   times.end());
  double median = times[times.size() / 2];
  printf("%-44s %9.4f ms %9.2f %s\n", name, median, work / median * 1e3, unit);
}
inline constexpr bool kCanBench = true;
#else
inline constexpr bool kCanBench = false;
#endif

/// Runs `checks` under several thread schedules, then `benches` if asked for.
template <class Checks, class Benches>
int run(int argc, char **argv, const Checks &checks, const Benches &benches) {
#ifdef FRIT_EMULATE
  for (unsigned seed = 1; seed <= 2; ++seed) {
    emu::setSeed(seed);
    checks();
  }
#else
  checks();
#endif
  printf(failures ? "%d checks failed\n" : "all checks passed\n", failures);
  if (kCanBench && argc > 1 && !strcmp(argv[1], "--bench"))
    benches();
  return failures != 0;
}

} // namespace harness

#endif // FRIT_TEST_CODEGEN_SKELETONS_HARNESS_H
