//===- TensorMaps.cpp - Encode TMA descriptors ----------------------------===//

#include "runtime/cuda/TensorMaps.h"

using namespace frit;
using namespace frit::cuda;
using artifact::DType;
using artifact::MapKind;

/// Returns a CUtensorMapDataType. Copies only move bytes, so a type that the
/// driver lacks is replaced by another of the same size.
static int mapTypeOf(DType type) {
  switch (type) {
  case DType::f32:
    return kMapFloat32;
  case DType::f64:
    return kMapFloat64;
  case DType::f16:
    return kMapFloat16;
  case DType::bf16:
    return kMapBfloat16;
  case DType::i16:
  case DType::u16:
    return kMapUint16;
  case DType::i32:
    return kMapInt32;
  case DType::u32:
    return kMapUint32;
  case DType::i64:
    return kMapInt64;
  case DType::u64:
    return kMapUint64;
  case DType::i8:
  case DType::u8:
  case DType::boolean:
  case DType::f8e4m3:
  case DType::f8e5m2:
  case DType::f8e4m3fnuz:
  case DType::f8e5m2fnuz:
  case DType::f8e8m0:
  case DType::f4e2m1:
  case DType::i4:
  case DType::u4:
  case DType::i2:
  case DType::u2:
  case DType::string:
    break;
  }
  return kMapUint8;
}

static int swizzleOf(uint32_t bytes) {
  return bytes == 32 ? 1 : bytes == 64 ? 2 : bytes == 128 ? 3 : 0;
}

Status cuda::encodeTensorMap(const Driver &driver,
                             const artifact::TensorMap &map,
                             DevicePointer argument, EncodedMap &encoded) {
  void *address = reinterpret_cast<void *>(argument + map.offset);
  const int type = mapTypeOf(map.type), swizzle = swizzleOf(map.swizzle);
  Result result =
      map.kind == MapKind::tiled
          ? driver.tensorMapEncodeTiled(&encoded, type, map.rank, address,
                                        map.dims, map.strides, map.box,
                                        map.elementStrides, kMapNotInterleaved,
                                        swizzle, kMapPromote256, kMapFillZero)
          : driver.tensorMapEncodeIm2col(&encoded, type, map.rank, address,
                                         map.dims, map.strides, map.lower,
                                         map.upper, map.channels, map.pixels,
                                         map.elementStrides, kMapNotInterleaved,
                                         swizzle, kMapPromote256, kMapFillZero);
  return driver.check(result, "encode a tensor map");
}
