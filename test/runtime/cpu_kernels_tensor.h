//===- cpu_kernels_tensor.h - Typed tensors and tolerances ----------------===//

#ifndef FRIT_TEST_RUNTIME_CPU_KERNELS_TENSOR_H
#define FRIT_TEST_RUNTIME_CPU_KERNELS_TENSOR_H

#include "frit/artifact.h"
#include "runtime/cpu/Cpu.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <numbers>
#include <random>
#include <vector>

namespace frit::test {

/// GCC 12 has no _Float16 for Arm in C++.
#if defined(__aarch64__)
using Half16 = __fp16;
#else
using Half16 = _Float16;
#endif

using artifact::DType;
using frit::Activation;

inline size_t bytesOf(DType type) {
  switch (type) {
  case DType::f64:
    return 8;
  case DType::f16:
  case DType::bf16:
    return 2;
  case DType::i8:
  case DType::u8:
    return 1;
  default:
    return 4;
  }
}

/// Scratch memory for a pool, enlarged as needed.
class Scratch {
public:
  /// Computes a problem with scratch memory of the size that it asks for.
  template <typename Problem, typename Compute>
  bool run(Compute compute, const Problem &problem, void *const *arguments,
           cpu::ThreadPool &pool) {
    auto size = cpu::scratchOf(problem, pool.isa(), pool.size());
    if (!size)
      return compute(problem, arguments, pool);
    const size_t alignment = artifact::kAlignment;
    memory.resize(size->total(pool.size()) + alignment);
    const auto at = reinterpret_cast<uintptr_t>(memory.data());
    pool.setScratch(memory.data() + (alignment - at % alignment), *size);
    return compute(problem, arguments, pool);
  }

private:
  std::vector<std::byte> memory;
};

/// Typed numbers, followed by guard bytes that must not be written.
class Numbers {
public:
  Numbers(DType type, int64_t count) : type(type), count(count) {
    bytes.assign(count * bytesOf(type) + kGuard, std::byte(0xa5));
  }
  void *data() { return bytes.data(); }

  void randomise(std::mt19937 &engine) {
    std::uniform_real_distribution<double> real(-1, 1);
    std::uniform_int_distribution<int> whole(0, 255);
    const bool integer = type == DType::i8 || type == DType::u8;
    for (int64_t i = 0; i < count; ++i)
      set(i, integer ? whole(engine) - (type == DType::i8 ? 128 : 0)
                     : real(engine));
  }

  double operator[](int64_t i) const {
    switch (type) {
    case DType::f64:
      return as<double>(i);
    case DType::f16:
      return double(as<Half16>(i));
    case DType::bf16: {
      const uint32_t bits = uint32_t(as<uint16_t>(i)) << 16;
      return __builtin_bit_cast(float, bits);
    }
    case DType::i8:
      return as<int8_t>(i);
    case DType::u8:
      return as<uint8_t>(i);
    case DType::i32:
      return as<int32_t>(i);
    default:
      return as<float>(i);
    }
  }

  void set(int64_t i, double value) {
    switch (type) {
    case DType::f64:
      return put(i, value);
    case DType::f16:
      return put(i, Half16(float(value)));
    case DType::bf16: // truncated: any number will do
      return put(i, uint16_t(__builtin_bit_cast(uint32_t, float(value)) >> 16));
    case DType::i8:
      return put(i, int8_t(value));
    case DType::u8:
      return put(i, uint8_t(value));
    case DType::i32:
      return put(i, int32_t(value));
    default:
      return put(i, float(value));
    }
  }

  bool guardHolds() const {
    return std::all_of(bytes.end() - kGuard, bytes.end(),
                       [](std::byte b) { return b == std::byte(0xa5); });
  }
  bool operator==(const Numbers &other) const { return bytes == other.bytes; }

  DType type;
  int64_t count;

private:
  static constexpr size_t kGuard = 64;
  template <typename T> T as(int64_t i) const {
    T value;
    std::memcpy(&value, bytes.data() + i * sizeof(T), sizeof(T));
    return value;
  }
  template <typename T> void put(int64_t i, T value) {
    std::memcpy(bytes.data() + i * sizeof(T), &value, sizeof(T));
  }
  std::vector<std::byte> bytes;
};

inline double activated(Activation activation, double x) {
  switch (activation) {
  case Activation::relu:
    return std::max(x, 0.0);
  case Activation::gelu:
    return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
  case Activation::geluTanh:
    return 0.5 * x *
           (1 + std::tanh(std::sqrt(2 / std::numbers::pi) *
                          (x + 0.044715 * x * x * x)));
  case Activation::silu:
    return x / (1 + std::exp(-x));
  case Activation::none:
  case Activation::other:
    break;
  }
  return x;
}

/// Returns whether a result is within rounding error: of the stored type, and
/// of each product in the sum.
inline bool isClose(double got, double expected, DType type, double magnitude) {
  double unit = 0x1p-23;
  if (type == DType::i32)
    return got == expected;
  if (type == DType::f64)
    unit = 0x1p-48;
  const double stored = type == DType::f16    ? 0x1p-11
                        : type == DType::bf16 ? 0x1p-8
                                              : unit;
  return std::abs(got - expected) <=
         stored * std::abs(expected) + 8 * unit * magnitude + 0x1p-24 * stored;
}

} // namespace frit::test

#endif // FRIT_TEST_RUNTIME_CPU_KERNELS_TENSOR_H
