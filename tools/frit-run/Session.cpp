//===- Session.cpp - A model, its inputs and its outputs ------------------===//

#include "Session.h"
#include "compiler/support/Progress.h"
#include "tools/support/Files.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace frit;
using namespace frit::run;

bool Session::failed(const Error &error) {
  if (error.status() == FRIT_OUT_OF_MEMORY)
    exitStatus = kMachine;
  return complain(error.message());
}

bool Session::misused(const std::string &message) {
  exitStatus = kBadUsage;
  return complain(message);
}

bool Session::openModule() {
  Progress progress("open " + options.model);
  frit_module_options settings = moduleOptions(options);
  Error error = Module::load(options.model.c_str(), module, &settings);
  // An option is wrong, such as --device=gpu.
  if (error.status() == FRIT_INVALID_ARGUMENT)
    return misused(error.message());
  if (error)
    return failed(error);
  protectModel(options.model, module.get());
  error = chooseFunction();
  return !error || failed(error);
}

Error Session::chooseFunction() {
  if (options.function.empty())
    return Error();
  Module function;
  Error error = module.openFunction(options.function.c_str(), function);
  if (!error)
    module = std::move(function);
  return error;
}

bool Session::openContext() {
  Progress progress("prepare " + options.model);
  if (Error error = Context::create(module, context))
    return failed(error);
  return true;
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

/// Names what a sum of symbols depends on.
static std::string sumText(const Module &module) {
  std::string names;
  for (uint32_t i = 0; i < module.symbolCount(); ++i)
    names += std::string(i ? ", " : "") + module.symbol(i).name;
  return "f(" + names + ")";
}

std::string frit::run::openType(const Module &module, const Tensor &largest,
                                const int32_t *symbols, const int32_t *counts) {
  std::string result;
  for (size_t dim = 0; dim < largest.dims.size(); ++dim) {
    int64_t length = largest.dims[dim];
    if (counts && counts[dim] >= 0)
      result += "<=";
    if (symbols[dim] == FRIT_SUM_OF_SYMBOLS) {
      result += sumText(module) + "x";
      continue;
    }
    if (symbols[dim] < 0) {
      result += std::to_string(length) + "x";
      continue;
    }
    frit_symbol_info symbol = module.symbol(uint32_t(symbols[dim]));
    if (length == symbol.most)
      result += std::string(symbol.name) + "x";
    else if (length % symbol.most == 0)
      result += std::to_string(length / symbol.most) + "*" + symbol.name + "x";
    else
      result += std::string("f(") + symbol.name + ")x";
  }
  return result + frit_dtype_name(largest.dtype);
}

bool Session::prepareTensors() {
  for (uint32_t i = 0; i < module.inputCount(); ++i)
    inputs.push_back(emptyTensor(module.input(i)));
  given.resize(inputs.size());
  sizes.assign(module.symbolCount(), -1);
  for (const std::string &argument : options.shapes)
    if (!applyShape(argument))
      return false;
  for (const std::string &argument : options.inputs)
    if (!applyInput(argument))
      return false;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (given[i])
      continue;
    RandomSpec spec;
    spec.seed = i;
    generated.push_back({i, spec});
    if (options.verbose)
      complain("note: input '" + inputs[i].name + "' is generated");
  }
  return generateInputs() && makeOutputs() && checkOutputs();
}

/// Checks the options' outputs. Everything that the run reads is known by now.
bool Session::checkOutputs() {
  Fault fault = tools::checkOutputs({{"--output", options.output},
                                     {"--profile", options.trace},
                                     {"--keep", options.keep}});
  if (fault)
    exitStatus = fault.status();
  return !fault || complain(fault);
}

/// Parses SYMBOL=SIZE.
bool Session::applyShape(const std::string &argument) {
  size_t equals = argument.find('=');
  std::string name = argument.substr(0, equals), known;
  char *end = nullptr;
  long long size = equals == argument.npos
                       ? -1
                       : strtoll(argument.c_str() + equals + 1, &end, 10);
  if (size < 0 || *end)
    return complain("--shape=" + argument + ": write SYMBOL=SIZE, as batch=3");
  for (uint32_t i = 0; i < module.symbolCount(); ++i) {
    if (name == module.symbol(i).name) {
      sizes[i] = size;
      return true;
    }
    known += std::string(i ? ", " : "") + module.symbol(i).name;
  }
  return complain("--shape names '" + name + "', and the model leaves open: " +
                  (known.empty() ? "nothing" : known));
}

/// Sets symbol sizes from an input whose static dimensions match the model's.
bool Session::takeSizes(size_t input, const std::string &source) {
  const Tensor &tensor = inputs[input];
  const int32_t *symbols = module.inputSymbols(uint32_t(input));
  for (size_t dim = 0; dim < tensor.dims.size(); ++dim) {
    if (symbols[dim] < 0)
      continue;
    int64_t &size = sizes[size_t(symbols[dim])];
    if (size >= 0 && size != tensor.dims[dim])
      return complain("input '" + tensor.name + "' has " +
                      module.symbol(uint32_t(symbols[dim])).name + " " +
                      std::to_string(tensor.dims[dim]) + " in " + source +
                      ", and it is " + std::to_string(size) + " elsewhere");
    size = tensor.dims[dim];
  }
  return true;
}

/// Returns how to generate an input. What the model takes as indices is in
/// their range, unless the user gives another.
RandomSpec Session::inRange(const GeneratedInput &entry,
                            frit_dtype dtype) const {
  RandomSpec spec = entry.random;
  std::vector<frit_index_range> ranges =
      module.indexRanges(uint32_t(entry.input));
  if (spec.hasRange || ranges.empty() || dtype <= FRIT_BF16)
    return spec;
  int64_t least = INT64_MIN, most = INT64_MAX;
  for (const frit_index_range &range : ranges) {
    least = std::max(least, range.least);
    most = std::min(most, range.most);
  }
  if (least > most)
    return spec;
  spec.hasRange = true;
  spec.low = double(std::clamp<int64_t>(0, least, most));
  spec.high = double(std::clamp<int64_t>(1, least, most)) + 1;
  return spec;
}

/// Generates the missing inputs. Symbols of unknown size get their largest.
bool Session::generateInputs() {
  for (uint32_t i = 0; i < sizes.size(); ++i)
    if (sizes[i] < 0)
      sizes[i] = module.symbol(i).most;
  for (const GeneratedInput &entry : generated) {
    Tensor &tensor = inputs[entry.input];
    if (Error error = module.inputDims(sizes.data(), uint32_t(entry.input),
                                       tensor.dims.data()))
      return failed(error);
    if (!allocate(tensor))
      return complain("input '" + tensor.name + "' is larger than any memory");
    if (entry.text)
      tensor.texts.assign(tensor.count(), *entry.text);
    else if (!entry.isNumber)
      fillRandom(tensor, inRange(entry, tensor.dtype));
    for (uint64_t i = 0; entry.isNumber && i < tensor.count(); ++i)
      tensor.set(i, entry.number);
  }
  return true;
}

bool Session::makeOutputs() {
  std::vector<frit_tensor> bound = bindInputs();
  for (uint32_t i = 0; i < module.outputCount(); ++i) {
    Tensor &output = outputs.emplace_back(emptyTensor(module.output(i)));
    if (Error error = module.outputDims(bound, i, output.dims.data()))
      return failed(error);
    if (!allocate(output))
      return complain("output '" + output.name + "' is larger than any memory");
  }
  return true;
}

bool Session::isInput(const std::string &name) const {
  return std::ranges::any_of(
      inputs, [&](const Tensor &input) { return input.name == name; });
}

bool Session::isOutput(const std::string &name) const {
  for (uint32_t i = 0; i < module.outputCount(); ++i)
    if (name == module.output(i).name)
      return true;
  return false;
}

/// Finds the first missing input.
bool Session::nextInput(std::string &name) const {
  for (size_t i = 0; i < inputs.size(); ++i)
    if (!given[i]) {
      name = inputs[i].name;
      return true;
    }
  return false;
}

/// Stores a tensor as the input with its name. `source` is for messages.
bool Session::place(Tensor tensor, const std::string &source) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].name != tensor.name)
      continue;
    if (given[i])
      return misused("input '" + tensor.name + "' is given twice");
    // NumPy lacks bfloat16; its bits are read as unsigned integers.
    if (inputs[i].dtype == FRIT_BF16 && tensor.dtype == FRIT_U16)
      tensor.dtype = FRIT_BF16;
    const int32_t *symbols = module.inputSymbols(uint32_t(i));
    bool fits = tensor.dtype == inputs[i].dtype &&
                tensor.dims.size() == inputs[i].dims.size();
    for (size_t dim = 0; fits && dim < tensor.dims.size(); ++dim)
      fits = symbols[dim] != -1 || tensor.dims[dim] == inputs[i].dims[dim];
    if (!fits)
      return complain("input '" + tensor.name + "' must be " +
                      openType(module, inputs[i], symbols) + " and is " +
                      tensor.type() + " in " + source);
    inputs[i] = std::move(tensor);
    given[i] = true;
    return takeSizes(i, source);
  }
  std::string names;
  for (const Tensor &input : inputs)
    names += (names.empty() ? "" : ", ") + input.name;
  return complain(
      source + ": there is no input '" + tensor.name +
      "'; the model's inputs are: " + (names.empty() ? "none" : names));
}

bool Session::applyFile(const std::string &name, const std::string &path) {
  std::vector<Tensor> tensors;
  bool isArchive;
  if (Fault fault = readTensors(path, tensors, &isArchive))
    return complain(fault);
  if (tensors.empty())
    return complain("'" + path + "' has no tensors");
  // The file has a single tensor, which the user named or which has no name.
  if (tensors.size() == 1 &&
      (!name.empty() || (!isArchive && !isInput(tensors[0].name)))) {
    tensors[0].name = name;
    if (name.empty() && !nextInput(tensors[0].name))
      return complain("'" + path + "' is one input too many: the model has " +
                      std::to_string(inputs.size()));
    return place(std::move(tensors[0]), "'" + path + "'");
  }
  bool any = false;
  for (Tensor &tensor : tensors) {
    if (!name.empty() && tensor.name != name)
      continue;
    // Skip outputs, which a file may contain too. A name that is neither input
    // nor output is an error: it was probably meant for an input.
    if (name.empty() && !isInput(tensor.name) && isOutput(tensor.name))
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

/// Returns whether elements of `dtype` can represent a number; floats may round
/// it.
static bool holds(frit_dtype dtype, double number) {
  Tensor one;
  one.dtype = dtype;
  one.data.resize(frit_dtype_size(dtype));
  bool isFloat =
      dtype <= FRIT_BF16 || dtype == FRIT_F8E4M3 || dtype == FRIT_F8E5M2;
  if (!isFloat && !(std::fabs(number) < 0x1p63))
    return false;
  one.set(0, number);
  return isFloat ? !std::isfinite(number) || std::isfinite(one.at(0))
                 : one.at(0) == number;
}

/// Takes NAME=TEXT for an input of strings; false if `argument` is no such
/// thing.
bool Session::applyText(const std::string &argument) {
  size_t equals = argument.find('=');
  RandomSpec spec;
  for (size_t i = 0; equals != argument.npos && i < inputs.size(); ++i) {
    if (inputs[i].name != argument.substr(0, equals) || given[i] ||
        !inputs[i].isString() || parseRandom(argument.substr(equals + 1), spec))
      continue;
    given[i] = true;
    generated.push_back({i, {}, false, 0, argument.substr(equals + 1)});
    return true;
  }
  return false;
}

/// Parses [NAME=][TYPE=](random… | NUMBER).
bool Session::applyGenerated(const std::string &argument) {
  size_t equals = argument.rfind('=');
  std::string value =
      equals == argument.npos ? argument : argument.substr(equals + 1);
  std::string rest = equals == argument.npos ? "" : argument.substr(0, equals);
  RandomSpec spec;
  char *end;
  errno = 0;
  double number = strtod(value.c_str(), &end);
  bool isNumber = !value.empty() && !*end;
  bool isBeyond = errno == ERANGE && std::isinf(number);
  auto checkNumber = [&](frit_dtype dtype) {
    return !isNumber || (!isBeyond && holds(dtype, number)) ||
           complain("--input=" + argument + ": " + frit_dtype_name(dtype) +
                    " does not hold " + value);
  };
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
    return misused("--input=" + argument + " is one too many: the model has " +
                   std::to_string(inputs.size()));
  for (size_t i = 0; !typed && i < inputs.size(); ++i) {
    if (inputs[i].name != name)
      continue;
    if (given[i])
      return misused("input '" + name + "' is given twice");
    if (!checkNumber(inputs[i].dtype))
      return false;
    given[i] = true;
    generated.push_back({i, spec, isNumber, number});
    return true;
  }
  tensor.name = name;
  if (!checkNumber(tensor.dtype))
    return false;
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
  return applyText(argument) || applyGenerated(argument);
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
  Progress progress("run " + options.model);
  if (Error error = context.run(bindInputs(), bindOutputs()))
    return failed(error);
  return true;
}

bool Session::cutOutputs() {
  for (uint32_t i = 0; i < outputs.size(); ++i) {
    Tensor &output = outputs[i];
    if (Error error = context.outputDims(i, output.dims.data()))
      return failed(error);
    output.data.resize(*byteSize(output.dtype, output.dims));
    output.texts.resize(output.isString() ? output.count() : 0);
    output.takeTexts();
  }
  return true;
}
