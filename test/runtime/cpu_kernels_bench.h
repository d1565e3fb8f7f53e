//===- cpu_kernels_bench.h - Speed of the CPU contractions ----------------===//

#ifndef FRIT_TEST_RUNTIME_CPU_KERNELS_BENCH_H
#define FRIT_TEST_RUNTIME_CPU_KERNELS_BENCH_H

namespace frit::bench {
/// Prints a line per ResNet-50 layer and for some matrix products.
int cpuKernels(unsigned threads);
} // namespace frit::bench

#endif // FRIT_TEST_RUNTIME_CPU_KERNELS_BENCH_H
