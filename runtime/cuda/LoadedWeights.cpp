//===- LoadedWeights.cpp - A model's weights on a GPU ---------------------===//

#include "runtime/cuda/CudaSteps.h"
#include "runtime/cuda/LoadedTarget.h"

#include <algorithm>

using namespace frit;
using namespace frit::cuda;
using artifact::Constant;
using artifact::Step;

/// Device bytes for original weights at a time while the prepare steps run:
/// small compared with their results, but enough for a multi-threaded upload.
static constexpr uint64_t kPreparedAtOnce = 32 << 20;

bool LoadedTarget::isInPlace(uint32_t index) const {
  return model.weights->isOnDevice(index) &&
         addressOf(model.weights->data(index)) % artifact::kAlignment == 0;
}

Status LoadedTarget::uploadConstants(Uploader &uploader,
                                     std::span<const uint32_t> indices) {
  const Driver &driver = gpu.driver;
  std::vector<Upload> uploads;
  Result result = kSuccess;
  bool copied = false;
  for (uint32_t index : indices) {
    const Constant &constant = model.plan.constants()[index];
    const void *data = model.weights->data(index);
    // An empty constant may have no source address.
    if (!constant.bytes)
      continue;
    if (!model.weights->isOnDevice(index)) {
      uploads.push_back({constants[index], static_cast<const uint8_t *>(data),
                         constant.bytes});
      continue;
    }
    copied = true;
    if (result == kSuccess)
      result = driver.memcpyDtoDAsync(constants[index], addressOf(data),
                                      constant.bytes, nullptr);
  }
  if (copied && result == kSuccess)
    result = driver.streamSynchronize(nullptr);
  FRIT_TRY(driver.check(result, "copy the weights"));
  return uploader.upload(uploads);
}

Status LoadedTarget::uploadResident(Uploader &uploader) {
  std::span<const Constant> all = model.plan.constants();
  constants.resize(all.size());
  places.resize(all.size());
  std::vector<uint32_t> indices;
  uint64_t total = 0;
  for (uint32_t index = 0; index < all.size(); ++index) {
    if (!all[index].resident || !all[index].bytes)
      continue;
    if (isInPlace(index)) {
      constants[index] = addressOf(model.weights->data(index));
      continue;
    }
    indices.push_back(index);
    total += alignedBytes(all[index].bytes);
  }
  resident = std::make_unique<DeviceMemory>(gpu);
  FRIT_TRY(resident->allocate(total, "the model's weights"));
  DevicePointer next = resident->address();
  for (uint32_t index : indices) {
    constants[index] = places[index] = next;
    next += alignedBytes(all[index].bytes);
  }
  return uploadConstants(uploader, indices);
}

Status LoadedTarget::replaceResident(Uploader &uploader,
                                     std::span<const uint32_t> changed) {
  std::vector<uint32_t> indices;
  bool moved = false;
  for (uint32_t index : changed) {
    const Constant &constant = model.plan.constants()[index];
    if (!constant.resident || !constant.bytes)
      continue;
    DevicePointer before = constants[index];
    if (isInPlace(index)) {
      constants[index] = addressOf(model.weights->data(index));
    } else {
      DevicePointer &place = places[index];
      if (!place) {
        auto other = std::make_unique<DeviceMemory>(gpu);
        FRIT_TRY(other->allocate(alignedBytes(constant.bytes), "a weight"));
        place = other->address();
        others.push_back(std::move(other));
      }
      constants[index] = place;
      indices.push_back(index);
    }
    moved |= constants[index] != before;
  }
  version += moved;
  return uploadConstants(uploader, indices);
}

Status LoadedTarget::setWeights(std::span<const uint32_t> changed) {
  ContextScope scope(gpu);
  FRIT_TRY(gpu.checkContext());
  Uploader uploader(gpu);
  FRIT_TRY(replaceResident(uploader, changed));
  return prepare(uploader);
}

Status LoadedTarget::prepare(Uploader &uploader) {
  const artifact::Target &target = *model.target;
  const Driver &driver = gpu.driver;
  if (!prepared.bytes())
    FRIT_TRY(prepared.allocate(target.preparedBytes,
                               "the memory of prepared weights"));
  std::vector<Window> windows =
      windowsOf(model.plan, model.plan.steps(target.prepare), kPreparedAtOnce);
  if (!windows.empty()) {
    DeviceMemory originals(gpu), arena(gpu);
    FRIT_TRY(
        originals.allocate(std::ranges::max(windows, {}, &Window::bytes).bytes,
                           "the model's weights"));
    FRIT_TRY(arena.allocate(target.prepareArenaBytes, "preparing the weights"));
    Stream stream;
    FRIT_TRY(driver.check(driver.streamCreate(&stream, kStreamNonBlocking),
                          "make a stream"));
    Status status;
    for (const Window &window : windows) {
      DevicePointer next = originals.address();
      for (uint32_t index : window.constants) {
        constants[index] = next;
        next += alignedBytes(model.plan.constants()[index].bytes);
      }
      status = uploadConstants(uploader, window.constants);
      if (!status.failed())
        status = runWindow(window, arena.address(), stream);
      if (status.failed())
        break;
      for (uint32_t index : window.constants)
        constants[index] = 0;
    }
    driver.streamDestroy(stream);
    FRIT_TRY(std::move(status));
  }
  if (!model.keepsWeights())
    model.weights->release();
  return Status();
}

Status LoadedTarget::runWindow(const Window &window, DevicePointer arena,
                               Stream stream) {
  std::lock_guard lock(captureMutex());
  CudaSteps steps(*this,
                  model.plan.steps(model.target->prepare)
                      .subspan(window.first, window.count),
                  arena, /*state=*/nullptr);
  Status status = steps.bind({}, {});
  if (!status.failed())
    status = steps.openLibraries(stream, /*tryOut=*/false);
  for (size_t index = 0; index < steps.size() && !status.failed(); ++index)
    status = steps.enqueue(index, stream);
  // Synchronize after a failure too: the memory is about to be freed.
  Status finished = gpu.driver.check(gpu.driver.streamSynchronize(stream),
                                     "prepare the weights");
  FRIT_TRY(std::move(status));
  return finished;
}
