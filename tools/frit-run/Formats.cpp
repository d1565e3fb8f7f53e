//===- Formats.cpp - safetensors and ONNX tensors -------------------------===//

#include "Bytes.h"

#include <nlohmann/json.hpp>

using namespace frit::run;

//===----------------------------------------------------------------------===//
// safetensors: a length, a JSON object from names to types and places, the data
//===----------------------------------------------------------------------===//

static bool dtypeOf(const std::string &name, frit_dtype &dtype) {
  static const std::pair<const char *, frit_dtype> types[] = {
      {"F32", FRIT_F32},   {"F64", FRIT_F64},        {"F16", FRIT_F16},
      {"BF16", FRIT_BF16}, {"I8", FRIT_I8},          {"I16", FRIT_I16},
      {"I32", FRIT_I32},   {"I64", FRIT_I64},        {"U8", FRIT_U8},
      {"U16", FRIT_U16},   {"U32", FRIT_U32},        {"U64", FRIT_U64},
      {"BOOL", FRIT_BOOL}, {"F8_E4M3", FRIT_F8E4M3}, {"F8_E5M2", FRIT_F8E5M2}};
  for (const auto &[known, value] : types)
    if (name == known) {
      dtype = value;
      return true;
    }
  return false;
}

bool frit::run::readSafetensors(Bytes bytes, std::vector<Tensor> &tensors,
                                std::string &error) {
  error = "it is no whole .safetensors file";
  Reader reader(bytes);
  std::string_view text = asText(reader.take(reader.number<uint64_t>()));
  if (reader.failed)
    return false;
  Bytes data = bytes.subspan(8 + text.size());
  auto header = nlohmann::json::parse(text.begin(), text.end(), nullptr,
                                      /*allow_exceptions=*/false);
  if (!header.is_object())
    return false;
  for (const auto &[name, entry] : header.items()) {
    if (name == "__metadata__")
      continue;
    error = "tensor '" + name + "' is described wrongly";
    auto type = entry.find("dtype"), shape = entry.find("shape"),
         place = entry.find("data_offsets");
    if (!entry.is_object() || type == entry.end() || !type->is_string() ||
        shape == entry.end() || !shape->is_array() || place == entry.end() ||
        !place->is_array() || place->size() != 2 ||
        !(*place)[0].is_number_unsigned() || !(*place)[1].is_number_unsigned())
      return false;
    Tensor tensor;
    tensor.name = name;
    if (!dtypeOf(type->get<std::string>(), tensor.dtype))
      return false;
    uint64_t size = frit_dtype_size(tensor.dtype);
    for (const auto &dim : *shape) {
      if (!dim.is_number_unsigned() || dim.get<uint64_t>() > INT64_MAX ||
          __builtin_mul_overflow(size, dim.get<uint64_t>(), &size))
        return false;
      tensor.dims.push_back(dim.get<int64_t>());
    }
    uint64_t begin = (*place)[0].get<uint64_t>();
    uint64_t end = (*place)[1].get<uint64_t>();
    if (begin > end || end > data.size() || end - begin != size)
      return false;
    tensor.data.assign(data.begin() + ptrdiff_t(begin),
                       data.begin() + ptrdiff_t(end));
    tensors.push_back(std::move(tensor));
  }
  return true;
}

//===----------------------------------------------------------------------===//
// ONNX: a TensorProto message
//===----------------------------------------------------------------------===//

/// TensorProto.DataType to ours, by number; 0 where there is none.
static const int onnxTypes[] = {
    0,        FRIT_F32, FRIT_U8,   FRIT_I8,     FRIT_U16, FRIT_I16,   FRIT_I32,
    FRIT_I64, 0,        FRIT_BOOL, FRIT_F16,    FRIT_F64, FRIT_U32,   FRIT_U64,
    0,        0,        FRIT_BF16, FRIT_F8E4M3, 0,        FRIT_F8E5M2};

namespace {
/// The message's fields, as far as they matter.
struct TensorProto {
  std::vector<int64_t> dims;
  uint64_t type = 0;
  std::string name;
  Bytes raw;
  bool hasRaw = false, external = false;
  std::vector<double> floats;     ///< float_data, double_data
  std::vector<uint64_t> integers; ///< int32_data, int64_data, uint64_data
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

bool frit::run::readOnnxTensor(Bytes bytes, Tensor &tensor,
                               std::string &error) {
  TensorProto proto;
  error = "it is no .npy, .npz, .safetensors or ONNX tensor file";
  if (!parseTensorProto(bytes, proto) || proto.type >= std::size(onnxTypes) ||
      !onnxTypes[proto.type])
    return false;
  tensor.name = proto.name;
  tensor.dtype = frit_dtype(onnxTypes[proto.type]);
  tensor.dims = proto.dims;
  error = "its data does not fill its shape";
  if (proto.external) {
    error = "its data is in another file, which frit-run does not read";
    return false;
  }
  uint64_t count = 1;
  for (int64_t dim : tensor.dims)
    if (dim < 0 || __builtin_mul_overflow(count, uint64_t(dim), &count))
      return false;
  uint64_t size = frit_dtype_size(tensor.dtype);
  if (proto.hasRaw) {
    if (count > proto.raw.size() / size || proto.raw.size() != count * size)
      return false;
    tensor.data.assign(proto.raw.begin(), proto.raw.end());
    return true;
  }
  bool floats = tensor.dtype == FRIT_F32 || tensor.dtype == FRIT_F64;
  if ((floats ? proto.floats.size() : proto.integers.size()) != count)
    return false;
  tensor.data.assign(count * size, 0);
  for (uint64_t i = 0; i < count; ++i) {
    // 16-bit floats are in int32_data as their bits.
    if (floats)
      tensor.set(i, proto.floats[i]);
    else
      memcpy(tensor.data.data() + i * size, &proto.integers[i], size);
  }
  return true;
}
