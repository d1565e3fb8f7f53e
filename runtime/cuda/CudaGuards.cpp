//===- CudaGuards.cpp - Steps that run only if a condition holds ----------===//
//
// In a graph the guarded steps are the body of a conditional node. A kernel of
// one thread before it reads the condition and sets the node's handle:
//
//   ... ──▶ guard kernel ──▶ conditional node [step ──▶ step ──▶ ...] ──▶ ...
//
// Outside of a graph the host waits for the condition and reads it.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda/CudaGuards.h"

#include "runtime/cuda/CudaSteps.h"

using namespace frit;
using namespace frit::cuda;
using artifact::Guard;
using artifact::Step;
using artifact::StepKind;

/// In PTX, because it calls a device function that a CUDA compiler would link
/// from the toolkit; the driver, which compiles this PTX, knows it by itself.
static constexpr char kGuardKernel[] = R"(
.version 7.0
.target sm_80
.address_size 64
.extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);
.visible .entry frit_guard(
    .param .u64 condition, .param .u64 handle, .param .u32 when)
{
  .reg .pred %p<3>;
  .reg .b32 %value, %when;
  .reg .b64 %condition, %handle;
  ld.param.u64 %condition, [condition];
  ld.param.u64 %handle, [handle];
  ld.param.u32 %when, [when];
  cvta.to.global.u64 %condition, %condition;
  ld.global.u8 %value, [%condition];
  setp.ne.u32 %p1, %value, 0;
  selp.u32 %value, 1, 0, %p1;
  setp.eq.u32 %p2, %value, %when;
  selp.u32 %value, 1, 0, %p2;
  {
    .param .b64 to;
    .param .b32 run;
    st.param.b64 [to], %handle;
    st.param.b32 [run], %value;
    call.uni cudaGraphSetConditional, (to, run);
  }
  ret;
}
)";

GuardKernel::~GuardKernel() {
  if (module)
    gpu.driver.moduleUnload(module);
}

Status GuardKernel::open() {
  const Driver &driver = gpu.driver;
  if (!driver.graphAddNode || !driver.graphConditionalHandleCreate)
    return Status(FRIT_UNSUPPORTED,
                  "the NVIDIA driver is older than CUDA 12.4");
  FRIT_TRY(driver.check(
      driver.moduleLoadDataEx(&module, kGuardKernel, 0, nullptr, nullptr),
      "load the kernel of conditional nodes"));
  return driver.check(driver.moduleGetFunction(&kernel, module, "frit_guard"),
                      "find the kernel of conditional nodes");
}

//===----------------------------------------------------------------------===//
// In a graph
//===----------------------------------------------------------------------===//

Status CudaSteps::addGuard(StepGraph &to, Graph graph, size_t index,
                           Stream stream, Tail &tail) {
  const Guard &guard = plan.guard(steps[index]);
  tail.join();
  ConditionalNodeParams node;
  node.ctx = executor.gpu.context;
  FRIT_TRY(driver.check(driver.graphConditionalHandleCreate(
                            &node.handle, to.graph, node.ctx, 0, 0),
                        "make a condition"));
  uint32_t when = guard.when ? 1 : 0;
  void *params[] = {&arguments[firstArgument[index]], &node.handle, &when};
  KernelNodeParams asking = {};
  asking.func = executor.guardKernel->function();
  asking.gridX = asking.gridY = asking.gridZ = 1;
  asking.blockX = asking.blockY = asking.blockZ = 1;
  asking.kernelParams = params;
  GraphNode added;
  FRIT_TRY(
      driver.check(driver.graphAddKernelNode(&added, graph, tail.nodes.data(),
                                             tail.nodes.size(), &asking),
                   "add a guard's kernel to a graph"));
  tail.nodes = {added};
  FRIT_TRY(driver.check(
      driver.graphAddNode(&added, graph, tail.nodes.data(), nullptr, 1, &node),
      "add a conditional node to a graph"));
  tail.nodes = {added};
  return addSteps(to, node.bodies[0], index + 1, index + 1 + guard.steps,
                  stream, {});
}

//===----------------------------------------------------------------------===//
// Step by step
//===----------------------------------------------------------------------===//

bool CudaSteps::hasGuards() const {
  for (const Step &step : steps)
    if (step.kind == StepKind::guard)
      return true;
  return false;
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
