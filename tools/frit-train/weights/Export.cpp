//===- Export.cpp - Trained weights in a safetensors file -----------------===//

#include "tools/frit-train/weights/Export.h"
#include "compiler/support/OutputFile.h"
#include "tools/support/Files.h"

#include <map>
#include <set>

using namespace frit::train;

std::vector<TensorView>
frit::train::weightsOf(const std::vector<TensorView> &state) {
  std::map<std::string, const TensorView *> names;
  std::set<std::string> owners;
  for (const TensorView &tensor : state)
    names[tensor.name] = &tensor;
  auto ownerOf = [&](const std::string &name) {
    size_t slash = name.rfind('/');
    auto owner =
        slash == name.npos ? names.end() : names.find(name.substr(0, slash));
    return owner == names.end() ? std::string() : owner->first;
  };
  for (const TensorView &tensor : state)
    if (std::string owner = ownerOf(tensor.name); !owner.empty())
      owners.insert(owner);
  std::vector<TensorView> weights;
  for (const TensorView &tensor : state)
    if (ownerOf(tensor.name).empty() &&
        (!tensor.dims.empty() || owners.contains(tensor.name))) {
      weights.push_back(tensor);
      auto average = names.find(tensor.name + kAverageSuffix);
      if (average != names.end() && average->second->type() == tensor.type()) {
        weights.back().data = average->second->data;
        weights.back().owner = average->second->owner;
      }
    }
  return weights;
}

Fault frit::train::exportSafetensors(const std::string &path,
                                     const std::vector<TensorView> &weights) {
  OutputFile output;
  std::error_code code = OutputFile::create(path, output);
  if (!code)
    code = writeSafetensors(output.path(), weights, {});
  if (!code)
    code = output.commit();
  return writingFault(path, code);
}
