//===- Codes.cpp - Blocks of few bits as nn.dequantize has them -----------===//

#include "compiler/gguf/Codes.h"
#include "compiler/gguf/BlockParts.h"

using namespace frit;
using namespace frit::gguf;

std::optional<CodeLayout> gguf::codeLayoutOf(GgufType type) {
  using nn::Code;
  switch (type) {
  case GgufType::q4_0:
    return CodeLayout{Code::int4, 32, false};
  case GgufType::q4_1:
  case GgufType::q4_k:
    return CodeLayout{Code::int4, 32, true};
  case GgufType::q5_0:
  case GgufType::q8_0:
  case GgufType::iq4_nl:
    return CodeLayout{Code::int8, 32, false};
  case GgufType::q5_1:
  case GgufType::q5_k:
    return CodeLayout{Code::int8, 32, true};
  case GgufType::q6_k:
    return CodeLayout{Code::int8, 16, false};
  case GgufType::mxfp4:
    return CodeLayout{Code::e2m1, 32, false};
  default:
    return std::nullopt;
  }
}

namespace {
/// Takes what a block's reader finds. A code of 4 bits is the number plus 8,
/// one of 8 bits plus 128; readers give numbers.
struct CodeWriter {
  bool isFour;
  uint8_t *codes;
  float *scales, *offsets;

  void set(int at, int number) {
    if (!isFour) {
      codes[at] = uint8_t(number + 128);
      return;
    }
    setBits(at, number + 8);
  }
  void setBits(int at, int bits) {
    uint8_t &byte = codes[at / 2];
    byte = at % 2 ? (byte & 15) | bits << 4 : (byte & 0xf0) | bits;
  }
};
} // namespace

/// Calls `set(j, four bits)` for 32 weights: weight j has the low bits of byte
/// j, weight j + 16 the high ones.
template <typename Set> static void fourBits(const uint8_t *bytes, Set set) {
  for (int j = 0; j < 16; ++j) {
    set(j, bytes[j] & 15);
    set(j + 16, bytes[j] >> 4);
  }
}

/// Blocks of 32 weights with one scale.
static void readSimple(GgufType type, const uint8_t *block, CodeWriter out) {
  float d = half(block);
  out.scales[0] = d;
  auto centred = [&](int middle) {
    return [&out, middle](int j, uint32_t q) { out.set(j, int(q) - middle); };
  };
  switch (type) {
  case GgufType::q4_0:
    return fourBits(block + 2, centred(8));
  case GgufType::q4_1:
    out.offsets[0] = half(block + 2) + 8 * d;
    return fourBits(block + 4, centred(8));
  case GgufType::q5_0:
    return fiveBits(block + 2, block + 6, centred(16));
  case GgufType::q5_1:
    out.offsets[0] = half(block + 2) + 16 * d;
    return fiveBits(block + 4, block + 8, centred(16));
  case GgufType::q8_0:
    for (int j = 0; j < 32; ++j)
      out.set(j, int8_t(block[2 + j]));
    return;
  case GgufType::iq4_nl:
    return fourBits(block + 2,
                    [&](int j, uint32_t q) { out.set(j, kIq4Levels[q]); });
  default:
    out.scales[0] = std::ldexp(1.f, block[0] - 127);
    return fourBits(block + 1,
                    [&](int j, uint32_t q) { out.setBits(j, int(q)); });
  }
}

/// Q4_K and Q5_K; `high` has the fifth bits, or is null.
static void read4or5K(const uint8_t *block, const uint8_t *high,
                      const uint8_t *low, CodeWriter out) {
  float d = half(block), leastD = half(block + 2);
  int middle = high ? 16 : 8;
  for (int group = 0; group < 8; ++group) {
    ScaleAndMinimum part(block + 4, group);
    out.scales[group] = d * part.scale;
    out.offsets[group] = middle * out.scales[group] - leastD * part.minimum;
    const uint8_t *bytes = low + group / 2 * 32;
    for (int j = 0; j < 32; ++j) {
      int q = bytes[j] >> group % 2 * 4 & 15;
      if (high)
        q |= (high[j] >> group & 1) << 4;
      out.set(group * 32 + j, q - middle);
    }
  }
}

static void read6K(const uint8_t *block, CodeWriter out) {
  float d = half(block + 208);
  for (int at = 0; at < 256; ++at) {
    int part = at / 128, row = at % 128 / 32, j = at % 32;
    int low = block[part * 64 + row % 2 * 32 + j] >> row / 2 * 4 & 15;
    int high = block[128 + part * 32 + j] >> row * 2 & 3;
    out.set(at, (low | high << 4) - 32);
    out.scales[at / 16] = d * int8_t(block[192 + at / 16]);
  }
}

void gguf::readCodes(GgufType type, const uint8_t *blocks, size_t count,
                     uint8_t *codes, float *scales, float *offsets) {
  GgufBlock block = *blockOf(type);
  CodeLayout layout = *codeLayoutOf(type);
  int64_t bytes = block.weights * nn::bitsOf(layout.code) / 8;
  int64_t parts = block.weights / layout.block;
  for (size_t at = 0; at < count; ++at) {
    const uint8_t *from = blocks + at * block.bytes;
    CodeWriter out{nn::bitsOf(layout.code) == 4, codes + at * bytes,
                   scales + at * parts,
                   offsets ? offsets + at * parts : nullptr};
    switch (type) {
    case GgufType::q4_k:
      read4or5K(from, nullptr, from + 16, out);
      break;
    case GgufType::q5_k:
      read4or5K(from, from + 16, from + 48, out);
      break;
    case GgufType::q6_k:
      read6K(from, out);
      break;
    default:
      readSimple(type, from, out);
    }
  }
}
