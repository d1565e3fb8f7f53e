//===- PlanView.cpp - A checked view of an artifact's plan ----------------===//

#include "runtime/plan/PlanView.h"

#include "runtime/exec/Status.h"

#include <algorithm>

using namespace frit;
using namespace frit::artifact;

bool frit::isCudaArch(std::string_view arch) {
  return arch.starts_with("sm_") || arch.starts_with("compute_");
}

unsigned frit::operandCount(const Gemm &gemm) {
  return 3 + (gemm.hasBias ? 1 : 0) + (gemm.hasResidual ? 1 : 0);
}

unsigned frit::operandCount(const Conv &conv) {
  if (conv.quantized)
    return 5 + (conv.hasOffset ? 1 : 0) + (conv.scales ? 1 : 0) +
           (conv.hasBias ? 1 : 0) + (conv.hasZeroY ? 1 : 0);
  return 3 + (conv.hasBias ? 1 : 0) + (conv.hasResidual ? 1 : 0);
}

unsigned frit::operandCount(const Attention &attention) {
  return attention.inputs + 1;
}

std::span<const Buffer> PlanView::kernelArguments(const Step &step) const {
  std::span<const Buffer> all = arguments(step);
  if (step.kind == StepKind::gemm)
    return all.first(operandCount(gemm(step)));
  if (step.kind == StepKind::conv)
    return all.first(operandCount(conv(step)));
  if (step.kind == StepKind::attention)
    return all.first(operandCount(attention(step)));
  if (step.kind == StepKind::launch && kernels()[step.kernel].workspaceBytes)
    return all.first(all.size() - 1);
  return all;
}

std::vector<std::span<const Step>> PlanView::lists(const Target &target) const {
  std::vector<std::span<const Step>> all = {steps(target.prepare),
                                            steps(target.derive)};
  for (const Program &program : allPrograms(target))
    all.push_back(steps(program.steps));
  return all;
}

bool PlanView::hasStrings() const {
  auto isString = [](const Tensor &tensor) {
    return tensor.type == DType::string;
  };
  return stringProgram().steps.count ||
         std::ranges::any_of(inputs(0), isString) ||
         std::ranges::any_of(outputs(0), isString);
}

uint64_t PlanView::arenaBytes(const Target &target) const {
  uint64_t most = 0;
  for (const Program &program : programs(target))
    most = std::max(most, program.arenaBytes);
  return most;
}

const ShardedState *PlanView::shardAt(uint64_t offset) const {
  auto after =
      std::ranges::upper_bound(shards(), offset, {}, &ShardedState::offset);
  if (after == shards().begin())
    return nullptr;
  const ShardedState &last = *std::prev(after);
  return offset - last.offset < last.bytes() ? &last : nullptr;
}

uint64_t PlanView::shardBytes(uint64_t offset, uint32_t rank,
                              uint32_t ranks) const {
  uint64_t bytes = 0;
  for (const ShardedState &state : shards())
    if (state.offset < offset)
      bytes += shardOf(state.rows, rank, ranks).rows() * kShardRow * 4;
  return bytes;
}

bool PlanView::usesShards(std::span<const Step> steps) const {
  return std::ranges::any_of(steps, [&](const Step &step) {
    return std::ranges::any_of(arguments(step), [&](const Buffer &buffer) {
      return buffer.space == Space::state && buffer.offset >= wholeBytes();
    });
  });
}

bool PlanView::writesState(const Step &step) const {
  return std::ranges::any_of(arguments(step), [](const Buffer &buffer) {
    return buffer.space == Space::state && buffer.written;
  });
}

uint64_t PlanView::bytesOf(const Step &step) const {
  uint64_t bytes = 0;
  for (const Buffer &buffer : kernelArguments(step))
    bytes += buffer.bytes;
  uint64_t skipped =
      step.kind == StepKind::launch ? kernels()[step.kernel].skipped : 0;
  return bytes - std::min(bytes, skipped);
}

uint64_t PlanView::flopsOf(const Step &step) const {
  // Overflow would only make a report wrong.
  auto product = [](std::initializer_list<int64_t> sizes) {
    uint64_t result = 2;
    for (int64_t size : sizes)
      result *= uint64_t(size);
    return result;
  };
  if (step.kind == StepKind::gemm) {
    const Gemm &g = gemm(step);
    return product({g.batch, g.m, g.n, g.k});
  }
  if (step.kind == StepKind::conv) {
    const Conv &c = conv(step);
    return product({c.n, c.p, c.q, c.k, c.r, c.s, c.c / c.groups});
  }
  if (step.kind == StepKind::attention) {
    const Attention &a = attention(step);
    uint64_t flops =
        product({a.batch, a.heads, a.queries, a.keys, a.size + a.valueSize});
    // Five products instead of two.
    if (a.gradient)
      flops = flops / 2 * 5;
    return a.causal ? flops / 2 : flops;
  }
  return step.kernel == kNone ? 0 : kernels()[step.kernel].flops;
}

std::string PlanView::textOf(const Guard &guard, const char *by) const {
  return format("if %s%s", guard.when ? "true" : "false", by);
}

/// Describes a collective that no node of the model asks for, as those of
/// training.
static std::string describeCollective(Collective collective, uint64_t bytes) {
  // The optimizer's buckets consist of whole rows of at least 16 bits.
  bool isBucket = bytes && bytes % (kShardRow * 2) == 0;
  const CollectiveTraits traits = traitsOf(collective);
  const char *of = !isBucket        ? ""
                   : traits.gathers ? " of weights"
                                    : " of gradients";
  return format("the %s of %s%s", traits.phrase, formatBytes(bytes).c_str(),
                of);
}

std::string PlanView::nodeOf(const Step &step) const {
  std::string name(text(step.node));
  if (name.empty() && step.kind == StepKind::collective) {
    std::span<const Buffer> buffers = arguments(step);
    return describeCollective(Collective(step.problem),
                              buffers.empty() ? 0 : buffers[0].bytes);
  }
  if (name.empty())
    return "a step of no node";
  // The compiler already writes "node 'x' (Conv)" if it knows the kind.
  return name.starts_with("node '") ? name : "node '" + name + "'";
}
