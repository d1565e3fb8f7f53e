//===- Formats.cpp - Read safetensors and ONNX tensors --------------------===//

#include "tools/support/Bytes.h"

#include "frit/dtype.h"
#include "runtime/exec/Safetensors.h"

#include <algorithm>

using namespace frit::tools;

//===----------------------------------------------------------------------===//
// safetensors, as the runtime reads them
//===----------------------------------------------------------------------===//

Fault frit::tools::viewSafetensors(Bytes bytes,
                                   std::vector<TensorView> &tensors) {
  std::map<std::string, StoredTensor> stored;
  Status status = frit::readSafetensors(bytes.data(), bytes.size(), stored);
  if (status.failed())
    return Fault(status.message());
  for (const auto &[name, from] : stored) {
    TensorView view;
    view.name = name;
    view.dtype =
        frit_dtype(artifact::dtypeWith(&artifact::DTypeRow::stored, from.type));
    view.dims = from.dims;
    if (!frit_dtype_size(view.dtype) ||
        byteSize(view.dtype, view.dims) != from.bytes)
      return Fault("tensor '" + name + "' is described wrongly");
    view.data = bytes.subspan(from.offset, from.bytes);
    tensors.push_back(std::move(view));
  }
  return {};
}

Fault frit::tools::readSafetensors(Bytes bytes, std::vector<Tensor> &tensors) {
  std::vector<TensorView> views;
  if (Fault fault = viewSafetensors(bytes, views))
    return fault;
  for (const TensorView &view : views) {
    Tensor tensor{view.name, view.dtype, view.dims, Storage(view.data.size())};
    std::ranges::copy(view.data, tensor.data.begin());
    tensors.push_back(std::move(tensor));
  }
  return {};
}

//===----------------------------------------------------------------------===//
// ONNX: a TensorProto message
//===----------------------------------------------------------------------===//

/// Maps TensorProto.DataType to frit_dtype; 0 for types that are unsupported or
/// packed below a byte.
static const int onnxTypes[] = {0,
                                FRIT_F32,
                                FRIT_U8,
                                FRIT_I8,
                                FRIT_U16,
                                FRIT_I16,
                                FRIT_I32,
                                FRIT_I64,
                                FRIT_STRING,
                                FRIT_BOOL,
                                FRIT_F16,
                                FRIT_F64,
                                FRIT_U32,
                                FRIT_U64,
                                0,
                                0,
                                FRIT_BF16,
                                FRIT_F8E4M3,
                                FRIT_F8E4M3FNUZ,
                                FRIT_F8E5M2,
                                FRIT_F8E5M2FNUZ,
                                0,
                                0,
                                0,
                                FRIT_F8E8M0};

namespace {
/// The fields of the message in use.
struct TensorProto {
  std::vector<int64_t> dims;
  uint64_t type = 0;
  std::string name;
  Bytes raw;
  bool hasRaw = false, external = false;
  std::vector<double> floats;     ///< float_data, double_data
  std::vector<uint64_t> integers; ///< int32_data, int64_data, uint64_data
  std::vector<std::string> texts; ///< string_data
};
} // namespace

static void readRepeated(Reader &reader, uint64_t wire,
                         std::vector<uint64_t> &values) {
  if (wire == 0) {
    values.push_back(reader.varint());
  } else {
    Reader packed(reader.take(reader.varint()));
    while (!packed.atEnd() && !packed.failed)
      values.push_back(packed.varint());
    reader.failed |= packed.failed;
  }
}

template <typename T>
static void readFloats(Reader &reader, uint64_t wire,
                       std::vector<double> &values) {
  auto one = [&](Reader &from) {
    Bytes bytes = from.take(sizeof(T));
    T value = 0;
    if (!from.failed)
      memcpy(&value, bytes.data(), sizeof(T));
    values.push_back(double(value));
  };
  if (wire != 2)
    return one(reader);
  Reader packed(reader.take(reader.varint()));
  while (!packed.atEnd())
    one(packed);
  reader.failed |= packed.failed;
}

static bool parseTensorProto(Bytes bytes, TensorProto &proto) {
  Reader reader(bytes);
  while (!reader.atEnd() && !reader.failed) {
    uint64_t tag = reader.varint(), wire = tag & 7;
    switch (tag >> 3) {
    case 1: {
      std::vector<uint64_t> values;
      readRepeated(reader, wire, values);
      proto.dims.insert(proto.dims.end(), values.begin(), values.end());
      continue;
    }
    case 2:
      proto.type = reader.varint();
      continue;
    case 4:
      readFloats<float>(reader, wire, proto.floats);
      continue;
    case 10:
      readFloats<double>(reader, wire, proto.floats);
      continue;
    case 5:
    case 7:
    case 11:
      readRepeated(reader, wire, proto.integers);
      continue;
    case 6:
      proto.texts.emplace_back(asText(reader.take(reader.varint())));
      continue;
    case 8:
      proto.name = asText(reader.take(reader.varint()));
      continue;
    case 9:
      proto.raw = reader.take(reader.varint());
      proto.hasRaw = true;
      continue;
    case 14:
      proto.external = reader.varint() == 1;
      continue;
    default:
      break;
    }
    if (wire == 0)
      reader.varint();
    else if (wire == 1)
      reader.take(8);
    else if (wire == 2)
      reader.take(reader.varint());
    else if (wire == 5)
      reader.take(4);
    else
      return false;
  }
  return !reader.failed;
}

Fault frit::tools::readOnnxTensor(Bytes bytes, Tensor &tensor) {
  TensorProto proto;
  if (!parseTensorProto(bytes, proto) || proto.type >= std::size(onnxTypes) ||
      !onnxTypes[proto.type])
    return Fault("it is not a .npy, .npz, .safetensors or ONNX tensor file");
  tensor.name = proto.name;
  tensor.dtype = frit_dtype(onnxTypes[proto.type]);
  tensor.dims = proto.dims;
  if (proto.external)
    return Fault("its data is in another file, which is not read here");
  const Fault unfilled("its data does not fill its shape");
  std::optional<uint64_t> size = byteSize(tensor.dtype, tensor.dims);
  if (!size)
    return unfilled;
  if (tensor.isString()) {
    if (proto.texts.size() != *size / sizeof(frit_string))
      return unfilled;
    tensor.texts = std::move(proto.texts);
    tensor.data = Storage(*size);
    return {};
  }
  if (proto.hasRaw) {
    if (proto.raw.size() != *size)
      return unfilled;
    tensor.data = Storage(proto.raw.size());
    std::ranges::copy(proto.raw, tensor.data.begin());
    return {};
  }
  uint64_t element = frit_dtype_size(tensor.dtype), count = *size / element;
  bool floats = tensor.dtype == FRIT_F32 || tensor.dtype == FRIT_F64;
  if ((floats ? proto.floats.size() : proto.integers.size()) != count)
    return unfilled;
  tensor.data = Storage(*size);
  for (uint64_t i = 0; i < count; ++i) {
    // int32_data holds 16-bit floats as their bits.
    if (floats)
      tensor.set(i, proto.floats[i]);
    else
      memcpy(tensor.data.data() + i * element, &proto.integers[i], element);
  }
  return {};
}
