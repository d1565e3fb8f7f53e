//===- Safetensors.h - Write safetensors files ----------------------------===//

#ifndef FRIT_CODEGEN_ARTIFACT_SAFETENSORS_H
#define FRIT_CODEGEN_ARTIFACT_SAFETENSORS_H

#include "frit/artifact.h"

#include "mlir/IR/BuiltinAttributes.h"

#include <string>

namespace frit::artifact {

/// A tensor in the file. The tensors' bytes follow each other without gaps.
struct NamedTensor {
  std::string name;
  DType type;
  llvm::SmallVector<int64_t> dims;
  uint64_t bytes;
};

/// Returns the start of the file: the header's length and the JSON header.
/// Format: github.com/huggingface/safetensors.
std::string safetensorsHead(llvm::ArrayRef<NamedTensor> tensors);

/// Writes a whole file. Every tensor must have its data.
void writeSafetensors(
    llvm::ArrayRef<std::pair<std::string, mlir::ElementsAttr>> tensors,
    llvm::raw_ostream &os);

} // namespace frit::artifact

#endif // FRIT_CODEGEN_ARTIFACT_SAFETENSORS_H
