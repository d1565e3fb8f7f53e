//===- StoredTensors.cpp - The tensors of a folder's files ----------------===//

#include "compiler/decoder/quantized/StoredTensors.h"

#include "compiler/import/Elements.h"
#include "compiler/support/Halves.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/Support/Path.h"

#include <bit>
#include <cstring>

using namespace mlir;
using namespace frit;
using namespace frit::decoder;

std::optional<std::string>
StoredTensors::add(StringRef name, ElementsAttr value, StringRef file) {
  auto [at, isNew] = entries.try_emplace(name, Entry{value, file.str()});
  if (isNew)
    return std::nullopt;
  return at->getValue().file;
}

ElementsAttr StoredTensors::find(StringRef name) const {
  return entries.lookup(name).value;
}

ElementsAttr StoredTensors::read(StringRef name) {
  ElementsAttr value = find(name);
  if (value)
    known.insert(name);
  return value;
}

StringRef StoredTensors::fileOf(StringRef name) const {
  auto found = entries.find(name);
  return found == entries.end() ? "" : StringRef(found->getValue().file);
}

std::vector<std::string> StoredTensors::names() const {
  std::vector<std::string> result;
  for (const auto &entry : entries)
    result.push_back(entry.getKey().str());
  llvm::sort(result);
  return result;
}

InFlightDiagnostic StoredTensors::fail(StringRef name) const {
  InFlightDiagnostic error = emitError(locate(fileOf(name)));
  error << "tensor '" << name << "' ";
  return error;
}

Location StoredTensors::locate(StringRef file) const {
  SmallString<256> path(folder);
  if (!file.empty())
    llvm::sys::path::append(path, file);
  return FileLineColLoc::get(&context, path, 0, 0);
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

ArrayRef<char> decoder::bytesOf(ElementsAttr value, std::vector<char> &own) {
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    return blob ? blob->getData() : ArrayRef<char>();
  }
  auto dense = cast<DenseElementsAttr>(value);
  ArrayRef<char> raw = dense.getRawData();
  int64_t count = dense.getNumElements();
  if (!dense.isSplat() || count <= 1)
    return count ? raw : ArrayRef<char>();
  for (int64_t i = 0; i < count; ++i)
    own.insert(own.end(), raw.begin(), raw.end());
  return own;
}

std::vector<float> decoder::numbersOf(ElementsAttr value) {
  std::vector<char> own;
  const char *from = bytesOf(value, own).data();
  std::vector<float> numbers(size_t(value.getNumElements()));
  Type element = value.getElementType();
  if (element.isF32()) {
    if (!numbers.empty())
      memcpy(numbers.data(), from, numbers.size() * 4);
    return numbers;
  }
  for (auto [i, number] : llvm::enumerate(numbers)) {
    uint16_t bits;
    memcpy(&bits, from + 2 * i, 2);
    number = element.isF16() ? halfToFloat(bits)
                             : std::bit_cast<float>(uint32_t(bits) << 16);
  }
  return numbers;
}

std::vector<int32_t> decoder::integersOf(ElementsAttr value) {
  std::vector<char> own;
  const char *from = bytesOf(value, own).data();
  std::vector<int32_t> numbers(size_t(value.getNumElements()));
  bool isByte = importer::elementBytes(value.getElementType()) == 1;
  for (auto [i, number] : llvm::enumerate(numbers))
    if (isByte)
      number = int8_t(from[i]);
    else
      memcpy(&number, from + 4 * i, 4);
  return numbers;
}
