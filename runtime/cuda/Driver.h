//===- Driver.h - Find the NVIDIA driver and a device ---------------------===//

#ifndef FRIT_CUDA_DRIVER_H
#define FRIT_CUDA_DRIVER_H

#include "runtime/cuda/CudaApi.h"
#include "runtime/exec/PlanView.h"

#include <memory>

namespace frit::cuda {

/// The driver's library, open while this lives.
class Driver : public Api {
public:
  Driver() = default;
  Driver(const Driver &) = delete;
  ~Driver();

  /// Opens the library and initialises the driver.
  Status open();

  /// What the driver says of an error code.
  std::string describe(Result result) const;

  /// A failure unless `result` is success. `doing` completes "cannot …".
  Status check(Result result, const char *doing) const;

private:
  void *library = nullptr;
};

/// A device and its primary context, which other libraries in the process
/// share.
class Gpu {
public:
  Gpu() = default;
  Gpu(const Gpu &) = delete;
  ~Gpu();

  /// Finds device `ordinal`. Makes no context yet.
  Status open(int ordinal);
  Status retainContext();

  Driver driver;
  Device device = 0;
  Context context = nullptr;
  int major = 0, minor = 0;
  std::string name;
};

/// Makes a device's context the calling thread's while this lives.
class ContextScope {
public:
  explicit ContextScope(const Gpu &gpu) : driver(gpu.driver) {
    pushed = driver.ctxPushCurrent(gpu.context) == kSuccess;
  }
  ContextScope(const ContextScope &) = delete;
  ~ContextScope() {
    Context popped;
    if (pushed)
      driver.ctxPopCurrent(&popped);
  }

private:
  const Driver &driver;
  bool pushed;
};

/// The target of the plan that device `ordinal` runs best. Fails, with the
/// reason, when there is no driver, no such device or no code for it.
Status findTarget(const PlanView &plan, int ordinal,
                  const artifact::Target *&target, bool &usePtx);

} // namespace frit::cuda

#endif // FRIT_CUDA_DRIVER_H
