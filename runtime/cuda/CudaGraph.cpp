//===- CudaGraph.cpp - Turn a list of steps into a CUDA graph -------------===//
//
// Our own kernels become explicit nodes in one chain, each launched while the
// one before it still runs (programmatic dependent launch). Only a library's
// calls are captured, because only the library knows what it launches: into the
// same graph where the driver can, else into a child of it.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/CudaSteps.h"

using namespace frit;
using namespace frit::cuda;
using artifact::Step;
using artifact::StepKind;

StepGraph::~StepGraph() {
  if (exec)
    driver.graphExecDestroy(exec);
  if (graph)
    driver.graphDestroy(graph);
}

Status CudaSteps::makeGraph(Stream stream, std::span<const Event> marks,
                            std::unique_ptr<StepGraph> &result) {
  auto made = std::make_unique<StepGraph>(driver);
  FRIT_TRY(driver.check(driver.graphCreate(&made->graph, 0), "make a graph"));
  made->kernels.resize(steps.size());
  FRIT_TRY(addSteps(*made, stream, marks));
  FRIT_TRY(driver.check(driver.graphInstantiate(&made->exec, made->graph, 0),
                        "instantiate a graph"));
  // Now, rather than in the first call that is timed.
  driver.graphUpload(made->exec, stream);
  result = std::move(made);
  return Status();
}

bool CudaSteps::update(StepGraph &graph) {
  for (const Patch &patch : patches)
    if (!graph.kernels[patch.step])
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
  return !calls[index] && steps[index].kind != StepKind::copy;
}

Status CudaSteps::addSteps(StepGraph &to, Stream stream,
                           std::span<const Event> marks) {
  Tail tail; // what the next node has to wait for
  auto mark = [&](size_t index) {
    if (marks.empty())
      return Status();
    GraphNode node;
    FRIT_TRY(driver.check(
        driver.graphAddEventRecordNode(&node, to.graph, tail.nodes.data(),
                                       tail.nodes.size(), marks[index]),
        "add an event to a graph"));
    tail = {{node}, false};
    return Status();
  };
  for (size_t index = 0; index < steps.size(); ++index) {
    FRIT_TRY(mark(index));
    FRIT_TRY(isKernel(index)
                 ? stepFailed(plan, steps[index], addKernel(to, index, tail))
                 : addCaptured(to.graph, index, stream, tail));
  }
  return mark(steps.size());
}

KernelNodeParams CudaSteps::nodeOf(size_t index, std::vector<void *> &params) {
  const Step &step = steps[index];
  collectParams(index, params);
  KernelNodeParams node = {};
  node.func = executor.kernel(step.kernel);
  node.gridX = step.grid[0];
  node.gridY = step.grid[1];
  node.gridZ = step.grid[2];
  node.blockX = step.block[0];
  node.blockY = step.block[1];
  node.blockZ = step.block[2];
  node.sharedBytes = executor.sharedBytes(step);
  node.kernelParams = params.data();
  return node;
}

Status CudaSteps::addKernel(StepGraph &to, size_t index, Tail &tail) {
  const Step &step = steps[index];
  if (step.kernel == artifact::kNone)
    return noKernel(plan, step);
  std::vector<void *> params;
  KernelNodeParams node = nodeOf(index, params);
  // A kernel that waits for those before it by itself may start ahead of their
  // end. All of ours do so, and so each waits for all before the one it
  // follows.
  bool ahead = tail.ownKernel && plan.kernels()[step.kernel].waits &&
               driver.graphAddDependencies &&
               !executor.model.has(FRIT_NO_PROGRAMMATIC_LAUNCH);
  GraphNode added;
  FRIT_TRY(driver.check(
      driver.graphAddKernelNode(&added, to.graph, tail.nodes.data(),
                                ahead ? 0 : tail.nodes.size(), &node),
      "add a kernel to a graph"));
  if (ahead)
    FRIT_TRY(
        driver.check(driver.graphAddDependencies(to.graph, tail.nodes.data(),
                                                 &added, &kProgrammaticEdge, 1),
                     "add a kernel's dependency to a graph"));
  to.kernels[index] = added;
  tail = {{added}, true};
  return Status();
}

Status CudaSteps::addCaptured(Graph graph, size_t index, Stream stream,
                              Tail &tail) {
  bool direct = driver.streamBeginCaptureToGraph != nullptr;
  std::vector<GraphNode> &last = tail.nodes;
  Result result =
      direct ? driver.streamBeginCaptureToGraph(stream, graph, last.data(),
                                                nullptr, last.size(),
                                                kCaptureThreadLocal)
             : driver.streamBeginCapture(stream, kCaptureThreadLocal);
  FRIT_TRY(driver.check(result, "begin a capture"));
  Status status = enqueue(index, stream);

  std::vector<GraphNode> added;
  if (direct && !status.failed()) {
    int state = 0;
    size_t count = 0;
    uint64_t id = 0;
    Graph current = nullptr;
    const GraphNode *nodes = nullptr;
    const void *edges = nullptr;
    status =
        driver.check(driver.streamGetCaptureInfo(stream, &state, &id, &current,
                                                 &nodes, &edges, &count),
                     "ask for a capture's nodes");
    if (!status.failed())
      added.assign(nodes, nodes + count);
  }
  // A capture must be ended even when it failed.
  Graph captured = nullptr;
  Status ended =
      driver.check(driver.streamEndCapture(stream, &captured), "end a capture");
  if (!status.failed())
    status = std::move(ended);
  if (!direct && captured) {
    GraphNode node;
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
  tail = {std::move(added), false};
  return Status();
}
