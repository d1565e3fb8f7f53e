//===- RunSamples.cpp - Run models over data on the processor -------------===//

#include "RunSamples.h"

#include "compiler/driver/Status.h"

#include <algorithm>

using namespace frit;

static llvm::Error errorOf(const tools::Fault &fault) {
  if (!fault)
    return llvm::Error::success();
  return llvm::make_error<StatusError>(ExitStatus(int(fault.status())),
                                       "--calibrate: " + fault.message());
}

static llvm::Error errorOf(const Error &error) {
  return llvm::createStringError(std::string("--calibrate: ") +
                                 error.message());
}

llvm::Error RunSamples::read(llvm::StringRef path) {
  return errorOf(samples.read(path.str()));
}

llvm::Error RunSamples::open(llvm::StringRef artifact, unsigned ownInputs) {
  context = Context();
  module = Module();
  outputs.clear();
  frit_module_options options = FRIT_MODULE_OPTIONS_INIT;
  options.device = "cpu";
  if (Error error = Module::load(artifact.str().c_str(), module, &options))
    return errorOf(error);
  if (Error error = Context::create(module, context))
    return errorOf(error);
  std::vector<tools::Tensor> inputs;
  for (uint32_t i = 0; i + ownInputs < module.inputCount(); ++i)
    inputs.push_back(tools::emptyTensor(module.input(i)));
  for (uint32_t i = 0; i < module.outputCount(); ++i) {
    outputs.push_back(tools::emptyTensor(module.output(i)));
    if (!allocate(outputs.back()))
      return llvm::createStringError("--calibrate: the output '" +
                                     outputs.back().name +
                                     "' is larger than any memory");
  }
  if (llvm::Error error = errorOf(samples.fit(std::move(inputs))))
    return error;
  return checkFloats(module.inputCount() - ownInputs);
}

/// Fails if the data have floats, all of which are 0.
llvm::Error RunSamples::checkFloats(uint32_t inputCount) const {
  std::string zero;
  for (uint32_t i = 0; i < inputCount; ++i) {
    tools::Tensor input = tools::emptyTensor(module.input(i));
    if (input.isInteger() || input.isString())
      continue;
    uint64_t size = tools::byteSize(input.dtype, input.dims).value_or(0);
    for (size_t call = 0; call < samples.count(); ++call) {
      auto *bytes = static_cast<const uint8_t *>(samples.call(call)[i].data);
      if (std::any_of(bytes, bytes + size,
                      [](uint8_t byte) { return byte != 0; }))
        return llvm::Error::success();
    }
    zero = input.name;
  }
  if (zero.empty())
    return llvm::Error::success();
  return llvm::createStringError(
      "--calibrate: every number of '" + zero +
      "' is 0; scales need data such as the model will get");
}

llvm::Error RunSamples::run(
    size_t index, llvm::ArrayRef<float> own,
    llvm::function_ref<void(unsigned output, llvm::ArrayRef<float>)> visit) {
  std::vector<frit_tensor> inputs = samples.call(index), bound;
  if (!own.empty())
    inputs.push_back(module.bindInput(uint32_t(inputs.size()), own.data()));
  for (tools::Tensor &output : outputs)
    bound.push_back(output.bind());
  // Each call starts with the first states.
  if (module.stateCount()) {
    context = Context();
    if (Error error = Context::create(module, context))
      return errorOf(error);
  }
  if (Error error = context.run(inputs, bound))
    return errorOf(error);
  std::vector<float> numbers;
  for (auto [i, output] : llvm::enumerate(outputs)) {
    if (output.isString())
      continue;
    numbers.resize(output.count());
    for (uint64_t j = 0; j < numbers.size(); ++j)
      numbers[j] = float(output.at(j));
    visit(unsigned(i), numbers);
  }
  return llvm::Error::success();
}
