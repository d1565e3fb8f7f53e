//===- WeightRounding.cpp - Round weights to few bits ---------------------===//

#include "compiler/transform/quantize/WeightRounding.h"

#include "compiler/support/Halves.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/Support/Parallel.h"

#include <atomic>
#include <bit>
#include <cmath>
#include <cstring>

using namespace mlir;
using namespace frit;
using namespace frit::nn;

std::optional<WeightFormat> frit::readWeightFormat(StringRef text) {
  auto [name, block] = text.split(':');
  WeightFormat format;
  if (name == "int8")
    format.code = Code::int8;
  else if (name == "int4")
    format = {Code::int4, 64};
  else if (name == "fp8")
    format.code = Code::e4m3;
  else if (name == "mxfp4")
    format = {Code::e2m1, 32};
  else
    return std::nullopt;
  if (name == text)
    return format;
  if (block.getAsInteger(10, format.block) || format.block < 32 ||
      format.block > 1024 || !llvm::isPowerOf2_64(format.block) ||
      (format.code == Code::e2m1 && format.block != 32))
    return std::nullopt;
  return format;
}

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

namespace {
/// The elements of a matrix in the order of the result's rows.
struct Matrix {
  const char *data;
  Type element;
  int64_t rows, columns, rowStride, columnStride;

  float at(int64_t row, int64_t column) const {
    const char *from = data + (row * rowStride + column * columnStride) *
                                  (element.getIntOrFloatBitWidth() / 8);
    if (element.isF32()) {
      float number;
      memcpy(&number, from, 4);
      return number;
    }
    uint16_t bits;
    memcpy(&bits, from, 2);
    if (element.isBF16())
      return std::bit_cast<float>(uint32_t(bits) << 16);
    return halfToFloat(bits);
  }

  SmallVector<float, 0> row(int64_t index) const {
    SmallVector<float, 0> numbers(columns);
    for (int64_t column = 0; column < columns; ++column)
      numbers[column] = at(index, column);
    return numbers;
  }
};
} // namespace

/// Returns the code of the e2m1 number that is nearest; of two the even one.
static uint8_t e2m1Of(float number) {
  static constexpr float most[] = {0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5.f};
  float size = std::fabs(number);
  uint8_t code = 0;
  while (code < 7 && (code % 2 ? size >= most[code] : size > most[code]))
    ++code;
  return code | (number < 0 ? 8 : 0);
}

/// Returns the code of the nearest e4m3 number, up to 448.
static uint8_t e4m3Of(float number) {
  float size = std::min(std::fabs(number), 448.f);
  uint8_t sign = number < 0 ? 128 : 0;
  if (size < 0x1p-6f) // multiples of 2^-9; 8 of them are the first normal one
    return sign | uint8_t(std::nearbyint(size * 512));
  int exponent = std::ilogb(size);
  int mantissa = int(std::nearbyint(std::ldexp(size, 3 - exponent)));
  // A carry goes into the exponent by itself.
  return sign | uint8_t(((exponent + 6) << 3) + mantissa);
}

BlockScale frit::scaleOf(Code code, ArrayRef<float> numbers) {
  float extreme = 0;
  for (float number : numbers)
    if (std::fabs(number) > std::fabs(extreme))
      extreme = number;
  if (code == Code::e2m1) {
    // A power of two that maps the extreme to 4 up to 8, as the OCP's formats
    // have it; f32 bits of powers of two are bf16's.
    int exponent = extreme ? std::ilogb(extreme) - 2 : 0;
    float scale = std::ldexp(1.f, std::clamp(exponent, -126, 127));
    return {scale, uint16_t(std::bit_cast<uint32_t>(scale) >> 16)};
  }
  // The extreme number of integers has the code 0, which has no opposite.
  float most = code == Code::int4 ? -8.f : code == Code::int8 ? -128.f : 448.f;
  if (code == Code::e4m3)
    extreme = std::fabs(extreme);
  uint16_t bits = extreme ? toHalf(extreme / most) : 0;
  return {halfToFloat(bits), bits};
}

uint8_t frit::codeOf(Code code, float number, float scale) {
  float unit = scale ? number / scale : 0.f;
  switch (code) {
  case Code::int4:
    return uint8_t(std::clamp(std::nearbyint(unit) + 8, 0.f, 15.f));
  case Code::int8:
    return uint8_t(std::clamp(std::nearbyint(unit) + 128, 0.f, 255.f));
  case Code::e2m1:
    return e2m1Of(unit);
  case Code::e4m3:
    return e4m3Of(unit);
  }
  llvm_unreachable("no such code");
}

/// Returns the number of an e4m3 or e2m1 code.
static float smallFloat(uint8_t bits, int exponentBits, int mantissaBits) {
  int bias = (1 << (exponentBits - 1)) - 1;
  int mantissa = bits & ((1 << mantissaBits) - 1);
  int exponent = bits >> mantissaBits & ((1 << exponentBits) - 1);
  float size = std::ldexp(float(mantissa + (exponent ? 1 << mantissaBits : 0)),
                          std::max(exponent, 1) - bias - mantissaBits);
  return bits >> (exponentBits + mantissaBits) & 1 ? -size : size;
}

float frit::numberOf(Code code, uint8_t bits, float scale) {
  switch (code) {
  case Code::int4:
    return float(bits - 8) * scale;
  case Code::int8:
    return float(bits - 128) * scale;
  case Code::e2m1:
    return smallFloat(bits, 2, 1) * scale;
  case Code::e4m3:
    return smallFloat(bits, 4, 3) * scale;
  }
  llvm_unreachable("no such code");
}

void frit::setCode(Code code, uint8_t *row, int64_t i, uint8_t bits) {
  if (bitsOf(code) == 8)
    row[i] = bits;
  else if (i % 2 == 0)
    row[i / 2] = bits;
  else
    row[i / 2] |= bits << 4;
}

uint8_t frit::getCode(Code code, const uint8_t *row, int64_t i) {
  if (bitsOf(code) == 8)
    return row[i];
  return i % 2 ? row[i / 2] >> 4 : row[i / 2] & 15;
}

float frit::scaleNumber(Code code, uint16_t bits) {
  return code == Code::e2m1 ? std::bit_cast<float>(uint32_t(bits) << 16)
                            : halfToFloat(bits);
}

bool frit::roundNearest(ArrayRef<float> numbers, WeightFormat format,
                        uint8_t *codes, uint16_t *scales) {
  int64_t columns = int64_t(numbers.size());
  int64_t block = format.block ? format.block : columns;
  bool isFinite =
      llvm::all_of(numbers, [](float x) { return std::isfinite(x); });
  for (int64_t first = 0; first < columns; first += block) {
    BlockScale scale = scaleOf(format.code, numbers.slice(first, block));
    isFinite &= std::isfinite(scale.scale);
    *scales++ = scale.bits;
    for (int64_t i = first; i < first + block; ++i)
      setCode(format.code, codes, i,
              codeOf(format.code, numbers[i], scale.scale));
  }
  return isFinite;
}

//===----------------------------------------------------------------------===//
// Matrices
//===----------------------------------------------------------------------===//

static ArrayRef<char> bytesOf(ElementsAttr value) {
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    return blob ? blob->getData() : ArrayRef<char>();
  }
  auto dense = dyn_cast<DenseElementsAttr>(value);
  return dense && !dense.isSplat() ? dense.getRawData() : ArrayRef<char>();
}

static ElementsAttr resource(RankedTensorType type, AsmResourceBlob blob) {
  return DenseResourceElementsAttr::get(type, "codes", std::move(blob));
}

/// Returns a matrix that can be rounded.
static std::optional<Matrix> readMatrix(ElementsAttr value, bool transposed,
                                        WeightFormat format) {
  auto type = cast<RankedTensorType>(value.getType());
  ArrayRef<char> data = bytesOf(value);
  Type element = type.getElementType();
  if (type.getRank() != 2 || data.empty() ||
      !(element.isF32() || element.isF16() || element.isBF16()))
    return std::nullopt;
  int64_t height = type.getDimSize(0), width = type.getDimSize(1);
  Matrix matrix{data.data(), element, height, width, width, 1};
  if (transposed)
    matrix = {data.data(), element, width, height, 1, width};
  int64_t block = format.block ? format.block : matrix.columns;
  if (matrix.columns == 0 || matrix.columns % block ||
      matrix.columns * bitsOf(format.code) % 8)
    return std::nullopt;
  return matrix;
}

std::optional<WeightCodes> frit::roundRows(ElementsAttr value, bool transposed,
                                           WeightFormat format,
                                           RoundRow round) {
  auto matrix = readMatrix(value, transposed, format);
  if (!matrix)
    return std::nullopt;
  int64_t blocks = format.block ? matrix->columns / format.block : 1;
  int64_t rowBytes = matrix->columns * bitsOf(format.code) / 8;
  auto codes = HeapAsmResourceBlob::allocate(size_t(matrix->rows * rowBytes),
                                             16, /*dataIsMutable=*/true);
  auto scales = HeapAsmResourceBlob::allocate(size_t(matrix->rows * blocks * 2),
                                              16, /*dataIsMutable=*/true);
  auto *code = reinterpret_cast<uint8_t *>(codes.getMutableData().data());
  auto *scale = reinterpret_cast<uint16_t *>(scales.getMutableData().data());
  std::atomic<bool> isFinite = true;
  llvm::parallelFor(0, size_t(matrix->rows), [&](size_t row) {
    SmallVector<float, 0> numbers = matrix->row(int64_t(row));
    if (!round(numbers, code + row * rowBytes, scale + row * blocks))
      isFinite = false;
  });
  if (!isFinite)
    return std::nullopt;
  MLIRContext *context = value.getContext();
  Type u8 = IntegerType::get(context, 8, IntegerType::Unsigned);
  Type factor = format.code == Code::e2m1 ? Type(BFloat16Type::get(context))
                                          : Type(Float16Type::get(context));
  return WeightCodes{
      resource(RankedTensorType::get({matrix->rows, rowBytes}, u8),
               std::move(codes)),
      resource(RankedTensorType::get({matrix->rows, blocks}, factor),
               std::move(scales))};
}

std::optional<WeightCodes>
frit::roundWeights(ElementsAttr value, bool transposed, WeightFormat format) {
  return roundRows(
      value, transposed, format,
      [&](ArrayRef<float> numbers, uint8_t *codes, uint16_t *scales) {
        return roundNearest(numbers, format, codes, scales);
      });
}

/// Returns the numbers of a row's codes.
static SmallVector<float, 0> numbersOf(WeightFormat format, int64_t columns,
                                       const uint8_t *codes,
                                       const uint16_t *scales) {
  int64_t block = format.block ? format.block : columns;
  SmallVector<float, 0> numbers;
  for (int64_t i = 0; i < columns; ++i)
    numbers.push_back(numberOf(format.code, getCode(format.code, codes, i),
                               scaleNumber(format.code, scales[i / block])));
  return numbers;
}

void frit::tryRows(ElementsAttr value, bool transposed, WeightFormat format,
                   int64_t most, RoundRow round,
                   function_ref<void(ArrayRef<float>, ArrayRef<float>)> visit) {
  auto matrix = readMatrix(value, transposed, format);
  if (!matrix)
    return;
  int64_t columns = matrix->columns;
  std::vector<uint8_t> codes(size_t(columns * bitsOf(format.code) / 8));
  std::vector<uint16_t> scales(
      size_t(format.block ? columns / format.block : 1));
  for (int64_t row = 0; row < std::min(most, matrix->rows); ++row) {
    SmallVector<float, 0> numbers = matrix->row(row);
    if (round(numbers, codes.data(), scales.data()))
      visit(numbers, numbersOf(format, columns, codes.data(), scales.data()));
  }
}

void frit::compareRows(
    ElementsAttr value, bool transposed, WeightFormat format,
    const WeightCodes &codes, int64_t most,
    function_ref<void(ArrayRef<float>, ArrayRef<float>)> visit) {
  auto matrix = readMatrix(value, transposed, format);
  if (!matrix)
    return;
  int64_t blocks = format.block ? matrix->columns / format.block : 1;
  int64_t rowBytes = matrix->columns * bitsOf(format.code) / 8;
  auto *code = reinterpret_cast<const uint8_t *>(bytesOf(codes.codes).data());
  auto *scale =
      reinterpret_cast<const uint16_t *>(bytesOf(codes.scales).data());
  for (int64_t row = 0; row < std::min(most, matrix->rows); ++row)
    visit(matrix->row(row),
          numbersOf(format, matrix->columns, code + row * rowBytes,
                    scale + row * blocks));
}
