//===- Safetensors.h - Find tensors in a file of weights ------------------===//

#ifndef FRIT_EXEC_SAFETENSORS_H
#define FRIT_EXEC_SAFETENSORS_H

#include "runtime/exec/Status.h"

#include <map>
#include <string>
#include <vector>

namespace frit {

/// A tensor and where its bytes are in the file.
struct StoredTensor {
  std::string type; ///< "F16", as the file says it
  std::vector<int64_t> dims;
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

/// Reads the header of a safetensors file of `size` bytes at `data`, as
/// github.com/huggingface/safetensors describes it. A failure tells what is
/// wrong with it; the caller names the file.
Status readSafetensors(const uint8_t *data, uint64_t size,
                       std::map<std::string, StoredTensor> &tensors);

} // namespace frit

#endif // FRIT_EXEC_SAFETENSORS_H
