//===- CudaVariants.h - Models with open shapes on a GPU ------------------===//

#ifndef FRIT_TEST_RUNTIME_CUDAVARIANTS_H
#define FRIT_TEST_RUNTIME_CUDAVARIANTS_H

#include <string>

namespace frit::test {

/// Calls of all sizes on one context, from host and device memory.
void testVariants(const std::string &cubin, unsigned flags);

/// The same where the data decide how long outputs are.
void testCounts(const std::string &cubin, unsigned flags);

} // namespace frit::test

#endif // FRIT_TEST_RUNTIME_CUDAVARIANTS_H
