//===- StateModel.h - Two functions that share state ----------------------===//

#ifndef FRIT_TEST_RUNTIME_STATEMODEL_H
#define FRIT_TEST_RUNTIME_STATEMODEL_H

#include "PlanWriter.h"
#include "frit/runtime.hpp"

namespace frit::test {

struct StateModelOptions {
  const std::string *cubin = nullptr; ///< if set, for sm_90a
  bool guarded = true;                ///< whether there are conditions
  uint64_t lookArena = 256;           ///< bytes that "look" needs
  void (*damage)(PlanWriter &plan) = nullptr;
};

/// States: w: 4xf32, {1, 2, 3, 4} at first; count and rate: f32, 0 at first.
///
/// "step": if `go`, increments count and copies x to w. Its outputs are y, the
/// new count, and old, the previous w. Without conditions `go` counts as true.
/// "look": returns count as y, and w as w.
Model makeStateModel(const StateModelOptions &options = {});

/// Describes a host tensor for frit_state_read and frit_state_write.
frit_tensor stateTensor(const char *name, void *data, bool isScalar);

/// Checks calls, peers, reads and writes on a device, with these options for
/// all modules and models.
void checkState(const frit_module_options &options,
                const StateModelOptions &model);

} // namespace frit::test

#endif // FRIT_TEST_RUNTIME_STATEMODEL_H
