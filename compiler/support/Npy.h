//===- Npy.h - The header of .npy files -----------------------------------===//
//
// Format (NumPy enhancement proposal 1): magic, version, size of the header,
// and the header, a Python dictionary as text: type, element order, shape. Then
// the elements.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_SUPPORT_NPY_H
#define FRIT_COMPILER_SUPPORT_NPY_H

#include "frit/dtype.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace frit {

struct NpyHeader {
  /// NumPy's name of the type with the byte order, as "<f4". Refers to the
  /// file.
  std::string_view descr;
  std::vector<int64_t> dims;
  bool isColumnMajor = false, isBigEndian = false;
  uint64_t size = 0; ///< in bytes; the elements follow

  /// Returns the name of the type without the byte order.
  std::string_view type() const { return descr.substr(1); }
};

/// Returns the file's first six bytes.
inline constexpr std::string_view kNpyMagic = "\x93NUMPY";

/// Reads the header at the start of `file`. Returns what is wrong with it, as
/// "it is not a complete .npy file", or null. Dimensions may be any numbers.
const char *parseNpyHeader(std::string_view file, NpyHeader &header);

/// Returns the type of NumPy's name without byte order, "f4"; DType(0) if frit
/// has none. ml_dtypes writes bfloat16 as "V2".
artifact::DType npyType(std::string_view name);
/// Returns NumPy's name of a type; null if it has none.
const char *npyName(artifact::DType type);

/// Calls `visit` with the row-major index of each of `count` elements of a
/// column-major tensor, in column-major order.
template <typename Visit>
void forEachColumnMajor(std::span<const int64_t> dims, uint64_t count,
                        Visit visit) {
  std::vector<uint64_t> strides(dims.size(), 1), place(dims.size(), 0);
  for (size_t dim = dims.size(); dim-- > 1;)
    strides[dim - 1] = strides[dim] * uint64_t(dims[dim]);
  uint64_t at = 0;
  for (uint64_t index = 0; index < count; ++index) {
    visit(index, at);
    // The first dimension varies fastest.
    for (size_t dim = 0; dim < dims.size(); ++dim) {
      at += strides[dim];
      if (++place[dim] < uint64_t(dims[dim]))
        break;
      at -= strides[dim] * place[dim];
      place[dim] = 0;
    }
  }
}

/// Copies elements of `width` bytes from the header's layout to row-major order
/// and this machine's byte order. `from` and `to` are of one size, that of the
/// header's shape.
void arrangeNpy(const NpyHeader &header, uint64_t width, const char *from,
                char *to, uint64_t count);

} // namespace frit

#endif // FRIT_COMPILER_SUPPORT_NPY_H
