//===- Shrink.h - Shrink sizes, numbers and subgraphs ---------------------===//

#ifndef FRIT_TOOLS_FRIT_REDUCE_SHRINK_H
#define FRIT_TOOLS_FRIT_REDUCE_SHRINK_H

#include "tools/frit-reduce/Model.h"

namespace frit::reduce {

/// Lists the sizes above 1 of input and weight dimensions, largest first.
std::vector<int64_t> sizesOf(const onnx::ModelProto &model);

/// A replacement of sizes.
struct NewSize {
  int64_t from, to;  ///< `to` is smaller
  bool ofMultiples;  ///< multiples of `from` become the same multiples of `to`
  bool inAttributes; ///< replace equal numbers in attributes too

  int64_t operator()(int64_t size) const {
    if (size == from)
      return to;
    return ofMultiples && size > 0 && size % from == 0 ? size / from * to
                                                       : size;
  }
};

/// Replaces sizes of dimensions, in subgraphs and in `known` too: of declared
/// types, and of weights, which keep their first elements. Also replaces equal
/// numbers in small integer tensors, which may hold shapes. Returns false if a
/// weight's data cannot be cut.
bool resize(onnx::ModelProto &model, Knowledge &known, const NewSize &newSize);

/// Counts the numbers in attributes.
unsigned countNumbers(const onnx::ModelProto &model);

/// Replaces number `index` by a simpler one: `way` is 0 for zero, 1 for one, 2
/// for its integer half. False if that is not simpler.
bool simplifyNumber(onnx::ModelProto &model, unsigned index, unsigned way);
inline constexpr unsigned numWays = 3;

/// Removes node `index` of the subgraphs; readers of its first result get its
/// first operand. False if there is no such node.
bool leaveOutOfBody(onnx::ModelProto &model, unsigned index);

/// Replaces an If by one of its branches. `index` counts the branches of all
/// Ifs outside subgraphs. False if there is no such branch.
bool takeBranch(onnx::ModelProto &model, unsigned index);

} // namespace frit::reduce

#endif // FRIT_TOOLS_FRIT_REDUCE_SHRINK_H
