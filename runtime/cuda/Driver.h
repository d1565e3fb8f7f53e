//===- Driver.h - Find the NVIDIA driver and a device ---------------------===//

#ifndef FRIT_RUNTIME_CUDA_DRIVER_H
#define FRIT_RUNTIME_CUDA_DRIVER_H

#include "runtime/cuda/ContextWatch.h"
#include "runtime/cuda/CudaApi.h"
#include "runtime/exec/MemorySource.h"
#include "runtime/plan/PlanView.h"

#include <memory>
#include <mutex>

namespace frit::cuda {

/// The oldest compute capability that frit compiles for, 75 for 7.5.
inline constexpr int kOldest = 75;

/// The driver's library, open while this lives.
///
/// Other code of the process may reset the primary context (cudaDeviceReset),
/// which frees everything in it, pinned memory too. The driver crashes when it
/// gets a handle that it freed, so functions that release one, or wait for it,
/// are hidden here by functions that then fail.
class Driver : public Api {
public:
  Driver() = default;
  Driver(const Driver &) = delete;
  ~Driver();

  /// Opens the library and initialises the driver.
  Status open();

  /// Opens the library only. If that fails, missing functions are null.
  Status load();

  bool isOpen() const { return library; }
  /// Returns the path of the open library.
  std::string path() const;

  /// Returns "GPU-00112233-4455-6677-8899-aabbccddeeff", or "MIG-…" for a MIG
  /// instance; "" if the driver knows none.
  std::string uuidOf(Device device) const;

  /// Returns an attribute of a device; 0 if the driver does not know it.
  int attributeOf(Device device, int attribute) const;
  /// Returns the peak rate of a device's memory in bytes per second; 0 if
  /// unknown, as for integrated GPUs, whose driver reports another clock.
  double memoryRateOf(Device device) const;

  /// Returns the driver's text for an error code.
  std::string describe(Result result) const;

  /// Returns a failure unless `result` is success. `doing` completes "cannot
  /// …".
  Status check(Result result, const char *doing) const;

  /// Remembers the context that later handles belong to.
  Status watch(Context context);
  /// Returns whether the watched context has been reset.
  bool wasReset() const { return contextWatch.wasReset(); }

  Result moduleUnload(Module module) const {
    return call(Api::moduleUnload, module);
  }
  Result memFree(DevicePointer memory) const {
    return call(Api::memFree, memory);
  }
  Result memFreeHost(void *memory) const {
    return call(Api::memFreeHost, memory);
  }
  Result streamDestroy(Stream stream) const {
    return call(Api::streamDestroy, stream);
  }
  Result streamSynchronize(Stream stream) const {
    return call(Api::streamSynchronize, stream);
  }
  Result eventDestroy(Event event) const {
    return call(Api::eventDestroy, event);
  }
  Result eventSynchronize(Event event) const {
    return call(Api::eventSynchronize, event);
  }
  Result graphDestroy(Graph graph) const {
    return call(Api::graphDestroy, graph);
  }
  Result graphExecDestroy(GraphExec graph) const {
    return call(Api::graphExecDestroy, graph);
  }

private:
  template <class Handle>
  Result call(Result (*function)(Handle), Handle handle) const {
    return wasReset() ? kContextDestroyed : function(handle);
  }

  void *library = nullptr;
  ContextWatch contextWatch;
};

/// Returns the mutex to hold during graph captures, and while code and
/// libraries are loaded, tried or closed: synchronizing the device on one
/// thread ends captures on all others.
std::recursive_mutex &captureMutex();

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
  /// Fails if the context has been reset.
  Status checkContext() const;

  Driver driver;
  /// Source of device memory; null: the driver, without a limit.
  std::shared_ptr<MemorySource> memory;
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

/// Finds the ordinal of the device with this UUID or UUID prefix: "GPU-" or
/// "MIG-" and hexadecimal digits. The driver may hide devices
/// (CUDA_VISIBLE_DEVICES).
Status findDevice(std::string_view uuid, int &ordinal);

/// Finds the plan's best target for device `ordinal`. Fails with the reason if
/// there is no driver, device or code for it.
Status findTarget(const PlanView &plan, int ordinal,
                  const artifact::Target *&target, bool &usePtx);

} // namespace frit::cuda

#endif // FRIT_RUNTIME_CUDA_DRIVER_H
