//===- Safetensors.cpp - Weights in .safetensors files --------------------===//

#include "compiler/import/json/Safetensors.h"

#include "compiler/import/Elements.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"

#include <nlohmann/json.hpp>

using namespace mlir;
using namespace frit::importer;
using Json = nlohmann::ordered_json;

static Type typeNamed(StringRef name, MLIRContext *context) {
  Builder b(context);
  auto natural = [&](unsigned width) {
    return IntegerType::get(context, width, IntegerType::Unsigned);
  };
  return llvm::StringSwitch<Type>(name)
      .Case("F32", b.getF32Type())
      .Case("F64", b.getF64Type())
      .Case("F16", b.getF16Type())
      .Case("BF16", b.getBF16Type())
      .Case("F8_E4M3", Float8E4M3FNType::get(context))
      .Case("F8_E5M2", Float8E5M2Type::get(context))
      .Case("BOOL", b.getI1Type())
      .Case("I8", b.getI8Type())
      .Case("I16", b.getIntegerType(16))
      .Case("I32", b.getI32Type())
      .Case("I64", b.getI64Type())
      .Case("U8", natural(8))
      .Case("U16", natural(16))
      .Case("U32", natural(32))
      .Case("U64", natural(64))
      .Default(nullptr);
}

static std::string nameOf(Type type) {
  if (type.isInteger(1))
    return "BOOL";
  if (type.isBF16())
    return "BF16";
  if (isa<Float8E4M3FNType>(type))
    return "F8_E4M3";
  if (isa<Float8E5M2Type>(type))
    return "F8_E5M2";
  StringRef kind = isa<FloatType>(type)       ? "F"
                   : type.isUnsignedInteger() ? "U"
                                              : "I";
  return kind.str() + std::to_string(type.getIntOrFloatBitWidth());
}

/// A natural number of the file's, or nothing.
static std::optional<uint64_t> number(const Json &value) {
  if (!value.is_number_unsigned())
    return std::nullopt;
  return value.get<uint64_t>();
}

/// What the header says of one tensor; null after an error at `loc`.
static ElementsAttr readTensor(const std::string &name, const Json &entry,
                               StringRef data,
                               std::shared_ptr<llvm::MemoryBuffer> file,
                               Location loc) {
  auto fail = [&](const Twine &what) {
    emitError(loc) << "tensor '" << name << "' " << what;
    return ElementsAttr();
  };
  auto member = [&](const char *key) {
    auto found = entry.is_object() ? entry.find(key) : entry.end();
    return found == entry.end() ? Json() : *found;
  };
  Json dtype = member("dtype"), dims = member("shape"),
       place = member("data_offsets");
  if (!dtype.is_string() || !dims.is_array() || !place.is_array() ||
      place.size() != 2 || !number(place[0]) || !number(place[1]))
    return fail("needs a dtype, a shape and two data_offsets");
  Type element = typeNamed(dtype.get<std::string>(), loc.getContext());
  if (!element)
    return fail("has elements of the type " + dtype.get<std::string>() +
                ", which is not supported");
  SmallVector<int64_t> shape;
  for (const Json &dim : dims) {
    auto size = number(dim);
    shape.push_back(size && *size <= INT64_MAX ? int64_t(*size) : -1);
  }
  auto count = countElements(shape);
  if (!count)
    return fail("has no valid shape");
  uint64_t begin = *number(place[0]), end = *number(place[1]);
  if (begin > end || end > data.size())
    return fail("lies at bytes " + Twine(begin) + " to " + Twine(end) +
                " of the file's " + Twine(data.size()));
  uint64_t size = *count * elementBytes(element);
  if (end - begin != size)
    return fail("has " + Twine(end - begin) + " bytes, but its shape takes " +
                Twine(size));
  return makeElements(RankedTensorType::get(shape, element),
                      {ArrayRef(data.data() + begin, size), std::move(file)},
                      name);
}

std::optional<llvm::StringMap<ElementsAttr>>
frit::importer::readSafetensors(std::shared_ptr<llvm::MemoryBuffer> file,
                                Location loc) {
  StringRef bytes = file->getBuffer();
  uint64_t size =
      bytes.size() < 8 ? 0 : llvm::support::endian::read64le(bytes.data());
  Json header;
  if (bytes.size() >= 8 && size <= bytes.size() - 8)
    header = Json::parse(bytes.data() + 8, bytes.data() + 8 + size, nullptr,
                         /*allow_exceptions=*/false);
  if (!header.is_object()) {
    emitError(loc) << "is no whole .safetensors file";
    return std::nullopt;
  }
  llvm::StringMap<ElementsAttr> tensors;
  bool good = true;
  for (const auto &[name, entry] : header.items()) {
    if (name == "__metadata__")
      continue;
    ElementsAttr value =
        readTensor(name, entry, bytes.drop_front(8 + size), file, loc);
    good &= bool(value);
    tensors[name] = value;
  }
  if (!good)
    return std::nullopt;
  return tensors;
}

/// The bytes of a constant as files hold them; `owned` holds them where the
/// attribute does not.
static ArrayRef<char> bytesOf(ElementsAttr value, std::vector<char> &owned) {
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value))
    return resource.getRawHandle().getBlob()->getData();
  auto dense = cast<DenseElementsAttr>(value);
  if (dense.getElementType().isInteger(1)) {
    for (bool bit : dense.getValues<bool>())
      owned.push_back(bit);
    return owned;
  }
  if (!dense.isSplat())
    return dense.getRawData();
  ArrayRef<char> one = dense.getRawData();
  for (int64_t i = 0; i < dense.getNumElements(); ++i)
    owned.insert(owned.end(), one.begin(), one.end());
  return owned;
}

void frit::importer::writeSafetensors(
    ArrayRef<std::pair<std::string, ElementsAttr>> tensors,
    llvm::raw_ostream &os) {
  Json header = Json::object();
  uint64_t at = 0;
  for (const auto &[name, value] : tensors) {
    ShapedType type = value.getShapedType();
    uint64_t size = type.getNumElements() * elementBytes(type.getElementType());
    header[name] = {{"dtype", nameOf(type.getElementType())},
                    {"shape", std::vector<int64_t>(type.getShape())},
                    {"data_offsets", {at, at + size}}};
    at += size;
  }
  // Spaces keep the data aligned for those who map the file.
  std::string text =
      header.dump(-1, ' ', false, Json::error_handler_t::replace);
  char length[8];
  text.resize(llvm::alignTo(sizeof(length) + text.size(), 64) - sizeof(length),
              ' ');
  llvm::support::endian::write64le(length, text.size());
  os.write(length, sizeof(length)) << text;
  for (const auto &[name, value] : tensors) {
    std::vector<char> owned;
    ArrayRef<char> bytes = bytesOf(value, owned);
    os.write(bytes.data(), bytes.size());
  }
}
