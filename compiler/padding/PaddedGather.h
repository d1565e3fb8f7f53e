//===- PaddedGather.h - Selections from padded inputs ---------------------===//

#ifndef FRIT_COMPILER_PADDING_PADDEDGATHER_H
#define FRIT_COMPILER_PADDING_PADDEDGATHER_H

#include "compiler/padding/ValuePairs.h"
#include "compiler/padding/values/PaddedValue.h"

namespace frit {

/// What a gather by constant indices makes of a padded dimension.
struct PaddedGather {
  PaddedValue result;
  /// Whether it is right only if the large model's indices are limited to the
  /// last element of the small model's dimension, as resizing does at the end.
  bool isLimited;
};

/// Compares a gather along a dimension that is padded in `x`, by indices that
/// are constants of both models. Returns nothing if it is not right, with or
/// without a limit.
std::optional<PaddedGather> padGather(nn::GatherOp small, nn::GatherOp large,
                                      const PaddedValue &x,
                                      EvaluatedConstants &evaluated);

/// Compares gathers of a padded dimension by indices that are computed of its
/// size: limited to 0 and to its last element, of the small model in the small
/// one, as importers write places between elements. Nothing for other indices.
std::optional<PaddedValue> padLimitedGather(nn::GatherOp small,
                                            nn::GatherOp large,
                                            const PaddedValue &x,
                                            const PaddedValue &indices);

/// Compares selections from a dimension whose elements may have an offset in
/// `x`, by indices that are constants of both models: those of the large one
/// are greater by the offset. Tables of relative positions are read so.
std::optional<PaddedValue> padElements(nn::GatherElementsOp small,
                                       nn::GatherElementsOp large,
                                       const PaddedValue &x,
                                       EvaluatedConstants &evaluated);

} // namespace frit

#endif // FRIT_COMPILER_PADDING_PADDEDGATHER_H
