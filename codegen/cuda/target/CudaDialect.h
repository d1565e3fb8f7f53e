//===- CudaDialect.h - The schedules of NVIDIA GPUs -----------------------===//

#ifndef FRIT_CODEGEN_CUDA_TARGET_CUDADIALECT_H
#define FRIT_CODEGEN_CUDA_TARGET_CUDADIALECT_H

#include "dialects/nn/Schedule.h"
#include "dialects/plan/LibraryCall.h"

#include "mlir/IR/Dialect.h"

#include "codegen/cuda/target/Dialect.h.inc"

#define GET_ATTRDEF_CLASSES
#include "codegen/cuda/target/Attributes.h.inc"

namespace frit::cuda {

/// Verifies a field of a schedule: fails unless `holds`, with an error that
/// says what `field` must be.
llvm::LogicalResult
require(llvm::function_ref<mlir::InFlightDiagnostic()> emitError, bool holds,
        llvm::StringRef field, llvm::StringRef what);

/// A number of a schedule and the range of its legal values.
struct NumberRange {
  llvm::StringRef field;
  int64_t value, least, most;
};
/// Verifies that numbers are in their ranges: fails with an error that names
/// the first field that is not, and its range. Call it before any arithmetic on
/// the numbers, which come from files.
llvm::LogicalResult
requireRanges(llvm::function_ref<mlir::InFlightDiagnostic()> emitError,
              llvm::ArrayRef<NumberRange> numbers);

/// Verifies the threads of a block: whole warps, at most 1024.
llvm::LogicalResult
requireBlock(llvm::function_ref<mlir::InFlightDiagnostic()> emitError,
             int64_t threads);

/// Maximum elements that a thread keeps or reads at a time: twice those of
/// 16 bits that its registers hold.
inline constexpr int64_t kMostPerThread = 1024;
/// Maximum stages of a pipeline in shared memory.
inline constexpr int64_t kMostStages = 64;
/// Maximum blocks of a persistent kernel: many more than run at a time.
inline constexpr int64_t kMostBlocks = 1 << 16;

/// Returns whether `value` is a power of two, at most `most`.
inline bool isPowerOf2UpTo(int64_t value, int64_t most) {
  return value > 0 && value <= most && (value & (value - 1)) == 0;
}
/// Returns whether a block may have this many threads: whole warps.
inline bool isBlock(int64_t threads) {
  return threads > 0 && threads <= 1024 && threads % 32 == 0;
}

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_TARGET_CUDADIALECT_H
