//===- TrainingFile.h - Read the file of --train --------------------------===//

#ifndef FRIT_COMPILER_DRIVER_OPTIONS_TRAININGFILE_H
#define FRIT_COMPILER_DRIVER_OPTIONS_TRAININGFILE_H

#include "compiler/training/TrainingOptions.h"

#include "llvm/Support/Error.h"

namespace frit {

/// Reads the options of a training step from a JSON file. All keys are optional
/// but `loss.kind` and `optimizer.kind`; compiler/driver/training-file.md lists
/// them. An unknown key or a value out of range is an error that names it.
llvm::Expected<TrainingOptions> readTrainingFile(llvm::StringRef path);

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_OPTIONS_TRAININGFILE_H
