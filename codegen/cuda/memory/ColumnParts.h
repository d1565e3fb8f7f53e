//===- ColumnParts.h - Parts of long columns ------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_MEMORY_COLUMNPARTS_H
#define FRIT_CODEGEN_CUDA_MEMORY_COLUMNPARTS_H

#include "codegen/cuda/target/GpuArch.h"

namespace frit::cuda {

/// Returns in how many parts a reduction of leading dimensions from `elements`
/// to `results` is fastest; 1: as it is.
int64_t columnParts(int64_t elements, int64_t results, const GpuArch &arch);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_MEMORY_COLUMNPARTS_H
