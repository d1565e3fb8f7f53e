//===- Tensor.h - Tensors of frit-run in host memory ----------------------===//

#ifndef FRIT_RUN_TENSOR_H
#define FRIT_RUN_TENSOR_H

#include "frit/runtime.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace frit::run {

/// A dense tensor that owns its bytes.
struct Tensor {
  std::string name;
  frit_dtype dtype = FRIT_F32;
  std::vector<int64_t> dims;
  std::vector<uint8_t> data;

  uint64_t count() const { return data.size() / frit_dtype_size(dtype); }
  /// "1x3xf32"
  std::string type() const;
  double at(uint64_t index) const;
  void set(uint64_t index, double value);
  /// The first of the least and of the largest elements. There must be one.
  std::pair<uint64_t, uint64_t> extremes() const;
  /// "[0, 2, 17]" for an element's index.
  std::string position(uint64_t index) const;
  /// As runtime.h wants it; valid while this is not changed.
  frit_tensor bind();
};

/// Of a tensor, as in numpy.
inline constexpr size_t kMostDimensions = 64;

/// What a tensor takes; nothing where `dims` have a negative or are beyond what
/// any machine holds.
std::optional<uint64_t> byteSize(frit_dtype dtype,
                                 std::span<const int64_t> dims);

std::string formatType(frit_dtype dtype, uint32_t rank, const int64_t *dims);

/// Reads "1x3x224x224xf32" or "f32". False where it is no type.
bool parseType(const std::string &text, frit_dtype &dtype,
               std::vector<int64_t> &dims);

/// Gives `tensor` its size from `dtype` and `dims`. False where that is
/// negative or more than memory could hold.
bool allocate(Tensor &tensor);

/// What random data is drawn from.
struct RandomSpec {
  uint64_t seed = 0;
  bool hasRange = false;
  double low = 0, high = 0;
};

/// Reads "random", "random:7", "random:7:0..30522".
bool parseRandom(const std::string &text, RandomSpec &spec);

/// Normal floats and integers 0 or 1 without a range, else uniform in it.
void fillRandom(Tensor &tensor, const RandomSpec &spec);

} // namespace frit::run

#endif // FRIT_RUN_TENSOR_H
