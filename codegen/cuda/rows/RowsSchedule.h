//===- RowsSchedule.h - Schedules of products of a few rows ---------------===//

#ifndef FRIT_CODEGEN_CUDA_ROWS_ROWSSCHEDULE_H
#define FRIT_CODEGEN_CUDA_ROWS_ROWSSCHEDULE_H

#include "codegen/cuda/rows/Codes.h"
#include "codegen/cuda/target/Skeleton.h"

namespace frit::cuda {

/// Returns the codes that a product's matrix B has, if it has codes:
/// code_rows.cuh multiplies by them, and rows_gemm.cuh by numbers.
std::optional<nn::QuantizedMatrix> codesOf(const nn::GemmInfo &info);

/// Rows of A that kernels of a few rows multiply at once.
inline constexpr int64_t kMostTiledRows = 16;

/// Rows of A up to which an SM may have two blocks that multiply by codes; for
/// more it has one, whose warps convert them together.
inline constexpr int64_t kFewCodeRows = 2;

/// KiB of sums of rounds in shared memory: as in code_products.cuh.
inline constexpr int64_t kMostSums = 32;

/// Returns the rows of A of a block.
int64_t rowsOfBlock(const nn::GemmInfo &info, RowsGemmAttr schedule);

/// Returns the blocks that have the same rows of A.
int64_t blocksOfRow(const nn::GemmInfo &info, RowsGemmAttr schedule);

/// Returns the bytes of shared memory of a block, as the kernels compute them.
int64_t sharedBytesOf(const nn::GemmInfo &info, RowsGemmAttr schedule);

/// Returns whether warps share k as a schedule says; of numbers, whether it has
/// nothing that only kernels of codes have.
bool fitsShares(const nn::GemmInfo &info, RowsGemmAttr schedule);

/// Returns whether the blocks of clusters can copy rows of A for each other:
/// what shared_rows.cuh requires.
bool canShareRows(const nn::GemmInfo &info, RowsGemmAttr schedule);

/// Returns the schedule of a product that one of the kernels computes. The
/// order of its sums is the same for up to 16 rows, if enough shared memory is
/// there, and for any number of rows on a machine that is batch-invariant.
RowsGemmAttr chooseRows(const nn::GemmInfo &info, const Machine &machine);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_ROWS_ROWSSCHEDULE_H
