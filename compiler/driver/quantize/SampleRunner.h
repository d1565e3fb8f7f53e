//===- SampleRunner.h - Run models over the user's data -------------------===//

#ifndef FRIT_COMPILER_DRIVER_QUANTIZE_SAMPLERUNNER_H
#define FRIT_COMPILER_DRIVER_QUANTIZE_SAMPLERUNNER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

namespace frit {

/// Runs models on this machine's processor with the data of --calibrate.
class SampleRunner {
public:
  virtual ~SampleRunner() = default;

  /// Reads the data.
  virtual llvm::Error read(llvm::StringRef path) = 0;

  /// Opens an artifact, of which `ownInputs` inputs, the last ones, are not in
  /// the data. Fails if the data do not fit the others.
  virtual llvm::Error open(llvm::StringRef artifact, unsigned ownInputs) = 0;

  /// Returns the number of calls that the data are for; at least 1 once an
  /// artifact is open.
  virtual size_t count() const = 0;

  /// Runs call `index`. `own` are the elements of the last input, f32, if it is
  /// not in the data. `visit` gets each output as numbers.
  virtual llvm::Error
  run(size_t index, llvm::ArrayRef<float> own,
      llvm::function_ref<void(unsigned output, llvm::ArrayRef<float>)>
          visit) = 0;
};

} // namespace frit

#endif // FRIT_COMPILER_DRIVER_QUANTIZE_SAMPLERUNNER_H
