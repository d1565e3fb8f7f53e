//===- CudaLaunches.h - How kernels start and what they are given ---------===//

#ifndef FRIT_TEST_RUNTIME_CUDALAUNCHES_H
#define FRIT_TEST_RUNTIME_CUDALAUNCHES_H

#include <string>

namespace frit::test {

/// Copies through tensor maps, tiled and im2col, of bound memory and of others;
/// needs a GPU of compute capability 9.0.
void testTensorMaps(const std::string &cubin);

/// Kernels that start ahead of the end of those before them, and what a kernel
/// costs with and without.
void testProgrammaticLaunch(const std::string &cubin);

/// Kernels beside each other, and what they cost there and one after another.
void testBranches(const std::string &cubin);

/// Steps that a condition leaves out, and what asking costs.
void testGuards(const std::string &cubin);

} // namespace frit::test

#endif // FRIT_TEST_RUNTIME_CUDALAUNCHES_H
