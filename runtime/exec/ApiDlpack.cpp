//===- ApiDlpack.cpp - The C interface: tensors of other libraries --------===//

#include "runtime/exec/Api.h"
#include "runtime/exec/Dlpack.h"
#include "runtime/exec/Module.h"
#include "runtime/exec/Types.h"

#include <algorithm>

using namespace frit;

namespace {
/// A type in DLPack's encoding: code and bits.
struct TypeCode {
  uint8_t code, bits;
  frit_dtype dtype;
};
} // namespace

static constexpr TypeCode kTypes[] = {
    {0, 8, FRIT_I8},      {0, 16, FRIT_I16},        {0, 32, FRIT_I32},
    {0, 64, FRIT_I64},    {1, 8, FRIT_U8},          {1, 16, FRIT_U16},
    {1, 32, FRIT_U32},    {1, 64, FRIT_U64},        {2, 16, FRIT_F16},
    {2, 32, FRIT_F32},    {2, 64, FRIT_F64},        {4, 16, FRIT_BF16},
    {6, 8, FRIT_BOOL},    {10, 8, FRIT_F8E4M3},     {11, 8, FRIT_F8E4M3FNUZ},
    {12, 8, FRIT_F8E5M2}, {13, 8, FRIT_F8E5M2FNUZ}, {14, 8, FRIT_F8E8M0},
};

static Status findType(const dlpack::DataType &type, frit_dtype &dtype) {
  auto found = std::ranges::find_if(kTypes, [&](const TypeCode &known) {
    return known.code == type.code && known.bits == type.bits;
  });
  if (found == std::end(kTypes) || type.lanes != 1)
    return invalidArgument(
        format("the DLPack tensor has a type that frit lacks: code "
               "%u, %u bits, %u lanes",
               type.code, type.bits, type.lanes));
  dtype = found->dtype;
  return Status();
}

static Status checkStrides(const dlpack::Tensor &tensor) {
  std::span<const int64_t> shape(tensor.shape, size_t(tensor.rank));
  if (!tensor.strides || std::ranges::count(shape, 0))
    return Status();
  int64_t dense = 1;
  bool isDense = true;
  for (size_t dim = shape.size(); dim-- > 0; dense *= shape[dim])
    isDense &= shape[dim] == 1 || tensor.strides[dim] == dense;
  if (isDense)
    return Status();
  std::string sizes, strides;
  for (size_t dim = 0; dim < shape.size(); ++dim) {
    sizes += (dim ? ", " : "") + std::to_string(shape[dim]);
    strides += (dim ? ", " : "") + std::to_string(tensor.strides[dim]);
  }
  return invalidArgument(
      format("the DLPack tensor's elements are not contiguous (shape "
             "%s, strides %s): copy it",
             sizes.c_str(), strides.c_str()));
}

static Status findLocation(const std::string &moduleDevice,
                           const dlpack::Device &device,
                           frit_location &location) {
  location = FRIT_HOST;
  if (device.type == dlpack::kCpu || device.type == dlpack::kCudaHost)
    return Status();
  location = FRIT_DEVICE;
  bool isCuda = device.type == dlpack::kCuda || device.type == dlpack::kManaged;
  std::string name = isCuda ? format("cuda:%d", device.id)
                            : format("a device of DLPack type %d", device.type);
  if (name == moduleDevice)
    return Status();
  return invalidArgument(
      format("the DLPack tensor is on %s, and the module runs on %s",
             name.c_str(), moduleDevice.c_str()));
}

frit_status frit_tensor_from_dlpack(const frit_module *module,
                                    const void *dl_tensor,
                                    frit_tensor *tensor) {
  if (!module || !dl_tensor || !tensor)
    return nullArgument("frit_tensor_from_dlpack");
  auto &given = *static_cast<const dlpack::Tensor *>(dl_tensor);
  frit_tensor made = {};
  if (given.rank < 0 || (given.rank && !given.shape))
    return report(invalidArgument("the DLPack tensor has no shape"));
  Status status = findLocation(module->device, given.device, made.location);
  if (!status.failed())
    status = findType(given.type, made.dtype);
  if (!status.failed())
    status = checkStrides(given);
  if (status.failed())
    return report(std::move(status));
  made.data = given.data ? static_cast<uint8_t *>(given.data) + given.byteOffset
                         : nullptr;
  made.rank = uint32_t(given.rank);
  made.dims = given.shape;
  *tensor = made;
  return FRIT_OK;
}

namespace {
/// A tensor that this library allocated, with everything that it points to.
struct Allocated {
  dlpack::ManagedTensor managed;
  std::vector<int64_t> shape;
  std::shared_ptr<void> memory;
};
} // namespace

static Status allocate(const frit_module &module, frit_dtype dtype,
                       std::span<const int64_t> dims, Allocated &made) {
  if (!module.executor)
    return invalidArgument(
        "the module was opened with device \"none\", which has no "
        "memory");
  auto type = std::ranges::find(kTypes, dtype, &TypeCode::dtype);
  if (type == std::end(kTypes))
    return invalidArgument(
        format("DLPack has no type %s", frit_dtype_name(dtype)));
  uint64_t bytes = type->bits / 8;
  for (int64_t dim : dims)
    if (dim < 0 || __builtin_mul_overflow(bytes, uint64_t(dim), &bytes))
      return invalidArgument(
          format("a tensor cannot be %s",
                 formatType(artifact::DType(dtype), dims).c_str()));
  made.shape.assign(dims.begin(), dims.end());
  dlpack::Tensor &tensor = made.managed.tensor;
  FRIT_TRY(module.executor->allocate(bytes, made.memory, tensor.data));
  tensor.device = {dlpack::kCpu, 0};
  if (module.device != "cpu")
    tensor.device = {dlpack::kCuda, atoi(module.device.c_str() + 5)};
  tensor.rank = int32_t(dims.size());
  tensor.type = {type->code, type->bits, 1};
  tensor.shape = made.shape.data();
  made.managed.context = &made;
  made.managed.deleter = [](dlpack::ManagedTensor *self) {
    delete static_cast<Allocated *>(self->context);
  };
  return Status();
}

frit_status frit_dlpack_allocate(const frit_module *module, frit_dtype dtype,
                                 uint32_t rank, const int64_t *dims,
                                 void **managed) {
  if (!module || (rank && !dims) || !managed)
    return nullArgument("frit_dlpack_allocate");
  auto made = std::make_unique<Allocated>();
  Status status = allocate(*module, dtype, {dims, rank}, *made);
  if (!status.failed())
    *managed = &made.release()->managed;
  return report(std::move(status));
}
