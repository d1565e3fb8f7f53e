//===- Safetensors.cpp - Read weights from safetensors files --------------===//

#include "compiler/json/Safetensors.h"

#include "compiler/import/Elements.h"
#include "compiler/import/LfsPointer.h"

#include "frit/dtype.h"
#include "runtime/exec/Safetensors.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace frit;
using namespace frit::artifact;
using namespace frit::importer;

/// Reads a tensor; null after an error at `loc`.
static ElementsAttr readTensor(const std::string &name,
                               const StoredTensor &stored,
                               std::shared_ptr<llvm::MemoryBuffer> file,
                               Location loc) {
  auto fail = [&](const Twine &what) {
    emitError(loc) << "tensor '" << name << "' " << what;
    return ElementsAttr();
  };
  const DTypeRow *row = findDType(dtypeWith(&DTypeRow::stored, stored.type));
  if (!row)
    return fail("has elements of the type " + stored.type +
                ", which is not supported");
  Type element = parseType(row->ir, loc.getContext());
  auto count = countElements(stored.dims);
  if (!count)
    return fail("has no valid shape");
  uint64_t size = *count * elementBytes(element);
  if (stored.bytes != size)
    return fail("has " + Twine(stored.bytes) + " bytes, but its shape takes " +
                Twine(size));
  const char *data = file->getBufferStart() + stored.offset;
  return makeElements(RankedTensorType::get(stored.dims, element),
                      {ArrayRef(data, size), std::move(file)}, name);
}

std::optional<llvm::StringMap<ElementsAttr>>
frit::importer::readSafetensors(std::shared_ptr<llvm::MemoryBuffer> file,
                                Location loc) {
  if (isLfsPointer(file->getBuffer())) {
    emitError(loc) << kLfsPointer;
    return std::nullopt;
  }
  std::map<std::string, StoredTensor> stored;
  Status status = frit::readSafetensors(
      reinterpret_cast<const uint8_t *>(file->getBufferStart()),
      file->getBufferSize(), stored);
  if (status.failed()) {
    emitError(loc) << status.message();
    return std::nullopt;
  }
  llvm::StringMap<ElementsAttr> tensors;
  bool good = true;
  for (const auto &[name, tensor] : stored) {
    ElementsAttr value = readTensor(name, tensor, file, loc);
    good &= bool(value);
    tensors[name] = value;
  }
  if (!good)
    return std::nullopt;
  return tensors;
}
