//===- IndexCheck.cpp - Indices that are out of range ---------------------===//

#include "runtime/exec/IndexCheck.h"
#include "runtime/exec/Types.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

using namespace frit;
using artifact::IndexRange;

/// Loads a value that need not be aligned.
template <typename T> static T load(const void *data, uint64_t index) {
  T value;
  memcpy(&value, static_cast<const char *>(data) + index * sizeof value,
         sizeof value);
  return value;
}

/// Number of values that are checked together.
static constexpr uint64_t kBlock = 256;

/// Returns whether one of kBlock values may be out of range; false only if none
/// is. Takes an instruction or two per value: nearly always all are inside.
template <typename T>
static bool mayBeOutside(const void *data, T least, T most) {
  using Unsigned = std::make_unsigned_t<T>;
  constexpr int bits = int(sizeof(T) * 8);
  // Differences of less than a quarter of the type's range do not overflow, and
  // their sign bits tell.
  constexpr T quarter = T(T(1) << (bits - 2));
  if (std::is_unsigned_v<T> || least < -quarter || most >= quarter)
    return true;
  Unsigned signs = 0;
  for (uint64_t i = 0; i < kBlock; ++i) {
    Unsigned value = Unsigned(load<T>(data, i));
    Unsigned isLarge = value ^ Unsigned(value << 1);
    signs |= Unsigned(value - Unsigned(least)) |
             Unsigned(Unsigned(most) - value) | isLarge;
  }
  return signs >> (bits - 1);
}

/// Returns the place of the first of `count` values that is out of range;
/// `count` if none is.
template <typename T>
static uint64_t findOutside(const void *data, uint64_t count,
                            const IndexRange &range) {
  using Limits = std::numeric_limits<T>;
  // Beyond the type's own range, every value is inside or none is.
  auto clamp = [](int64_t bound) {
    if (std::is_unsigned_v<T> && bound < 0)
      return T(0);
    bool isAbove = sizeof(T) < 8 && bound > int64_t(Limits::max());
    bool isBelow = sizeof(T) < 8 && bound < int64_t(Limits::min());
    return isAbove ? Limits::max() : isBelow ? Limits::min() : T(bound);
  };
  if (range.most < int64_t(Limits::min()) ||
      (std::is_unsigned_v<T> && range.most < 0))
    return 0;
  T least = clamp(range.least), most = clamp(range.most);
  bool hasOther =
      range.other != range.least && (std::is_signed_v<T> || range.other >= 0);
  auto *bytes = static_cast<const char *>(data);
  for (uint64_t start = 0; start < count; start += kBlock) {
    uint64_t end = std::min(count, start + kBlock);
    if (end - start == kBlock &&
        !mayBeOutside(bytes + start * sizeof(T), least, most))
      continue;
    for (uint64_t i = start; i < end; ++i) {
      T value = load<T>(data, i);
      if ((value < least || value > most) &&
          !(hasOther && int64_t(value) == range.other))
        return i;
    }
  }
  return count;
}

static uint64_t findOutside(artifact::DType type, const void *data,
                            uint64_t count, const IndexRange &range) {
  switch (type) {
  case artifact::DType::i8:
    return findOutside<int8_t>(data, count, range);
  case artifact::DType::u8:
    return findOutside<uint8_t>(data, count, range);
  case artifact::DType::i16:
    return findOutside<int16_t>(data, count, range);
  case artifact::DType::u16:
    return findOutside<uint16_t>(data, count, range);
  case artifact::DType::i32:
    return findOutside<int32_t>(data, count, range);
  case artifact::DType::u32:
    return findOutside<uint32_t>(data, count, range);
  case artifact::DType::i64:
    return findOutside<int64_t>(data, count, range);
  case artifact::DType::u64:
    return findOutside<uint64_t>(data, count, range);
  default: // an input whose type the caller chose to be no integer
    return count;
  }
}

/// Formats an element of an integer type.
static std::string valueText(artifact::DType type, const void *data) {
  uint64_t bits = 0;
  uint64_t bytes = elementBytes(type);
  memcpy(&bits, data, bytes);
  bool isSigned = type == artifact::DType::i8 || type == artifact::DType::i16 ||
                  type == artifact::DType::i32 || type == artifact::DType::i64;
  unsigned unused = unsigned(64 - 8 * bytes);
  if (isSigned)
    return std::to_string(int64_t(bits << unused) >> unused);
  return std::to_string(bits);
}

/// Formats what an index does not fit. Bounds that depend on a call's size are
/// left out.
static std::string rangeText(const PlanView &plan, const IndexRange &range) {
  if (range.leastOf.symbol != artifact::kNone ||
      range.mostOf.symbol != artifact::kNone)
    return "is out of range: " + std::string(plan.text(range.use));
  std::string text = format("is out of range, %lld to %lld",
                            static_cast<long long>(range.least),
                            static_cast<long long>(range.most));
  if (range.other != range.least)
    text += format(" or %lld", static_cast<long long>(range.other));
  return text + ": " + std::string(plan.text(range.use));
}

namespace {
/// The part of a dense tensor that has indices, as lines of elements. Allocates
/// nothing: every call makes them.
class Lines {
public:
  Lines(std::span<const int64_t> dims, std::span<const int64_t> first,
        std::span<const int64_t> sizes)
      : dims(dims), first(first), sizes(sizes), inner(dims.size()) {
    // Whole inner dimensions belong to a line.
    while (inner > 0) {
      --inner;
      length *= sizeOf(inner);
      if (sizeOf(inner) != uint64_t(dims[inner]))
        break;
    }
    for (size_t dim = 0; dim < inner; ++dim)
      number *= sizeOf(dim);
  }

  uint64_t count() const { return length ? number : 0; }
  uint64_t elements() const { return length; }

  /// Returns the place in memory of a line's first element.
  uint64_t start(uint64_t line) const {
    uint64_t at = 0, stride = 1;
    for (size_t dim = dims.size(); dim-- > 0;) {
      uint64_t place = uint64_t(first[dim]);
      if (dim < inner) {
        place += line % sizeOf(dim);
        line /= sizeOf(dim);
      }
      at += place * stride;
      stride *= uint64_t(dims[dim]);
    }
    return at;
  }

private:
  /// Inputs of a padded variant may be smaller.
  uint64_t sizeOf(size_t dim) const {
    int64_t end = std::min(first[dim] + sizes[dim], dims[dim]);
    return uint64_t(std::max<int64_t>(end - first[dim], 0));
  }

  std::span<const int64_t> dims, first, sizes;
  size_t inner; ///< the outermost dimension of a line
  uint64_t length = 1, number = 1;
};
} // namespace

/// Formats the position of an element of a dense tensor.
static std::string positionText(std::span<const int64_t> dims, uint64_t index) {
  std::vector<int64_t> position(dims.size());
  for (size_t dim = dims.size(); dim-- > 0;) {
    uint64_t size = uint64_t(std::max<int64_t>(dims[dim], 1));
    position[dim] = int64_t(index % size);
    index /= size;
  }
  std::string text;
  for (int64_t place : position)
    text += (text.empty() ? "" : ", ") + std::to_string(place);
  return "[" + text + "]";
}

/// Returns the range that holds for a call whose symbols have these sizes.
static IndexRange rangeOfCall(IndexRange range,
                              std::span<const int64_t> sizes) {
  bool hasOther = range.other != range.least;
  auto take = [&](artifact::Extent &extent, int64_t &bound) {
    int64_t value;
    if (extent.symbol < sizes.size() && sizes[extent.symbol] >= 0 &&
        computeLength(extent, sizes[extent.symbol], value))
      bound = value;
    extent = {};
  };
  take(range.leastOf, range.least);
  take(range.mostOf, range.most);
  if (!hasOther)
    range.other = range.least;
  return range;
}

Status frit::checkIndices(const PlanView &plan, const std::string &name,
                          const artifact::Tensor &expected,
                          const frit_tensor &given,
                          std::span<const int64_t> sizes) {
  std::span<const int64_t> dims(given.dims, given.rank);
  if (given.location != FRIT_HOST ||
      artifact::DType(given.dtype) != expected.type ||
      dims.size() != expected.dims.count)
    return Status();
  uint64_t bytes = elementBytes(expected.type);
  auto *data = static_cast<const char *>(given.data);
  for (const IndexRange &whole : plan.indices(expected)) {
    IndexRange range = rangeOfCall(whole, sizes);
    Lines lines(dims, plan.dims(range.first), plan.dims(range.sizes));
    for (uint64_t i = 0; i < lines.count(); ++i) {
      uint64_t start = lines.start(i);
      const char *line = data + start * bytes;
      uint64_t found =
          findOutside(expected.type, line, lines.elements(), range);
      if (found < lines.elements())
        return invalidArgument(
            format("input '%s': index %s at %s %s", name.c_str(),
                   valueText(expected.type, line + found * bytes).c_str(),
                   positionText(dims, start + found).c_str(),
                   rangeText(plan, range).c_str()));
    }
  }
  return Status();
}

Status frit::indexFault(const PlanView &plan, const artifact::Tensor &check,
                        int64_t count) {
  const IndexRange &range = plan.indices(check)[0];
  uint64_t number = uint64_t(-(count + 1));
  int64_t value = int64_t(number & 0xffffffff) - (int64_t(1) << 31);
  return invalidArgument(format(
      "index %lld at %s of a tensor of indices that the model computes %s",
      static_cast<long long>(value),
      positionText(plan.dims(range.sizes), number >> 32).c_str(),
      rangeText(plan, range).c_str()));
}
