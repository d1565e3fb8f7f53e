//===- ConstantBytes.h - The bytes of a constant's elements ---------------===//

#ifndef FRIT_COMPILER_TRANSFORM_SPARSE_CONSTANTBYTES_H
#define FRIT_COMPILER_TRANSFORM_SPARSE_CONSTANTBYTES_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/DialectResourceBlobManager.h"

namespace frit {

/// Returns the bytes of a constant with an element for each place; none of
/// others, whose elements are all equal or not there.
inline llvm::ArrayRef<char> bytesOfConstant(mlir::ElementsAttr value) {
  if (auto resource = llvm::dyn_cast<mlir::DenseResourceElementsAttr>(value)) {
    mlir::AsmResourceBlob *blob = resource.getRawHandle().getBlob();
    return blob ? blob->getData() : llvm::ArrayRef<char>();
  }
  auto dense = llvm::dyn_cast<mlir::DenseElementsAttr>(value);
  return dense && !dense.isSplat() ? dense.getRawData()
                                   : llvm::ArrayRef<char>();
}

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_SPARSE_CONSTANTBYTES_H
