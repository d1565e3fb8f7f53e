//===- RoundedWeights.h - Weights that the functions of a model share -----===//

#ifndef FRIT_COMPILER_TRANSFORM_QUANTIZE_ROUNDEDWEIGHTS_H
#define FRIT_COMPILER_TRANSFORM_QUANTIZE_ROUNDEDWEIGHTS_H

#include "compiler/transform/quantize/WeightCodes.h"

#include "mlir/Pass/Pass.h"

#include <map>
#include <tuple>

namespace frit {

/// The codes of weights by value, whether it is transposed, and format. The
/// functions of a model share them.
using RoundedWeights = std::map<std::tuple<const void *, bool, int, int64_t>,
                                std::optional<WeightCodes>>;

/// Creates the pass quantize-weights for a format that readWeightFormat reads.
/// `rounded` must outlive it; if it is null, the pass has codes of its own.
std::unique_ptr<mlir::Pass>
createQuantizeWeights(llvm::StringRef format = "int8",
                      RoundedWeights *rounded = nullptr);

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_QUANTIZE_ROUNDEDWEIGHTS_H
