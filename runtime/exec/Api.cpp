//===- Api.cpp - The C interface ------------------------------------------===//
//
// Every function here checks its pointers, does the work inside and turns the
// outcome into a status and the thread's last error.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/Module.h"
#include "runtime/exec/Types.h"

#include <new>

using namespace frit;

static std::string &lastError() {
  thread_local std::string text = "no error";
  return text;
}

static frit_status report(Status status) {
  if (status.failed())
    lastError() = status.message();
  return status.status();
}

static frit_status nullArgument(const char *function) {
  return report(
      Status(FRIT_INVALID_ARGUMENT, format("%s: a pointer is null", function)));
}

static frit_status noSuchIndex(const char *function, uint32_t index) {
  return report(Status(FRIT_INVALID_ARGUMENT,
                       format("%s: there is no index %u", function, index)));
}

const char *frit_last_error(void) { return lastError().c_str(); }

const char *frit_version(void) { return FRIT_VERSION; }

const char *frit_status_name(frit_status status) {
  switch (status) {
  case FRIT_OK:
    return "ok";
  case FRIT_INVALID_ARGUMENT:
    return "invalid argument";
  case FRIT_BAD_MODEL:
    return "bad model";
  case FRIT_NO_DEVICE:
    return "no device";
  case FRIT_OUT_OF_MEMORY:
    return "out of memory";
  case FRIT_IO_ERROR:
    return "input or output error";
  case FRIT_UNSUPPORTED:
    return "unsupported";
  case FRIT_DEVICE_ERROR:
    return "device error";
  }
  return "unknown status";
}

size_t frit_dtype_size(frit_dtype dtype) {
  return elementBytes(artifact::DType(dtype));
}

const char *frit_dtype_name(frit_dtype dtype) {
  return typeName(artifact::DType(dtype));
}

//===----------------------------------------------------------------------===//
// Modules
//===----------------------------------------------------------------------===//

frit_status frit_module_open(const frit_image *image,
                             const frit_module_options *options,
                             frit_module **module) {
  if (!image || !module)
    return nullArgument("frit_module_open");
  auto opened = std::make_unique<frit_module>();
  Status status = opened->open(*image, options, "");
  if (!status.failed())
    *module = opened.release();
  return report(std::move(status));
}

frit_status frit_module_load(const char *path,
                             const frit_module_options *options,
                             frit_module **module) {
  if (!path || !module)
    return nullArgument("frit_module_load");
  auto opened = std::make_unique<frit_module>();
  Status status = opened->load(path, options);
  if (!status.failed())
    *module = opened.release();
  return report(std::move(status));
}

void frit_module_close(frit_module *module) { delete module; }

const char *frit_module_name(const frit_module *module) {
  return module ? module->name.c_str() : "";
}

uint32_t frit_module_input_count(const frit_module *module) {
  return module ? uint32_t(module->inputNames.size()) : 0;
}

uint32_t frit_module_output_count(const frit_module *module) {
  return module ? uint32_t(module->outputNames.size()) : 0;
}

static frit_tensor_info describe(const PlanView &plan, const std::string &name,
                                 const artifact::Tensor &tensor) {
  std::span<const int64_t> dims = plan.dims(tensor.dims);
  return {name.c_str(), frit_dtype(tensor.type), uint32_t(dims.size()),
          dims.data(), tensor.bytes};
}

frit_status frit_module_input(const frit_module *module, uint32_t index,
                              frit_tensor_info *info) {
  if (!module || !info)
    return nullArgument("frit_module_input");
  if (index >= module->inputNames.size())
    return noSuchIndex("frit_module_input", index);
  const PlanView &plan = module->model.plan;
  *info = describe(plan, module->inputNames[index], plan.inputs()[index]);
  return FRIT_OK;
}

frit_status frit_module_output(const frit_module *module, uint32_t index,
                               frit_tensor_info *info) {
  if (!module || !info)
    return nullArgument("frit_module_output");
  if (index >= module->outputNames.size())
    return noSuchIndex("frit_module_output", index);
  const PlanView &plan = module->model.plan;
  *info = describe(plan, module->outputNames[index], plan.outputs()[index]);
  return FRIT_OK;
}

static frit_tensor hostTensor(const frit_tensor_info &info, void *data) {
  return {info.name, data, info.dtype, info.rank, info.dims, FRIT_HOST};
}

frit_status frit_module_input_tensor(const frit_module *module, uint32_t index,
                                     const void *data, frit_tensor *tensor) {
  if (!tensor)
    return nullArgument("frit_module_input_tensor");
  frit_tensor_info info;
  frit_status status = frit_module_input(module, index, &info);
  // Inputs are never written through; the struct serves outputs as well.
  if (status == FRIT_OK)
    *tensor = hostTensor(info, const_cast<void *>(data));
  return status;
}

frit_status frit_module_output_tensor(const frit_module *module, uint32_t index,
                                      void *data, frit_tensor *tensor) {
  if (!tensor)
    return nullArgument("frit_module_output_tensor");
  frit_tensor_info info;
  frit_status status = frit_module_output(module, index, &info);
  if (status == FRIT_OK)
    *tensor = hostTensor(info, data);
  return status;
}

uint32_t frit_module_target_count(const frit_module *module) {
  return module ? uint32_t(module->archs.size()) : 0;
}

frit_status frit_module_target(const frit_module *module, uint32_t index,
                               frit_target_info *info) {
  if (!module || !info)
    return nullArgument("frit_module_target");
  if (index >= module->archs.size())
    return noSuchIndex("frit_module_target", index);
  const PlanView &plan = module->model.plan;
  const artifact::Target &target = plan.targets()[index];
  *info = {};
  info->arch = module->archs[index].c_str();
  info->is_cuda = isCudaArch(module->archs[index]);
  info->chosen = &target == module->model.target;
  for (const artifact::Step &step : plan.steps(target.main)) {
    ++info->steps;
    if (step.kind == artifact::StepKind::launch)
      ++info->launches;
    else if (step.kind == artifact::StepKind::copy)
      ++info->copies;
    else
      ++info->library_calls;
  }
  info->prepare_steps = target.prepare.count;
  info->arena_bytes = target.arenaBytes;
  info->arena_lower_bound = target.arenaLowerBound;
  info->prepared_bytes = target.preparedBytes;
  info->cubin_bytes = target.cubin.size;
  info->ptx_bytes = target.ptx.size;
  return FRIT_OK;
}

uint64_t frit_module_weight_bytes(const frit_module *module) {
  uint64_t total = 0;
  if (module)
    for (const artifact::Constant &constant : module->model.plan.constants())
      total += constant.bytes;
  return total;
}

frit_status frit_module_device(const frit_module *module,
                               frit_device_info *info) {
  if (!module || !info)
    return nullArgument("frit_module_device");
  *info = {};
  info->name = "";
  info->device = module->device.c_str();
  if (module->executor)
    module->executor->describe(*info);
  return FRIT_OK;
}

//===----------------------------------------------------------------------===//
// Contexts
//===----------------------------------------------------------------------===//

frit_status frit_context_create(frit_module *module, frit_context **context) {
  if (!module || !context)
    return nullArgument("frit_context_create");
  auto opened = std::make_unique<frit_context>();
  Status status = opened->open(*module);
  if (!status.failed())
    *context = opened.release();
  return report(std::move(status));
}

static void visitPhases(const Phases &phases,
                        void (*visit)(void *user, const char *name,
                                      double seconds),
                        void *user) {
  for (const Phases::Phase &phase : phases.done())
    visit(user, phase.name, phase.seconds);
}

void frit_module_phases(const frit_module *module,
                        void (*visit)(void *user, const char *name,
                                      double seconds),
                        void *user) {
  if (module && visit)
    visitPhases(module->model.phases, visit, user);
}

void frit_context_phases(const frit_context *context,
                         void (*visit)(void *user, const char *name,
                                       double seconds),
                         void *user) {
  if (context && visit)
    visitPhases(context->execution->phases, visit, user);
}

void frit_context_destroy(frit_context *context) { delete context; }

/// Whether the arrays of a call are there.
static bool hasArrays(const frit_context *context, const frit_tensor *inputs,
                      uint32_t inputCount, const frit_tensor *outputs,
                      uint32_t outputCount) {
  return context && (inputs || !inputCount) && (outputs || !outputCount);
}

frit_status frit_run(frit_context *context, const frit_tensor *inputs,
                     uint32_t input_count, const frit_tensor *outputs,
                     uint32_t output_count) {
  if (!hasArrays(context, inputs, input_count, outputs, output_count))
    return nullArgument("frit_run");
  Status status = context->bind({inputs, input_count}, {outputs, output_count});
  if (!status.failed())
    status = context->execution->run(context->inputs, context->outputs,
                                     /*wait=*/true);
  return report(std::move(status));
}

frit_status frit_run_async(frit_context *context, const frit_tensor *inputs,
                           uint32_t input_count, const frit_tensor *outputs,
                           uint32_t output_count) {
  if (!hasArrays(context, inputs, input_count, outputs, output_count))
    return nullArgument("frit_run_async");
  for (const frit_tensor &tensor : std::span(inputs, input_count))
    if (tensor.location != FRIT_DEVICE)
      return report(Status(FRIT_INVALID_ARGUMENT,
                           "frit_run_async takes device tensors only"));
  for (const frit_tensor &tensor : std::span(outputs, output_count))
    if (tensor.location != FRIT_DEVICE)
      return report(Status(FRIT_INVALID_ARGUMENT,
                           "frit_run_async takes device tensors only"));
  Status status = context->bind({inputs, input_count}, {outputs, output_count});
  if (!status.failed())
    status = context->execution->run(context->inputs, context->outputs,
                                     /*wait=*/false);
  return report(std::move(status));
}

frit_status frit_context_synchronize(frit_context *context) {
  if (!context)
    return nullArgument("frit_context_synchronize");
  return report(context->execution->synchronize());
}

void *frit_context_stream(const frit_context *context) {
  return context ? context->execution->stream() : nullptr;
}

void *frit_context_input_buffer(frit_context *context, uint32_t index) {
  if (!context || index >= context->inputs.size())
    return nullptr;
  return context->execution->inputBuffer(index);
}

void *frit_context_output_buffer(frit_context *context, uint32_t index) {
  if (!context || index >= context->outputs.size())
    return nullptr;
  return context->execution->outputBuffer(index);
}

uint32_t frit_context_step_count(const frit_context *context) {
  return context ? uint32_t(context->steps.size()) : 0;
}

frit_status frit_context_step(const frit_context *context, uint32_t index,
                              frit_step_info *info) {
  if (!context || !info)
    return nullArgument("frit_context_step");
  if (index >= context->steps.size())
    return noSuchIndex("frit_context_step", index);
  // What computes a step may only be known once it ran, so ask anew.
  auto &texts = const_cast<frit_context *>(context)->steps[index];
  std::string pick = context->execution->pick(index);
  if (pick != texts.kernel)
    texts.kernel = std::move(pick);
  const PlanView &plan = context->module->model.plan;
  const artifact::Step &step = context->module->model.steps()[index];
  *info = {texts.kind,
           texts.node.c_str(),
           texts.kernel.c_str(),
           0,
           0,
           plan.bytesOf(step),
           plan.flopsOf(step),
           context->execution->isLibrary(index)};
  return FRIT_OK;
}

frit_status frit_profile(frit_context *context, const frit_tensor *inputs,
                         uint32_t input_count, const frit_tensor *outputs,
                         uint32_t output_count,
                         void (*visit)(void *user, const frit_step_info *step),
                         void *user) {
  if (!hasArrays(context, inputs, input_count, outputs, output_count) || !visit)
    return nullArgument("frit_profile");
  std::vector<StepTime> times;
  Status status = context->bind({inputs, input_count}, {outputs, output_count});
  if (!status.failed())
    status =
        context->execution->profile(context->inputs, context->outputs, times);
  if (status.failed())
    return report(std::move(status));
  for (uint32_t index = 0; index < times.size(); ++index) {
    frit_step_info info;
    (void)frit_context_step(context, index, &info);
    info.start = times[index].start;
    info.duration = times[index].duration;
    visit(user, &info);
  }
  return FRIT_OK;
}
