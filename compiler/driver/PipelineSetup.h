//===- PipelineSetup.h - What a command line asks of the pipeline ---------===//

#ifndef FRIT_COMPILER_DRIVER_PIPELINESETUP_H
#define FRIT_COMPILER_DRIVER_PIPELINESETUP_H

#include "compiler/driver/options/Options.h"
#include "compiler/pipeline/Pipeline.h"

namespace frit {

/// Returns the pipeline's options for a command line, except what is read from
/// files, callbacks, and the name of the file of weights.
PipelineOptions pipelineOptionsOf(const DriverOptions &options);

/// Reads the models of a command line, and returns the functions that they
/// become. `onMap` is called with each of their files of weights and its
/// mapping. No output may replace a file that is read.
llvm::Expected<std::vector<ModelSource>> readSources(
    const DriverOptions &options,
    std::function<void(llvm::StringRef path, llvm::StringRef bytes)> onMap);

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_PIPELINESETUP_H
