//===- Safetensors.h - Find the tensors of a safetensors file -------------===//
//
// The one reader of these files: of the runtime, the compiler and the tools.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_RUNTIME_EXEC_SAFETENSORS_H
#define FRIT_RUNTIME_EXEC_SAFETENSORS_H

#include "runtime/exec/Status.h"

#include <map>
#include <string>
#include <vector>

namespace frit {

/// A tensor's type, shape and place in the file.
struct StoredTensor {
  std::string type; ///< as spelled in the file: "F16"
  std::vector<int64_t> dims;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

/// Reads the header of the safetensors file of `size` bytes at `data`: its
/// tensors and, unless null, the texts of its `__metadata__`. No tensor lies
/// outside of the file, and all of them together are no larger; types and
/// shapes are as the file says. A failure says what is wrong with the file; the
/// caller adds its name. Format: github.com/huggingface/safetensors.
Status readSafetensors(const uint8_t *data, uint64_t size,
                       std::map<std::string, StoredTensor> &tensors,
                       std::map<std::string, std::string> *metadata = nullptr);

} // namespace frit

#endif // FRIT_RUNTIME_EXEC_SAFETENSORS_H
