//===- Driver.cpp - Find the NVIDIA driver and a device -------------------===//

#include "runtime/cuda/Driver.h"
#include "runtime/cuda/library/Library.h"
#include "runtime/exec/Targets.h"
#include "runtime/system/System.h"

#include <cstring>

using namespace frit;
using namespace frit::cuda;

Driver::~Driver() {
  if (library)
    system::closeLibrary(library);
}

Status Driver::load() {
  // The driver has threads and global state and cannot be unloaded.
  std::string reason;
  library = system::openLibrary(kDriverFile, /*stays=*/true, reason);
  if (!library)
    return Status(FRIT_NO_DEVICE,
                  format("there is no NVIDIA driver on this machine "
                         "(%s was not found)",
                         kDriverFile));
  // The suffixes are versions of the functions, which cuda.h hides behind
  // macros.
  bool complete = findFunctions(
      library,
      {{getErrorString, "cuGetErrorString"},
       {init, "cuInit"},
       {driverGetVersion, "cuDriverGetVersion"},
       {deviceGetCount, "cuDeviceGetCount"},
       {deviceGet, "cuDeviceGet"},
       {deviceGetName, "cuDeviceGetName"},
       {deviceGetUuid, "cuDeviceGetUuid_v2"},
       {deviceGetAttribute, "cuDeviceGetAttribute"},
       {deviceTotalMem, "cuDeviceTotalMem_v2"},
       {primaryCtxRetain, "cuDevicePrimaryCtxRetain"},
       {primaryCtxRelease, "cuDevicePrimaryCtxRelease_v2"},
       {ctxPushCurrent, "cuCtxPushCurrent_v2"},
       {ctxPopCurrent, "cuCtxPopCurrent_v2"},
       {ctxGetId, "cuCtxGetId"},
       {memGetInfo, "cuMemGetInfo_v2"},
       {memAlloc, "cuMemAlloc_v2"},
       {Api::memFree, "cuMemFree_v2"},
       {memHostAlloc, "cuMemHostAlloc"},
       {Api::memFreeHost, "cuMemFreeHost"},
       {memcpyHtoD, "cuMemcpyHtoD_v2"},
       {memcpyHtoDAsync, "cuMemcpyHtoDAsync_v2"},
       {memcpyDtoHAsync, "cuMemcpyDtoHAsync_v2"},
       {memcpyDtoDAsync, "cuMemcpyDtoDAsync_v2"},
       {memsetD8Async, "cuMemsetD8Async"},
       {memsetD32Async, "cuMemsetD32Async"},
       {pointerGetAttributes, "cuPointerGetAttributes"},
       {moduleLoadDataEx, "cuModuleLoadDataEx"},
       {Api::moduleUnload, "cuModuleUnload"},
       {moduleGetFunction, "cuModuleGetFunction"},
       {funcGetAttribute, "cuFuncGetAttribute"},
       {funcSetAttribute, "cuFuncSetAttribute"},
       {launchKernel, "cuLaunchKernel"},
       {streamCreate, "cuStreamCreate"},
       {Api::streamDestroy, "cuStreamDestroy_v2"},
       {Api::streamSynchronize, "cuStreamSynchronize"},
       {streamWaitEvent, "cuStreamWaitEvent"},
       {streamBeginCapture, "cuStreamBeginCapture_v2"},
       {streamEndCapture, "cuStreamEndCapture"},
       {eventCreate, "cuEventCreate"},
       {Api::eventDestroy, "cuEventDestroy_v2"},
       {eventRecord, "cuEventRecord"},
       {Api::eventSynchronize, "cuEventSynchronize"},
       {eventElapsedTime, "cuEventElapsedTime"},
       {graphCreate, "cuGraphCreate"},
       {Api::graphDestroy, "cuGraphDestroy"},
       {graphAddKernelNode, "cuGraphAddKernelNode_v2"},
       {graphAddChildGraphNode, "cuGraphAddChildGraphNode"},
       {graphAddEventRecordNode, "cuGraphAddEventRecordNode"},
       {graphInstantiate, "cuGraphInstantiateWithFlags"},
       {Api::graphExecDestroy, "cuGraphExecDestroy"},
       {graphExecKernelNodeSetParams, "cuGraphExecKernelNodeSetParams_v2"},
       {graphUpload, "cuGraphUpload"},
       {graphLaunch, "cuGraphLaunch"},
       {tensorMapEncodeTiled, "cuTensorMapEncodeTiled"},
       {tensorMapEncodeIm2col, "cuTensorMapEncodeIm2col"}});
  if (!complete)
    return Status(FRIT_NO_DEVICE, "the NVIDIA driver is too old; frit needs "
                                  "one for CUDA 12.0 or newer (525)");
  // Null in older drivers.
  findFunctions(
      library,
      {{streamBeginCaptureToGraph, "cuStreamBeginCaptureToGraph"},
       {streamUpdateCaptureDependencies, "cuStreamUpdateCaptureDependencies"},
       {graphAddDependencies, "cuGraphAddDependencies_v2"},
       {graphConditionalHandleCreate, "cuGraphConditionalHandleCreate"},
       {graphAddNode, "cuGraphAddNode_v2"}});
  if (!findFunctions(library,
                     {{streamGetCaptureInfo, "cuStreamGetCaptureInfo_v3"}})) {
    streamBeginCaptureToGraph = nullptr;
    streamUpdateCaptureDependencies = nullptr;
  }
  return Status();
}

std::recursive_mutex &frit::cuda::captureMutex() {
  static std::recursive_mutex mutex;
  return mutex;
}

Status Driver::open() {
  FRIT_TRY(load());
  Result result = init(0);
  if (result == kNoDevice)
    return Status(FRIT_NO_DEVICE, "the NVIDIA driver finds no GPU");
  if (result != kSuccess)
    return Status(FRIT_NO_DEVICE,
                  "the NVIDIA driver does not start: " + describe(result));
  return Status();
}

std::string Driver::path() const { return system::pathOf(library); }

/// Returns whether the driver will reject all further work of this process on
/// the device, because a kernel or the device itself has failed. By cuda.h: an
/// uncorrectable memory error; an illegal address, a timeout, a failed
/// assertion; and the range from a stack error to a launch failure.
static bool isFinal(Result result) {
  return result == 214 || result == 700 || result == 702 || result == 710 ||
         (result >= 714 && result <= 719);
}

std::string Driver::describe(Result result) const {
  const char *found = nullptr;
  getErrorString(result, &found);
  std::string text = found ? found : format("error %d", result);
  if (isFinal(result))
    text += "; the driver runs nothing more on this GPU in this process";
  return text;
}

std::string Driver::uuidOf(Device device) const {
  unsigned char bytes[16];
  if (deviceGetUuid(bytes, device) != kSuccess)
    return "";
  // A MIG instance has a name like "NVIDIA H200 MIG 1g.18gb".
  char name[256] = "";
  deviceGetName(name, sizeof name, device);
  std::string text = strstr(name, " MIG ") ? "MIG" : "GPU";
  for (int i = 0; i < 16; ++i)
    text += format(i == 0 || i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x"
                                                                   : "%02x",
                   bytes[i]);
  return text;
}

int Driver::attributeOf(Device device, int attribute) const {
  int value = 0;
  return deviceGetAttribute(&value, attribute, device) == kSuccess ? value : 0;
}

double Driver::memoryRateOf(Device device) const {
  if (attributeOf(device, kAttributeIntegrated))
    return 0;
  // Double data rate.
  return 2e3 * attributeOf(device, kAttributeMemoryClock) *
         attributeOf(device, kAttributeMemoryBusWidth) / 8;
}

Status Driver::watch(Context context) {
  return check(contextWatch.start(*this, context),
               "ask for the context's number");
}

Status Driver::check(Result result, const char *doing) const {
  if (result == kSuccess)
    return Status();
  return Status(result == kOutOfMemory ? FRIT_OUT_OF_MEMORY : FRIT_DEVICE_ERROR,
                format("cannot %s: %s", doing, describe(result).c_str()));
}

Gpu::~Gpu() {
  if (context)
    driver.primaryCtxRelease(device);
}

Status Gpu::open(int ordinal) {
  FRIT_TRY(driver.open());
  int count = 0;
  FRIT_TRY(driver.check(driver.deviceGetCount(&count), "count the GPUs"));
  if (!count)
    return Status(FRIT_NO_DEVICE, "the NVIDIA driver finds no GPU");
  if (ordinal >= count)
    return Status(FRIT_NO_DEVICE,
                  format("there is no device cuda:%d; the last one is cuda:%d",
                         ordinal, count - 1));
  FRIT_TRY(driver.check(driver.deviceGet(&device, ordinal), "find the GPU"));
  char text[256] = "GPU";
  driver.deviceGetName(text, sizeof text, device);
  name = text;
  FRIT_TRY(driver.check(
      driver.deviceGetAttribute(&major, kAttributeCapabilityMajor, device),
      "ask for the GPU's compute capability"));
  return driver.check(
      driver.deviceGetAttribute(&minor, kAttributeCapabilityMinor, device),
      "ask for the GPU's compute capability");
}

Status Gpu::retainContext() {
  FRIT_TRY(
      driver.check(driver.primaryCtxRetain(&context, device), "start the GPU"));
  return driver.watch(context);
}

Status Gpu::checkContext() const {
  if (!driver.wasReset())
    return Status();
  return Status(FRIT_DEVICE_ERROR,
                "other code of this process has reset the GPU (for example by "
                "cudaDeviceReset), which freed this model's memory; close its "
                "module and open it again");
}

Status cuda::findDevice(std::string_view uuid, int &ordinal) {
  Driver driver;
  FRIT_TRY(driver.open());
  int count = 0;
  FRIT_TRY(driver.check(driver.deviceGetCount(&count), "count the GPUs"));
  // A MIG instance has its own UUID, with the prefix "MIG-".
  auto digits = [](std::string_view text) {
    std::string lower;
    for (char c : text.substr(4))
      lower += c >= 'A' && c <= 'F' ? char(c - 'A' + 'a') : c;
    return lower;
  };
  std::string wanted = digits(uuid), all;
  int found = 0;
  for (int index = 0; index < count; ++index) {
    Device device;
    FRIT_TRY(driver.check(driver.deviceGet(&device, index), "find the GPU"));
    std::string own = driver.uuidOf(device);
    all += format("%s%s (cuda:%d)", index ? ", " : "", own.c_str(), index);
    if (own.size() < 4 || !digits(own).starts_with(wanted))
      continue;
    ordinal = index;
    ++found;
  }
  std::string given(uuid);
  if (found > 1)
    return invalidArgument(format("'%s' is the beginning of several UUIDs: %s",
                                  given.c_str(), all.c_str()));
  if (!found)
    return Status(FRIT_NO_DEVICE,
                  format("there is no device %s; the driver has: %s",
                         given.c_str(), count ? all.c_str() : "none"));
  return Status();
}

Status cuda::findTarget(const PlanView &plan, int ordinal,
                        const artifact::Target *&target, bool &usePtx) {
  if (!hasCudaTarget(plan))
    return Status(FRIT_NO_DEVICE, format("the model has no code for GPUs, only "
                                         "for: %s",
                                         listArchs(plan).c_str()));
  Gpu gpu;
  FRIT_TRY(gpu.open(ordinal));
  target = chooseCudaTarget(plan, gpu.major, gpu.minor, usePtx);
  if (!target && gpu.major * 10 + gpu.minor < kOldest)
    return Status(
        FRIT_NO_DEVICE,
        format("frit compiles for GPUs of compute capability %d.%d and "
               "later; cuda:%d, %s, has %d.%d",
               kOldest / 10, kOldest % 10, ordinal, gpu.name.c_str(), gpu.major,
               gpu.minor));
  if (!target)
    return Status(FRIT_NO_DEVICE,
                  format("the model has no code for cuda:%d, %s (compute "
                         "capability %d.%d); it has code for: %s; compile it "
                         "with -march=sm_%d%d",
                         ordinal, gpu.name.c_str(), gpu.major, gpu.minor,
                         listArchs(plan).c_str(), gpu.major, gpu.minor));
  return Status();
}
