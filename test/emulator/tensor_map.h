//===- tensor_map.h - Tensor maps of the emulator -------------------------===//
//
// The emulator's CUtensorMap: the plain arguments of cuTensorMapEncodeTiled and
// cuTensorMapEncodeIm2col.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_TEST_EMULATOR_TENSOR_MAP_H
#define FRIT_TEST_EMULATOR_TENSOR_MAP_H

#include <cstdint>

namespace emu {

struct alignas(64) TensorMap {
  static constexpr int kMaxRank = 5;

  char *address = nullptr;
  uint64_t dims[kMaxRank] = {};
  uint64_t strides[kMaxRank - 1] = {}; ///< bytes, of all but the first
  uint16_t box[kMaxRank] = {};         ///< tiled
  uint16_t channels = 0, pixels = 0;   ///< im2col
  int16_t lower[kMaxRank - 2] = {}, upper[kMaxRank - 2] = {};
  uint8_t elementStrides[kMaxRank] = {};
  uint8_t rank = 0, elementBytes = 0;
  uint8_t swizzle = 0; ///< bytes: 0, 32, 64 or 128
  bool isIm2col = false;

  /// Returns whether the driver would encode it.
  bool isValid() const {
    if (rank < 1 || rank > kMaxRank || reinterpret_cast<uint64_t>(address) % 16)
      return false;
    for (int i = 0; i < rank; ++i)
      if (dims[i] == 0 || elementStrides[i] < 1 || elementStrides[i] > 8 ||
          (!isIm2col && (box[i] < 1 || box[i] > 256)))
        return false;
    for (int i = 0; i < rank - 1; ++i)
      if (strides[i] % 16)
        return false;
    for (int i = 0; i < rank - 2; ++i) {
      const int most = rank == 3 ? 32768 : rank == 4 ? 128 : 16;
      if (isIm2col && (lower[i] < -most || lower[i] >= most ||
                       upper[i] < -most || upper[i] >= most))
        return false;
    }
    if (isIm2col && (rank < 3 || channels > 256 || pixels > 1024))
      return false;
    const int line = (isIm2col ? channels : box[0]) * elementBytes;
    return line > 0 && line % 16 == 0 && (swizzle == 0 || line <= swizzle);
  }
};
static_assert(sizeof(TensorMap) == 128, "that of CUtensorMap");

} // namespace emu

#endif // FRIT_TEST_EMULATOR_TENSOR_MAP_H
