//===- SearchWeights.h - Round weights by data ----------------------------===//
//
// -fweights with --calibrate: the model runs in its own precision over data on
// this machine's processor, and what its products read decides how their
// weights are rounded (SearchCodes.h).
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_DRIVER_QUANTIZE_SEARCHWEIGHTS_H
#define FRIT_COMPILER_DRIVER_QUANTIZE_SEARCHWEIGHTS_H

#include "compiler/driver/options/Options.h"
#include "compiler/driver/quantize/SampleRunner.h"
#include "compiler/transform/quantize/RoundedWeights.h"

#include "mlir/IR/BuiltinOps.h"

namespace frit {

/// Adds codes of weights of `model` in the format `weights` to `rounded`. Data
/// are for calls of the model; one of a language model starts with empty caches
/// and counts all its tokens. `tell` gets a line for the user. An error without
/// a text has been reported.
llvm::Error searchWeights(mlir::ModuleOp model, llvm::StringRef weights,
                          const QuantizationOptions &options,
                          SampleRunner &runner, RoundedWeights &rounded,
                          llvm::function_ref<void(const llvm::Twine &)> tell);

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_QUANTIZE_SEARCHWEIGHTS_H
