//===- Blocks.cpp - The numbers that blocks of few bits stand for ---------===//
//
// A block has a scale, and a minimum or an offset, for 32 weights, or for each
// 16 or 32 of 256. Low bits of two weights share a byte; in which order differs
// from type to type.
//
//===----------------------------------------------------------------------===//

#include "compiler/gguf/Blocks.h"
#include "compiler/gguf/BlockParts.h"

#include <bit>
#include <cmath>
#include <cstring>

using namespace frit;
using namespace frit::gguf;

static float single(const uint8_t *bytes) {
  float number;
  memcpy(&number, bytes, sizeof number);
  return number;
}

/// Half d, 16 bytes; weight j has the low bits of byte j, weight j + 16 the
/// high ones.
static void q4_0(const uint8_t *block, float *y) {
  float d = half(block);
  for (int j = 0; j < 16; ++j) {
    y[j] = d * ((block[2 + j] & 15) - 8);
    y[j + 16] = d * ((block[2 + j] >> 4) - 8);
  }
}

/// Half d and minimum, then as Q4_0.
static void q4_1(const uint8_t *block, float *y) {
  float d = half(block), least = half(block + 2);
  for (int j = 0; j < 16; ++j) {
    y[j] = d * (block[4 + j] & 15) + least;
    y[j + 16] = d * (block[4 + j] >> 4) + least;
  }
}

static void q5_0(const uint8_t *block, float *y) {
  float d = half(block);
  fiveBits(block + 2, block + 6,
           [&](int j, uint32_t q) { y[j] = d * (int(q) - 16); });
}

static void q5_1(const uint8_t *block, float *y) {
  float d = half(block), least = half(block + 2);
  fiveBits(block + 4, block + 8,
           [&](int j, uint32_t q) { y[j] = d * float(q) + least; });
}

static void q8_0(const uint8_t *block, float *y) {
  float d = half(block);
  for (int j = 0; j < 32; ++j)
    y[j] = d * int8_t(block[2 + j]);
}

/// Half d and d of minima, 12 bytes of scales, 32 bytes of fifth bits (`high`,
/// null without), 128 bytes: 32 of them have the low bits of 32 weights and the
/// high bits of the next 32.
static void q4or5_k(const uint8_t *block, const uint8_t *high,
                    const uint8_t *low, float *y) {
  float d = half(block), leastD = half(block + 2);
  for (int group = 0; group < 8; ++group) {
    ScaleAndMinimum part(block + 4, group);
    float scale = d * part.scale, least = leastD * part.minimum;
    const uint8_t *bytes = low + group / 2 * 32;
    for (int j = 0; j < 32; ++j) {
      int q = bytes[j] >> group % 2 * 4 & 15;
      if (high)
        q |= (high[j] >> group & 1) << 4;
      y[group * 32 + j] = scale * q - least;
    }
  }
}

/// 128 bytes of low and 64 of high bits, 16 scales of 16 weights, half d. Each
/// 128 weights have 64 and 32 bytes.
static void q6_k(const uint8_t *block, float *y) {
  float d = half(block + 208);
  for (int at = 0; at < 256; ++at) {
    int part = at / 128, row = at % 128 / 32, j = at % 32;
    int low = block[part * 64 + row % 2 * 32 + j] >> row / 2 * 4 & 15;
    int high = block[128 + part * 32 + j] >> row * 2 & 3;
    int scale = int8_t(block[192 + at / 16]);
    y[at] = d * scale * ((low | high << 4) - 32);
  }
}

static void iq4_nl(const uint8_t *block, float *y) {
  float d = half(block);
  for (int j = 0; j < 16; ++j) {
    y[j] = d * kIq4Levels[block[2 + j] & 15];
    y[j + 16] = d * kIq4Levels[block[2 + j] >> 4];
  }
}

/// An exponent, then E2M1 numbers in the order of Q4_0.
static void mxfp4(const uint8_t *block, float *y) {
  static constexpr float levels[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  auto number = [&](int bits) {
    float size = std::ldexp(levels[bits & 7], block[0] - 127);
    return bits & 8 ? -size : size;
  };
  for (int j = 0; j < 16; ++j) {
    y[j] = number(block[1 + j] & 15);
    y[j + 16] = number(block[1 + j] >> 4);
  }
}

/// Writes the numbers of one block.
static void dequantizeBlock(GgufType type, const uint8_t *block, float *y) {
  switch (type) {
  case GgufType::f32:
    *y = single(block);
    return;
  case GgufType::f16:
    *y = half(block);
    return;
  case GgufType::bf16:
    *y = std::bit_cast<float>(uint32_t(word(block)) << 16);
    return;
  case GgufType::q4_0:
    return q4_0(block, y);
  case GgufType::q4_1:
    return q4_1(block, y);
  case GgufType::q5_0:
    return q5_0(block, y);
  case GgufType::q5_1:
    return q5_1(block, y);
  case GgufType::q8_0:
    return q8_0(block, y);
  case GgufType::q4_k:
    return q4or5_k(block, nullptr, block + 16, y);
  case GgufType::q5_k:
    return q4or5_k(block, block + 16, block + 48, y);
  case GgufType::q6_k:
    return q6_k(block, y);
  case GgufType::iq4_nl:
    return iq4_nl(block, y);
  case GgufType::mxfp4:
    return mxfp4(block, y);
  default:
    return;
  }
}

bool gguf::canDequantize(GgufType type) {
  switch (type) {
  case GgufType::f32:
  case GgufType::f16:
  case GgufType::bf16:
  case GgufType::q4_0:
  case GgufType::q4_1:
  case GgufType::q5_0:
  case GgufType::q5_1:
  case GgufType::q8_0:
  case GgufType::q4_k:
  case GgufType::q5_k:
  case GgufType::q6_k:
  case GgufType::iq4_nl:
  case GgufType::mxfp4:
    return true;
  default:
    return false;
  }
}

void gguf::dequantize(GgufType type, const uint8_t *blocks, size_t count,
                      float *numbers) {
  GgufBlock block = *blockOf(type);
  for (size_t at = 0; at < count; ++at)
    dequantizeBlock(type, blocks + at * block.bytes,
                    numbers + at * block.weights);
}
