//===- Safetensors.cpp - Read weights from safetensors files --------------===//

#include "compiler/json/Safetensors.h"

#include "compiler/import/Elements.h"
#include "compiler/json/Parse.h"

#include "frit/dtype.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/Support/Endian.h"

using namespace mlir;
using namespace frit::artifact;
using namespace frit::importer;
using Json = nlohmann::ordered_json;

static Type typeNamed(StringRef name, MLIRContext *context) {
  DType type = dtypeWith(&DTypeRow::stored, name);
  const DTypeRow *row = findDType(type);
  return row ? parseType(row->ir, context) : Type();
}

/// Returns the value if it is an unsigned number.
static std::optional<uint64_t> number(const Json &value) {
  if (!value.is_number_unsigned())
    return std::nullopt;
  return value.get<uint64_t>();
}

/// Reads a tensor from its header entry; null after an error at `loc`.
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
    header = parseJson(bytes.substr(8, size));
  if (!header.is_object()) {
    emitError(loc) << "is not a complete .safetensors file";
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
