//===- sparse_matrix.h - 2:4 sparse matrices on the host ------------------===//

#ifndef FRIT_TEST_CODEGEN_SKELETONS_SPARSE_MATRIX_H
#define FRIT_TEST_CODEGEN_SKELETONS_SPARSE_MATRIX_H

#include "frit/sparse_tiles.cuh"
#include "harness.h"

namespace harness {

/// Returns the number of a code of 8 bits by its format's definition.
inline double codeNumber(frit::Code code, int bits) {
  if (code == frit::Code::int8)
    return bits - 128;
  int exponent = bits >> 3 & 15, rest = bits & 7;
  double size = exponent ? ldexp(8 + rest, exponent - 10) : ldexp(rest, -9);
  return bits & 128 ? -size : size;
}

/// The matrices of a problem in tiles, and their numbers.
template <class P> struct SparseBuffers {
  using Format = frit::SparseFormat<P>;
  static constexpr int64_t rows = P::n * frit::kMatrices<P>;
  static constexpr int64_t chunks = P::k / Format::depth;
  static constexpr int64_t tiles = rows / 16 * chunks;
  Buffer<uint8_t> values{size_t(tiles * Format::valueBytes)};
  Buffer<uint8_t> places{size_t(tiles * Format::placeBytes)};
  Buffer<typename frit::SparseScale<P>::Type> scales{size_t(rows)};
  Buffer<typename P::A> whole{size_t(rows * P::k)}; ///< unless it has codes
  std::vector<double> numbers = std::vector<double>(rows * P::k);

  SparseBuffers() {
    scales.randomize(6);
    for (size_t i = 0; i < places.size(); ++i)
      places[i] = 0;
    uint32_t state = 12345;
    auto draw = [&](uint32_t below) {
      state = state * 1664525 + 1013904223;
      return (state >> 16) % below;
    };
    for (int64_t i = 0; i < rows * P::k; ++i)
      whole[i] = fromSixtyFourths<typename P::A>(0);
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t group = 0; group < P::k / 4; ++group) {
        int first = int(draw(3)), last = first + 1 + int(draw(3 - first));
        for (int e = 0; e < 2; ++e) {
          int64_t k = group * 4 + (e ? last : first);
          put(row, k, e, draw(256));
        }
      }
    values.upload();
    places.upload();
    whole.upload();
  }

  /// Keeps number `e` of its four neighbours at column `k`, in the order of
  /// Sparse.h.
  void put(int64_t row, int64_t k, int e, int bits) {
    int64_t tile = row / 16 * chunks + k / Format::depth;
    int64_t upper = row / 8 % 2, g = row % 8;
    int64_t step = k / 32 % 4, late = k / 16 % 2, t = k / 4 % 4;
    int64_t lane = g * 4 + t;
    double &number = numbers[row * P::k + k];
    if constexpr (Format::hasCodes) {
      if (P::code == frit::Code::e4m3 && (bits & 127) == 127)
        bits = 0; // no NaN
      int64_t at =
          (step / 2 * 32 + lane) * 16 + step % 2 * 8 + upper * 4 + late * 2 + e;
      values[tile * Format::valueBytes + at] = uint8_t(bits);
      number = codeNumber(P::code, bits) * toDouble(scales[row]);
    } else {
      auto value = fromSixtyFourths<typename P::A>(bits % 128 - 64);
      int64_t word = (step * 32 + lane) * 4 + upper + late * 2;
      int64_t at = tile * Format::valueBytes + word * 4 + e * 2;
      values[at] = uint8_t(value.bits);
      values[at + 1] = uint8_t(value.bits >> 8);
      whole[row * P::k + k] = value;
      number = toDouble(value);
    }
    // Lanes 4 g + 2 (step % 2) + late have words for two steps each.
    int64_t word = (g * 4 + step % 2 * 2 + late) * 2 + step / 2;
    int64_t byte = word * 4 + upper * 2 + t / 2;
    places[tile * Format::placeBytes + byte] |=
        uint8_t(k % 4 << (t % 2 * 4 + e * 2));
  }

  static dim3 grid() {
    int columns = 16 * P::tiles * (P::threads / 32 / P::split);
    return dim3((P::n + columns - 1) / columns);
  }
};

} // namespace harness

#endif // FRIT_TEST_CODEGEN_SKELETONS_SPARSE_MATRIX_H
