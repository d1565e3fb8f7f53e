//===- DerivedModel.h - Functions with a derived state --------------------===//

#ifndef FRIT_TEST_RUNTIME_DERIVEDMODEL_H
#define FRIT_TEST_RUNTIME_DERIVEDMODEL_H

#include "PlanWriter.h"
#include "frit/runtime.hpp"

namespace frit::test {

struct DerivedModelOptions {
  const char *arch = "x86-64";
  std::string code = {}; ///< of the target; none on the CPU
  void (*damage)(PlanWriter &plan) = nullptr;
};

/// States: w: 4xf32, {1, 2, 3, 4} at first; rate: f32; and a part without a
/// name that is derived from w: a copy of it.
///
/// "step": y is the derived part before the call; x is copied to w, and z to
/// the derived part. A z that is not x shows whether the part is kept.
/// "look": y is the derived part.
/// "move": copies x to w and leaves the derived part stale.
Model makeDerivedModel(const DerivedModelOptions &options = {});

/// Checks when calls on a device derive the part.
void checkDerived(const frit_module_options &options,
                  const DerivedModelOptions &model);

} // namespace frit::test

#endif // FRIT_TEST_RUNTIME_DERIVEDMODEL_H
