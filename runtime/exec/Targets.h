//===- Targets.h - Choose the target that suits a device ------------------===//

#ifndef FRIT_RUNTIME_EXEC_TARGETS_H
#define FRIT_RUNTIME_EXEC_TARGETS_H

#include "runtime/plan/PlanView.h"

#include <optional>

namespace frit {

/// A GPU architecture: sm_90a is {9, 0, 'a'}, compute_80 is {8, 0, 0}.
struct CudaArch {
  int major = 0;
  int minor = 0;
  char suffix =
      0; ///< 'a': this architecture only; 'f': its family; 0: any later
};

std::optional<CudaArch> parseCudaArch(std::string_view name);

/// Returns whether a cubin for `arch` runs on a device of capability
/// major.minor.
bool runsCubin(CudaArch arch, int major, int minor);

/// Returns whether the driver can compile PTX for `arch` on such a device.
bool runsPtx(CudaArch arch, int major, int minor);

/// Returns the target with the best cubin for a device, else the best PTX (and
/// sets `usePtx`), else null.
const artifact::Target *chooseCudaTarget(const PlanView &plan, int major,
                                         int minor, bool &usePtx);

/// Returns the target with the highest level that this processor supports, or
/// null.
const artifact::Target *chooseCpuTarget(const PlanView &plan);

/// Returns the level of `arch` in frit/host_arch.h: 1 for x86-64, 4 for
/// x86-64-v4; -1 if this processor does not run it.
int cpuLevel(std::string_view arch);

/// Returns the processor's model, "AMD EPYC 9B14".
std::string processorName();

bool hasCudaTarget(const PlanView &plan);

/// Lists the targets' architectures for messages: "sm_80, sm_90a, x86-64".
std::string listArchs(const PlanView &plan);

} // namespace frit

#endif // FRIT_RUNTIME_EXEC_TARGETS_H
