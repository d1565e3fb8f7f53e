//===- RunSamples.cpp - Run models over data on the processor -------------===//

#include "RunSamples.h"

#include "compiler/driver/Status.h"

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
  return errorOf(samples.fit(std::move(inputs)));
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
