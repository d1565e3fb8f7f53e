//===- RandomData.h - Tensors of random numbers ---------------------------===//

#ifndef FRIT_TOOLS_SUPPORT_RANDOMDATA_H
#define FRIT_TOOLS_SUPPORT_RANDOMDATA_H

#include "tools/support/Tensor.h"

namespace frit::tools {

/// Distribution of random data.
struct RandomSpec {
  uint64_t seed = 0;
  bool hasRange = false;
  double low = 0, high = 0;
};

/// Parses "random", "random:SEED" or "random:SEED:LOW..HIGH".
bool parseRandom(const std::string &text, RandomSpec &spec);

/// Fills floats from a normal distribution and integers with 0 or 1; with a
/// range, both uniformly. Strings become words of random letters.
void fillRandom(Tensor &tensor, const RandomSpec &spec);

} // namespace frit::tools

#endif // FRIT_TOOLS_SUPPORT_RANDOMDATA_H
