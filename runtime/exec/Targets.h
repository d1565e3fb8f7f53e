//===- Targets.h - Which of an artifact's targets a device can run --------===//

#ifndef FRIT_EXEC_TARGETS_H
#define FRIT_EXEC_TARGETS_H

#include "runtime/exec/PlanView.h"

#include <optional>

namespace frit {

/// A GPU architecture by name: sm_90a is {9, 0, 'a'}, compute_80 {8, 0, 0}.
struct CudaArch {
  int major = 0;
  int minor = 0;
  char suffix = 0; ///< 'a': this device only; 'f': this family; 0: any
};

std::optional<CudaArch> parseCudaArch(std::string_view name);

/// Whether machine code for `arch` runs on a device of capability major.minor.
bool runsCubin(CudaArch arch, int major, int minor);

/// Whether the driver can translate PTX of a target for `arch`, which is for
/// all devices from that one on, for such a device.
bool runsPtx(CudaArch arch, int major, int minor);

/// The target with the best machine code, else the best PTX, for a device; null
/// when there is none.
const artifact::Target *chooseCudaTarget(const PlanView &plan, int major,
                                         int minor, bool &usePtx);

/// The target for the most capable processor that this one satisfies.
const artifact::Target *chooseCpuTarget(const PlanView &plan);

bool hasCudaTarget(const PlanView &plan);

/// "sm_80, sm_90a, x86-64", for messages.
std::string listArchs(const PlanView &plan);

} // namespace frit

#endif // FRIT_EXEC_TARGETS_H
