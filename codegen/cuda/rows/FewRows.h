//===- FewRows.h - Text that kernels of a few rows share ------------------===//

#ifndef FRIT_CODEGEN_CUDA_ROWS_FEWROWS_H
#define FRIT_CODEGEN_CUDA_ROWS_FEWROWS_H

#include "codegen/cuda/contraction/ProblemText.h"
#include "codegen/cuda/target/Skeleton.h"

namespace frit::cuda {

/// The numbers that schedules of rows_gemm.cuh and of the loops like it have.
struct FewRowsSchedule {
  int64_t tiles, stages, split, threads;
  int64_t occupancy = 0, cluster = 1; ///< as in KernelFrame
};
template <class Attr> FewRowsSchedule fewRowsScheduleOf(Attr schedule) {
  return {schedule.getTiles(), schedule.getStages(), schedule.getSplit(),
          schedule.getThreads()};
}

/// A matrix as an argument of a kernel.
struct MatrixText {
  std::string argument;
  bool isConstant; ///< no kernel just before this one writes it
};

/// Finishes the text of a kernel whose shared memory and problem are known, but
/// for the norm of its rows, whether it has two matrices, and its epilogue: a
/// block of `schedule` calls `function`, "frit::rowsGemm". Leaves the grid.
void printFewRows(KernelText &kernel, ProblemText &text,
                  const nn::GemmInfo &info, const LinalgFusion &lowered,
                  FewRowsSchedule schedule, llvm::StringRef name,
                  llvm::StringRef function,
                  llvm::function_ref<MatrixText(mlir::Value)> printMatrix);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_ROWS_FEWROWS_H
