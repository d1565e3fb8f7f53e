//===- Context.cpp - Match the tensors of a call with the model's ---------===//

#include "runtime/exec/IndexCheck.h"
#include "runtime/exec/Module.h"
#include "runtime/exec/Types.h"

#include <algorithm>
#include <cstring>

using namespace frit;

Status frit_context::open(frit_module &from, frit_context *peer) {
  if (!from.executor)
    return invalidArgument(
        "the module was opened with device \"none\", to be looked at "
        "only");
  if (peer && peer->module->artifact != from.artifact)
    return invalidArgument(
        "the function and the context are not of the same opened "
        "model; frit_module_open_function opens the function of one "
        "that is open");
  module = &from;
  division = peer ? peer->division : std::make_shared<Division>();
  for (size_t i = 0; i < from.model.plan.variants().size(); ++i)
    usesShards |= from.model.plan.usesShards(from.model.steps(i));
  FRIT_TRY(from.executor->createExecution(
      peer ? peer->execution.get() : nullptr, execution));
  inputs.resize(from.model.plan.inputs(0).size());
  outputs.resize(from.model.plan.outputs(0).size());
  steps.resize(from.model.plan.variants().size());
  variant = steps.size() - 1;
  const PlanView &plan = from.model.plan;
  call.reserve(plan);
  hasStrings = plan.hasStrings();
  if (hasStrings)
    strings.open(plan);
  outputShapes.resize(from.outputNames.size());
  for (size_t index = 0; index < outputShapes.size(); ++index)
    outputShapes[index].reserve(plan.outputs(0)[index].dims.count);
  seen.reserve(outputs.size());
  return Status();
}

Status frit_context::join(const frit_group &group) {
  if (group.rank >= group.size)
    return invalidArgument(
        format("rank %u is not one of %u, from 0 on", group.rank, group.size));
  bool hasCollectives = false;
  for (size_t i = 0; i < module->model.plan.variants().size(); ++i)
    for (const artifact::Step &step : module->model.steps(i))
      hasCollectives |= step.kind == artifact::StepKind::collective;
  if (!hasCollectives)
    return invalidArgument(
        format("'%s' averages nothing over several ranks: fritc compiles it "
               "for them with -fdata-parallel",
               frit_module_function(module)));
  bool divides = !module->model.plan.shards().empty();
  if (divides && division->size &&
      (division->rank != group.rank || division->size != group.size))
    return invalidArgument(
        format("the context is rank %u of the %u that divide its "
               "state, so it cannot be rank %u of %u",
               division->rank, division->size, group.rank, group.size));
  FRIT_TRY(execution->join(group));
  if (divides)
    *division = {group.rank, group.size};
  hasJoined = true;
  return Status();
}

std::vector<frit_context::StepTexts> &frit_context::stepTexts() {
  const frit::Model &model = module->model;
  std::vector<StepTexts> &texts = steps[variant];
  if (texts.empty())
    for (const artifact::Step &step : model.steps(variant))
      texts.push_back({artifact::kindName(step),
                       std::string(model.plan.text(step.node)), ""});
  return texts;
}

/// Checks a tensor's pointer, location and alignment. Its type has been
/// checked.
static Status checkMemory(const char *kind, const std::string &name,
                          const frit_tensor &given, uint64_t bytes) {
  if (!given.data && bytes)
    return invalidArgument(format("%s '%s' has no data", kind, name.c_str()));
  if (given.dtype == FRIT_STRING && given.location != FRIT_HOST)
    return invalidArgument(
        format("%s '%s' is of strings, which lie in host memory; frit_run "
               "takes them",
               kind, name.c_str()));
  if (given.location == FRIT_DEVICE &&
      reinterpret_cast<uintptr_t>(given.data) % 16)
    return invalidArgument(
        format("device memory of %s '%s' must start at a multiple of "
               "16 bytes",
               kind, name.c_str()));
  if (given.location != FRIT_DEVICE && given.location != FRIT_HOST)
    return invalidArgument(
        format("%s '%s' has no known location", kind, name.c_str()));
  return Status();
}

static Status checkType(const char *kind, const std::string &name,
                        const frit_tensor &given, artifact::DType type,
                        std::span<const int64_t> dims) {
  if (given.rank && !given.dims)
    return invalidArgument(format("%s '%s' has no dims", kind, name.c_str()));
  std::span<const int64_t> givenDims(given.dims, given.rank);
  artifact::DType givenType = artifact::DType(given.dtype);
  if (givenType != type || !std::ranges::equal(givenDims, dims))
    return invalidArgument(format("%s '%s' must be %s and is %s", kind,
                                  name.c_str(), formatType(type, dims).c_str(),
                                  formatType(givenType, givenDims).c_str()));
  return Status();
}

Status frit_context::bindState(std::span<const frit_tensor> given,
                               bool mayLackData) {
  const PlanView &plan = module->model.plan;
  const std::vector<std::string> &names = module->stateNames;
  state.clear();
  seen.assign(names.size(), false);
  for (size_t position = 0; position < given.size(); ++position) {
    const frit_tensor &tensor = given[position];
    size_t index = 0;
    FRIT_TRY(findTensor("state", tensor, position, names, index));
    if (seen[index])
      return invalidArgument(
          format("state '%s' is given twice", names[index].c_str()));
    seen[index] = true;
    const artifact::State &expected = plan.states()[index];
    FRIT_TRY(checkType("state", names[index], tensor, expected.type,
                       plan.dims(expected.dims)));
    FRIT_TRY(checkMemory("state", names[index], tensor,
                         mayLackData ? 0 : expected.bytes));
    state.push_back({uint32_t(index), tensor.data, tensor.location});
  }
  return Status();
}

Status frit_context::bind(std::span<const frit_tensor> givenInputs,
                          std::span<const frit_tensor> givenOutputs) {
  if (usesShards && division->size && !hasJoined)
    return invalidArgument(
        format("a peer divides the state among %u ranks: the context "
               "joins them first",
               division->size));
  const PlanView &plan = module->model.plan;
  FRIT_TRY(call.open(plan, module->inputNames, givenInputs));
  std::span<const artifact::Tensor> tensors = plan.inputs(call.variant());
  if (hasStrings)
    strings.begin(call.variant());
  for (size_t index = 0; index < inputs.size(); ++index) {
    if (index >= plan.modelInputs(0).size()) {
      inputs[index] = {call.size(tensors[index].symbol), FRIT_HOST, {}};
      continue;
    }
    if (index >= module->inputNames.size())
      continue; // computed from strings, once all of them are known
    const frit_tensor &tensor = call.input(index);
    FRIT_TRY(checkMemory("input", module->inputNames[index], tensor,
                         tensors[index].bytes));
    if (tensors[index].indices.count)
      FRIT_TRY(checkIndices(plan, module->inputNames[index], tensors[index],
                            tensor, call.symbolSizes()));
    inputs[index] = {tensor.data, tensor.location, {tensor.dims, tensor.rank}};
    if (tensors[index].type == artifact::DType::string)
      FRIT_TRY(strings.read(index, module->inputNames[index], tensor,
                            inputs[index].data));
  }
  if (hasStrings)
    FRIT_TRY(strings.compute());
  for (size_t index = module->inputNames.size();
       index < plan.modelInputs(0).size(); ++index)
    inputs[index] = {strings.data(index), FRIT_HOST, strings.dims(index)};
  const std::vector<std::string> &names = module->outputNames;
  hasShapes = true;
  for (size_t index = 0; index < outputs.size(); ++index) {
    outputs[index] = Binding();
    if (index >= names.size())
      continue; // a count: the execution owns its memory
    std::span<const int64_t> dims;
    FRIT_TRY(call.outputDims(plan, index, dims));
    outputShapes[index].assign(dims.begin(), dims.end());
    outputs[index].dims = outputShapes[index];
    outputs[index].counted = outputShapes[index].data();
  }
  seen.assign(outputs.size(), false);
  for (size_t position = 0; position < givenOutputs.size(); ++position) {
    const frit_tensor &tensor = givenOutputs[position];
    size_t index = 0;
    FRIT_TRY(findTensor("output", tensor, position, names, index));
    if (seen[index])
      return invalidArgument(
          format("output '%s' is given twice", names[index].c_str()));
    seen[index] = true;
    const artifact::Tensor &expected = plan.outputs(call.variant())[index];
    FRIT_TRY(checkType("output", names[index], tensor, expected.type,
                       outputs[index].dims));
    FRIT_TRY(checkMemory("output", names[index], tensor, expected.bytes));
    outputs[index].data = tensor.data;
    outputs[index].location = tensor.location;
    if (expected.type == artifact::DType::string)
      outputs[index].data =
          strings.output(index, static_cast<frit_string *>(tensor.data));
  }
  variant = call.variant();
  return Status();
}

Status frit_context::finish() {
  return hasStrings ? strings.finish(outputShapes) : Status();
}
