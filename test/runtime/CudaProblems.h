//===- CudaProblems.h - Library calls against loops -----------------------===//

#ifndef FRIT_TEST_RUNTIME_CUDAPROBLEMS_H
#define FRIT_TEST_RUNTIME_CUDAPROBLEMS_H

namespace frit::test {

/// Compare matrix products, convolutions and attention in every precision with
/// loops in double; print the algorithms that the libraries chose.
void testGemms();
void testConvs();
void testConvGradients();
void testAttentions();
void testAttentionGradients();

/// Asks cuBLASLt for each of its algorithms by number.
void testAlgorithms();

} // namespace frit::test

#endif // FRIT_TEST_RUNTIME_CUDAPROBLEMS_H
