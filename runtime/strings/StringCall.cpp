//===- StringCall.cpp - The strings of a call -----------------------------===//

#include "runtime/strings/StringCall.h"
#include "runtime/exec/Types.h"
#include "runtime/strings/Utf8.h"

using namespace frit;
using artifact::StringStep;

void StringCall::open(const PlanView &opened) {
  plan = opened;
  numbers.open(plan);
  tensors.resize(plan.inputs(0).size());
}

void StringCall::begin(size_t chosen) {
  variant = chosen;
  outputs.clear();
  numbers.clear();
}

/// Says what is wrong with a string of the caller; null if nothing is.
static const char *problemOf(const frit_string &string) {
  if (string.size > artifact::kMostStringBytes)
    return "is longer than 1 MiB";
  if (!string.data && string.size)
    return "has no data";
  std::string_view text(string.data ? string.data : "", string.size);
  if (text.find('\0') != text.npos)
    return "has a zero byte";
  return isUtf8(text) ? nullptr : "is not UTF-8";
}

Status StringCall::read(size_t index, const std::string &name,
                        const frit_tensor &tensor, void *&data) {
  HostTensor &held = tensors[index];
  held.dims.assign(tensor.dims, tensor.dims + tensor.rank);
  uint64_t count = 0;
  if (!countElements(held.dims, count))
    return invalidArgument(format("input '%s' has no size", name.c_str()));
  held.numbers.resize(count);
  auto *strings = static_cast<const frit_string *>(tensor.data);
  for (uint64_t i = 0; i < count; ++i) {
    if (const char *problem = problemOf(strings[i]))
      return invalidArgument(format("string %llu of input '%s' %s",
                                    static_cast<unsigned long long>(i),
                                    name.c_str(), problem));
    std::string_view text(strings[i].data ? strings[i].data : "",
                          strings[i].size);
    FRIT_TRY(numbers.add(text, held.numbers[i]));
  }
  data = held.numbers.data();
  return Status();
}

Status StringCall::compute() {
  for (const StringStep &step : plan.stringSteps())
    if (Status status = run(step); status.failed())
      return std::move(status).within(std::string(plan.text(step.node)));
  return Status();
}

Status StringCall::run(const StringStep &step) {
  StringsView views[2];
  std::span<const artifact::StringOperand> operands = plan.stringOperands(step);
  for (size_t i = 0; i < operands.size(); ++i) {
    const artifact::StringOperand &operand = operands[i];
    views[i] = {plan.dims(operand.dims), plan.dims(operand.ids)};
    if (operand.input != artifact::kNone)
      views[i] = {tensors[operand.input].dims, tensors[operand.input].numbers};
  }
  std::span<const int64_t> held =
      plan.dims(plan.inputs(variant)[step.result].dims);
  FRIT_TRY(computeStrings(
      plan, step, {views, operands.size()}, held.empty() ? 0 : held.back(),
      numbers, {&tensors[step.result], artifact::resultsOf(step.op)}));
  return check(step);
}

/// Checks that the model holds what a step has computed.
Status StringCall::check(const StringStep &step) {
  for (uint32_t i = 0; i < artifact::resultsOf(step.op); ++i) {
    std::span<const int64_t> held =
        plan.dims(plan.inputs(variant)[step.result + i].dims);
    const std::vector<int64_t> &dims = tensors[step.result + i].dims;
    bool fits = dims.size() == held.size();
    for (size_t dim = 0; fits && dim < held.size(); ++dim)
      fits = dims[dim] <= held[dim];
    if (!fits)
      return invalidArgument(
          format("its result is %s, and the model holds %s",
                 formatType(artifact::DType::string, dims).c_str(),
                 formatType(artifact::DType::string, held).c_str()));
  }
  return Status();
}

void *StringCall::data(size_t index) {
  HostTensor &tensor = tensors[index];
  bool areFlags = plan.inputs(variant)[index].type == artifact::DType::boolean;
  return areFlags ? static_cast<void *>(tensor.flags.data())
                  : tensor.numbers.data();
}

void *StringCall::output(size_t index, frit_string *strings) {
  const artifact::Tensor &tensor = plan.outputs(variant)[index];
  outputs.push_back({index, strings, {}});
  outputs.back().numbers.resize(tensor.bytes / sizeof(int64_t));
  return outputs.back().numbers.data();
}

Status StringCall::finish(std::span<const std::vector<int64_t>> shapes) {
  for (const Output &output : outputs) {
    uint64_t count = 0;
    (void)countElements(shapes[output.index], count);
    for (uint64_t i = 0; i < count; ++i) {
      int64_t number = output.numbers[i];
      if (!numbers.has(number))
        return Status(
            FRIT_BAD_MODEL,
            format(
                "the model gives output '%s' a string that is not there",
                std::string(plan.text(plan.outputs(variant)[output.index].name))
                    .c_str()));
      std::string_view text = numbers.text(number);
      output.strings[i] = {text.data(), text.size()};
    }
  }
  return Status();
}
