//===- Machine.h - Findings of frit-doctor --------------------------------===//

#ifndef FRIT_TOOLS_FRIT_DOCTOR_MACHINE_H
#define FRIT_TOOLS_FRIT_DOCTOR_MACHINE_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace frit::doctor {

enum class Verdict {
  good,
  missing,  ///< not installed; frit runs without it
  tooOld,   ///< installed, but frit does not use this version
  mismatch, ///< incompatible with something else installed
  broken    ///< installed, but does not work
};
std::string_view nameOf(Verdict verdict);

/// One line of the report.
struct Finding {
  std::string part;  ///< name for --need: "driver", "cuda:0", "nvrtc"
  std::string title; ///< name for display: "NVRTC"
  Verdict verdict = Verdict::good;
  std::string version = "", path = ""; ///< empty if unknown
  std::string detail = "";             ///< what was found, or what is wrong
  std::string advice = ""; ///< what to do; empty if there is nothing to do
};

struct GpuFacts {
  int ordinal = 0, major = 0, minor = 0;
  std::string name, uuid;
  uint64_t memoryBytes = 0;
  bool works = false; ///< the probe's results were right
};

/// A version as 1000 * major + 10 * minor, as CUDA counts: 12.4 is 12040.
/// 0 if unknown.
using CudaVersion = int;
std::string textOf(CudaVersion version);

class Machine {
public:
  /// Examines everything. Later checks use the findings of earlier ones.
  void examine();

  std::vector<Finding> findings;
  std::vector<GpuFacts> gpus;
  CudaVersion driverCuda = 0; ///< newest CUDA that the driver runs

  /// The highest -march of the cpu target that this processor runs.
  std::string cpuArch;
  bool compilesForGpus = false;

  const Finding *find(std::string_view part) const;
  /// Returns whether a GPU can run kernels.
  bool runsOnGpu() const;
  /// Returns whether nothing installed is broken.
  bool isSound() const;

private:
  void examineProcessor();
  void examineDriver();
  void examineGpu(const struct Probe &probe, int ordinal);
  void examineToolkit();
  void examineNvrtc();
  void examineCublas();
  void examineCudnn();
  void examineNccl();

  /// Adds the finding of a missing library.
  void addMissing(const char *part, const struct Absent &absent);
  /// Reports that a library is too old, and what frit does without it.
  void markTooOld(Finding &finding, const std::string &why, const char *without,
                  const char *package) const;
  /// Marks a library whose CUDA release needs a newer driver.
  void compareWithDriver(Finding &finding, CudaVersion cuda,
                         const char *package) const;

  CudaVersion cublasCuda = 0;
};

} // namespace frit::doctor

#endif // FRIT_TOOLS_FRIT_DOCTOR_MACHINE_H
