//===- OpenShapes.h - Symbolic and data-dependent shapes ------------------===//
//
// A plan is static: a model with symbolic dimensions is compiled once per
// combination of their sizes. These structures tell the runtime how to choose
// among the variants; frit/artifact.h has the same in binary form.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_DIALECTS_PLAN_OPENSHAPES_H
#define FRIT_DIALECTS_PLAN_OPENSHAPES_H

#include "dialects/plan/Strings.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"

#include <optional>
#include <string>
#include <vector>

namespace frit::plan {

/// The length of a dimension in a call: factor · ⌊(size + shift) / divisor⌋ +
/// offset, where `size` is that of a symbol, or a count that the call computes.
/// At most one of both is set; with neither, the dimension always has the
/// variant's length. Only outputs whose length depends on a symbol divide.
struct Extent {
  std::optional<unsigned> symbol; ///< index into OpenShapes::symbols
  std::optional<unsigned> count;  ///< index into the variant's counts
  int64_t factor = 0, offset = 0;
  int64_t divisor = 1, shift = 0;
};

/// Elements of a tensor that the model takes as indices: those of a box.
struct IndexRange {
  llvm::SmallVector<int64_t> first, sizes;
  int64_t least = 0, most = 0;
  int64_t other = 0; ///< is taken too; `least` if there is none
  std::string use;   ///< of the indices, for messages
  /// The bounds of a call, where they depend on a symbol: lengths, which may be
  /// negative.
  Extent leastOf, mostOf;
};

using IndexRanges = llvm::SmallVector<IndexRange, 0>;

/// A symbolic dimension, such as "batch". A call may give it any multiple of
/// `multiple` in [least, most] that a variant has or, if it is `padded`, any
/// below that of a variant.
struct OpenSymbol {
  std::string name;
  int64_t least = 1, most = 1;
  bool padded = false;
  int64_t multiple = 1;
};

/// The symbols' sizes in one variant, and the extents of its inputs and
/// outputs: one per dimension, or none if all dimensions are static.
struct OpenVariant {
  llvm::SmallVector<int64_t> sizes;
  std::vector<llvm::SmallVector<Extent>> inputs, outputs;
  /// Per input and output, the indices in it; those of a count are the ones
  /// that it checks.
  std::vector<IndexRanges> inputIndices, outputIndices;
};

/// The symbolic dimensions of a function. No variants if all shapes are static;
/// otherwise in the order of each program's main lists.
struct OpenShapes {
  std::vector<OpenSymbol> symbols;
  std::vector<OpenVariant> variants;
  /// Number of counts, which are the last outputs.
  unsigned counts = 0;
  /// Symbols whose true sizes are the last inputs, one each.
  llvm::SmallVector<unsigned> sizes;
  Strings strings;
};

/// The shapes of each function, by name. One without an entry has static
/// shapes.
using FunctionShapes = llvm::StringMap<OpenShapes>;

} // namespace frit::plan

#endif // FRIT_DIALECTS_PLAN_OPENSHAPES_H
