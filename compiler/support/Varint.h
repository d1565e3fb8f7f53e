//===- Varint.h - Numbers of protobuf messages ----------------------------===//

#ifndef FRIT_COMPILER_SUPPORT_VARINT_H
#define FRIT_COMPILER_SUPPORT_VARINT_H

#include <cstdint>
#include <optional>
#include <string_view>

namespace frit {

/// Takes a varint, of at most ten bytes, from the front; none if there is none.
/// Bits beyond 64 are dropped.
inline std::optional<uint64_t> takeVarint(std::string_view &bytes) {
  uint64_t value = 0;
  for (size_t i = 0; i < 10 && i < bytes.size(); ++i) {
    auto byte = static_cast<uint8_t>(bytes[i]);
    value |= uint64_t(byte & 0x7f) << (7 * i);
    if (byte & 0x80)
      continue;
    bytes.remove_prefix(i + 1);
    return value;
  }
  return std::nullopt;
}

} // namespace frit

#endif // FRIT_COMPILER_SUPPORT_VARINT_H
