//===- safetensors.h - The start of safetensors files ---------------------===//
//
// The one writer of these files, for the compiler and the tools.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_SAFETENSORS_H
#define FRIT_SAFETENSORS_H

#include "frit/dtype.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace frit {

/// A tensor to write. The tensors' bytes follow each other without gaps.
struct TensorToStore {
  std::string_view name;
  artifact::DType type;
  std::span<const int64_t> dims;
  uint64_t bytes;
};

/// Returns the start of a file: the header's length (8 bytes, little endian)
/// and the header in JSON, padded so that elements start at a multiple of 8
/// bytes. `quote` returns a text as a JSON string in UTF-8. Format:
/// github.com/huggingface/safetensors.
template <typename Metadata, typename Quote>
std::string safetensorsHead(const std::vector<TensorToStore> &tensors,
                            const Metadata &metadata, Quote quote) {
  std::string text = "{";
  auto entry = [&](std::string_view name) {
    text += (text.size() > 1 ? "," : "") + quote(name) + ":{";
  };
  if (!metadata.empty()) {
    entry("__metadata__");
    const char *between = "";
    for (const auto &[key, value] : metadata)
      text += std::exchange(between, ",") + quote(key) + ":" + quote(value);
    text += "}";
  }
  uint64_t offset = 0;
  for (const TensorToStore &tensor : tensors) {
    entry(tensor.name);
    text += "\"dtype\":\"" +
            std::string(artifact::findDType(tensor.type)->stored) +
            "\",\"shape\":[";
    const char *between = "";
    for (int64_t size : tensor.dims)
      text += std::exchange(between, ",") + std::to_string(size);
    text += "],\"data_offsets\":[" + std::to_string(offset) + ",";
    text += std::to_string(offset += tensor.bytes) + "]}";
  }
  text += "}";
  text.resize((text.size() + 7) / 8 * 8, ' ');
  std::string length(8, '\0');
  for (size_t i = 0; i < 8; ++i)
    length[i] = char(uint64_t(text.size()) >> (8 * i));
  return length + text;
}

} // namespace frit

#endif // FRIT_SAFETENSORS_H
