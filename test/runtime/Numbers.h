//===- Numbers.h - Typed data and reference results for tests -------------===//

#ifndef FRIT_TEST_RUNTIME_NUMBERS_H
#define FRIT_TEST_RUNTIME_NUMBERS_H

#include "PlanWriter.h"

#include <cmath>

namespace frit::test {

/// Convert `values` to bytes of `type`, rounded, and back.
inline std::vector<uint8_t> pack(const std::vector<double> &values,
                                 DType type) {
  std::vector<uint8_t> bytes(values.size() * elementBytes(type));
  for (size_t i = 0; i < values.size(); ++i) {
    auto store = [&](auto value) {
      memcpy(bytes.data() + i * sizeof value, &value, sizeof value);
    };
    float single = float(values[i]);
    uint32_t bits;
    memcpy(&bits, &single, 4);
    switch (type) {
    case DType::f64:
      store(values[i]);
      break;
    case DType::f16:
      store(_Float16(values[i]));
      break;
    case DType::bf16:
      store(uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16));
      break;
    case DType::i8:
      store(int8_t(values[i]));
      break;
    case DType::i32:
      store(int32_t(values[i]));
      break;
    default:
      store(single);
    }
  }
  return bytes;
}

inline std::vector<double> unpack(const std::vector<uint8_t> &bytes,
                                  DType type) {
  std::vector<double> values(bytes.size() / elementBytes(type));
  for (size_t i = 0; i < values.size(); ++i) {
    auto load = [&](auto value) {
      memcpy(&value, bytes.data() + i * sizeof value, sizeof value);
      return value;
    };
    switch (type) {
    case DType::f64:
      values[i] = load(double());
      break;
    case DType::f16:
      values[i] = double(load(_Float16()));
      break;
    case DType::bf16: {
      uint32_t bits = uint32_t(load(uint16_t())) << 16;
      float single;
      memcpy(&single, &bits, 4);
      values[i] = single;
      break;
    }
    case DType::i8:
      values[i] = load(int8_t());
      break;
    case DType::i32:
      values[i] = load(int32_t());
      break;
    default:
      values[i] = load(float());
    }
  }
  return values;
}

/// Returns small numbers; neighbours differ.
inline std::vector<double> numbers(size_t count, unsigned seed, bool whole) {
  std::vector<double> values(count);
  uint32_t state = seed * 2654435761u + 12345;
  for (double &value : values) {
    state = state * 1664525u + 1013904223u;
    value = double(state >> 16) / 32768.0 - 1;
    if (whole)
      value = std::floor(value * 8);
  }
  return values;
}

/// Returns |got - expected| / |expected|.
inline double relativeError(const std::vector<double> &got,
                            const std::vector<double> &expected) {
  double error = 0, norm = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    double difference = got[i] - expected[i];
    error += std::isfinite(difference) ? difference * difference : INFINITY;
    norm += expected[i] * expected[i];
  }
  return std::sqrt(error / norm);
}

inline double activate(double x, Activation activation) {
  switch (activation) {
  case Activation::relu:
    return std::fmax(x, 0);
  case Activation::geluTanh:
    return 0.5 * x *
           (1 + std::tanh(0.7978845608028654 * (x + 0.044715 * x * x * x)));
  case Activation::gelu:
    return 0.5 * x * (1 + std::erf(x * 0.7071067811865476));
  case Activation::silu:
    return x / (1 + std::exp(-x));
  default:
    return x;
  }
}

} // namespace frit::test

#endif // FRIT_TEST_RUNTIME_NUMBERS_H
