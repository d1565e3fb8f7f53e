//===- CudaCopies.cpp - Copy a call's tensors to the GPU and back ---------===//
//
// Small host tensors are staged in pinned memory. If a call uses less than its
// variant's size, inputs are copied row by row into the context's own buffers,
// zero-padded, and outputs are gathered from there.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/CudaExecution.h"

#include <algorithm>
#include <cstring>

using namespace frit;
using namespace frit::cuda;

/// Maximum bytes of a tensor to stage. For larger ones the driver pins memory
/// piecewise.
static constexpr uint64_t kLargestStaged = 16 << 20;
/// Bytes per piece of a staged tensor: one is sent while the next is copied.
static constexpr uint64_t kStagedPiece = 1 << 20;
static constexpr uint64_t kNotStaged = ~uint64_t(0);

void CudaExecution::makeStaging() {
  if (stagingTried)
    return;
  stagingTried = true;
  uint64_t total = 0;
  auto place = [&](uint64_t bytes) {
    bool staged = bytes && bytes <= kLargestStaged;
    uint64_t offset = staged ? total : kNotStaged;
    total += staged ? alignedBytes(bytes) : 0;
    return offset;
  };
  for (uint32_t i = 0; i < ownInputs.size(); ++i)
    inputOffsets.push_back(place(model.inputBytes(i)));
  for (uint32_t i = 0; i < ownOutputs.size(); ++i)
    outputOffsets.push_back(place(model.outputBytes(i)));
  void *pinned = nullptr;
  if (total && driver.memHostAlloc(&pinned, total, 0) == kSuccess)
    staging = static_cast<uint8_t *>(pinned);
}

bool CudaExecution::isPinned(const void *data) const {
  unsigned type = 0;
  int attribute = kPointerMemoryType;
  void *value = &type;
  return driver.pointerGetAttributes(1, &attribute, &value, addressOf(data)) ==
             kSuccess &&
         type == kMemoryTypeHost;
}

/// Checks a tensor that the caller has written to the context's own buffer. It
/// can be used in place only if it is contiguous there.
static Status checkInPlace(const StridedRegion &region) {
  if (region.runs() <= 1)
    return Status();
  return Status(FRIT_UNSUPPORTED,
                "a tensor that is padded in an inner dimension cannot lie in "
                "the context's own buffer");
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

Status CudaExecution::copyIn(const Program &program,
                             std::span<const Binding> inputs) {
  const PlanView &plan = model.plan;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const artifact::Tensor &tensor = plan.inputs(program.variant)[i];
    StridedRegion region = regionOf(plan, inputs[i], tensor);
    bool isHost = inputs[i].location == FRIT_HOST;
    bool inPlace = !isHost && addressOf(inputs[i].data) == program.inputs[i];
    if (!tensor.bytes || (inPlace && region.isWhole()))
      continue;
    // A true size has a few bytes, which the driver copies at once.
    bool isSize = i >= plan.modelInputs(program.variant).size();
    if (isHost && !isSize)
      makeStaging();
    FRIT_TRY(isHost ? copyInput(region, inputs[i].data, program.inputs[i],
                                tensor.bytes,
                                isSize ? kNotStaged : inputOffsets[i])
                    : spread(region, addressOf(inputs[i].data),
                             program.inputs[i], tensor.bytes));
  }
  return Status();
}

Status CudaExecution::copyInput(const StridedRegion &region, const void *data,
                                DevicePointer to, uint64_t bytes,
                                uint64_t stagingOffset) {
  auto *from = static_cast<const uint8_t *>(data);
  bool staged = staging && stagingOffset != kNotStaged && !isPinned(from);
  Result result = kSuccess;
  if (staged && !region.isWhole())
    copyInto(region, from, staging + stagingOffset, bytes);
  for (uint64_t done = 0; staged && done < bytes && result == kSuccess;
       done += kStagedPiece) {
    uint64_t piece = std::min(kStagedPiece, bytes - done);
    uint8_t *middle = staging + stagingOffset + done;
    if (region.isWhole())
      std::copy_n(from + done, piece, middle);
    result = driver.memcpyHtoDAsync(to + done, middle, piece, queue());
  }
  if (!staged && !region.isWhole())
    result = driver.memsetD8Async(to, 0, bytes, queue());
  for (uint64_t run = 0; !staged && run < region.runs() && result == kSuccess;
       ++run)
    result = driver.memcpyHtoDAsync(to + region.offset(run),
                                    from + run * region.runBytes(),
                                    region.runBytes(), queue());
  return driver.check(result, "copy an input to the GPU");
}

Status CudaExecution::spread(const StridedRegion &region, DevicePointer from,
                             DevicePointer to, uint64_t bytes) {
  uint64_t kept = 0;
  if (from == to)
    FRIT_TRY(checkInPlace(region));
  if (from == to || region.isWhole())
    kept = region.runs() * region.runBytes();
  Result result = kSuccess;
  if (bytes > kept)
    result = driver.memsetD8Async(to + kept, 0, bytes - kept, queue());
  for (uint64_t run = 0;
       from != to && run < region.runs() && result == kSuccess; ++run)
    result = driver.memcpyDtoDAsync(to + region.offset(run),
                                    from + run * region.runBytes(),
                                    region.runBytes(), queue());
  return driver.check(result, "copy an input on the GPU");
}

//===----------------------------------------------------------------------===//
// Outputs
//===----------------------------------------------------------------------===//

/// If the model has counts, waits for them and sets the data-dependent output
/// shapes.
Status CudaExecution::readCounts(const Program &program,
                                 std::span<const Binding> outputs) {
  const PlanView &plan = model.plan;
  std::vector<int64_t> counts(plan.function().counts);
  if (counts.empty())
    return Status();
  makeStaging();
  size_t first = outputs.size() - counts.size();
  auto placeOf = [&](size_t i) {
    void *pinned = staging ? staging + outputOffsets[first + i] : nullptr;
    return pinned ? pinned : &counts[i];
  };
  for (size_t i = 0; i < counts.size(); ++i)
    FRIT_TRY(driver.check(driver.memcpyDtoHAsync(placeOf(i),
                                                 program.outputs[first + i],
                                                 sizeof(int64_t), queue()),
                          "copy a count from the GPU"));
  FRIT_TRY(synchronize());
  for (size_t i = 0; i < counts.size(); ++i)
    memcpy(&counts[i], placeOf(i), sizeof(int64_t));
  return applyCounts(plan, program.variant, counts, outputs);
}

Status CudaExecution::copyOut(const Program &program,
                              std::span<const Binding> outputs) {
  const PlanView &plan = model.plan;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const artifact::Tensor &tensor = plan.outputs(program.variant)[i];
    if (!outputs[i].data || !tensor.bytes)
      continue;
    StridedRegion region = regionOf(plan, outputs[i], tensor);
    bool isHost = outputs[i].location == FRIT_HOST;
    bool inPlace = !isHost && addressOf(outputs[i].data) == program.outputs[i];
    if (inPlace && region.isWhole())
      continue;
    if (isHost)
      makeStaging();
    FRIT_TRY(isHost ? copyOutput(region, program.outputs[i], outputs[i].data,
                                 tensor.bytes, outputOffsets[i])
                    : gather(region, program.outputs[i],
                             addressOf(outputs[i].data),
                             isCutInside(plan, tensor)));
  }
  return Status();
}

Status CudaExecution::copyOutput(const StridedRegion &region,
                                 DevicePointer from, void *data, uint64_t bytes,
                                 uint64_t stagingOffset) {
  auto *to = static_cast<uint8_t *>(data);
  Result result = kSuccess;
  if (staging && stagingOffset != kNotStaged) {
    uint64_t used =
        region.runs() > 1 ? bytes : region.runs() * region.runBytes();
    if (used)
      result =
          driver.memcpyDtoHAsync(staging + stagingOffset, from, used, queue());
    return driver.check(result, "copy an output from the GPU");
  }
  for (uint64_t run = 0; run < region.runs() && result == kSuccess; ++run)
    result = driver.memcpyDtoHAsync(to + run * region.runBytes(),
                                    from + region.offset(run),
                                    region.runBytes(), queue());
  return driver.check(result, "copy an output from the GPU");
}

/// Copies an output densely to `to`. With `stays`, an output in the context's
/// own buffer may keep its row stride.
Status CudaExecution::gather(const StridedRegion &region, DevicePointer from,
                             DevicePointer to, bool stays) {
  if (from == to)
    return stays ? Status() : checkInPlace(region);
  Result result = kSuccess;
  for (uint64_t run = 0; run < region.runs() && result == kSuccess; ++run)
    result = driver.memcpyDtoDAsync(to + run * region.runBytes(),
                                    from + region.offset(run),
                                    region.runBytes(), queue());
  return driver.check(result, "cut an output");
}

Status CudaExecution::finishCopies(const Program &program,
                                   std::span<const Binding> outputs) {
  FRIT_TRY(synchronize());
  const PlanView &plan = model.plan;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const artifact::Tensor &tensor = plan.outputs(program.variant)[i];
    if (outputs[i].location != FRIT_HOST || !outputs[i].data || !tensor.bytes ||
        !staging || outputOffsets[i] == kNotStaged)
      continue;
    copyOutOf(regionOf(plan, outputs[i], tensor), staging + outputOffsets[i],
              outputs[i].data);
  }
  return Status();
}
