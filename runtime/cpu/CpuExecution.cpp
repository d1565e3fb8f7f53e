//===- CpuExecution.cpp - Run a plan on the host --------------------------===//

#include "runtime/cpu/CpuExecution.h"

#include <algorithm>
#include <chrono>
#include <cstring>

using namespace frit;
using namespace frit::cpu;

Status CpuExecution::open(const CpuExecution *peer) {
  const Model &model = loaded.model;
  if (peer) {
    state = peer->state;
    const ThreadPool &pool = peer->workspace->pool;
    if (model.plan.arenaBytes(*model.target) <= peer->workspace->arenaBytes &&
        pool.holds(loaded.callScratch(pool.isa(), pool.size())))
      workspace = peer->workspace;
  }
  if (!state)
    FRIT_TRY(makeState());
  if (!workspace)
    FRIT_TRY(makeWorkspace());
  counts.resize(model.plan.function().counts);
  for (size_t i = 0; i < model.plan.inputs(0).size(); ++i)
    ownInputs.emplace_back(model.memory);
  for (size_t i = 0; i < model.plan.outputs(0).size(); ++i)
    ownOutputs.emplace_back(model.memory);
  // Sizes and counts, which no caller gives.
  for (size_t i = loaded.modelInputs(); i < ownInputs.size(); ++i)
    FRIT_TRY(makeInput(i));
  for (size_t i = loaded.modelOutputs(); i < ownOutputs.size(); ++i)
    FRIT_TRY(makeOutput(i));
  inputPointers.resize(ownInputs.size());
  outputPointers.resize(ownOutputs.size());
  steps.resize(model.plan.variants().size());
  derived.resize(steps.size());
  return open(steps.size() - 1);
}

Status CpuExecution::makeState() {
  const Model &model = loaded.model;
  auto made = std::make_shared<HostState>(model.memory, model.plan);
  FRIT_TRY(made->memory.allocateZeros(model.plan.header().stateBytes,
                                      "the model's state"));
  for (const artifact::State &tensor : model.plan.states())
    if (tensor.constant != artifact::kNone && tensor.bytes)
      memcpy(made->memory.data() + tensor.offset,
             model.weights->data(tensor.constant), tensor.bytes);
  state = std::move(made);
  return Status();
}

Status CpuExecution::makeWorkspace() {
  const Model &model = loaded.model;
  auto made = std::make_shared<Workspace>(threadCount(model), model.memory);
  ThreadPool &pool = made->pool;
  made->arenaBytes = model.plan.arenaBytes(*model.target);
  FRIT_TRY(allocateArena(made->arenaBytes,
                         loaded.callScratch(pool.isa(), pool.size()),
                         "the model's arena", made->arena, pool));
  workspace = std::move(made);
  return Status();
}

Status CpuExecution::open(size_t variant) {
  const Model &model = loaded.model;
  if (version != loaded.target->version) {
    for (std::unique_ptr<CpuSteps> &list : steps)
      list.reset();
    version = loaded.target->version;
  }
  if (!steps[variant]) {
    steps[variant] = std::make_unique<CpuSteps>(
        model, model.steps(variant),
        Spaces{loaded.target->constants, workspace->arena.data(),
               loaded.target->prepared.data(), state->memory.data(),
               &loaded.target->packed});
    steps[variant]->join(group);
    derived[variant] = useOf(model.plan, model.steps(variant));
  }
  return Status();
}

Status CpuExecution::join(const frit_group &joined) {
  FRIT_TRY(HostGroup::open(joined, group));
  state->group = group;
  for (const std::unique_ptr<CpuSteps> &list : steps)
    if (list)
      list->join(group);
  return Status();
}

/// Gathers in place the divided parts that contain the tensors.
Status CpuExecution::gatherState(std::span<const StateBinding> tensors) {
  HostGroup *group = state->group.get();
  if (!group)
    return Status();
  const PlanView &plan = loaded.model.plan;
  for (const artifact::ShardedState &shard : plan.shards()) {
    if (std::ranges::none_of(tensors, [&](const StateBinding &binding) {
          return plan.shardAt(plan.states()[binding.index].offset) == &shard;
        }))
      continue;
    artifact::Shard own = group->shardOf(shard.rows);
    FRIT_TRY(group->gather(
        reinterpret_cast<float *>(state->memory.data() + shard.offset),
        shard.rows * artifact::kShardRow,
        {own.begin * artifact::kShardRow, own.end * artifact::kShardRow}));
  }
  return Status();
}

Status CpuExecution::readState(std::span<const StateBinding> tensors) {
  FRIT_TRY(gatherState(tensors));
  for (const StateBinding &binding : tensors) {
    const artifact::State &tensor = loaded.model.plan.states()[binding.index];
    if (binding.data && tensor.bytes)
      memcpy(binding.data, state->memory.data() + tensor.offset, tensor.bytes);
  }
  return Status();
}

Status CpuExecution::writeState(std::span<const StateBinding> tensors) {
  for (const StateBinding &binding : tensors) {
    const artifact::State &tensor = loaded.model.plan.states()[binding.index];
    if (!tensor.bytes)
      continue;
    memcpy(state->memory.data() + tensor.offset, binding.data, tensor.bytes);
    state->derived.noteWrite(tensor);
  }
  return Status();
}

/// Computes the derived states that a call reads and that are stale. Notes
/// which it leaves stale.
Status CpuExecution::derive(size_t variant) {
  const Model &model = loaded.model;
  if (state->derived.hasStale(derived[variant])) {
    std::span<const artifact::Step> list =
        model.plan.steps(model.target->derive);
    CpuSteps deriving(model, list,
                      {loaded.target->constants, workspace->arena.data(),
                       loaded.target->prepared.data(), state->memory.data()});
    for (size_t index = 0; index < deriving.size(); ++index)
      FRIT_TRY(deriving.run(index, workspace->pool));
    state->derived.noteDerived(list);
  }
  state->derived.noteCall(derived[variant]);
  return Status();
}

/// Allocates the context's own memory for input or output `index` on its first
/// use, with room for every variant.
Status CpuExecution::makeInput(uint32_t index) {
  HostMemory &own = ownInputs[index];
  return own.data() ? Status()
                    : own.allocate(loaded.model.inputBytes(index),
                                   "a copy of an input");
}

Status CpuExecution::makeOutput(uint32_t index) {
  HostMemory &own = ownOutputs[index];
  return own.data() ? Status()
                    : own.allocate(loaded.model.outputBytes(index),
                                   "a copy of an output");
}

void *CpuExecution::inputBuffer(uint32_t index) {
  return makeInput(index).failed() ? nullptr : ownInputs[index].data();
}

void *CpuExecution::outputBuffer(uint32_t index) {
  return makeOutput(index).failed() ? nullptr : ownOutputs[index].data();
}

static bool isAligned(const void *data) {
  return reinterpret_cast<uintptr_t>(data) % kVectorBytes == 0;
}

static bool overlap(const void *a, uint64_t aBytes, const void *b,
                    uint64_t bBytes) {
  auto first = reinterpret_cast<uintptr_t>(a);
  auto second = reinterpret_cast<uintptr_t>(b);
  return first < second + bBytes && second < first + aBytes;
}

static uint64_t usedBytes(const StridedRegion &region) {
  return region.runs() * region.runBytes();
}

/// Makes a call ready to run. Uses the caller's memory in place if it is
/// aligned and has the size of the variant's tensor. Copies an input that an
/// output would overwrite.
Status CpuExecution::bind(size_t variant, std::span<const Binding> inputs,
                          std::span<const Binding> outputs) {
  FRIT_TRY(open(variant));
  const PlanView &plan = loaded.model.plan;
  std::span<const artifact::Tensor> inputTensors = plan.inputs(variant);
  std::span<const artifact::Tensor> outputTensors = plan.outputs(variant);
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    StridedRegion region = regionOf(plan, inputs[i], inputTensors[i]);
    bool inPlace = isAligned(inputs[i].data) && region.isWhole();
    for (uint32_t o = 0; o < outputs.size(); ++o)
      if (outputs[o].data &&
          overlap(inputs[i].data, usedBytes(region), outputs[o].data,
                  usedBytes(regionOf(plan, outputs[o], outputTensors[o]))))
        inPlace = false;
    inputPointers[i] = inputs[i].data;
    if (inPlace || !inputTensors[i].bytes)
      continue;
    FRIT_TRY(makeInput(i));
    inputPointers[i] = ownInputs[i].data();
    copyInto(region, inputs[i].data, inputPointers[i], inputTensors[i].bytes);
  }
  for (uint32_t o = 0; o < outputs.size(); ++o) {
    outputPointers[o] = outputs[o].data;
    bool inPlace = outputs[o].data && isAligned(outputs[o].data) &&
                   regionOf(plan, outputs[o], outputTensors[o]).isWhole();
    if (inPlace || !outputTensors[o].bytes)
      continue;
    FRIT_TRY(makeOutput(o));
    outputPointers[o] = ownOutputs[o].data();
  }
  steps[variant]->bindInputs(inputPointers);
  steps[variant]->bindOutputs(outputPointers);
  return derive(variant);
}

Status CpuExecution::copyOut(size_t variant, std::span<const Binding> outputs) {
  const PlanView &plan = loaded.model.plan;
  for (size_t i = 0; i < counts.size(); ++i)
    memcpy(&counts[i], outputPointers[outputs.size() - counts.size() + i],
           sizeof(int64_t));
  FRIT_TRY(applyCounts(plan, variant, counts, outputs));
  for (uint32_t o = 0; o < outputs.size(); ++o) {
    if (!outputs[o].data)
      continue;
    StridedRegion region = regionOf(plan, outputs[o], plan.outputs(variant)[o]);
    if (outputs[o].data != outputPointers[o] || !region.isWhole())
      copyOutOf(region, outputPointers[o], outputs[o].data);
  }
  return Status();
}

Status CpuExecution::run(size_t variant, std::span<const Binding> inputs,
                         std::span<const Binding> outputs, bool) {
  FRIT_TRY(bind(variant, inputs, outputs));
  CpuSteps &list = *steps[variant];
  for (size_t index = 0; index < list.size(); index = list.next(index))
    FRIT_TRY(list.run(index, workspace->pool));
  return copyOut(variant, outputs);
}

Status CpuExecution::profile(size_t variant, std::span<const Binding> inputs,
                             std::span<const Binding> outputs,
                             std::vector<StepTime> &times) {
  using Clock = std::chrono::steady_clock;
  auto since = [](Clock::time_point start) {
    return std::chrono::duration<double, std::micro>(Clock::now() - start)
        .count();
  };
  FRIT_TRY(bind(variant, inputs, outputs));
  CpuSteps &list = *steps[variant];
  Clock::time_point begin = Clock::now();
  for (size_t index = 0; index < list.size(); index = list.next(index)) {
    double start = since(begin);
    times.resize(index, {start, 0, false});
    FRIT_TRY(list.run(index, workspace->pool));
    times.push_back({start, since(begin) - start});
  }
  times.resize(list.size(), {since(begin), 0, false});
  return copyOut(variant, outputs);
}

Status CpuExecution::trace(size_t variant, std::span<const Binding> inputs,
                           std::span<const Binding> outputs, bool operands,
                           const Visit &visit) {
  FRIT_TRY(bind(variant, inputs, outputs));
  CpuSteps &list = *steps[variant];
  const Model &model = loaded.model;
  for (size_t index = 0; index < list.size(); index = list.next(index)) {
    auto buffers = model.plan.arguments(model.steps(variant)[index]);
    std::vector<const void *> arguments(buffers.size());
    // A result may overwrite an operand.
    std::vector<HostMemory> copies;
    for (size_t i = 0; i < buffers.size(); ++i) {
      const void *bytes = list.argument(index, i);
      if (buffers[i].written) {
        arguments[i] = bytes;
      } else if (operands && buffers[i].bytes) {
        HostMemory &copy = copies.emplace_back(model.memory);
        FRIT_TRY(copy.allocate(buffers[i].bytes, "a copy of a step's operand"));
        memcpy(copy.data(), bytes, buffers[i].bytes);
        arguments[i] = copy.data();
      }
    }
    FRIT_TRY(list.run(index, workspace->pool));
    visit(index, arguments);
  }
  return copyOut(variant, outputs);
}
