//===- WeightsFile.h - Weights from a file, to begin with -----------------===//

#ifndef FRIT_TOOLS_FRIT_TRAIN_WEIGHTS_WEIGHTSFILE_H
#define FRIT_TOOLS_FRIT_TRAIN_WEIGHTS_WEIGHTSFILE_H

#include "tools/support/Bytes.h"

#include <string>
#include <vector>

namespace frit::train {

using namespace tools;

/// Weights that were read from a file.
struct LoadedWeights {
  /// Have names, types and shapes of the state that they are for.
  std::vector<TensorView> tensors;
  std::vector<std::string> missing; ///< weights that the file does not have
};

/// Reads values for `wanted`, whose elements are not read, from the safetensors
/// file at `path`: an export, a checkpoint of frit-train, of which the weights
/// count, or another program's. Tensors are found by name and must have the
/// same shape; floats of other types are converted. Integers are left out, for
/// no weight is one.
///
/// The file must have all weights and no others, unless `isPartial`: then those
/// that it has count, of which there must be one. The fault names what does not
/// fit. Elements of equal type point into the file, which stays mapped.
Fault readWeights(const std::string &path,
                  const std::vector<TensorView> &wanted, bool isPartial,
                  LoadedWeights &weights);

/// Returns names as text, the first few of them: "'a', 'b' and 7 more".
std::string someNames(const std::vector<std::string> &names);

} // namespace frit::train

#endif // FRIT_TOOLS_FRIT_TRAIN_WEIGHTS_WEIGHTSFILE_H
