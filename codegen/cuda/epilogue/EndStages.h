//===- EndStages.h - Stages of an epilogue in frit's kernels --------------===//
//
// What the kernels of products know of each kind of stage: whether they compute
// it, what it costs, its text, and its words in tuning files. Each kind has a
// file of this folder, with its device code beside it. A kind without one fails
// to link.
//
// All kernels apply functions (Map) and add operands (Load). Those of
// wgmma_gemm.cuh and wgmma_conv.cuh, and their fallbacks, compute the rest.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_EPILOGUE_ENDSTAGES_H
#define FRIT_CODEGEN_CUDA_EPILOGUE_ENDSTAGES_H

#include "codegen/cuda/scalar/LinalgFusion.h"
#include "dialects/nn/contraction/Contraction.h"

#include <memory>

namespace frit::cuda {

/// Elements of a row per moment or dot product, and of a column per moment; as
/// in moments.cuh.
inline constexpr int64_t kMomentWidth = 64, kMomentHeight = 64;
/// Rows per column sum; as in column_sums.cuh.
inline constexpr int64_t kSumHeight = 16;

/// What stages need of a kernel's tiles.
struct EndNeeds {
  /// Boxes in shared memory through which a box of the result's elements is
  /// read and written.
  int64_t boxesRead = 0, boxesStored = 0;
  /// Whether the warps of a warpgroup exchange moments of columns.
  bool exchangesColumns = false;
  /// Whether a function may take longer than storing its results.
  bool computesLong = false;
  /// Whether threads store the result from registers, not through boxes.
  bool storesRegisters = false;
  /// Sums that an element of the result is computed from.
  int64_t sumsPerResult = 1;
  /// Bytes of an element that such threads read or store for each sum through
  /// boxes, if tiles allow that; or 0.
  int64_t boxedBytes = 0;
};

/// The part of a problem's text that describes its epilogue.
struct EpilogueText {
  const LinalgFusion &lowered;
  /// The kernel's name.
  llvm::StringRef kernel;
  /// Definitions before the problem's struct, and fields of it.
  std::string definitions, fields;
};

/// A stage in frit's kernels.
class StageCode {
public:
  virtual ~StageCode() = default;

  /// Returns why the kernels of WGMMA do not compute the stage for `product`,
  /// whose result has elements of type `result`.
  virtual nn::Legality check(const nn::GemmInfo &product,
                             mlir::Type result) const {
    return std::nullopt;
  }
  virtual void addNeeds(const nn::Epilogue &epilogue, EndNeeds &needs) const {}
  /// Returns fields of the problem that only the kernels of WGMMA read.
  virtual std::string fields() const { return ""; }
  /// Returns its words in a tuning file; none if others imply it.
  virtual llvm::StringRef words() const = 0;
};

/// Return the code of a stage, which must outlive the code. Each kind's file
/// defines one of these.
std::unique_ptr<StageCode> codeOf(const nn::stage::Load &load);
std::unique_ptr<StageCode> codeOf(const nn::stage::Map &map);
std::unique_ptr<StageCode> codeOf(const nn::stage::Gate &gate);
std::unique_ptr<StageCode> codeOf(const nn::stage::Norm &norm);
std::unique_ptr<StageCode> codeOf(const nn::stage::Reduce &reduce);
std::unique_ptr<StageCode> codeOf(const nn::stage::Store &store);

/// Returns why the kernels of WGMMA do not compute a product's epilogue.
nn::Legality checkStages(const nn::GemmInfo &product, mlir::Type result);

/// Returns what all stages of a product need. The residual of one with two
/// matrices B is neither read nor stored.
EndNeeds needsOf(const nn::GemmInfo &product);

/// Returns the words of all stages.
llvm::SmallVector<llvm::StringRef> wordsOf(const nn::Epilogue &epilogue);

/// Returns why the function that a Map applies cannot be printed.
nn::Legality checkFunction(const nn::Epilogue &epilogue,
                           const LinalgFusion &lowered);

/// Adds the type `field`, the function that a Map applies, with a functor if
/// device code has none for it. checkFunction() has passed.
void addFunction(const nn::Epilogue &epilogue, llvm::StringRef field,
                 EpilogueText &text);

/// Adds the text of all stages. checkFunction() has passed.
void addStages(const nn::Epilogue &epilogue, EpilogueText &text);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_EPILOGUE_ENDSTAGES_H
