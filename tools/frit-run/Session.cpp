//===- Session.cpp - A model, its inputs and its outputs ------------------===//

#include "Session.h"
#include "Files.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace frit;
using namespace frit::run;

bool frit::run::complain(const std::string &message) {
  fprintf(stderr, "frit-run: %s\n", message.c_str());
  return false;
}

bool Session::openModule() {
  frit_module_options settings = FRIT_MODULE_OPTIONS_INIT;
  settings.device = options.device.c_str();
  if (!options.weights.empty())
    settings.weights_folder = options.weights.c_str();
  settings.threads = options.threads;
  if (options.noGraph)
    settings.flags |= FRIT_NO_CUDA_GRAPH;
  if (options.noAhead)
    settings.flags |= FRIT_NO_PROGRAMMATIC_LAUNCH;
  if (options.noCublas)
    settings.flags |= FRIT_NO_CUBLAS;
  if (options.noCudnn)
    settings.flags |= FRIT_NO_CUDNN;
  // A missing library or graph makes figures worth less; say so always.
  settings.remark = [](void *user, const char *message) {
    bool quiet = !strncmp(message, "running on the cpu", 18) &&
                 !static_cast<const Options *>(user)->verbose;
    if (!quiet)
      fprintf(stderr, "frit-run: note: %s\n", message);
  };
  settings.remark_user = const_cast<Options *>(&options);
  if (Error error = Module::load(options.model.c_str(), module, &settings))
    return complain(error.message());
  return true;
}

bool Session::openContext() {
  if (Error error = Context::create(module, context))
    return complain(error.message());
  return true;
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

static Tensor emptyTensor(const frit_tensor_info &info) {
  Tensor tensor;
  tensor.name = info.name;
  tensor.dtype = info.dtype;
  tensor.dims.assign(info.dims, info.dims + info.rank);
  return tensor;
}

bool Session::prepareTensors() {
  for (uint32_t i = 0; i < module.inputCount(); ++i)
    inputs.push_back(emptyTensor(module.input(i)));
  for (uint32_t i = 0; i < module.outputCount(); ++i) {
    outputs.push_back(emptyTensor(module.output(i)));
    if (!allocate(outputs.back()))
      return complain("there is no memory for output '" + outputs.back().name +
                      "'");
  }
  given.resize(inputs.size());
  for (const std::string &argument : options.inputs)
    if (!applyInput(argument))
      return false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (given[i])
      continue;
    if (!allocate(inputs[i]))
      return complain("there is no memory for input '" + inputs[i].name + "'");
    RandomSpec spec;
    spec.seed = i;
    fillRandom(inputs[i], spec);
    if (options.verbose)
      fprintf(stderr, "frit-run: note: input '%s' is made up\n",
              inputs[i].name.c_str());
  }
  return true;
}

bool Session::isInput(const std::string &name) const {
  return std::ranges::any_of(
      inputs, [&](const Tensor &input) { return input.name == name; });
}

/// The first input that was not given yet.
bool Session::nextInput(std::string &name) const {
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!given[i]) {
      name = inputs[i].name;
      return true;
    }
  return false;
}

/// `source` is what to name in messages.
bool Session::place(Tensor tensor, const std::string &source) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].name != tensor.name)
      continue;
    if (given[i])
      return complain("input '" + tensor.name + "' is given twice");
    // numpy has no bfloat16 of its own; its bits come as unsigned integers.
    if (inputs[i].dtype == FRIT_BF16 && tensor.dtype == FRIT_U16)
      tensor.dtype = FRIT_BF16;
    if (tensor.dtype != inputs[i].dtype || tensor.dims != inputs[i].dims)
      return complain("input '" + tensor.name + "' must be " +
                      inputs[i].type() + " and is " + tensor.type() + " in " +
                      source);
    inputs[i] = std::move(tensor);
    given[i] = true;
    return true;
  }
  std::string names;
  for (const Tensor &input : inputs)
    names += (names.empty() ? "" : ", ") + input.name;
  return complain(
      "there is no input '" + tensor.name +
      "'; the model's inputs are: " + (names.empty() ? "none" : names));
}

bool Session::applyFile(const std::string &name, const std::string &path) {
  std::vector<Tensor> tensors;
  std::string error;
  if (!readTensors(path, tensors, error))
    return complain(error);
  if (tensors.empty())
    return complain("'" + path + "' has no tensors");
  if (tensors.size() == 1 && (!name.empty() || !isInput(tensors[0].name))) {
    tensors[0].name = name;
    if (name.empty() && !nextInput(tensors[0].name))
      return complain("'" + path + "' is one input too many: the model has " +
                      std::to_string(inputs.size()));
    return place(std::move(tensors[0]), "'" + path + "'");
  }
  bool any = false;
  for (Tensor &tensor : tensors) {
    // An archive may hold more than the inputs.
    if (name.empty() ? !isInput(tensor.name) : tensor.name != name)
      continue;
    any = true;
    if (!place(std::move(tensor), "'" + path + "'"))
      return false;
  }
  if (!any)
    return complain(name.empty()
                        ? "'" + path + "' has none of the model's inputs"
                        : "'" + path + "' has no tensor '" + name + "'");
  return true;
}

/// [NAME=][TYPE=](random… | NUMBER)
bool Session::applyMadeUp(const std::string &argument) {
  size_t equals = argument.rfind('=');
  std::string value =
      equals == argument.npos ? argument : argument.substr(equals + 1);
  std::string rest = equals == argument.npos ? "" : argument.substr(0, equals);
  RandomSpec spec;
  char *end;
  double number = strtod(value.c_str(), &end);
  bool isNumber = !value.empty() && !*end;
  if (!isNumber && !parseRandom(value, spec))
    return complain("--input=" + argument +
                    ": write NAME=@FILE, or TYPE=random as in "
                    "1x3x224x224xf32=random:7");
  Tensor tensor;
  std::string name;
  bool typed = false;
  size_t inner = rest.rfind('=');
  if (isInput(rest)) {
    name = rest;
  } else if (inner != rest.npos &&
             parseType(rest.substr(inner + 1), tensor.dtype, tensor.dims)) {
    name = rest.substr(0, inner);
    typed = true;
  } else if (parseType(rest, tensor.dtype, tensor.dims)) {
    typed = true;
  } else {
    name = rest;
  }
  if (name.empty() && !nextInput(name))
    return complain("--input=" + argument + " is one too many: the model has " +
                    std::to_string(inputs.size()));
  for (const Tensor &input : inputs)
    if (!typed && input.name == name) {
      tensor.dtype = input.dtype;
      tensor.dims = input.dims;
    }
  tensor.name = name;
  if (!allocate(tensor))
    return complain("--input=" + argument + " is larger than memory");
  if (isNumber)
    for (uint64_t i = 0, count = tensor.count(); i < count; ++i)
      tensor.set(i, number);
  else
    fillRandom(tensor, spec);
  return place(std::move(tensor), "--input=" + argument);
}

bool Session::applyInput(const std::string &argument) {
  if (argument[0] == '@')
    return applyFile("", argument.substr(1));
  size_t file = argument.find("=@");
  if (file != argument.npos)
    return applyFile(argument.substr(0, file), argument.substr(file + 2));
  return applyMadeUp(argument);
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

std::vector<frit_tensor> Session::bindInputs() {
  std::vector<frit_tensor> bound;
  for (Tensor &tensor : inputs)
    bound.push_back(tensor.bind());
  return bound;
}

std::vector<frit_tensor> Session::bindOutputs() {
  std::vector<frit_tensor> bound;
  for (Tensor &tensor : outputs)
    bound.push_back(tensor.bind());
  return bound;
}

bool Session::run() {
  if (Error error = context.run(bindInputs(), bindOutputs()))
    return complain(error.message());
  return true;
}
