//===- QuantizedFilters.cpp - Filters as the integer kernels read them ----===//

#include "runtime/cpu/kernels/QuantizedShape.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>

using namespace frit;
using namespace frit::cpu;
using artifact::DType;

quantized::Form quantized::formOf(const Shape &shape,
                                  const IntegerKernel &kernel, int32_t zeroW) {
  if (shape.isDepthwise)
    return Form::depthwise;
  const bool isSigned = shape.problem.typeW == DType::i8;
  if (!kernel.hasQuads || zeroW != (isSigned ? 0 : 128))
    return Form::pairs;
  return shape.isStreamed() && isSigned ? Form::streamed : Form::quads;
}

int32_t quantized::sumFilter(const Shape &shape, const uint8_t *filter) {
  int32_t sum = 0;
  if (shape.problem.typeW == DType::u8)
    for (int64_t i = 0; i < shape.taps; ++i)
      sum += int32_t(filter[i]) - 128;
  else
    for (int64_t i = 0; i < shape.taps; ++i)
      sum += int8_t(filter[i]);
  return sum;
}

void quantized::widenDepthwise(const Shape &shape, const uint8_t *w,
                               int32_t zeroW, int32_t *weights, int32_t *sums) {
  const int64_t channels = shape.problem.c, taps = shape.taps;
  const bool isSigned = shape.problem.typeW == DType::i8;
  for (int64_t c = 0; c < channels; ++c) {
    sums[c] = 0;
    for (int64_t t = 0; t < taps; ++t) {
      const uint8_t byte = w[c * taps + t];
      const int32_t weight =
          (isSigned ? int32_t(int8_t(byte)) : int32_t(byte)) - zeroW;
      weights[t * channels + c] = uint16_t(weight);
      sums[c] += weight;
    }
  }
}

void quantized::FilterPacker::operator()(void *panel, int64_t width,
                                         int64_t matrix, int64_t first,
                                         int64_t count, int64_t k,
                                         int64_t depth) const {
  const int64_t stride = shape.taps * element, bytes = shape.segment * element;
  const char *from = filters + (matrix * shape.filters + first) * stride;
  const int64_t rounded = depth;
  depth = std::clamp<int64_t>(shape.segments * deep - k, 0, depth);
  std::memset(static_cast<char *>(panel) + depth * width * 4, 0,
              (rounded - depth) * width * 4);
  if (bytes % 4 == 0) { // segments follow each other
    const void *rows[kWidest];
    for (int64_t i = 0; i < count; ++i)
      rows[i] = from + i * stride + k * 4;
    kernel.packRows(panel, width, count, depth, rows);
    if (flips)
      kernel.flip(panel, width * depth * 4);
    return;
  }
  char *to = static_cast<char *>(panel);
  std::memset(to, 0, width * depth * 4);
  for (int64_t i = 0; i < depth; ++i) {
    const int64_t tap = (k + i) / deep, inside = (k + i) % deep * 4;
    const int64_t size = std::min<int64_t>(4, bytes - inside);
    for (int64_t j = 0; j < count; ++j) {
      char *group = to + (i * width + j) * 4;
      std::memcpy(group, from + j * stride + tap * bytes + inside, size);
      if (flips)
        kernel.flip(group, size);
    }
  }
}

//===----------------------------------------------------------------------===//
// Packed once
//===----------------------------------------------------------------------===//

PackedForm quantized::packedForm(const artifact::Conv &problem,
                                 const void *zeroW, Isa isa) {
  const Shape shape(problem);
  const IntegerKernel &kernel = integerKernel(isa);
  const uint64_t sums = align(problem.k * 4);
  switch (formOf(shape, kernel, byteOf(zeroW, problem.typeW))) {
  case Form::depthwise:
    return {sums + align(problem.c * shape.taps * 4), 1};
  case Form::streamed:
  case Form::quads: {
    const MicroKernel &tiles = quadsOf(shape, kernel);
    return {sums + align(shape.contraction(tiles, 1, 1).packedBytes(true)),
            tiles.depthStep == 1 ? 2 : 4};
  }
  case Form::pairs:
    break;
  }
  return {sums + align(shape.contraction(kernel.pairs, 2, 1).packedBytes(true)),
          3};
}

bool quantized::packFilters(const artifact::Conv &problem, const void *filters,
                            const void *zeroW, Isa isa, void *to) {
  const Shape shape(problem);
  const IntegerKernel &kernel = integerKernel(isa);
  const int32_t zero = byteOf(zeroW, problem.typeW);
  const Form form = formOf(shape, kernel, zero);
  const auto *bytes = static_cast<const uint8_t *>(filters);
  auto *sums = static_cast<int32_t *>(to);
  char *rest = static_cast<char *>(to) + align(problem.k * 4);
  if (form == Form::depthwise) {
    widenDepthwise(shape, bytes, zero, reinterpret_cast<int32_t *>(rest), sums);
    return true;
  }
  for (int64_t i = 0; i < problem.k; ++i)
    sums[i] = sumFilter(shape, bytes + i * shape.taps);
  if (form == Form::quads || form == Form::streamed)
    shape.contraction(quadsOf(shape, kernel), 1, 1)
        .packAll(true, FilterPacker(shape, kernel, true, filters), rest);
  if (form != Form::pairs)
    return true;
  // Of one panel at a time, so that the copy of 16-bit numbers is small.
  const Contraction product = shape.contraction(kernel.pairs, 2, 1);
  std::unique_ptr<int16_t[]> wide(new (std::nothrow)
                                      int16_t[kernel.pairs.cols * shape.taps]);
  if (!wide)
    return false;
  product.packAll(
      true,
      [&](void *panel, int64_t width, int64_t matrix, int64_t first,
          int64_t count, int64_t k, int64_t depth) {
        const int64_t filter = matrix * shape.filters + first;
        kernel.centre(wide.get(), bytes + filter * shape.taps,
                      problem.typeW == DType::i8, zero, count * shape.taps);
        FilterPacker(shape, kernel, false, wide.get())(panel, width, 0, 0,
                                                       count, k, depth);
      },
      rest);
  return true;
}
