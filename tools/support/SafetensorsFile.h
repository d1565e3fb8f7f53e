//===- SafetensorsFile.h - Write safetensors files ------------------------===//

#ifndef FRIT_TOOLS_SUPPORT_SAFETENSORSFILE_H
#define FRIT_TOOLS_SUPPORT_SAFETENSORSFILE_H

#include "tools/support/Bytes.h"

#include <map>
#include <string>
#include <system_error>
#include <vector>

namespace frit::tools {

/// The texts of a file's `__metadata__`.
using Metadata = std::map<std::string, std::string>;

/// Writes a safetensors file over `path` and syncs it to the disk.
std::error_code writeSafetensors(const std::string &path,
                                 const std::vector<TensorView> &tensors,
                                 const Metadata &metadata);

/// Reads the metadata of a file whose tensors have been read without an error.
/// Empty if there are none.
Metadata readMetadata(Bytes bytes);

} // namespace frit::tools

#endif // FRIT_TOOLS_SUPPORT_SAFETENSORSFILE_H
