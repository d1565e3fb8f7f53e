//===- Types.h - Element types and shapes, for sizes and messages ---------===//

#ifndef FRIT_EXEC_TYPES_H
#define FRIT_EXEC_TYPES_H

#include "frit/artifact.h"
#include "frit/runtime.h"

#include <cstdint>
#include <span>
#include <string>

namespace frit {

/// Bytes of an element; 0 where `type` is none of the known ones.
uint64_t elementBytes(artifact::DType type);

const char *typeName(artifact::DType type);

/// "1x3x224x224xf32"; "f32" for a scalar.
std::string formatType(artifact::DType type, std::span<const int64_t> dims);

/// Elements of `dims`, or false when a dimension is negative or there are more
/// than an int64_t counts.
bool countElements(std::span<const int64_t> dims, uint64_t &count);

} // namespace frit

#endif // FRIT_EXEC_TYPES_H
