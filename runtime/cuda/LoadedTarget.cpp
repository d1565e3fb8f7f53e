//===- LoadedTarget.cpp - A target of an artifact on a GPU ----------------===//

#include "runtime/cuda/LoadedTarget.h"
#include "runtime/cuda/SharedDivision.h"
#include "runtime/exec/Background.h"
#include "runtime/exec/Targets.h"
#include "runtime/exec/Types.h"

#include <algorithm>
#include <cstring>

using namespace frit;
using namespace frit::cuda;
using artifact::Step;
using artifact::StepKind;

/// Dynamic shared memory in bytes that a kernel gets without opting in: 48 KiB,
/// less an upper bound of its static variables.
static constexpr uint32_t kSharedWithoutAsking = 32 << 10;

LoadedTarget::~LoadedTarget() {
  if (!gpu.context)
    return;
  ContextScope scope(gpu);
  std::lock_guard lock(captureMutex());
  cublas.reset();
  cudnnHandles.reset();
  cudnn.reset();
  guardKernel.reset();
  zeros.release();
  prepared.release();
  resident.reset();
  others.clear();
  for (Module module : modules)
    gpu.driver.moduleUnload(module);
}

Status LoadedTarget::load(int ordinal, Phases &phases) {
  // Loading the libraries is slow and needs no device.
  Background libraries([this] { findLibraries(); });
  phases.begin("start the GPU");
  FRIT_TRY(openGpu(ordinal));
  ContextScope scope(gpu);
  // The target is already chosen; this sets `usePtx`.
  (void)chooseCudaTarget(model.plan, gpu.major, gpu.minor, usePtx);
  phases.begin("load the code");
  FRIT_TRY(loadCode());
  if (model.plan.header().guards.count)
    loadGuardKernel();
  phases.begin("copy the weights");
  Uploader uploader(gpu);
  FRIT_TRY(uploadResident(uploader));
  phases.begin("wait for the libraries");
  libraries.join();
  phases.begin("start the libraries");
  FRIT_TRY(openLibraries());
  phases.begin("prepare the weights");
  return prepare(uploader);
}

Status LoadedTarget::openGpu(int ordinal) {
  FRIT_TRY(sharedGpu->open(ordinal));
  return sharedGpu->retainContext();
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

/// Checks that a cubin's sections lie inside it, because the driver trusts its
/// section table.
static bool isWholeCubin(std::span<const uint8_t> cubin) {
  // Of ELF's 64-bit header.
  constexpr size_t kHeader = 64, kTable = 40, kEntry = 58, kCount = 60;
  if (cubin.size() < kHeader || memcmp(cubin.data(),
                                       "\x7f"
                                       "ELF",
                                       4))
    return false;
  uint64_t table;
  uint16_t entry, count;
  memcpy(&table, &cubin[kTable], sizeof table);
  memcpy(&entry, &cubin[kEntry], sizeof entry);
  memcpy(&count, &cubin[kCount], sizeof count);
  return table <= cubin.size() &&
         uint64_t(count) * entry <= cubin.size() - table;
}

Status LoadedTarget::loadModule(const artifact::DeviceModule &code) {
  std::string arch(model.plan.text(model.target->arch));
  std::span<const uint8_t> bytes =
      model.plan.bytes(usePtx ? code.ptx : code.cubin);
  std::string text; // PTX must be null-terminated
  const void *image = bytes.data();
  if (usePtx) {
    text.assign(bytes.begin(), bytes.end());
    image = text.c_str();
  } else if (!isWholeCubin(bytes)) {
    return Status(FRIT_BAD_MODEL,
                  format("the code for %s is damaged", arch.c_str()));
  }
  char log[4096] = "";
  int options[] = {kJitErrorLog, kJitErrorLogBytes};
  void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
  const Driver &driver = gpu.driver;
  Module module = nullptr;
  Result result = driver.moduleLoadDataEx(&module, image, 2, options, values);
  if (result != kSuccess)
    return Status(FRIT_NO_DEVICE,
                  format("the driver does not take the code for %s on %s: %s%s"
                         "%s",
                         arch.c_str(), gpu.name.c_str(),
                         driver.describe(result).c_str(), *log ? ": " : "",
                         log));
  modules.push_back(module);
  return Status();
}

Status LoadedTarget::loadCode() {
  std::lock_guard lock(captureMutex());
  const artifact::Target &target = *model.target;
  for (const artifact::DeviceModule &code : model.plan.modules(target))
    FRIT_TRY(loadModule(code));
  for (const artifact::Kernel &kernel : model.plan.kernels().subspan(
           target.kernels.first, target.kernels.count)) {
    std::string name(model.plan.text(kernel.name));
    Module module = modules[kernel.module - target.modules.first];
    Function function;
    if (gpu.driver.moduleGetFunction(&function, module, name.c_str()) !=
        kSuccess)
      return Status(FRIT_BAD_MODEL,
                    format("the code for %s lacks kernel '%s'",
                           std::string(model.plan.text(target.arch)).c_str(),
                           name.c_str()));
    functions.push_back(function);
  }
  for (std::span<const Step> list : model.plan.lists(*model.target))
    for (const Step &step : list)
      FRIT_TRY(stepFailed(model.plan, step, raiseSharedMemory(step)));
  for (const artifact::Function &function : model.plan.functions())
    if (function.role == FRIT_FUNCTION_DECODE)
      for (const artifact::Program &program :
           model.plan.allPrograms(target).subspan(function.variants.first,
                                                  function.variants.count))
        divideShared(model.plan.steps(program.steps));
  return Status();
}

void LoadedTarget::loadGuardKernel() {
  guardKernel = std::make_unique<GuardKernel>(gpu);
  Status status = guardKernel->open();
  if (!status.failed())
    return;
  guardKernel.reset();
  // The host reads the conditions of steps that write state then, since these
  // are not captured in a graph; the context reports that.
  model.remark("steps that write no state run whatever their conditions say: " +
               status.message());
}

Status LoadedTarget::raiseSharedMemory(const Step &step) {
  if (step.kernel == artifact::kNone ||
      sharedBytes(step) <= kSharedWithoutAsking)
    return Status();
  // The attribute is per function: take the maximum over its steps.
  uint32_t bytes = step.sharedBytes;
  for (std::span<const Step> list : model.plan.lists(*model.target))
    for (const Step &other : list)
      if (other.kernel != artifact::kNone &&
          kernel(other.kernel) == kernel(step.kernel))
        bytes = std::max(bytes, other.sharedBytes);
  return gpu.driver.check(gpu.driver.funcSetAttribute(kernel(step.kernel),
                                                      kFunctionMaxDynamicShared,
                                                      int(bytes)),
                          "give a kernel its shared memory");
}

/// Divides the SMs' memory for the kernels of `steps` (SharedDivision.h).
void LoadedTarget::divideShared(std::span<const Step> steps) {
  auto attribute = [&](int which) {
    return uint64_t(gpu.driver.attributeOf(gpu.device, which));
  };
  const SmMemory sm = {
      attribute(kAttributeMultiprocessors), attribute(kAttributeSharedPerSm),
      attribute(kAttributeSharedReserved), attribute(kAttributeThreadsPerSm)};
  std::vector<Function> launched;
  std::vector<SharedUse> uses;
  for (const Step &step : steps)
    if (step.kernel != artifact::kNone) {
      Function function = kernel(step.kernel);
      int variables = 0;
      (void)gpu.driver.funcGetAttribute(&variables, kFunctionStaticShared,
                                        function);
      launched.push_back(function);
      uses.push_back({uint64_t(step.grid[0]) * step.grid[1] * step.grid[2],
                      uint64_t(step.block[0]) * step.block[1] * step.block[2],
                      uint64_t(variables) + sharedBytes(step)});
    }
  // A preference: the driver rounds it up, and ignores what it does not know.
  if (int percent = dividedPercent(uses, sm))
    for (Function function : launched)
      gpu.driver.funcSetAttribute(function, kFunctionPreferredShared, percent);
}

//===----------------------------------------------------------------------===//
// Libraries
//===----------------------------------------------------------------------===//

void LoadedTarget::findLibraries() {
  bool multiplies = false, usesCudnn = false;
  for (std::span<const Step> list : model.plan.lists(*model.target))
    for (const Step &step : list) {
      multiplies |= step.kind == StepKind::gemm;
      usesCudnn |= isForCudnn(step);
    }
  if (multiplies && !model.has(FRIT_NO_CUBLAS)) {
    cublas = std::make_unique<CublasLt>();
    cublasFound = cublas->load();
  }
  if (usesCudnn && !model.has(FRIT_NO_CUDNN)) {
    cudnn = std::make_unique<Cudnn>();
    cudnn->deterministic = model.has(FRIT_DETERMINISTIC);
    cudnnFound = cudnn->load();
  }
}

Status LoadedTarget::openLibraries() {
  std::lock_guard lock(captureMutex());
  if (cublas && !(cublasFound && cublas->open())) {
    cublas.reset();
    model.remark("cuBLASLt was not found (FRIT_CUBLASLT names it); matrix "
                 "products run on frit's own kernels");
  }
  if (cudnn && !cudnnFound) {
    cudnn.reset();
    model.remark("cuDNN 9 was not found (FRIT_CUDNN names it); convolutions "
                 "and attention run on frit's own kernels");
  }
  if (!cudnn)
    return Status();
  cudnnHandles = CudnnHandles::of(*cudnn, gpu.driver, gpu.context);
  int64_t filters = 0;
  for (std::span<const Step> list : model.plan.lists(*model.target))
    for (const Step &step : list)
      if (step.kind == StepKind::conv &&
          model.plan.conv(step).pass == artifact::ConvPass::forward)
        filters = std::max(filters, model.plan.conv(step).k);
  FRIT_TRY(zeros.allocate(uint64_t(filters) * 4, "a bias of zeros"));
  const Driver &driver = gpu.driver;
  FRIT_TRY(driver.check(
      driver.memsetD8Async(zeros.address(), 0, zeros.bytes(), nullptr),
      "clear memory"));
  return driver.check(driver.streamSynchronize(nullptr), "clear memory");
}

uint64_t LoadedTarget::bytes() const {
  uint64_t sum = prepared.bytes() + zeros.bytes();
  if (resident)
    sum += resident->bytes();
  for (const auto &other : others)
    sum += other->bytes();
  return sum;
}
