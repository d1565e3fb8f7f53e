//===- CudaVariants.h - Models with symbolic dimensions on a GPU ----------===//

#ifndef FRIT_TEST_RUNTIME_CUDAVARIANTS_H
#define FRIT_TEST_RUNTIME_CUDAVARIANTS_H

#include <string>

namespace frit::test {

/// Tests calls of all sizes on one context, from host and device memory.
void testVariants(const std::string &cubin, unsigned flags);

/// Tests data-dependent output sizes.
void testCounts(const std::string &cubin, unsigned flags);

} // namespace frit::test

#endif // FRIT_TEST_RUNTIME_CUDAVARIANTS_H
