//===- CpuExecutor.cpp - Run a plan on the host ---------------------------===//

#include "runtime/cpu/CpuSteps.h"
#include "runtime/cpu/HostMemory.h"
#include "runtime/exec/Targets.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>
#include <unistd.h>

using namespace frit;
using namespace frit::cpu;

/// Generated code may use aligned vector accesses up to this many bytes.
static constexpr uintptr_t kVectorBytes = 64;

namespace {
class CpuExecutor final : public Executor {
public:
  explicit CpuExecutor(Model &model)
      : model(model), prepared(model.memory), copies(model.memory) {}

  Status load();
  Status createExecution(Execution *peer,
                         std::unique_ptr<Execution> &execution) override;
  Status setWeights(std::span<const uint32_t> changed) override;
  Status makeGroupId(frit_group_id &id) const override {
    return makeHostGroupId(id);
  }
  Status allocate(uint64_t bytes, std::shared_ptr<void> &owner,
                  void *&data) const override;
  void describe(frit_device_info &info) const override;

  unsigned threadCount() const {
    unsigned cores = std::max(1u, std::thread::hardware_concurrency());
    return model.threads ? model.threads : cores;
  }

  /// Returns the scratch memory that suffices for every variant's calls.
  ScratchSize callScratch(Isa isa, unsigned threads) const;

  Model &model;
  std::vector<void *> constants; ///< null if no call needs it
  HostMemory prepared;
  /// Number of times that `constants` changed.
  uint64_t version = 0;

private:
  Status readConstants();
  Status copyMisaligned();
  Status prepare();

  HostMemory copies;
  std::string processor;
};

/// The threads of a context, and the scratch memory of the steps and threads.
struct Workspace {
  Workspace(unsigned threads, std::shared_ptr<MemorySource> memory)
      : arena(std::move(memory)), pool(threads) {}

  HostMemory arena; ///< shared by the variants, of which one runs at a time
  uint64_t arenaBytes = 0;
  ThreadPool pool;
};

/// The state of a context and its peers.
struct HostState {
  explicit HostState(std::shared_ptr<MemorySource> source)
      : memory(std::move(source)) {}

  HostMemory memory;
  /// The group that divides parts of it; null: none. Each rank has memory for
  /// all of it, and updates its shards.
  std::shared_ptr<HostGroup> group;
};

class CpuExecution final : public Execution {
public:
  explicit CpuExecution(CpuExecutor &executor) : executor(executor) {}

  /// Prepares the last variant.
  Status open(const CpuExecution *peer);
  /// Prepares a variant on its first use.
  Status open(size_t variant);
  Status run(size_t variant, std::span<const Binding> inputs,
             std::span<const Binding> outputs, bool wait) override;
  Status profile(size_t variant, std::span<const Binding> inputs,
                 std::span<const Binding> outputs,
                 std::vector<StepTime> &times) override;
  Status trace(size_t variant, std::span<const Binding> inputs,
               std::span<const Binding> outputs, const Visit &visit) override;
  Status synchronize() override { return Status(); }
  Status join(const frit_group &joined) override;
  Status readState(std::span<const StateBinding> tensors) override;
  Status writeState(std::span<const StateBinding> tensors) override;
  void *inputBuffer(uint32_t index) override;
  void *outputBuffer(uint32_t index) override;
  std::string pick(size_t variant, uint32_t step) const override {
    return steps[variant] ? steps[variant]->pick(step) : "none";
  }

private:
  Status bind(size_t variant, std::span<const Binding> inputs,
              std::span<const Binding> outputs);
  Status copyOut(size_t variant, std::span<const Binding> outputs);
  Status gatherState(std::span<const StateBinding> tensors);
  Status makeState();
  Status makeWorkspace();

  CpuExecutor &executor;
  std::shared_ptr<HostState> state;     ///< shared with peers
  std::shared_ptr<Workspace> workspace; ///< may be shared with peers
  std::vector<HostMemory> ownInputs, ownOutputs;
  std::vector<void *> inputPointers, outputPointers;
  std::vector<int64_t> counts;                  ///< of the last call
  std::vector<std::unique_ptr<CpuSteps>> steps; ///< by variant; null: not open
  uint64_t version = 0; ///< of the executor's constants that `steps` read
  std::shared_ptr<HostGroup> group; ///< null: one rank
};
} // namespace

//===----------------------------------------------------------------------===//
// CpuExecutor
//===----------------------------------------------------------------------===//

static uint64_t alignedBytes(uint64_t bytes) {
  return (bytes + artifact::kAlignment - 1) / artifact::kAlignment *
         artifact::kAlignment;
}

/// Saturating addition.
static uint64_t sum(uint64_t a, uint64_t b) {
  return a > ~b ? ~uint64_t(0) : a + b;
}

Status CpuExecutor::load() {
  processor = processorName();
  return readConstants();
}

Status CpuExecutor::readConstants() {
  constants.clear();
  size_t count = model.plan.constants().size();
  for (uint32_t index = 0; index < count; ++index)
    constants.push_back(const_cast<void *>(model.weights->data(index)));
  FRIT_TRY(copyMisaligned());
  return prepare();
}

Status CpuExecutor::setWeights(std::span<const uint32_t>) {
  ++version;
  return readConstants();
}

/// Copies weights that their file aligns to less than vectors need.
Status CpuExecutor::copyMisaligned() {
  std::span<const artifact::Constant> all = model.plan.constants();
  std::vector<bool> isRead(all.size());
  for (std::span<const artifact::Step> list : model.lists())
    for (const artifact::Step &step : list)
      for (const artifact::Buffer &buffer : model.plan.arguments(step))
        if (buffer.space == artifact::Space::constant)
          isRead[buffer.index] = true;
  auto misaligned = [&](size_t index) {
    return isRead[index] && all[index].bytes &&
           reinterpret_cast<uintptr_t>(constants[index]) % kVectorBytes;
  };
  auto rounded = [&](size_t index) {
    return (all[index].bytes + kVectorBytes - 1) / kVectorBytes * kVectorBytes;
  };
  uint64_t total = 0;
  for (size_t index = 0; index < all.size(); ++index)
    if (misaligned(index))
      total += rounded(index);
  FRIT_TRY(copies.allocate(total, "a copy of the weights"));
  uint8_t *next = copies.data();
  for (size_t index = 0; index < all.size(); ++index) {
    if (!misaligned(index))
      continue;
    memcpy(next, constants[index], all[index].bytes);
    constants[index] = next;
    next += rounded(index);
  }
  return Status();
}

/// Allocates an arena of `bytes`, followed by the scratch memory of `pool`'s
/// threads.
static Status allocateArena(uint64_t bytes, const ScratchSize &scratch,
                            const char *purpose, HostMemory &arena,
                            ThreadPool &pool) {
  bytes = alignedBytes(bytes);
  FRIT_TRY(arena.allocate(sum(bytes, scratch.total(pool.size())), purpose));
  pool.setScratch(arena.data() + bytes, scratch);
  return Status();
}

Status CpuExecutor::prepare() {
  const artifact::Target &target = *model.target;
  FRIT_TRY(prepared.allocate(target.preparedBytes, "the prepared weights"));
  std::span<const artifact::Step> list = model.plan.steps(target.prepare);
  if (list.empty())
    return Status();
  ThreadPool pool(threadCount());
  HostMemory arena(model.memory);
  FRIT_TRY(allocateArena(target.prepareArenaBytes,
                         scratchOf(model.plan, list, pool.isa(), pool.size()),
                         "preparing the weights", arena, pool));
  CpuSteps steps(model, list, {constants, arena.data(), prepared.data()});
  for (size_t index = 0; index < steps.size(); ++index)
    FRIT_TRY(steps.run(index, pool));
  return Status();
}

ScratchSize CpuExecutor::callScratch(Isa isa, unsigned threads) const {
  ScratchSize size;
  for (size_t variant = 0; variant < model.plan.variants().size(); ++variant)
    size.include(scratchOf(model.plan, model.steps(variant), isa, threads));
  return size;
}

Status CpuExecutor::createExecution(Execution *peer,
                                    std::unique_ptr<Execution> &execution) {
  auto opened = std::make_unique<CpuExecution>(*this);
  FRIT_TRY(opened->open(static_cast<CpuExecution *>(peer)));
  execution = std::move(opened);
  return Status();
}

Status CpuExecutor::allocate(uint64_t bytes, std::shared_ptr<void> &owner,
                             void *&data) const {
  auto made = std::make_shared<HostMemory>(model.memory);
  FRIT_TRY(made->allocate(bytes, "a tensor"));
  data = made->data();
  owner = std::move(made);
  return Status();
}

void CpuExecutor::describe(frit_device_info &info) const {
  info.name = processor.c_str();
  uint64_t page = uint64_t(sysconf(_SC_PAGESIZE));
  info.memory_bytes = page * uint64_t(sysconf(_SC_PHYS_PAGES));
  info.free_bytes = page * uint64_t(sysconf(_SC_AVPHYS_PAGES));
  info.module_bytes = prepared.bytes() + copies.bytes();
  info.threads = threadCount();
  info.context_bytes =
      sum(sum(alignedBytes(model.plan.arenaBytes(*model.target)),
              callScratch(bestIsa(), info.threads).total(info.threads)),
          model.plan.header().stateBytes);
}

//===----------------------------------------------------------------------===//
// CpuExecution
//===----------------------------------------------------------------------===//

Status CpuExecution::open(const CpuExecution *peer) {
  const Model &model = executor.model;
  if (peer) {
    state = peer->state;
    const ThreadPool &pool = peer->workspace->pool;
    if (model.plan.arenaBytes(*model.target) <= peer->workspace->arenaBytes &&
        pool.holds(executor.callScratch(pool.isa(), pool.size())))
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
  inputPointers.resize(ownInputs.size());
  outputPointers.resize(ownOutputs.size());
  steps.resize(model.plan.variants().size());
  return open(steps.size() - 1);
}

Status CpuExecution::makeState() {
  const Model &model = executor.model;
  auto made = std::make_shared<HostState>(model.memory);
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
  const Model &model = executor.model;
  auto made = std::make_shared<Workspace>(executor.threadCount(), model.memory);
  ThreadPool &pool = made->pool;
  made->arenaBytes = model.plan.arenaBytes(*model.target);
  FRIT_TRY(allocateArena(made->arenaBytes,
                         executor.callScratch(pool.isa(), pool.size()),
                         "the model's arena", made->arena, pool));
  workspace = std::move(made);
  return Status();
}

Status CpuExecution::open(size_t variant) {
  const Model &model = executor.model;
  if (version != executor.version) {
    for (std::unique_ptr<CpuSteps> &list : steps)
      list.reset();
    version = executor.version;
  }
  if (!steps[variant]) {
    steps[variant] = std::make_unique<CpuSteps>(
        model, model.steps(variant),
        Spaces{executor.constants, workspace->arena.data(),
               executor.prepared.data(), state->memory.data()});
    steps[variant]->join(group);
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

/// Gathers the divided parts that the tensors lie in, in place.
Status CpuExecution::gatherState(std::span<const StateBinding> tensors) {
  HostGroup *group = state->group.get();
  if (!group)
    return Status();
  const PlanView &plan = executor.model.plan;
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
    const artifact::State &tensor = executor.model.plan.states()[binding.index];
    if (binding.data && tensor.bytes)
      memcpy(binding.data, state->memory.data() + tensor.offset, tensor.bytes);
  }
  return Status();
}

Status CpuExecution::writeState(std::span<const StateBinding> tensors) {
  for (const StateBinding &binding : tensors) {
    const artifact::State &tensor = executor.model.plan.states()[binding.index];
    if (tensor.bytes)
      memcpy(state->memory.data() + tensor.offset, binding.data, tensor.bytes);
  }
  return Status();
}

void *CpuExecution::inputBuffer(uint32_t index) {
  uint64_t bytes = executor.model.inputBytes(index);
  HostMemory &own = ownInputs[index];
  if (!own.data() && own.allocate(bytes, "an input").failed())
    return nullptr;
  return own.data();
}

void *CpuExecution::outputBuffer(uint32_t index) {
  uint64_t bytes = executor.model.outputBytes(index);
  HostMemory &own = ownOutputs[index];
  if (!own.data() && own.allocate(bytes, "an output").failed())
    return nullptr;
  return own.data();
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

/// Uses the caller's memory in place if it is aligned and has the size of the
/// variant's tensor. Copies an input that an output would overwrite.
Status CpuExecution::bind(size_t variant, std::span<const Binding> inputs,
                          std::span<const Binding> outputs) {
  FRIT_TRY(open(variant));
  const PlanView &plan = executor.model.plan;
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
    inputPointers[i] = inputBuffer(i);
    if (!inputPointers[i])
      return Status(FRIT_OUT_OF_MEMORY, "no memory for a copy of an input");
    copyInto(region, inputs[i].data, inputPointers[i], inputTensors[i].bytes);
  }
  for (uint32_t o = 0; o < outputs.size(); ++o) {
    outputPointers[o] = outputs[o].data;
    bool inPlace = outputs[o].data && isAligned(outputs[o].data) &&
                   regionOf(plan, outputs[o], outputTensors[o]).isWhole();
    if (inPlace || !outputTensors[o].bytes)
      continue;
    outputPointers[o] = outputBuffer(o);
    if (!outputPointers[o])
      return Status(FRIT_OUT_OF_MEMORY, "no memory for an output");
  }
  steps[variant]->bindInputs(inputPointers);
  steps[variant]->bindOutputs(outputPointers);
  return Status();
}

Status CpuExecution::copyOut(size_t variant, std::span<const Binding> outputs) {
  const PlanView &plan = executor.model.plan;
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
                           std::span<const Binding> outputs,
                           const Visit &visit) {
  FRIT_TRY(bind(variant, inputs, outputs));
  CpuSteps &list = *steps[variant];
  const Model &model = executor.model;
  std::vector<const void *> results;
  for (size_t index = 0; index < list.size(); index = list.next(index)) {
    FRIT_TRY(list.run(index, workspace->pool));
    auto buffers = model.plan.arguments(model.steps(variant)[index]);
    results.clear();
    for (size_t i = 0; i < buffers.size(); ++i)
      if (buffers[i].written)
        results.push_back(list.argument(index, i));
    visit(index, results);
  }
  return copyOut(variant, outputs);
}

Status frit::createCpuExecutor(Model &model,
                               std::unique_ptr<Executor> &executor) {
  auto opened = std::make_unique<CpuExecutor>(model);
  FRIT_TRY(opened->load());
  executor = std::move(opened);
  return Status();
}
