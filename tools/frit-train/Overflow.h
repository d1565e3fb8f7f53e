//===- Overflow.h - Find what overflowed in a step ------------------------===//

#ifndef FRIT_TOOLS_FRIT_TRAIN_OVERFLOW_H
#define FRIT_TOOLS_FRIT_TRAIN_OVERFLOW_H

#include "frit/runtime.h"
#include "tools/support/SafetensorsFile.h"

#include <span>
#include <string>
#include <vector>

namespace frit::train {

using namespace tools;

/// The first tensor that has infinities or NaN.
struct Overflow {
  std::string name;          ///< its own, or what computes it
  std::string type;          ///< of its elements
  uint64_t bad = 0, all = 0; ///< elements that are not finite, and all
};

/// Makes a call, kernel by kernel, and finds the first result with NaN or
/// +infinity. Reports -infinity only if nothing else is found, because masks
/// are full of it.
frit_status findOverflow(frit_context *context,
                         std::span<const frit_tensor> inputs, Overflow &found);

/// Returns the first of the tensors that has infinities or NaN. If none has,
/// `bad` is 0.
Overflow findOverflow(const std::vector<TensorView> &tensors);

} // namespace frit::train

#endif // FRIT_TOOLS_FRIT_TRAIN_OVERFLOW_H
