//===- ModelInput.h - The model that is compiled --------------------------===//

#ifndef FRIT_COMPILER_DRIVER_MODELINPUT_H
#define FRIT_COMPILER_DRIVER_MODELINPUT_H

#include "codegen/artifact/EmbedWeights.h"
#include "compiler/driver/Options.h"
#include "compiler/padding/ImportVariants.h"

namespace frit {

/// The model as it was imported: once, or for each of several sizes of the
/// dimensions that it leaves open.
struct ModelInput {
  /// Reads the model that the options name. Where something is wrong with what
  /// it says, that has been reported and the model has no modules.
  llvm::Error read(const DriverOptions &options, mlir::MLIRContext &context);

  ModelVariants model;
  /// The files of weights, which the context keeps mapped.
  std::vector<artifact::MappedFile> mapped;
};

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_MODELINPUT_H
