//===- Safetensors.cpp - Find tensors in a file of weights ----------------===//
//
// Eight bytes of the header's length, little endian; the header, JSON; the
// tensors. Of JSON it takes what the format may contain: an object of objects
// of strings, and of arrays of natural numbers.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/Safetensors.h"

#include <algorithm>
#include <cstring>
#include <string_view>

using namespace frit;
using artifact::DType;

/// The format's own limit.
static constexpr uint64_t kLongestHeader = 100'000'000;

const char *frit::storedTypeName(DType type) {
  switch (type) {
  case DType::f32:
    return "F32";
  case DType::f64:
    return "F64";
  case DType::f16:
    return "F16";
  case DType::bf16:
    return "BF16";
  case DType::i8:
    return "I8";
  case DType::i16:
    return "I16";
  case DType::i32:
    return "I32";
  case DType::i64:
    return "I64";
  case DType::u8:
    return "U8";
  case DType::u16:
    return "U16";
  case DType::u32:
    return "U32";
  case DType::u64:
    return "U64";
  case DType::boolean:
    return "BOOL";
  case DType::f8e4m3:
    return "F8_E4M3";
  case DType::f8e5m2:
    return "F8_E5M2";
  }
  return "unknown";
}

namespace {

/// Reads the header once, from front to back.
class Reader {
public:
  Reader(std::string_view text, uint64_t dataBytes)
      : text(text), dataBytes(dataBytes) {}

  bool read(std::map<std::string, StoredTensor> &tensors) {
    bool good = object([&](const std::string &name) {
      if (name == "__metadata__")
        return object([&](const std::string &) {
          std::string value;
          return string(value);
        });
      StoredTensor tensor;
      return entry(tensor) && tensors.emplace(name, std::move(tensor)).second;
    });
    skipSpace();
    return good && text.empty();
  }

private:
  void skipSpace() {
    text.remove_prefix(
        std::min(text.find_first_not_of(" \t\r\n"), text.size()));
  }
  bool take(char c) {
    skipSpace();
    if (text.empty() || text.front() != c)
      return false;
    text.remove_prefix(1);
    return true;
  }

  /// `{ "name": <member(name)>, ... }`
  template <typename Member> bool object(Member member) {
    if (!take('{'))
      return false;
    if (take('}'))
      return true;
    do {
      std::string name;
      if (!string(name) || !take(':') || !member(name))
        return false;
    } while (take(','));
    return take('}');
  }

  bool entry(StoredTensor &tensor) {
    std::vector<int64_t> range;
    bool good = object([&](const std::string &name) {
      if (name == "dtype")
        return string(tensor.type);
      return name == "shape"          ? numbers(tensor.dims)
             : name == "data_offsets" ? numbers(range)
                                      : false;
    });
    if (!good || range.size() != 2 || range[0] > range[1] ||
        uint64_t(range[1]) > dataBytes)
      return false;
    tensor.offset = uint64_t(range[0]);
    tensor.bytes = uint64_t(range[1] - range[0]);
    return true;
  }

  bool numbers(std::vector<int64_t> &values) {
    if (!take('['))
      return false;
    if (take(']'))
      return true;
    do {
      skipSpace();
      int64_t value = 0;
      size_t digits = 0;
      for (; digits < text.size() && text[digits] >= '0' && text[digits] <= '9';
           ++digits)
        if (__builtin_mul_overflow(value, 10, &value) ||
            __builtin_add_overflow(value, text[digits] - '0', &value))
          return false;
      if (!digits)
        return false;
      text.remove_prefix(digits);
      values.push_back(value);
    } while (take(','));
    return take(']');
  }

  bool string(std::string &value) {
    if (!take('"'))
      return false;
    while (!text.empty()) {
      char c = text.front();
      text.remove_prefix(1);
      if (c == '"')
        return true;
      if (c != '\\')
        value += c;
      else if (!escape(value))
        return false;
    }
    return false;
  }

  bool escape(std::string &value) {
    static constexpr char names[] = "\"\\/bfnrt";
    static constexpr char meanings[] = "\"\\/\b\f\n\r\t";
    if (text.empty())
      return false;
    char c = text.front();
    text.remove_prefix(1);
    if (const char *known = c ? strchr(names, c) : nullptr) {
      value += meanings[known - names];
      return true;
    }
    uint32_t point = 0;
    if (c != 'u' || !codeUnit(point))
      return false;
    // What lies beyond 16 bits is written as two surrogates.
    uint32_t low = 0;
    if (point >= 0xd800 && point < 0xdc00) {
      if (text.substr(0, 2) != "\\u")
        return false;
      text.remove_prefix(2);
      if (!codeUnit(low) || low < 0xdc00 || low > 0xdfff)
        return false;
      point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
    }
    addUtf8(value, point);
    return true;
  }

  bool codeUnit(uint32_t &value) {
    if (text.size() < 4)
      return false;
    for (char c : text.substr(0, 4)) {
      int digit = c >= '0' && c <= '9'   ? c - '0'
                  : c >= 'a' && c <= 'f' ? c - 'a' + 10
                  : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                         : -1;
      if (digit < 0)
        return false;
      value = value * 16 + uint32_t(digit);
    }
    text.remove_prefix(4);
    return true;
  }

  static void addUtf8(std::string &to, uint32_t point) {
    if (point < 0x80) {
      to += char(point);
      return;
    }
    int more = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    to += char((0xff00 >> (more + 1)) | (point >> 6 * more));
    while (more--)
      to += char(0x80 | (point >> 6 * more & 0x3f));
  }

  std::string_view text;
  uint64_t dataBytes;
};

} // namespace

Status frit::readSafetensors(const uint8_t *data, uint64_t size,
                             std::map<std::string, StoredTensor> &tensors) {
  uint64_t length = 0;
  if (size >= sizeof length)
    memcpy(&length, data, sizeof length);
  if (size < sizeof length || length > kLongestHeader ||
      length > size - sizeof length)
    return Status(FRIT_IO_ERROR, "it is cut off, or no safetensors file");
  std::string_view text(reinterpret_cast<const char *>(data) + sizeof length,
                        length);
  uint64_t start = sizeof length + length;
  if (!Reader(text, size - start).read(tensors))
    return Status(FRIT_IO_ERROR, "its header is damaged, or reaches past the "
                                 "file's end");
  for (auto &[name, tensor] : tensors)
    tensor.offset += start;
  return Status();
}
