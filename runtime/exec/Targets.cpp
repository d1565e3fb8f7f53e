//===- Targets.cpp - Choose the target that suits a device ----------------===//

#include "runtime/exec/Targets.h"

#include <cstdio>
#include <cstring>

using namespace frit;
using artifact::Target;

std::optional<CudaArch> frit::parseCudaArch(std::string_view name) {
  if (name.starts_with("sm_"))
    name.remove_prefix(3);
  else if (name.starts_with("compute_"))
    name.remove_prefix(8);
  else
    return std::nullopt;
  CudaArch arch;
  if (!name.empty() && (name.back() == 'a' || name.back() == 'f')) {
    arch.suffix = name.back();
    name.remove_suffix(1);
  }
  if (name.size() < 2 || name.size() > 4)
    return std::nullopt;
  int number = 0;
  for (char digit : name) {
    if (digit < '0' || digit > '9')
      return std::nullopt;
    number = number * 10 + (digit - '0');
  }
  arch.major = number / 10;
  arch.minor = number % 10;
  return arch;
}

bool frit::runsCubin(CudaArch arch, int major, int minor) {
  if (arch.suffix == 'a')
    return arch.major == major && arch.minor == minor;
  return arch.major == major && arch.minor <= minor;
}

bool frit::runsPtx(CudaArch arch, int major, int minor) {
  return arch.major * 10 + arch.minor <= major * 10 + minor;
}

/// Ranks the architectures that a device can run: newer first, then code for
/// one architecture before portable code.
static int rank(CudaArch arch) {
  return (arch.major * 10 + arch.minor) * 4 + (arch.suffix == 'a'   ? 2
                                               : arch.suffix == 'f' ? 1
                                                                    : 0);
}

/// Returns whether a target has cubins (or PTX) for all its kernels.
static bool hasCode(const PlanView &plan, const Target &target, bool ptx) {
  std::span<const artifact::DeviceModule> modules = plan.modules(target);
  return modules.empty() || (ptx ? modules[0].ptx : modules[0].cubin).size;
}

const Target *frit::chooseCudaTarget(const PlanView &plan, int major, int minor,
                                     bool &usePtx) {
  for (bool ptx : {false, true}) {
    const Target *best = nullptr;
    int bestRank = -1;
    for (const Target &target : plan.targets()) {
      std::optional<CudaArch> arch = parseCudaArch(plan.text(target.arch));
      if (!arch || !hasCode(plan, target, ptx))
        continue;
      bool runs =
          ptx ? runsPtx(*arch, major, minor) : runsCubin(*arch, major, minor);
      if (runs && rank(*arch) > bestRank) {
        best = &target;
        bestRank = rank(*arch);
      }
    }
    if (best) {
      usePtx = ptx;
      return best;
    }
  }
  return nullptr;
}

int frit::cpuLevel(std::string_view arch) {
#if defined(__x86_64__)
  __builtin_cpu_init();
  bool v2 =
      __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt");
  bool v3 = v2 && __builtin_cpu_supports("avx2") &&
            __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi") &&
            __builtin_cpu_supports("bmi2");
  bool v4 = v3 && __builtin_cpu_supports("avx512f") &&
            __builtin_cpu_supports("avx512bw") &&
            __builtin_cpu_supports("avx512dq") &&
            __builtin_cpu_supports("avx512vl");
  if (arch == "x86-64")
    return 1;
  if (arch == "x86-64-v2" && v2)
    return 2;
  if (arch == "x86-64-v3" && v3)
    return 3;
  if (arch == "x86-64-v4" && v4)
    return 4;
#elif defined(__aarch64__)
  if (arch == "aarch64")
    return 1;
#endif
  return -1;
}

const Target *frit::chooseCpuTarget(const PlanView &plan) {
  const Target *best = nullptr;
  int bestLevel = -1;
  for (const Target &target : plan.targets()) {
    int level = cpuLevel(plan.text(target.arch));
    if (level > bestLevel) {
      best = &target;
      bestLevel = level;
    }
  }
  return best;
}

std::string frit::processorName() {
  std::string name = "processor";
  if (FILE *file = fopen("/proc/cpuinfo", "re")) {
    char line[256];
    while (fgets(line, sizeof line, file))
      if (!strncmp(line, "model name", 10))
        if (const char *colon = strchr(line, ':')) {
          name.assign(colon + 2, strcspn(colon + 2, "\n"));
          break;
        }
    fclose(file);
  }
  return name;
}

bool frit::hasCudaTarget(const PlanView &plan) {
  for (const Target &target : plan.targets())
    if (isCudaArch(plan.text(target.arch)))
      return true;
  return false;
}

std::string frit::listArchs(const PlanView &plan) {
  std::string list;
  for (const Target &target : plan.targets()) {
    list += list.empty() ? "" : ", ";
    list += plan.text(target.arch);
  }
  return list;
}
