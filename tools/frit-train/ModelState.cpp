//===- ModelState.cpp - The state of a compiled training step -------------===//

#include "tools/frit-train/Model.h"
#include "tools/frit-train/weights/Export.h"
#include "tools/frit-train/weights/WeightsFile.h"
#include "tools/support/Message.h"

#include <algorithm>
#include <cstring>

using namespace frit::train;

bool Model::describeState() {
  for (uint32_t i = 0; i < frit_module_state_count(artifact.get()); ++i) {
    frit_tensor_info info;
    frit_module_state(artifact.get(), i, &info);
    types.push_back(
        {info.name, info.dtype, {info.dims, info.dims + info.rank}, {}});
  }
  if (types.empty())
    return failed("the step has no state, so it trains nothing");
  return true;
}

size_t Model::find(frit_state_role role) const {
  size_t i = 0;
  while (i < types.size() &&
         frit_module_state_role(artifact.get(), uint32_t(i)) != role)
    ++i;
  return i;
}

static frit_tensor bind(const TensorView &view) {
  return {view.name.c_str(), const_cast<uint8_t *>(view.data.data()),
          view.dtype,        uint32_t(view.dims.size()),
          view.dims.data(),  FRIT_HOST};
}

uint64_t Model::stateBytes() const {
  uint64_t all = frit_module_state_bytes(artifact.get());
  uint64_t divided = frit_module_sharded_state_bytes(artifact.get());
  return isOnCpu() ? all : all - divided + divided / options.place.size;
}

void Model::allocateState(std::vector<TensorView> &state) const {
  state = types;
  for (TensorView &view : state) {
    auto bytes = std::make_shared<Storage>(*byteSize(view.dtype, view.dims));
    view.data = *bytes;
    view.owner = bytes;
  }
}

bool Model::readInto(const std::vector<TensorView> &state) {
  std::vector<frit_tensor> bound;
  for (const TensorView &view : state)
    bound.push_back(bind(view));
  if (frit_status status =
          frit_state_read(context.get(), bound.data(), uint32_t(bound.size())))
    return failed(status);
  return true;
}

bool Model::readState(std::vector<TensorView> &state) {
  allocateState(state);
  return readInto(state);
}

bool Model::giveState() {
  return !frit_module_sharded_state_bytes(artifact.get()) || readInto(types);
}

bool Model::writeState(const std::vector<TensorView> &state) {
  std::vector<frit_tensor> bound;
  for (const TensorView &view : state)
    bound.push_back(bind(view));
  if (frit_status status =
          frit_state_write(context.get(), bound.data(), uint32_t(bound.size())))
    return failed(status);
  return true;
}

bool Model::loadWeights() {
  if (options.initial.empty())
    return true;
  LoadedWeights loaded;
  if (Fault fault = readWeights(options.initial, weightsOf(types),
                                options.isPartial, loaded))
    return failed(fault);
  if (!loaded.missing.empty() && !options.place.rank && !options.isSearch)
    complain("note: '" + options.initial + "' has " +
             std::to_string(loaded.tensors.size()) +
             " weights of the step; these keep the compiled values: " +
             someNames(loaded.missing));
  // Moving averages begin as the weights.
  for (const TensorView &type : types)
    if (type.name.ends_with(kAverageSuffix)) {
      std::string weight =
          type.name.substr(0, type.name.size() - strlen(kAverageSuffix));
      auto found = std::ranges::find(loaded.tensors, weight, &TensorView::name);
      if (found != loaded.tensors.end()) {
        TensorView average = *found;
        average.name = type.name;
        loaded.tensors.push_back(std::move(average));
      }
    }
  return writeState(loaded.tensors);
}

bool Model::writeNumber(frit_state_role role, double value) {
  const TensorView &type = types[find(role)];
  Tensor number{type.name, type.dtype, type.dims, {}};
  allocate(number);
  number.set(0, value);
  frit_tensor bound = number.bind();
  if (frit_status status = frit_state_write(context.get(), &bound, 1))
    return failed(status);
  return true;
}

bool Model::readNumber(frit_state_role role, double &value) {
  const TensorView &type = types[find(role)];
  Tensor number{type.name, type.dtype, type.dims, {}};
  allocate(number);
  frit_tensor bound = number.bind();
  if (frit_status status = frit_state_read(context.get(), &bound, 1))
    return failed(status);
  value = number.at(0);
  return true;
}
