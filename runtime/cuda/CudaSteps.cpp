//===- CudaSteps.cpp - A list of steps bound to device memory -------------===//

#include "runtime/cuda/CudaSteps.h"
#include "runtime/exec/Types.h"

#include <algorithm>

using namespace frit;
using namespace frit::cuda;
using artifact::Buffer;
using artifact::Collective;
using artifact::Guard;
using artifact::Space;
using artifact::Step;
using artifact::StepKind;
using artifact::StepRunner;

/// Guaranteed alignment in bytes of device memory that the caller passes.
static constexpr uint32_t kBoundAlignment = 16;

CudaSteps::CudaSteps(LoadedTarget &loaded, std::span<const Step> steps,
                     DevicePointer arena, const DeviceState *state)
    : loaded(loaded), driver(loaded.gpu.driver), plan(loaded.model.plan),
      steps(steps), conditional(loaded.guardKernel != nullptr),
      calls(steps.size()) {
  for (size_t index = 0; index < steps.size(); ++index) {
    firstArgument.push_back(arguments.size());
    firstMap.push_back(mapUses.size());
    resolveArguments(index, arena, state);
    listTensorMaps(index);
    if (steps[index].kind == StepKind::guard)
      for (const Step &step :
           steps.subspan(index + 1, plan.guard(steps[index]).steps))
        mustSkip |= plan.writesState(step);
  }
  maps.resize(mapUses.size());
}

static bool isBound(const Buffer &buffer) {
  return buffer.space == Space::input || buffer.space == Space::output;
}

void CudaSteps::resolveArguments(size_t index, DevicePointer arena,
                                 const DeviceState *state) {
  // A launch of a shard gets the addresses of its first rows.
  const Step &step = steps[index];
  artifact::Shard shard;
  if (step.shardRows)
    shard = state->shardOf(step.shardRows);
  shardCounts.push_back(int64_t(shard.rows() * artifact::kShardRow));
  for (const Buffer &buffer : plan.arguments(step)) {
    uint64_t skipped = PlanView::isDivided(step, buffer)
                           ? shard.begin * (buffer.bytes / step.shardRows)
                           : 0;
    DevicePointer base = 0;
    switch (buffer.space) {
    case Space::input:
    case Space::output:
      patches.push_back({arguments.size(), buffer.offset + skipped,
                         buffer.index, buffer.space == Space::output, index});
      break;
    case Space::constant:
      base = loaded.constants[buffer.index];
      break;
    case Space::arena:
      base = arena;
      break;
    case Space::prepared:
      base = loaded.prepared.address();
      break;
    case Space::state:
      if (buffer.offset >= plan.wholeBytes()) {
        arguments.push_back(state->shardAddress(plan, buffer.offset));
        continue;
      }
      base = state->whole.memory.address();
      break;
    }
    arguments.push_back(base + buffer.offset + skipped);
  }
}

void CudaSteps::listTensorMaps(size_t index) {
  const Step &step = steps[index];
  if (step.kernel == artifact::kNone)
    return;
  for (const artifact::TensorMap &map :
       plan.tensorMaps(plan.kernels()[step.kernel]))
    mapUses.push_back({&map, index, firstArgument[index] + map.argument,
                       isBound(plan.arguments(step)[map.argument])});
}

Status CudaSteps::bind(std::span<const DevicePointer> inputs,
                       std::span<const DevicePointer> outputs) {
  for (const Patch &patch : patches)
    arguments[patch.argument] =
        (patch.output ? outputs : inputs)[patch.index] + patch.offset;
  for (size_t i = 0; i < maps.size(); ++i) {
    const MapUse &use = mapUses[i];
    if (use.bound || !encoded)
      FRIT_TRY(stepFailed(
          plan, steps[use.step],
          encodeTensorMap(driver, *use.map, arguments[use.argument], maps[i])));
  }
  encoded = true;
  return Status();
}

//===----------------------------------------------------------------------===//
// Library calls
//===----------------------------------------------------------------------===//

/// Returns the guaranteed alignment of an argument's address in bytes.
static uint32_t alignmentOf(const Buffer &buffer) {
  uint64_t base = isBound(buffer) ? kBoundAlignment : artifact::kAlignment;
  uint64_t lowest = buffer.offset & (~buffer.offset + 1);
  return uint32_t(lowest ? std::min(base, lowest) : base);
}

std::vector<uint32_t> frit::cuda::alignmentsOf(const PlanView &plan,
                                               const Step &step) {
  std::vector<uint32_t> alignments;
  for (const Buffer &buffer : plan.arguments(step))
    alignments.push_back(alignmentOf(buffer));
  return alignments;
}

std::unique_ptr<LibraryCall> CudaSteps::prepareCall(const Step &step) {
  if (step.kind == StepKind::gemm && loaded.cublas)
    return loaded.cublas->prepare(plan.gemm(step), alignmentsOf(plan, step));
  if (step.kind == StepKind::conv && cudnn)
    return cudnn->prepare(plan.conv(step), loaded.zeros.address(),
                          alignmentsOf(plan, step));
  if (step.kind == StepKind::attention && cudnn)
    return cudnn->prepare(plan.attention(step), alignmentsOf(plan, step));
  return nullptr;
}

Status CudaSteps::openLibraries(Stream stream, bool tryOut) {
  std::lock_guard lock(captureMutex());
  if (loaded.cudnn && std::ranges::any_of(steps, isForCudnn)) {
    cudnn = CudnnHandle::open(*loaded.cudnn, *loaded.cudnnHandles, driver);
    if (!cudnn)
      loaded.model.remark("cuDNN does not start; convolutions and attention "
                          "run on frit's own kernels");
  }
  auto isCall = [](const Step &step) {
    return artifact::runnerOf(step.kind) == StepRunner::Call;
  };
  auto isWrittenState = [](const Buffer &buffer) {
    return buffer.space == Space::state && buffer.written;
  };
  // Replaces state that trial calls write.
  DeviceMemory elsewhere(loaded.gpu);
  if (tryOut) {
    uint64_t most = 0;
    for (const Step &step : steps)
      for (const Buffer &buffer : plan.arguments(step))
        if (isCall(step) && isWrittenState(buffer))
          most = std::max(most, buffer.bytes);
    FRIT_TRY(elsewhere.allocate(most, "trying the libraries"));
  }
  unsigned declined = 0;
  for (size_t index = 0; index < steps.size(); ++index) {
    const Step &step = steps[index];
    if (!isCall(step))
      continue;
    calls[index] = prepareCall(step);
    std::span<const DevicePointer> own = argumentsOf(index);
    std::vector<DevicePointer> pointers(own.begin(), own.end());
    for (size_t i = 0; i < pointers.size(); ++i)
      if (isWrittenState(plan.arguments(step)[i]))
        pointers[i] = elsewhere.address();
    while (calls[index] && tryOut && !calls[index]->enqueue(pointers, stream))
      if (!calls[index]->nextAlgorithm())
        calls[index].reset();
    if (!calls[index] && step.kernel == artifact::kNone)
      return noKernel(plan, step, loaded.model.has(FRIT_DETERMINISTIC));
    declined += !calls[index];
  }
  if (declined)
    loaded.model.remark(
        format("%u library calls run on frit's own kernels", declined));
  return driver.check(driver.streamSynchronize(stream), "try the libraries");
}

Status CudaSteps::join(std::shared_ptr<Communicator> joined, Stream stream) {
  group = std::move(joined);
  for (size_t index = 0; index < steps.size(); ++index)
    if (steps[index].kind == StepKind::collective)
      FRIT_TRY(enqueue(index, stream));
  return driver.check(driver.streamSynchronize(stream), "try NCCL");
}

//===----------------------------------------------------------------------===//
// Running step by step
//===----------------------------------------------------------------------===//

void CudaSteps::collectParams(size_t index, std::vector<void *> &params) {
  params.clear();
  const Step &step = steps[index];
  for (size_t i = 0; i < plan.kernelArguments(step).size(); ++i)
    params.push_back(&arguments[firstArgument[index] + i]);
  for (size_t i = 0; i < plan.kernels()[step.kernel].tensorMaps.count; ++i)
    params.push_back(&maps[firstMap[index] + i]);
  // The driver reads as many bytes as the parameter has, the low ones in little
  // endian.
  for (const int64_t &scalar : plan.scalars(plan.kernels()[step.kernel]))
    params.push_back(step.shardRows ? &shardCounts[index]
                                    : const_cast<int64_t *>(&scalar));
}

Status CudaSteps::launch(size_t index, Stream stream) {
  const Step &step = steps[index];
  if (step.kernel == artifact::kNone)
    return noKernel(plan, step);
  std::vector<void *> params;
  collectParams(index, params);
  return driver.check(
      driver.launchKernel(
          loaded.kernel(step.kernel), step.grid[0], step.grid[1], step.grid[2],
          step.block[0], step.block[1], step.block[2], loaded.sharedBytes(step),
          stream, params.data(), nullptr),
      "launch a kernel");
}

/// Enqueues a collective with the other ranks.
Status CudaSteps::exchange(const Step &step, DevicePointer data,
                           Stream stream) const {
  const Buffer &buffer = plan.arguments(step)[0];
  auto type = artifact::DType(buffer.type);
  uint64_t rowBytes = artifact::kShardRow * elementBytes(type);
  auto collective = Collective(step.problem);
  FRIT_TRY(group->enqueue(collective, data, buffer.bytes / elementBytes(type),
                          type, stream));
  const artifact::CollectiveTraits traits = traitsOf(collective);
  if (!traits.divides || traits.gathers)
    return Status();
  artifact::Shard own = group->shardOf(buffer.bytes / rowBytes);
  uint64_t begin = own.begin * rowBytes, end = own.end * rowBytes;
  Result result = kSuccess;
  if (begin)
    result = driver.memsetD8Async(data, 0, begin, stream);
  if (result == kSuccess && end < buffer.bytes)
    result = driver.memsetD8Async(data + end, 0, buffer.bytes - end, stream);
  return driver.check(result, "clear memory");
}

Status CudaSteps::enqueue(size_t index, Stream stream) {
  switch (artifact::runnerOf(steps[index].kind)) {
#define RUNNER(Name)                                                           \
  case StepRunner::Name:                                                       \
    return stepFailed(plan, steps[index], enqueue##Name(index, stream));
    FRIT_STEP_RUNNERS(RUNNER)
#undef RUNNER
  }
  return Status();
}

Status CudaSteps::enqueueKernel(size_t index, Stream stream) {
  return launch(index, stream);
}

Status CudaSteps::enqueueCall(size_t index, Stream stream) {
  while (calls[index]) {
    if (calls[index]->enqueue(argumentsOf(index), stream))
      return Status();
    if (!calls[index]->nextAlgorithm())
      calls[index].reset();
  }
  return launch(index, stream);
}

Status CudaSteps::enqueueCopy(size_t index, Stream stream) {
  std::span<const DevicePointer> pointers = argumentsOf(index);
  uint64_t bytes = plan.arguments(steps[index])[0].bytes;
  Result result =
      bytes ? driver.memcpyDtoDAsync(pointers[1], pointers[0], bytes, stream)
            : kSuccess;
  return driver.check(result, "copy");
}

Status CudaSteps::enqueueExchange(size_t index, Stream stream) {
  return group ? exchange(steps[index], argumentsOf(index)[0], stream)
               : Status();
}

Status CudaSteps::enqueueGuard(size_t, Stream) { return Status(); }

Status CudaSteps::enqueueAwait(size_t, Stream) { return Status(); }

std::string CudaSteps::pick(size_t index) const {
  switch (artifact::runnerOf(steps[index].kind)) {
#define RUNNER(Name)                                                           \
  case StepRunner::Name:                                                       \
    return pick##Name(index);
    FRIT_STEP_RUNNERS(RUNNER)
#undef RUNNER
  }
  return "none";
}

std::string CudaSteps::pickKernel(size_t index) const {
  return std::string(plan.kernelName(steps[index]));
}

std::string CudaSteps::pickCall(size_t index) const {
  return calls[index] ? calls[index]->name() : pickKernel(index);
}

std::string CudaSteps::pickCopy(size_t) const { return "memcpy"; }

std::string CudaSteps::pickGuard(size_t index) const {
  return plan.textOf(plan.guard(steps[index]), conditional
                                                   ? ", by a conditional node"
                                               : mustSkip ? ", by the host"
                                                          : ", but always run");
}

std::string CudaSteps::pickExchange(size_t) const {
  return group ? "NCCL" : "one rank";
}

std::string CudaSteps::pickAwait(size_t) const { return "join"; }

bool CudaSteps::hasGuards() const {
  for (const Step &step : steps)
    if (step.kind == StepKind::guard)
      return true;
  return false;
}

bool CudaSteps::writeState() const {
  return std::ranges::any_of(
      steps, [&](const Step &step) { return plan.writesState(step); });
}

Status CudaSteps::next(size_t &index, Stream stream) {
  const Step &step = steps[index];
  ++index;
  if (step.kind != StepKind::guard)
    return Status();
  const Guard &guard = plan.guard(step);
  uint8_t condition = 0;
  Result result = driver.memcpyDtoHAsync(&condition, argumentsOf(index - 1)[0],
                                         sizeof condition, stream);
  if (result == kSuccess)
    result = driver.streamSynchronize(stream);
  if ((condition != 0) != (guard.when != 0))
    index += guard.steps;
  return stepFailed(plan, step, driver.check(result, "read a condition"));
}
