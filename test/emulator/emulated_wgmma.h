//===- emulated_wgmma.h - frit/wgmma.cuh under the emulator ---------------===//
//
// Implements the functions of wgmma.cuh, which documents them.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_TEST_EMULATOR_EMULATED_WGMMA_H
#define FRIT_TEST_EMULATOR_EMULATED_WGMMA_H

#include "products.h"

namespace frit {

inline void fenceProducts() { emu::fenceProducts(); }
inline void commitProducts() { emu::commitProducts(); }
template <int Pending> inline void waitProducts() {
  emu::waitProducts(Pending);
}
inline void keepBelow(float &) {}
inline void keepBelow(int &) {}

template <int Registers> inline void incMaxRegisters() {
  static_assert(Registers >= 24 && Registers <= 256 && Registers % 8 == 0);
}
template <int Registers> inline void decMaxRegisters() {
  static_assert(Registers >= 24 && Registers <= 256 && Registers % 8 == 0);
}

template <class T> float floatOf(uint16_t bits) { return load(T{bits}); }
template <> inline float floatOf<f16>(uint16_t bits) {
  static const std::vector<float> all = [] {
    std::vector<float> all;
    for (uint32_t bits = 0; bits < 1 << 16; ++bits)
      all.push_back(load(f16{uint16_t(bits)}));
    return all;
  }();
  return all[bits];
}

template <bool IsSigned> float byteToFloat(uint16_t bits) {
  return IsSigned ? float(int8_t(bits)) : float(uint8_t(bits));
}

enum class Float8;
template <Float8 Format> float float8Of(uint16_t code);

template <int N> struct EmulatedWgmma {
  template <bool SignedA, bool SignedB>
  static void multiplyBytes(int (&d)[N / 2], uint64_t a, uint64_t b,
                            bool accumulate) {
    emu::issueProduct({reinterpret_cast<float *>(d),
                       N,
                       byteToFloat<SignedA>,
                       a,
                       b,
                       {},
                       false,
                       true,
                       true,
                       accumulate,
                       byteToFloat<SignedB>,
                       true});
  }
  template <bool SignedA, bool SignedB>
  static void multiplyBytes(int (&d)[N / 2], const uint32_t (&a)[4], uint64_t b,
                            bool accumulate) {
    emu::issueProduct({reinterpret_cast<float *>(d),
                       N,
                       byteToFloat<SignedA>,
                       0,
                       b,
                       {a[0], a[1], a[2], a[3]},
                       true,
                       true,
                       true,
                       accumulate,
                       byteToFloat<SignedB>,
                       true});
  }
  template <Float8 A, Float8 B>
  static void multiplyFloats(float (&d)[N / 2], uint64_t a, uint64_t b,
                             bool accumulate) {
    emu::issueProduct({d,
                       N,
                       float8Of<A>,
                       a,
                       b,
                       {},
                       false,
                       true,
                       true,
                       accumulate,
                       float8Of<B>,
                       true,
                       true});
  }
  template <class T, bool AlongKA, bool AlongKB>
  static void multiply(float (&d)[N / 2], uint64_t a, uint64_t b,
                       bool accumulate) {
    emu::issueProduct(
        {d, N, floatOf<T>, a, b, {}, false, AlongKA, AlongKB, accumulate});
  }
  template <class T, bool AlongKB>
  static void multiply(float (&d)[N / 2], const uint32_t (&a)[4], uint64_t b,
                       bool accumulate) {
    emu::issueProduct({d,
                       N,
                       floatOf<T>,
                       0,
                       b,
                       {a[0], a[1], a[2], a[3]},
                       true,
                       true,
                       AlongKB,
                       accumulate});
  }
};

/// Of sparse_wgmma.cuh.
template <int N> struct EmulatedSparseWgmma {
  template <class T, int Half>
  static void multiply(float (&d)[N / 2], const uint32_t (&a)[4], uint64_t b,
                       uint32_t places, bool accumulate) {
    emu::Product product = {
        d,    N,    floatOf<T>, 0,         b, {a[0], a[1], a[2], a[3]},
        true, true, true,       accumulate};
    product.isSparse = true;
    product.places = places;
    product.half = Half;
    emu::issueProduct(product);
  }
};

} // namespace frit

#endif // FRIT_TEST_EMULATOR_EMULATED_WGMMA_H
