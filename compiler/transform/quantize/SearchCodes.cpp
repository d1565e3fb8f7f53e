//===- SearchCodes.cpp - Round weights by what products read --------------===//

#include "compiler/transform/quantize/SearchCodes.h"

#include "compiler/transform/quantize/MatrixProducts.h"
#include "compiler/transform/quantize/WeightRounding.h"

#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace frit;

/// The damping up to which it grows if the moments are singular in f32
/// nevertheless.
static constexpr double kMostDamping = 10;
/// The length of a row, as a multiple of the median row's, up to which it
/// counts as it is, and the rows of which the median is taken.
static constexpr float kMostLength = 2;
static constexpr size_t kMostSquares = 4096;

//===----------------------------------------------------------------------===//
// Moments
//===----------------------------------------------------------------------===//

InputMoments::InputMoments(int64_t columns)
    : size(columns), sums(size_t(columns * columns)) {}

/// Scales down the rows that are far longer than the median of those seen: a
/// few tokens that a language model attends to whatever they say, often the
/// first, are hundreds of times longer in some layers. All columns would make
/// up for what these lose, and what others lose would hardly count.
void InputMoments::evenOut(MutableArrayRef<float> rows) {
  std::vector<float> own;
  for (size_t first = 0; first < rows.size(); first += size_t(size)) {
    float square = 0;
    for (float x : rows.slice(first, size_t(size)))
      square += x * x;
    own.push_back(square);
    if (square > 0 && std::isfinite(square) && squares.size() < kMostSquares)
      squares.push_back(square);
  }
  if (squares.empty())
    return;
  auto middle = squares.begin() + std::ptrdiff_t(squares.size() / 2);
  std::nth_element(squares.begin(), middle, squares.end());
  float most = kMostLength * kMostLength * *middle;
  for (auto [i, square] : llvm::enumerate(own))
    // Numbers that are not finite have to be found.
    if (square > most && std::isfinite(square))
      for (float &x : rows.slice(i * size_t(size), size_t(size)))
        x *= std::sqrt(most / square);
}

void InputMoments::add(ArrayRef<float> given) {
  std::vector<float> rows(given.begin(), given.end());
  evenOut(rows);
  MatrixView x{rows.data(), size};
  addUpperProduct(sums.data(), size, x.transposed(), x, size,
                  int64_t(rows.size()) / size, 1);
}

void InputMoments::add(const InputMoments &others) {
  for (auto [sum, other] : llvm::zip_equal(sums, others.sums))
    sum += other;
}

bool InputMoments::isFinite() const {
  // Each number's square is in the diagonal.
  for (int64_t i = 0; i < size; ++i)
    if (!std::isfinite(sums[i * size + i]))
      return false;
  return true;
}

double InputMoments::changeBy(ArrayRef<float> row) const {
  double change = 0;
  for (int64_t i = 0; i < size; ++i) {
    double sum = 0.5 * row[i] * sums[i * size + i];
    for (int64_t j = i + 1; j < size; ++j)
      sum += double(row[j]) * sums[i * size + j];
    change += 2 * row[i] * sum;
  }
  return change;
}

std::vector<float> InputMoments::factorInverse(double damping) const {
  double mean = 0;
  for (int64_t i = 0; i < size; ++i)
    mean += double(sums[i * size + i]) / double(size);
  for (; damping <= kMostDamping; damping *= 10) {
    std::vector<float> damped = sums;
    for (int64_t i = 0; i < size; ++i)
      damped[i * size + i] += mean > 0 ? float(damping * mean) : 1.f;
    if (factorUpper(damped, size))
      return invertUpper(damped, size);
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Codes
//===----------------------------------------------------------------------===//

/// Rounds a row. The scale of a block is that of its numbers once all columns
/// before it are compensated.
static bool searchRow(ArrayRef<float> numbers, WeightFormat format,
                      ArrayRef<float> inverse, uint8_t *codes,
                      uint16_t *scales) {
  int64_t columns = int64_t(numbers.size());
  int64_t block = format.block ? format.block : columns;
  bool isFinite = true;
  SmallVector<float, 0> left(numbers);
  BlockScale scale{};
  for (int64_t i = 0; i < columns; ++i) {
    if (i % block == 0) {
      scale = scaleOf(format.code, ArrayRef(left).slice(i, block));
      isFinite &= std::isfinite(scale.scale);
      *scales++ = scale.bits;
    }
    isFinite &= std::isfinite(left[i]);
    uint8_t code = codeOf(format.code, left[i], scale.scale);
    setCode(format.code, codes, i, code);
    const float *row = &inverse[i * columns];
    float error = (left[i] - numberOf(format.code, code, scale.scale)) / row[i];
    for (int64_t j = i + 1; j < columns; ++j)
      left[j] -= error * row[j];
  }
  return isFinite;
}

std::optional<WeightCodes> frit::searchCodes(ElementsAttr matrix,
                                             bool transposed,
                                             WeightFormat format,
                                             ArrayRef<float> inverse) {
  return roundRows(
      matrix, transposed, format,
      [&](ArrayRef<float> numbers, uint8_t *codes, uint16_t *scales) {
        return searchRow(numbers, format, inverse, codes, scales);
      });
}

void frit::tryCodes(
    ElementsAttr matrix, bool transposed, WeightFormat format,
    ArrayRef<float> inverse, int64_t most,
    function_ref<void(ArrayRef<float>, ArrayRef<float>)> visit) {
  tryRows(
      matrix, transposed, format, most,
      [&](ArrayRef<float> numbers, uint8_t *codes, uint16_t *scales) {
        return inverse.empty()
                   ? roundNearest(numbers, format, codes, scales)
                   : searchRow(numbers, format, inverse, codes, scales);
      },
      visit);
}
