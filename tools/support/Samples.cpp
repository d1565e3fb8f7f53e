//===- Samples.cpp - Data for which a model is run ------------------------===//

#include "tools/support/Samples.h"
#include "tools/support/Files.h"

#include <algorithm>
#include <cmath>
#include <filesystem>

using namespace frit::tools;

Fault Samples::readFile(const std::string &path) {
  File file;
  file.path = path;
  if (Fault fault = readTensors(path, file.tensors, &file.isArchive))
    return fault;
  files.push_back(std::move(file));
  return {};
}

Fault Samples::read(const std::string &path) {
  namespace fs = std::filesystem;
  files.clear();
  calls.clear();
  std::error_code error;
  if (!fs::is_directory(path, error))
    return readFile(path);
  std::vector<std::string> names;
  for (fs::directory_iterator entry(path, error), end; entry != end && !error;
       entry.increment(error))
    if (std::error_code ignored; entry->is_regular_file(ignored))
      names.push_back(entry->path().string());
  if (error)
    return Fault("cannot read '" + path + "': " + error.message());
  if (names.empty())
    return Fault("the folder '" + path + "' has no files");
  std::ranges::sort(names);
  for (const std::string &name : names)
    if (Fault fault = readFile(name))
      return fault;
  return {};
}

static bool isFloating(frit_dtype dtype) {
  return dtype == FRIT_F64 || dtype == FRIT_F32 || dtype == FRIT_F16 ||
         dtype == FRIT_BF16;
}

/// Converts a tensor to the name and type of `input`. Fails if a number is
/// none, or has no place in the type.
static Fault convert(Tensor &tensor, const Tensor &input) {
  tensor.name = input.name;
  auto wrong = [&](uint64_t i, const char *what) {
    return Fault("'" + input.name + "' has " + tensor.textOf(i, 6) + " at " +
                 tensor.position(i) + ", which is no " + what +
                 " of the input's type");
  };
  bool isWide = isFloating(input.dtype);
  if (tensor.dtype == input.dtype) {
    for (uint64_t i = 0; isWide && i < tensor.count(); ++i)
      if (!std::isfinite(tensor.at(i)))
        return wrong(i, "number");
    return {};
  }
  Tensor result{input.name, input.dtype, tensor.dims, {}};
  if (!allocate(result))
    return Fault("'" + input.name + "' is larger than any memory");
  for (uint64_t i = 0; i < tensor.count(); ++i) {
    result.set(i, tensor.at(i));
    if (isWide && !std::isfinite(result.at(i)))
      return wrong(i, "number");
    if (!isWide && result.integerAt(i) != tensor.integerAt(i))
      return wrong(i, "integer");
  }
  tensor = std::move(result);
  return {};
}

/// Returns how many calls a tensor of the shape `dims` is enough for; none if
/// it does not fit the shape `call`.
static std::optional<uint64_t> countCalls(std::vector<int64_t> dims,
                                          const std::vector<int64_t> &call) {
  if (dims == call)
    return 1;
  uint64_t number = 0;
  if (dims.size() == call.size() + 1) {
    number = uint64_t(dims[0]);
    dims.erase(dims.begin());
  } else if (dims.size() == call.size() && !call.empty() && call[0] > 0) {
    number = uint64_t(dims[0] / call[0]);
    dims[0] = call[0];
  }
  return number && dims == call ? std::optional(number) : std::nullopt;
}

Fault Samples::fitTensor(File &file, const Tensor &input, const Tensor *&data,
                         uint64_t &number) {
  Tensor *found = nullptr;
  bool isOnly = inputs.size() == 1 && file.tensors.size() == 1;
  std::string names;
  for (Tensor &tensor : file.tensors) {
    names += (names.empty() ? "'" : ", '") + tensor.name + "'";
    if (tensor.name == input.name || (isOnly && !file.isArchive))
      found = &tensor;
  }
  if (!found)
    return Fault("it has no tensor for the input '" + input.name + "'" +
                 (file.isArchive ? ", only " + (names.empty() ? "none" : names)
                                 : ", as its tensor has no name"));
  auto isWide = [](const Tensor &t) { return isFloating(t.dtype); };
  bool isAlike = found->dtype == input.dtype ||
                 (isWide(*found) && isWide(input)) ||
                 (found->isInteger() && input.isInteger());
  std::optional<uint64_t> calls = countCalls(found->dims, input.dims);
  if (!isAlike || !calls || input.isString())
    return Fault("a call takes '" + input.name + "' as " + input.type() +
                 ", and it is " + found->type() +
                 "; the data may be longer in the first dimension, or have "
                 "another in front");
  data = found;
  number = *calls;
  return convert(*found, input);
}

Fault Samples::fitFile(File &file) {
  std::vector<const Tensor *> data(inputs.size());
  std::vector<uint64_t> numbers(inputs.size());
  uint64_t number = 1;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (Fault fault = fitTensor(file, inputs[i], data[i], numbers[i]))
      return fault;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (numbers[i] != 1 && number != 1 && numbers[i] != number)
      return Fault("'" + inputs[i].name + "' is for " +
                   std::to_string(numbers[i]) + " calls, and others are for " +
                   std::to_string(number));
    number = std::max(number, numbers[i]);
  }
  for (uint64_t call = 0; call < number; ++call) {
    std::vector<const uint8_t *> &elements = calls.emplace_back();
    for (size_t i = 0; i < inputs.size(); ++i) {
      uint64_t bytes = *byteSize(inputs[i].dtype, inputs[i].dims);
      elements.push_back(data[i]->data.data() +
                         (numbers[i] == 1 ? 0 : call * bytes));
    }
  }
  return {};
}

Fault Samples::fit(std::vector<Tensor> taken) {
  inputs = std::move(taken);
  calls.clear();
  for (File &file : files)
    if (Fault fault = fitFile(file))
      return fault.within(file.path);
  return {};
}

std::vector<frit_tensor> Samples::call(size_t index) const {
  std::vector<frit_tensor> bound;
  for (size_t i = 0; i < inputs.size(); ++i)
    bound.push_back({nullptr, const_cast<uint8_t *>(calls[index][i]),
                     inputs[i].dtype, uint32_t(inputs[i].dims.size()),
                     inputs[i].dims.data(), FRIT_HOST});
  return bound;
}
