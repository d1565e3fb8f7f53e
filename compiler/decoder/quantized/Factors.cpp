//===- Factors.cpp - Scales and offsets of a matrix of codes --------------===//

#include "compiler/decoder/quantized/Factors.h"

#include "compiler/import/Elements.h"
#include "compiler/support/Halves.h"

#include "llvm/Support/Parallel.h"

#include <bit>
#include <cstring>
#include <numeric>

using namespace mlir;
using namespace frit;
using namespace frit::decoder;

//===----------------------------------------------------------------------===//
// Groups of columns
//===----------------------------------------------------------------------===//

ColumnGroups decoder::evenGroups(int64_t columns, int64_t size) {
  ColumnGroups made;
  made.block = std::gcd(columns, size);
  for (int64_t first = 0; first < columns; first += made.block)
    made.groups.push_back(int32_t(first / size));
  return made;
}

std::optional<ColumnGroups> decoder::orderedGroups(ArrayRef<int32_t> groups,
                                                   int64_t count) {
  std::vector<int64_t> sizes(count);
  for (int32_t group : groups) {
    if (group < 0 || group >= count)
      return std::nullopt;
    ++sizes[group];
  }
  if (llvm::is_contained(sizes, 0))
    return std::nullopt;
  ColumnGroups made;
  made.block = 0;
  for (int64_t size : sizes)
    made.block = std::gcd(made.block, size);
  for (int64_t group = 0; group < count; ++group)
    made.groups.insert(made.groups.end(), sizes[group] / made.block,
                       int32_t(group));
  if (llvm::is_sorted(groups))
    return made;
  std::vector<int32_t> next(count);
  std::exclusive_scan(sizes.begin(), sizes.end(), next.begin(), 0);
  for (int32_t group : groups)
    made.places.push_back(next[group]++);
  return made;
}

//===----------------------------------------------------------------------===//
// Factors
//===----------------------------------------------------------------------===//

static float brainToFloat(uint16_t bits) {
  return std::bit_cast<float>(uint32_t(bits) << 16);
}

/// Returns the first of f16, bf16 and f32 that has all numbers.
static Type smallestType(ArrayRef<float> scales, ArrayRef<float> offsets,
                         MLIRContext &context) {
  bool isHalf = true, isBrain = true;
  for (ArrayRef<float> numbers : {scales, offsets})
    for (float number : numbers) {
      isHalf &= halfToFloat(toHalf(number)) == number;
      isBrain &= brainToFloat(toBrain(number)) == number;
    }
  if (isHalf)
    return Float16Type::get(&context);
  if (isBrain)
    return BFloat16Type::get(&context);
  return Float32Type::get(&context);
}

Factors decoder::makeFactors(StringRef name, int64_t rows, int64_t together,
                             const ColumnGroups &columns, const Grid &scales,
                             ArrayRef<float> offsets, MLIRContext &context) {
  Type element = smallestType(scales.numbers, offsets, context);
  int64_t bytes = importer::elementBytes(element);
  int64_t blocks = int64_t(columns.groups.size());
  auto make = [&](ArrayRef<float> numbers, const Twine &suffix) {
    auto owner =
        std::make_shared<std::vector<char>>(size_t(rows * blocks * bytes));
    llvm::parallelFor(0, size_t(rows), [&](size_t row) {
      const float *from =
          numbers.data() + int64_t(row) / together * scales.groups;
      char *to = owner->data() + int64_t(row) * blocks * bytes;
      for (int32_t group : columns.groups) {
        float number = from[group];
        uint16_t half = element.isF16() ? toHalf(number) : toBrain(number);
        memcpy(to, bytes == 4 ? static_cast<void *>(&number) : &half, bytes);
        to += bytes;
      }
    });
    return importer::makeElements(
        RankedTensorType::get({rows, blocks}, element),
        {ArrayRef<char>(owner->data(), owner->size()), owner},
        (name + suffix).str());
  };
  Factors made;
  made.scales = make(scales.numbers, ".scales");
  if (!offsets.empty())
    made.offsets = make(offsets, ".offsets");
  return made;
}
