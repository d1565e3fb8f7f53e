//===- integer_gemm.cu - Checks integer_gemm.cuh --------------------------===//

#include "integer_gemm.h"

// ResNet-50's and BERT's, also for NVRTC.
using Square = Tile<128, 128, 64, 64, 64, 4>;
using Narrow = Tile<128, 64, 32, 64, 64, 4>;
using Few = Tile<16, 32, 16, 32, 128, 4, 4>;
using Body = Conv<Square, false, true, 32, 14, 14, 256, 256, 3, 3, 1, 1>;
using Stem = Conv<Narrow, true, true, 32, 224, 224, 4, 64, 7, 7, 2, 3>;
using Gathered = Conv<Narrow, true, true, 32, 224, 224, 3, 64, 7, 7, 2, 3>;
using Bert = Product<Square, false, true, 4096, 4096, 1024>;
using Query = Product<Few, true, false, 16, 1024, 1024>;

#define FRIT_SUMS(P)                                                           \
  template __global__ void sums<P>(const uint8_t *, const uint8_t *,           \
                                   const uint8_t *, const uint8_t *,           \
                                   int32_t *)
FRIT_SUMS(Body);
FRIT_SUMS(Stem);
FRIT_SUMS(Gathered);
FRIT_SUMS(Bert);
FRIT_SUMS(Query);
using WideBody =
    Conv<Wide<128, 128, 3>, false, true, 32, 14, 14, 256, 256, 3, 3, 1, 1>;
using WideBert = Product<Wide<128, 256, 4>, true, true, 4096, 4096, 1024>;
FRIT_SUMS(WideBody);
FRIT_SUMS(WideBert);

/// Rounds numbers to signed bytes, and to unsigned ones after adding 7.
__global__ void roundAll(const float *x, int8_t *bytes, uint8_t *shifted) {
  const float from = x[threadIdx.x];
  bytes[threadIdx.x] = frit::roundToByte(from, -128, 127, 0);
  shifted[threadIdx.x] = uint8_t(frit::roundToByte(from, -7, 248, 7));
}

/// Reads bytes of words as numbers, rounds to numbers that are clamped by a
/// byte's range around 7, and computes GELU.
__global__ void countAll(const uint32_t *words, const float *x, float *numbers,
                         float *shifted, float *rounded, float *gelus) {
  uint32_t own[1] = {words[threadIdx.x / 4]};
  const frit::ByteOf byte = frit::byteAt(own, threadIdx.x % 4);
  numbers[threadIdx.x] = frit::signedNumber(byte, 0);
  shifted[threadIdx.x] = frit::unsignedNumber(byte, 117);
  // Past ties, which the division may break.
  rounded[threadIdx.x] =
      frit::roundClamped((x[threadIdx.x] + 0.01f) / 255, -7, 248, 7);
  gelus[threadIdx.x] = frit::geluTo8Bits(x[threadIdx.x]);
}

/// The parts of a sum of two bytes, and how it is rounded.
struct TinySum {
  float scale, added, unitScale, low, high, offset;
};

/// Rounds sums of a byte and a fraction of 255 to bytes, one at a time and four
/// together, and fractions alone.
__global__ void sumAll(const uint32_t *words, const float *units, TinySum sum,
                       uint8_t *ofUnsigned, uint8_t *ofSigned, uint8_t *four,
                       uint8_t *fractions) {
  const int i = threadIdx.x;
  uint32_t own[1] = {words[i / 4]};
  float tiny[4], unit[4];
  for (int j = 0; j < 4; ++j) {
    unit[j] = units[i / 4 * 4 + j];
    tiny[j] = frit::addFraction(
        frit::unsignedTiny(frit::byteAt(own, j), sum.scale, sum.added), unit[j],
        255, sum.unitScale);
  }
  ofUnsigned[i] =
      uint8_t(frit::roundTiny(tiny[i % 4], sum.low, sum.high, sum.offset));
  ofSigned[i] = uint8_t(frit::roundTiny(
      frit::addFraction(
          frit::signedTiny(frit::byteAt(own, i % 4), sum.scale, sum.added),
          unit[i % 4], 255, sum.unitScale),
      sum.low, sum.high, sum.offset));
  four[i] = uint8_t(
      frit::roundFourCodes(tiny, sum.low, sum.high, sum.offset, frit::kTiny) >>
      i % 4 * 8);
  fractions[i] = uint8_t(frit::roundFourFractions(unit, 255) >> i % 4 * 8);
}

#ifndef __CUDACC_RTC__

/// Checks sums of two numbers of bytes for all bytes, against f64. What is less
/// than 0.001 from a tie may become either neighbour.
static void checkByteSums(const TinySum &sum) {
  const size_t count = 256;
  Buffer<uint32_t> words(count / 4);
  Buffer<float> units(count);
  Buffer<uint8_t> ofUnsigned(count), ofSigned(count), four(count),
      fractions(count);
  for (size_t i = 0; i < count; ++i) {
    words.host()[i / 4] = (i % 4 ? words.host()[i / 4] : 0) | uint32_t(i)
                                                                  << i % 4 * 8;
    units.host()[i] = float(i * 37 % 311) / 255.f - 0.1f;
  }
  units.host()[5] = NAN;
  words.upload();
  units.upload();
  launch(sumAll, 1, unsigned(count), (const uint32_t *)words.get(),
         (const float *)units.get(), sum, ofUnsigned.get(), ofSigned.get(),
         four.get(), fractions.get());
  for (Buffer<uint8_t> *bytes : {&ofUnsigned, &ofSigned, &four, &fractions})
    bytes->download();
  bool isRight = true;
  for (size_t i = 0; i < count; ++i) {
    const float unit = units.host()[i];
    const double fraction =
        unit == unit ? std::nearbyint(std::clamp(double(unit), 0.0, 1.0) * 255)
                     : 0;
    auto matches = [&](uint8_t byte, double x) {
      for (double number : {x - 0.001, x + 0.001})
        if (byte == uint8_t(int(std::clamp(std::nearbyint(number),
                                           double(sum.low), double(sum.high)) +
                                sum.offset)))
          return true;
      return false;
    };
    const double rest = fraction * sum.unitScale + sum.added;
    isRight &= matches(ofUnsigned.host()[i], double(i) * sum.scale + rest);
    isRight &= matches(four.host()[i], double(i) * sum.scale + rest);
    isRight &= matches(ofSigned.host()[i],
                       (double(int8_t(i)) + 128) * sum.scale + rest);
    isRight &= fractions.host()[i] == fraction;
  }
  require(isRight, "sums of bytes are rounded otherwise");
}

/// Checks byte_numbers.cuh for all bytes, and numbers with ties, bounds and
/// NaN among them.
static void checkNumbers() {
  const size_t count = 256;
  Buffer<uint32_t> words(count / 4);
  Buffer<float> x(count), numbers(count), shifted(count), rounded(count),
      gelus(count);
  std::vector<double> wantNumbers, wantShifted, wantRounded, wantGelus;
  for (size_t i = 0; i < count; ++i) {
    words.host()[i / 4] = (i % 4 ? words.host()[i / 4] : 0) | uint32_t(i)
                                                                  << i % 4 * 8;
    const float number = (int(i) - 128) / 16.f;
    x.host()[i] = number;
    wantNumbers.push_back(int8_t(i));
    wantShifted.push_back(int(i) - 117);
    wantRounded.push_back(
        std::clamp(std::nearbyint(number + 0.01), -7.0, 248.0));
    wantGelus.push_back(number * 0.5 * std::erfc(-number / std::sqrt(2.0)));
  }
  x.host()[0] = NAN;
  wantRounded[0] = -7;
  x.host()[1] = 1e30f;
  wantRounded[1] = 248;
  wantGelus[1] = 1e30f;
  words.upload();
  x.upload();
  launch(countAll, 1, unsigned(count), (const uint32_t *)words.get(),
         (const float *)x.get(), numbers.get(), shifted.get(), rounded.get(),
         gelus.get());
  expect("signed bytes as numbers", numbers, wantNumbers, 0);
  expect("unsigned bytes minus 117", shifted, wantShifted, 0);
  expect("rounding to numbers of bytes", rounded, wantRounded, 0);
  double worst = 0;
  gelus.download();
  for (size_t i = 2; i < count; ++i)
    worst = std::max(worst, std::abs(gelus.host()[i] - wantGelus[i]));
  require(worst < 1.2e-3, "GELU for 8 bits is less precise than it says");
}

/// Compares roundings with those of numbers in f64: ties, bounds, and what is
/// far outside of them.
static void checkRounding() {
  std::vector<float> numbers = {0.0f,    -0.0f,  INFINITY,   -INFINITY, NAN,
                                1e30f,   -1e30f, 4194304,    -4194305,  8388609,
                                -2.5e7f, 1e-30f, 0.49999997f};
  for (int i = -520; i <= 520; ++i)
    numbers.push_back(float(i) / 2);
  std::vector<double> bytes, shifted;
  for (float number : numbers) {
    double whole = std::nearbyint(double(number));
    bool isNan = number != number;
    bytes.push_back(isNan ? 0 : std::clamp(whole, -128.0, 127.0));
    shifted.push_back(isNan ? 0 : std::clamp(whole + 7, 0.0, 255.0));
  }
  const size_t count = 512;
  for (size_t first = 0; first < numbers.size(); first += count) {
    const size_t size = std::min(count, numbers.size() - first);
    Buffer<float> x(size);
    Buffer<int8_t> y(size);
    Buffer<uint8_t> z(size);
    std::copy_n(numbers.begin() + first, size, x.host());
    x.upload();
    launch(roundAll, 1, unsigned(size), (const float *)x.get(), y.get(),
           z.get());
    expect("rounding to bytes", y, {&bytes[first], &bytes[first] + size}, 0);
    expect("rounding to bytes plus 7", z,
           {&shifted[first], &shifted[first] + size}, 0);
  }
}

template <class Sizes> struct Centered : Sizes {
  static constexpr bool centered = true;
};

template <class P> static auto launcher() {
  return [](auto... arguments) {
    launchShared(sums<P>, blocksOf<P>(), frit::IntegerPlan<P>::kThreads,
                 sharedBytes<P>(), arguments...);
  };
}
template <class P> static void check(int zeroX, int zeroW) {
  checkSums<P>(zeroX, zeroW, launcher<P>());
}

static void checks() {
  checkRounding();
  checkNumbers();
  checkByteSums({1.8291888f, -273.37744f, 0.46376833f, 0, 255, 0});
  checkByteSums({0.25f, -40.5f, 0.5f, -128, 127, 0});
  checkByteSums({0.7f, -64.f, 1.3f, -117, 138, 117});
  checkByteSums({1e-6f, 3, 1000, -10, 80, 11});
  using Small = Tile<64, 64, 32, 32, 64, 3>;
  using Thin = Tile<32, 16, 16, 16, 64, 2>;
  using Shared = Tile<16, 32, 16, 32, 128, 3, 4>;
  // Every pair of signs; tails of rows, columns and depth; zero points.
  check<Product<Small, false, true, 75, 72, 144>>(117, 0);
  check<Product<Small, true, true, 70, 40, 80>>(-128, -3);
  check<Product<Small, true, false, 33, 24, 200>>(0, 200);
  check<Product<Small, false, false, 64, 64, 64>>(255, 255);
  // Copies of 8 and 4 bytes, and bytes.
  check<Product<Thin, false, true, 37, 20, 72, 4>>(9, 0);
  check<Product<Thin, true, true, 5, 14, 52, 2>>(0, 0);
  check<Product<Thin, true, false, 35, 7, 131, 1>>(-7, 3);
  // Groups of warps that share the depth, more stages than steps.
  check<Product<Shared, false, true, 3, 96, 700>>(128, 0);
  check<Product<Shared, true, true, 17, 40, 96>>(5, 7);
  // Zero points that are known to be 0, and a stage for each step.
  check<Product<Centered<Tile<16, 16, 16, 16, 128, 9, 2>>, false, true, 3, 28,
                1024, 4>>(0, 0);
  // Windows, with padding that is not 0.
  check<Conv<Small, false, true, 2, 9, 7, 16, 24, 3, 3, 1, 1>>(3, 0);
  check<Conv<Small, true, true, 1, 11, 10, 32, 40, 3, 2, 2, 2>>(-1, 0);
  check<Conv<Small, true, true, 2, 6, 8, 64, 64, 1, 1, 2, 0>>(0, 0);
  check<Conv<Small, true, false, 1, 8, 9, 16, 8, 2, 2, 1, 1, 2>>(-128, 1);
  check<Conv<Thin, false, true, 1, 12, 13, 3, 20, 5, 5, 2, 2, 1, 4>>(114, 0);
  check<Conv<Small, false, true, 1, 12, 9, 4, 16, 7, 7, 2, 3>>(114, 0);
  check<Conv<Small, false, true, 2, 5, 5, 16, 24, 3, 3, 1, 1, 1, 8, false>>(0,
                                                                            0);
  // Warpgroups: signs, zero points, tails, padding.
  check<Product<Wide<64, 32, 3>, false, true, 70, 40, 300>>(117, 0);
  check<Product<Wide<128, 64, 4>, true, true, 140, 72, 272>>(-128, -3);
  check<Product<Wide<64, 64, 3>, true, false, 33, 24, 48>>(0, 200);
  check<Conv<Wide<64, 32, 4>, false, false, 1, 9, 7, 16, 24, 3, 3, 1, 1>>(3, 9);
#ifndef FRIT_FEW_CHECKS
  check<Product<Wide<128, 256, 3>, true, true, 130, 264, 1040>>(0, 0);
  check<Conv<Wide<128, 128, 3>, true, true, 1, 12, 12, 64, 136, 3, 3, 1, 1>>(
      -128, 0);
  // More than a band of rows, and the tiles of large problems.
  check<Product<Thin, false, true, 300, 33, 64, 1>>(1, 0);
  check<Product<Square, false, true, 200, 264, 320>>(2, 0);
  check<Conv<Narrow, true, true, 1, 12, 12, 64, 64, 3, 3, 1, 1>>(-128, 0);
#endif
}

#ifndef FRIT_EMULATE
template <class P> static void benchOne(const char *name) {
  Tensors<P> tensors(0, 0);
  bench(name, 2e-12 * double(tensors.y.size()) * P::r * P::s * P::c, "TOP/s",
        [&] { tensors.run(launcher<P>()); });
}
#endif

static void benches() {
#ifndef FRIT_EMULATE
  benchOne<Body>("integer_gemm 3x3 of 256 channels, 32 of 14x14");
  benchOne<Stem>("integer_gemm 7x7 of 4 channels, 32 of 224x224");
  benchOne<Gathered>("integer_gemm 7x7 of 3 channels, 32 of 224x224");
  benchOne<Bert>("integer_gemm 4096x4096x1024");
  benchOne<
      Product<Tile<256, 128, 64, 64, 64, 4>, false, true, 8192, 8192, 8192>>(
      "integer_gemm 8192^3");
  benchOne<Query>("integer_gemm 16x1024x1024");
  benchOne<WideBody>("integer_gemm 3x3 of 256 channels, WGMMA");
  benchOne<WideBert>("integer_gemm 4096x4096x1024, WGMMA");
  benchOne<Product<Wide<128, 256, 4>, false, true, 8192, 8192, 8192>>(
      "integer_gemm 8192^3, WGMMA");
#endif
}

int main(int argc, char **argv) { return run(argc, argv, checks, benches); }
#endif
