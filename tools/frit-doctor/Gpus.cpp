//===- Gpus.cpp - The driver, and a kernel on each GPU --------------------===//

#include "runtime/cuda/Driver.h"
#include "tools/frit-doctor/Machine.h"

#include <cstdlib>
#include <unistd.h>

using namespace frit;
using namespace frit::cuda;
using namespace frit::doctor;

namespace frit {
extern const char kProbe[];
}

static constexpr unsigned kThreads = 256;

/// Errors of the driver that have a remedy.
enum DriverError : Result {
  kStubLibrary = 34,
  kDeviceUnavailable = 46,
  kNotYetInitialized = 802,
  kDriverMismatch = 803,
  kUnknown = 999,
  kJitCompilerNotFound = 221
};

static bool exists(const char *path) { return access(path, F_OK) == 0; }

static bool inContainer() {
  return exists("/.dockerenv") || exists("/run/.containerenv");
}

static std::string adviceWithoutDriver() {
  if (exists("/proc/driver/nvidia/version"))
    return "NVIDIA's kernel module is loaded, but not its library: in a "
           "container set NVIDIA_DRIVER_CAPABILITIES=compute,utility; "
           "otherwise install libcuda1";
  if (inContainer())
    return "to use a GPU of the host, start the container with "
           "'docker run --gpus all'";
  return "with an NVIDIA GPU: install the driver, on Debian with "
         "'apt install nvidia-driver'";
}

static std::string adviceForStart(Result result) {
  switch (result) {
  case kNoDevice:
    if (const char *visible = getenv("CUDA_VISIBLE_DEVICES"))
      return format("CUDA_VISIBLE_DEVICES='%s' hides the GPUs: type 'unset "
                    "CUDA_VISIBLE_DEVICES'",
                    visible);
    return "'nvidia-smi -L' lists the GPUs that the driver knows";
  case kStubLibrary:
    return "this is the toolkit's stub for linking: take its folder out of "
           "LD_LIBRARY_PATH";
  case kNotYetInitialized:
    return "GPUs with NVSwitch need the fabric manager: type 'systemctl start "
           "nvidia-fabricmanager'";
  case kDriverMismatch:
    return "the driver's library and kernel module differ, as after an update: "
           "restart the machine";
  case kUnknown:
    return "the kernel module may not be loaded: type 'nvidia-modprobe -u -c "
           "0'";
  default:
    return "'nvidia-smi' may say more";
  }
}

static std::string adviceForKernel(Result result) {
  switch (result) {
  case kDeviceUnavailable:
    return "another process has the GPU for itself: type 'nvidia-smi -c "
           "DEFAULT'";
  case kJitCompilerNotFound:
    return "install libnvidia-ptxjitcompiler1, which is part of the driver";
  case kOutOfMemory:
    return "'nvidia-smi' shows which process holds the GPU's memory";
  default:
    return "'nvidia-smi -q' and 'dmesg | grep NVRM' may say more";
  }
}

namespace frit::doctor {
/// The driver, and the reason why a kernel could not run.
struct Probe {
  Driver driver;

  /// Runs the kernel on `device`. After a failure `finding` says what failed.
  bool run(Device device, Finding &finding) const;

private:
  bool runInContext(Finding &finding) const;
  bool succeeded(Result result, const char *doing, Finding &finding) const;
};
} // namespace frit::doctor

bool Probe::succeeded(Result result, const char *doing,
                      Finding &finding) const {
  if (result == kSuccess)
    return true;
  finding.verdict = Verdict::broken;
  finding.detail +=
      format("; cannot %s: %s", doing, driver.describe(result).c_str());
  finding.advice = adviceForKernel(result);
  return false;
}

bool Probe::run(Device device, Finding &finding) const {
  Context context = nullptr;
  if (!succeeded(driver.primaryCtxRetain(&context, device), "start the GPU",
                 finding))
    return false;
  bool ran =
      succeeded(driver.ctxPushCurrent(context), "start the GPU", finding) &&
      runInContext(finding);
  driver.ctxPopCurrent(&context);
  driver.primaryCtxRelease(device);
  return ran;
}

bool Probe::runInContext(Finding &finding) const {
  unsigned results[kThreads] = {};
  Module module = nullptr;
  Function kernel = nullptr;
  DevicePointer place = 0;
  void *arguments[] = {&place};
  bool ran =
      succeeded(driver.moduleLoadDataEx(&module, kProbe, 0, nullptr, nullptr),
                "load a kernel", finding) &&
      succeeded(driver.moduleGetFunction(&kernel, module, "frit_probe"),
                "load a kernel", finding) &&
      succeeded(driver.memAlloc(&place, sizeof results), "allocate memory",
                finding) &&
      succeeded(driver.launchKernel(kernel, 1, 1, 1, kThreads, 1, 1, 0, nullptr,
                                    arguments, nullptr),
                "launch a kernel", finding) &&
      succeeded(driver.memcpyDtoHAsync(results, place, sizeof results, nullptr),
                "copy results", finding) &&
      succeeded(driver.streamSynchronize(nullptr), "run a kernel", finding);
  if (place)
    driver.memFree(place);
  if (module)
    driver.moduleUnload(module);
  for (unsigned i = 0; ran && i < kThreads; ++i)
    if (results[i] != i * i + 7) {
      finding.verdict = Verdict::broken;
      finding.detail +=
          format("; a kernel computed %u instead of %u", results[i], i * i + 7);
      finding.advice = adviceForKernel(kSuccess);
      return false;
    }
  return ran;
}

void Machine::examineDriver() {
  Finding finding{"driver", "driver"};
  Probe probe;
  Status loaded = probe.driver.load();
  int count = 0;
  Result started = kSuccess;
  if (loaded.failed() && !probe.driver.isOpen()) {
    finding.verdict = Verdict::missing;
    finding.detail = loaded.message();
    finding.advice = adviceWithoutDriver();
    findings.push_back(std::move(finding));
    return;
  }
  finding.path = probe.driver.path();
  if (probe.driver.driverGetVersion)
    probe.driver.driverGetVersion(&driverCuda);
  finding.version = "CUDA " + textOf(driverCuda);
  if (loaded.failed()) {
    finding.verdict = Verdict::broken;
    finding.detail = loaded.message();
    finding.advice = "install a driver of 525 or newer, on Debian with 'apt "
                     "install nvidia-driver'";
  } else if ((started = probe.driver.init(0)) ||
             (started = probe.driver.deviceGetCount(&count)) || !count) {
    if (!started)
      started = kNoDevice;
    finding.verdict = Verdict::broken;
    finding.detail = started == kNoDevice ? "the driver finds no GPU"
                                          : "the driver does not start: " +
                                                probe.driver.describe(started);
    finding.advice = adviceForStart(started);
  } else if (const char *visible = getenv("CUDA_VISIBLE_DEVICES")) {
    finding.detail =
        format("%d of the GPUs, by CUDA_VISIBLE_DEVICES=%s", count, visible);
  }
  bool works = finding.verdict == Verdict::good;
  findings.push_back(std::move(finding));
  for (int ordinal = 0; works && ordinal < count; ++ordinal)
    examineGpu(probe, ordinal);
}

void Machine::examineGpu(const Probe &probe, int ordinal) {
  const Driver &driver = probe.driver;
  GpuFacts gpu;
  gpu.ordinal = ordinal;
  Device device = 0;
  char name[256] = "GPU";
  size_t bytes = 0;
  driver.deviceGet(&device, ordinal);
  driver.deviceGetName(name, sizeof name, device);
  driver.deviceGetAttribute(&gpu.major, kAttributeCapabilityMajor, device);
  driver.deviceGetAttribute(&gpu.minor, kAttributeCapabilityMinor, device);
  driver.deviceTotalMem(&bytes, device);
  gpu.name = name;
  gpu.memoryBytes = bytes;
  gpu.uuid = driver.uuidOf(device);

  std::string title = format("cuda:%d", ordinal);
  Finding finding{title, title};
  finding.version = format("sm_%d%d", gpu.major, gpu.minor);
  finding.detail = gpu.name + ", " + formatBytes(gpu.memoryBytes);
  if (gpu.major * 10 + gpu.minor < kOldest) {
    finding.verdict = Verdict::tooOld;
    finding.detail += "; frit compiles for sm_75 and later";
    finding.advice = "models run on the processor: compile them with "
                     "-march=x86-64-v3";
  } else {
    gpu.works = probe.run(device, finding);
  }
  if (gpu.works)
    finding.detail += "; runs a kernel";
  findings.push_back(std::move(finding));
  gpus.push_back(std::move(gpu));
}
