//===- cpu_kernels_bench.cpp - Speed of the CPU contractions --------------===//

#include "cpu_kernels_bench.h"
#include "cpu_kernels_tensor.h"
#include "runtime/cpu/Cpu.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

using namespace frit::artifact;
using namespace frit::cpu;
using frit::Activation;

namespace {
/// A convolution over square images, and its number of occurrences in
/// ResNet-50.
struct Layer {
  int64_t count, channels, size, filters, filter, stride;
};
constexpr Layer kResNet50[] = {
    {1, 3, 224, 64, 7, 2},    {1, 64, 56, 64, 1, 1},
    {3, 64, 56, 64, 3, 1},    {4, 64, 56, 256, 1, 1},
    {2, 256, 56, 64, 1, 1},   {1, 256, 56, 128, 1, 1},
    {1, 128, 56, 128, 3, 2},  {1, 256, 56, 512, 1, 2},
    {4, 128, 28, 512, 1, 1},  {3, 512, 28, 128, 1, 1},
    {3, 128, 28, 128, 3, 1},  {1, 512, 28, 256, 1, 1},
    {1, 256, 28, 256, 3, 2},  {1, 512, 28, 1024, 1, 2},
    {6, 256, 14, 1024, 1, 1}, {5, 1024, 14, 256, 1, 1},
    {5, 256, 14, 256, 3, 1},  {1, 1024, 14, 512, 1, 1},
    {1, 512, 14, 512, 3, 2},  {1, 1024, 14, 2048, 1, 2},
    {3, 512, 7, 2048, 1, 1},  {2, 2048, 7, 512, 1, 1},
    {2, 512, 7, 512, 3, 1}};

/// Returns the median time of calls over a tenth of a second, in milliseconds.
template <typename Body> double timed(Body body) {
  using Clock = std::chrono::steady_clock;
  body();
  std::vector<double> times;
  for (double total = 0; total < 100 || times.size() < 5;) {
    const auto start = Clock::now();
    body();
    times.push_back(
        std::chrono::duration<double, std::milli>(Clock::now() - start)
            .count());
    total += times.back();
  }
  std::nth_element(times.begin(), times.begin() + times.size() / 2,
                   times.end());
  return times[times.size() / 2];
}

void resNet50(ThreadPool &pool, bool channelsLast) {
  frit::test::Scratch scratch;
  double total = 0, operations = 0;
  for (const Layer &layer : kResNet50) {
    Conv c{.n = 1, .c = layer.channels, .h = layer.size, .w = layer.size};
    c.k = layer.filters;
    c.r = c.s = layer.filter;
    c.p = c.q = layer.size / layer.stride;
    c.strideH = c.strideW = layer.stride;
    c.padTop = c.padLeft = c.padBottom = c.padRight = layer.filter / 2;
    c.channelsLast = channelsLast;
    c.hasBias = 1;
    c.activation = Activation::relu;
    std::vector<float> x(c.c * c.h * c.w, 1), w(c.k * c.c * c.r * c.s, 1);
    std::vector<float> bias(c.k), y(c.k * c.p * c.q);
    void *arguments[] = {x.data(), w.data(), bias.data(), y.data()};
    const double time = timed([&] { scratch.run(conv, c, arguments, pool); });
    const double work = 2. * c.k * c.p * c.q * c.c * c.r * c.s;
    std::printf("%s %4ld x %3ld² -> %4ld, %ldx%ld / %ld  ×%ld %8.3f ms %7.1f "
                "GFLOP/s\n",
                channelsLast ? "nhwc" : "nchw", long(c.c), long(c.h), long(c.k),
                long(c.r), long(c.s), long(layer.stride), long(layer.count),
                time, work / time * 1e-6);
    total += time * layer.count;
    operations += work * layer.count;
  }
  std::printf("all convolutions %8.3f ms %7.1f GFLOP/s\n\n", total,
              operations / total * 1e-6);
}

void products(ThreadPool &pool) {
  frit::test::Scratch scratch;
  const int64_t shapes[][3] = {
      {1, 1000, 2048},   {4, 4096, 1024},  {128, 768, 768},   {384, 1024, 1024},
      {384, 4096, 1024}, {197, 3072, 768}, {2048, 2048, 2048}};
  for (auto [m, n, k] : shapes)
    for (bool transposed : {false, true}) {
      Gemm g{.m = m, .n = n, .k = k, .lda = k, .ldb = transposed ? k : n};
      g.ldd = n;
      g.transposeB = transposed;
      g.hasBias = 1;
      g.activation = Activation::gelu;
      std::vector<float> a(m * k, 1), b(k * n, 1), bias(n), d(m * n);
      void *arguments[] = {a.data(), b.data(), bias.data(), d.data()};
      const double time = timed([&] { scratch.run(gemm, g, arguments, pool); });
      std::printf("gemm %4ld x %4ld x %4ld %s gelu %8.3f ms %7.1f GFLOP/s\n",
                  long(m), long(n), long(k), transposed ? "Bᵀ" : "B ", time,
                  2. * m * n * k / time * 1e-6);
    }
}
} // namespace

int frit::bench::cpuKernels(unsigned threads) {
  static constexpr const char *kNames[] = {
      "SSE2", "AVX2", "AVX-512", "AVX-512 with VNNI", "NEON", "I8MM"};
  for (Isa isa : isas()) {
    ThreadPool pool(threads, isa);
    std::printf("%u threads, %s\n", pool.size(), kNames[size_t(isa)]);
    resNet50(pool, false);
    if (isa == bestIsa()) {
      resNet50(pool, true);
      products(pool);
    }
  }
  return 0;
}
