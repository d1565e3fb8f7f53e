//===- step_kinds.h - The kinds of steps of a plan ------------------------===//
//
// The only list of them. All code that differs by kind expands it: the
// serializer, the checks, both executors, reports and the emulator. A new kind
// is a line here, its op in dialects/plan/Steps.td, and what the build then
// says is missing: a description for the artifact (codegen/artifact/Steps.cpp),
// a check (runtime/plan/StepCheck.cpp) and, if nothing here runs it yet, a
// runner of CudaSteps, CpuSteps and EmulatedPlan.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_STEP_KINDS_H
#define FRIT_STEP_KINDS_H

#include <cstdint>

/// STEP(kind, Runner, Ops...): the kind, which is also its name in reports;
/// what runs it; and the ops of the plan dialect that become such steps. The
/// order is part of the artifact's format.
#define FRIT_STEP_KINDS(STEP)                                                  \
  /* `kernel` over the step's arguments */                                     \
  STEP(launch, Kernel, LaunchOp)                                               \
  /* `problem` is an entry of Header::gemms */                                 \
  STEP(gemm, Call, GemmOp)                                                     \
  /* `problem` is an entry of Header::convs */                                 \
  STEP(conv, Call, ConvOp)                                                     \
  /* copies argument 0 over argument 1, the same number of bytes */            \
  STEP(copy, Copy, CopyOp)                                                     \
  /* `problem` is an entry of Header::attentions */                            \
  STEP(attention, Call, AttentionOp)                                           \
  /* `problem` is an entry of Header::guards */                                \
  STEP(guard, Guard, GuardOp)                                                  \
  /* A collective operation of all ranks of the context's group on argument 0; \
     `problem` is a Collective. It follows the previous collective. Not        \
     allowed in a guard or in a prepare list. */                               \
  STEP(collective, Exchange, CollectiveOp)                                     \
  /* waits for the collectives of its arguments; in no guard */                \
  STEP(await, Await, AwaitOp)

/// RUNNER(Name): what runs steps, of one or several kinds.
#define FRIT_STEP_RUNNERS(RUNNER)                                              \
  /* the step's kernel */                                                      \
  RUNNER(Kernel)                                                               \
  /* a library or code of the runtime, or the step's kernel if it declines */  \
  RUNNER(Call)                                                                 \
  /* the driver, or memmove */                                                 \
  RUNNER(Copy)                                                                 \
  /* the condition of the steps after it */                                    \
  RUNNER(Guard)                                                                \
  /* all ranks of the group */                                                 \
  RUNNER(Exchange)                                                             \
  /* nothing: others wait for it */                                            \
  RUNNER(Await)

namespace frit::artifact {

enum class StepKind : uint32_t {
#define STEP(kind, Runner, ...) kind,
  FRIT_STEP_KINDS(STEP)
#undef STEP
};

enum class StepRunner {
#define RUNNER(Name) Name,
  FRIT_STEP_RUNNERS(RUNNER)
#undef RUNNER
};

/// Names in reports, by kind.
inline constexpr const char *kStepKinds[] = {
#define STEP(kind, Runner, ...) #kind,
    FRIT_STEP_KINDS(STEP)
#undef STEP
};

inline constexpr StepRunner kStepRunners[] = {
#define STEP(kind, Runner, ...) StepRunner::Runner,
    FRIT_STEP_KINDS(STEP)
#undef STEP
};

/// Returns what runs steps of a kind that is in the list.
constexpr StepRunner runnerOf(StepKind kind) {
  return kStepRunners[uint32_t(kind)];
}

} // namespace frit::artifact

#endif // FRIT_STEP_KINDS_H
