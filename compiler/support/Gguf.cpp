//===- Gguf.cpp - Read GGUF files -----------------------------------------===//

#include "compiler/support/Gguf.h"
#include "frit/printable.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>

using namespace frit;

/// A type and its blocks.
static constexpr std::pair<GgufType, GgufBlock> kBlocks[] = {
    {GgufType::f32, {"F32", 1, 4}},
    {GgufType::f16, {"F16", 1, 2}},
    {GgufType::q4_0, {"Q4_0", 32, 18}},
    {GgufType::q4_1, {"Q4_1", 32, 20}},
    {GgufType::q5_0, {"Q5_0", 32, 22}},
    {GgufType::q5_1, {"Q5_1", 32, 24}},
    {GgufType::q8_0, {"Q8_0", 32, 34}},
    {GgufType::q8_1, {"Q8_1", 32, 36}},
    {GgufType::q2_k, {"Q2_K", 256, 84}},
    {GgufType::q3_k, {"Q3_K", 256, 110}},
    {GgufType::q4_k, {"Q4_K", 256, 144}},
    {GgufType::q5_k, {"Q5_K", 256, 176}},
    {GgufType::q6_k, {"Q6_K", 256, 210}},
    {GgufType::q8_k, {"Q8_K", 256, 292}},
    {GgufType::iq2_xxs, {"IQ2_XXS", 256, 66}},
    {GgufType::iq2_xs, {"IQ2_XS", 256, 74}},
    {GgufType::iq3_xxs, {"IQ3_XXS", 256, 98}},
    {GgufType::iq1_s, {"IQ1_S", 256, 50}},
    {GgufType::iq4_nl, {"IQ4_NL", 32, 18}},
    {GgufType::iq3_s, {"IQ3_S", 256, 110}},
    {GgufType::iq2_s, {"IQ2_S", 256, 82}},
    {GgufType::iq4_xs, {"IQ4_XS", 256, 136}},
    {GgufType::i8, {"I8", 1, 1}},
    {GgufType::i16, {"I16", 1, 2}},
    {GgufType::i32, {"I32", 1, 4}},
    {GgufType::i64, {"I64", 1, 8}},
    {GgufType::f64, {"F64", 1, 8}},
    {GgufType::iq1_m, {"IQ1_M", 256, 56}},
    {GgufType::bf16, {"BF16", 1, 2}},
    {GgufType::tq1_0, {"TQ1_0", 256, 54}},
    {GgufType::tq2_0, {"TQ2_0", 256, 66}},
    {GgufType::nvfp4, {"NVFP4", 64, 36}},
    {GgufType::mxfp4, {"MXFP4", 32, 17}},
};

std::optional<GgufBlock> frit::blockOf(GgufType type) {
  for (const auto &[known, block] : kBlocks)
    if (known == type)
      return block;
  return std::nullopt;
}

namespace {

/// Types of values, by their number in files.
enum ValueType : uint32_t {
  kU8,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kF32,
  kBool,
  kText,
  kArray,
  kU64,
  kI64,
  kF64
};

class GgufReader {
public:
  GgufReader(std::span<const uint8_t> bytes, GgufFile &file, std::string &error)
      : bytes(bytes), file(file), error(error) {}

  bool read() {
    if (bytes.size() < 4 || memcmp(bytes.data(), "GGUF", 4))
      return fail("it is no GGUF file");
    at = 4;
    uint32_t version;
    uint64_t tensors, values;
    if (!take(version))
      return false;
    if (version != 2 && version != 3)
      return fail((version & 0xffff) == 0 && version
                      ? std::string("it is big-endian, which is not supported")
                      : "its version is " + std::to_string(version) +
                            "; 2 and 3 are supported");
    if (!take(tensors) || !take(values))
      return false;
    // The least that one of each takes.
    if (!has(values, 13, "key-values"))
      return false;
    while (values--)
      if (!readPair())
        return false;
    if (!has(tensors, 24, "tensors"))
      return false;
    return readTensors(tensors);
  }

private:
  struct Place {
    GgufTensor *tensor;
    uint64_t offset;
  };

  bool fail(const std::string &message) {
    error = message;
    return false;
  }

  /// Whether the file could have that many things of at least that size here.
  bool has(uint64_t count, uint64_t least, const char *what) {
    if (count <= (bytes.size() - at) / least)
      return true;
    return fail("it is truncated: it should have " + std::to_string(count) +
                " " + what + " after byte " + std::to_string(at) + " of " +
                std::to_string(bytes.size()));
  }

  template <typename T> bool take(T &value) {
    if (!has(1, sizeof value, "numbers"))
      return false;
    memcpy(&value, bytes.data() + at, sizeof value);
    at += sizeof value;
    return true;
  }

  bool take(std::string_view &text) {
    uint64_t size;
    if (!take(size) || !has(size, 1, "bytes of a text"))
      return false;
    text = {reinterpret_cast<const char *>(bytes.data()) + at, size};
    at += size;
    return true;
  }

  /// Calls `found` with a number of a type.
  template <typename Found> bool takeNumber(uint32_t type, Found found) {
    auto as = [&](auto value) { return take(value) && (found(value), true); };
    switch (type) {
    case kU8:
      return as(uint8_t());
    case kI8:
      return as(int8_t());
    case kU16:
      return as(uint16_t());
    case kI16:
      return as(int16_t());
    case kU32:
      return as(uint32_t());
    case kI32:
      return as(int32_t());
    case kF32:
      return as(float());
    case kU64:
      return as(uint64_t());
    case kI64:
      return as(int64_t());
    case kF64:
      return as(double());
    case kBool: {
      uint8_t value;
      return take(value) && (found(value != 0), true);
    }
    default:
      return fail("key '" + key() + "' has a value of type " +
                  std::to_string(type) + ", which is none");
    }
  }

  std::string key() const { return printable(name); }

  bool readPair() {
    uint32_t type;
    if (!take(name) || !take(type))
      return false;
    GgufValue value;
    if (type == kText) {
      std::string_view text;
      if (!take(text))
        return false;
      value = text;
    } else if (type == kArray) {
      if (!readArray(value))
        return false;
    } else if (!takeNumber(type, [&](auto number) {
                 using T = decltype(number);
                 if constexpr (std::is_same_v<T, bool>)
                   value = number;
                 else if constexpr (std::is_floating_point_v<T>)
                   value = double(number);
                 else if constexpr (std::is_signed_v<T>)
                   value = int64_t(number);
                 else
                   value = uint64_t(number);
               }))
      return false;
    if (!file.values.emplace(name, std::move(value)).second)
      return fail("it has key '" + key() + "' twice");
    return true;
  }

  bool readArray(GgufValue &value) {
    uint32_t type;
    uint64_t count;
    if (!take(type) || !take(count))
      return false;
    if (type == kArray)
      return fail("key '" + key() +
                  "' is an array of arrays, which is not supported");
    static constexpr uint8_t sizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 8, 1, 8, 8, 8};
    if (!has(count, type < std::size(sizes) ? sizes[type] : 1,
             "elements of an array"))
      return false;
    if (type == kText) {
      std::vector<std::string_view> texts;
      texts.reserve(count);
      while (count--)
        if (!take(texts.emplace_back()))
          return false;
      value = GgufArray(std::move(texts));
      return true;
    }
    std::vector<double> numbers;
    numbers.reserve(count);
    while (count--)
      if (!takeNumber(type,
                      [&](auto number) { numbers.push_back(double(number)); }))
        return false;
    value = GgufArray(std::move(numbers));
    return true;
  }

  bool readTensors(uint64_t count) {
    std::vector<Place> places;
    while (count--)
      if (!readTensor(places))
        return false;
    uint64_t alignment = 32;
    if (file.find("general.alignment")) {
      alignment = file.count("general.alignment").value_or(0);
      if (!alignment || alignment % 8 || alignment > 1 << 30)
        return fail("general.alignment is no multiple of 8 below 2^30");
    }
    uint64_t start = (at + alignment - 1) / alignment * alignment;
    for (Place place : places)
      if (!findData(place, start, alignment))
        return false;
    return areApart(places);
  }

  /// Checks that no byte belongs to two tensors.
  bool areApart(std::vector<Place> &places) {
    std::ranges::sort(places, {}, &Place::offset);
    const Place *before = nullptr;
    for (const Place &place : places) {
      if (place.tensor->data.empty())
        continue;
      if (before && place.offset - before->offset < before->tensor->data.size())
        return fail("tensors '" + printable(before->tensor->name) + "' and '" +
                    printable(place.tensor->name) + "' overlap");
      before = &place;
    }
    return true;
  }

  bool readTensor(std::vector<Place> &places) {
    GgufTensor tensor;
    uint32_t rank, type;
    uint64_t offset;
    if (!take(name) || !take(rank))
      return false;
    if (!rank || rank > 4)
      return fail("tensor '" + key() + "' has " + std::to_string(rank) +
                  " dimensions; 1 to 4 are possible");
    tensor.dims.resize(rank);
    for (uint64_t &dim : tensor.dims)
      if (!take(dim))
        return false;
    if (!take(type) || !take(offset))
      return false;
    tensor.name = name;
    tensor.type = GgufType(type);
    auto [found, isNew] = file.tensors.emplace(name, std::move(tensor));
    if (!isNew)
      return fail("it has tensor '" + key() + "' twice");
    places.push_back({&found->second, offset});
    return true;
  }

  bool findData(Place place, uint64_t start, uint64_t alignment) {
    GgufTensor &tensor = *place.tensor;
    name = tensor.name;
    std::optional<GgufBlock> block = blockOf(tensor.type);
    if (!block)
      return fail("tensor '" + key() + "' has type " +
                  std::to_string(uint32_t(tensor.type)) + ", which is unknown");
    if (tensor.dims[0] % block->weights)
      return fail("tensor '" + key() + "' has rows of " +
                  std::to_string(tensor.dims[0]) + " weights, but " +
                  block->name + " stores " + std::to_string(block->weights) +
                  " together");
    uint64_t size = tensor.dims[0] / block->weights;
    bool fits = !__builtin_mul_overflow(size, block->bytes, &size);
    for (size_t dim = 1; dim < tensor.dims.size(); ++dim)
      fits = fits && !__builtin_mul_overflow(size, tensor.dims[dim], &size);
    if (place.offset % alignment)
      return fail("tensor '" + key() + "' is not aligned to " +
                  std::to_string(alignment) + " bytes");
    uint64_t left = start <= bytes.size() ? bytes.size() - start : 0;
    if (!fits || place.offset > left || size > left - place.offset)
      return fail("it is truncated: tensor '" + key() + "' does not lie in " +
                  std::to_string(bytes.size()) + " bytes");
    if (size)
      tensor.data = bytes.subspan(start + place.offset, size);
    return true;
  }

  std::span<const uint8_t> bytes;
  GgufFile &file;
  std::string &error;
  uint64_t at = 0;
  std::string_view name; ///< of the key or tensor that is read
};

} // namespace

bool frit::readGguf(std::span<const uint8_t> bytes, GgufFile &file,
                    std::string &error) {
  file = {};
  return GgufReader(bytes, file, error).read();
}

const GgufValue *GgufFile::find(std::string_view key) const {
  auto found = values.find(key);
  return found == values.end() ? nullptr : &found->second;
}

std::optional<uint64_t> GgufFile::count(std::string_view key) const {
  const GgufValue *value = find(key);
  if (!value)
    return std::nullopt;
  if (auto *number = std::get_if<uint64_t>(value))
    return *number;
  auto *number = std::get_if<int64_t>(value);
  return number && *number >= 0 ? std::optional(uint64_t(*number))
                                : std::nullopt;
}

std::optional<double> GgufFile::number(std::string_view key) const {
  const GgufValue *value = find(key);
  if (!value)
    return std::nullopt;
  if (auto *number = std::get_if<double>(value))
    return *number;
  if (auto *number = std::get_if<uint64_t>(value))
    return double(*number);
  auto *number = std::get_if<int64_t>(value);
  return number ? std::optional(double(*number)) : std::nullopt;
}

template <typename T> static std::optional<T> get(const GgufValue *value) {
  auto *found = value ? std::get_if<T>(value) : nullptr;
  return found ? std::optional(*found) : std::nullopt;
}

std::optional<bool> GgufFile::flag(std::string_view key) const {
  return get<bool>(find(key));
}

std::optional<std::string_view> GgufFile::text(std::string_view key) const {
  return get<std::string_view>(find(key));
}

template <typename T> static const T *getArray(const GgufValue *value) {
  auto *array = value ? std::get_if<GgufArray>(value) : nullptr;
  return array ? std::get_if<T>(array) : nullptr;
}

const std::vector<double> *GgufFile::numbers(std::string_view key) const {
  return getArray<std::vector<double>>(find(key));
}

const std::vector<std::string_view> *
GgufFile::texts(std::string_view key) const {
  return getArray<std::vector<std::string_view>>(find(key));
}
