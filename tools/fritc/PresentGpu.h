//===- PresentGpu.h - This machine's GPU ----------------------------------===//

#ifndef FRIT_TOOLS_FRITC_PRESENTGPU_H
#define FRIT_TOOLS_FRITC_PRESENTGPU_H

#include "codegen/cuda/target/GpuArch.h"

#include <optional>

namespace frit {

/// Returns this machine's first GPU, by the sizes that its driver reports; none
/// if there is no driver or GPU.
std::optional<cuda::GpuArch> findPresentGpu();

} // namespace frit

#endif // FRIT_TOOLS_FRITC_PRESENTGPU_H
