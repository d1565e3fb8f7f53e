//===- cpu_kernels_convs.cpp - The CPU convolutions against loops ---------===//

#include "cpu_kernels_check.h"
#include "cpu_kernels_tensor.h"

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
      "conv %ldx%ldx%ldx%ld k%ld %ldx%ld -> %ldx%ld stride %ld %ld dilation "
      "%ld %ld pads %ld %ld groups %ld last %u type %u isa %u",
      long(c.n), long(c.c), long(c.h), long(c.w), long(c.k), long(c.r),
      long(c.s), long(c.p), long(c.q), long(c.strideH), long(c.strideW),
      long(c.dilationH), long(c.dilationW), long(c.padTop), long(c.padLeft),
      long(c.groups), c.channelsLast, unsigned(c.type), unsigned(isa));
  return text;
}

void testConv(Conv c, std::vector<Isa> isas) {
  c.p =
      (c.h + c.padTop + c.padBottom - (c.r - 1) * c.dilationH - 1) / c.strideH +
      1;
  c.q =
      (c.w + c.padLeft + c.padRight - (c.s - 1) * c.dilationW - 1) / c.strideW +
      1;
  std::mt19937 engine(c.c * 31 + c.h * 17 + c.k);
  const int64_t inside = c.c / c.groups;
  Numbers x(c.type, c.n * c.c * c.h * c.w);
  Numbers w(c.type, c.k * inside * c.r * c.s), bias(c.type, c.k);
  Numbers residual(c.type, c.n * c.k * c.p * c.q);
  for (Numbers *tensor : {&x, &w, &bias, &residual})
    tensor->randomise(engine);
  auto at = [&](int64_t n, int64_t k, int64_t h, int64_t w, int64_t ks,
                int64_t hs, int64_t ws) {
    return c.channelsLast ? ((n * hs + h) * ws + w) * ks + k
                          : ((n * ks + k) * hs + h) * ws + w;
  };

  std::vector<double> expected(residual.count), magnitudes(residual.count);
  for (int64_t n = 0; n < c.n; ++n)
    for (int64_t k = 0; k < c.k; ++k)
      for (int64_t p = 0; p < c.p; ++p)
        for (int64_t q = 0; q < c.q; ++q) {
          double sum = 0, magnitude = 0;
          for (int64_t i = 0; i < inside; ++i)
            for (int64_t r = 0; r < c.r; ++r)
              for (int64_t s = 0; s < c.s; ++s) {
                const int64_t h = p * c.strideH + r * c.dilationH - c.padTop;
                const int64_t v = q * c.strideW + s * c.dilationW - c.padLeft;
                if (h < 0 || h >= c.h || v < 0 || v >= c.w)
                  continue;
                const int64_t channel = k / (c.k / c.groups) * inside + i;
                const double product = x[at(n, channel, h, v, c.c, c.h, c.w)] *
                                       w[at(k, i, r, s, inside, c.r, c.s)];
                sum += product;
                magnitude += std::abs(product);
              }
          const int64_t to = at(n, k, p, q, c.k, c.p, c.q);
          sum += c.hasBias ? bias[k] : 0;
          sum += c.hasResidual ? residual[to] : 0;
          expected[to] = activated(c.activation, sum);
          magnitudes[to] = magnitude + 2;
        }

  for (Isa isa : isas) {
    // Filters as they are, and packed.
    std::vector<std::byte> packed(packedForm(c, nullptr, isa).bytes);
    for (bool isPacked : {false, true}) {
      if (isPacked && packed.empty())
        continue;
      check(!isPacked || packFilters(c, w.data(), nullptr, isa, packed.data()),
            "packing needs no memory here");
      auto compute = [&](const Conv &problem, void *const *given,
                         ThreadPool &pool) {
        return convPacked(problem, given, isPacked ? packed.data() : nullptr,
                          pool);
      };
      std::string name = describe(c, isa) + (isPacked ? " packed" : "");
      Numbers result =
          computeWith({1, 3}, compute, c, name, x, w, bias, residual, isa);
      for (int64_t i = 0; i < residual.count; ++i)
        if (!isClose(result[i], expected[i], c.type, magnitudes[i])) {
          check(false, name + ": element " + std::to_string(i) + " is " +
                           std::to_string(result[i]) + ", not " +
                           std::to_string(expected[i]));
          break;
        }
    }
  }
}

/// Checks that a residual may be the result.
void testInPlace(Conv c, const std::vector<Isa> &isas) {
  c.p = c.h, c.q = c.w;
  c.hasResidual = 1;
  std::mt19937 engine(7);
  Numbers x(c.type, c.n * c.c * c.h * c.w);
  Numbers w(c.type, c.k * (c.c / c.groups) * c.r * c.s);
  Numbers residual(c.type, c.n * c.k * c.p * c.q);
  for (Numbers *tensor : {&x, &w, &residual})
    tensor->randomise(engine);
  for (Isa isa : isas) {
    ThreadPool pool(3, isa);
    Numbers apart(c.type, residual.count), same = residual;
    void *arguments[] = {x.data(), w.data(), residual.data(), apart.data()};
    check(Scratch().run(conv, c, arguments, pool), "not in place: declined");
    arguments[2] = arguments[3] = same.data();
    check(Scratch().run(conv, c, arguments, pool), "in place: declined");
    check(same == apart, describe(c, isa) + " in place: wrong");
  }
}

/// Edges of tiles, of panels, of blocks of filters and of images, with channels
/// last, in each way that a tile is stored.
void testPixels(const std::vector<Isa> &isas) {
  const Conv shapes[] = {
      // 49 pixels are 8 tiles and one; 40 filters end within a vector.
      {.n = 1, .c = 24, .h = 7, .w = 7, .k = 40, .r = 1, .s = 1},
      {.n = 1,
       .c = 16,
       .h = 5,
       .w = 5,
       .k = 72,
       .r = 3,
       .s = 3,
       .padTop = 1,
       .padLeft = 1,
       .padBottom = 1,
       .padRight = 1},
      // Fewer filters than a vector has, and few channels: taps of a row are
      // one piece.
      {.n = 2,
       .c = 3,
       .h = 11,
       .w = 9,
       .k = 5,
       .r = 7,
       .s = 5,
       .strideH = 2,
       .strideW = 2,
       .padTop = 3,
       .padLeft = 2,
       .padBottom = 3,
       .padRight = 2},
      // Blocks within a piece, and of several pieces.
      {.n = 2, .c = 1700, .h = 1, .w = 3, .k = 130, .r = 1, .s = 1},
      {.n = 1,
       .c = 200,
       .h = 4,
       .w = 5,
       .k = 33,
       .r = 3,
       .s = 3,
       .padTop = 1,
       .padLeft = 1},
      {.n = 2, .c = 32, .h = 3, .w = 3, .k = 100, .r = 2, .s = 2, .groups = 2},
      // Whole taps lie in the padding.
      {.n = 1,
       .c = 18,
       .h = 3,
       .w = 2,
       .k = 20,
       .r = 3,
       .s = 3,
       .strideH = 2,
       .dilationH = 2,
       .dilationW = 3,
       .padTop = 4,
       .padLeft = 5,
       .padBottom = 5,
       .padRight = 7},
      // Several parts of pixels.
      {.n = 1, .c = 20, .h = 31, .w = 33, .k = 17, .r = 1, .s = 1},
      // Depthwise: whole vectors, some twice, fewer than one.
      {.n = 2,
       .c = 72,
       .h = 7,
       .w = 7,
       .k = 72,
       .r = 5,
       .s = 5,
       .padTop = 2,
       .padLeft = 2,
       .padBottom = 2,
       .padRight = 2,
       .groups = 72},
      {.n = 1,
       .c = 7,
       .h = 15,
       .w = 6,
       .k = 7,
       .r = 3,
       .s = 3,
       .strideH = 2,
       .strideW = 3,
       .padTop = 4,
       .padRight = 3,
       .groups = 7},
      {.n = 1,
       .c = 96,
       .h = 20,
       .w = 21,
       .k = 96,
       .r = 2,
       .s = 3,
       .groups = 96}};
  for (Conv c : shapes) {
    c.channelsLast = 1;
    for (Activation activation :
         {Activation::none, Activation::relu, Activation::silu})
      for (uint32_t hasResidual : {0, 1}) {
        c.activation = activation;
        c.hasResidual = hasResidual;
        c.hasBias = activation != Activation::none || hasResidual;
        testConv(c, isas);
      }
  }
  testInPlace({.n = 1,
               .c = 24,
               .h = 7,
               .w = 7,
               .k = 72,
               .r = 1,
               .s = 1,
               .channelsLast = 1},
              isas);
  testInPlace({.n = 1,
               .c = 41,
               .h = 5,
               .w = 7,
               .k = 41,
               .r = 3,
               .s = 3,
               .padTop = 1,
               .padLeft = 1,
               .padBottom = 1,
               .padRight = 1,
               .groups = 41,
               .channelsLast = 1},
              isas);
}
} // namespace

void frit::test::testConvs(const std::vector<Isa> &isas) {
  testPixels(isas);
  std::vector<Conv> shapes = {
      {.n = 1,
       .c = 3,
       .h = 31,
       .w = 29,
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
       .k = 64,
       .r = 3,
       .s = 3,
       .padTop = 1,
       .padLeft = 1,
       .padBottom = 1,
       .padRight = 1},
      {.n = 3,
       .c = 12,
       .h = 8,
       .w = 10,
       .k = 18,
       .r = 3,
       .s = 2,
       .padLeft = 1,
       .groups = 3},
      {.n = 2,
       .c = 20,
       .h = 14,
       .w = 37,
       .k = 20,
       .r = 3,
       .s = 3,
       .padTop = 1,
       .padLeft = 1,
       .padBottom = 1,
       .padRight = 1,
       .groups = 20},
      {.n = 1,
       .c = 36,
       .h = 15,
       .w = 14,
       .k = 36,
       .r = 5,
       .s = 3,
       .strideH = 2,
       .strideW = 3,
       .dilationH = 2,
       .padTop = 2,
       .padLeft = 1,
       .groups = 36},
      {.n = 2, .c = 6, .h = 9, .w = 9, .k = 18, .r = 3, .s = 3, .groups = 6},
      {.n = 1,
       .c = 2,
       .h = 60,
       .w = 70,
       .k = 2,
       .r = 3,
       .s = 3,
       .padTop = 1,
       .padLeft = 1,
       .padBottom = 1,
       .padRight = 1,
       .groups = 2},
      {.n = 2,
       .c = 3,
       .h = 7,
       .w = 7,
       .k = 3,
       .r = 5,
       .s = 5,
       .strideW = 2,
       .padTop = 2,
       .padLeft = 2,
       .padBottom = 2,
       .padRight = 2,
       .groups = 3},
      {.n = 1,
       .c = 3,
       .h = 32,
       .w = 32,
       .k = 48,
       .r = 16,
       .s = 16,
       .strideH = 16,
       .strideW = 16},
      {.n = 1,
       .c = 8,
       .h = 1,
       .w = 200,
       .k = 9,
       .r = 1,
       .s = 5,
       .strideW = 4,
       .padLeft = 2,
       .padRight = 2},
      {.n = 1, .c = 700, .h = 3, .w = 5, .k = 10, .r = 1, .s = 1, .padTop = 1},
      {.n = 1, .c = 30, .h = 5, .w = 5, .k = 4, .r = 5, .s = 5}};
  std::vector<Conv> uneven = unevenConvs();
  shapes.insert(shapes.begin() + 2, uneven.begin(), uneven.end());
  int number = 0;
  for (Conv c : shapes)
    for (uint32_t last : {0, 1}) {
      c.channelsLast = last;
      c.hasBias = number % 3 != 0;
      c.hasResidual = number % 2;
      c.activation = number++ % 2 ? Activation::relu : Activation::none;
      testConv(c, isas);
      c.type = number % 4 == 0   ? DType::f16
               : number % 4 == 1 ? DType::bf16
                                 : DType::f64;
      c.hasBias = c.hasResidual = 1;
      testConv(c, isas);
    }
}
