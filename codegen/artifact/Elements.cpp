//===- Elements.cpp - Bytes of constants ----------------------------------===//

#include "codegen/artifact/Elements.h"

#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;
using namespace frit::artifact;

std::optional<ArrayRef<char>>
frit::artifact::bytesOf(ElementsAttr value, std::list<std::string> &owned) {
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(value)) {
    AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    return blob ? std::optional(blob->getData()) : std::nullopt;
  }
  auto dense = cast<DenseElementsAttr>(value);
  bool isBool = dense.getElementType().isInteger(1);
  if (!dense.isSplat() && !isBool)
    return dense.getRawData();
  std::string &bytes = owned.emplace_back();
  if (isBool) {
    for (bool b : dense.getValues<bool>())
      bytes.push_back(b);
  } else {
    ArrayRef<char> element = dense.getRawData();
    for (int64_t i = 0; i < dense.getNumElements(); ++i)
      bytes.append(element.data(), element.size());
  }
  return ArrayRef<char>(bytes.data(), bytes.size());
}
