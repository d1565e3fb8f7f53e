//===- CudaVariants.h - A model with an open dimension on a GPU -----------===//

#ifndef FRIT_TEST_RUNTIME_CUDAVARIANTS_H
#define FRIT_TEST_RUNTIME_CUDAVARIANTS_H

#include <string>

namespace frit::test {

/// Calls of all sizes on one context, from host and device memory.
void testVariants(const std::string &cubin, unsigned flags);

} // namespace frit::test

#endif // FRIT_TEST_RUNTIME_CUDAVARIANTS_H
