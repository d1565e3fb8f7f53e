//===- artifact_types.h - Parts of structs of a compiled model ------------===//
//
// Places in a plan, and types of elements. A part of frit/artifact.h.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_ARTIFACT_TYPES_H
#define FRIT_ARTIFACT_TYPES_H

#include <cstdint>

namespace frit::artifact {

/// Alignment in bytes of every buffer in an arena, in prepared memory and in
/// the weights.
inline constexpr uint64_t kAlignment = 256;

/// Entries [first, first + count) of one of the plan's tables.
struct Range {
  uint32_t first = 0;
  uint32_t count = 0;
};

/// Bytes [offset, offset + size) of the plan.
struct Blob {
  uint64_t offset = 0;
  uint64_t size = 0;
};

/// `size` bytes of UTF-8 at `offset` in the plan's strings; not
/// null-terminated.
struct Text {
  uint32_t offset = 0;
  uint32_t size = 0;
};

/// A table: `count` entries of a fixed struct, from byte `offset` of the plan.
struct Table {
  uint64_t offset = 0;
  uint64_t count = 0;
};

/// A table of entries of type `T`.
template <typename T> struct TableOf : Table {};

enum class DType : uint32_t {
  f32 = 1,
  f64,
  f16,
  bf16,
  i8,
  i16,
  i32,
  i64,
  u8,
  u16,
  u32,
  u64,
  boolean, ///< one byte, 0 or 1
  f8e4m3,
  f8e5m2,
  f8e4m3fnuz, ///< this and all below: one byte per element
  f8e5m2fnuz,
  f8e8m0,
  f4e2m1,
  i4,
  u4,
  i2,
  u2,
  string, ///< its number, an i64; of inputs and outputs only
};

inline constexpr uint32_t kNone = ~0u;

} // namespace frit::artifact

#endif // FRIT_ARTIFACT_TYPES_H
