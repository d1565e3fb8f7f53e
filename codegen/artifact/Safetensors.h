//===- Safetensors.h - The head of a file of weights ----------------------===//

#ifndef FRIT_CODEGEN_ARTIFACT_SAFETENSORS_H
#define FRIT_CODEGEN_ARTIFACT_SAFETENSORS_H

#include "frit/artifact.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

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

} // namespace frit::artifact

#endif // FRIT_CODEGEN_ARTIFACT_SAFETENSORS_H
