//===- dtype.h - Names and sizes of the element types ---------------------===//

#ifndef FRIT_DTYPE_H
#define FRIT_DTYPE_H

#include "frit/artifact.h"

#include <cstddef>
#include <string_view>

namespace frit::artifact {

struct DTypeRow {
  const char *name;   ///< in messages
  const char *stored; ///< in safetensors files
  const char *ir;     ///< in the compiler's modules and JSON graphs
  uint8_t bytes;      ///< of an element in memory and in files
};

/// In the order of DType, which starts at 1. Safetensors has no integers below
/// a byte and packs its F4, so the last five file names are our own. No file
/// and no tensor of the compiler has strings.
inline constexpr DTypeRow kDTypes[] = {
    {"f32", "F32", "f32", 4},
    {"f64", "F64", "f64", 8},
    {"f16", "F16", "f16", 2},
    {"bf16", "BF16", "bf16", 2},
    {"i8", "I8", "i8", 1},
    {"i16", "I16", "i16", 2},
    {"i32", "I32", "i32", 4},
    {"i64", "I64", "i64", 8},
    {"u8", "U8", "ui8", 1},
    {"u16", "U16", "ui16", 2},
    {"u32", "U32", "ui32", 4},
    {"u64", "U64", "ui64", 8},
    {"bool", "BOOL", "i1", 1},
    {"f8e4m3", "F8_E4M3", "f8E4M3FN", 1},
    {"f8e5m2", "F8_E5M2", "f8E5M2", 1},
    {"f8e4m3fnuz", "F8_E4M3FNUZ", "f8E4M3FNUZ", 1},
    {"f8e5m2fnuz", "F8_E5M2FNUZ", "f8E5M2FNUZ", 1},
    {"f8e8m0", "F8_E8M0", "f8E8M0FNU", 1},
    {"f4e2m1", "F4_E2M1", "f4E2M1FN", 1},
    {"i4", "I4", "i4", 1},
    {"u4", "U4", "ui4", 1},
    {"i2", "I2", "i2", 1},
    {"u2", "U2", "ui2", 1},
    {"string", "", "", 8},
};
static_assert(sizeof kDTypes / sizeof *kDTypes == size_t(DType::string));

/// Returns the row of `type`, or null if it is not a DType.
constexpr const DTypeRow *findDType(DType type) {
  size_t index = size_t(type) - 1;
  return index < size_t(DType::string) ? &kDTypes[index] : nullptr;
}

/// Returns the type whose `field` is `text`, or DType(0).
constexpr DType dtypeWith(const char *DTypeRow::*field, std::string_view text) {
  for (const DTypeRow &row : kDTypes)
    if (!text.empty() && row.*field == text)
      return DType(&row - kDTypes + 1);
  return DType(0);
}

} // namespace frit::artifact

#endif // FRIT_DTYPE_H
