//===- CudaProblems.h - Library calls against plain loops -----------------===//

#ifndef FRIT_TEST_RUNTIME_CUDAPROBLEMS_H
#define FRIT_TEST_RUNTIME_CUDAPROBLEMS_H

namespace frit::test {

/// Compares matrix products, convolutions and attention of every precision with
/// loops in double, and prints what the libraries picked.
void testGemms();
void testConvs();
void testAttentions();

/// Asks cuBLASLt for each of its algorithms by number.
void testAlgorithms();

} // namespace frit::test

#endif // FRIT_TEST_RUNTIME_CUDAPROBLEMS_H
