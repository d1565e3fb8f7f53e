//===- Model.cpp - The functions of a compiled training step --------------===//

#include "tools/frit-train/Model.h"
#include "tools/support/Files.h"
#include "tools/support/Message.h"

#include <algorithm>
#include <cstring>

using namespace frit::train;

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

static Input describeTensor(const frit_tensor_info &info) {
  return {info.name, info.dtype, {info.dims, info.dims + info.rank}};
}

bool ModelFunction::describe(frit_module *module) {
  *this = {};
  opened = module;
  if (frit_module_symbol_count(module))
    return complain("a training step has one size of every dimension, and this "
                    "one has several");
  for (uint32_t i = 0; i < frit_module_input_count(module); ++i) {
    frit_tensor_info info;
    frit_module_input(module, i, &info);
    takes.push_back(describeTensor(info));
  }
  for (uint32_t i = 0; i < frit_module_output_count(module); ++i) {
    frit_tensor_info info;
    frit_module_output(module, i, &info);
    if (info.rank == 0)
      numbers.push_back({i, info.name});
    else
      returned.push_back(describeTensor(info));
  }
  if (takes.empty())
    return complain("the step has no inputs");
  for (const Input &input : takes) {
    if (input.dims.empty() || input.dims[0] < 1)
      return complain("input '" + input.name +
                      "' has no first dimension that counts samples");
    if (input.dims[0] != takes[0].dims[0])
      return complain("input '" + input.name + "' has a batch of " +
                      std::to_string(input.dims[0]) + ", and '" +
                      takes[0].name + "' one of " +
                      std::to_string(takes[0].dims[0]));
  }
  samples = uint64_t(takes[0].dims[0]);
  auto isLoss = [](const Metric &metric) { return metric.name == "loss"; };
  auto loss = std::ranges::find_if(numbers, isLoss);
  if (loss == numbers.end())
    return complain("the step has no output 'loss' of rank 0; was it compiled "
                    "with fritc --train?");
  std::rotate(numbers.begin(), loss, loss + 1);
  return true;
}

/// Binds `data`. It is only read by frit_run.
static frit_tensor bindInput(const Input &type, const void *data) {
  return {type.name.c_str(),          const_cast<void *>(data), type.dtype,
          uint32_t(type.dims.size()), type.dims.data(),         FRIT_HOST};
}

std::vector<frit_tensor>
frit::train::bindInputs(const std::vector<Input> &types, const Batch &batch) {
  std::vector<frit_tensor> inputs;
  for (size_t i = 0; i < types.size(); ++i)
    inputs.push_back(bindInput(types[i], batch.inputs[i].data()));
  return inputs;
}

Fault frit::train::openSamples(Dataset &data,
                               const std::vector<std::string> &sources,
                               const std::string &tokens,
                               const ModelFunction &function, int64_t ignored) {
  return tokens.empty() ? data.open(sources, function.inputs())
                        : data.openTokens(tokens, function.inputs(), ignored);
}

frit_status ModelFunction::run(frit_context *context,
                               std::span<const frit_tensor> inputs,
                               std::span<Tensor> wanted) {
  std::vector<frit_tensor> outputs;
  std::vector<Tensor> values;
  for (const Metric &metric : numbers) {
    frit_tensor_info info;
    frit_module_output(opened, metric.output, &info);
    values.push_back({metric.name, info.dtype, {}, {}});
    allocate(values.back());
  }
  for (Tensor &value : values)
    outputs.push_back(value.bind());
  for (Tensor &tensor : wanted)
    outputs.push_back(tensor.bind());
  frit_status status = frit_run(context, inputs.data(), uint32_t(inputs.size()),
                                outputs.data(), uint32_t(outputs.size()));
  for (size_t i = 0; i < numbers.size(); ++i)
    numbers[i].value = values[i].at(0);
  return status;
}

//===----------------------------------------------------------------------===//
// Opening
//===----------------------------------------------------------------------===//

bool Model::failed(frit_status status) {
  return failed(frit_last_error(),
                status == FRIT_OUT_OF_MEMORY ? kMachine : kBadInput);
}

bool Model::failed(const Fault &fault) {
  return failed(fault.message(), fault.status());
}

bool Model::failed(const std::string &message, ExitStatus status) {
  exitStatus = status;
  uint32_t rank = options.place.rank;
  return complain((rank ? "rank " + std::to_string(rank) + ": " : "") +
                  message);
}

bool Model::leave() {
  exitStatus = kDone;
  return false;
}

bool Model::open(uint64_t batch) {
  frit_module_options settings = moduleOptions(options);
  frit_module *opened = nullptr;
  if (frit_status status =
          frit_module_load(options.model.c_str(), &settings, &opened))
    // An option is wrong, such as --device=gpu.
    return status == FRIT_INVALID_ARGUMENT
               ? failed(frit_last_error(), kBadUsage)
               : failed(status);
  artifact.reset(opened);
  protectModel(options.model, artifact.get());
  if (!checkUses(options, artifact.get())) {
    exitStatus = kBadUsage;
    return false;
  }
  bool isOpen =
      options.isEvaluation ? openEvaluationAlone() : openFunctions(batch);
  return isOpen && describeState();
}

bool Model::openFunctions(frit_function_role role,
                          std::vector<frit_module *> &functions) {
  if (others.empty())
    for (uint32_t i = 1; i < frit_module_function_count(artifact.get()); ++i) {
      frit_module *opened = nullptr;
      if (frit_status status = frit_module_open_function(
              artifact.get(), frit_module_function_name(artifact.get(), i),
              &opened))
        return failed(status);
      others.emplace_back(opened);
    }
  functions.clear();
  if (frit_module_role(artifact.get()) == role)
    functions.push_back(artifact.get());
  for (const ModuleHandle &other : others)
    if (frit_module_role(other.get()) == role)
      functions.push_back(other.get());
  return true;
}

bool Model::choose(const std::vector<frit_module *> &functions, uint64_t batch,
                   ModelFunction &function) {
  uint64_t ranks = options.place.size;
  uint64_t wanted = batch ? batch * ranks : options.batch;
  bool largest = options.largestBatch && !batch;
  std::string sizes, shortage;
  for (frit_module *module : functions) {
    if (!function.describe(module))
      return false;
    uint64_t own = function.batch();
    sizes += (sizes.empty() ? "" : ", ") + std::to_string(own);
    if (wanted && wanted != own * ranks)
      continue;
    shortage = describeShortage(memoryNeed(function));
    if (shortage.empty())
      return true;
    if (largest)
      continue;
    bool hasOthers = module != functions.back();
    return failed(shortage + (hasOthers ? "; --batch=auto takes the largest "
                                          "of its batches that fits"
                                        : ""),
                  kMachine);
  }
  if (largest)
    return failed(shortage, kMachine);
  return failed(
      "--batch=" + std::to_string(wanted) +
      ": the step was compiled for a batch of " + sizes +
      (ranks > 1 ? " on each of " + std::to_string(ranks) + " ranks" : ""));
}

/// Opens as `train` the training step for `batch` samples of this rank, or for
/// the batch of the options if that is 0.
bool Model::openStep(uint64_t batch) {
  std::vector<frit_module *> steps;
  if (!openFunctions(FRIT_FUNCTION_TRAIN_STEP, steps))
    return false;
  if (steps.empty())
    return failed("'" + options.model +
                  "' has no training step; fritc model.onnx "
                  "--train=train.json -o step.so compiles one");
  return choose(steps, batch, train);
}

/// Opens an evaluation step with state of its own.
bool Model::openEvaluationAlone() {
  std::vector<frit_module *> steps;
  if (!openFunctions(FRIT_FUNCTION_EVAL_STEP, steps))
    return false;
  if (steps.empty())
    return failed("'" + options.model +
                  "' has no eval_step; fritc model.onnx --train=train.json -o "
                  "step.so compiles one");
  if (!choose(steps, 0, evaluate))
    return false;
  frit_context *made = nullptr;
  if (frit_status status = frit_context_create(evaluate.module(), &made))
    return failed(status);
  context.reset(made);
  return true;
}

/// Opens as `evaluate` the evaluation step for the batch of `train`, if there
/// is one.
bool Model::openEvaluation() {
  std::vector<frit_module *> all;
  if (!openFunctions(FRIT_FUNCTION_EVAL_STEP, all))
    return false;
  for (frit_module *module : all) {
    if (!evaluate.describe(module))
      return false;
    if (evaluate.batch() == train.batch())
      return true;
  }
  evaluate = {};
  return true;
}

bool Model::openFunctions(uint64_t batch) {
  if (!openStep(batch) || !openEvaluation())
    return false;
  frit_context *made = nullptr;
  if (frit_status status = frit_context_create(train.module(), &made))
    return failed(status);
  context.reset(made);
  frit_feed *madeFeed = nullptr;
  if (frit_status status = frit_feed_create(context.get(), &madeFeed))
    return failed(status);
  feed.reset(madeFeed);
  if (!hasEvaluation())
    return true;
  if (frit_status status =
          frit_context_create_peer(evaluate.module(), context.get(), &made))
    return failed(status);
  peer.reset(made);
  return true;
}

bool Model::isOnCpu() const { return !strncmp(device().device, "cpu", 3); }

/// Returns the GPU memory that a function and its feed need. Not computed on
/// the CPU, which allocates pages only when they are used.
MemoryNeed Model::memoryNeed(const ModelFunction &function) const {
  frit_device_info info = {};
  frit_module_device(function.module(), &info);
  if (isOnCpu())
    return {};
  uint64_t samples =
      info.context_bytes - frit_module_state_bytes(function.module());
  for (const Input &input : function.inputs())
    samples += *byteSize(input.dtype, input.dims);
  return {stateBytes(), samples, function.batch(), info.free_bytes};
}

/// Reports a failed join. The input is at fault only if an argument was
/// invalid.
bool Model::failedToJoin(frit_status status) {
  return failed(frit_last_error(),
                status == FRIT_INVALID_ARGUMENT ? kBadInput : kMachine);
}

bool Model::makeGroup(frit_group_id &id) {
  frit_status status = frit_group_unique_id(train.module(), &id);
  return !status || failedToJoin(status);
}

bool Model::join(const frit_group_id &id) {
  frit_group group = {options.place.rank, options.place.size, id};
  frit_status status = frit_context_join(context.get(), &group);
  return !status || failedToJoin(status);
}

frit_device_info Model::device() const {
  frit_device_info info = {};
  frit_module_device(main().module(), &info);
  return info;
}
