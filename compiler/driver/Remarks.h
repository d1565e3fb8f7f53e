//===- Remarks.h - -Rpass and -Rpass-missed -------------------------------===//

#ifndef FRIT_COMPILER_DRIVER_REMARKS_H
#define FRIT_COMPILER_DRIVER_REMARKS_H

#include "compiler/report/Report.h"

#include "mlir/IR/MLIRContext.h"

namespace frit {

/// Returns the categories of remarks: of applied optimizations, or of missed
/// ones.
llvm::ArrayRef<llvm::StringRef> remarkCategories(bool isMissed);

/// Prints the remarks whose category matches: `passed` for applied
/// optimizations, `missed` for missed ones. An empty expression matches none.
/// Each remark begins with the current `target`, unless that is empty. `kept`,
/// which may be null, collects all about fusion, quantization and schedules,
/// each once.
void installRemarks(mlir::MLIRContext &context, llvm::StringRef passed,
                    llvm::StringRef missed, const std::string &target,
                    std::vector<report::Remark> *kept);

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_REMARKS_H
