//===- Dataset.cpp - Samples for the inputs of a step ---------------------===//

#include "tools/frit-train/data/Dataset.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

using namespace frit::train;

bool Input::isInteger() const { return dtype >= FRIT_I8 && dtype <= FRIT_U64; }

/// Joins names for a message.
static std::string join(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : ", ") + name;
  return text.empty() ? "none" : text;
}

//===----------------------------------------------------------------------===//
// Tensors by name
//===----------------------------------------------------------------------===//

/// Formats the type that data for `input` must have: "nx8x8xf32".
static std::string expectedType(const Input &input) {
  std::string text = "n";
  for (size_t dim = 1; dim < input.dims.size(); ++dim)
    text += "x" + std::to_string(input.dims[dim]);
  return text + "x" + frit_dtype_name(input.dtype);
}

static bool fits(const Input &input, const TensorView &tensor) {
  return tensor.dtype == input.dtype && !tensor.dims.empty() &&
         std::equal(tensor.dims.begin() + 1, tensor.dims.end(),
                    input.dims.begin() + 1, input.dims.end());
}

Fault Dataset::add(TensorView tensor, const std::string &source) {
  auto found = std::ranges::find(given, tensor.name, &Input::name);
  if (found == given.end()) {
    unused.push_back(tensor.name);
    return {};
  }
  const Input &input = *found;
  Column &column = columns[size_t(found - given.begin())];
  if (column.view.owner)
    return Fault("the data of input '" + tensor.name + "' are given twice");
  // NumPy lacks bfloat16; its bits are read as unsigned integers.
  if (input.dtype == FRIT_BF16 && tensor.dtype == FRIT_U16)
    tensor.dtype = FRIT_BF16;
  if (!fits(input, tensor)) {
    std::string message = "the data of input '" + tensor.name + "' must be " +
                          expectedType(input) + ", n samples, and are " +
                          tensor.type() + " in '" + source + "'";
    if (tensor.dtype != input.dtype)
      message += "; nothing is converted: fritc -ftype=" + tensor.name + ":" +
                 frit_dtype_name(tensor.dtype) +
                 " compiles a step that takes them";
    return Fault(message);
  }
  column.bytes = *byteSize(input.dtype, std::span(input.dims).subspan(1));
  column.view = std::move(tensor);
  return {};
}

Fault Dataset::addFolder(const std::string &folder) {
  for (size_t i = 0; i < given.size(); ++i) {
    std::string name = given[i].name, path = folder + "/" + name + ".npy";
    std::vector<TensorView> tensors;
    if (Fault fault = mapTensors(path, tensors))
      return fault;
    if (tensors.size() != 1)
      return Fault("'" + path + "' is no .npy file");
    tensors[0].name = name;
    if (Fault fault = add(std::move(tensors[0]), path))
      return fault;
  }
  return {};
}

Fault Dataset::addSource(const std::string &source) {
  struct stat facts;
  if (stat(source.c_str(), &facts) == 0 && S_ISDIR(facts.st_mode))
    return addFolder(source);
  // An existing file's name may have an '='.
  size_t equals = source.find('=');
  bool isNamed = equals != source.npos && access(source.c_str(), F_OK) != 0;
  std::string path = isNamed ? source.substr(equals + 1) : source;
  std::vector<TensorView> tensors;
  if (Fault fault = mapTensors(path, tensors))
    return fault;
  if (isNamed || (tensors.size() == 1 && tensors[0].name.empty())) {
    if (tensors.size() != 1)
      return Fault(
          "'" + path + "' has " + std::to_string(tensors.size()) +
          " tensors, which have names of their own; write --data=" + path);
    if (!isNamed)
      return Fault("'" + path +
                   "' does not say for which input it is: write NAME=" + path);
    tensors[0].name = source.substr(0, equals);
    if (std::ranges::find(given, tensors[0].name, &Input::name) ==
        given.end()) {
      std::vector<std::string> names;
      for (const Input &input : given)
        names.push_back(input.name);
      return Fault("there is no input '" + tensors[0].name +
                   "'; the inputs of the step are: " + join(names));
    }
  }
  for (TensorView &tensor : tensors)
    if (Fault fault = add(std::move(tensor), path))
      return fault;
  return {};
}

/// Checks that each input has data, all with the same number of samples.
Fault Dataset::checkComplete(const std::vector<std::string> &sources) {
  for (size_t i = 0; i < given.size(); ++i)
    if (!columns[i].view.owner)
      return Fault("there are no data for input '" + given[i].name +
                   "'; other tensors in " + join(sources) + ": " +
                   join(unused));
  for (size_t i = 0; i < given.size(); ++i) {
    samples = uint64_t(columns[i].view.dims[0]);
    if (columns[i].view.dims[0] != columns[0].view.dims[0])
      return Fault("the data of input '" + given[i].name + "' have " +
                   std::to_string(samples) + " samples, and those of '" +
                   given[0].name + "' have " +
                   std::to_string(columns[0].view.dims[0]));
  }
  return {};
}

Fault Dataset::open(const std::vector<std::string> &sources,
                    const std::vector<Input> &inputs) {
  given = inputs;
  columns.assign(inputs.size(), {});
  unused.clear();
  hasTokens = false;
  for (const std::string &source : sources)
    if (Fault fault = addSource(source))
      return fault;
  return checkComplete(sources);
}

//===----------------------------------------------------------------------===//
// Tokens
//===----------------------------------------------------------------------===//

/// Parses the options after the file's name: ",type=u16,skip=1024".
static bool parseTokenOptions(std::string text, frit_dtype &dtype,
                              uint64_t &skip, std::string &path) {
  dtype = FRIT_U16;
  skip = 0;
  while (true) {
    size_t comma = text.rfind(',');
    std::string option = comma == text.npos ? "" : text.substr(comma + 1);
    if (option.starts_with("type=")) {
      std::vector<int64_t> dims;
      if (!parseType(option.substr(5), dtype, dims) || !dims.empty() ||
          dtype < FRIT_I8 || dtype > FRIT_U64)
        return false;
    } else if (option.starts_with("skip=")) {
      char *end;
      skip = strtoull(option.c_str() + 5, &end, 10);
      if (*end || !isdigit(static_cast<unsigned char>(option[5])))
        return false;
    } else {
      path = text;
      return !path.empty();
    }
    text.resize(comma);
  }
}

Fault Dataset::openTokens(const std::string &source,
                          const std::vector<Input> &inputs) {
  given = inputs;
  columns.clear();
  hasTokens = true;
  frit_dtype dtype;
  uint64_t skip;
  std::string path;
  if (!parseTokenOptions(source, dtype, skip, path))
    return Fault("'" + source +
                 "': write FILE,type=u16,skip=BYTES; the type is an "
                 "integer's");
  for (const Input &input : inputs) {
    bool isText = input.isInteger() && input.dims.size() == 2 &&
                  input.dims == inputs[0].dims;
    if (!isText || inputs.size() != 2)
      return Fault(
          "a file of tokens fits a step with two integer inputs of one shape, "
          "batch x length: the tokens and the labels; input '" +
          input.name + "' is " +
          formatType(input.dtype, uint32_t(input.dims.size()),
                     input.dims.data()) +
          (inputs.size() == 2
               ? ""
               : ", and there are " + std::to_string(inputs.size())));
  }
  TensorView view;
  view.dtype = dtype;
  if (Fault fault = mapFile(path, view.data, view.owner))
    return fault;
  uint64_t size = frit_dtype_size(dtype);
  std::string start =
      "'" + path + "' has " + std::to_string(view.data.size()) + " bytes, ";
  if (skip > view.data.size())
    return Fault(start + "and skip=" + std::to_string(skip) +
                 " is past its end");
  if ((view.data.size() - skip) % size)
    return Fault(start + "which is no whole number of " +
                 frit_dtype_name(dtype) + " after " + std::to_string(skip));
  view.data = view.data.subspan(skip);
  uint64_t tokens = view.data.size() / size;
  uint64_t length = uint64_t(inputs[0].dims[1]);
  // The last token is a label only.
  samples = tokens && length ? (tokens - 1) / length : 0;
  for (const Input &input : inputs)
    columns.push_back(
        {length * frit_dtype_size(input.dtype), view, columns.size()});
  return {};
}

template <typename From>
static void copyTokens(const uint8_t *from, uint64_t count, size_t size,
                       uint8_t *to) {
  for (uint64_t i = 0; i < count; ++i) {
    From token;
    memcpy(&token, from + i * sizeof token, sizeof token);
    int64_t wide = int64_t(token);
    memcpy(to + i * size, &wide, size);
  }
}

void Dataset::copy(uint64_t sample, size_t input, uint8_t *to) const {
  const Column &column = columns[input];
  const uint8_t *data = column.view.data.data();
  if (!hasTokens) {
    if (column.bytes)
      memcpy(to, data + sample * column.bytes, column.bytes);
    return;
  }
  size_t size = frit_dtype_size(given[input].dtype);
  uint64_t count = column.bytes / size;
  const uint8_t *from = data + (sample * count + column.shift) *
                                   frit_dtype_size(column.view.dtype);
  switch (column.view.dtype) {
  case FRIT_I8:
    return copyTokens<int8_t>(from, count, size, to);
  case FRIT_U8:
    return copyTokens<uint8_t>(from, count, size, to);
  case FRIT_I16:
    return copyTokens<int16_t>(from, count, size, to);
  case FRIT_U16:
    return copyTokens<uint16_t>(from, count, size, to);
  case FRIT_I32:
    return copyTokens<int32_t>(from, count, size, to);
  case FRIT_U32:
    return copyTokens<uint32_t>(from, count, size, to);
  default:
    return copyTokens<int64_t>(from, count, size, to);
  }
}
