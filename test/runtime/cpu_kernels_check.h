//===- cpu_kernels_check.h - The checks of the CPU contractions -----------===//

#ifndef FRIT_TEST_RUNTIME_CPU_KERNELS_CHECK_H
#define FRIT_TEST_RUNTIME_CPU_KERNELS_CHECK_H

#include "cpu_kernels_tensor.h"
#include "runtime/cpu/Cpu.h"

#include <cstdio>
#include <initializer_list>
#include <string>
#include <vector>

namespace frit::test {

inline int failures = 0;

inline void check(bool holds, const std::string &what) {
  if (holds)
    return;
  std::printf("failed: %s\n", what.c_str());
  ++failures;
}

/// Computes a contraction with each number of threads. Checks that the results
/// are equal bit for bit and end where they should; returns the first. They
/// have the type and size of `residual`.
template <class Kernel, class Problem>
Numbers computeWith(std::initializer_list<unsigned> threads, Kernel kernel,
                    const Problem &problem, const std::string &name, Numbers &a,
                    Numbers &b, Numbers &bias, Numbers &residual,
                    cpu::Isa isa) {
  std::vector<Numbers> results;
  for (unsigned count : threads) {
    cpu::ThreadPool pool(count, isa);
    Numbers &result = results.emplace_back(residual.type, residual.count);
    std::vector<void *> arguments = {a.data(), b.data()};
    if (problem.hasBias)
      arguments.push_back(bias.data());
    if (problem.hasResidual)
      arguments.push_back(residual.data());
    arguments.push_back(result.data());
    check(Scratch().run(kernel, problem, arguments.data(), pool),
          name + ": declined");
    check(result == results[0], name + ": depends on threads");
    check(result.guardHolds(), name + ": wrote past its end");
  }
  return results[0];
}

/// Returns convolutions of one group with uneven sizes, strides, dilations and
/// margins.
inline std::vector<artifact::Conv> unevenConvs() {
  return {{.n = 2, .c = 40, .h = 9, .w = 11, .k = 33, .r = 1, .s = 1},
          {.n = 1,
           .c = 24,
           .h = 9,
           .w = 12,
           .k = 16,
           .r = 1,
           .s = 1,
           .strideH = 2,
           .strideW = 2},
          {.n = 1,
           .c = 5,
           .h = 20,
           .w = 13,
           .k = 7,
           .r = 2,
           .s = 3,
           .strideH = 3,
           .strideW = 5,
           .padTop = 2,
           .padRight = 4},
          {.n = 1,
           .c = 4,
           .h = 19,
           .w = 23,
           .k = 6,
           .r = 3,
           .s = 3,
           .strideW = 2,
           .dilationH = 3,
           .dilationW = 4,
           .padTop = 5,
           .padLeft = 1,
           .padBottom = 2,
           .padRight = 7}};
}

/// Compares convolutions on these instruction sets with loops.
void testConvs(const std::vector<cpu::Isa> &isas);

/// As testConvs, for quantized convolutions and products, exactly.
void testQuantized(const std::vector<cpu::Isa> &isas);

} // namespace frit::test

#endif // FRIT_TEST_RUNTIME_CPU_KERNELS_CHECK_H
