//===- Numpy.cpp - Read .npy files ----------------------------------------===//

#include "compiler/onnx/reader/Tensors.h"
#include "compiler/support/Npy.h"

#include "mlir/AsmParser/AsmParser.h"
#include "mlir/IR/Diagnostics.h"

using namespace mlir;
using namespace frit::importer;

ElementsAttr frit::importer::readNumpy(std::shared_ptr<llvm::MemoryBuffer> file,
                                       StringRef name, Location loc) {
  auto wrong = [&](const Twine &what) -> ElementsAttr {
    emitError(loc) << "'" << file->getBufferIdentifier() << "': " << what;
    return {};
  };
  NpyHeader header;
  if (const char *why = parseNpyHeader(file->getBuffer(), header))
    return wrong(why);
  const artifact::DTypeRow *row = artifact::findDType(npyType(header.type()));
  if (!row)
    return wrong("frit does not read elements of type '" +
                 StringRef(header.descr) + "'");
  Type element = parseType(row->ir, loc.getContext());
  std::optional<int64_t> count = countElements(header.dims);
  if (!count)
    return wrong("it has no valid shape");
  StringRef data = file->getBuffer().drop_front(header.size);
  uint64_t width = elementBytes(element), expected = *count * width;
  if (data.size() != expected)
    return wrong("it has " + Twine(data.size()) +
                 " bytes of data, but its shape takes " + Twine(expected));
  Bytes bytes{ArrayRef(data.data(), data.size()), file};
  if (header.isColumnMajor || header.isBigEndian) {
    auto ordered = std::make_shared<std::vector<char>>(data.size());
    arrangeNpy(header, width, data.data(), ordered->data(), *count);
    bytes = {*ordered, ordered};
  }
  return makeElements(RankedTensorType::get(header.dims, element),
                      std::move(bytes), name);
}
