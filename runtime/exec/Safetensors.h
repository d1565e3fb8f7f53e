//===- Safetensors.h - Find the tensors of a safetensors file -------------===//

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

/// Reads the header of the safetensors file of `size` bytes at `data`. A
/// failure says what is wrong with the file; the caller adds its name. Format:
/// github.com/huggingface/safetensors.
Status readSafetensors(const uint8_t *data, uint64_t size,
                       std::map<std::string, StoredTensor> &tensors);

} // namespace frit

#endif // FRIT_RUNTIME_EXEC_SAFETENSORS_H
