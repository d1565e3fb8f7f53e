//===- cpu_kernels_quantized.cpp - Quantized convolutions against loops ---===//

#include "cpu_kernels_check.h"
#include "cpu_kernels_tensor.h"

#include <algorithm>
#include <cmath>
#include <random>

using namespace frit::artifact;
using namespace frit::cpu;
using namespace frit::test;

namespace {
std::string describe(const Conv &c, Isa isa) {
  char text[320];
  std::snprintf(
      text, sizeof text,
      "quantized conv %ldx%ldx%ldx%ld k%ld %ldx%ld stride %ld %ld dilation "
      "%ld %ld pads %ld %ld groups %ld types %u %u %u scales %ld isa %u",
      long(c.n), long(c.c), long(c.h), long(c.w), long(c.k), long(c.r),
      long(c.s), long(c.strideH), long(c.strideW), long(c.dilationH),
      long(c.dilationW), long(c.padTop), long(c.padLeft), long(c.groups),
      unsigned(c.type), unsigned(c.typeW), unsigned(c.typeY), long(c.scales),
      unsigned(isa));
  return text;
}

/// Everything that a call reads.
struct Operands {
  Numbers x, w, zeroX, zeroW, offset, scale, bias, zeroY;

  Operands(const Conv &c, int32_t wZero, std::mt19937 &engine)
      : x(c.type, c.n * c.h * c.w * c.c),
        w(c.typeW, c.k * c.r * c.s * c.c / c.groups), zeroX(c.type, 1),
        zeroW(c.typeW, 1), offset(DType::i32, c.k),
        scale(DType::f32, std::max<int64_t>(c.scales, 1)),
        bias(DType::f32, c.k), zeroY(c.hasZeroY ? c.typeY : DType::u8, 1) {
    x.randomise(engine);
    w.randomise(engine);
    // Bytes whose products saturate 16-bit sums.
    for (int64_t i = 0; i < x.count; i += 3)
      x.set(i, c.type == DType::i8 ? -128 : 255);
    for (int64_t i = 0; i < w.count; i += 2)
      w.set(i, c.typeW == DType::i8 ? -128 : 255);
    zeroX.set(0, c.type == DType::i8 ? -7 : 117);
    zeroW.set(0, wZero);
    zeroY.set(0, c.typeY == DType::i8 ? 5 : 131);
    std::uniform_int_distribution<int> whole(-9999, 9999);
    for (int64_t k = 0; k < c.k; ++k)
      offset.set(k, whole(engine));
    // Powers of two, so that the reference rounds as the kernels do.
    for (int64_t k = 0; k < scale.count; ++k)
      scale.set(k, std::ldexp(1., -9 - int(k % 4)));
    for (int64_t k = 0; k < c.k; ++k)
      bias.set(k, (k % 11) - 5);
  }

  std::vector<void *> list(const Conv &c, void *result) {
    std::vector<void *> all = {x.data(), w.data(), zeroX.data(), zeroW.data()};
    for (auto [has, tensor] :
         {std::pair(c.hasOffset != 0, &offset),
          std::pair(c.scales != 0, &scale), std::pair(c.hasBias != 0, &bias),
          std::pair(c.hasZeroY != 0, &zeroY)})
      if (has)
        all.push_back(tensor->data());
    all.push_back(result);
    return all;
  }
};

/// Computes one result as artifact.h defines it.
double expectedAt(const Conv &c, const Operands &o, int64_t n, int64_t p,
                  int64_t q, int64_t k) {
  const int64_t inside = c.c / c.groups;
  int64_t sum = c.hasOffset ? int64_t(o.offset[k]) : 0;
  for (int64_t r = 0; r < c.r; ++r)
    for (int64_t s = 0; s < c.s; ++s) {
      const int64_t h = p * c.strideH + r * c.dilationH - c.padTop;
      const int64_t v = q * c.strideW + s * c.dilationW - c.padLeft;
      if (h < 0 || h >= c.h || v < 0 || v >= c.w)
        continue;
      for (int64_t i = 0; i < inside; ++i) {
        const int64_t channel = k / (c.k / c.groups) * inside + i;
        sum += (int64_t(o.x[((n * c.h + h) * c.w + v) * c.c + channel]) -
                int64_t(o.zeroX[0])) *
               (int64_t(o.w[((k * c.r + r) * c.s + s) * inside + i]) -
                int64_t(o.zeroW[0]));
      }
    }
  if (!c.scales)
    return double(sum);
  double v = double(float(sum)) * o.scale[c.scales > 1 ? k : 0];
  v += c.hasBias ? o.bias[k] : 0;
  if (c.activation == frit::Activation::relu)
    v = std::max(v, 0.);
  if (!c.hasZeroY)
    return double(float(v));
  const double low = c.typeY == DType::i8 ? -128 : 0;
  return std::clamp(std::nearbyint(v) + o.zeroY[0], low, low + 255);
}

void testOne(Conv c, int32_t wZero, const std::vector<Isa> &isas) {
  c.quantized = c.channelsLast = 1;
  c.compute = Compute::i32;
  c.p =
      (c.h + c.padTop + c.padBottom - (c.r - 1) * c.dilationH - 1) / c.strideH +
      1;
  c.q =
      (c.w + c.padLeft + c.padRight - (c.s - 1) * c.dilationW - 1) / c.strideW +
      1;
  std::mt19937 engine(c.c * 31 + c.h * 17 + c.k);
  Operands operands(c, wZero, engine);
  const int64_t count = c.n * c.p * c.q * c.k;
  std::vector<double> expected(count);
  for (int64_t i = 0; i < count; ++i)
    expected[i] = expectedAt(c, operands, i / c.k / c.q / c.p,
                             i / c.k / c.q % c.p, i / c.k % c.q, i % c.k);
  for (Isa isa : isas) {
    // Filters as they are, and packed.
    std::vector<std::byte> packed(
        packedForm(c, operands.zeroW.data(), isa).bytes);
    check(packFilters(c, operands.w.data(), operands.zeroW.data(), isa,
                      packed.data()),
          "packing needs no memory here");
    for (unsigned threads : {1, 2, 5})
      for (const void *filters :
           {(const void *)nullptr, (const void *)packed.data()}) {
        ThreadPool pool(threads, isa);
        Numbers result(c.typeY, count);
        std::vector<void *> arguments = operands.list(c, result.data());
        std::string name =
            describe(c, isa) + (filters ? " packed" : " not packed");
        auto compute = [&](const Conv &problem, void *const *given,
                           ThreadPool &on) {
          return convPacked(problem, given, filters, on);
        };
        check(Scratch().run(compute, c, arguments.data(), pool),
              name + ": declined");
        check(result.guardHolds(), name + ": wrote past its end");
        for (int64_t i = 0; i < count; ++i)
          if (result[i] != expected[i]) {
            check(false, name + ": element " + std::to_string(i) + " is " +
                             std::to_string(result[i]) + ", not " +
                             std::to_string(expected[i]));
            break;
          }
      }
  }
}

Conv matrix(int64_t m, int64_t k, int64_t n) {
  return {.n = m, .c = k, .h = 1, .w = 1, .k = n, .r = 1, .s = 1};
}
} // namespace

void frit::test::testQuantized(const std::vector<Isa> &isas) {
  std::vector<Conv> shapes = {
      matrix(1, 64, 64),
      matrix(1, 67, 131),
      matrix(3, 200, 65),
      matrix(7, 1, 1),
      matrix(8, 129, 33),
      matrix(9, 64, 16),
      matrix(20, 512, 70),
      matrix(25, 67, 33),
      matrix(13, 1401, 35),
      matrix(40, 5, 97),
      matrix(128, 30, 64),
      matrix(4, 3000, 9),
      {.n = 1,
       .c = 3,
       .h = 17,
       .w = 15,
       .k = 20,
       .r = 7,
       .s = 7,
       .strideH = 2,
       .strideW = 2,
       .padTop = 3,
       .padLeft = 3,
       .padBottom = 3,
       .padRight = 3},
      {.n = 2,
       .c = 17,
       .h = 7,
       .w = 7,
       .k = 40,
       .r = 3,
       .s = 3,
       .padTop = 1,
       .padLeft = 1,
       .padBottom = 1,
       .padRight = 1},
      {.n = 1, .c = 8, .h = 9, .w = 12, .k = 16, .r = 3, .s = 2},
      {.n = 1,
       .c = 12,
       .h = 8,
       .w = 9,
       .k = 8,
       .r = 3,
       .s = 3,
       .padTop = 1,
       .padLeft = 1,
       .padBottom = 1,
       .padRight = 1,
       .groups = 4},
      {.n = 2,
       .c = 70,
       .h = 8,
       .w = 9,
       .k = 70,
       .r = 3,
       .s = 3,
       .strideH = 2,
       .strideW = 2,
       .padTop = 1,
       .padLeft = 1,
       .padBottom = 1,
       .padRight = 1,
       .groups = 70},
      {.n = 1, .c = 65, .h = 7, .w = 6, .k = 65, .r = 5, .s = 5, .groups = 65},
      {.n = 1, .c = 6, .h = 7, .w = 6, .k = 12, .r = 3, .s = 3, .groups = 6},
      // Padding is wider than what is read of the image.
      {.n = 1,
       .c = 4,
       .h = 2,
       .w = 2,
       .k = 5,
       .r = 2,
       .s = 2,
       .strideH = 4,
       .strideW = 4,
       .padTop = 5,
       .padLeft = 6,
       .padBottom = 1,
       .padRight = 1},
  };
  std::vector<Conv> uneven = unevenConvs();
  shapes.insert(shapes.end(), uneven.begin(), uneven.end());
  struct Form {
    DType typeX, typeW, typeY;
    int32_t zeroW;
    uint32_t offset;
    bool scaled, perFilter, bias, relu;
  };
  const Form forms[] = {
      {DType::u8, DType::i8, DType::i32, 0, 0, false, false, false, false},
      {DType::i8, DType::i8, DType::i32, 0, 1, false, false, false, false},
      {DType::u8, DType::u8, DType::i32, 128, 1, false, false, false, false},
      {DType::u8, DType::u8, DType::f32, 121, 0, true, false, true, true},
      {DType::i8, DType::i8, DType::f32, 3, 1, true, true, false, false},
      {DType::u8, DType::i8, DType::u8, 0, 1, true, true, true, true},
      {DType::i8, DType::u8, DType::i8, 128, 0, true, false, true, false},
  };
  for (Conv shape : shapes)
    for (const Form &form : forms) {
      shape.type = form.typeX;
      shape.typeW = form.typeW;
      shape.typeY = form.typeY;
      shape.hasOffset = form.offset;
      shape.scales = !form.scaled ? 0 : form.perFilter ? shape.k : 1;
      shape.hasBias = form.bias;
      shape.hasZeroY = form.scaled && form.typeY != DType::f32;
      shape.activation =
          form.relu ? frit::Activation::relu : frit::Activation::none;
      testOne(shape, form.zeroW, isas);
    }
}
