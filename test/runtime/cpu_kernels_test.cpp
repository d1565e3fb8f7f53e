//===- cpu_kernels_test.cpp - The CPU contractions against loops ----------===//
//
// Compares results with sums in double (or exact integers) on every instruction
// set of this machine. `--bench [threads]` times ResNet-50's layers and some
// matrix products instead.
//
//===----------------------------------------------------------------------===//

#include "cpu_kernels_bench.h"
#include "cpu_kernels_check.h"
#include "cpu_kernels_tensor.h"
#include "runtime/cpu/Cpu.h"

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <random>
#include <string>
#include <thread>
#include <vector>

using namespace frit::artifact;
using namespace frit::cpu;
using namespace frit::test;

namespace {
std::string describe(const Gemm &g, Isa isa) {
  char text[256];
  std::snprintf(text, sizeof text,
                "gemm %ldx%ldx%ld batch %ld tA %u tB %u types %u %u %u bias %u "
                "residual %u act %u isa %u",
                long(g.m), long(g.n), long(g.k), long(g.batch), g.transposeA,
                g.transposeB, unsigned(g.typeA), unsigned(g.typeB),
                unsigned(g.typeD), g.hasBias, g.hasResidual,
                unsigned(g.activation), unsigned(isa));
  return text;
}

/// Runs a product on all instruction sets and several pool sizes; results with
/// the same instruction set must be bitwise equal. Rows have gaps of `gap`
/// elements.
void testGemm(Gemm g, std::vector<Isa> isas, int64_t gap = 0) {
  std::mt19937 engine(g.m * 31 + g.n * 17 + g.k);
  const int64_t rowsA = g.transposeA ? g.k : g.m, colsA = g.m + g.k - rowsA;
  const int64_t rowsB = g.transposeB ? g.n : g.k, colsB = g.k + g.n - rowsB;
  g.lda = colsA + gap;
  g.ldb = colsB + gap;
  g.ldd = g.n + gap;
  if (g.strideA >= 0)
    g.strideA = rowsA * g.lda;
  if (g.strideB >= 0)
    g.strideB = rowsB * g.ldb;
  g.strideA = std::max<int64_t>(g.strideA, 0); // -1 asks for a broadcast
  g.strideB = std::max<int64_t>(g.strideB, 0);
  g.strideD = g.m * g.ldd;
  Numbers a(g.typeA, (g.batch - 1) * g.strideA + rowsA * g.lda);
  Numbers b(g.typeB, (g.batch - 1) * g.strideB + rowsB * g.ldb);
  Numbers bias(g.typeD, g.n), residual(g.typeD, g.batch * g.strideD);
  for (Numbers *tensor : {&a, &b, &bias, &residual})
    tensor->randomise(engine);

  std::vector<double> expected, magnitudes;
  for (int64_t at = 0; at < g.batch * g.m * g.n; ++at) {
    const int64_t x = at / g.n / g.m, i = at / g.n % g.m, j = at % g.n;
    double sum = 0, magnitude = 0;
    for (int64_t k = 0; k < g.k; ++k) {
      const double product =
          a[x * g.strideA + (g.transposeA ? k * g.lda + i : i * g.lda + k)] *
          b[x * g.strideB + (g.transposeB ? j * g.ldb + k : k * g.ldb + j)];
      sum += product;
      magnitude += std::abs(product);
    }
    sum += g.hasBias ? bias[j] : 0;
    sum += g.hasResidual ? residual[x * g.strideD + i * g.ldd + j] : 0;
    expected.push_back(activated(g.activation, sum));
    magnitudes.push_back(magnitude + 2);
  }

  for (Isa isa : isas) {
    Numbers result = computeWith({1, 2, 5}, gemm, g, describe(g, isa), a, b,
                                 bias, residual, isa);
    for (int64_t at = 0; at < g.batch * g.m * g.n; ++at) {
      const int64_t x = at / g.n / g.m, i = at / g.n % g.m, j = at % g.n;
      const double got = result[x * g.strideD + i * g.ldd + j];
      if (isClose(got, expected[at], g.typeD, magnitudes[at]))
        continue;
      check(false, describe(g, isa) + ": element " + std::to_string(at) +
                       " is " + std::to_string(got) + ", not " +
                       std::to_string(expected[at]));
      break;
    }
  }
}

/// Checks that a row's sums are the same bits with any number of rows beside
/// it. `problem` has n, k, types and transposes.
void testRows(Gemm problem, Isa isa) {
  constexpr int64_t kMost = 70;
  std::mt19937 engine(problem.n * 17 + problem.k);
  problem.ldb = problem.transposeB ? problem.k : problem.n;
  problem.ldd = problem.n;
  Numbers a(problem.typeA, kMost * problem.k);
  Numbers b(problem.typeB, problem.k * problem.n);
  Numbers bias(problem.typeD, problem.n);
  for (Numbers *tensor : {&a, &b, &bias})
    tensor->randomise(engine);
  const size_t rowBytes = problem.n * bytesOf(problem.typeD);
  std::vector<char> first;
  for (int64_t m : {1, 2, 3, 4, 5, 8, 9, 16, 33, 70}) {
    Gemm g = problem;
    g.m = m;
    // Columns of a transposed A are its rows; they lie kMost apart.
    g.lda = g.transposeA ? kMost : g.k;
    Numbers none(g.typeD, m * g.n);
    Numbers result =
        computeWith({1, 3}, gemm, g, describe(g, isa), a, b, bias, none, isa);
    const char *row = static_cast<const char *>(result.data());
    if (first.empty())
      first.assign(row, row + rowBytes);
    check(!std::memcmp(first.data(), row, rowBytes),
          describe(g, isa) + ": row 0 depends on the number of rows");
  }
}

void testRows(const std::vector<Isa> &isas) {
  const DType types[][3] = {{DType::f32, DType::f32, DType::f32},
                            {DType::bf16, DType::bf16, DType::bf16},
                            {DType::f16, DType::f16, DType::f32},
                            {DType::f64, DType::f64, DType::f64}};
  // Columns and depths around vectors, tiles and blocks.
  const int64_t sizes[][2] = {
      {1, 100}, {7, 321}, {64, 9}, {77, 1000}, {300, 64}};
  for (Isa isa : isas)
    for (auto [a, b, d] : types)
      for (auto [n, k] : sizes)
        for (unsigned transposes = 0; transposes < 4; ++transposes) {
          Gemm g{.n = n, .k = k};
          g.typeA = a, g.typeB = b, g.typeD = d;
          g.transposeA = transposes & 1;
          g.transposeB = transposes >> 1;
          g.hasBias = 1;
          testRows(g, isa);
        }
}

/// Checks that activations of moderate numbers compute nothing subnormal, for
/// which some processors take 200 cycles.
void testUnderflow(const std::vector<Isa> &isas) {
  for (Isa isa : isas)
    for (Activation activation : {Activation::relu, Activation::gelu,
                                  Activation::geluTanh, Activation::silu}) {
      Gemm g{.m = 24, .n = 96, .k = 64, .lda = 64, .ldb = 96, .ldd = 96};
      Conv c{.n = 1, .c = 64, .h = 1, .w = 24, .k = 96, .r = 1, .s = 1};
      c.p = c.h, c.q = c.w, c.channelsLast = 1;
      g.activation = c.activation = activation;
      std::mt19937 engine(1);
      Numbers x(g.typeA, g.m * g.k), w(g.typeB, g.k * g.n);
      Numbers y(g.typeD, g.m * g.n);
      x.randomise(engine), w.randomise(engine);
      void *arguments[] = {x.data(), w.data(), y.data()};
      ThreadPool pool(1, isa);
      std::feclearexcept(FE_ALL_EXCEPT);
      Scratch().run(gemm, g, arguments, pool);
      const bool byGemm = std::fetestexcept(FE_UNDERFLOW);
      std::feclearexcept(FE_ALL_EXCEPT);
      Scratch().run(conv, c, arguments, pool);
      const bool byConv = std::fetestexcept(FE_UNDERFLOW);
      check(!byGemm && !byConv,
            describe(g, isa) +
                (byGemm ? ": underflow" : ": underflow of conv"));
    }
}

void testGemms(const std::vector<Isa> &isas) {
  // Sizes around multiples of the tiles, and around and beyond the block depth.
  const int64_t sizes[][3] = {
      {1, 1, 1},    {1, 257, 67},   {3, 64, 129},  {7, 300, 5},   {8, 31, 400},
      {9, 33, 17},  {13, 1, 50},    {40, 3, 33},   {12, 32, 320}, {25, 65, 321},
      {67, 131, 7}, {101, 97, 701}, {200, 49, 64}, {5, 1, 1},     {1000, 1, 9}};
  for (auto [m, n, k] : sizes)
    for (unsigned transposes = 0; transposes < 4; ++transposes) {
      Gemm g{.m = m, .n = n, .k = k};
      g.transposeA = transposes & 1;
      g.transposeB = transposes >> 1;
      g.hasBias = transposes != 1;
      g.hasResidual = transposes != 2;
      g.activation = Activation(transposes);
      testGemm(g, isas, transposes == 3 ? 5 : 0);
    }

  const DType types[][3] = {{DType::f16, DType::f16, DType::f16},
                            {DType::bf16, DType::bf16, DType::bf16},
                            {DType::f16, DType::bf16, DType::f32},
                            {DType::f32, DType::f16, DType::bf16},
                            {DType::f64, DType::f64, DType::f64},
                            {DType::i8, DType::u8, DType::i32},
                            {DType::u8, DType::i8, DType::i32}};
  for (auto [a, b, d] : types)
    for (int64_t m : {2, 45, 300})
      for (unsigned transposes = 0; transposes < 4; ++transposes) {
        Gemm g{.m = m, .n = 77, .k = 147};
        g.typeA = a, g.typeB = b, g.typeD = d;
        g.transposeA = transposes & 1;
        g.transposeB = transposes >> 1;
        if (d != DType::i32) {
          g.hasBias = g.hasResidual = 1;
          g.activation = m == 45 ? Activation::silu : Activation::gelu;
        }
        testGemm(g, isas, m % 2);
      }

  // Batches, and broadcasts of either side.
  for (int64_t m : {5, 33})
    for (int64_t broadcast : {0, 1, 2}) {
      Gemm g{.m = m, .n = 40, .k = 70, .batch = 7};
      g.strideA = broadcast == 1 ? -1 : 0;
      g.strideB = broadcast == 2 ? -1 : 0;
      g.hasBias = 1;
      testGemm(g, isas);
    }
  Gemm large{.m = 1500, .n = 500, .k = 350};
  testGemm(large, {bestIsa()});

  // In place: R is D.
  ThreadPool pool(2);
  std::vector<float> a(100 * 30, 1), b(30 * 50, 2), d(100 * 50, 3);
  Gemm g{.m = 100, .n = 50, .k = 30, .lda = 30, .ldb = 50, .ldd = 50};
  g.hasResidual = 1;
  void *arguments[] = {a.data(), b.data(), d.data(), d.data()};
  check(Scratch().run(gemm, g, arguments, pool), "in place: declined");
  check(d == std::vector<float>(100 * 50, 63), "in place: wrong");

  g.typeA = DType::i64;
  check(!Scratch().run(gemm, g, arguments, pool),
        "64-bit integers are not declined");
}

void testPool() {
  for (unsigned threads : {0, 1, 2, 7}) {
    ThreadPool pool(threads);
    check(pool.size() == std::max(threads, 1u), "pool size");
    for (int64_t items = 0; items < 3000; ++items) {
      std::vector<char> seen(items);
      pool.parallelFor(items, [&](int64_t begin, int64_t end) {
        for (; begin < end; ++begin)
          ++seen[begin];
      });
      if (std::count(seen.begin(), seen.end(), 1) != items) {
        check(false, "parallelFor over " + std::to_string(items));
        return;
      }
    }
  }
}

/// Tests that threads begin with their own share of the items, and that slots
/// are not shared.
void testShares() {
  using namespace std::chrono_literals;
  ThreadPool pool(2), four(4);
  for (int call = 0; call < 50; ++call) {
    std::vector<int64_t> taken[2];
    pool.parallelItems(16, [&](int64_t item, unsigned thread) {
      taken[thread].push_back(item);
      std::this_thread::sleep_for(50us);
    });
    check(taken[0].size() + taken[1].size() == 16, "items of two threads");
    check(taken[0].front() == 0, "the caller's first item");
    check(taken[1].empty() || taken[1].front() >= 8, "a worker's first item");
    std::atomic<int> used[3] = {};
    std::atomic<int64_t> sum = 0;
    four.parallelSlots(100, 3, [&](int64_t begin, int64_t end, int64_t slot) {
      check(slot < 3 && used[slot]++ == 0, "a slot that is in use");
      std::this_thread::sleep_for(10us);
      sum += end - begin;
      --used[slot];
    });
    check(sum == 100, "items of three slots");
  }
}

/// Tests all f16 numbers, and floats around them.
void testHalf(const std::vector<Isa> &isas) {
  for (Isa isa : isas) {
    ThreadPool pool(1, isa);
    constexpr int64_t count = 65536;
    std::vector<Half16> all(count), back(count);
    for (int64_t i = 0; i < count; ++i)
      all[i] = __builtin_bit_cast(Half16, uint16_t(i));
    std::vector<float> wide(count), one(1, 1.f);
    Gemm g{.m = count, .n = 1, .k = 1, .lda = 1, .ldb = 1, .ldd = 1};
    g.typeA = DType::f16;
    void *up[] = {all.data(), one.data(), wide.data()};
    check(Scratch().run(gemm, g, up, pool), "half: declined");
    for (float nudge : {1.f, 1 + 0x1p-11f, 1 - 0x1p-12f, 1.0003f}) {
      std::vector<float> moved(count);
      for (int64_t i = 0; i < count; ++i) {
        check(float(all[i]) == wide[i] || wide[i] != wide[i], "half to float");
        moved[i] = wide[i] * nudge;
      }
      g.typeA = DType::f32;
      g.typeD = DType::f16;
      void *down[] = {moved.data(), one.data(), back.data()};
      check(Scratch().run(gemm, g, down, pool), "half: declined");
      for (int64_t i = 0; i < count; ++i) {
        const bool nan = moved[i] != moved[i];
        check(nan ? back[i] != back[i] : back[i] == Half16(moved[i]),
              "float to half");
      }
    }
  }
}
} // namespace

int main(int argc, char **argv) {
  if (argc > 1 && !std::strcmp(argv[1], "--bench"))
    return frit::bench::cpuKernels(argc > 2 ? std::atoi(argv[2]) : 2);
  std::vector<Isa> isas;
  for (Isa isa : frit::cpu::isas())
    isas.push_back(isa);
  testPool();
  testShares();
  testHalf(isas);
  testGemms(isas);
  testUnderflow(isas);
  testRows(isas);
  testConvs(isas);
  testQuantized(isas);
  std::printf(failures ? "%d failures\n" : "ok\n", failures);
  return failures != 0;
}
