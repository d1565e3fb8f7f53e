//===- Elements.h - The data of tensors in files --------------------------===//

#ifndef FRIT_COMPILER_IMPORT_ELEMENTS_H
#define FRIT_COMPILER_IMPORT_ELEMENTS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

#include <memory>
#include <optional>

namespace frit::importer {

/// The number of bytes that an element takes in files and in memory.
inline int64_t elementBytes(mlir::Type type) {
  return (type.getIntOrFloatBitWidth() + 7) / 8;
}

/// The number of elements of `shape`, or nothing where a size is negative or
/// the tensor is beyond what any machine holds.
std::optional<int64_t> countElements(llvm::ArrayRef<int64_t> shape);

/// Bytes and what keeps them alive.
struct Bytes {
  llvm::ArrayRef<char> data;
  std::shared_ptr<const void> owner;
};

/// A tensor of these bytes: at most 1 KiB of them are copied, more become a
/// resource named `name`. Bools are a byte each.
mlir::ElementsAttr makeElements(mlir::RankedTensorType type, Bytes bytes,
                                llvm::StringRef name);

} // namespace frit::importer

#endif // FRIT_COMPILER_IMPORT_ELEMENTS_H
