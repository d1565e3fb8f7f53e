//===- Tensor.h - Tensors of frit-run in host memory ----------------------===//

#ifndef FRIT_RUN_TENSOR_H
#define FRIT_RUN_TENSOR_H

#include "frit/runtime.h"
#include "runtime/exec/Status.h"

#include <cstdint>
#include <cstdlib>
#include <new>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace frit::run {

/// Says that there is no memory for `what` and ends the program with kMachine.
[[noreturn]] void outOfMemory(const std::string &what);

/// Ends the program so where this machine could not hold `bytes` of `what`
/// whatever else it holds: systems promise more than they can keep.
void expectMemory(uint64_t bytes, const std::string &what);

/// Gives vectors zeroed memory that takes no pages until it is written. Where
/// there is not as much, the program ends.
template <typename T> struct ZeroedMemory {
  using value_type = T;

  T *allocate(size_t count) {
    void *memory = std::calloc(count, sizeof(T));
    if (!memory)
      outOfMemory(formatBytes(count * sizeof(T)));
    return static_cast<T *>(memory);
  }
  void deallocate(T *memory, size_t) { std::free(memory); }
  /// What a vector adds without a value is zero already.
  void construct(T *) {}
  void construct(T *to, const T &value) { ::new (to) T(value); }
  bool operator==(const ZeroedMemory &) const = default;
};

/// Bytes of tensors and files.
using Storage = std::vector<uint8_t, ZeroedMemory<uint8_t>>;

/// A dense tensor that owns its bytes.
struct Tensor {
  std::string name;
  frit_dtype dtype = FRIT_F32;
  std::vector<int64_t> dims;
  Storage data;

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

/// Gives `tensor` its size from `dtype` and `dims`, and zeros. False where that
/// is negative or more than any machine holds; where it is more than this one
/// has, the program ends.
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
