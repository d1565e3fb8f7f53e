//===- OpenShapes.h - The shapes that a model leaves open -----------------===//
//
// A plan is static: a model with open dimensions is compiled once for each
// combination of their sizes. This says what the runtime needs to choose among
// these variants; frit/artifact.h has the same as bytes.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_DIALECTS_PLAN_OPENSHAPES_H
#define FRIT_DIALECTS_PLAN_OPENSHAPES_H

#include "llvm/ADT/SmallVector.h"

#include <optional>
#include <string>
#include <vector>

namespace frit::plan {

/// The length of a dimension in a call: factor · size + offset, where `size` is
/// that of a symbol or a count that the call computes. At most one of both is
/// set; without either the dimension is always as long as in the variant.
struct Extent {
  std::optional<unsigned> symbol; ///< index into OpenShapes::symbols
  std::optional<unsigned> count;  ///< index into the variant's counts
  int64_t factor = 0, offset = 0;
};

/// A dimension that the model leaves open, "batch". Calls may give it any size
/// in [least, most] that a variant has or, where it is `padded`, that is
/// smaller than one.
struct OpenSymbol {
  std::string name;
  int64_t least = 1, most = 1;
  bool padded = false;
};

/// The symbols' sizes in one variant and, for each of its inputs and outputs,
/// an extent per dimension, or none where the whole shape is fixed.
struct OpenVariant {
  llvm::SmallVector<int64_t> sizes;
  std::vector<llvm::SmallVector<Extent>> inputs, outputs;
};

/// All that is open in a model; without variants where nothing is. Variants are
/// in the order of each program's main lists.
struct OpenShapes {
  std::vector<OpenSymbol> symbols;
  std::vector<OpenVariant> variants;
  /// How many of the outputs, the last ones, are counts.
  unsigned counts = 0;
  /// The symbols whose sizes are the last inputs, one each.
  llvm::SmallVector<unsigned> sizes;
};

} // namespace frit::plan

#endif // FRIT_DIALECTS_PLAN_OPENSHAPES_H
