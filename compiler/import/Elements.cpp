//===- Elements.cpp - Data of tensors from files --------------------------===//

#include "compiler/import/Elements.h"

#include "mlir/IR/DialectResourceBlobManager.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace frit::importer;

std::optional<int64_t> frit::importer::countElements(ArrayRef<int64_t> shape) {
  constexpr int64_t most = int64_t(1) << 42;
  constexpr size_t mostDimensions = 64;
  if (shape.size() > mostDimensions)
    return std::nullopt;
  int64_t count = 1;
  for (int64_t size : shape) {
    if (size < 0 || (size && count > most / size))
      return std::nullopt;
    // Check the other dimensions even if one is 0.
    count *= std::max<int64_t>(size, 1);
  }
  return llvm::is_contained(shape, 0) ? 0 : count;
}

ElementsAttr frit::importer::makeElements(RankedTensorType type, Bytes bytes,
                                          StringRef name) {
  constexpr size_t inlineBytes = 1024;
  if (bytes.data.size() <= inlineBytes || type.getNumElements() == 0) {
    if (type.getElementType().isInteger(1)) {
      SmallVector<bool> bits(bytes.data.begin(), bytes.data.end());
      return DenseElementsAttr::get(type, ArrayRef<bool>(bits));
    }
    return DenseElementsAttr::getFromRawBuffer(type, bytes.data);
  }
  // Files do not guarantee alignment; readers copy elements before use.
  size_t align = elementBytes(type.getElementType());
  if (!llvm::isAddrAligned(llvm::Align(align), bytes.data.data()))
    align = 1;
  AsmResourceBlob blob(
      bytes.data, align,
      [owner = std::move(bytes.owner)](void *, size_t, size_t) {},
      /*dataIsMutable=*/false);
  return DenseResourceElementsAttr::get(type, name.empty() ? "constant" : name,
                                        std::move(blob));
}
