//===- Weights.cpp - Map files of external weights ------------------------===//

#include "runtime/exec/Weights.h"
#include "runtime/exec/Safetensors.h"
#include "runtime/exec/Types.h"
#include "runtime/system/System.h"

#include "frit/dtype.h"

#include <algorithm>
#include <cstring>

using namespace frit;

std::string frit::weightFile(const PlanView &plan,
                             const artifact::Constant &constant,
                             const std::string &folder) {
  std::string path(plan.text(constant.file));
  bool isRelative = !path.empty() && path[0] != '/' && !folder.empty();
  return isRelative ? folder + "/" + path : path;
}

Status Weights::map(const std::string &path, Mapping &mapping) {
  using Fault = system::FileView::Fault;
  system::FileView view = system::mapFile(path);
  if (view.fault == Fault::irregular)
    return Status(
        FRIT_IO_ERROR,
        format("the weights file '%s' is not a regular file", path.c_str()));
  if (view.fault != Fault::none)
    return Status(FRIT_IO_ERROR,
                  format("cannot %s the weights in '%s': %s",
                         view.fault == Fault::open ? "open" : "map",
                         path.c_str(), view.reason.c_str()));
  mapping = {view.data, view.bytes};
  return Status();
}

/// Finds a constant in a safetensors file by its name. The user may have
/// replaced the file, so type and shape are checked against the plan.
static Status find(const PlanView &plan, const artifact::Constant &constant,
                   const std::map<std::string, StoredTensor> &tensors,
                   uint64_t &offset) {
  std::string name(plan.text(constant.name));
  auto found = tensors.find(name);
  if (found == tensors.end())
    return Status(FRIT_IO_ERROR, format("it has no weight '%s'", name.c_str()));
  const StoredTensor &tensor = found->second;
  std::span<const int64_t> dims = plan.dims(constant.dims);
  auto text = [](const std::string &type, std::span<const int64_t> sizes) {
    std::string shape;
    for (int64_t size : sizes)
      shape += std::to_string(size) + "x";
    return shape + type;
  };
  std::string expected = text(artifact::findDType(constant.type)->stored, dims);
  std::string given = text(tensor.type, tensor.dims);
  if (given != expected || tensor.bytes != constant.bytes)
    return Status(FRIT_IO_ERROR,
                  format("weight '%s' is %s of %llu bytes there, and the model "
                         "takes %s of %llu",
                         name.c_str(), given.c_str(),
                         static_cast<unsigned long long>(tensor.bytes),
                         expected.c_str(),
                         static_cast<unsigned long long>(constant.bytes)));
  offset = tensor.offset;
  return Status();
}

Status Weights::give(const PlanView &plan, std::span<const frit_tensor> tensors,
                     std::vector<uint32_t> &changed) {
  std::span<const artifact::Constant> all = plan.constants();
  std::map<std::string_view, uint32_t> numbers;
  for (uint32_t index = 0; index < all.size(); ++index)
    numbers[plan.text(all[index].name)] = index;
  std::vector<GivenWeight> made = given;
  made.resize(all.size());
  changed.clear();
  std::vector<bool> seen(all.size());
  for (const frit_tensor &tensor : tensors) {
    if (!tensor.name)
      return invalidArgument("a weight is given without a name");
    auto found = numbers.find(tensor.name);
    if (found == numbers.end())
      return invalidArgument(format("there is no weight '%s'", tensor.name));
    const artifact::Constant &constant = all[found->second];
    if (seen[found->second])
      return invalidArgument(format("weight '%s' is given twice", tensor.name));
    seen[found->second] = true;
    if (tensor.rank && !tensor.dims)
      return invalidArgument(format("weight '%s' has no dims", tensor.name));
    std::span<const int64_t> dims(tensor.dims, tensor.rank);
    if (artifact::DType(tensor.dtype) != constant.type ||
        !std::ranges::equal(dims, plan.dims(constant.dims)))
      return invalidArgument(
          format("weight '%s' must be %s and is %s", tensor.name,
                 formatType(constant.type, plan.dims(constant.dims)).c_str(),
                 formatType(artifact::DType(tensor.dtype), dims).c_str()));
    if (!tensor.data && constant.bytes)
      return invalidArgument(format("weight '%s' has no data", tensor.name));
    if (tensor.location != FRIT_HOST && tensor.location != FRIT_DEVICE)
      return invalidArgument(
          format("weight '%s' has no known location", tensor.name));
    made[found->second] = {tensor.data, tensor.location};
    changed.push_back(found->second);
  }
  given = std::move(made);
  return Status();
}

static bool isSafetensors(std::string_view path) {
  return path.ends_with(".safetensors");
}

Status Weights::open(const PlanView &plan, const frit_image &image,
                     const std::string &folder) {
  release();
  std::map<std::string, std::map<std::string, StoredTensor>> headers;
  for (const artifact::Constant &constant : plan.constants()) {
    if (size_t index = pointers.size();
        index < given.size() && given[index].data) {
      pointers.push_back(given[index].data);
      continue;
    }
    std::string path = weightFile(plan, constant, folder);
    if (path.empty()) {
      pointers.push_back(static_cast<const uint8_t *>(image.weights) +
                         constant.offset);
      continue;
    }
    auto [entry, added] = files.try_emplace(path);
    if (added)
      FRIT_TRY(map(path, entry->second));
    const Mapping &mapping = entry->second;
    auto *data = static_cast<const uint8_t *>(mapping.data);
    uint64_t offset = constant.offset;
    if (isSafetensors(path)) {
      auto &header = headers[path];
      Status status =
          added ? readSafetensors(data, mapping.bytes, header) : Status();
      if (!status.failed())
        status = find(plan, constant, header, offset);
      if (status.failed())
        return std::move(status).within("the weights in '" + path + "'");
    }
    if (offset > mapping.bytes || constant.bytes > mapping.bytes - offset)
      return Status(
          FRIT_IO_ERROR,
          format("the file '%s' is too short: weight '%s' ends at byte %llu of "
                 "%llu",
                 path.c_str(), std::string(plan.text(constant.name)).c_str(),
                 static_cast<unsigned long long>(offset + constant.bytes),
                 static_cast<unsigned long long>(mapping.bytes)));
    pointers.push_back(data + offset);
  }
  return Status();
}

void Weights::release() {
  for (auto &[path, mapping] : files)
    if (mapping.data)
      system::unmapFile(mapping.data, mapping.bytes);
  files.clear();
  pointers.clear();
}
