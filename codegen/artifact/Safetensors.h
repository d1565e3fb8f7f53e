//===- Safetensors.h - Files of weights -----------------------------------===//

#ifndef FRIT_CODEGEN_ARTIFACT_SAFETENSORS_H
#define FRIT_CODEGEN_ARTIFACT_SAFETENSORS_H

#include "frit/artifact.h"

#include "mlir/IR/BuiltinAttributes.h"

#include <string>

namespace frit::artifact {

/// A tensor whose bytes follow those of the one before it.
struct NamedTensor {
  std::string name;
  DType type;
  llvm::SmallVector<int64_t> dims;
  uint64_t bytes;
};

/// What comes before the tensors' bytes: the length of the header, and the
/// header, JSON, as github.com/huggingface/safetensors describes them.
std::string safetensorsHead(llvm::ArrayRef<NamedTensor> tensors);

/// Writes a whole file. No tensor's bytes may be missing.
void writeSafetensors(
    llvm::ArrayRef<std::pair<std::string, mlir::ElementsAttr>> tensors,
    llvm::raw_ostream &os);

} // namespace frit::artifact

#endif // FRIT_CODEGEN_ARTIFACT_SAFETENSORS_H
