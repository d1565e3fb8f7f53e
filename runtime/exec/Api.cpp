//===- Api.cpp - The C interface ------------------------------------------===//
//
// Every function checks its pointers, calls the implementation and reports a
// failure as a status and the thread's last error.
//
//===----------------------------------------------------------------------===//

#include "runtime/exec/Api.h"
#include "runtime/exec/Module.h"
#include "runtime/exec/Types.h"

#include "frit/dtype.h"

#include <algorithm>

using namespace frit;

static std::string &lastError() {
  thread_local std::string text = "no error";
  return text;
}

frit_status frit::report(Status status) {
  if (status.failed())
    lastError() = status.message();
  return status.status();
}

frit_status frit::nullArgument(const char *function) {
  return report(invalidArgument(format("%s: a pointer is null", function)));
}

frit_status frit::noSuchIndex(const char *function, uint32_t index) {
  return report(
      invalidArgument(format("%s: there is no index %u", function, index)));
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
  // The device has the strings' numbers instead.
  if (dtype == FRIT_STRING)
    return sizeof(frit_string);
  return elementBytes(artifact::DType(dtype));
}

const char *frit_dtype_name(frit_dtype dtype) {
  return typeName(artifact::DType(dtype));
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

frit_status frit_context_create_peer(frit_module *function,
                                     frit_context *context,
                                     frit_context **peer) {
  if (!function || !context || !peer)
    return nullArgument("frit_context_create_peer");
  auto opened = std::make_unique<frit_context>();
  Status status = opened->open(*function, context);
  if (!status.failed())
    *peer = opened.release();
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

/// Returns whether no array of a call is null.
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
    status = context->execution->run(context->variant, context->inputs,
                                     context->outputs, /*wait=*/true);
  if (!status.failed())
    status = context->finish();
  return report(std::move(status));
}

frit_status frit_run_async(frit_context *context, const frit_tensor *inputs,
                           uint32_t input_count, const frit_tensor *outputs,
                           uint32_t output_count) {
  if (!hasArrays(context, inputs, input_count, outputs, output_count))
    return nullArgument("frit_run_async");
  for (const frit_tensor &tensor : std::span(inputs, input_count))
    if (tensor.location != FRIT_DEVICE)
      return report(
          invalidArgument("frit_run_async takes device tensors only"));
  for (const frit_tensor &tensor : std::span(outputs, output_count))
    if (tensor.location != FRIT_DEVICE)
      return report(
          invalidArgument("frit_run_async takes device tensors only"));
  Status status = context->bind({inputs, input_count}, {outputs, output_count});
  if (!status.failed())
    status = context->execution->run(context->variant, context->inputs,
                                     context->outputs, /*wait=*/false);
  return report(std::move(status));
}

frit_status frit_group_unique_id(const frit_module *module, frit_group_id *id) {
  if (!module || !id)
    return nullArgument("frit_group_unique_id");
  if (!module->executor)
    return report(
        invalidArgument("frit_group_unique_id: the module runs nothing"));
  return report(module->executor->makeGroupId(*id));
}

frit_status frit_context_join(frit_context *context, const frit_group *group) {
  if (!context || !group)
    return nullArgument("frit_context_join");
  return report(context->join(*group));
}

frit_status frit_context_synchronize(frit_context *context) {
  if (!context)
    return nullArgument("frit_context_synchronize");
  return report(context->execution->synchronize());
}

frit_status frit_state_read(frit_context *context, const frit_tensor *tensors,
                            uint32_t count) {
  if (!context || (!tensors && count))
    return nullArgument("frit_state_read");
  // A rank without tensors of its own still takes part, for the others.
  bool divides = !context->module->model.plan.shards().empty();
  Status status = context->bindState({tensors, count}, /*mayLackData=*/divides);
  if (!status.failed())
    status = context->execution->readState(context->state);
  return report(std::move(status));
}

frit_status frit_state_write(frit_context *context, const frit_tensor *tensors,
                             uint32_t count) {
  if (!context || (!tensors && count))
    return nullArgument("frit_state_write");
  Status status = context->bindState({tensors, count}, /*mayLackData=*/false);
  if (!status.failed())
    status = context->execution->writeState(context->state);
  return report(std::move(status));
}

frit_status frit_context_set_stream(frit_context *context, void *stream) {
  if (!context)
    return nullArgument("frit_context_set_stream");
  return report(context->execution->setStream(stream));
}

void *frit_context_stream(const frit_context *context) {
  return context ? context->execution->stream() : nullptr;
}

void *frit_context_input_buffer(frit_context *context, uint32_t index) {
  if (!context || index >= context->module->inputNames.size() ||
      context->module->model.plan.inputs(0)[index].type ==
          artifact::DType::string)
    return nullptr;
  return context->execution->inputBuffer(index);
}

void *frit_context_output_buffer(frit_context *context, uint32_t index) {
  if (!context || index >= context->module->outputNames.size() ||
      context->module->model.plan.outputs(0)[index].type ==
          artifact::DType::string)
    return nullptr;
  return context->execution->outputBuffer(index);
}

frit_status frit_context_output_dims(const frit_context *context,
                                     uint32_t index, int64_t *dims) {
  if (!context)
    return nullArgument("frit_context_output_dims");
  if (index >= context->module->outputNames.size())
    return noSuchIndex("frit_context_output_dims", index);
  if (!context->hasShapes)
    return report(
        invalidArgument("frit_context_output_dims: there was no call yet"));
  const std::vector<int64_t> &shape = context->outputShapes[index];
  if (!dims && !shape.empty())
    return nullArgument("frit_context_output_dims");
  std::copy(shape.begin(), shape.end(), dims);
  return FRIT_OK;
}

uint32_t frit_context_step_count(const frit_context *context) {
  return context
             ? uint32_t(context->module->model.steps(context->variant).size())
             : 0;
}

frit_status frit_context_step(const frit_context *context, uint32_t index,
                              frit_step_info *info) {
  if (!context || !info)
    return nullArgument("frit_context_step");
  size_t variant = context->variant;
  const Model &model = context->module->model;
  if (index >= model.steps(variant).size())
    return noSuchIndex("frit_context_step", index);
  // A library may choose its algorithm at the first run, so ask again.
  auto &texts = const_cast<frit_context *>(context)->stepTexts()[index];
  std::string pick = context->execution->pick(variant, index);
  if (pick != texts.kernel)
    texts.kernel = std::move(pick);
  const PlanView &plan = model.plan;
  const artifact::Step &step = model.steps(variant)[index];
  *info = {texts.kind,
           texts.node.c_str(),
           texts.kernel.c_str(),
           0,
           0,
           plan.bytesOf(step),
           plan.flopsOf(step),
           context->execution->isLibrary(variant, index),
           step.kind == artifact::StepKind::guard ? plan.guard(step).steps : 0};
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
    status = context->execution->profile(context->variant, context->inputs,
                                         context->outputs, times);
  if (!status.failed())
    status = context->finish();
  if (status.failed())
    return report(std::move(status));
  for (uint32_t index = 0; index < times.size(); ++index) {
    frit_step_info info;
    (void)frit_context_step(context, index, &info);
    info.start = times[index].start;
    info.duration = times[index].duration;
    if (!times[index].ran)
      info.bytes = info.flops = 0;
    visit(user, &info);
  }
  return FRIT_OK;
}

/// Returns the last of the steps `ran` that wrote to the memory of an operand.
static uint32_t writerOf(const artifact::Buffer &operand, const PlanView &plan,
                         std::span<const artifact::Step> steps,
                         std::span<const uint32_t> ran) {
  using artifact::Space;
  if (operand.space != Space::arena && operand.space != Space::output &&
      operand.space != Space::state)
    return FRIT_NO_STEP;
  for (size_t i = ran.size(); i-- > 0;)
    for (const artifact::Buffer &result : plan.arguments(steps[ran[i]]))
      if (result.written && result.space == operand.space &&
          result.index == operand.index &&
          result.offset < operand.offset + operand.bytes &&
          operand.offset < result.offset + result.bytes)
        return ran[i];
  return FRIT_NO_STEP;
}

frit_status frit_trace(frit_context *context, const frit_tensor *inputs,
                       uint32_t input_count, const frit_tensor *outputs,
                       uint32_t output_count, int operands,
                       void (*visit)(void *user, const frit_step_info *step,
                                     const frit_step_tensor *tensors,
                                     uint32_t tensor_count),
                       void *user) {
  if (!hasArrays(context, inputs, input_count, outputs, output_count) || !visit)
    return nullArgument("frit_trace");
  Status status = context->bind({inputs, input_count}, {outputs, output_count});
  if (status.failed())
    return report(std::move(status));
  const PlanView &plan = context->module->model.plan;
  std::span<const artifact::Step> steps =
      context->module->model.steps(context->variant);
  std::vector<uint32_t> ran;
  auto show = [&](size_t index, std::span<const void *const> data) {
    frit_step_info info;
    (void)frit_context_step(context, uint32_t(index), &info);
    std::span<const artifact::Buffer> buffers = plan.arguments(steps[index]);
    std::vector<frit_step_tensor> tensors;
    for (size_t i = 0; i < buffers.size(); ++i) {
      const artifact::Buffer &buffer = buffers[i];
      if (!operands && !buffer.written)
        continue;
      const auto *row = artifact::findDType(artifact::DType(buffer.type));
      uint64_t bytes = row ? row->bytes : 0;
      tensors.push_back({frit_dtype(buffer.type),
                         bytes ? buffer.bytes / bytes : 0, data[i],
                         buffer.written != 0,
                         buffer.written ? uint32_t(index)
                                        : writerOf(buffer, plan, steps, ran)});
    }
    visit(user, &info, tensors.data(), uint32_t(tensors.size()));
    ran.push_back(uint32_t(index));
  };
  status = context->execution->trace(context->variant, context->inputs,
                                     context->outputs, operands, show);
  if (!status.failed())
    status = context->finish();
  return report(std::move(status));
}
