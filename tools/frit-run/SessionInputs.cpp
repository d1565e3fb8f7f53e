//===- SessionInputs.cpp - Inputs of the command line ---------------------===//

#include "Session.h"
#include "tools/support/Files.h"

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdlib>

using namespace frit;
using namespace frit::run;

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
