//===- CudaFeed.cpp - Inputs that are copied to the GPU while calls run ---===//

#include "runtime/cuda/CudaFeed.h"

using namespace frit;
using namespace frit::cuda;

CudaFeed::~CudaFeed() {
  ContextScope scope(*gpu);
  if (stream) {
    driver.streamSynchronize(stream);
    driver.streamSynchronize(queue->stream);
    driver.streamDestroy(stream);
  }
  for (Event event : {arrived, left})
    if (event)
      driver.eventDestroy(event);
  for (void *memory : pinned)
    driver.memFreeHost(memory);
}

Status CudaFeed::open(std::span<const uint64_t> sizes) {
  ContextScope scope(*gpu);
  FRIT_TRY(gpu->checkContext());
  uint64_t bytes = 0;
  for (uint64_t size : sizes) {
    offsets.push_back(bytes);
    bytes += alignedBytes(size);
  }
  FRIT_TRY(sent.memory.allocate(bytes, "inputs that are sent ahead"));
  Result result = driver.streamCreate(&stream, kStreamNonBlocking);
  for (Event *event : {&arrived, &left})
    if (result == kSuccess)
      result = driver.eventCreate(event, kEventDisableTiming);
  return driver.check(result, "make a stream");
}

Status CudaFeed::allocate(uint64_t bytes, void *&memory) {
  ContextScope scope(*gpu);
  FRIT_TRY(gpu->checkContext());
  void *made = nullptr;
  FRIT_TRY(driver.check(driver.memHostAlloc(&made, bytes ? bytes : 1, 0),
                        "get page-locked memory for inputs"));
  pinned.push_back(made);
  memory = made;
  return Status();
}

Status CudaFeed::send(std::span<const FeedTensor> tensors) {
  ContextScope scope(*gpu);
  FRIT_TRY(gpu->checkContext());
  Result result = driver.streamWaitEvent(stream, left, 0);
  for (const FeedTensor &tensor : tensors)
    if (tensor.bytes && result == kSuccess)
      result =
          driver.memcpyHtoDAsync(sent.memory.address() + offsets[tensor.index],
                                 tensor.data, tensor.bytes, stream);
  if (result == kSuccess)
    result = driver.eventRecord(arrived, stream);
  return driver.check(result, "copy an input to the GPU");
}

Status CudaFeed::take(std::span<const FeedTensor> tensors,
                      std::vector<void *> &places, frit_location &location) {
  ContextScope scope(*gpu);
  FRIT_TRY(gpu->checkContext());
  Result result = driver.streamWaitEvent(queue->stream, arrived, 0);
  for (size_t i = 0; i < tensors.size(); ++i) {
    DevicePointer to = buffers[tensors[i].index];
    if (tensors[i].bytes && result == kSuccess)
      result = driver.memcpyDtoDAsync(
          to, sent.memory.address() + offsets[tensors[i].index],
          tensors[i].bytes, queue->stream);
    places[i] = reinterpret_cast<void *>(to);
  }
  if (result == kSuccess)
    result = driver.eventRecord(left, queue->stream);
  location = FRIT_DEVICE;
  return driver.check(result, "place an input");
}
