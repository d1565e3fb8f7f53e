//===- cpu_kernels_bench.h - How fast the host's contractions are ---------===//

#ifndef FRIT_TEST_RUNTIME_CPU_KERNELS_BENCH_H
#define FRIT_TEST_RUNTIME_CPU_KERNELS_BENCH_H

namespace frit::bench {
/// Prints a line for each of ResNet-50's layers and some matrix products.
int cpuKernels(unsigned threads);
} // namespace frit::bench

#endif // FRIT_TEST_RUNTIME_CPU_KERNELS_BENCH_H
