//===- StoredTensors.h - The tensors of a folder's files ------------------===//

#ifndef FRIT_COMPILER_DECODER_QUANTIZED_STOREDTENSORS_H
#define FRIT_COMPILER_DECODER_QUANTIZED_STOREDTENSORS_H

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"

#include <vector>

namespace frit::decoder {

/// Tensors by name, with the files that they are in, and which of them have
/// been read. Their bytes last as long as the context.
class StoredTensors {
public:
  StoredTensors(llvm::StringRef folder, mlir::MLIRContext &context)
      : folder(folder), context(context) {}

  /// Adds a tensor of a file. Returns the file that has one of this name
  /// already, if there is such.
  std::optional<std::string> add(llvm::StringRef name, mlir::ElementsAttr value,
                                 llvm::StringRef file);

  bool contains(llvm::StringRef name) const { return entries.contains(name); }
  /// Returns a tensor, or null.
  mlir::ElementsAttr find(llvm::StringRef name) const;
  /// Likewise, and marks it as read.
  mlir::ElementsAttr read(llvm::StringRef name);
  bool wasRead(llvm::StringRef name) const { return known.contains(name); }
  /// Returns the name of a tensor's file; "" if there is no such tensor.
  llvm::StringRef fileOf(llvm::StringRef name) const;
  /// Returns all names, sorted.
  std::vector<std::string> names() const;

  /// Starts an error at the file of a tensor: "tensor 'NAME' ".
  mlir::InFlightDiagnostic fail(llvm::StringRef name) const;
  /// Returns the location of a file, or of the folder if `file` is "".
  mlir::Location locate(llvm::StringRef file) const;

private:
  struct Entry {
    mlir::ElementsAttr value;
    std::string file;
  };
  std::string folder;
  mlir::MLIRContext &context;
  llvm::StringMap<Entry> entries;
  llvm::StringSet<> known;
};

/// Returns the bytes of a tensor's elements. Those of up to 1 KiB may lie in
/// `own`, which must outlive the result.
llvm::ArrayRef<char> bytesOf(mlir::ElementsAttr value, std::vector<char> &own);

/// Returns the elements of a tensor of f32, f16 or bf16.
std::vector<float> numbersOf(mlir::ElementsAttr value);

/// Returns the elements of a tensor of i32 or i8.
std::vector<int32_t> integersOf(mlir::ElementsAttr value);

} // namespace frit::decoder

#endif // FRIT_COMPILER_DECODER_QUANTIZED_STOREDTENSORS_H
