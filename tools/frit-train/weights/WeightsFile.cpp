//===- WeightsFile.cpp - Weights from a file, to begin with ---------------===//

#include "tools/frit-train/weights/WeightsFile.h"
#include "tools/frit-train/weights/Export.h"
#include "tools/support/Mapped.h"

#include <algorithm>
#include <map>

using namespace frit::train;

std::string frit::train::someNames(const std::vector<std::string> &names) {
  constexpr size_t kMost = 4;
  std::string text;
  for (size_t i = 0; i < std::min(names.size(), kMost); ++i) {
    bool isLast = i > 0 && i + 1 == names.size();
    text += (i == 0 ? "'" : isLast ? " and '" : ", '") + names[i] + "'";
  }
  if (names.size() > kMost)
    text += " and " + std::to_string(names.size() - kMost) + " more";
  return text;
}

static bool isFloat(frit_dtype dtype) {
  return dtype == FRIT_F32 || dtype == FRIT_F16 || dtype == FRIT_BF16 ||
         dtype == FRIT_F64;
}

/// Returns the elements of `from` as a tensor like `wanted`.
static TensorView convert(const TensorView &from, const TensorView &wanted) {
  TensorView result = from;
  result.dtype = wanted.dtype;
  if (from.dtype == wanted.dtype)
    return result;
  Tensor source{from.name, from.dtype, from.dims,
                Storage(from.data.begin(), from.data.end())};
  auto made = std::make_shared<Tensor>();
  made->dtype = wanted.dtype;
  made->dims = wanted.dims;
  made->data = Storage(*byteSize(wanted.dtype, wanted.dims));
  for (uint64_t i = 0, count = source.count(); i < count; ++i)
    made->set(i, source.at(i));
  result.data = made->data;
  result.owner = made;
  return result;
}

/// Maps the file and finds its tensors; of a checkpoint, the weights.
static Fault findTensors(const std::string &path,
                         std::vector<TensorView> &tensors) {
  Bytes bytes;
  std::shared_ptr<const void> owner;
  if (Fault fault = mapFile(path, bytes, owner))
    return fault;
  if (Fault fault = viewSafetensors(bytes, tensors))
    return Fault("'" + path +
                 "' is no safetensors file, or is damaged: " + fault.message());
  for (TensorView &tensor : tensors)
    tensor.owner = owner;
  if (readMetadata(bytes).contains("frit.checkpoint"))
    tensors = weightsOf(tensors);
  return {};
}

Fault frit::train::readWeights(const std::string &path,
                               const std::vector<TensorView> &wanted,
                               bool isPartial, LoadedWeights &weights) {
  std::vector<TensorView> tensors;
  if (Fault fault = findTensors(path, tensors))
    return fault;
  std::map<std::string, const TensorView *> left;
  for (const TensorView &tensor : tensors)
    left[tensor.name] = &tensor;
  weights = {};
  std::vector<std::string> unknown, wrong;
  for (const TensorView &weight : wanted) {
    auto found = left.find(weight.name);
    if (found == left.end()) {
      weights.missing.push_back(weight.name);
      continue;
    }
    const TensorView &tensor = *found->second;
    if (tensor.dims != weight.dims || !isFloat(tensor.dtype))
      wrong.push_back("'" + weight.name + "' is " + tensor.type() +
                      " there, and " + weight.type() + " in the step");
    else
      weights.tensors.push_back(convert(tensor, weight));
    left.erase(found);
  }
  for (const auto &[name, tensor] : left)
    if (isFloat(tensor->dtype))
      unknown.push_back(name);
  std::string why;
  auto add = [&](const std::string &text) {
    why += (why.empty() ? "" : "; ") + text;
  };
  constexpr size_t kMostShapes = 3;
  for (size_t i = 0; i < std::min(wrong.size(), kMostShapes); ++i)
    add(wrong[i]);
  if (wrong.size() > kMostShapes)
    add(std::to_string(wrong.size() - kMostShapes) + " more have other shapes");
  if (isPartial && wrong.empty() && weights.tensors.empty())
    add("none of its tensors is called as a weight of the step, as " +
        someNames(weights.missing));
  if (!isPartial) {
    if (!weights.missing.empty())
      add("it lacks " + someNames(weights.missing));
    if (!unknown.empty())
      add("no weight of the step is called " + someNames(unknown) +
          " (frozen ones are compiled in)");
    if (!why.empty() && wrong.empty())
      add("--partial takes those that fit");
  }
  return why.empty() ? Fault()
                     : Fault("the weights in '" + path +
                             "' do not fit the step: " + why);
}
