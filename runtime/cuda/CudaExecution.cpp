//===- CudaExecution.cpp - Run a plan on a GPU ----------------------------===//

#include "runtime/cuda/CudaExecution.h"
#include "runtime/cuda/CudaFeed.h"

#include <algorithm>

using namespace frit;
using namespace frit::cuda;

/// Number of cached graphs, one per set of device pointers.
static constexpr size_t kCachedGraphs = 8;
/// Number of remembered sets of device pointers that have no graph.
static constexpr size_t kRecentAddresses = 16;

CudaExecution::~CudaExecution() {
  ContextScope scope(gpu);
  if (sharedQueue && sharedQueue->own)
    driver.streamSynchronize(queue());
  programs.clear();
  group.reset();
  state.reset();
  if (staging)
    driver.memFreeHost(staging);
}

Status CudaExecution::open(const CudaExecution *peer) {
  ContextScope scope(gpu);
  FRIT_TRY(gpu.checkContext());
  phases.begin("allocate memory");
  if (peer) {
    sharedQueue = peer->sharedQueue;
  } else {
    sharedQueue = std::make_shared<SharedStream>(loaded.sharedGpu);
    FRIT_TRY(sharedQueue->open());
  }
  FRIT_TRY(place(peer));
  // Libraries make a trial call in this memory before the first call, so it
  // must not hold signalling NaNs.
  if (memory->memory.bytes())
    FRIT_TRY(driver.check(driver.memsetD8Async(memory->memory.address(), 0,
                                               memory->memory.bytes(), queue()),
                          "clear memory"));
  if (peer)
    state = peer->state;
  else
    FRIT_TRY(makeState());
  programs.resize(model.plan.variants().size());
  version = loaded.version;
  stateVersion = state->version;
  // The number of ranks that divide the state is known only at the first call.
  if (!model.plan.usesShards(model.steps(programs.size() - 1)))
    FRIT_TRY(open(programs.size() - 1));
  phases.end();
  return Status();
}

/// Prepares a variant on its first use.
Status CudaExecution::open(size_t variant) {
  FRIT_TRY(gpu.checkContext());
  if (version != loaded.version || stateVersion != state->version) {
    FRIT_TRY(synchronize());
    programs = std::vector<Program>(programs.size());
    version = loaded.version;
    stateVersion = state->version;
  }
  Program &program = programs[variant];
  if (program.steps)
    return Status();
  program.variant = variant;
  program.derived = useOf(model.plan, model.steps(variant));
  program.useGraph = !model.has(FRIT_NO_CUDA_GRAPH);
  program.inputs = ownInputs;
  program.outputs = ownOutputs;
  if (model.plan.usesShards(model.steps(variant)))
    FRIT_TRY(makeShards());
  auto steps = std::make_unique<CudaSteps>(
      loaded, model.steps(variant), arena->memory.address(), state.get());
  FRIT_TRY(steps->bind(program.inputs, program.outputs));
  program.bound = true;
  phases.begin("try the libraries");
  FRIT_TRY(steps->openLibraries(queue(), /*tryOut=*/true));
  if (group)
    FRIT_TRY(steps->join(group, queue()));
  program.steps = std::move(steps);
  phases.begin("make the graph");
  if (program.useGraph)
    program.current = findGraph(program);
  phases.end();
  return Status();
}

ContextLayout::ContextLayout(const Model &model) {
  auto place = [](std::vector<uint64_t> &offsets, uint64_t &end,
                  uint64_t bytes) {
    offsets.push_back(end);
    end += alignedBytes(bytes);
  };
  arenaBytes = alignedBytes(model.plan.arenaBytes(*model.target));
  for (uint32_t i = 0; i < model.plan.inputs(0).size(); ++i)
    place(inputs, inputBytes, model.inputBytes(i));
  for (uint32_t i = 0; i < model.plan.outputs(0).size(); ++i)
    place(outputs, outputBytes, model.outputBytes(i));
}

Status CudaExecution::place(const CudaExecution *peer) {
  ContextLayout layout(model);
  bool sharesArena = peer && layout.arenaBytes <= peer->arenaBytes;
  bool sharesInputs = peer && layout.inputBytes <= peer->inputBytes;
  memory = std::make_shared<SharedMemory>(loaded.sharedGpu);
  uint64_t arenaHere = sharesArena ? 0 : layout.arenaBytes;
  uint64_t inputsHere = sharesInputs ? 0 : layout.inputBytes;
  FRIT_TRY(memory->memory.allocate(arenaHere + inputsHere + layout.outputBytes,
                                   "the model's arena, inputs and outputs"));
  DevicePointer begin = memory->memory.address();
  arena = sharesArena ? peer->arena : memory;
  arenaBytes = sharesArena ? peer->arenaBytes : layout.arenaBytes;
  inputMemory = sharesInputs ? peer->inputMemory : memory;
  inputBytes = sharesInputs ? peer->inputBytes : layout.inputBytes;
  firstInput = sharesInputs ? peer->firstInput : begin + arenaHere;
  for (uint64_t offset : layout.inputs)
    ownInputs.push_back(firstInput + offset);
  for (uint64_t offset : layout.outputs)
    ownOutputs.push_back(begin + arenaHere + inputsHere + offset);
  return Status();
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

/// Uses device tensors in place, unless the variant's tensor is larger, a
/// data-dependent length may leave the used part in several pieces, or the
/// addresses are not worth a graph.
Status CudaExecution::bind(Program &program, std::span<const Binding> inputs,
                           std::span<const Binding> outputs) {
  const PlanView &plan = model.plan;
  auto place = [&](std::span<const Binding> bindings,
                   std::span<const artifact::Tensor> tensors,
                   const std::vector<DevicePointer> &own,
                   std::vector<DevicePointer> &addresses) {
    addresses.resize(bindings.size());
    for (size_t i = 0; i < bindings.size(); ++i) {
      const Binding &binding = bindings[i];
      bool given = binding.data && binding.location == FRIT_DEVICE &&
                   regionOf(plan, binding, tensors[i]).isWhole() &&
                   !isCutInside(plan, tensors[i]);
      addresses[i] = given ? addressOf(binding.data) : own[i];
    }
  };
  place(inputs, plan.inputs(program.variant), ownInputs, wantedInputs);
  place(outputs, plan.outputs(program.variant), ownOutputs, wantedOutputs);
  auto isBound = [&] {
    return program.bound && wantedInputs == program.inputs &&
           wantedOutputs == program.outputs;
  };
  if (isBound())
    return Status();
  if (!isWorthGraph(program)) {
    wantedInputs = ownInputs;
    wantedOutputs = ownOutputs;
    if (isBound())
      return Status();
  }
  program.inputs = wantedInputs;
  program.outputs = wantedOutputs;
  program.bound = false;
  program.current = nullptr;
  FRIT_TRY(program.steps->bind(program.inputs, program.outputs));
  program.bound = true;
  return Status();
}

/// Returns whether a call should use the wanted addresses in place. A new graph
/// takes milliseconds, so it pays only if a recent call wanted the same
/// addresses: allocators that reuse memory return to the same few.
bool CudaExecution::isWorthGraph(Program &program) {
  std::vector<DevicePointer> addresses = wantedInputs;
  addresses.insert(addresses.end(), wantedOutputs.begin(), wantedOutputs.end());
  auto isCached = [&](const CachedGraph &cached) {
    return cached.addresses == addresses;
  };
  if (!program.useGraph || program.graphs.empty() ||
      program.steps->canUpdate(*program.graphs.back().graph) ||
      std::ranges::any_of(program.graphs, isCached))
    return true;
  std::vector<std::vector<DevicePointer>> &recent = program.recent;
  if (auto seen = std::ranges::find(recent, addresses); seen != recent.end()) {
    recent.erase(seen);
    return true;
  }
  if (recent.size() == kRecentAddresses)
    recent.erase(recent.begin());
  recent.push_back(std::move(addresses));
  return false;
}

/// Returns the graph for the bound addresses; creates it if there is none.
/// Null, after a remark, if the steps cannot be captured.
GraphExec CudaExecution::findGraph(Program &program) {
  std::vector<CachedGraph> &graphs = program.graphs;
  std::vector<DevicePointer> addresses = program.inputs;
  addresses.insert(addresses.end(), program.outputs.begin(),
                   program.outputs.end());
  for (CachedGraph &cached : graphs)
    if (cached.addresses == addresses) {
      cached.lastUse = calls;
      return cached.graph->exec;
    }
  // If only frit's own kernels use the bound tensors, update one graph in
  // place.
  if (!graphs.empty() && program.steps->update(*graphs.back().graph)) {
    graphs.back().addresses = std::move(addresses);
    return graphs.back().graph->exec;
  }
  std::unique_ptr<StepGraph> graph;
  Status status = program.steps->makeGraph(sharedQueue->own, {}, graph);
  if (status.failed()) {
    program.useGraph = false;
    model.remark("running without a CUDA graph: " + status.message());
    return nullptr;
  }
  if (graphs.size() == kCachedGraphs) {
    auto oldest = std::ranges::min_element(graphs, {}, &CachedGraph::lastUse);
    // The graph to evict may still be running.
    driver.streamSynchronize(queue());
    graphs.erase(oldest);
  }
  graphs.push_back({std::move(addresses), std::move(graph), calls});
  return graphs.back().graph->exec;
}

Status CudaExecution::launchSteps(Program &program) {
  bool check = model.has(FRIT_NO_CUDA_GRAPH);
  for (size_t index = 0; index < program.steps->size();) {
    FRIT_TRY(program.steps->enqueue(index, queue()));
    // Wait for each step, so that a failure names it.
    if (check)
      FRIT_TRY(stepFailed(
          model.plan, model.steps(program.variant)[index],
          driver.check(driver.streamSynchronize(queue()), "run a step")));
    FRIT_TRY(program.steps->next(index, queue()));
  }
  return Status();
}

Status CudaExecution::launch(Program &program) {
  ++calls;
  if (program.useGraph && !program.current)
    program.current = findGraph(program);
  if (!program.current)
    return launchSteps(program);
  return driver.check(driver.graphLaunch(program.current, queue()),
                      "launch the graph");
}

/// Prepares a variant's steps for a call's tensors and copies its inputs.
Status CudaExecution::begin(size_t variant, std::span<const Binding> inputs,
                            std::span<const Binding> outputs) {
  FRIT_TRY(open(variant));
  Program &program = programs[variant];
  FRIT_TRY(bind(program, inputs, outputs));
  FRIT_TRY(copyIn(program, inputs));
  return derive(program);
}

Status CudaExecution::run(size_t variant, std::span<const Binding> inputs,
                          std::span<const Binding> outputs, bool wait) {
  ContextScope scope(gpu);
  FRIT_TRY(begin(variant, inputs, outputs));
  Program &program = programs[variant];
  FRIT_TRY(launch(program));
  FRIT_TRY(readCounts(program, outputs));
  FRIT_TRY(copyOut(program, outputs));
  return wait ? finishCopies(program, outputs) : Status();
}

Status CudaExecution::setStream(void *stream) {
  ContextScope scope(gpu);
  FRIT_TRY(gpu.checkContext());
  return sharedQueue->use(static_cast<Stream>(stream));
}

Status CudaExecution::synchronize() {
  ContextScope scope(gpu);
  FRIT_TRY(gpu.checkContext());
  Status status =
      driver.check(driver.streamSynchronize(queue()), "run the model");
  if (status.failed() && !model.has(FRIT_NO_CUDA_GRAPH))
    return Status(status.status(),
                  status.message() +
                      " (without a CUDA graph, the node would be named here)");
  return status;
}

Status CudaExecution::join(const frit_group &joined) {
  ContextScope scope(gpu);
  FRIT_TRY(gpu.checkContext());
  auto nccl = std::make_shared<Nccl>();
  FRIT_TRY(nccl->load());
  FRIT_TRY(driver.check(driver.streamSynchronize(queue()), "run the model"));
  FRIT_TRY(Communicator::open(std::move(nccl), joined, group));
  FRIT_TRY(divideState());
  for (Program &program : programs) {
    // If the state has moved, the next call opens the steps again.
    if (!program.steps || stateVersion != state->version)
      continue;
    program.graphs.clear();
    program.current = nullptr;
    FRIT_TRY(program.steps->join(group, queue()));
    if (program.useGraph)
      program.current = findGraph(program);
  }
  return Status();
}

Status CudaExecution::createFeed(std::unique_ptr<InputFeed> &feed) {
  std::vector<uint64_t> sizes;
  for (uint32_t i = 0; i < ownInputs.size(); ++i)
    sizes.push_back(model.inputBytes(i));
  auto made =
      std::make_unique<CudaFeed>(loaded.sharedGpu, sharedQueue, ownInputs);
  FRIT_TRY(made->open(sizes));
  feed = std::move(made);
  return Status();
}
