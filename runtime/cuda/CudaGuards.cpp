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

using namespace frit;
using namespace frit::cuda;

/// PTX text, because the kernel calls a device function that a CUDA compiler
/// would link from the toolkit. The driver, which compiles this PTX, provides
/// it.
static constexpr char kGuardKernel[] = R"(
.version 7.0
.target sm_75
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
