//===- CudaDialect.cpp - The schedules of NVIDIA GPUs ---------------------===//

#include "codegen/cuda/target/CudaDialect.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

#include "llvm/ADT/TypeSwitch.h"

#include "codegen/cuda/target/Dialect.cpp.inc"

#define GET_ATTRDEF_CLASSES
#include "codegen/cuda/target/Attributes.cpp.inc"

using namespace mlir;

void frit::cuda::CudaDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "codegen/cuda/target/Attributes.cpp.inc"
      >();
}

LogicalResult
frit::cuda::require(llvm::function_ref<InFlightDiagnostic()> emitError,
                    bool holds, StringRef field, StringRef what) {
  if (holds)
    return success();
  return emitError() << "'" << field << "' must be " << what;
}

LogicalResult
frit::cuda::requireBlock(llvm::function_ref<InFlightDiagnostic()> emitError,
                         int64_t threads) {
  return require(emitError, isBlock(threads), "threads",
                 "a multiple of 32 of at most 1024");
}

LogicalResult
frit::cuda::requireRanges(llvm::function_ref<InFlightDiagnostic()> emitError,
                          ArrayRef<NumberRange> numbers) {
  for (const NumberRange &number : numbers)
    if (number.value < number.least || number.value > number.most)
      return emitError() << "'" << number.field << "' must be from "
                         << number.least << " to " << number.most;
  return success();
}
