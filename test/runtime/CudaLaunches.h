//===- CudaLaunches.h - Launches, tensor maps, graphs, state on a GPU -----===//

#ifndef FRIT_TEST_RUNTIME_CUDALAUNCHES_H
#define FRIT_TEST_RUNTIME_CUDALAUNCHES_H

#include <string>

namespace frit::test {

/// Tests tiled and im2col tensor maps of bound and other memory. Needs a GPU of
/// compute capability 9.0.
void testTensorMaps(const std::string &cubin);

/// Tests programmatic dependent launch and times kernels with and without it.
void testProgrammaticLaunch(const std::string &cubin);

/// Tests concurrent kernels and times them, concurrent and one after another.
void testBranches(const std::string &cubin);

/// Tests guarded steps and times guards.
void testGuards(const std::string &cubin);

/// Tests functions that share state, with and without CUDA graphs.
void testState(const std::string &cubin);

} // namespace frit::test

#endif // FRIT_TEST_RUNTIME_CUDALAUNCHES_H
