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

  /// Opens the library alone. After a failure, functions that it lacks are
  /// null.
  Status load();

  bool isOpen() const { return library; }
  /// Where the open library was found.
  std::string path() const;

  /// The driver's text for an error code.
  std::string describe(Result result) const;

  /// Returns a failure unless `result` is success. `doing` completes "cannot
  /// …".
  Status check(Result result, const char *doing) const;

private:
  void *library = nullptr;
};

/// A device and its primary context, which is shared with other libraries in
/// the process.
class Gpu {
public:
  Gpu() = default;
  Gpu(const Gpu &) = delete;
  ~Gpu();

  /// Finds device `ordinal`. Does not create a context.
  Status open(int ordinal);
  Status retainContext();

  Driver driver;
  Device device = 0;
  Context context = nullptr;
  int major = 0, minor = 0;
  std::string name;
};

/// Makes a device's context current in this thread for the scope's lifetime.
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

/// Finds the plan's best target for device `ordinal`. Fails, with the reason,
/// if there is no driver, no such device or no code for it.
Status findTarget(const PlanView &plan, int ordinal,
                  const artifact::Target *&target, bool &usePtx);

} // namespace frit::cuda

#endif // FRIT_CUDA_DRIVER_H
