//===- Elements.h - Data of tensors from files ----------------------------===//

#ifndef FRIT_COMPILER_IMPORT_ELEMENTS_H
#define FRIT_COMPILER_IMPORT_ELEMENTS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"

#include <memory>
#include <optional>

namespace frit::importer {

/// Bytes of an element in files and in memory.
inline int64_t elementBytes(mlir::Type type) {
  return (type.getIntOrFloatBitWidth() + 7) / 8;
}

/// Returns the number of elements of `shape`; none if a size is negative or the
/// tensor exceeds any machine's memory.
std::optional<int64_t> countElements(llvm::ArrayRef<int64_t> shape);

/// Bytes and their owner.
struct Bytes {
  llvm::ArrayRef<char> data;
  std::shared_ptr<const void> owner;
};

/// Creates a tensor attribute: up to 1 KiB is copied, more becomes a resource
/// named `name`. Bools take one byte each.
mlir::ElementsAttr makeElements(mlir::RankedTensorType type, Bytes bytes,
                                llvm::StringRef name);

} // namespace frit::importer

#endif // FRIT_COMPILER_IMPORT_ELEMENTS_H
