//===- HostTarget.cpp - A target of an artifact on the host ---------------===//

#include "runtime/cpu/HostTarget.h"

#include <algorithm>
#include <cstring>
#include <thread>

using namespace frit;
using namespace frit::cpu;

unsigned cpu::threadCount(const Model &model) {
  unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  return model.threads ? model.threads : cores;
}

Status HostTarget::load() {
  ++version;
  constants.clear();
  size_t count = model.plan.constants().size();
  for (uint32_t index = 0; index < count; ++index)
    constants.push_back(const_cast<void *>(model.weights->data(index)));
  FRIT_TRY(copyMisaligned());
  FRIT_TRY(prepare());
  packed.pack(model, constants, prepared.data());
  return Status();
}

/// Copies weights whose alignment in their file is too small for vectors.
Status HostTarget::copyMisaligned() {
  std::span<const artifact::Constant> all = model.plan.constants();
  const artifact::Target &target = *model.target;
  std::vector<bool> isRead(all.size());
  for (std::span<const artifact::Step> list : model.plan.lists(target))
    for (const artifact::Step &step : list)
      for (const artifact::Buffer &buffer : model.plan.arguments(step))
        if (buffer.space == artifact::Space::constant)
          isRead[buffer.index] = true;
  auto misaligned = [&](size_t index) {
    return isRead[index] && all[index].bytes &&
           reinterpret_cast<uintptr_t>(constants[index]) % kVectorBytes;
  };
  auto rounded = [&](size_t index) {
    return (all[index].bytes + kVectorBytes - 1) / kVectorBytes * kVectorBytes;
  };
  uint64_t total = 0;
  for (size_t index = 0; index < all.size(); ++index)
    if (misaligned(index))
      total += rounded(index);
  FRIT_TRY(copies.allocate(total, "a copy of the weights"));
  uint8_t *next = copies.data();
  for (size_t index = 0; index < all.size(); ++index) {
    if (!misaligned(index))
      continue;
    memcpy(next, constants[index], all[index].bytes);
    constants[index] = next;
    next += rounded(index);
  }
  return Status();
}

Status HostTarget::prepare() {
  const artifact::Target &target = *model.target;
  FRIT_TRY(prepared.allocate(target.preparedBytes,
                             "the memory of prepared weights"));
  std::span<const artifact::Step> list = model.plan.steps(target.prepare);
  if (list.empty())
    return Status();
  ThreadPool pool(threadCount(model));
  HostMemory arena(model.memory);
  FRIT_TRY(allocateArena(target.prepareArenaBytes,
                         scratchOf(model.plan, list, pool.isa(), pool.size()),
                         "preparing the weights", arena, pool));
  CpuSteps steps(model, list, {constants, arena.data(), prepared.data()});
  for (size_t index = 0; index < steps.size(); ++index)
    FRIT_TRY(steps.run(index, pool));
  return Status();
}

Status cpu::allocateArena(uint64_t bytes, const ScratchSize &scratch,
                          const char *purpose, HostMemory &arena,
                          ThreadPool &pool) {
  bytes = alignedBytes(bytes);
  FRIT_TRY(
      arena.allocate(addSizes(bytes, scratch.total(pool.size())), purpose));
  pool.setScratch(arena.data() + bytes, scratch);
  return Status();
}
