//===- Tensors.cpp - Read ONNX tensors ------------------------------------===//

#include "compiler/onnx/reader/Tensors.h"
#include "compiler/support/Npy.h"

#include "dialects/nn/Infer.h"

#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace frit::importer;
using frit::nn::shapeText;
using ::onnx::TensorProto;

Type frit::importer::elementType(int64_t dataType, MLIRContext &context) {
  Builder b(&context);
  auto natural = [&](unsigned width) {
    return IntegerType::get(&context, width, IntegerType::Unsigned);
  };
  switch (dataType) {
  case TensorProto::FLOAT:
    return b.getF32Type();
  case TensorProto::DOUBLE:
    return b.getF64Type();
  case TensorProto::FLOAT16:
    return b.getF16Type();
  case TensorProto::BFLOAT16:
    return b.getBF16Type();
  case TensorProto::FLOAT8E4M3FN:
    return Float8E4M3FNType::get(&context);
  case TensorProto::FLOAT8E5M2:
    return Float8E5M2Type::get(&context);
  case TensorProto::FLOAT8E4M3FNUZ:
    return Float8E4M3FNUZType::get(&context);
  case TensorProto::FLOAT8E5M2FNUZ:
    return Float8E5M2FNUZType::get(&context);
  case TensorProto::FLOAT8E8M0:
    return Float8E8M0FNUType::get(&context);
  case TensorProto::FLOAT4E2M1:
    return Float4E2M1FNType::get(&context);
  case TensorProto::INT4:
    return b.getIntegerType(4);
  case TensorProto::UINT4:
    return natural(4);
  case TensorProto::INT2:
    return b.getIntegerType(2);
  case TensorProto::UINT2:
    return natural(2);
  case TensorProto::BOOL:
    return b.getI1Type();
  case TensorProto::INT8:
    return b.getI8Type();
  case TensorProto::INT16:
    return b.getIntegerType(16);
  case TensorProto::INT32:
    return b.getI32Type();
  case TensorProto::INT64:
    return b.getI64Type();
  case TensorProto::UINT8:
    return natural(8);
  case TensorProto::UINT16:
    return natural(16);
  case TensorProto::UINT32:
    return natural(32);
  case TensorProto::UINT64:
    return natural(64);
  default:
    return {};
  }
}

std::string frit::importer::dataTypeName(int64_t dataType) {
  static constexpr StringLiteral names[] = {
      "UNDEFINED",      "FLOAT",      "UINT8",
      "INT8",           "UINT16",     "INT16",
      "INT32",          "INT64",      "STRING",
      "BOOL",           "FLOAT16",    "DOUBLE",
      "UINT32",         "UINT64",     "COMPLEX64",
      "COMPLEX128",     "BFLOAT16",   "FLOAT8E4M3FN",
      "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ",
      "UINT4",          "INT4",       "FLOAT4E2M1",
      "FLOAT8E8M0",     "UINT2",      "INT2"};
  if (dataType >= 0 && dataType < static_cast<int64_t>(std::size(names)))
    return names[dataType].str();
  return std::to_string(dataType);
}

/// Copies a typed field, narrowing its entries to the element type.
template <typename Stored, typename Field>
static Bytes narrow(const Field &field) {
  auto owned =
      std::make_shared<std::vector<char>>(field.size() * sizeof(Stored));
  for (int i = 0; i < field.size(); ++i) {
    auto value = static_cast<Stored>(field[i]);
    std::memcpy(owned->data() + i * sizeof(Stored), &value, sizeof(Stored));
  }
  return {*owned, owned};
}

/// Returns the data of the typed field for the element type.
static Bytes typedData(const TensorProto &tensor,
                       const std::shared_ptr<const void> &owner) {
  auto whole = [&](const auto &field) {
    using Entry = std::decay_t<decltype(field[0])>;
    auto data = reinterpret_cast<const char *>(field.data());
    return Bytes{ArrayRef(data, field.size() * sizeof(Entry)), owner};
  };
  switch (tensor.data_type()) {
  case TensorProto::FLOAT:
    return whole(tensor.float_data());
  case TensorProto::DOUBLE:
    return whole(tensor.double_data());
  case TensorProto::INT64:
    return whole(tensor.int64_data());
  case TensorProto::UINT64:
    return whole(tensor.uint64_data());
  case TensorProto::UINT32:
    return narrow<uint32_t>(tensor.uint64_data());
  case TensorProto::INT32:
    return whole(tensor.int32_data());
  case TensorProto::INT16:
  case TensorProto::UINT16:
  case TensorProto::FLOAT16:
  case TensorProto::BFLOAT16:
    return narrow<uint16_t>(tensor.int32_data());
  default:
    return narrow<uint8_t>(tensor.int32_data());
  }
}

/// Unpacks elements of 4 or 2 bits, stored from the lowest bits on, to one byte
/// each, sign-extended if signed.
static Bytes unpack(ArrayRef<char> packed, int64_t count, Type element) {
  unsigned bits = element.getIntOrFloatBitWidth(), perByte = 8 / bits;
  bool isSigned = element.isSignlessInteger();
  auto owned = std::make_shared<std::vector<char>>(count);
  for (int64_t i = 0; i < count; ++i) {
    auto byte = static_cast<uint8_t>(packed[i / perByte]);
    unsigned unused = 8 - bits;
    auto high = static_cast<uint8_t>(byte << (unused - i % perByte * bits));
    (*owned)[i] =
        isSigned ? static_cast<int8_t>(high) >> unused : high >> unused;
  }
  return {*owned, owned};
}

/// Returns a text that identifies the source of external data.
static std::string originOf(const TensorProto &tensor) {
  std::string origin = tensor.name();
  for (const auto &entry : tensor.external_data())
    origin += "|" + entry.key() + "=" + entry.value();
  origin += "|" + std::to_string(tensor.data_type());
  for (int64_t size : tensor.dims())
    origin += "x" + std::to_string(size);
  return origin;
}

ElementsAttr TensorReader::read(const TensorProto &tensor, Location loc) {
  bool shared =
      options.weights && tensor.data_location() == TensorProto::EXTERNAL;
  if (!shared)
    return readOwn(tensor, loc);
  ElementsAttr &known = (*options.weights)[originOf(tensor)];
  if (!known)
    known = readOwn(tensor, loc);
  return known;
}

void TensorReader::reportSize(uint64_t bytes, const TensorProto &tensor,
                              Type element, int64_t size, Location loc) {
  ArrayRef<int64_t> shape(tensor.dims().data(), tensor.dims_size());
  emitError(loc) << "has " << bytes << " bytes of data, but "
                 << shapeText(shape) << " of " << element << " takes " << size;
}

ElementsAttr TensorReader::readOwn(const TensorProto &tensor, Location loc) {
  Type element = elementType(tensor.data_type(), context);
  if (!element) {
    emitError(loc) << "element type " << dataTypeName(tensor.data_type())
                   << " is not supported";
    return {};
  }
  ArrayRef<int64_t> shape(tensor.dims().data(), tensor.dims_size());
  std::optional<int64_t> count = countElements(shape);
  if (!count) {
    emitError(loc) << "has no valid shape: " << shapeText(shape);
    return {};
  }
  auto type = RankedTensorType::get(shape, element);
  bool isPacked = element.getIntOrFloatBitWidth() < 8 && !element.isInteger(1);
  int64_t size =
      isPacked ? llvm::divideCeil(*count * element.getIntOrFloatBitWidth(), 8)
               : *count * elementBytes(element);

  std::optional<Bytes> bytes;
  if (tensor.data_location() == TensorProto::EXTERNAL) {
    bytes = external(tensor, size, element, loc);
    if (!bytes)
      return {};
  } else if (tensor.has_raw_data()) {
    bytes = Bytes{ArrayRef(tensor.raw_data().data(), tensor.raw_data().size()),
                  owner};
  } else {
    bytes = typedData(tensor, owner);
  }
  if (bytes->data.size() != static_cast<size_t>(size)) {
    reportSize(bytes->data.size(), tensor, element, size, loc);
    return {};
  }
  if (isPacked)
    bytes = unpack(bytes->data, *count, element);
  return makeElements(type, std::move(*bytes), tensor.name());
}

ElementsAttr TensorReader::readFile(StringRef file, StringRef name,
                                    Location loc) {
  auto buffer = llvm::MemoryBuffer::getFile(file, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer) {
    emitError(loc) << "cannot read its value from '" << file
                   << "': " << buffer.getError().message();
    return {};
  }
  std::shared_ptr<llvm::MemoryBuffer> data = std::move(*buffer);
  if (data->getBuffer().starts_with(kNpyMagic))
    return readNumpy(std::move(data), name, loc);
  auto tensor = std::make_shared<TensorProto>();
  // An empty file is a message of no type.
  if (data->getBufferSize() == 0 || data->getBufferSize() > INT_MAX ||
      !tensor->ParseFromArray(data->getBufferStart(), data->getBufferSize()) ||
      tensor->data_location() == TensorProto::EXTERNAL) {
    emitError(loc) << "'" << file << "' is neither an .npy file nor a tensor";
    return {};
  }
  ImportOptions none;
  TensorReader reader(tensor, file, none, context);
  return reader.read(*tensor, loc);
}
