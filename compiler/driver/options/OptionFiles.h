//===- OptionFiles.h - Files that fritc's options name --------------------===//

#ifndef FRIT_COMPILER_DRIVER_OPTIONS_OPTIONFILES_H
#define FRIT_COMPILER_DRIVER_OPTIONS_OPTIONFILES_H

#include "codegen/cuda/target/Tuning.h"
#include "compiler/driver/options/Options.h"
#include "compiler/import/CustomSpec.h"
#include "compiler/training/TrainingOptions.h"

namespace frit {

/// Reads the file of --train and adds the training options of the command line.
/// An error names the file and the key.
llvm::Expected<TrainingOptions> readTraining(const DriverOptions &options);

/// Reads the files of --custom-op. Fails if two files define the same operator.
llvm::Expected<std::vector<CustomSpec>>
readCustomOps(llvm::ArrayRef<std::string> paths);

/// Adds the schedules that come with frit, and those of the file of -ftune-use,
/// to `tuning`.
llvm::Error readTuning(const DriverOptions &options, mlir::MLIRContext &context,
                       cuda::Tuning &tuning);

/// Adds the schedules of the file of -ftune-generate, if it exists. It is an
/// output too: call this once all inputs are known and outputs are checked.
llvm::Error readTuningToExtend(const DriverOptions &options,
                               mlir::MLIRContext &context,
                               cuda::Tuning &tuning);

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_OPTIONS_OPTIONFILES_H
