//===- CudaTarget.h - The target of NVIDIA GPUs ---------------------------===//

#ifndef FRIT_CODEGEN_CUDA_TARGET_CUDATARGET_H
#define FRIT_CODEGEN_CUDA_TARGET_CUDATARGET_H

#include "codegen/cuda/target/GpuArch.h"
#include "dialects/nn/Target.h"

#include <optional>
#include <string>

namespace frit::cuda {
class Problem;
class Tuning;

struct CudaOptions {
  std::string arch = "sm_90a";
  /// The GPU whose sizes decide the schedules of code for its architecture; if
  /// there is none, those of the usual device do.
  std::optional<GpuArch> gpu;
  /// Whether matrix products may use cuBLASLt, and convolutions and attention
  /// cuDNN. Frit's own kernels are their fallback.
  bool cublas = true;
  bool cudnn = true;
  /// Whether to exclude libraries' algorithms whose results differ from call to
  /// call.
  bool deterministic = false;
  /// Whether a row has the same bits among any number of rows. Libraries and
  /// timed schedules, which sum in other orders, are not used then.
  bool batchInvariant = false;
  /// Timed schedules, preferred to those of the cost model; may be null.
  const Tuning *tuning = nullptr;

  /// Returns the device that code for `arch` is scheduled for.
  GpuArch device() const {
    return gpu && gpu->name == arch ? *gpu : describeArch(arch);
  }
};

class CudaTarget : public nn::Target {
public:
  explicit CudaTarget(CudaOptions options);

  llvm::StringRef arch() const override { return options.arch; }
  bool overwritesState() const override { return true; }
  bool needsFallbacks() const override { return true; }
  int64_t workspaceBytes() const override { return 32 << 20; }
  /// Seconds of NVRTC for a product of BERT.
  double compileSeconds() const override { return 0.15; }
  void populateRewrites(nn::TargetRewrites &rewrites) const override;
  bool keepsWhole(nn::CompositeOp composite) const override;
  bool canUseView(nn::CompositeOp composite, mlir::Type element,
                  const nn::StridedPlaces &places) const override;
  bool canFuseCodes(nn::MatmulOp product) const override;
  bool canFuseNorm(nn::MatmulOp product) const override;
  bool canFusePair(llvm::ArrayRef<mlir::Operation *> operators) const override;
  bool canFuseEpilogue(llvm::ArrayRef<mlir::Operation *> fused,
                       mlir::Operation *next) const override;
  nn::KernelSize largestKernel() const override;
  bool guards(const nn::Work &work) const override;
  std::optional<nn::StepCost> cost(nn::FusionOp fusion) const override;
  std::optional<nn::BranchCosts> branchCosts() const override;
  void getDialects(mlir::DialectRegistry &registry) const override;
  nn::Schedule schedule(nn::FusionOp fusion) const override;

  /// Returns the schedules that may be the fastest for a contraction or
  /// attention, the default first, with at most the `most` best tiles of each
  /// skeleton. Empty for other fusions.
  llvm::SmallVector<nn::Schedule> candidates(nn::FusionOp fusion,
                                             unsigned most) const;

  const Machine &machine() const { return device; }

private:
  llvm::SmallVector<nn::Schedule> candidates(Problem &problem,
                                             unsigned most) const;

  CudaOptions options;
  Machine device;
};

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_TARGET_CUDATARGET_H
