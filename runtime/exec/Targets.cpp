//===- Targets.cpp - Choose the target that suits a device ----------------===//

#include "runtime/exec/Targets.h"

#include "frit/host_arch.h"

#include <cstdio>
#include <cstring>

#if defined(__aarch64__)
#include <sys/auxv.h>
#elif defined(_WIN32)
#include <cpuid.h>
#endif

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

/// Returns the level of this processor in frit/host_arch.h; 0 if it has not
/// even the lowest.
static int processorLevel() {
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (!__builtin_cpu_supports("sse4.2") || !__builtin_cpu_supports("popcnt"))
    return 1;
  if (!__builtin_cpu_supports("avx2") || !__builtin_cpu_supports("fma") ||
      !__builtin_cpu_supports("bmi") || !__builtin_cpu_supports("bmi2"))
    return 2;
  return __builtin_cpu_supports("avx512f") &&
                 __builtin_cpu_supports("avx512bw") &&
                 __builtin_cpu_supports("avx512dq") &&
                 __builtin_cpu_supports("avx512vl")
             ? 4
             : 3;
#else
  const unsigned long has = getauxval(AT_HWCAP), more = getauxval(AT_HWCAP2);
  auto hasAll = [](unsigned long all, unsigned long wanted) {
    return (all & wanted) == wanted;
  };
  if (!hasAll(has, HWCAP_ATOMICS | HWCAP_FPHP | HWCAP_ASIMDHP | HWCAP_ASIMDRDM |
                       HWCAP_LRCPC | HWCAP_ASIMDDP))
    return 1;
  if (!hasAll(has, HWCAP_SVE | HWCAP_ILRCPC | HWCAP_FLAGM | HWCAP_JSCVT |
                       HWCAP_FCMA | HWCAP_ASIMDFHM) ||
      !hasAll(more, HWCAP2_BF16 | HWCAP2_I8MM))
    return 2;
  return hasAll(more,
                HWCAP2_SVE2 | HWCAP2_SVEBITPERM | HWCAP2_FRINT | HWCAP2_FLAGM2)
             ? 4
             : 3;
#endif
}

int frit::cpuLevel(std::string_view arch) {
  const HostArch *known = findHostArch(arch);
  bool runs = known && known->machine == kThisMachine &&
              known->level <= processorLevel();
  return runs ? known->level : -1;
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
#ifdef _WIN32
  unsigned words[12] = {};
  for (unsigned i = 0; i < 3; ++i)
    __get_cpuid(0x80000002 + i, &words[4 * i], &words[4 * i + 1],
                &words[4 * i + 2], &words[4 * i + 3]);
  char text[sizeof words + 1] = {};
  memcpy(text, words, sizeof words);
  size_t first = strspn(text, " ");
  return text[first] ? text + first : name;
#endif
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
