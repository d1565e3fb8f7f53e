//===- CountingTensor.h - Tensors of 0, 1, 2 … ----------------------------===//

#ifndef FRIT_TEST_RUNTIME_COUNTINGTENSOR_H
#define FRIT_TEST_RUNTIME_COUNTINGTENSOR_H

#include "test/runtime/Check.h"
#include "tools/support/Tensor.h"

namespace frit::test {

/// Makes a tensor whose elements are 0, 1, 2 …
inline tools::Tensor makeTensor(const char *name, frit_dtype dtype,
                                std::vector<int64_t> dims) {
  tools::Tensor tensor;
  tensor.name = name;
  tensor.dtype = dtype;
  tensor.dims = std::move(dims);
  CHECK(allocate(tensor));
  for (uint64_t i = 0; i < tensor.count(); ++i)
    tensor.set(i, double(i));
  return tensor;
}

} // namespace frit::test

#endif // FRIT_TEST_RUNTIME_COUNTINGTENSOR_H
