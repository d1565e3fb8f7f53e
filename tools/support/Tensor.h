//===- Tensor.h - Tensors in host memory ----------------------------------===//

#ifndef FRIT_TOOLS_SUPPORT_TENSOR_H
#define FRIT_TOOLS_SUPPORT_TENSOR_H

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

namespace frit::tools {

/// Makes operator new, where it fails, end the program with a message and
/// kMachine.
void handleOutOfMemory();

/// Prints that there is no memory for `what`, removes temporary files and exits
/// with kMachine.
[[noreturn]] void outOfMemory(const std::string &what);

/// Exits in the same way if `bytes` exceed the machine's memory. The allocation
/// itself might succeed, because Linux overcommits.
void expectMemory(uint64_t bytes, const std::string &what);

/// An allocator of zeroed memory whose pages are not occupied until written.
/// Exits if memory runs out.
template <typename T> struct ZeroedMemory {
  using value_type = T;

  T *allocate(size_t count) {
    void *memory = std::calloc(count, sizeof(T));
    if (!memory)
      outOfMemory(formatBytes(count * sizeof(T)));
    return static_cast<T *>(memory);
  }
  void deallocate(T *memory, size_t) { std::free(memory); }
  /// New elements are already zero.
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
  /// The elements of a tensor of strings, whose `data` has a frit_string each.
  std::vector<std::string> texts = {};

  uint64_t count() const { return data.size() / frit_dtype_size(dtype); }
  /// Formats the type: "1x3xf32".
  std::string type() const;
  double at(uint64_t index) const;
  /// Returns whether elements are integers or bools.
  bool isInteger() const;
  /// Returns an element of integers exactly.
  __int128 integerAt(uint64_t index) const;
  bool isString() const { return dtype == FRIT_STRING; }
  /// Copies the strings of an output from the memory of its context.
  void takeTexts();
  /// Formats an element: integers exactly, floats with `digits` digits, strings
  /// in quotes.
  std::string textOf(uint64_t index, int digits) const;
  void set(uint64_t index, double value);
  /// Returns the indices of the first least and the first largest element. The
  /// tensor must not be empty.
  std::pair<uint64_t, uint64_t> extremes() const;
  /// Formats an element's position: "[0, 2, 17]".
  std::string position(uint64_t index) const;
  /// Returns the argument for frit_run; valid until this tensor changes.
  frit_tensor bind();
};

/// Maximum dimensions of a tensor; NumPy's limit.
inline constexpr size_t kMostDimensions = 64;

/// Returns a tensor's bytes; none if a dimension is negative or the product
/// exceeds any machine's memory.
std::optional<uint64_t> byteSize(frit_dtype dtype,
                                 std::span<const int64_t> dims);

std::string formatType(frit_dtype dtype, uint32_t rank, const int64_t *dims);

/// Parses "1x3x224x224xf32" or "f32". False if it is not a type.
bool parseType(const std::string &text, frit_dtype &dtype,
               std::vector<int64_t> &dims);

/// Returns a tensor of an input's or output's name, type and shape, without
/// elements.
Tensor emptyTensor(const frit_tensor_info &info);

/// Allocates zeros for `tensor`'s type and shape. False if the size is negative
/// or beyond any machine; exits if it is beyond this one.
bool allocate(Tensor &tensor);

} // namespace frit::tools

#endif // FRIT_TOOLS_SUPPORT_TENSOR_H
