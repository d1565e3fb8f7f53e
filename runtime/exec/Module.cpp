//===- Module.cpp - Open a model and choose where it runs -----------------===//

#include "runtime/exec/Module.h"
#include "runtime/cuda/Driver.h"
#include "runtime/exec/SharedLibrary.h"
#include "runtime/exec/Targets.h"

#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

using namespace frit;

Status frit::stepFailed(const PlanView &plan, const artifact::Step &step,
                        Status status) {
  if (!status.failed())
    return status;
  return std::move(status).within(plan.nodeOf(step));
}

Status frit::noKernel(const PlanView &plan, const artifact::Step &step) {
  const char *what =
      step.kind == artifact::StepKind::gemm ? "matrix product" : "convolution";
  return Status(FRIT_UNSUPPORTED,
                format("%s: no library here takes this %s, and the model has "
                       "no kernel of its own for it; compile it with "
                       "-fno-cublas -fno-cudnn",
                       plan.nodeOf(step).c_str(), what));
}

frit_module::~frit_module() {
  // The executor may hold pointers into the library's image.
  executor.reset();
  if (library)
    dlclose(library);
}

Status frit_module::load(const std::string &path,
                         const frit_module_options *options) {
  const frit_image *image;
  FRIT_TRY(openModelLibrary(path, library, image));
  size_t slash = path.rfind('/');
  Status status =
      open(*image, options, slash == path.npos ? "" : path.substr(0, slash));
  return status.failed() ? std::move(status).within(path) : status;
}

Status frit_module::open(const frit_image &image,
                         const frit_module_options *options,
                         const std::string &folder) {
  frit_module_options used = FRIT_MODULE_OPTIONS_INIT;
  if (options) {
    if (options->struct_bytes != sizeof(frit_module_options))
      return Status(FRIT_INVALID_ARGUMENT,
                    "frit_module_options::struct_bytes is wrong; start from "
                    "FRIT_MODULE_OPTIONS_INIT");
    used = *options;
  }
  model.image = &image;
  model.flags = used.flags;
  model.threads = used.threads;
  model.remark = {used.remark, used.remark_user};
  FRIT_TRY(PlanView::open(image, model.plan));

  const PlanView &plan = model.plan;
  name = plan.text(plan.header().model);
  for (const artifact::Tensor &tensor : plan.inputs())
    inputNames.emplace_back(plan.text(tensor.name));
  for (const artifact::Tensor &tensor : plan.outputs())
    outputNames.emplace_back(plan.text(tensor.name));
  for (const artifact::Target &target : plan.targets())
    archs.emplace_back(plan.text(target.arch));

  const char *wanted = used.device ? used.device : "";
  if (!strcmp(wanted, "none"))
    return Status();
  FRIT_TRY(model.weights.open(
      plan, image, used.weights_folder ? used.weights_folder : folder));
  return chooseDevice(wanted);
}

/// The ordinal in "cuda" or "cuda:N"; -1 where `device` is neither.
static int cudaOrdinal(const char *device) {
  if (!strcmp(device, "cuda"))
    return 0;
  if (strncmp(device, "cuda:", 5) || device[5] < '0' || device[5] > '9')
    return -1;
  char *end;
  long ordinal = strtol(device + 5, &end, 10);
  return *end || ordinal > 1023 ? -1 : int(ordinal);
}

Status frit_module::chooseDevice(const char *wanted) {
  const PlanView &plan = model.plan;
  bool any = !*wanted, cpuOnly = !strcmp(wanted, "cpu");
  int ordinal = any ? 0 : cudaOrdinal(wanted);
  if (!any && !cpuOnly && ordinal < 0)
    return Status(
        FRIT_INVALID_ARGUMENT,
        format("unknown device '%s'; write cuda, cuda:N, cpu or none", wanted));

  Status noGpu(FRIT_NO_DEVICE, "");
  if (!cpuOnly) {
    bool usePtx;
    model.phases.begin("find the GPU");
    noGpu = cuda::findTarget(plan, ordinal, model.target, usePtx);
    if (!noGpu.failed()) {
      device = format("cuda:%d", ordinal);
      Status status = createCudaExecutor(model, ordinal, executor);
      model.phases.end();
      return status;
    }
    model.phases.end();
    if (!any)
      return noGpu;
  }

  model.target = chooseCpuTarget(plan);
  if (!model.target) {
    std::string message = format("the model has no code for this processor; it "
                                 "has code for: %s",
                                 listArchs(plan).c_str());
    if (any)
      message = noGpu.message() + "; and " + message;
    return Status(FRIT_NO_DEVICE, message);
  }
  if (any && hasCudaTarget(plan))
    model.remark("running on the cpu: " + noGpu.message());
  device = "cpu";
  return createCpuExecutor(model, executor);
}
