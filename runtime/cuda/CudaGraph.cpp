//===- CudaGraph.cpp - Build a CUDA graph from a list of steps ------------===//
//
// Frit's own kernels become kernel nodes, connected by programmatic dependent
// launch (PDL) edges: each may start while its predecessors still run. Library
// calls are captured, because only the library knows what it launches: into the
// same graph if the driver supports that, otherwise into a child graph. With
// collectives of several ranks, a single capture produces the whole graph.
//
// Every edge is in the plan: a node has edges from the last nodes of the steps
// that its step follows. An await and, without a group, a collective are no
// nodes but sets of predecessors of others.
//
// A kernel with PDL edges waits for all its predecessors before it ends. So
// ordinary graph order holds: a node runs after all nodes from which it is
// reachable by either kind of edge.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/CudaSteps.h"

#include <algorithm>
#include <utility>

using namespace frit;
using namespace frit::cuda;
using artifact::Guard;
using artifact::Step;
using artifact::StepKind;
using artifact::StepRunner;

StepGraph::~StepGraph() {
  if (capture)
    driver.streamDestroy(capture);
  if (exec)
    driver.graphExecDestroy(exec);
  if (graph)
    driver.graphDestroy(graph);
}

Status CudaSteps::makeGraph(Stream stream, std::span<const Event> marks,
                            std::unique_ptr<StepGraph> &result) {
  if (mustSkip && !conditional)
    return Status(FRIT_UNSUPPORTED,
                  "steps that write state have conditions, for which the "
                  "NVIDIA driver has no graph nodes");
  std::unique_ptr<StepGraph> made;
  Status status;
  // Other libraries in the process may end a capture.
  constexpr int kMostTries = 8;
  for (int tries = 0; tries < kMostTries; ++tries) {
    made = std::make_unique<StepGraph>(driver);
    std::lock_guard lock(captureMutex());
    status = fillGraph(*made, stream, marks);
    if (!made->invalidated)
      break;
    invalidGraphs.push_back(std::move(made));
  }
  bool mayRetry = conditional && !mustSkip;
  if (status.failed())
    conditional = false;
  if (status.failed() && mayRetry) {
    loaded.model.remark("steps run whatever their conditions say: " +
                        status.message());
    return makeGraph(stream, marks, result);
  }
  FRIT_TRY(std::move(status));
  // Upload now, so that the first timed call does not include it.
  driver.graphUpload(made->exec, stream);
  result = std::move(made);
  return Status();
}

Status CudaSteps::fillGraph(StepGraph &made, Stream stream,
                            std::span<const Event> marks) {
  FRIT_TRY(beginGraph(made));
  made.kernels.resize(steps.size());
  Tail end;
  Status status;
  if (marks.empty()) {
    std::vector<Tail> ends(steps.size());
    status = addSteps(made, made.graph, {0, steps.size()}, stream, ends, end);
  } else {
    status = addMarked(made, stream, marks, end);
  }
  end.join();
  made.ends = std::move(end.nodes);
  Status ended = endGraph(made);
  FRIT_TRY(std::move(status));
  FRIT_TRY(std::move(ended));
  return driver.check(driver.graphInstantiate(&made.exec, made.graph, 0),
                      "instantiate a graph");
}

bool CudaSteps::canUpdate(const StepGraph &graph) const {
  return std::ranges::all_of(patches, [&](const Patch &patch) {
    return graph.kernels[patch.step] != nullptr;
  });
}

/// Creates an empty graph. With collectives it belongs to a capture that
/// continues until endGraph: NCCL 2.28 fails in captures into an existing graph
/// ("dependency created on uncaptured work in another stream").
Status CudaSteps::beginGraph(StepGraph &made) {
  bool hasCollectives = false;
  for (size_t index = 0; index < steps.size(); ++index)
    hasCollectives |= isCollective(index);
  if (!hasCollectives || !driver.streamUpdateCaptureDependencies)
    return driver.check(driver.graphCreate(&made.graph, 0), "make a graph");
  FRIT_TRY(driver.check(driver.streamCreate(&made.capture, kStreamNonBlocking),
                        "make a stream"));
  FRIT_TRY(
      driver.check(driver.streamBeginCapture(made.capture, kCaptureThreadLocal),
                   "begin a capture"));
  std::vector<GraphNode> none;
  return lastCaptured(made.capture, &made.graph, none);
}

Status CudaSteps::endGraph(StepGraph &made) {
  if (!made.capture)
    return Status();
  // A node without successors would be an unjoined branch.
  Status status = driver.check(driver.streamUpdateCaptureDependencies(
                                   made.capture, made.ends.data(),
                                   made.ends.size(), kSetCaptureDependencies),
                               "join a capture");
  made.graph = nullptr;
  Result result = driver.streamEndCapture(made.capture, &made.graph);
  made.invalidated |= result == kCaptureInvalidated;
  Status ended = driver.check(result, "end a capture");
  driver.streamDestroy(std::exchange(made.capture, nullptr));
  return status.failed() ? std::move(status) : std::move(ended);
}

bool CudaSteps::update(StepGraph &graph) {
  if (!canUpdate(graph))
    return false;
  size_t done = steps.size();
  for (const Patch &patch : patches) {
    if (patch.step == done)
      continue;
    done = patch.step;
    std::vector<void *> params;
    KernelNodeParams node = nodeOf(done, params);
    if (driver.graphExecKernelNodeSetParams(graph.exec, graph.kernels[done],
                                            &node) != kSuccess)
      return false;
  }
  return true;
}

bool CudaSteps::isKernel(size_t index) const {
  StepRunner runner = artifact::runnerOf(steps[index].kind);
  return runner == StepRunner::Kernel ||
         (runner == StepRunner::Call && !calls[index]);
}

void CudaSteps::Tail::add(const Tail &other) {
  nodes.insert(nodes.end(), other.nodes.begin(), other.nodes.end());
  own.insert(own.end(), other.own.begin(), other.own.end());
}

void CudaSteps::Tail::join() {
  nodes.insert(nodes.end(), own.begin(), own.end());
  own.clear();
}

Status CudaSteps::addSteps(StepGraph &to, Graph graph, StepRange range,
                           Stream stream, std::vector<Tail> &ends, Tail &end) {
  std::vector<bool> isFollowed(range.last - range.first);
  for (size_t index = range.first; index < range.last; ++index) {
    Tail &tail = ends[index];
    for (uint32_t other : plan.follows(steps[index])) {
      // Without a group there is no collective to wait for.
      if (steps[index].kind == StepKind::await && !group &&
          steps[other].kind == StepKind::collective)
        continue;
      tail.add(ends[other]);
      if (other >= range.first) // or else it is the guard
        isFollowed[other - range.first] = true;
    }
    if (steps[index].kind != StepKind::guard) {
      FRIT_TRY(addStep(to, graph, index, stream, tail));
      continue;
    }
    FRIT_TRY(addGuard(to, graph, index, stream, ends));
    uint32_t held = plan.guard(steps[index]).steps;
    std::fill_n(isFollowed.begin() + ptrdiff_t(index + 1 - range.first), held,
                true);
    index += held;
  }
  for (size_t index = range.first; index < range.last; ++index)
    if (!isFollowed[index - range.first])
      end.add(ends[index]);
  return Status();
}

/// Adds the steps one after another, each between two events.
Status CudaSteps::addMarked(StepGraph &to, Stream stream,
                            std::span<const Event> marks, Tail &tail) {
  auto mark = [&](size_t index) {
    GraphNode node;
    tail.join();
    FRIT_TRY(driver.check(
        driver.graphAddEventRecordNode(&node, to.graph, tail.nodes.data(),
                                       tail.nodes.size(), marks[index]),
        "add an event to a graph"));
    tail = {{node}, {}};
    return Status();
  };
  std::vector<Tail> ends(hasGuards() ? steps.size() : 0);
  for (size_t index = 0; index < steps.size(); ++index) {
    FRIT_TRY(mark(index));
    if (steps[index].kind != StepKind::guard) {
      FRIT_TRY(addStep(to, to.graph, index, stream, tail));
    } else if (conditional) {
      ends[index] = std::move(tail);
      FRIT_TRY(addGuard(to, to.graph, index, stream, ends));
      tail = std::move(ends[index]);
      index += plan.guard(steps[index]).steps;
    }
  }
  return mark(steps.size());
}

Status CudaSteps::addStep(StepGraph &to, Graph graph, size_t index,
                          Stream stream, Tail &tail) {
  const Step &step = steps[index];
  if (step.kind == StepKind::await ||
      (step.kind == StepKind::collective && !group))
    return Status();
  if (isKernel(index))
    return stepFailed(plan, step, addKernel(to, graph, index, tail));
  return to.capture && graph == to.graph
             ? addWithin(to, index, tail)
             : addCaptured(to, graph, index, stream, tail);
}

Status CudaSteps::addGuard(StepGraph &to, Graph graph, size_t index,
                           Stream stream, std::vector<Tail> &ends) {
  const Guard &guard = plan.guard(steps[index]);
  StepRange body = {index + 1, index + 1 + guard.steps};
  Tail tail = ends[index], end;
  if (!conditional) {
    // Its steps run in any case.
    FRIT_TRY(addSteps(to, graph, body, stream, ends, end));
    if (guard.steps)
      ends[index] = std::move(end);
    return Status();
  }
  tail.join();
  ConditionalNodeParams node;
  node.ctx = loaded.gpu.context;
  FRIT_TRY(driver.check(driver.graphConditionalHandleCreate(
                            &node.handle, to.graph, node.ctx, 0, 0),
                        "make a condition"));
  uint32_t when = guard.when ? 1 : 0;
  void *params[] = {&arguments[firstArgument[index]], &node.handle, &when};
  KernelNodeParams asking = {};
  asking.func = loaded.guardKernel->function();
  asking.gridX = asking.gridY = asking.gridZ = 1;
  asking.blockX = asking.blockY = asking.blockZ = 1;
  asking.kernelParams = params;
  GraphNode kernel, added;
  FRIT_TRY(
      driver.check(driver.graphAddKernelNode(&kernel, graph, tail.nodes.data(),
                                             tail.nodes.size(), &asking),
                   "add a guard's kernel to a graph"));
  FRIT_TRY(driver.check(
      driver.graphAddNode(&added, graph, &kernel, nullptr, 1, &node),
      "add a conditional node to a graph"));
  // The body is a graph of its own, in which steps that follow the guard have
  // no predecessor.
  ends[index] = {};
  FRIT_TRY(addSteps(to, node.bodies[0], body, stream, ends, end));
  ends[index] = {{added}, {}};
  return Status();
}

bool CudaSteps::isCollective(size_t index) const {
  return steps[index].kind == StepKind::collective && group;
}

KernelNodeParams CudaSteps::nodeOf(size_t index, std::vector<void *> &params) {
  const Step &step = steps[index];
  collectParams(index, params);
  KernelNodeParams node = {};
  node.func = loaded.kernel(step.kernel);
  node.gridX = step.grid[0];
  node.gridY = step.grid[1];
  node.gridZ = step.grid[2];
  node.blockX = step.block[0];
  node.blockY = step.block[1];
  node.blockZ = step.block[2];
  node.sharedBytes = loaded.sharedBytes(step);
  node.kernelParams = params.data();
  return node;
}

Status CudaSteps::addKernel(StepGraph &to, Graph graph, size_t index,
                            Tail &tail) {
  const Step &step = steps[index];
  if (step.kernel == artifact::kNone)
    return noKernel(plan, step);
  std::vector<void *> params;
  KernelNodeParams node = nodeOf(index, params);
  // A kernel that waits by itself may start early (PDL). Not in the body of a
  // conditional node: CUDA does not document PDL there.
  std::vector<GraphNode> &full = tail.nodes, &ahead = tail.own;
  bool inBody = graph != to.graph;
  if (inBody || !plan.kernels()[step.kernel].waits ||
      !driver.graphAddDependencies ||
      loaded.model.has(FRIT_NO_PROGRAMMATIC_LAUNCH)) {
    full.insert(full.end(), ahead.begin(), ahead.end());
    ahead.clear();
  }
  GraphNode added;
  FRIT_TRY(driver.check(
      driver.graphAddKernelNode(&added, graph, full.data(), full.size(), &node),
      "add a kernel to a graph"));
  for (GraphNode before : ahead)
    FRIT_TRY(driver.check(driver.graphAddDependencies(graph, &before, &added,
                                                      &kProgrammaticEdge, 1),
                          "add a kernel's dependency to a graph"));
  if (!inBody)
    to.kernels[index] = added;
  tail = {{}, {added}};
  return Status();
}

/// Returns the nodes that the next work on a capturing stream would wait for,
/// and the graph if `graph` is not null.
Status CudaSteps::lastCaptured(Stream stream, Graph *graph,
                               std::vector<GraphNode> &last) const {
  int state = 0;
  size_t count = 0;
  uint64_t id = 0;
  Graph current = nullptr;
  const GraphNode *nodes = nullptr;
  const void *edges = nullptr;
  FRIT_TRY(
      driver.check(driver.streamGetCaptureInfo(stream, &state, &id, &current,
                                               &nodes, &edges, &count),
                   "ask for a capture's nodes"));
  last.assign(nodes, nodes + count);
  if (graph)
    *graph = current;
  return Status();
}

/// Captures a step into the graph that its stream is capturing.
Status CudaSteps::addWithin(StepGraph &to, size_t index, Tail &tail) {
  tail.join();
  FRIT_TRY(driver.check(driver.streamUpdateCaptureDependencies(
                            to.capture, tail.nodes.data(), tail.nodes.size(),
                            kSetCaptureDependencies),
                        "order a capture"));
  FRIT_TRY(enqueue(index, to.capture));
  Tail added;
  Status status = lastCaptured(to.capture, nullptr, added.nodes);
  tail = std::move(added);
  return stepFailed(plan, steps[index], std::move(status));
}

Status CudaSteps::addCaptured(StepGraph &to, Graph graph, size_t index,
                              Stream stream, Tail &tail) {
  bool direct = driver.streamBeginCaptureToGraph != nullptr;
  std::vector<GraphNode> &last = tail.nodes;
  last.insert(last.end(), tail.own.begin(), tail.own.end());
  Result result =
      direct ? driver.streamBeginCaptureToGraph(stream, graph, last.data(),
                                                nullptr, last.size(),
                                                kCaptureThreadLocal)
             : driver.streamBeginCapture(stream, kCaptureThreadLocal);
  FRIT_TRY(driver.check(result, "begin a capture"));
  Status status = enqueue(index, stream);

  std::vector<GraphNode> added;
  if (direct && !status.failed())
    status = lastCaptured(stream, nullptr, added);
  // A capture must be ended even if it failed.
  Graph captured = nullptr;
  result = driver.streamEndCapture(stream, &captured);
  Status ended = driver.check(result, "end a capture");
  to.invalidated |= result == kCaptureInvalidated;
  if (!status.failed())
    status = std::move(ended);
  if (!direct && captured) {
    GraphNode node = nullptr;
    if (!status.failed())
      status =
          driver.check(driver.graphAddChildGraphNode(&node, graph, last.data(),
                                                     last.size(), captured),
                       "add a captured call to a graph");
    driver.graphDestroy(captured);
    added = {node};
  }
  if (status.failed())
    return stepFailed(plan, steps[index], std::move(status));
  tail = {std::move(added), {}};
  return Status();
}
