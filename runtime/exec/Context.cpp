//===- Context.cpp - Match a call's tensors with the model's --------------===//

#include "runtime/exec/Module.h"
#include "runtime/exec/Types.h"

#include <algorithm>
#include <cstring>

using namespace frit;

static Status wrong(std::string message) {
  return Status(FRIT_INVALID_ARGUMENT, std::move(message));
}

Status frit_context::open(frit_module &from) {
  if (!from.executor)
    return wrong("the module was opened with device \"none\", to be looked at "
                 "only");
  module = &from;
  FRIT_TRY(from.executor->createExecution(execution));
  inputs.resize(from.inputNames.size());
  outputs.resize(from.outputNames.size());
  static const char *const kinds[] = {"launch", "gemm", "conv", "copy"};
  for (const artifact::Step &step : from.model.steps())
    steps.push_back({kinds[uint32_t(step.kind)],
                     std::string(from.model.plan.text(step.node)), ""});
  return Status();
}

static std::string join(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

/// Finds which of the model's tensors `tensor`, the call's `position`th, is.
static Status findIndex(const char *kind, const frit_tensor &tensor,
                        size_t position, const std::vector<std::string> &names,
                        size_t &index) {
  if (!tensor.name) {
    if (position >= names.size())
      return wrong(format("there are too many %ss: the model has %zu", kind,
                          names.size()));
    index = position;
    return Status();
  }
  index = size_t(std::find(names.begin(), names.end(), tensor.name) -
                 names.begin());
  if (index == names.size())
    return wrong(format("there is no %s '%s'; the model's %ss are: %s", kind,
                        tensor.name, kind, join(names).c_str()));
  return Status();
}

static Status checkTensor(const char *kind, const std::string &name,
                          const frit_tensor &given,
                          const artifact::Tensor &expected,
                          std::span<const int64_t> dims) {
  if (given.rank && !given.dims)
    return wrong(format("%s '%s' has no dims", kind, name.c_str()));
  std::span<const int64_t> givenDims(given.dims, given.rank);
  artifact::DType givenType = artifact::DType(given.dtype);
  if (givenType != expected.type || !std::ranges::equal(givenDims, dims))
    return wrong(format("%s '%s' must be %s and is %s", kind, name.c_str(),
                        formatType(expected.type, dims).c_str(),
                        formatType(givenType, givenDims).c_str()));
  if (!given.data && expected.bytes)
    return wrong(format("%s '%s' has no data", kind, name.c_str()));
  if (given.location == FRIT_DEVICE &&
      reinterpret_cast<uintptr_t>(given.data) % 16)
    return wrong(format("device memory of %s '%s' must start at a multiple of "
                        "16 bytes",
                        kind, name.c_str()));
  if (given.location != FRIT_DEVICE && given.location != FRIT_HOST)
    return wrong(format("%s '%s' has no known location", kind, name.c_str()));
  return Status();
}

static Status bindAll(const char *kind, const PlanView &plan,
                      std::span<const frit_tensor> given,
                      std::span<const artifact::Tensor> expected,
                      const std::vector<std::string> &names,
                      std::vector<Binding> &bindings) {
  std::fill(bindings.begin(), bindings.end(), Binding());
  std::vector<bool> seen(names.size());
  for (size_t position = 0; position < given.size(); ++position) {
    const frit_tensor &tensor = given[position];
    size_t index = 0;
    FRIT_TRY(findIndex(kind, tensor, position, names, index));
    if (seen[index])
      return wrong(
          format("%s '%s' is given twice", kind, names[index].c_str()));
    seen[index] = true;
    FRIT_TRY(checkTensor(kind, names[index], tensor, expected[index],
                         plan.dims(expected[index].dims)));
    bindings[index] = {tensor.data, tensor.location};
  }
  if (bindings.empty() || !strcmp(kind, "output"))
    return Status();
  for (size_t index = 0; index < names.size(); ++index)
    if (!seen[index])
      return wrong(format(
          "input '%s' is missing; it must be %s", names[index].c_str(),
          formatType(expected[index].type, plan.dims(expected[index].dims))
              .c_str()));
  return Status();
}

Status frit_context::bind(std::span<const frit_tensor> givenInputs,
                          std::span<const frit_tensor> givenOutputs) {
  const PlanView &plan = module->model.plan;
  FRIT_TRY(bindAll("input", plan, givenInputs, plan.inputs(),
                   module->inputNames, inputs));
  return bindAll("output", plan, givenOutputs, plan.outputs(),
                 module->outputNames, outputs);
}
