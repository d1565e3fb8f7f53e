//===- RunningStatistics.h - Batch norms' statistics as state -------------===//

#ifndef FRIT_COMPILER_TRAINING_OPTIMIZER_RUNNINGSTATISTICS_H
#define FRIT_COMPILER_TRAINING_OPTIMIZER_RUNNINGSTATISTICS_H

#include "compiler/training/optimizer/States.h"

#include <optional>

namespace frit {

/// Turns the running statistics of batch norms into state. All of them move at
/// once towards the batch's statistics, the function's results with
/// `nn.statistic`, by `chosen`, or else by each norm's momentum.
void addRunningStatistics(mlir::func::FuncOp main, States &states,
                          std::optional<double> chosen);

} // namespace frit

#endif // FRIT_COMPILER_TRAINING_OPTIMIZER_RUNNINGSTATISTICS_H
