//===- tensor_map.h - Tensor maps of the emulator -------------------------===//
//
// The emulator's CUtensorMap: a plan's description of the map, and the address
// for which it is encoded.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_TEST_EMULATOR_TENSOR_MAP_H
#define FRIT_TEST_EMULATOR_TENSOR_MAP_H

#include "frit/dtype.h"

namespace emu {

struct TensorMap : frit::artifact::TensorMap {
  static constexpr int kMaxRank = frit::artifact::kMaxMapRank;

  char *address = nullptr; ///< of the first element, `offset` included

  bool isIm2col() const { return kind == frit::artifact::MapKind::im2col; }
  int elementBytes() const {
    const frit::artifact::DTypeRow *row = frit::artifact::findDType(type);
    return row ? row->bytes : 0;
  }
  /// Returns the bytes of the innermost line of a copy.
  int lineBytes() const {
    return int(isIm2col() ? channels : box[0]) * elementBytes();
  }

  /// Returns whether the driver would accept it.
  bool isValid() const {
    if (rank < 1 || rank > kMaxRank || reinterpret_cast<uint64_t>(address) % 16)
      return false;
    for (uint32_t i = 0; i < rank; ++i)
      if (dims[i] == 0 || elementStrides[i] < 1 || elementStrides[i] > 8 ||
          (!isIm2col() && (box[i] < 1 || box[i] > 256)))
        return false;
    for (uint32_t i = 0; i + 1 < rank; ++i)
      if (strides[i] % 16)
        return false;
    for (uint32_t i = 0; i + 2 < rank; ++i) {
      const int most = rank == 3 ? 32768 : rank == 4 ? 128 : 16;
      if (isIm2col() && (lower[i] < -most || lower[i] >= most ||
                         upper[i] < -most || upper[i] >= most))
        return false;
    }
    if (isIm2col() && (rank < 3 || channels > 256 || pixels > 1024))
      return false;
    return lineBytes() > 0 && lineBytes() % 16 == 0 &&
           (swizzle == 0 || lineBytes() <= int(swizzle));
  }
};

/// A kernel's parameter in place of a CUtensorMap, with the same size. The
/// caller must keep the map until the kernel has ended.
struct alignas(64) EncodedMap {
  static constexpr uint64_t kMark = 0x70616d20726f7374;

  uint64_t mark = kMark;
  const TensorMap *map = nullptr;
  char unused[112] = {};
};
static_assert(sizeof(EncodedMap) == 128);

} // namespace emu

#endif // FRIT_TEST_EMULATOR_TENSOR_MAP_H
