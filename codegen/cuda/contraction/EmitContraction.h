//===- EmitContraction.h - What emitters of contractions share ------------===//

#ifndef FRIT_CODEGEN_CUDA_CONTRACTION_EMITCONTRACTION_H
#define FRIT_CODEGEN_CUDA_CONTRACTION_EMITCONTRACTION_H

#include "codegen/cuda/target/Emit.h"
#include "dialects/nn/ContractionInfo.h"

namespace frit::cuda {

/// The struct of constants that a skeleton is given, its epilogue's functor
/// before it, and the names of the kernel's parameters.
class ProblemText {
public:
  ProblemText(const LinalgFusion &lowered, llvm::StringRef name)
      : lowered(lowered), name(name) {}

  /// Adds `Epilogue`, and the functor where the skeletons have none.
  llvm::LogicalResult addEpilogue(const nn::EpilogueInfo &info,
                                  std::string &failure,
                                  llvm::StringRef field = "Epilogue");
  /// "using A = frit::f16;", the type as `v` is stored; without a value the
  /// result's.
  void addType(llvm::StringRef field, mlir::Value v);
  /// "static constexpr int64_t m = 8, n = 4;" from pairs of name and value.
  void addConstants(llvm::StringRef type,
                    llvm::ArrayRef<std::pair<llvm::StringRef, int64_t>> fields);
  /// What norm.cuh wants, if anything; and the kernel's parameters for it,
  /// after a comma.
  void addNorm(const nn::EpilogueInfo &info);
  std::string normParameters(const nn::EpilogueInfo &info) const;
  void addGemm(const nn::GemmInfo &info);
  void addConv(const nn::ConvInfo &info);
  /// A struct of its own, which has the problem's fields but for what an addend
  /// has otherwise.
  void addAddend(const nn::ConvInfo &addend);

  /// Everything that was added, and "NAME_problem", "NAME_addend".
  std::string definition() const;
  std::string problem() const { return (name + "_problem").str(); }
  std::string addend() const { return (name + "_addend").str(); }

  /// "x0", or "nullptr" where there is no value.
  std::string parameter(mlir::Value v) const;
  /// The same for what the skeleton asks whether it is there.
  std::string optional(mlir::Value v) const {
    return v ? "frit::present(" + parameter(v) + ")" : "nullptr";
  }
  unsigned argument(mlir::Value v) const;
  /// Whether no kernel that may run just before this one writes `v`.
  bool isConstant(mlir::Value v) const;

private:
  const LinalgFusion &lowered;
  llvm::StringRef name;
  /// Puts what is convolved under windows into `fields`.
  void addWindows(const nn::ConvInfo &info);

  std::string functor, fields, addendFields;
};

/// The kernel that merges moments of rows (norm.cuh).
KernelText emitMergeMoments(nn::FusionOp fusion, const LinalgFusion &lowered,
                            llvm::StringRef name, nn::ScheduleAttr schedule);

/// Kernels of the wgmma skeletons.
llvm::FailureOr<KernelText> emitWgmmaGemm(const nn::GemmInfo &info,
                                          const LinalgFusion &lowered,
                                          llvm::StringRef name,
                                          nn::ScheduleAttr schedule,
                                          std::string &failure);
llvm::FailureOr<KernelText> emitWgmmaConv(const nn::ConvInfo &info,
                                          const LinalgFusion &lowered,
                                          llvm::StringRef name,
                                          nn::ScheduleAttr schedule,
                                          std::string &failure);

/// Schedules for a fusion that is one contraction, the one that the model says
/// is fastest first: the `most` fastest tiles, or all with ~0u, and, unless
/// only one is asked for, what else may run it. Empty for others, with the
/// reason.
llvm::SmallVector<nn::ScheduleAttr>
contractionSchedules(nn::FusionOp fusion, const CudaOptions &options,
                     unsigned most, std::string &reason);

/// Whether the target has the wgmma skeletons.
bool hasWgmma(const CudaOptions &options);
/// Whether cuBLASLt or cuDNN compute a contraction and what follows it.
bool libraryTakes(const nn::EpilogueInfo &info, const CudaOptions &options);
/// Whether a contraction should be one kernel with what `info` describes.
bool takesEpilogue(mlir::Operation *contraction, const nn::EpilogueInfo &info,
                   const CudaOptions &options);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_CONTRACTION_EMITCONTRACTION_H
