//===- Session.cpp - A model, its inputs and its outputs ------------------===//

#include "Session.h"
#include "compiler/support/Progress.h"
#include "tools/support/Files.h"

#include <algorithm>
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
  if (error = chooseFunction(); error)
    return failed(error);
  return checkOptions();
}

bool Session::checkOptions() {
  bool areUsed = checkUses(options, module.get());
  if (!areUsed)
    exitStatus = kBadUsage;
  return areUsed;
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
/// their range, unless the user gives another. Ranges are those of the largest
/// variant: where a dimension of the call has one entry, there is index 0 only.
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
  const bool isOne = std::find(sizes.begin(), sizes.end(), 1) != sizes.end();
  spec.high = double(std::clamp<int64_t>(isOne ? 0 : 1, least, most)) + 1;
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
