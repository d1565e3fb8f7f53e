//===- Libraries.cpp - NVRTC, cuBLAS, cuDNN and NCCL ----------------------===//

#include "runtime/cuda/library/CublasLt.h"
#include "runtime/cuda/library/Cudnn.h"
#include "runtime/cuda/library/Nccl.h"
#include "tools/frit-doctor/Machine.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <glob.h>
#include <nlohmann/json.hpp>
#include <unistd.h>
#include <vector>

using namespace frit;
using namespace frit::cuda;
using namespace frit::doctor;

/// Versions older than those that the runtime looks for.
static constexpr LibraryName kOldNvrtc = {
    "NVRTC", "FRIT_NVRTC", {"libnvrtc.so.11.2", "libnvrtc.so.11.1"}};
static constexpr LibraryName kOldCublas = {
    "cuBLAS", "FRIT_CUBLASLT", {"libcublasLt.so.11", "libcublasLt.so.10"}};
static constexpr LibraryName kOldCudnn = {
    "cuDNN", "FRIT_CUDNN", {"libcudnn.so.8", "libcudnn.so.7"}};

/// Returns the minimum driver for a major version of CUDA.
static int driverFor(int major) {
  return major >= 13 ? 580 : major == 12 ? 525 : 450;
}

namespace frit::doctor {
/// A library, frit's behavior without it, and how to install it.
struct Absent {
  const LibraryName &name;
  const LibraryName *old; ///< null if no version is too old
  const Library &library; ///< after open() has failed
  const char *without;    ///< "matrix products run on frit's own kernels"
  const char *package;    ///< of pip, without its suffix -cu13
};
} // namespace frit::doctor

/// Returns the package that fits the driver, such as "nvidia-cudnn-cu12"; the
/// newest if there is no driver.
static std::string packageFor(const char *package, CudaVersion driver) {
  int major = driver ? std::min(driver / 1000, 13) : 13;
  // Since CUDA 13 the toolkit's wheels have no suffix.
  bool ofToolkit = package == std::string("nvidia-cuda-nvrtc") ||
                   package == std::string("nvidia-cublas");
  return package +
         (major >= 13 && ofToolkit ? std::string() : format("-cu%d", major));
}

void Machine::addMissing(const char *part, const Absent &absent) {
  Finding finding{part, absent.name.title, Verdict::missing};
  std::string install = "pip install " + packageFor(absent.package, driverCuda);
  const char *given = getenv(absent.name.variable);
  Library older;
  if (given && !*given) {
    finding.detail =
        format("%s is empty, which turns it off", absent.name.variable);
    finding.advice = format("unset %s", absent.name.variable);
  } else if (absent.old && older.open(*absent.old)) {
    finding.verdict = Verdict::tooOld;
    finding.path = older.path();
    finding.detail = std::string("frit uses ") + absent.name.files[0];
    finding.advice = install;
  } else if (given) {
    finding.detail = format("%s names '%s', which cannot be opened",
                            absent.name.variable, given) +
                     absent.library.refused();
    finding.advice = format("unset %s, or name the library or its folder",
                            absent.name.variable);
  } else if (!absent.library.refused().empty()) {
    finding.verdict = Verdict::broken;
    finding.detail = "it does not open: " + absent.library.refused().substr(2);
    finding.advice = install;
  } else {
    finding.detail = "not found";
    finding.advice = install;
  }
  finding.detail += std::string("; ") + absent.without;
  findings.push_back(std::move(finding));
}

void Machine::markTooOld(Finding &finding, const std::string &why,
                         const char *without, const char *package) const {
  finding.verdict = Verdict::tooOld;
  finding.detail = why + "; " + without;
  finding.advice = "pip install " + packageFor(package, driverCuda);
}

void Machine::compareWithDriver(Finding &finding, CudaVersion cuda,
                                const char *package) const {
  if (!driverCuda || !cuda || cuda / 1000 <= driverCuda / 1000)
    return;
  finding.verdict = Verdict::mismatch;
  finding.detail = format("of CUDA %d, but the driver runs CUDA %s and older",
                          cuda / 1000, textOf(driverCuda).c_str());
  finding.advice =
      format("update the driver to %d or newer, or pip install %s",
             driverFor(cuda / 1000), packageFor(package, driverCuda).c_str());
}

/// Returns whether a toolkit has a file that matches one of these patterns.
static bool toolkitHas(const std::string &home,
                       std::initializer_list<const char *> patterns) {
  return std::ranges::any_of(patterns, [&](const char *pattern) {
    glob_t found;
    bool has = glob((home + pattern).c_str(), 0, nullptr, &found) == 0;
    globfree(&found);
    return has;
  });
}

/// Says what a toolkit's folder lacks of what compiling kernels takes.
static void describeToolkit(Finding &finding) {
  bool hasNvrtc = toolkitHas(
      finding.path, {"/lib64/libnvrtc.so*", "/lib/libnvrtc.so*",
                     "/lib/*/libnvrtc.so*", "/targets/*/lib/libnvrtc.so*"});
  bool hasHeaders = toolkitHas(
      finding.path, {"/include/cuda_fp16.h", "/targets/*/include/cuda_fp16.h"});
  if (!hasNvrtc && !hasHeaders) {
    finding.verdict = Verdict::missing;
    finding.detail = "the folder '" + finding.path +
                     "' has neither NVRTC nor headers; frit needs no toolkit, "
                     "only the libraries below";
    finding.path.clear();
  } else if (!hasNvrtc || !hasHeaders) {
    finding.detail = hasNvrtc ? "without headers, which custom operators may "
                                "need"
                              : "without NVRTC";
  }
}

/// Only reports the toolkit: frit needs its libraries only.
void Machine::examineToolkit() {
  Finding finding{"toolkit", "toolkit", Verdict::missing};
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH", ""}) {
    const char *home = *variable ? getenv(variable) : "/usr/local/cuda";
    if (!home || access(home, F_OK))
      continue;
    finding.verdict = Verdict::good;
    finding.path = home;
    std::ifstream file(finding.path + "/version.json");
    auto json = nlohmann::json::parse(file, nullptr, /*exceptions=*/false);
    nlohmann::json::json_pointer place("/cuda/version");
    if (json.is_object() && json.contains(place) && json[place].is_string())
      finding.version = json[place].get<std::string>();
    describeToolkit(finding);
    break;
  }
  if (finding.detail.empty() && finding.verdict == Verdict::missing)
    finding.detail = "not found; frit needs none, only the libraries below";
  findings.push_back(std::move(finding));
}

/// Returns whether NVRTC's second library lies beside it. True if nothing is
/// known about its folder.
static bool hasBuiltins(const std::string &path) {
  size_t slash = path.rfind('/');
  glob_t found;
  bool has = slash == path.npos ||
             glob((path.substr(0, slash) + "/libnvrtc-builtins.so*").c_str(), 0,
                  nullptr, &found) == 0;
  if (slash != path.npos)
    globfree(&found);
  return has;
}

/// Returns the architectures that NVRTC compiles for, as 90 for sm_90; empty if
/// unknown.
static std::vector<int> archsOf(const Library &nvrtc) {
  int (*count)(int *) = nullptr, (*list)(int *) = nullptr;
  int found = 0;
  std::vector<int> archs;
  if (nvrtc.find({{count, "nvrtcGetNumSupportedArchs"},
                  {list, "nvrtcGetSupportedArchs"}}) &&
      count(&found) == 0 && found > 0) {
    archs.resize(size_t(found));
    if (list(archs.data()) != 0)
      archs.clear();
  }
  return archs;
}

void Machine::examineNvrtc() {
  const char *without = "fritc compiles for the cpu target only";
  const char *package = "nvidia-cuda-nvrtc";
  Library nvrtc;
  if (!nvrtc.open(kNvrtc))
    return addMissing("nvrtc", {kNvrtc, &kOldNvrtc, nvrtc, without, package});
  Finding finding{"nvrtc", kNvrtc.title, Verdict::good, "", nvrtc.path()};
  int (*version)(int *, int *) = nullptr;
  int major = 0, minor = 0;
  if (!nvrtc.find({{version, "nvrtcVersion"}}) || version(&major, &minor)) {
    finding.verdict = Verdict::broken;
    finding.detail = std::string("this is no NVRTC; ") + without;
    finding.advice = "pip install " + packageFor(package, driverCuda);
    findings.push_back(std::move(finding));
    return;
  }
  CudaVersion cuda = major * 1000 + minor * 10;
  finding.version = textOf(cuda);
  compilesForGpus = true;
  std::vector<int> archs = archsOf(nvrtc);
  compareWithDriver(finding, cuda, package);
  if (major < 12) {
    compilesForGpus = false;
    markTooOld(finding, "frit uses NVRTC 12 or newer", without, package);
  } else if (!hasBuiltins(finding.path)) {
    compilesForGpus = false;
    finding.verdict = Verdict::broken;
    finding.detail =
        std::string("libnvrtc-builtins.so is not beside it; ") + without;
    finding.advice =
        "install NVRTC whole: pip install " + packageFor(package, driverCuda);
  } else if (finding.verdict == Verdict::mismatch) {
    finding.advice += ": what it compiles does not load here";
  } else {
    for (const GpuFacts &gpu : gpus) {
      int arch = gpu.major * 10 + gpu.minor;
      if (archs.empty() || std::ranges::count(archs, arch))
        continue;
      finding.verdict = Verdict::mismatch;
      finding.detail =
          format("it does not know sm_%d, which is cuda:%d", arch, gpu.ordinal);
      finding.advice =
          "install a newer one: pip install " + packageFor(package, driverCuda);
    }
  }
  if (finding.verdict == Verdict::good && !archs.empty())
    finding.detail =
        format("compiles for sm_%d to sm_%d", *std::ranges::min_element(archs),
               *std::ranges::max_element(archs));
  findings.push_back(std::move(finding));
}

void Machine::examineCublas() {
  const char *package = "nvidia-cublas";
  const char *without = "matrix products run on frit's own kernels";
  CublasLt lt;
  bool usable = lt.load();
  Finding finding{"cublas", kCublasLt.title, Verdict::good, "",
                  lt.library.path()};
  if (!usable && finding.path.empty())
    return addMissing("cublas",
                      {kCublasLt, &kOldCublas, lt.library, without, package});
  if (usable) {
    finding.version = versionText(lt.version);
    cublasCuda = int(lt.version / 10000) * 1000;
    compareWithDriver(finding, cublasCuda, package);
  } else {
    markTooOld(finding, "it lacks functions that frit calls", without, package);
  }
  findings.push_back(std::move(finding));
}

void Machine::examineCudnn() {
  const char *package = "nvidia-cudnn";
  const char *without = "convolutions and attention run on frit's own kernels";
  Cudnn dnn;
  bool usable = dnn.load();
  Finding finding{"cudnn", kCudnn.title, Verdict::good, "", dnn.library.path()};
  if (!usable && finding.path.empty())
    return addMissing("cudnn",
                      {kCudnn, &kOldCudnn, dnn.library, without, package});
  // 91002 is 9.10.2.
  if (dnn.version)
    finding.version =
        versionText(dnn.version) + "." + std::to_string(dnn.version % 100);
  size_t (*getCuda)() = nullptr;
  CudaVersion cuda = dnn.library.find({{getCuda, "cudnnGetCudartVersion"}})
                         ? int(getCuda())
                         : 0;
  if (!usable) {
    markTooOld(finding, "it lacks functions that frit calls", without, package);
  } else {
    compareWithDriver(finding, cuda, package);
  }
  if (finding.verdict == Verdict::good && cuda && cublasCuda &&
      cuda / 1000 != cublasCuda / 1000) {
    finding.verdict = Verdict::mismatch;
    finding.detail = format("of CUDA %d, but cuBLAS is of CUDA %d", cuda / 1000,
                            cublasCuda / 1000);
    finding.advice = format("install one CUDA's: pip install %s-cu%d", package,
                            cublasCuda / 1000);
  }
  if (finding.verdict == Verdict::good && cuda)
    finding.detail = "of CUDA " + std::to_string(cuda / 1000);
  findings.push_back(std::move(finding));
}

void Machine::examineNccl() {
  const char *package = "nvidia-nccl";
  const char *without = "training uses one GPU";
  Nccl nccl;
  Status loaded = nccl.load();
  Finding finding{"nccl", kNccl.title, Verdict::good, "", nccl.library.path()};
  if (loaded.failed() && finding.path.empty())
    return addMissing("nccl", {kNccl, nullptr, nccl.library, without, package});
  int version = 0;
  if (nccl.getVersion && nccl.getVersion(&version) == 0 && version) {
    // NCCL's encoding: 22703 is 2.27.3; before 2.9, 2708 was 2.7.8.
    bool isOld = version < 10000;
    int major = version / (isOld ? 1000 : 10000);
    finding.version = format("%d.%d.%d", major,
                             version / 100 % (isOld ? 10 : 100), version % 100);
  }
  if (loaded.failed() || (version && version < 21000)) {
    markTooOld(finding, "frit uses NCCL 2.10 or newer", without, package);
  }
  findings.push_back(std::move(finding));
}
