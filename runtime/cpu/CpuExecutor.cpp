//===- CpuExecutor.cpp - Run a plan on the host ---------------------------===//

#include "runtime/cpu/CpuSteps.h"
#include "runtime/cpu/HostMemory.h"

#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>
#include <unistd.h>

using namespace frit;
using namespace frit::cpu;

/// Generated code may use aligned vector accesses up to this many bytes.
static constexpr uintptr_t kVectorBytes = 64;

namespace {
class CpuExecutor final : public Executor {
public:
  explicit CpuExecutor(Model &model) : model(model) {}

  Status load();
  Status createExecution(std::unique_ptr<Execution> &execution) override;
  void describe(frit_device_info &info) const override;

  unsigned threadCount() const {
    unsigned cores = std::max(1u, std::thread::hardware_concurrency());
    return model.threads ? model.threads : cores;
  }

  Model &model;
  std::vector<void *> constants; ///< null where not needed by a call
  HostMemory prepared;

private:
  Status copyMisaligned();
  Status prepare();

  HostMemory copies;
  std::string processor;
};

class CpuExecution final : public Execution {
public:
  explicit CpuExecution(CpuExecutor &executor)
      : executor(executor), pool(executor.threadCount()) {}

  Status open();
  Status run(std::span<const Binding> inputs, std::span<const Binding> outputs,
             bool wait) override;
  Status profile(std::span<const Binding> inputs,
                 std::span<const Binding> outputs,
                 std::vector<StepTime> &times) override;
  Status synchronize() override { return Status(); }
  void *inputBuffer(uint32_t index) override;
  void *outputBuffer(uint32_t index) override;
  std::string pick(uint32_t step) const override { return steps->pick(step); }

private:
  Status bind(std::span<const Binding> inputs,
              std::span<const Binding> outputs);
  void copyOut(std::span<const Binding> outputs);

  CpuExecutor &executor;
  ThreadPool pool;
  HostMemory arena;
  std::vector<HostMemory> ownInputs, ownOutputs;
  std::vector<void *> inputPointers, outputPointers;
  std::unique_ptr<CpuSteps> steps;
};
} // namespace

//===----------------------------------------------------------------------===//
// CpuExecutor
//===----------------------------------------------------------------------===//

static std::string processorName() {
  std::string name = "processor";
  if (FILE *file = fopen("/proc/cpuinfo", "re")) {
    char line[256];
    while (fgets(line, sizeof line, file))
      if (!strncmp(line, "model name", 10))
        if (const char *colon = strchr(line, ':')) {
          name.assign(colon + 2, strcspn(colon + 2, "\n"));
          break;
        }
    fclose(file);
  }
  return name;
}

Status CpuExecutor::load() {
  processor = processorName();
  size_t count = model.plan.constants().size();
  for (uint32_t index = 0; index < count; ++index)
    constants.push_back(const_cast<void *>(model.weights.data(index)));
  FRIT_TRY(copyMisaligned());
  return prepare();
}

/// Weights in a file lie where its format put them; kernels want better.
Status CpuExecutor::copyMisaligned() {
  std::span<const artifact::Constant> all = model.plan.constants();
  auto misaligned = [&](size_t index) {
    return reinterpret_cast<uintptr_t>(constants[index]) % kVectorBytes &&
           all[index].bytes;
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

Status CpuExecutor::prepare() {
  const artifact::Target &target = *model.target;
  FRIT_TRY(prepared.allocate(target.preparedBytes, "the prepared weights"));
  std::span<const artifact::Step> list = model.plan.steps(target.prepare);
  if (list.empty())
    return Status();
  HostMemory scratch;
  FRIT_TRY(scratch.allocate(target.prepareArenaBytes, "preparing the weights"));
  ThreadPool pool(threadCount());
  CpuSteps steps(model, list, {constants, scratch.data(), prepared.data()});
  for (size_t index = 0; index < steps.size(); ++index)
    FRIT_TRY(steps.run(index, pool));
  return Status();
}

Status CpuExecutor::createExecution(std::unique_ptr<Execution> &execution) {
  auto opened = std::make_unique<CpuExecution>(*this);
  FRIT_TRY(opened->open());
  execution = std::move(opened);
  return Status();
}

void CpuExecutor::describe(frit_device_info &info) const {
  info.name = processor.c_str();
  uint64_t page = uint64_t(sysconf(_SC_PAGESIZE));
  info.memory_bytes = page * uint64_t(sysconf(_SC_PHYS_PAGES));
  info.free_bytes = page * uint64_t(sysconf(_SC_AVPHYS_PAGES));
  info.module_bytes = prepared.bytes() + copies.bytes();
  info.threads = threadCount();
}

//===----------------------------------------------------------------------===//
// CpuExecution
//===----------------------------------------------------------------------===//

Status CpuExecution::open() {
  const Model &model = executor.model;
  FRIT_TRY(arena.allocate(model.target->arenaBytes, "the model's arena"));
  ownInputs.resize(model.plan.inputs().size());
  ownOutputs.resize(model.plan.outputs().size());
  inputPointers.resize(ownInputs.size());
  outputPointers.resize(ownOutputs.size());
  steps = std::make_unique<CpuSteps>(
      model, model.steps(),
      Spaces{executor.constants, arena.data(), executor.prepared.data()});
  return Status();
}

void *CpuExecution::inputBuffer(uint32_t index) {
  uint64_t bytes = executor.model.plan.inputs()[index].bytes;
  HostMemory &own = ownInputs[index];
  if (!own.data() && own.allocate(bytes, "an input").failed())
    return nullptr;
  return own.data();
}

void *CpuExecution::outputBuffer(uint32_t index) {
  uint64_t bytes = executor.model.plan.outputs()[index].bytes;
  HostMemory &own = ownOutputs[index];
  if (!own.data() && own.allocate(bytes, "an output").failed())
    return nullptr;
  return own.data();
}

static bool isAligned(const void *data) {
  return reinterpret_cast<uintptr_t>(data) % kVectorBytes == 0;
}

static bool overlap(const void *a, uint64_t aBytes, const void *b,
                    uint64_t bBytes) {
  auto first = reinterpret_cast<uintptr_t>(a);
  auto second = reinterpret_cast<uintptr_t>(b);
  return first < second + bBytes && second < first + aBytes;
}

/// The caller's memory is used in place where it is aligned; an input that an
/// output would overwrite, and memory that is not aligned, is copied.
Status CpuExecution::bind(std::span<const Binding> inputs,
                          std::span<const Binding> outputs) {
  const PlanView &plan = executor.model.plan;
  for (uint32_t i = 0; i < inputs.size(); ++i) {
    uint64_t bytes = plan.inputs()[i].bytes;
    bool inPlace = isAligned(inputs[i].data);
    for (uint32_t o = 0; o < outputs.size(); ++o)
      if (outputs[o].data && overlap(inputs[i].data, bytes, outputs[o].data,
                                     plan.outputs()[o].bytes))
        inPlace = false;
    inputPointers[i] = inputs[i].data;
    if (inPlace || !bytes)
      continue;
    inputPointers[i] = inputBuffer(i);
    if (!inputPointers[i])
      return Status(FRIT_OUT_OF_MEMORY, "no memory for a copy of an input");
    memmove(inputPointers[i], inputs[i].data, bytes);
  }
  for (uint32_t o = 0; o < outputs.size(); ++o) {
    outputPointers[o] = outputs[o].data;
    if ((outputs[o].data && isAligned(outputs[o].data)) ||
        !plan.outputs()[o].bytes)
      continue;
    outputPointers[o] = outputBuffer(o);
    if (!outputPointers[o])
      return Status(FRIT_OUT_OF_MEMORY, "no memory for an output");
  }
  steps->bindInputs(inputPointers);
  steps->bindOutputs(outputPointers);
  return Status();
}

void CpuExecution::copyOut(std::span<const Binding> outputs) {
  for (uint32_t o = 0; o < outputs.size(); ++o)
    if (outputs[o].data && outputs[o].data != outputPointers[o])
      memcpy(outputs[o].data, outputPointers[o],
             executor.model.plan.outputs()[o].bytes);
}

Status CpuExecution::run(std::span<const Binding> inputs,
                         std::span<const Binding> outputs, bool) {
  FRIT_TRY(bind(inputs, outputs));
  for (size_t index = 0; index < steps->size(); ++index)
    FRIT_TRY(steps->run(index, pool));
  copyOut(outputs);
  return Status();
}

Status CpuExecution::profile(std::span<const Binding> inputs,
                             std::span<const Binding> outputs,
                             std::vector<StepTime> &times) {
  using Clock = std::chrono::steady_clock;
  auto since = [](Clock::time_point start) {
    return std::chrono::duration<double, std::micro>(Clock::now() - start)
        .count();
  };
  FRIT_TRY(bind(inputs, outputs));
  Clock::time_point begin = Clock::now();
  for (size_t index = 0; index < steps->size(); ++index) {
    double start = since(begin);
    FRIT_TRY(steps->run(index, pool));
    times.push_back({start, since(begin) - start});
  }
  copyOut(outputs);
  return Status();
}

Status frit::createCpuExecutor(Model &model,
                               std::unique_ptr<Executor> &executor) {
  auto opened = std::make_unique<CpuExecutor>(model);
  FRIT_TRY(opened->load());
  executor = std::move(opened);
  return Status();
}
