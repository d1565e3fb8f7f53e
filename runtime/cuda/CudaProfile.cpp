//===- CudaProfile.cpp - Time and trace the steps of a call ---------------===//

#include "runtime/cuda/CudaExecution.h"

using namespace frit;
using namespace frit::cuda;

//===----------------------------------------------------------------------===//
// Profiles
//===----------------------------------------------------------------------===//

/// Runs the steps with an event before each and one after the last. Uses a
/// graph, where gaps are as short as in a call. Uses the stream if a graph is
/// impossible or if there are guards, since bodies of conditional nodes cannot
/// contain events. Steps that write state run once. Sets `ran` per step.
Status CudaExecution::recordSteps(Program &program,
                                  std::span<const Event> events,
                                  std::vector<bool> &ran) {
  std::unique_ptr<CudaSteps> &steps = program.steps;
  std::unique_ptr<StepGraph> graph;
  if (program.useGraph && !steps->hasGuards() &&
      !steps->makeGraph(sharedQueue->own, events, graph).failed()) {
    ran.assign(steps->size(), true);
    Status status =
        driver.check(driver.graphLaunch(graph->exec, queue()), "run");
    // Run twice if possible, because the first launch of a graph is slower.
    if (!status.failed() && !steps->writeState())
      status = driver.check(driver.graphLaunch(graph->exec, queue()), "run");
    driver.streamSynchronize(queue());
    return status;
  }
  size_t recorded = 0;
  // A skipped step gets the same time for start and end.
  auto record = [&](size_t last) {
    Result result = kSuccess;
    for (; recorded <= last && result == kSuccess; ++recorded)
      result = driver.eventRecord(events[recorded], queue());
    return driver.check(result, "time");
  };
  ran.assign(steps->size(), false);
  for (size_t index = 0; index < steps->size();) {
    FRIT_TRY(record(index));
    FRIT_TRY(steps->enqueue(index, queue()));
    ran[index] = true;
    FRIT_TRY(steps->next(index, queue()));
  }
  return record(steps->size());
}

Status CudaExecution::profile(size_t variant, std::span<const Binding> inputs,
                              std::span<const Binding> outputs,
                              std::vector<StepTime> &times) {
  ContextScope scope(gpu);
  FRIT_TRY(begin(variant, inputs, outputs));
  Program &program = programs[variant];
  std::vector<Event> events(program.steps->size() + 1);
  std::vector<bool> ran;
  Status status;
  for (Event &event : events)
    if (!status.failed())
      status = driver.check(driver.eventCreate(&event, 0), "make an event");
  if (!status.failed())
    status = recordSteps(program, events, ran);
  if (!status.failed())
    status = readCounts(program, outputs);
  if (!status.failed())
    status = copyOut(program, outputs);
  if (!status.failed())
    status = finishCopies(program, outputs);
  for (size_t index = 0; index < program.steps->size() && !status.failed();
       ++index) {
    float start = 0, duration = 0;
    driver.eventElapsedTime(&start, events[0], events[index]);
    driver.eventElapsedTime(&duration, events[index], events[index + 1]);
    times.push_back({start * 1e3, duration * 1e3, ran[index]});
  }
  for (Event event : events)
    if (event)
      driver.eventDestroy(event);
  return status;
}

//===----------------------------------------------------------------------===//
// Traces
//===----------------------------------------------------------------------===//

/// Copies the arguments that the step at `index` writes, or those that it only
/// reads, to the host once the stream's work has ended. Other arguments' copies
/// stay as they are.
Status CudaExecution::readArguments(const Program &program, size_t index,
                                    bool written,
                                    std::vector<std::vector<uint8_t>> &copies) {
  std::span<const artifact::Buffer> buffers =
      model.plan.arguments(model.steps(program.variant)[index]);
  std::span<const DevicePointer> addresses = program.steps->argumentsOf(index);
  copies.resize(buffers.size());
  for (size_t i = 0; i < buffers.size(); ++i) {
    if (bool(buffers[i].written) != written)
      continue;
    copies[i].resize(buffers[i].bytes);
    if (!copies[i].empty())
      FRIT_TRY(
          driver.check(driver.memcpyDtoHAsync(copies[i].data(), addresses[i],
                                              copies[i].size(), queue()),
                       "read an argument of a step"));
  }
  return driver.check(driver.streamSynchronize(queue()), "run a step");
}

Status CudaExecution::trace(size_t variant, std::span<const Binding> inputs,
                            std::span<const Binding> outputs, bool operands,
                            const Visit &visit) {
  ContextScope scope(gpu);
  FRIT_TRY(begin(variant, inputs, outputs));
  Program &program = programs[variant];
  for (size_t index = 0; index < program.steps->size();) {
    std::vector<std::vector<uint8_t>> copies;
    if (operands)
      FRIT_TRY(readArguments(program, index, /*written=*/false, copies));
    FRIT_TRY(program.steps->enqueue(index, queue()));
    FRIT_TRY(readArguments(program, index, /*written=*/true, copies));
    std::vector<const void *> arguments;
    for (const std::vector<uint8_t> &copy : copies)
      arguments.push_back(copy.data());
    visit(index, arguments);
    FRIT_TRY(program.steps->next(index, queue()));
  }
  FRIT_TRY(readCounts(program, outputs));
  FRIT_TRY(copyOut(program, outputs));
  return finishCopies(program, outputs);
}
