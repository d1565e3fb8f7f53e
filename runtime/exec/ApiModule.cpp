//===- ApiModule.cpp - The C interface: modules ---------------------------===//

#include "runtime/exec/Api.h"
#include "runtime/exec/Module.h"
#include "runtime/exec/Types.h"

using namespace frit;

frit_status frit_module_open(const frit_image *image,
                             const frit_module_options *options,
                             frit_module **module) {
  if (!image || !module)
    return nullArgument("frit_module_open");
  auto opened = std::make_unique<frit_module>();
  Status status = opened->open(*image, options, "", {});
  if (!status.failed())
    *module = opened.release();
  return report(std::move(status));
}

frit_status frit_module_load(const char *path,
                             const frit_module_options *options,
                             frit_module **module) {
  if (!path || !module)
    return nullArgument("frit_module_load");
  return frit_module_load_weights(path, options, nullptr, 0, module);
}

frit_status frit_module_load_weights(const char *path,
                                     const frit_module_options *options,
                                     const frit_tensor *weights, uint32_t count,
                                     frit_module **module) {
  if (!path || (!weights && count) || !module)
    return nullArgument("frit_module_load_weights");
  auto opened = std::make_unique<frit_module>();
  Status status = opened->load(path, options, {weights, count});
  if (!status.failed())
    *module = opened.release();
  return report(std::move(status));
}

void frit_module_close(frit_module *module) { delete module; }

uint32_t frit_module_function_count(const frit_module *module) {
  return module ? uint32_t(module->functionNames.size()) : 0;
}

const char *frit_module_function_name(const frit_module *module,
                                      uint32_t index) {
  return module && index < module->functionNames.size()
             ? module->functionNames[index].c_str()
             : nullptr;
}

const char *frit_module_function(const frit_module *module) {
  return module ? module->function.c_str() : "";
}

frit_function_role frit_module_role(const frit_module *module) {
  return module ? frit_function_role(module->model.plan.function().role)
                : FRIT_FUNCTION_INFERENCE;
}

frit_status frit_module_open_function(frit_module *module, const char *name,
                                      frit_module **function) {
  if (!module || !name || !function)
    return nullArgument("frit_module_open_function");
  auto opened = std::make_unique<frit_module>();
  Status status = opened->openFunction(*module, name);
  if (!status.failed())
    *function = opened.release();
  return report(std::move(status));
}

const char *frit_module_name(const frit_module *module) {
  return module ? module->name.c_str() : "";
}

uint32_t frit_module_input_count(const frit_module *module) {
  return module ? uint32_t(module->inputNames.size()) : 0;
}

uint32_t frit_module_output_count(const frit_module *module) {
  return module ? uint32_t(module->outputNames.size()) : 0;
}

/// Returns the index of the variant with the largest sizes.
static size_t largest(const PlanView &plan) {
  return plan.variants().size() - 1;
}

static frit_tensor_info describe(const PlanView &plan, const std::string &name,
                                 const artifact::Tensor &tensor) {
  std::span<const int64_t> dims = plan.dims(tensor.dims);
  auto type = frit_dtype(tensor.type);
  uint64_t count = tensor.bytes / elementBytes(tensor.type);
  return {name.c_str(), type, uint32_t(dims.size()), dims.data(),
          count * frit_dtype_size(type)};
}

frit_status frit_module_input(const frit_module *module, uint32_t index,
                              frit_tensor_info *info) {
  if (!module || !info)
    return nullArgument("frit_module_input");
  if (index >= module->inputNames.size())
    return noSuchIndex("frit_module_input", index);
  const PlanView &plan = module->model.plan;
  *info = describe(plan, module->inputNames[index],
                   plan.inputs(largest(plan))[index]);
  return FRIT_OK;
}

frit_status frit_module_output(const frit_module *module, uint32_t index,
                               frit_tensor_info *info) {
  if (!module || !info)
    return nullArgument("frit_module_output");
  if (index >= module->outputNames.size())
    return noSuchIndex("frit_module_output", index);
  const PlanView &plan = module->model.plan;
  *info = describe(plan, module->outputNames[index],
                   plan.outputs(largest(plan))[index]);
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
  // The struct serves inputs and outputs; an input is never written to.
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
  const artifact::Program &program = plan.programs(target)[largest(plan)];
  for (const artifact::Step &step : plan.steps(program.steps)) {
    ++info->steps;
    switch (artifact::runnerOf(step.kind)) {
    case artifact::StepRunner::Kernel:
      ++info->launches;
      break;
    case artifact::StepRunner::Copy:
      ++info->copies;
      break;
    case artifact::StepRunner::Call:
    case artifact::StepRunner::Exchange:
      ++info->library_calls;
      break;
    case artifact::StepRunner::Guard:
    case artifact::StepRunner::Await:
      break;
    }
  }
  info->prepare_steps = target.prepare.count;
  info->arena_bytes = program.arenaBytes;
  info->arena_lower_bound = program.arenaLowerBound;
  info->prepared_bytes = target.preparedBytes;
  for (const artifact::DeviceModule &code : plan.modules(target)) {
    info->cubin_bytes += code.cubin.size;
    info->ptx_bytes += code.ptx.size;
  }
  return FRIT_OK;
}

uint32_t frit_module_state_count(const frit_module *module) {
  return module ? uint32_t(module->stateNames.size()) : 0;
}

frit_status frit_module_state(const frit_module *module, uint32_t index,
                              frit_tensor_info *info) {
  if (!module || !info)
    return nullArgument("frit_module_state");
  if (index >= module->stateNames.size())
    return noSuchIndex("frit_module_state", index);
  const PlanView &plan = module->model.plan;
  const artifact::State &state = plan.states()[index];
  std::span<const int64_t> dims = plan.dims(state.dims);
  *info = {module->stateNames[index].c_str(), frit_dtype(state.type),
           uint32_t(dims.size()), dims.data(), state.bytes};
  return FRIT_OK;
}

frit_state_role frit_module_state_role(const frit_module *module,
                                       uint32_t index) {
  return module && index < module->stateNames.size()
             ? frit_state_role(module->model.plan.states()[index].role)
             : FRIT_STATE_OTHER;
}

uint64_t frit_module_state_bytes(const frit_module *module) {
  return module ? module->model.plan.header().stateBytes : 0;
}

uint64_t frit_module_sharded_state_bytes(const frit_module *module) {
  if (!module)
    return 0;
  const PlanView &plan = module->model.plan;
  return plan.header().stateBytes - plan.wholeBytes();
}

uint32_t frit_module_weight_count(const frit_module *module) {
  return module ? uint32_t(module->weightNames.size()) : 0;
}

frit_status frit_module_weight(const frit_module *module, uint32_t index,
                               frit_tensor_info *info) {
  if (!module || !info)
    return nullArgument("frit_module_weight");
  if (index >= module->weightNames.size())
    return noSuchIndex("frit_module_weight", index);
  const PlanView &plan = module->model.plan;
  const artifact::Constant &constant = plan.constants()[index];
  std::span<const int64_t> dims = plan.dims(constant.dims);
  *info = {module->weightNames[index].c_str(), frit_dtype(constant.type),
           uint32_t(dims.size()), dims.data(), constant.bytes};
  return FRIT_OK;
}

uint32_t frit_module_index_range_count(const frit_module *module,
                                       uint32_t input) {
  return module && input < module->indexUses.size()
             ? uint32_t(module->indexUses[input].size())
             : 0;
}

frit_status frit_module_index_range(const frit_module *module, uint32_t input,
                                    uint32_t index, frit_index_range *range) {
  if (!module || !range)
    return nullArgument("frit_module_index_range");
  if (index >= frit_module_index_range_count(module, input))
    return noSuchIndex("frit_module_index_range", index);
  const PlanView &plan = module->model.plan;
  const artifact::IndexRange &found =
      plan.indices(plan.inputs(plan.variants().size() - 1)[input])[index];
  *range = {plan.dims(found.first).data(),
            plan.dims(found.sizes).data(),
            found.least,
            found.most,
            found.other,
            module->indexUses[input][index].c_str()};
  return FRIT_OK;
}

uint32_t frit_module_weight_file_count(const frit_module *module) {
  return module ? uint32_t(module->weightFiles.size()) : 0;
}

const char *frit_module_weight_file(const frit_module *module, uint32_t index) {
  return module && index < module->weightFiles.size()
             ? module->weightFiles[index].c_str()
             : nullptr;
}

frit_status frit_module_set_weights(frit_module *module,
                                    const frit_tensor *weights,
                                    uint32_t count) {
  if (!module || (!weights && count))
    return nullArgument("frit_module_set_weights");
  return report(module->setWeights({weights, count}));
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
