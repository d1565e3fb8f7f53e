//===- Dlpack.h - Tensors of other libraries ------------------------------===//
//
// The structs of dlpack.h, https://github.com/dmlc/dlpack, whose layout is a
// binary interface and does not change.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_RUNTIME_EXEC_DLPACK_H
#define FRIT_RUNTIME_EXEC_DLPACK_H

#include <cstdint>

namespace frit::dlpack {

enum DeviceType : int32_t { kCpu = 1, kCuda = 2, kCudaHost = 3, kManaged = 13 };

struct Device {
  int32_t type; ///< a DeviceType, or another library's
  int32_t id;
};

struct DataType {
  uint8_t code; ///< see the table in ApiDlpack.cpp
  uint8_t bits;
  uint16_t lanes;
};

struct Tensor {
  void *data;
  Device device;
  int32_t rank;
  DataType type;
  int64_t *shape;
  int64_t *strides; ///< in elements; null: dense and row major
  uint64_t byteOffset;
};

struct ManagedTensor {
  Tensor tensor;
  void *context; ///< owned by the producer
  void (*deleter)(ManagedTensor *self);
};

} // namespace frit::dlpack

#endif // FRIT_RUNTIME_EXEC_DLPACK_H
