//===- Tensor.cpp - Tensors in host memory --------------------------------===//

#include "tools/support/Tensor.h"
#include "compiler/support/Interrupts.h"
#include "frit/printable.h"
#include "tools/support/ExitStatus.h"

#include <bit>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <unistd.h>

using namespace frit::tools;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

void frit::tools::handleOutOfMemory() {
  std::set_new_handler([] {
    endAtFault(kMachine, {program_invocation_short_name,
                          ": there is no memory for what it has to do\n"});
  });
}

void frit::tools::outOfMemory(const std::string &what) {
  endAtFault(kMachine, {program_invocation_short_name,
                        ": there is no memory for ", printable(what), "\n"});
}

void frit::tools::expectMemory(uint64_t bytes, const std::string &what) {
  uint64_t here =
      uint64_t(sysconf(_SC_PHYS_PAGES)) * uint64_t(sysconf(_SC_PAGESIZE));
  if (bytes > here)
    outOfMemory(what + ": it takes " + formatBytes(bytes) +
                ", and this machine has " + formatBytes(here));
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

namespace {
/// A binary float format of 8 or 16 bits.
struct Format {
  int exponentBits, mantissaBits;
  bool infinities; ///< false: the top exponent holds numbers and one NaN
};
} // namespace

static Format formatOf(frit_dtype dtype) {
  switch (dtype) {
  case FRIT_F16:
    return {5, 10, true};
  case FRIT_BF16:
    return {8, 7, true};
  case FRIT_F8E4M3:
    return {4, 3, false};
  default:
    return {5, 2, true};
  }
}

/// Returns (1 + mantissa / 2^52) · 2^exponent.
static double makeDouble(int exponent, uint64_t mantissa) {
  return std::bit_cast<double>(uint64_t(exponent + 1023) << 52 | mantissa);
}

static double decode(unsigned bits, Format format) {
  int bias = (1 << (format.exponentBits - 1)) - 1;
  int top = (1 << format.exponentBits) - 1;
  unsigned mantissa = bits & ((1u << format.mantissaBits) - 1);
  int exponent = int(bits >> format.mantissaBits) & top;
  double sign =
      bits >> (format.exponentBits + format.mantissaBits) & 1 ? -1 : 1;
  unsigned allOnes = (1u << format.mantissaBits) - 1;
  if (exponent == top && format.infinities)
    return mantissa ? NAN : sign * INFINITY;
  if (exponent == top && mantissa == allOnes)
    return NAN;
  if (exponent == 0)
    return sign * mantissa * makeDouble(1 - bias - format.mantissaBits, 0);
  return sign * makeDouble(exponent - bias, uint64_t(mantissa)
                                                << (52 - format.mantissaBits));
}

/// Rounds to nearest even. On overflow returns infinity, or NaN if the format
/// has no infinity.
static unsigned encode(double value, Format format) {
  int bias = (1 << (format.exponentBits - 1)) - 1;
  unsigned top = (1u << format.exponentBits) - 1;
  unsigned sign = unsigned(std::signbit(value))
                  << (format.exponentBits + format.mantissaBits);
  unsigned ones = (1u << format.mantissaBits) - 1;
  unsigned notANumber = sign | top << format.mantissaBits | ones;
  unsigned infinity =
      format.infinities ? sign | top << format.mantissaBits : notANumber;
  value = std::fabs(value);
  if (std::isnan(value))
    return notANumber;
  if (std::isinf(value))
    return infinity;
  int exponent = value == 0 ? -bias : std::max(std::ilogb(value), 1 - bias);
  if (value == 0)
    return sign;
  // The addition lets rounding carry into the exponent.
  unsigned mantissa = unsigned(
      std::nearbyint(std::ldexp(value, format.mantissaBits - exponent)));
  unsigned bits =
      (unsigned(exponent + bias - 1) << format.mantissaBits) + mantissa;
  unsigned limit = format.infinities ? top << format.mantissaBits
                                     : (top << format.mantissaBits) + ones;
  return bits >= limit ? infinity : sign | bits;
}

template <typename T> static double load(const uint8_t *from) {
  T value;
  memcpy(&value, from, sizeof value);
  return double(value);
}

template <typename T> static void store(uint8_t *to, T value) {
  memcpy(to, &value, sizeof value);
}

double Tensor::at(uint64_t index) const {
  const uint8_t *from = data.data() + index * frit_dtype_size(dtype);
  switch (dtype) {
  case FRIT_F32:
    return load<float>(from);
  case FRIT_F64:
    return load<double>(from);
  case FRIT_F16:
  case FRIT_BF16:
    return decode(unsigned(load<uint16_t>(from)), formatOf(dtype));
  case FRIT_F8E4M3:
  case FRIT_F8E5M2:
    return decode(*from, formatOf(dtype));
  case FRIT_I8:
  case FRIT_I4:
  case FRIT_I2:
    return load<int8_t>(from);
  case FRIT_I16:
    return load<int16_t>(from);
  case FRIT_I32:
    return load<int32_t>(from);
  case FRIT_I64:
    return load<int64_t>(from);
  case FRIT_U8:
  case FRIT_U4:
  case FRIT_U2:
  case FRIT_BOOL:
    return *from;
  // These types have no file format; show their bits.
  case FRIT_F8E4M3FNUZ:
  case FRIT_F8E5M2FNUZ:
  case FRIT_F8E8M0:
  case FRIT_F4E2M1:
    return *from;
  case FRIT_U16:
    return load<uint16_t>(from);
  case FRIT_U32:
    return load<uint32_t>(from);
  case FRIT_U64:
    return load<uint64_t>(from);
  case FRIT_STRING:
    break;
  }
  return NAN;
}

bool Tensor::isInteger() const {
  return (dtype >= FRIT_I8 && dtype <= FRIT_BOOL) ||
         (dtype >= FRIT_I4 && dtype <= FRIT_U2);
}

__int128 Tensor::integerAt(uint64_t index) const {
  // A double holds all but integers of 64 bits.
  if (dtype != FRIT_I64 && dtype != FRIT_U64)
    return __int128(at(index));
  uint64_t bits;
  memcpy(&bits, data.data() + index * sizeof bits, sizeof bits);
  return dtype == FRIT_I64 ? __int128(int64_t(bits)) : __int128(bits);
}

std::string Tensor::textOf(uint64_t index, int digits) const {
  if (isString())
    return '"' + printable(texts[index]) + '"';
  if (dtype == FRIT_U64)
    return std::to_string(uint64_t(integerAt(index)));
  if (isInteger())
    return std::to_string(int64_t(integerAt(index)));
  return format("%.*g", digits, at(index));
}

void Tensor::set(uint64_t index, double value) {
  uint8_t *to = data.data() + index * frit_dtype_size(dtype);
  switch (dtype) {
  case FRIT_F32:
    return store(to, float(value));
  case FRIT_F64:
    return store(to, value);
  case FRIT_F16:
  case FRIT_BF16:
    return store(to, uint16_t(encode(value, formatOf(dtype))));
  case FRIT_F8E4M3:
  case FRIT_F8E5M2:
    return store(to, uint8_t(encode(value, formatOf(dtype))));
  case FRIT_BOOL:
    return store(to, uint8_t(value != 0));
  case FRIT_I8:
  case FRIT_U8:
  case FRIT_F8E4M3FNUZ:
  case FRIT_F8E5M2FNUZ:
  case FRIT_F8E8M0:
  case FRIT_F4E2M1:
  case FRIT_I4:
  case FRIT_U4:
  case FRIT_I2:
  case FRIT_U2:
    return store(to, uint8_t(int64_t(value)));
  case FRIT_I16:
  case FRIT_U16:
    return store(to, uint16_t(int64_t(value)));
  case FRIT_I32:
  case FRIT_U32:
    return store(to, uint32_t(int64_t(value)));
  case FRIT_I64:
  case FRIT_U64:
    return store(to, int64_t(value));
  case FRIT_STRING:
    texts[index] = format("%.17g", value);
  }
}

/// Returns the indices of the least and the largest `value`. Typed for speed:
/// outputs may have tens of millions of elements.
template <typename Value>
static std::pair<uint64_t, uint64_t> extremesOf(uint64_t count, Value value) {
  uint64_t least = 0, most = 0;
  auto low = value(0), high = low;
  for (uint64_t i = 1; i < count; ++i) {
    auto x = value(i);
    if (x < low) {
      low = x;
      least = i;
    }
    if (x > high) {
      high = x;
      most = i;
    }
  }
  return {least, most};
}

/// As above for 16-bit floats. Apart from the sign, their bits have the order
/// of the numbers.
static std::pair<uint64_t, uint64_t>
extremesOfHalves(uint64_t count, const uint8_t *from, unsigned infinity) {
  struct Half {
    int order;
    bool isNaN;
    bool operator<(Half y) const {
      return order < y.order && !isNaN && !y.isNaN;
    }
    bool operator>(Half y) const { return y < *this; }
  };
  return extremesOf(count, [=](uint64_t i) -> Half {
    uint16_t bits;
    memcpy(&bits, from + i * sizeof bits, sizeof bits);
    unsigned magnitude = bits & 0x7fff;
    return {bits & 0x8000 ? -int(magnitude) : int(magnitude),
            magnitude > infinity};
  });
}

std::pair<uint64_t, uint64_t> Tensor::extremes() const {
  if (dtype == FRIT_F32)
    return extremesOf(count(), [from = data.data()](uint64_t i) {
      return load<float>(from + i * sizeof(float));
    });
  if (dtype == FRIT_F16 || dtype == FRIT_BF16)
    return extremesOfHalves(count(), data.data(),
                            dtype == FRIT_F16 ? 0x7c00 : 0x7f80);
  if (isInteger())
    return extremesOf(count(), [this](uint64_t i) { return integerAt(i); });
  return extremesOf(count(), [this](uint64_t i) { return at(i); });
}

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

std::string frit::tools::formatType(frit_dtype dtype, uint32_t rank,
                                    const int64_t *dims) {
  std::string text;
  for (uint32_t i = 0; i < rank; ++i)
    text += std::to_string(dims[i]) + "x";
  return text + frit_dtype_name(dtype);
}

std::string Tensor::type() const {
  return formatType(dtype, uint32_t(dims.size()), dims.data());
}

std::string Tensor::position(uint64_t index) const {
  std::string text;
  for (size_t i = dims.size(); i-- > 0;) {
    uint64_t size = uint64_t(dims[i]);
    text = std::to_string(index % size) + (text.empty() ? "" : ", ") + text;
    index /= size;
  }
  return "[" + text + "]";
}

void Tensor::takeTexts() {
  for (uint64_t i = 0; i < texts.size(); ++i) {
    frit_string string;
    memcpy(&string, data.data() + i * sizeof string, sizeof string);
    texts[i].assign(string.size ? string.data : "", string.size);
  }
}

frit_tensor Tensor::bind() {
  for (uint64_t i = 0; i < texts.size(); ++i) {
    frit_string string = {texts[i].data(), texts[i].size()};
    memcpy(data.data() + i * sizeof string, &string, sizeof string);
  }
  return {name.c_str(),          data.data(), dtype,
          uint32_t(dims.size()), dims.data(), FRIT_HOST};
}

bool frit::tools::parseType(const std::string &text, frit_dtype &dtype,
                            std::vector<int64_t> &dims) {
  dims.clear();
  size_t at = 0;
  while (at < text.size() && isdigit(static_cast<unsigned char>(text[at]))) {
    char *end;
    long long size = strtoll(text.c_str() + at, &end, 10);
    if (*end != 'x')
      return false;
    dims.push_back(size);
    at = size_t(end - text.c_str()) + 1;
  }
  for (int value = FRIT_F32; value <= FRIT_U2; ++value)
    if (text.substr(at) == frit_dtype_name(frit_dtype(value))) {
      dtype = frit_dtype(value);
      return true;
    }
  return false;
}

std::optional<uint64_t> frit::tools::byteSize(frit_dtype dtype,
                                              std::span<const int64_t> dims) {
  constexpr uint64_t most = uint64_t(1) << 42;
  if (dims.size() > kMostDimensions)
    return std::nullopt;
  uint64_t count = 1;
  bool empty = false;
  for (int64_t dim : dims) {
    // Check the other dimensions even if one is 0.
    uint64_t size = std::max<int64_t>(dim, 1);
    if (dim < 0 || size > most / count)
      return std::nullopt;
    count *= size;
    empty |= !dim;
  }
  return empty ? 0 : count * frit_dtype_size(dtype);
}

Tensor frit::tools::emptyTensor(const frit_tensor_info &info) {
  Tensor tensor;
  tensor.name = info.name;
  tensor.dtype = info.dtype;
  tensor.dims.assign(info.dims, info.dims + info.rank);
  return tensor;
}

bool frit::tools::allocate(Tensor &tensor) {
  std::optional<uint64_t> bytes = byteSize(tensor.dtype, tensor.dims);
  if (!bytes)
    return false;
  expectMemory(*bytes, "tensor '" + tensor.name + "'");
  tensor.data = Storage(*bytes);
  if (tensor.isString())
    tensor.texts.resize(tensor.count());
  return true;
}
