//===- ProblemText.h - A contraction as constants of a C++ struct ---------===//

#ifndef FRIT_CODEGEN_CUDA_CONTRACTION_PROBLEMTEXT_H
#define FRIT_CODEGEN_CUDA_CONTRACTION_PROBLEMTEXT_H

#include "codegen/cuda/epilogue/EndStages.h"
#include "codegen/cuda/scalar/KernelText.h"
#include "dialects/nn/Match.h"
#include "dialects/nn/contraction/Contraction.h"

namespace frit::cuda {

/// Collects the constants of a device function's parameter P, a struct, and the
/// text of its epilogue. Names the kernel's parameters.
class ProblemText {
public:
  ProblemText(const LinalgFusion &lowered, llvm::StringRef name)
      : lowered(lowered), name(name), text{lowered, name, "", ""} {}

  /// Adds the type `field`, the epilogue's function. checkFunction() has
  /// passed.
  void addFunction(const nn::Epilogue &epilogue,
                   llvm::StringRef field = "Epilogue") {
    cuda::addFunction(epilogue, field, text);
  }
  /// Adds all stages of an epilogue. checkFunction() has passed.
  void addStages(const nn::Epilogue &epilogue) {
    cuda::addStages(epilogue, text);
  }
  /// Adds "using A = frit::f16;", the storage type of `v`, or of the result if
  /// `v` is null.
  void addType(llvm::StringRef field, mlir::Value v);
  /// Adds "static constexpr int64_t m = 8, n = 4;" from pairs of name and
  /// value.
  void addConstants(llvm::StringRef type,
                    llvm::ArrayRef<std::pair<llvm::StringRef, int64_t>> fields);
  /// Adds a field's declaration.
  void addField(const llvm::Twine &declaration);
  /// Returns the kernel's argument EndOperands, after a comma, or "".
  std::string endOperands(const nn::Epilogue &epilogue) const;
  void addGemm(const nn::GemmInfo &info);
  void addConv(const nn::ConvInfo &info);
  /// Adds a second struct for the addend. It inherits the problem's fields and
  /// overrides those that differ.
  void addAddend(const nn::ConvInfo &addend);

  /// Prints everything that was added.
  std::string definition() const;
  /// Return "NAME_problem" and "NAME_addend".
  std::string problem() const { return (name + "_problem").str(); }
  std::string addend() const { return (name + "_addend").str(); }

  /// Returns "x0", or "nullptr" for a null value.
  std::string parameter(mlir::Value v) const;
  /// Returns a parameter that device code may test for absence.
  std::string optional(mlir::Value v) const {
    return v ? "frit::present(" + parameter(v) + ")" : "nullptr";
  }
  unsigned argument(mlir::Value v) const;
  /// Returns whether no kernel that may run just before this one writes `v`.
  bool isConstant(mlir::Value v) const;

private:
  const LinalgFusion &lowered;
  llvm::StringRef name;
  void addWindows(const nn::ConvInfo &info);

  EpilogueText text;
  std::string addendFields;
};

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_CONTRACTION_PROBLEMTEXT_H
