//===- Types.h - Element types and shapes: sizes and text -----------------===//

#ifndef FRIT_RUNTIME_EXEC_TYPES_H
#define FRIT_RUNTIME_EXEC_TYPES_H

#include "frit/artifact.h"
#include "frit/runtime.h"

#include <cstdint>
#include <span>
#include <string>

namespace frit {

/// Returns the bytes per element; 0 for an unknown type.
uint64_t elementBytes(artifact::DType type);

const char *typeName(artifact::DType type);

/// Formats a tensor type: "1x3x224x224xf32"; "f32" for a scalar.
std::string formatType(artifact::DType type, std::span<const int64_t> dims);

/// Computes the number of elements. Returns false if a dimension is negative or
/// the number exceeds int64_t.
bool countElements(std::span<const int64_t> dims, uint64_t &count);

} // namespace frit

#endif // FRIT_RUNTIME_EXEC_TYPES_H
