//===- cpu_kernels_check.h - The checks of the CPU contractions -----------===//

#ifndef FRIT_TEST_RUNTIME_CPU_KERNELS_CHECK_H
#define FRIT_TEST_RUNTIME_CPU_KERNELS_CHECK_H

#include "runtime/cpu/Cpu.h"

#include <cstdio>
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

/// Compares convolutions on these instruction sets with loops.
void testConvs(const std::vector<cpu::Isa> &isas);

} // namespace frit::test

#endif // FRIT_TEST_RUNTIME_CPU_KERNELS_CHECK_H
