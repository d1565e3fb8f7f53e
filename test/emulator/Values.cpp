//===- Values.cpp - Random, stored and compared tensors -------------------===//

#include "test/emulator/Values.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

using namespace frit;
using namespace frit::emulation;
using artifact::DType;

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

template <class T> static T at(const void *data, uint64_t index) {
  T value;
  memcpy(&value, static_cast<const uint8_t *>(data) + index * sizeof(T),
         sizeof(T));
  return value;
}
template <class T> static void put(void *data, uint64_t index, T value) {
  memcpy(static_cast<uint8_t *>(data) + index * sizeof(T), &value, sizeof(T));
}

static double halfToDouble(uint16_t bits) {
  int exponent = bits >> 10 & 31, mantissa = bits & 1023;
  double magnitude = exponent == 0 ? std::ldexp(mantissa, -24)
                     : exponent < 31
                         ? std::ldexp(1024 + mantissa, exponent - 25)
                     : mantissa == 0 ? std::numeric_limits<double>::infinity()
                                     : std::numeric_limits<double>::quiet_NaN();
  return bits & 0x8000 ? -magnitude : magnitude;
}

static double element(const void *data, DType type, uint64_t index) {
  switch (type) {
  case DType::f32:
    return at<float>(data, index);
  case DType::f64:
    return at<double>(data, index);
  case DType::f16:
    return halfToDouble(at<uint16_t>(data, index));
  case DType::bf16: {
    uint32_t bits = uint32_t(at<uint16_t>(data, index)) << 16;
    return at<float>(&bits, 0);
  }
  case DType::i8:
    return at<int8_t>(data, index);
  case DType::i16:
    return at<int16_t>(data, index);
  case DType::i32:
    return at<int32_t>(data, index);
  case DType::i64:
    return double(at<int64_t>(data, index));
  case DType::u16:
    return at<uint16_t>(data, index);
  case DType::u32:
    return at<uint32_t>(data, index);
  case DType::u64:
    return double(at<uint64_t>(data, index));
  case DType::boolean: {
    uint8_t value = at<uint8_t>(data, index);
    return value < 2 ? value : std::numeric_limits<double>::quiet_NaN();
  }
  case DType::u8:
  case DType::f8e4m3:
  case DType::f8e5m2:
    break;
  }
  return at<uint8_t>(data, index);
}

void emulation::fillRandom(void *data, DType type, uint64_t count,
                           uint64_t seed, int intLimit) {
  uint64_t state = seed * 0x9e3779b97f4a7c15u;
  for (uint64_t i = 0; i < count; ++i) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    // 128 steps: exact in every float type.
    int step = int(state >> 57);
    double real = (step - 64) / 64.0;
    uint64_t whole = type == DType::boolean ? step & 1 : step % intLimit;
    switch (type) {
    case DType::f32:
      put(data, i, float(real));
      break;
    case DType::f64:
      put(data, i, real);
      break;
    case DType::f16: {
      int exponent = 0;
      double fraction = std::frexp(std::fabs(real), &exponent);
      uint16_t bits = real == 0 ? 0
                                : (exponent + 14) << 10 |
                                      (int(std::ldexp(fraction, 11)) & 1023);
      put(data, i, uint16_t(bits | (real < 0) << 15));
      break;
    }
    case DType::bf16: {
      float value = float(real);
      put(data, i, uint16_t(at<uint32_t>(&value, 0) >> 16));
      break;
    }
    case DType::i16:
    case DType::u16:
      put(data, i, uint16_t(whole));
      break;
    case DType::i32:
    case DType::u32:
      put(data, i, uint32_t(whole));
      break;
    case DType::i64:
    case DType::u64:
      put(data, i, whole);
      break;
    case DType::i8:
    case DType::u8:
    case DType::boolean:
    case DType::f8e4m3:
    case DType::f8e5m2:
      put(data, i, uint8_t(whole));
      break;
    }
  }
}

double emulation::relativeError(const void *got, const void *want, DType type,
                                uint64_t count) {
  double difference = 0, norm = 0;
  for (uint64_t i = 0; i < count; ++i) {
    double x = element(got, type, i), y = element(want, type, i);
    // Equal infinities differ by NaN.
    difference += x == y ? 0 : (x - y) * (x - y);
    norm += std::isinf(y) ? 0 : y * y;
  }
  return std::sqrt(norm > 0 ? difference / norm : difference);
}

//===----------------------------------------------------------------------===//
// NumPy's files (NEP 1; ZIP as in PKWARE's APPNOTE)
//===----------------------------------------------------------------------===//

static Status readFile(const std::string &path, std::vector<uint8_t> &bytes) {
  std::unique_ptr<FILE, int (*)(FILE *)> file(fopen(path.c_str(), "rbe"),
                                              fclose);
  if (!file)
    return Status(FRIT_IO_ERROR, format("cannot open '%s'", path.c_str()));
  uint8_t chunk[65536];
  while (size_t count = fread(chunk, 1, sizeof chunk, file.get()))
    bytes.insert(bytes.end(), chunk, chunk + count);
  return Status();
}

/// NumPy's name of a type, less the byte order.
static const char *numpyName(DType type) {
  switch (type) {
  case DType::f32:
    return "f4";
  case DType::f64:
    return "f8";
  case DType::f16:
    return "f2";
  case DType::bf16:
    return "V2";
  case DType::i8:
    return "i1";
  case DType::i16:
    return "i2";
  case DType::i32:
    return "i4";
  case DType::i64:
    return "i8";
  case DType::u16:
    return "u2";
  case DType::u32:
    return "u4";
  case DType::u64:
    return "u8";
  case DType::boolean:
    return "b1";
  case DType::u8:
  case DType::f8e4m3:
  case DType::f8e5m2:
    break;
  }
  return "u1";
}

static Status parseNpy(const std::string &name, std::string_view text,
                       DType type, void *data, uint64_t bytes) {
  auto wrong = [&](const char *why) {
    return Status(FRIT_INVALID_ARGUMENT, format("'%s' %s", name.c_str(), why));
  };
  if (text.size() < 12 || text.substr(0, 6) != "\x93NUMPY")
    return wrong("is no .npy array");
  // Version 1 has a 2-byte length of the header, later ones a 4-byte length.
  size_t start = text[6] == 1 ? 10 : 12;
  size_t length = text[6] == 1 ? at<uint16_t>(text.data(), 4)
                               : at<uint32_t>(text.data(), 2);
  if (length > text.size() - start)
    return wrong("is cut off");
  std::string_view header = text.substr(start, length);
  if (header.find(std::string(numpyName(type)) + "'") == header.npos)
    return wrong("has another element type than the tensor");
  if (header.find("'fortran_order': False") == header.npos)
    return wrong("is not row major");
  std::string_view values = text.substr(start + length);
  if (values.size() != bytes)
    return wrong("has another size than the tensor");
  memcpy(data, values.data(), bytes);
  return Status();
}

Status emulation::readNpy(const std::string &path, DType type, void *data,
                          uint64_t bytes) {
  std::vector<uint8_t> file;
  FRIT_TRY(readFile(path, file));
  return parseNpy(path, {reinterpret_cast<char *>(file.data()), file.size()},
                  type, data, bytes);
}

Status emulation::readNpz(const std::string &path, const std::string &name,
                          DType type, void *data, uint64_t bytes) {
  std::vector<uint8_t> file;
  FRIT_TRY(readFile(path, file));
  std::string_view text(reinterpret_cast<char *>(file.data()), file.size());
  std::string wanted = name + ".npy";
  // Central directory entries: sizes at 20 and 24, lengths of name, extra field
  // and comment at 28, 30 and 32, the local header's place at 42, name at 46.
  size_t entry = 0;
  while ((entry = text.find("PK\1\2", entry)) != text.npos &&
         entry + 46 <= text.size()) {
    const char *fields = &text[entry];
    size_t nameSize = at<uint16_t>(fields, 14),
           place = at<uint32_t>(fields + 42, 0);
    size_t size = at<uint32_t>(fields, 6);
    if (text.substr(entry + 46, nameSize) == wanted &&
        place + 30 <= text.size()) {
      if (at<uint16_t>(fields, 5) != 0)
        return Status(
            FRIT_INVALID_ARGUMENT,
            format("'%s' is compressed; use numpy.savez", path.c_str()));
      size_t begin = place + 30 + at<uint16_t>(&text[place], 13) +
                     at<uint16_t>(&text[place], 14);
      return parseNpy(wanted, text.substr(std::min(begin, text.size()), size),
                      type, data, bytes);
    }
    entry += 4;
  }
  return Status(FRIT_INVALID_ARGUMENT,
                format("'%s' has no array '%s'", path.c_str(), name.c_str()));
}
