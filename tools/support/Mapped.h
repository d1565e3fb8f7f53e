//===- Mapped.h - Tensors of files that are not read into memory ----------===//

#ifndef FRIT_TOOLS_SUPPORT_MAPPED_H
#define FRIT_TOOLS_SUPPORT_MAPPED_H

#include "frit/runtime.h"
#include "tools/support/Bytes.h"

#include <memory>
#include <string>
#include <vector>

namespace frit::tools {

/// Maps a regular file; its pages are read on access. No output of this program
/// overwrites it (see OutputFile.h).
Fault mapFile(const std::string &path, Bytes &bytes,
              std::shared_ptr<const void> &owner);

/// Finds the tensors of a file as readTensors does. The elements of
/// .safetensors and of most .npy files are mapped, all others are read.
Fault mapTensors(const std::string &path, std::vector<TensorView> &tensors);

/// Makes the program end with a message instead of a crash if a mapped file is
/// truncated while in use, or cannot be read.
void handleLostFiles();

} // namespace frit::tools

#endif // FRIT_TOOLS_SUPPORT_MAPPED_H
