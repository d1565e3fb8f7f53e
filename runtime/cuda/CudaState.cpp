//===- CudaState.cpp - A context's state on a GPU -------------------------===//

#include "runtime/cuda/CudaExecution.h"
#include "runtime/cuda/Upload.h"

#include <algorithm>
#include <cstring>
#include <utility>

using namespace frit;
using namespace frit::cuda;
using artifact::State;

/// Maximum bytes of a host tensor that is passed by value in the command.
static constexpr uint64_t kSmall = 16;

/// This rank's part of a state tensor: bytes [begin, begin + bytes).
struct CudaExecution::StatePart {
  DevicePointer address;
  uint64_t begin, bytes;
};

/// Bytes of a shard row.
static constexpr uint64_t kRowBytes = artifact::kShardRow * sizeof(float);

CudaExecution::StatePart CudaExecution::partOf(const State &tensor) const {
  const PlanView &plan = model.plan;
  const artifact::ShardedState *divided = plan.shardAt(tensor.offset);
  if (!divided)
    return {state->whole.memory.address() + tensor.offset, 0, tensor.bytes};
  artifact::Shard own = state->shardOf(divided->rows);
  uint64_t first = tensor.offset - divided->offset;
  auto clamp = [&](uint64_t row) {
    return std::clamp(row * kRowBytes, first, first + tensor.bytes);
  };
  uint64_t begin = clamp(own.begin), end = clamp(own.end);
  return {state->shardAddress(plan, divided->offset) + begin -
              own.begin * kRowBytes,
          begin - first, end - begin};
}

Status CudaExecution::makeState() {
  uint64_t bytes = model.plan.wholeBytes();
  state = std::make_shared<DeviceState>(loaded.sharedGpu, model.plan);
  DeviceMemory &memory = state->whole.memory;
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
          {partOf(tensor).address,
           static_cast<const uint8_t *>(model.weights->data(tensor.constant)),
           tensor.bytes});
  if (uploads.empty())
    return Status();
  // Uploads run on streams of their own.
  FRIT_TRY(synchronize());
  return Uploader(gpu).upload(uploads);
}

/// Allocates this rank's shards, all zeros, unless they exist.
Status CudaExecution::makeShards() {
  const PlanView &plan = model.plan;
  if (plan.shards().empty() || state->shards)
    return Status();
  uint64_t bytes = state->shardBytes(plan, plan.header().stateBytes);
  auto made = std::make_unique<SharedMemory>(loaded.sharedGpu);
  if (bytes) {
    FRIT_TRY(made->memory.allocate(bytes, "the model's state"));
    FRIT_TRY(driver.check(
        driver.memsetD8Async(made->memory.address(), 0, bytes, queue()),
        "clear memory"));
  }
  state->shards = std::move(made);
  return Status();
}

/// Divides the state among the ranks of the group; this rank keeps its shards.
Status CudaExecution::divideState() {
  const PlanView &plan = model.plan;
  if (plan.shards().empty() || state->group)
    return Status();
  std::unique_ptr<SharedMemory> before = std::move(state->shards);
  state->group = group;
  if (!before)
    return Status();
  ++state->version;
  FRIT_TRY(makeShards());
  for (const artifact::ShardedState &divided : plan.shards()) {
    artifact::Shard own = state->shardOf(divided.rows);
    DevicePointer from = before->memory.address() +
                         plan.shardBytes(divided.offset, 0, 1) +
                         own.begin * kRowBytes;
    if (own.rows())
      FRIT_TRY(driver.check(
          driver.memcpyDtoDAsync(state->shardAddress(plan, divided.offset),
                                 from, own.rows() * kRowBytes, queue()),
          "copy state"));
  }
  return synchronize();
}

/// Allocates `to` and enqueues gathering the shards of all ranks there.
Status CudaExecution::gather(const artifact::ShardedState &divided,
                             DeviceMemory &to) {
  FRIT_TRY(to.allocate(divided.bytes(), "the state of all ranks"));
  artifact::Shard own = state->shardOf(divided.rows);
  if (own.rows())
    FRIT_TRY(driver.check(
        driver.memcpyDtoDAsync(to.address() + own.begin * kRowBytes,
                               state->shardAddress(model.plan, divided.offset),
                               own.rows() * kRowBytes, queue()),
        "copy state"));
  return state->group
             ? state->group->enqueue(artifact::Collective::allGather,
                                     to.address(),
                                     divided.rows * artifact::kShardRow,
                                     artifact::DType::f32, queue())
             : Status();
}

Status CudaExecution::readState(std::span<const StateBinding> tensors) {
  ContextScope scope(gpu);
  FRIT_TRY(gpu.checkContext());
  const PlanView &plan = model.plan;
  FRIT_TRY(makeShards());
  bool waits = false;
  auto copy = [&](const StateBinding &binding, DevicePointer from) {
    uint64_t bytes = plan.states()[binding.index].bytes;
    if (!binding.data || !bytes)
      return Status();
    bool isHost = binding.location == FRIT_HOST;
    waits |= isHost;
    return driver.check(
        isHost ? driver.memcpyDtoHAsync(binding.data, from, bytes, queue())
               : driver.memcpyDtoDAsync(addressOf(binding.data), from, bytes,
                                        queue()),
        "copy state from the GPU");
  };
  auto partWith = [&](const StateBinding &binding) {
    return plan.shardAt(plan.states()[binding.index].offset);
  };
  for (const StateBinding &binding : tensors)
    if (!partWith(binding))
      FRIT_TRY(copy(binding, partOf(plan.states()[binding.index]).address));
  // One after another: there may be no memory for all of them.
  for (const artifact::ShardedState &divided : plan.shards()) {
    DeviceMemory whole(gpu);
    for (const StateBinding &binding : tensors)
      if (partWith(binding) == &divided) {
        if (!whole.bytes())
          FRIT_TRY(gather(divided, whole));
        FRIT_TRY(copy(binding, whole.address() +
                                   plan.states()[binding.index].offset -
                                   divided.offset));
      }
    if (whole.bytes())
      FRIT_TRY(synchronize());
  }
  return waits ? synchronize() : Status();
}

Status CudaExecution::writeState(std::span<const StateBinding> tensors) {
  ContextScope scope(gpu);
  FRIT_TRY(gpu.checkContext());
  FRIT_TRY(makeShards());
  std::vector<Upload> uploads;
  for (const StateBinding &binding : tensors) {
    const State &tensor = model.plan.states()[binding.index];
    auto [to, begin, bytes] = partOf(tensor);
    if (!bytes)
      continue;
    state->derived.noteWrite(tensor);
    auto *from = static_cast<const uint8_t *>(binding.data) + begin;
    if (binding.location == FRIT_DEVICE)
      FRIT_TRY(driver.check(
          driver.memcpyDtoDAsync(to, addressOf(from), bytes, queue()),
          "copy state"));
    else if (bytes <= kSmall)
      FRIT_TRY(writeSmall(to, from, bytes));
    else
      uploads.push_back({to, from, bytes});
  }
  if (uploads.empty())
    return Status();
  // Uploads run on streams of their own.
  FRIT_TRY(synchronize());
  return Uploader(gpu).upload(uploads);
}

/// Enqueues computing the derived states that a call of `program` reads and
/// that are stale. Notes which it leaves stale.
Status CudaExecution::derive(const Program &program) {
  if (state->derived.hasStale(program.derived)) {
    std::span<const artifact::Step> list =
        model.plan.steps(model.target->derive);
    CudaSteps steps(loaded, list, arena->memory.address(), state.get());
    FRIT_TRY(steps.bind({}, {}));
    for (size_t index = 0; index < steps.size(); ++index)
      FRIT_TRY(steps.enqueue(index, queue()));
    state->derived.noteDerived(list);
  }
  state->derived.noteCall(program.derived);
  return Status();
}

/// Enqueues commands that contain the bytes, so that the caller's memory can be
/// reused when this returns.
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
