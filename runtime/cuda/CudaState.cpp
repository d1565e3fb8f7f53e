//===- CudaState.cpp - A context's state on a GPU -------------------------===//

#include "runtime/cuda/CudaExecution.h"
#include "runtime/cuda/Upload.h"

#include <cstring>

using namespace frit;
using namespace frit::cuda;
using artifact::State;

/// Most bytes of a tensor in host memory whose value travels with the command.
static constexpr uint64_t kSmall = 16;

static DevicePointer addressOf(const void *data) {
  return DevicePointer(reinterpret_cast<uintptr_t>(data));
}

Status CudaExecution::makeState() {
  const Model &model = loaded.model;
  uint64_t bytes = model.plan.header().stateBytes;
  state = std::make_shared<SharedMemory>(loaded.sharedGpu);
  DeviceMemory &memory = state->memory;
  if (!bytes)
    return Status();
  phases.begin("set the state");
  FRIT_TRY(memory.allocate(bytes, "the model's state"));
  FRIT_TRY(driver.check(
      driver.memsetD8Async(memory.address(), 0, memory.bytes(), queue()),
      "clear memory"));
  std::vector<Upload> uploads;
  for (const State &tensor : model.plan.states())
    if (tensor.constant != artifact::kNone && tensor.bytes)
      uploads.push_back(
          {stateAddress(tensor),
           static_cast<const uint8_t *>(model.weights->data(tensor.constant)),
           tensor.bytes});
  if (uploads.empty())
    return Status();
  // Uploads run on streams of their own.
  FRIT_TRY(synchronize());
  return Uploader(gpu).upload(uploads);
}

Status CudaExecution::readState(std::span<const StateBinding> tensors) {
  ContextScope scope(gpu);
  bool waits = false;
  for (const StateBinding &binding : tensors) {
    const State &tensor = loaded.model.plan.states()[binding.index];
    if (!tensor.bytes)
      continue;
    bool isHost = binding.location == FRIT_HOST;
    waits |= isHost;
    FRIT_TRY(driver.check(
        isHost ? driver.memcpyDtoHAsync(binding.data, stateAddress(tensor),
                                        tensor.bytes, queue())
               : driver.memcpyDtoDAsync(addressOf(binding.data),
                                        stateAddress(tensor), tensor.bytes,
                                        queue()),
        "copy state from the GPU"));
  }
  return waits ? synchronize() : Status();
}

Status CudaExecution::writeState(std::span<const StateBinding> tensors) {
  ContextScope scope(gpu);
  std::vector<Upload> uploads;
  for (const StateBinding &binding : tensors) {
    const State &tensor = loaded.model.plan.states()[binding.index];
    DevicePointer to = stateAddress(tensor);
    if (!tensor.bytes)
      continue;
    if (binding.location == FRIT_DEVICE)
      FRIT_TRY(driver.check(driver.memcpyDtoDAsync(to, addressOf(binding.data),
                                                   tensor.bytes, queue()),
                            "copy state"));
    else if (tensor.bytes <= kSmall)
      FRIT_TRY(writeSmall(to, binding.data, tensor.bytes));
    else
      uploads.push_back(
          {to, static_cast<const uint8_t *>(binding.data), tensor.bytes});
  }
  if (uploads.empty())
    return Status();
  // Uploads run on streams of their own.
  FRIT_TRY(synchronize());
  return Uploader(gpu).upload(uploads);
}

/// Enqueues commands that carry the bytes with them, so that the caller's
/// memory is free when this returns.
Status CudaExecution::writeSmall(DevicePointer to, const void *from,
                                 uint64_t bytes) {
  auto *data = static_cast<const uint8_t *>(from);
  Result result = kSuccess;
  for (uint64_t done = 0; done < bytes && result == kSuccess;) {
    uint32_t word = 0;
    if (bytes - done >= sizeof word && (to + done) % sizeof word == 0) {
      memcpy(&word, data + done, sizeof word);
      result = driver.memsetD32Async(to + done, word, 1, queue());
      done += sizeof word;
    } else {
      result = driver.memsetD8Async(to + done, data[done], 1, queue());
      ++done;
    }
  }
  return driver.check(result, "copy state to the GPU");
}
