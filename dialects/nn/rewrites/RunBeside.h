//===- RunBeside.h - Products that run beside other kernels ---------------===//

#ifndef FRIT_DIALECTS_NN_REWRITES_RUNBESIDE_H
#define FRIT_DIALECTS_NN_REWRITES_RUNBESIDE_H

#include "dialects/nn/NN.h"

#include <functional>

namespace frit::nn {

/// The attribute of fusions that run beside other kernels, one after another.
inline constexpr llvm::StringLiteral kBesideAttr = "nn.beside";

/// A target's answer to the pass `run-beside` (a target rewrite).
struct RunBesideRewrite {
  /// Returns a schedule of a scheduled fusion that takes longer and leaves most
  /// of the device to kernels beside it; null if it has none.
  std::function<Schedule(FusionOp)> schedule;
};

} // namespace frit::nn

#endif // FRIT_DIALECTS_NN_REWRITES_RUNBESIDE_H
