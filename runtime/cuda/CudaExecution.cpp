//===- CudaExecution.cpp - Run a plan on a GPU ----------------------------===//

#include "runtime/cuda/CudaExecution.h"

#include <algorithm>

using namespace frit;
using namespace frit::cuda;

/// Graphs kept for different sets of device pointers.
static constexpr size_t kCachedGraphs = 8;

static uint64_t aligned(uint64_t bytes) {
  return (bytes + artifact::kAlignment - 1) / artifact::kAlignment *
         artifact::kAlignment;
}

CudaExecution::~CudaExecution() {
  ContextScope scope(gpu);
  if (queue)
    driver.streamSynchronize(queue);
  graphs.clear();
  steps.reset();
  if (staging)
    driver.memFreeHost(staging);
  if (queue)
    driver.streamDestroy(queue);
  memory.release();
}

Status CudaExecution::open() {
  ContextScope scope(gpu);
  useGraph = !executor.model.has(FRIT_NO_CUDA_GRAPH);
  phases.begin("allocate memory");
  FRIT_TRY(driver.check(driver.streamCreate(&queue, kStreamNonBlocking),
                        "make a stream"));
  FRIT_TRY(place());
  steps = std::make_unique<CudaSteps>(executor, executor.model.steps(),
                                      memory.address());
  FRIT_TRY(steps->bind(inputAddresses, outputAddresses));
  bound = true;
  // What the libraries are tried on must not look like signalling garbage.
  if (memory.bytes())
    FRIT_TRY(driver.check(
        driver.memsetD8Async(memory.address(), 0, memory.bytes(), queue),
        "clear memory"));
  phases.begin("try the libraries");
  FRIT_TRY(steps->openLibraries(queue, /*tryOut=*/true));
  phases.begin("make the graph");
  if (useGraph)
    current = findGraph();
  phases.end();
  return Status();
}

/// The arena comes first, so that the plan's offsets are the allocation's.
Status CudaExecution::place() {
  const PlanView &plan = executor.model.plan;
  uint64_t total = aligned(executor.model.target->arenaBytes);
  for (const artifact::Tensor &tensor : plan.inputs()) {
    ownInputs.push_back(total);
    total += aligned(tensor.bytes);
  }
  for (const artifact::Tensor &tensor : plan.outputs()) {
    ownOutputs.push_back(total);
    total += aligned(tensor.bytes);
  }
  FRIT_TRY(memory.allocate(total, "the model's arena, inputs and outputs"));
  for (DevicePointer &address : ownInputs)
    address += memory.address();
  for (DevicePointer &address : ownOutputs)
    address += memory.address();
  inputAddresses = ownInputs;
  outputAddresses = ownOutputs;
  return Status();
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

Status CudaExecution::bind(std::span<const Binding> inputs,
                           std::span<const Binding> outputs) {
  bool changed = false;
  auto place = [&](std::span<const Binding> bindings,
                   const std::vector<DevicePointer> &own,
                   std::vector<DevicePointer> &addresses) {
    for (size_t i = 0; i < bindings.size(); ++i) {
      const Binding &binding = bindings[i];
      bool given = binding.data && binding.location == FRIT_DEVICE;
      DevicePointer address =
          given ? DevicePointer(reinterpret_cast<uintptr_t>(binding.data))
                : own[i];
      changed |= address != addresses[i];
      addresses[i] = address;
    }
  };
  place(inputs, ownInputs, inputAddresses);
  place(outputs, ownOutputs, outputAddresses);
  if (bound && !changed)
    return Status();
  bound = false;
  current = nullptr;
  FRIT_TRY(steps->bind(inputAddresses, outputAddresses));
  bound = true;
  return Status();
}

/// The graph for the bound addresses, made where there is none yet; null, after
/// a remark, where none can be made.
GraphExec CudaExecution::findGraph() {
  std::vector<DevicePointer> addresses = inputAddresses;
  addresses.insert(addresses.end(), outputAddresses.begin(),
                   outputAddresses.end());
  for (CachedGraph &cached : graphs)
    if (cached.addresses == addresses) {
      cached.lastUse = calls;
      return cached.graph->exec;
    }
  // Where only kernels of ours use what is bound, one graph does for all.
  if (!graphs.empty() && steps->update(*graphs.back().graph)) {
    graphs.back().addresses = std::move(addresses);
    return graphs.back().graph->exec;
  }
  std::unique_ptr<StepGraph> graph;
  Status status = steps->makeGraph(queue, {}, graph);
  if (status.failed()) {
    useGraph = false;
    executor.model.remark("running without a CUDA graph: " + status.message());
    return nullptr;
  }
  if (graphs.size() == kCachedGraphs) {
    auto oldest = std::ranges::min_element(graphs, {}, &CachedGraph::lastUse);
    // It may still be running.
    driver.streamSynchronize(queue);
    graphs.erase(oldest);
  }
  graphs.push_back({std::move(addresses), std::move(graph), calls});
  return graphs.back().graph->exec;
}

Status CudaExecution::launchSteps() {
  bool check = executor.model.has(FRIT_NO_CUDA_GRAPH);
  for (size_t index = 0; index < steps->size(); ++index) {
    FRIT_TRY(steps->enqueue(index, queue));
    // Only waiting for each step tells which one fails.
    if (check)
      FRIT_TRY(stepFailed(
          executor.model.plan, executor.model.steps()[index],
          driver.check(driver.streamSynchronize(queue), "run a step")));
  }
  return Status();
}

Status CudaExecution::launch() {
  ++calls;
  if (useGraph && !current)
    current = findGraph();
  if (!current)
    return launchSteps();
  return driver.check(driver.graphLaunch(current, queue), "launch the graph");
}

Status CudaExecution::run(std::span<const Binding> inputs,
                          std::span<const Binding> outputs, bool wait) {
  ContextScope scope(gpu);
  FRIT_TRY(bind(inputs, outputs));
  FRIT_TRY(copyIn(inputs));
  FRIT_TRY(launch());
  FRIT_TRY(copyOut(outputs));
  return wait ? finishCopies(outputs) : Status();
}

Status CudaExecution::synchronize() {
  ContextScope scope(gpu);
  Status status =
      driver.check(driver.streamSynchronize(queue), "run the model");
  if (status.failed() && useGraph)
    return Status(status.status(),
                  status.message() +
                      " (without a CUDA graph, the node would be named here)");
  return status;
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

/// Larger tensors are left to the driver, which pins memory in pieces.
static constexpr uint64_t kLargestStaged = 16 << 20;
/// Staged tensors go in pieces, so that one is sent while the next is copied.
static constexpr uint64_t kPiece = 1 << 20;
static constexpr uint64_t kNotStaged = ~uint64_t(0);

void CudaExecution::makeStaging() {
  if (stagingTried)
    return;
  stagingTried = true;
  uint64_t total = 0;
  auto place = [&](std::span<const artifact::Tensor> tensors,
                   std::vector<uint64_t> &offsets) {
    for (const artifact::Tensor &tensor : tensors) {
      bool staged = tensor.bytes && tensor.bytes <= kLargestStaged;
      offsets.push_back(staged ? total : kNotStaged);
      total += staged ? aligned(tensor.bytes) : 0;
    }
  };
  place(executor.model.plan.inputs(), inputOffsets);
  place(executor.model.plan.outputs(), outputOffsets);
  void *pinned = nullptr;
  if (total && driver.memHostAlloc(&pinned, total, 0) == kSuccess)
    staging = static_cast<uint8_t *>(pinned);
}

bool CudaExecution::isPinned(const void *data) const {
  unsigned type = 0;
  return driver.pointerGetAttribute(
             &type, kPointerMemoryType,
             DevicePointer(reinterpret_cast<uintptr_t>(data))) == kSuccess &&
         type == kMemoryTypeHost;
}

Status CudaExecution::copyIn(std::span<const Binding> inputs) {
  for (size_t i = 0; i < inputs.size(); ++i) {
    uint64_t bytes = executor.model.plan.inputs()[i].bytes;
    if (inputs[i].location != FRIT_HOST || !bytes)
      continue;
    makeStaging();
    auto *from = static_cast<const uint8_t *>(inputs[i].data);
    DevicePointer to = inputAddresses[i];
    bool staged = staging && inputOffsets[i] != kNotStaged && !isPinned(from);
    Result result = kSuccess;
    if (!staged)
      result = driver.memcpyHtoDAsync(to, from, bytes, queue);
    for (uint64_t done = 0; staged && done < bytes && result == kSuccess;
         done += kPiece) {
      uint64_t piece = std::min(kPiece, bytes - done);
      uint8_t *middle = staging + inputOffsets[i] + done;
      std::copy_n(from + done, piece, middle);
      result = driver.memcpyHtoDAsync(to + done, middle, piece, queue);
    }
    FRIT_TRY(driver.check(result, "copy an input to the GPU"));
  }
  return Status();
}

Status CudaExecution::copyOut(std::span<const Binding> outputs) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    uint64_t bytes = executor.model.plan.outputs()[i].bytes;
    if (outputs[i].location != FRIT_HOST || !outputs[i].data || !bytes)
      continue;
    makeStaging();
    bool staged = staging && outputOffsets[i] != kNotStaged;
    void *to = staged ? staging + outputOffsets[i] : outputs[i].data;
    FRIT_TRY(driver.check(
        driver.memcpyDtoHAsync(to, outputAddresses[i], bytes, queue),
        "copy an output from the GPU"));
  }
  return Status();
}

Status CudaExecution::finishCopies(std::span<const Binding> outputs) {
  FRIT_TRY(synchronize());
  for (size_t i = 0; i < outputs.size(); ++i) {
    uint64_t bytes = executor.model.plan.outputs()[i].bytes;
    if (outputs[i].location != FRIT_HOST || !outputs[i].data || !bytes ||
        !staging || outputOffsets[i] == kNotStaged)
      continue;
    std::copy_n(staging + outputOffsets[i], bytes,
                static_cast<uint8_t *>(outputs[i].data));
  }
  return Status();
}

//===----------------------------------------------------------------------===//
// Profiles
//===----------------------------------------------------------------------===//

/// Runs the steps with an event before each and one after the last: inside a
/// graph, where gaps are as short as in a call, else on the stream.
Status CudaExecution::recordSteps(std::span<const Event> events) {
  std::unique_ptr<StepGraph> graph;
  if (useGraph && !steps->makeGraph(queue, events, graph).failed()) {
    // Twice, because the first run of a graph is slower.
    Status status = driver.check(driver.graphLaunch(graph->exec, queue), "run");
    if (!status.failed())
      status = driver.check(driver.graphLaunch(graph->exec, queue), "run");
    driver.streamSynchronize(queue);
    return status;
  }
  for (size_t index = 0; index < steps->size(); ++index) {
    FRIT_TRY(driver.check(driver.eventRecord(events[index], queue), "time"));
    FRIT_TRY(steps->enqueue(index, queue));
  }
  return driver.check(driver.eventRecord(events.back(), queue), "time");
}

Status CudaExecution::profile(std::span<const Binding> inputs,
                              std::span<const Binding> outputs,
                              std::vector<StepTime> &times) {
  ContextScope scope(gpu);
  FRIT_TRY(bind(inputs, outputs));
  FRIT_TRY(copyIn(inputs));
  std::vector<Event> events(steps->size() + 1);
  Status status;
  for (Event &event : events)
    if (!status.failed())
      status = driver.check(driver.eventCreate(&event, 0), "make an event");
  if (!status.failed())
    status = recordSteps(events);
  if (!status.failed())
    status = copyOut(outputs);
  if (!status.failed())
    status = finishCopies(outputs);
  for (size_t index = 0; index < steps->size() && !status.failed(); ++index) {
    float start = 0, duration = 0;
    driver.eventElapsedTime(&start, events[0], events[index]);
    driver.eventElapsedTime(&duration, events[index], events[index + 1]);
    times.push_back({start * 1e3, duration * 1e3});
  }
  for (Event event : events)
    if (event)
      driver.eventDestroy(event);
  return status;
}
