//===- Remarks.h - -Rpass and -Rpass-missed -------------------------------===//

#ifndef FRIT_COMPILER_DRIVER_REMARKS_H
#define FRIT_COMPILER_DRIVER_REMARKS_H

#include "compiler/report/Report.h"

#include "mlir/IR/MLIRContext.h"

namespace frit {

/// Prints the remarks whose category matches: of what was done, and of what was
/// not. An empty expression matches none. They begin with what `target` names
/// at the time, unless that is empty. `kept` gets those about fusion
/// and schedules, each once, whether they are printed or not; it may be null.
void installRemarks(mlir::MLIRContext &context, llvm::StringRef passed,
                    llvm::StringRef missed, const std::string &target,
                    std::vector<report::Remark> *kept);

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_REMARKS_H
