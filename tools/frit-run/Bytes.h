//===- Bytes.h - Read bytes that may end anywhere -------------------------===//

#ifndef FRIT_RUN_BYTES_H
#define FRIT_RUN_BYTES_H

#include "Tensor.h"

#include <cstring>
#include <span>
#include <string_view>

namespace frit::run {

using Bytes = std::span<const uint8_t>;

/// Little-endian numbers and runs of bytes from the front; after one that is
/// not there, `failed` stays true and zeros are read.
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

  /// A protocol buffer's variable-length integer.
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      uint8_t byte = number<uint8_t>();
      value |= uint64_t(byte & 0x7f) << shift;
      if (!(byte & 0x80))
        return value;
    }
    failed = true;
    return 0;
  }

  bool atEnd() const { return bytes.empty(); }
  /// Bytes that were not read yet.
  uint64_t left() const { return bytes.size(); }

  bool failed = false;

private:
  Bytes bytes;
};

inline std::string_view asText(Bytes bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

/// How the elements of a .npy file lie, and where.
struct NpyLayout {
  uint64_t headerBytes = 0, dataBytes = 0;
  bool isColumnMajor = false, isBigEndian = false;
};

/// Reads the header that `bytes` begin with: gives `tensor` its type and shape,
/// and no elements.
bool readNpyHeader(Bytes bytes, Tensor &tensor, NpyLayout &layout,
                   std::string &error);

/// Turns the elements of `tensor`, which lie as `layout` says, into row-major
/// ones of this machine.
void arrange(Tensor &tensor, const NpyLayout &layout);

bool readNpy(Bytes bytes, Tensor &tensor, std::string &error);
bool readNpz(Bytes bytes, std::vector<Tensor> &tensors, std::string &error);
bool readSafetensors(Bytes bytes, std::vector<Tensor> &tensors,
                     std::string &error);
bool readOnnxTensor(Bytes bytes, Tensor &tensor, std::string &error);

/// The bytes of a .npy file, and of an .npz file of several.
std::vector<uint8_t> makeNpy(const Tensor &tensor);
bool makeNpz(const std::vector<Tensor> &tensors, std::vector<uint8_t> &bytes,
             std::string &error);

} // namespace frit::run

#endif // FRIT_RUN_BYTES_H
