//===- ContextWatch.h - Notice that a context was reset -------------------===//

#ifndef FRIT_RUNTIME_CUDA_CONTEXTWATCH_H
#define FRIT_RUNTIME_CUDA_CONTEXTWATCH_H

#include "runtime/cuda/CudaApi.h"

namespace frit::cuda {

/// Tells whether a context has been reset since start(). The driver gives each
/// context of a process another number, and a primary context that is reset
/// another one too.
class ContextWatch {
public:
  /// Watches `context` from now on; none if the driver fails. The driver must
  /// stay open while a context is watched.
  Result start(const Api &driver, Context context) {
    getId = driver.ctxGetId;
    Result result = getId(context, &id);
    watched = result == kSuccess ? context : nullptr;
    return result;
  }
  /// Returns whether the context has been reset; false if none is watched.
  bool wasReset() const {
    unsigned long long now;
    return watched && (getId(watched, &now) != kSuccess || now != id);
  }
  /// Returns the number of the context as it was at start().
  unsigned long long number() const { return id; }

private:
  decltype(Api::ctxGetId) getId = nullptr;
  Context watched = nullptr;
  unsigned long long id = 0;
};

} // namespace frit::cuda

#endif // FRIT_RUNTIME_CUDA_CONTEXTWATCH_H
