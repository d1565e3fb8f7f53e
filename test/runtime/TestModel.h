//===- TestModel.h - A small model that uses every kind of step -----------===//

#ifndef FRIT_TEST_RUNTIME_TESTMODEL_H
#define FRIT_TEST_RUNTIME_TESTMODEL_H

#include "PlanWriter.h"

namespace frit::test {

/// y = relu(x·w + 2b) + ids, z = y for x: 4x8xf32, ids: 4xi64, w: 8x3, b: 3,
/// with w[i][j] = i - j and b = {1, -2, 3}. The doubling is a prepare step.
Model makeTestModel();

/// What y is for the given inputs.
std::vector<float> expectedResult(const float *x, const int64_t *ids);

} // namespace frit::test

#endif // FRIT_TEST_RUNTIME_TESTMODEL_H
