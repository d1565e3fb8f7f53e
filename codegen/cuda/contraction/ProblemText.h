//===- ProblemText.h - A contraction as constants of a C++ struct ---------===//

#ifndef FRIT_CODEGEN_CUDA_CONTRACTION_PROBLEMTEXT_H
#define FRIT_CODEGEN_CUDA_CONTRACTION_PROBLEMTEXT_H

#include "codegen/cuda/scalar/KernelText.h"
#include "dialects/nn/ContractionInfo.h"
#include "dialects/nn/Match.h"

namespace frit::cuda {

/// Collects the constants of the struct that device code takes as its parameter
/// P, and the functor of its epilogue, which stands before it; and names the
/// kernel's parameters.
class ProblemText {
public:
  ProblemText(const LinalgFusion &lowered, llvm::StringRef name)
      : lowered(lowered), name(name) {}

  /// Adds the type `field` of what follows the sum, and a functor of its own
  /// where device code has none for it.
  nn::Legality addEpilogue(const nn::EpilogueInfo &info,
                           llvm::StringRef field = "Epilogue");
  /// Adds "using A = frit::f16;", the type that `v` is stored as, or the
  /// result's where there is no `v`.
  void addType(llvm::StringRef field, mlir::Value v);
  /// "static constexpr int64_t m = 8, n = 4;" from pairs of name and value.
  void addConstants(llvm::StringRef type,
                    llvm::ArrayRef<std::pair<llvm::StringRef, int64_t>> fields);
  /// Adds what norm.cuh needs to know, if anything, and names the kernel's
  /// parameters for it, after a comma.
  void addNorm(const nn::EpilogueInfo &info);
  std::string normParameters(const nn::EpilogueInfo &info) const;
  void addGemm(const nn::GemmInfo &info);
  void addConv(const nn::ConvInfo &info);
  /// Adds a second struct, which inherits the problem's fields and overrides
  /// those in which the addend differs.
  void addAddend(const nn::ConvInfo &addend);

  /// Prints everything that was added.
  std::string definition() const;
  /// "NAME_problem", "NAME_addend".
  std::string problem() const { return (name + "_problem").str(); }
  std::string addend() const { return (name + "_addend").str(); }

  /// "x0", or "nullptr" where there is no value.
  std::string parameter(mlir::Value v) const;
  /// Returns a parameter that device code may find absent.
  std::string optional(mlir::Value v) const {
    return v ? "frit::present(" + parameter(v) + ")" : "nullptr";
  }
  unsigned argument(mlir::Value v) const;
  /// Whether no kernel that may run just before this one writes `v`.
  bool isConstant(mlir::Value v) const;

private:
  const LinalgFusion &lowered;
  llvm::StringRef name;
  void addWindows(const nn::ConvInfo &info);

  std::string functor, fields, addendFields;
};

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_CONTRACTION_PROBLEMTEXT_H
