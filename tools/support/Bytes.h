//===- Bytes.h - Parse bytes of damaged or truncated files ----------------===//

#ifndef FRIT_TOOLS_SUPPORT_BYTES_H
#define FRIT_TOOLS_SUPPORT_BYTES_H

#include "compiler/support/Npy.h"
#include "compiler/support/Varint.h"
#include "tools/support/Fault.h"
#include "tools/support/Tensor.h"

#include <cstring>
#include <memory>
#include <span>
#include <string_view>

namespace frit::tools {

using Bytes = std::span<const uint8_t>;

/// Reads little-endian numbers and byte runs from the front. At the end of the
/// bytes it sets `failed`, which stays set, and returns zeros.
class Reader {
public:
  explicit Reader(Bytes bytes) : bytes(bytes) {}

  template <typename T> T number() {
    T value = 0;
    Bytes from = take(sizeof(T));
    if (!failed)
      memcpy(&value, from.data(), sizeof(T));
    return value;
  }

  Bytes take(uint64_t count) {
    if (count > bytes.size()) {
      failed = true;
      bytes = {};
      return {};
    }
    Bytes result = bytes.first(count);
    bytes = bytes.subspan(count);
    return result;
  }

  /// Reads a protobuf varint.
  uint64_t varint() {
    std::string_view rest(reinterpret_cast<const char *>(bytes.data()),
                          bytes.size());
    std::optional<uint64_t> value = takeVarint(rest);
    failed |= !value;
    bytes = value ? bytes.last(rest.size()) : Bytes();
    return value.value_or(0);
  }

  bool atEnd() const { return bytes.empty(); }
  /// Returns the bytes not read yet.
  uint64_t left() const { return bytes.size(); }

  bool failed = false;

private:
  Bytes bytes;
};

/// A dense row-major tensor in memory that `owner` keeps.
struct TensorView {
  std::string name;
  frit_dtype dtype = FRIT_F32;
  std::vector<int64_t> dims;
  Bytes data;
  std::shared_ptr<const void> owner = nullptr;

  /// Formats the type: "1x3xf32".
  std::string type() const {
    return formatType(dtype, uint32_t(dims.size()), dims.data());
  }
};

inline std::string_view asText(Bytes bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

/// Position and layout of the elements of a .npy file.
struct NpyLayout {
  NpyHeader header;
  uint64_t dataBytes = 0;
  /// Characters per string, of 4 bytes if they are Unicode and of 1 otherwise.
  uint64_t characters = 0;
  bool isUnicode = false;
};

/// Reads the header at the start of `bytes`; sets type and shape of `tensor`,
/// but no elements.
Fault readNpyHeader(Bytes bytes, Tensor &tensor, NpyLayout &layout);

/// Converts the elements of `tensor` from `layout` to row-major order and this
/// machine's byte order.
void arrange(Tensor &tensor, const NpyLayout &layout);

/// Sets the texts of a tensor of strings of at most `characters` characters,
/// whose data has these.
void decodeTexts(Tensor &tensor, const NpyLayout &layout);
/// Returns the characters of a tensor of strings, 4 bytes each, for an array of
/// as many per string as the longest has, or of 1. Sets that to `characters`.
Storage encodeTexts(const Tensor &tensor, uint64_t &characters);

Fault readNpy(Bytes bytes, Tensor &tensor);
Fault readNpz(Bytes bytes, std::vector<Tensor> &tensors);
/// Finds tensors. The views point into `bytes` and have no owner.
Fault viewSafetensors(Bytes bytes, std::vector<TensorView> &tensors);
Fault readSafetensors(Bytes bytes, std::vector<Tensor> &tensors);
Fault readOnnxTensor(Bytes bytes, Tensor &tensor);

/// Return the bytes of a .npy file, and of an .npz file.
std::vector<uint8_t> makeNpy(const Tensor &tensor);
Fault makeNpz(const std::vector<Tensor> &tensors, std::vector<uint8_t> &bytes);

} // namespace frit::tools

#endif // FRIT_TOOLS_SUPPORT_BYTES_H
