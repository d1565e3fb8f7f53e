//===- TestModel.h - A small model with every kind of step ----------------===//

#ifndef FRIT_TEST_RUNTIME_TESTMODEL_H
#define FRIT_TEST_RUNTIME_TESTMODEL_H

#include "PlanWriter.h"
#include "frit/runtime.h"

namespace frit::test {

/// y = relu(x·w + 2b) + ids, z = y for x: 4x8xf32, ids: 4xi64, w: 8x3, b: 3,
/// with w[i][j] = i - j and b = {1, -2, 3}. The doubling is a prepare step.
Model makeTestModel();

/// y = 2x and z[2i] = z[2i + 1] = x[0][i] for x: 3xbatch, for any batch up to
/// 4: there are variants for 2 and 4.
Model makeOpenModel();
/// y is the mean of x, which has "batch" elements (variants 2 and 4). It uses
/// the true size.
Model makeSizedModel();
void writeSizedPlan(PlanWriter &plan);

/// Write the parts of the open model before and after its target.
void writeOpenSteps(PlanWriter &plan, bool cuda);
void writeOpenPrograms(PlanWriter &plan);

/// A call of the open model.
struct OpenCall {
  explicit OpenCall(int64_t batch);
  std::vector<frit_tensor> inputs();
  std::vector<frit_tensor> outputs();
  bool isRight() const;

  int64_t batch, shape[2], doubled;
  std::vector<float> x, y, z;
};

/// For x: 2x4, let n be the number of positive elements of its first row. y: n
/// contains them, z: 2xn their columns of x, and w: 2n+1 counts from 0. A first
/// element of 100 sets n to 5, more than the upper bound; 200 sets it to -1.
Model makeCountedModel();
/// Returns values of x for which n is 2, 4, 0 and 1.
std::vector<std::vector<float>> countedInputs();
void writeCountedSteps(PlanWriter &plan, bool cuda);

/// A call of the counted model.
struct CountedCall {
  explicit CountedCall(std::vector<float> x);
  std::vector<frit_tensor> inputs();
  std::vector<frit_tensor> outputs();
  /// Returns whether the outputs, with their shapes, are right for x.
  bool isRight(frit_context *context) const;

  std::vector<float> x, y, z, w;
};

/// y = x, incremented by every step that runs: by 3 if p and q, by 4 if p
/// alone, else by 2.
Model makeGuardedModel();
void writeGuardedSteps(PlanWriter &plan);

/// A call of the guarded model.
struct GuardedCall {
  GuardedCall(bool p, bool q, float x) : p(p), q(q), x(x) {}
  std::vector<frit_tensor> inputs();
  std::vector<frit_tensor> outputs();
  bool isRight() const { return y == x + (p ? q ? 3 : 4 : 2); }

  bool p, q;
  float x, y = -1;
};

/// Returns the expected y for the given inputs.
std::vector<float> expectedResult(const float *x, const int64_t *ids);

} // namespace frit::test

#endif // FRIT_TEST_RUNTIME_TESTMODEL_H
