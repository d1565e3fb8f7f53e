//===- CpuTarget.h - The CPU target ---------------------------------------===//

#ifndef FRIT_CODEGEN_CPU_CPUTARGET_H
#define FRIT_CODEGEN_CPU_CPUTARGET_H

#include "dialects/nn/Target.h"

namespace frit::cpu {

/// A CPU target of frit/host_arch.h. Contractions call the runtime's kernels;
/// everything else is compiled.
class CpuTarget final : public nn::Target {
public:
  explicit CpuTarget(llvm::StringRef arch) : name(arch) {}

  llvm::StringRef arch() const override { return name; }
  bool isHost() const override { return true; }
  double compileSeconds() const override { return 0.02; }
  void populateRewrites(nn::TargetRewrites &rewrites) const override;
  bool keepsWhole(nn::CompositeOp composite) const override;
  bool canUseView(nn::CompositeOp composite, mlir::Type element,
                  const nn::StridedPlaces &places) const override;
  bool canFuseCodes(nn::MatmulOp product) const override;
  bool canFuseEpilogue(llvm::ArrayRef<mlir::Operation *> fused,
                       mlir::Operation *next) const override;
  nn::KernelSize largestKernel() const override;
  bool guards(const nn::Work &work) const override;
  void getDialects(mlir::DialectRegistry &registry) const override;
  nn::Schedule schedule(nn::FusionOp fusion) const override;

private:
  std::string name;
};

} // namespace frit::cpu

#endif // FRIT_CODEGEN_CPU_CPUTARGET_H
