//===- HostModel.cpp - A loaded model on the host -------------------------===//

#include "runtime/cpu/HostModel.h"

#include <algorithm>
#include <thread>

using namespace frit;
using namespace frit::cpu;

/// Adds and saturates.
static uint64_t sum(uint64_t a, uint64_t b) {
  return a > ~b ? ~uint64_t(0) : a + b;
}

unsigned HostModel::threadCount() const {
  unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  return model.threads ? model.threads : cores;
}

ScratchSize HostModel::callScratch(Isa isa, unsigned threads) const {
  ScratchSize size;
  for (size_t variant = 0; variant < model.plan.variants().size(); ++variant)
    size.include(scratchOf(model.plan, model.steps(variant), isa, threads));
  return size;
}

uint64_t HostModel::contextBytes() const {
  unsigned threads = threadCount();
  uint64_t bytes = sum(sum(alignedBytes(model.plan.arenaBytes(*model.target)),
                           callScratch(bestIsa(), threads).total(threads)),
                       model.plan.header().stateBytes);
  for (size_t i = modelInputs(); i < model.plan.inputs(0).size(); ++i)
    bytes = sum(bytes, model.inputBytes(i));
  for (size_t i = modelOutputs(); i < model.plan.outputs(0).size(); ++i)
    bytes = sum(bytes, model.outputBytes(i));
  return bytes;
}

uint64_t HostModel::copyBytes() const {
  uint64_t bytes = 0;
  for (size_t i = 0; i < modelInputs(); ++i)
    bytes = sum(bytes, model.inputBytes(i));
  for (size_t i = 0; i < modelOutputs(); ++i)
    bytes = sum(bytes, model.outputBytes(i));
  return bytes;
}

Status cpu::allocateArena(uint64_t bytes, const ScratchSize &scratch,
                          const char *purpose, HostMemory &arena,
                          ThreadPool &pool) {
  bytes = alignedBytes(bytes);
  FRIT_TRY(arena.allocate(sum(bytes, scratch.total(pool.size())), purpose));
  pool.setScratch(arena.data() + bytes, scratch);
  return Status();
}
