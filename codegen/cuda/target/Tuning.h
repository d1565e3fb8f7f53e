//===- Tuning.h - Schedules that were timed on a device -------------------===//
//
// A file of lines, one per problem, architecture and environment, that
// -ftune-generate writes and -ftune-use reads:
//
//   frit-tuning 3
//   gemm f16 m=384 n=1024 k=1024 bias | sm_90a | NVIDIA H200, cuBLASLt 13.1 |
//     #cuda.wgmma_gemm<tile_m = 128, ...> | 4.1 us, best of 14
//
// (each in one line). The last line of a problem takes precedence, so files can
// be appended to or concatenated.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_TARGET_TUNING_H
#define FRIT_CODEGEN_CUDA_TARGET_TUNING_H

#include "codegen/cuda/target/GpuArch.h"
#include "dialects/nn/NN.h"

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Error.h"

namespace frit::cuda {
class Problem;

/// Returns a text for the problem of a fusion of one contraction or attention,
/// the same for equal problems; empty for other fusions.
std::string tuningProblem(Problem &problem);

struct TunedSchedule {
  std::string arch;
  std::string environment; ///< the device and its libraries
  nn::Schedule schedule;
  double microseconds = 0;
  unsigned candidates = 0;
};

class Tuning {
public:
  /// Add the schedules of the file `path`, or of the file that comes with frit.
  llvm::Error read(llvm::StringRef path, mlir::MLIRContext *context);
  llvm::Error readShipped(mlir::MLIRContext *context);

  /// Whether problems without a schedule are warned about, once each.
  bool warnsOfMisses = false;

  void add(llvm::StringRef problem, TunedSchedule schedule) {
    schedules[problem].push_back(std::move(schedule));
  }

  /// Returns a problem's last schedule for `arch`, in `environment` or on
  /// `device` if that is not empty; null if there is none.
  const TunedSchedule *find(llvm::StringRef problem, llvm::StringRef arch,
                            llvm::StringRef environment = "",
                            llvm::StringRef device = "") const;

  /// Returns the schedule for a fusion on `arch`; null if there is none. It
  /// must be one of the candidates, but a library's algorithm may be any. Times
  /// in f16 also hold for bf16. Times of any device hold for all devices with
  /// as many SMs as the usual one of their architecture; others need their own.
  nn::Schedule
  pick(Problem &fusion, const GpuArch &arch,
       llvm::function_ref<llvm::SmallVector<nn::Schedule>()> candidates) const;

  static llvm::StringRef firstLine() { return "frit-tuning 3\n"; }
  static std::string line(llvm::StringRef problem,
                          const TunedSchedule &schedule);

private:
  llvm::Error addLines(llvm::StringRef path, llvm::StringRef text,
                       mlir::MLIRContext *context);
  llvm::Error addLine(llvm::StringRef line, mlir::MLIRContext *context);

  llvm::StringMap<std::vector<TunedSchedule>> schedules;
  mutable llvm::StringSet<> missed;
};

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_TARGET_TUNING_H
