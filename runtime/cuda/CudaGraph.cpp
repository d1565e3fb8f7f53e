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

Status CudaSteps::makeGraph(Stream stream, std::span<const Event> marks,
                            GraphExec &result) {
  Graph graph = nullptr;
  FRIT_TRY(driver.check(driver.graphCreate(&graph, 0), "make a graph"));
  Status status = addSteps(graph, stream, marks);
  GraphExec exec = nullptr;
  if (!status.failed())
    status = driver.check(driver.graphInstantiate(&exec, graph, 0),
                          "instantiate a graph");
  driver.graphDestroy(graph);
  if (status.failed())
    return status;
  // Now, rather than in the first call that is timed.
  driver.graphUpload(exec, stream);
  result = exec;
  return Status();
}

Status CudaSteps::addSteps(Graph graph, Stream stream,
                           std::span<const Event> marks) {
  Tail tail; // what the next node has to wait for
  auto mark = [&](size_t index) {
    if (marks.empty())
      return Status();
    GraphNode node;
    FRIT_TRY(driver.check(
        driver.graphAddEventRecordNode(&node, graph, tail.nodes.data(),
                                       tail.nodes.size(), marks[index]),
        "add an event to a graph"));
    tail = {{node}, false};
    return Status();
  };
  for (size_t index = 0; index < steps.size(); ++index) {
    FRIT_TRY(mark(index));
    bool captured = calls[index] || steps[index].kind == StepKind::copy;
    FRIT_TRY(captured ? addCaptured(graph, index, stream, tail)
                      : stepFailed(plan, steps[index],
                                   addKernel(graph, index, tail)));
  }
  return mark(steps.size());
}

Status CudaSteps::addKernel(Graph graph, size_t index, Tail &tail) {
  const Step &step = steps[index];
  if (step.kernel == artifact::kNone)
    return noKernel(plan, step);
  std::vector<void *> params;
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
  // A kernel that waits for those before it by itself may start ahead of their
  // end. All of ours do so, and so each waits for all before the one it
  // follows.
  bool ahead = tail.ownKernel && plan.kernels()[step.kernel].waits &&
               driver.graphAddDependencies &&
               !executor.model.has(FRIT_NO_PROGRAMMATIC_LAUNCH);
  GraphNode added;
  FRIT_TRY(driver.check(
      driver.graphAddKernelNode(&added, graph, tail.nodes.data(),
                                ahead ? 0 : tail.nodes.size(), &node),
      "add a kernel to a graph"));
  if (ahead)
    FRIT_TRY(
        driver.check(driver.graphAddDependencies(graph, tail.nodes.data(),
                                                 &added, &kProgrammaticEdge, 1),
                     "add a kernel's dependency to a graph"));
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
