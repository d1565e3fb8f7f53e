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
  images = {};
  packed = {};
  for (const std::string &source : sources)
    if (ImageFolder::isOne(source))
      return sources.size() == 1
                 ? openImages(source)
                 : Fault("'" + source +
                         "' is a folder of images; no other data go with it");
  for (const std::string &source : sources)
    if (Fault fault = addSource(source))
      return fault;
  return checkComplete(sources);
}

//===----------------------------------------------------------------------===//
// Images
//===----------------------------------------------------------------------===//

/// Returns whether an input takes images: bytes of 1 or 3 channels.
static bool takesImages(const Input &input) {
  return input.dtype == FRIT_U8 && input.dims.size() == 4 &&
         (input.dims[3] == 1 || input.dims[3] == 3);
}

Fault Dataset::openImages(const std::string &folder) {
  std::string types;
  uint64_t imageInputs = 0;
  bool fits = given.size() <= 2;
  for (size_t i = 0; i < given.size(); ++i) {
    const Input &input = given[i];
    types +=
        (types.empty() ? "'" : ", '") + input.name + "' is " +
        formatType(input.dtype, uint32_t(input.dims.size()), input.dims.data());
    imageInputs += takesImages(input);
    fits &= takesImages(input) || (input.isInteger() && input.dims.size() == 1);
    columns[i].bytes = *byteSize(input.dtype, std::span(input.dims).subspan(1));
  }
  if (!fits || imageInputs != 1)
    return Fault("the images in '" + folder +
                 "' fit a step with an input of bytes, batch x rows x columns "
                 "x 1 or 3 channels, and at most one other of batch integers, "
                 "their classes; " +
                 types +
                 ". \"augment\" in fritc's train.json makes such an input");
  if (Fault fault = images.open(folder))
    return fault;
  samples = images.count();
  return {};
}

Fault Dataset::copy(uint64_t sample, size_t input, uint8_t *to) const {
  const Column &column = columns[input];
  if (images.count()) {
    const Input &own = given[input];
    if (takesImages(own))
      return images.read(sample, uint64_t(own.dims[1]), uint64_t(own.dims[2]),
                         uint64_t(own.dims[3]), to);
    // Little-endian, so it begins with the bytes of a narrower type.
    int64_t label = images.classOf(sample);
    memcpy(to, &label, column.bytes);
  } else if (packed.rows()) {
    copyPacked(sample, input, to);
  } else if (hasTokens) {
    copyTokens(sample, input, to);
  } else if (column.bytes) {
    memcpy(to, column.view.data.data() + sample * column.bytes, column.bytes);
  }
  return {};
}
