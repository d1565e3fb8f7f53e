//===- host_arch.h - Processors that host code is compiled for ------------===//
//
// The CPU targets of an artifact. All targets of one artifact are for the same
// kind of machine; the runtime runs the one with the highest level that the
// processor has.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_HOST_ARCH_H
#define FRIT_HOST_ARCH_H

#include <string_view>

namespace frit {

enum class HostMachine { x86_64, aarch64 };

/// Operating systems that an artifact is for.
enum class HostSystem { gnuLinux, windows };

/// The kind of machine that this code runs on.
#if defined(__x86_64__)
inline constexpr HostMachine kThisMachine = HostMachine::x86_64;
#elif defined(__aarch64__)
inline constexpr HostMachine kThisMachine = HostMachine::aarch64;
#else
#error "frit runs on x86-64 and aarch64"
#endif

/// A CPU target. A processor that has one runs those of lower levels too.
struct HostArch {
  const char *name; ///< as -march takes it
  HostMachine machine;
  int level; ///< from 1
  /// Instructions beyond those of the level below.
  const char *uses;
};

/// Names of Arm's processors stand for what later ones have too: neoverse-n1
/// runs on Cortex-A78AE (Jetson Orin), neoverse-v2 on Grace and what came after
/// it.
inline constexpr HostArch kHostArchs[] = {
    {"x86-64", HostMachine::x86_64, 1, "SSE2"},
    {"x86-64-v2", HostMachine::x86_64, 2, "SSE4.2"},
    {"x86-64-v3", HostMachine::x86_64, 3, "AVX2, FMA"},
    {"x86-64-v4", HostMachine::x86_64, 4, "AVX-512"},
    {"aarch64", HostMachine::aarch64, 1, "NEON"},
    {"neoverse-n1", HostMachine::aarch64, 2, "FP16, dot products"},
    {"neoverse-v1", HostMachine::aarch64, 3, "SVE, BF16"},
    {"neoverse-v2", HostMachine::aarch64, 4, "SVE2"},
};

/// Returns the CPU target `name`; null if it is none.
constexpr const HostArch *findHostArch(std::string_view name) {
  for (const HostArch &arch : kHostArchs)
    if (arch.name == name)
      return &arch;
  return nullptr;
}

/// Returns what a kind of machine is called, which also is the name of its
/// lowest target.
constexpr const char *nameOf(HostMachine machine) {
  for (const HostArch &arch : kHostArchs)
    if (arch.machine == machine)
      return arch.name;
  return "";
}

} // namespace frit

#endif // FRIT_HOST_ARCH_H
