//===- Spectral.cpp - Fourier transforms and windows ----------------------===//
//
// A transform of n points is a product with a constant n×n matrix: up to some
// thousand points, tensor cores are faster than an FFT.
//
//===----------------------------------------------------------------------===//

#include "compiler/onnx/reader/Expr.h"
#include "compiler/onnx/reader/Hooks.h"

#include <cmath>

using namespace mlir;
using namespace frit;
using namespace frit::importer;

static constexpr double kPi = 3.14159265358979323846;
/// Maximum points of a transform; larger matrices would exceed most models.
static constexpr int64_t mostPlaces = 4096;

/// Returns a table of cosines (or sines) of 2π·row·column / n, times a factor
/// per row.
static Expr waves(Node &node, Type element, int64_t n, int64_t rows,
                  int64_t columns, bool isSine,
                  llvm::function_ref<double(int64_t)> factor) {
  SmallVector<double> turn, values;
  for (int64_t i = 0; i < n; ++i) {
    double angle = 2 * kPi * static_cast<double>(i) / static_cast<double>(n);
    turn.push_back(isSine ? std::sin(angle) : std::cos(angle));
  }
  values.reserve(rows * columns);
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      values.push_back(turn[i * j % n] * factor(i));
  return table(node, element, {rows, columns}, values);
}

/// Transforms the last dimension of `real` and `imaginary` (may be null) to
/// `bins` points; stacks both parts of the result in a new last dimension.
static Expr transformLast(Expr real, Expr imaginary, int64_t bins,
                          bool inverse) {
  Node &node = *real.node;
  if (!real)
    return real;
  int64_t n = real.shape().back();
  double scale = inverse ? 1 / static_cast<double>(n) : 1;
  auto same = [&](int64_t) { return scale; };
  Expr cosine = waves(node, real.element(), n, n, bins, false, same);
  Expr sine = waves(node, real.element(), n, n, bins, true, same);
  Expr y = real.matmul(cosine), z = real.matmul(sine);
  if (!inverse)
    z = z.number(0) - z;
  if (imaginary) {
    Expr cross = imaginary.matmul(sine);
    y = inverse ? y - cross : y + cross;
    z = z + imaginary.matmul(cosine);
  }
  auto form = y.shape();
  form.push_back(1);
  Value parts[] = {y.reshape(form), z.reshape(form)};
  return {node, node.concat(parts, y.rank())};
}

/// Returns the n real values whose transform has the first half `real`,
/// `imaginary`.
static Expr invertHalf(Expr real, Expr imaginary, int64_t n) {
  Node &node = *real.node;
  if (!real)
    return real;
  int64_t bins = real.shape().back();
  auto factor = [&](int64_t i) {
    bool once = i == 0 || 2 * i == n;
    return (once ? 1.0 : 2.0) / static_cast<double>(n);
  };
  Expr y = real.matmul(waves(node, real.element(), n, bins, n, false, factor));
  Expr z =
      imaginary.matmul(waves(node, real.element(), n, bins, n, true, factor));
  y = y - z;
  auto form = y.shape();
  form.push_back(1);
  return y.reshape(form);
}

/// Cuts or zero-pads a dimension to `size`.
static Expr fit(Expr x, int64_t axis, int64_t size) {
  if (!x)
    return x;
  return x.size(axis) > size ? x.slice(axis, 0, size)
                             : x.pad(axis, 0, size - x.size(axis));
}

static bool checkLength(Node &node, int64_t n) {
  if (n > 0 && n <= mostPlaces)
    return true;
  node.error() << "a transform of " << n << " places is not from 1 to "
               << mostPlaces;
  return false;
}

static Results dft(Node &node) {
  Expr x = input(node, 0);
  bool inverse = node.integer("inverse", 0);
  bool oneSided = node.integer("onesided", 0);
  std::optional<int64_t> axis = node.opset < 20 ? node.integer("axis", 1)
                                : node.has(2)   ? node.integer(2)
                                                : -2;
  std::optional<int64_t> length;
  if (node.has(1))
    length = node.integer(1);
  if (!x || !axis || node.failed)
    return {};
  int64_t rank = x.rank();
  int64_t dim = node.axis(*axis, rank), parts = rank ? x.shape().back() : 0;
  if (node.failed || rank < 2 || dim == rank - 1 || parts < 1 || parts > 2) {
    if (!node.failed)
      node.error() << "needs real or complex numbers in its last dimension";
    return {};
  }
  // Move the dimension last and separate real and imaginary parts.
  SmallVector<int64_t> perm, back(rank);
  for (int64_t d = 0; d + 1 < rank; ++d)
    if (d != dim)
      perm.push_back(d);
  perm.push_back(dim);
  for (auto [i, d] : llvm::enumerate(perm))
    back[d] = i;
  back[rank - 1] = rank - 1;
  auto part = [&](int64_t i) {
    auto shape = x.shape();
    shape.pop_back();
    return x.slice(rank - 1, i, 1).reshape(shape).transpose(perm);
  };
  // f64, because zeros arise as differences of large numbers.
  Type element = x.element();
  x = x.to(node.builder().getF64Type());
  Expr real = part(0), imaginary = {node, {}};
  if (parts == 2)
    imaginary = part(1);
  Expr y = {node, {}};
  if (inverse && oneSided) {
    int64_t n = length.value_or(2 * (x.size(dim) - 1));
    if (!checkLength(node, n) || parts != 2)
      return {};
    int64_t bins = n / 2 + 1;
    y = invertHalf(fit(real, rank - 2, bins), fit(imaginary, rank - 2, bins),
                   n);
  } else {
    int64_t n = length.value_or(x.size(dim));
    if (!checkLength(node, n))
      return {};
    y = transformLast(fit(real, rank - 2, n), fit(imaginary, rank - 2, n),
                      oneSided ? n / 2 + 1 : n, inverse);
  }
  return {y.to(element).transpose(back)};
}

/// Transforms overlapping pieces of a signal, each multiplied by a window.
static Results stft(Node &node) {
  Expr x = input(node, 0);
  auto step = node.integer(1);
  bool oneSided = node.integer("onesided", 1);
  if (!x || !step)
    return {};
  Expr window = {node, node.has(2) ? node.input(2) : Value()};
  int64_t n = window ? product(window.shape()) : 0;
  if (node.has(3))
    n = node.integer(3).value_or(0);
  if (node.failed || x.rank() < 2 || *step < 1 || n > x.size(1) ||
      !checkLength(node, n)) {
    if (!node.failed)
      node.error() << "frames of " << n << " places every " << *step
                   << " do not fit " << nn::shapeText(x.shape());
    return {};
  }
  Type element = x.element();
  x = x.to(node.builder().getF64Type());
  window = window ? window.to(x.element()) : window;
  int64_t frames = (x.size(1) - n) / *step + 1, batch = x.size(0);
  if (frames > mostInTable / n) {
    node.error() << frames << " frames of " << n << " places are too many";
    return {};
  }
  SmallVector<int64_t> places;
  for (int64_t frame = 0; frame < frames; ++frame)
    for (int64_t i = 0; i < n; ++i)
      places.push_back(frame * *step + i);
  Expr indices = table(node, {frames, n}, places);
  auto part = [&](int64_t i) {
    Expr signal =
        x.rank() == 2 ? x : x.slice(2, i, 1).reshape({batch, x.size(1)});
    Expr pieces = signal.gather(indices, 1);
    return window ? pieces * window : pieces;
  };
  Expr imaginary = {node, {}};
  if (x.rank() == 3 && x.size(2) == 2)
    imaginary = part(1);
  return {transformLast(part(0), imaginary, oneSided ? n / 2 + 1 : n, false)
              .to(element)};
}

//===----------------------------------------------------------------------===//
// Windows
//===----------------------------------------------------------------------===//

/// Returns the element type of a table.
static Type tableType(Node &node) {
  int64_t type = node.integer("output_datatype", 1);
  Type element = elementType(type, *node.context());
  if (!element && !node.failed)
    node.error() << "a table of " << dataTypeName(type) << " is not supported";
  return element;
}

/// Builds a₀ - a₁ cos(2πi/n) + a₂ cos(4πi/n).
static Results cosineWindow(Node &node, std::array<double, 3> a) {
  auto size = node.integer(0);
  bool periodic = node.integer("periodic", 1);
  Type element = tableType(node);
  if (!size || !element || *size < 0 || *size > mostInTable) {
    if (!node.failed)
      node.error() << "a window of " << size.value_or(0)
                   << " places is not supported";
    return {};
  }
  double n = static_cast<double>(periodic ? *size : *size - 1);
  SmallVector<double> values;
  for (int64_t i = 0; i < *size; ++i) {
    double angle = 2 * kPi * static_cast<double>(i) / std::max(n, 1.0);
    values.push_back(a[0] - a[1] * std::cos(angle) +
                     a[2] * std::cos(2 * angle));
  }
  return {table(node, element, *size, values)};
}

static Results hann(Node &node) { return cosineWindow(node, {0.5, 0.5, 0}); }
static Results hamming(Node &node) {
  return cosineWindow(node, {25.0 / 46, 21.0 / 46, 0});
}
static Results blackman(Node &node) {
  return cosineWindow(node, {0.42, 0.5, 0.08});
}

/// Builds triangular filters over the bins of a spectrum, on the mel scale.
static Results melWeights(Node &node) {
  auto bins = number(node, 0), length = number(node, 1), rate = number(node, 2),
       low = number(node, 3), high = number(node, 4);
  Type element = tableType(node);
  // Written so that NaN is rejected.
  constexpr double mostHertz = 1e12;
  if (!bins || !length || !rate || !low || !high || !element ||
      !(*bins >= 1 && *length >= 1 && *rate >= 1 && *low >= 0 &&
        *high >= *low && *high <= mostHertz &&
        *bins * *length <= static_cast<double>(mostInTable))) {
    if (!node.failed)
      node.error() << "its matrix is not supported";
    return {};
  }
  auto rows = static_cast<int64_t>(*length / 2) + 1;
  auto columns = static_cast<int64_t>(*bins);
  auto mel = [](double hertz) { return 2595 * std::log10(1 + hertz / 700); };
  double first = mel(*low);
  double step = (mel(*high) - first) / static_cast<double>(columns + 2);
  SmallVector<int64_t> edges;
  for (int64_t i = 0; i < columns + 2; ++i) {
    double at = first + static_cast<double>(i) * step;
    double hertz = 700 * (std::pow(10, at / 2595) - 1);
    // All edges past the last row are equivalent.
    edges.push_back(static_cast<int64_t>(std::min(
        std::floor((*length + 1) * hertz / *rate), static_cast<double>(rows))));
  }
  SmallVector<double> values(rows * columns, 0);
  auto set = [&](int64_t row, int64_t column, double value) {
    if (row >= 0 && row < rows)
      values[row * columns + column] = value;
  };
  for (int64_t i = 0; i < columns; ++i) {
    int64_t left = edges[i], middle = edges[i + 1], right = edges[i + 2];
    if (left == middle)
      set(middle, i, 1);
    for (int64_t j = left; j < middle; ++j)
      set(j, i,
          static_cast<double>(j - left) / static_cast<double>(middle - left));
    if (left != middle)
      set(middle, i, 1);
    for (int64_t j = middle; j < right; ++j)
      set(j, i,
          static_cast<double>(right - j) / static_cast<double>(right - middle));
  }
  return {table(node, element, {rows, columns}, values)};
}

ArrayRef<Hook> frit::importer::spectralHooks() {
  static constexpr Hook hooks[] = {
      {"DFT", 17, 1, 3, dft},
      {"STFT", 17, 2, 4, stft},
      {"HannWindow", 17, 1, 1, hann},
      {"HammingWindow", 17, 1, 1, hamming},
      {"BlackmanWindow", 17, 1, 1, blackman},
      {"MelWeightMatrix", 17, 5, 5, melWeights},
  };
  return hooks;
}
