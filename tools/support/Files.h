//===- Files.h - Read and write tensors in files --------------------------===//

#ifndef FRIT_TOOLS_SUPPORT_FILES_H
#define FRIT_TOOLS_SUPPORT_FILES_H

#include "compiler/support/OwnedFiles.h"
#include "frit/runtime.h"
#include "tools/support/Fault.h"
#include "tools/support/Tensor.h"

#include <system_error>

namespace frit::tools {

/// Reads all tensors of a .npy, .npz, .safetensors or ONNX .pb file, which it
/// recognizes by its contents. The file may be damaged. A tensor from a .npy
/// has no name. Sets `isArchive` if tensors are matched by name rather than
/// position.
Fault readTensors(const std::string &path, std::vector<Tensor> &tensors,
                  bool *isArchive = nullptr);

/// Makes sure that no output overwrites an opened model or its external
/// weights. `path` is the model's file.
void protectModel(const std::string &path, const frit_module *module);

/// Checks all outputs that options name, before any is written (see
/// OwnedFiles.h). Those without a path are left out.
Fault checkOutputs(std::vector<OutputName> outputs);

/// Writes a .npy if `path` ends so and there is one tensor, otherwise an .npz.
/// Types that numpy lacks are widened to float32. Never overwrites an input
/// (see OutputFile.h) and leaves no partial file.
Fault writeTensors(const std::string &path, const std::vector<Tensor> &tensors);

/// Returns the fault of writing `path`, which ended with `code`; success if
/// that is no error.
Fault writingFault(const std::string &path, std::error_code code);

} // namespace frit::tools

#endif // FRIT_TOOLS_SUPPORT_FILES_H
