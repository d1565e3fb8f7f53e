//===- Shrink.h - Smaller sizes, simpler numbers, shorter bodies ----------===//

#ifndef FRIT_REDUCE_SHRINK_H
#define FRIT_REDUCE_SHRINK_H

#include "tools/frit-reduce/Model.h"

namespace frit::reduce {

/// The sizes past 1 of the dimensions of inputs and weights, largest first.
std::vector<int64_t> sizesOf(const onnx::ModelProto &model);

/// What sizes become.
struct NewSize {
  int64_t from, to;  ///< which is less
  bool ofMultiples;  ///< those of `from` become as many of `to`
  bool inAttributes; ///< whose numbers may be sizes

  int64_t operator()(int64_t size) const {
    if (size == from)
      return to;
    return ofMultiples && size > 0 && size % from == 0 ? size / from * to
                                                       : size;
  }
};

/// Changes the sizes of dimensions, in subgraphs and in what is known as well:
/// declared types, and weights, which keep their first elements. Small integer
/// tensors may hold sizes, so those numbers change too. False where a weight's
/// data cannot be cut.
bool resize(onnx::ModelProto &model, Knowledge &known, const NewSize &newSize);

/// How many numbers the attributes have.
unsigned countNumbers(const onnx::ModelProto &model);

/// Makes the number at `index` simpler, in the way `way`: 0, 1, or half of it
/// without a fraction. False where that is none.
bool simplifyNumber(onnx::ModelProto &model, unsigned index, unsigned way);
inline constexpr unsigned numWays = 3;

/// A node of a subgraph that may be left out, readers of its first result
/// getting its first operand. False where there is none at `index`.
bool leaveOutOfBody(onnx::ModelProto &model, unsigned index);

/// Puts a branch of an `If` in the place of the If. False where there is none
/// at `index`, which counts branches of the If nodes outside subgraphs.
bool takeBranch(onnx::ModelProto &model, unsigned index);

} // namespace frit::reduce

#endif // FRIT_REDUCE_SHRINK_H
