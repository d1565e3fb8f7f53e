//===- EmulatedPlan.cpp - Run a CUDA target's plan on the host ------------===//

#include "test/emulator/EmulatedPlan.h"

#include "runtime/exec/Executor.h"
#include "runtime/exec/SharedLibrary.h"
#include "runtime/exec/Types.h"
#include "test/emulator/FencedArguments.h"
#include "test/emulator/tensor_map.h"

#include <algorithm>
#include <csignal>
#include <cstring>
#include <dlfcn.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace frit;
using namespace frit::emulation;
using artifact::Space;
using artifact::StepKind;

/// Alignment in bytes that skeletons assume of every argument.
static constexpr uintptr_t kArgumentAlignment = 16;

/// Byte of uninitialized memory: NaN in every float type.
static constexpr uint8_t kPoison = 0xFF;

/// Bytes around the steps' arguments that are checked for stray writes. Library
/// workspaces, which are unused here, are far larger.
static constexpr uint64_t kMargin = 64 << 10;

static Status allocatePoisoned(cpu::HostMemory &memory, uint64_t bytes,
                               const char *purpose) {
  FRIT_TRY(memory.allocate(bytes, purpose));
  if (bytes)
    memset(memory.data(), kPoison, bytes);
  return Status();
}

//===----------------------------------------------------------------------===//
// Opening
//===----------------------------------------------------------------------===//

static std::string folderOf(const std::string &path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : path.substr(0, slash);
}

Status EmulatedPlan::open(const std::string &model,
                          const std::string &kernelsPath, int kernelsUnit,
                          const std::string &arch,
                          const std::string &function) {
  unit = kernelsUnit;
  void *library = nullptr;
  const frit_image *image = nullptr;
  FRIT_TRY(openModelLibrary(model, library, image));
  FRIT_TRY(PlanView::open(*image, view));
  if (!function.empty()) {
    size_t index = 0;
    for (const artifact::Function &other : view.functions()) {
      if (view.text(other.name) == function)
        break;
      ++index;
    }
    if (index == view.functions().size())
      return Status(FRIT_INVALID_ARGUMENT,
                    "there is no function '" + function + "'");
    view = view.of(index);
  }
  FRIT_TRY(weights.open(view, *image, folderOf(model)));
  for (const artifact::Target &candidate : view.targets()) {
    std::string_view name = view.text(candidate.arch);
    if (!target && (arch.empty() ? isCudaArch(name) : name == arch))
      target = &candidate;
  }
  if (!target)
    return Status(FRIT_NO_DEVICE, "the artifact has no such CUDA target");

  std::string exact = kernelsPath.find('/') == std::string::npos
                          ? "./" + kernelsPath
                          : kernelsPath;
  kernels = dlopen(exact.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!kernels)
    return Status(FRIT_IO_ERROR, dlerror());

  for (uint32_t index = 0; index < view.constants().size(); ++index) {
    uint64_t bytes = view.constants()[index].bytes;
    FRIT_TRY(constants.emplace_back().allocate(bytes, "a constant"));
    if (bytes)
      memcpy(constants.back().data(), weights.data(index), bytes);
  }
  FRIT_TRY(state.allocateZeros(view.header().stateBytes, "the state"));
  resetState();
  FRIT_TRY(
      allocatePoisoned(prepared, target->preparedBytes, "prepared weights"));
  return runSteps(view.steps(target->prepare), target->prepareArenaBytes);
}

void EmulatedPlan::resetState() {
  if (state.bytes())
    memset(state.data(), 0, state.bytes());
  for (const artifact::State &tensor : view.states())
    if (tensor.constant != artifact::kNone && tensor.bytes)
      memcpy(state.data() + tensor.offset, weights.data(tensor.constant),
             tensor.bytes);
  derived.emplace(view);
}

void EmulatedPlan::setStateTensor(size_t index, const void *from) {
  const artifact::State &tensor = view.states()[index];
  memcpy(state.data() + tensor.offset, from, tensor.bytes);
  derived->noteWrite(tensor);
}

void EmulatedPlan::setSeed(uint64_t seed) const {
  using SetSeed = void (*)(uint64_t);
  if (auto set = reinterpret_cast<SetSeed>(dlsym(kernels, "emu_set_seed")))
    set(seed);
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

Status EmulatedPlan::run(size_t variant,
                         const std::vector<const void *> &values) {
  inputs.clear();
  outputs.clear();
  for (const artifact::Tensor &tensor : view.inputs(variant)) {
    FRIT_TRY(inputs.emplace_back().allocate(tensor.bytes, "an input"));
    if (tensor.bytes)
      memcpy(inputs.back().data(), values[inputs.size() - 1], tensor.bytes);
  }
  const artifact::Program &program = view.programs(*target)[variant];
  for (const artifact::Tensor &tensor : view.outputs(variant))
    FRIT_TRY(
        allocatePoisoned(outputs.emplace_back(), tensor.bytes, "an output"));
  DerivedUse use = useOf(view, view.steps(program.steps));
  if (derived->hasStale(use))
    FRIT_TRY(derive(program));
  derived->noteCall(use);
  FRIT_TRY(runSteps(view.steps(program.steps), program.arenaBytes));
  size_t done = steps;
  FRIT_TRY(checkDerived(program));
  steps = done;
  return Status();
}

/// Runs the derive list in the arena of a program.
Status EmulatedPlan::derive(const artifact::Program &program) {
  std::span<const artifact::Step> list = view.steps(target->derive);
  FRIT_TRY(runSteps(list, program.arenaBytes));
  derived->noteDerived(list);
  return Status();
}

/// Checks that the derive list changes no derived state that is not stale.
Status EmulatedPlan::checkDerived(const artifact::Program &program) {
  if (!target->derive.count)
    return Status();
  std::vector<uint8_t> kept(state.data(), state.data() + state.bytes());
  std::vector<uint32_t> fresh;
  for (uint32_t index = 0; index < view.derived().size(); ++index)
    if (!derived->hasStale({{index}, {}}))
      fresh.push_back(index);
  FRIT_TRY(derive(program));
  for (uint32_t index : fresh) {
    const artifact::DerivedState &part = view.derived()[index];
    if (memcmp(kept.data() + part.offset, state.data() + part.offset,
               part.bytes))
      return Status(FRIT_BAD_MODEL,
                    format("derived state %u differs from its source", index));
  }
  return Status();
}

Status EmulatedPlan::runSteps(std::span<const artifact::Step> list,
                              uint64_t arenaBytes) {
  FRIT_TRY(makeArena(list, arenaBytes));
  steps = list.size();
  std::vector<size_t> order = orderOf(list);
  for (size_t turn = 0; turn < order.size(); ++turn) {
    const artifact::Step &step = list[order[turn]];
    if (step.kind == StepKind::guard) {
      turn += skip(list.subspan(order[turn] + 1), step);
      continue;
    }
    FRIT_TRY(stepFailed(view, step, runStep(step)));
    FRIT_TRY(stepFailed(view, step, checkArena(step)));
  }
  return Status();
}

/// Returns an order that runs the last ready step first, to differ as much as
/// possible from the list's order, for which memory was planned.
std::vector<size_t>
EmulatedPlan::orderOf(std::span<const artifact::Step> list) const {
  std::vector<size_t> order;
  std::vector<bool> done(list.size());
  while (order.size() < list.size()) {
    size_t next = list.size() - 1;
    while (done[next] ||
           !std::ranges::all_of(view.follows(list[next]),
                                [&](uint32_t other) { return done[other]; }))
      --next;
    // The steps of a guard end before a step outside may follow the guard.
    size_t end = next + 1;
    if (list[next].kind == StepKind::guard)
      end += view.guard(list[next]).steps;
    for (size_t index = next; index < end; ++index) {
      order.push_back(index);
      done[index] = true;
    }
  }
  return order;
}

/// Returns the number of steps that a guard skips. Poisons their outputs,
/// because nothing may read them, except those in the state, which skipped
/// steps do not change.
size_t EmulatedPlan::skip(std::span<const artifact::Step> next,
                          const artifact::Step &step) {
  const artifact::Guard &guard = view.guard(step);
  auto *condition = static_cast<uint8_t *>(resolve(view.arguments(step)[0]));
  if ((*condition != 0) == (guard.when != 0))
    return 0;
  for (const artifact::Step &skipped : next.first(guard.steps)) {
    for (const artifact::Buffer &buffer : view.kernelArguments(skipped))
      if (buffer.written && buffer.bytes && buffer.space != Space::state)
        memset(resolve(buffer), kPoison, buffer.bytes);
    accept(skipped);
  }
  return guard.steps;
}

void *EmulatedPlan::resolve(const artifact::Buffer &buffer) const {
  auto *base = static_cast<uint8_t *>(nullptr);
  switch (buffer.space) {
  case Space::input:
    base = inputs[buffer.index].data();
    break;
  case Space::output:
    base = outputs[buffer.index].data();
    break;
  case Space::constant:
    base = constants[buffer.index].data();
    break;
  case Space::arena:
    base = arena.data();
    break;
  case Space::prepared:
    base = prepared.data();
    break;
  case Space::state:
    base = state.data();
    break;
  }
  return base + buffer.offset;
}

Status EmulatedPlan::runStep(const artifact::Step &step) {
  std::span<const artifact::Buffer> buffers = view.kernelArguments(step);
  std::vector<void *> arguments;
  for (const artifact::Buffer &buffer : buffers)
    arguments.push_back(resolve(buffer));
  switch (artifact::runnerOf(step.kind)) {
#define RUNNER(Name)                                                           \
  case artifact::StepRunner::Name:                                             \
    return run##Name(step, arguments);
    FRIT_STEP_RUNNERS(RUNNER)
#undef RUNNER
  }
  return Status();
}

/// Steps for cuBLAS and cuDNN run their fallback kernels.
Status EmulatedPlan::runCall(const artifact::Step &step,
                             std::span<void *const> arguments) {
  return runKernel(step, arguments);
}

Status EmulatedPlan::runCopy(const artifact::Step &step,
                             std::span<void *const> arguments) {
  if (uint64_t bytes = view.kernelArguments(step)[0].bytes)
    memmove(arguments[1], arguments[0], bytes);
  return Status();
}

/// There is one rank, and `skip` reads the conditions of guards.
using Arguments = std::span<void *const>;
Status EmulatedPlan::runExchange(const artifact::Step &, Arguments) {
  return Status();
}
Status EmulatedPlan::runAwait(const artifact::Step &, Arguments) {
  return Status();
}
Status EmulatedPlan::runGuard(const artifact::Step &, Arguments) {
  return Status();
}

Status EmulatedPlan::runKernel(const artifact::Step &step,
                               std::span<void *const> arguments) {
  if (step.kernel == artifact::kNone)
    return noKernel(view, step);
  std::string name(view.text(view.kernels()[step.kernel].name));
  auto entry = reinterpret_cast<Entry>(
      dlsym(kernels, format("emu%d_%s", unit, name.c_str()).c_str()));
  auto failures = reinterpret_cast<int (*)()>(dlsym(kernels, "emu_failures"));
  if (!entry || !failures)
    return Status(FRIT_BAD_MODEL,
                  format("the kernels have no '%s'", name.c_str()));
  for (size_t index = 0; index < arguments.size(); ++index)
    if (reinterpret_cast<uintptr_t>(arguments[index]) % kArgumentAlignment)
      return Status(FRIT_BAD_MODEL,
                    format("argument %zu of '%s' is not 16-byte aligned", index,
                           name.c_str()));
  FencedArguments fenced;
  std::span<const artifact::Buffer> buffers = view.kernelArguments(step);
  for (size_t index = 0; index < buffers.size(); ++index)
    fenced.add(arguments[index], buffers[index].bytes, buffers[index].written);
  if (!fenced.copyIn())
    return Status(FRIT_OUT_OF_MEMORY, "no memory for a step's arguments");
  std::vector<void *> copies;
  for (size_t index = 0; index < buffers.size(); ++index)
    copies.push_back(fenced.addressOf(arguments[index], buffers[index].bytes));
  arguments = copies;
  std::vector<emu::TensorMap> maps;
  for (const artifact::TensorMap &map :
       view.tensorMaps(view.kernels()[step.kernel])) {
    char *argument = static_cast<char *>(arguments[map.argument]);
    maps.push_back({map, argument + map.offset});
  }
  std::vector<emu::EncodedMap> encoded(maps.size());
  std::vector<void *> parameters(arguments.begin(), arguments.end());
  for (size_t index = 0; index < maps.size(); ++index) {
    encoded[index].map = &maps[index];
    parameters.push_back(&encoded[index]);
  }
  for (const int64_t &scalar : view.scalars(view.kernels()[step.kernel]))
    parameters.push_back(const_cast<int64_t *>(&scalar));
  int before = failures();
  {
    KernelRun running(name);
    entry(parameters.data(), step.grid, step.block, step.sharedBytes);
  }
  fenced.copyOut();
  if (failures() != before)
    return Status(FRIT_DEVICE_ERROR, format("'%s' failed", name.c_str()));
  return Status();
}

/// Allocates the arena of a list, poisoned around the steps' arguments.
Status EmulatedPlan::makeArena(std::span<const artifact::Step> list,
                               uint64_t bytes) {
  FRIT_TRY(arena.allocate(bytes, "the arena"));
  FRIT_TRY(before.allocate(bytes, "the arena before a step"));
  watched.clear();
  for (const artifact::Step &step : list)
    for (const artifact::Buffer &buffer : view.kernelArguments(step))
      if (buffer.space == Space::arena && buffer.bytes)
        watched.push_back(
            {buffer.offset - std::min(buffer.offset, kMargin),
             std::min(buffer.offset + buffer.bytes + kMargin, bytes)});
  std::ranges::sort(watched, {}, &Range::begin);
  size_t merged = 0;
  for (Range range : watched)
    if (merged && range.begin <= watched[merged - 1].end)
      watched[merged - 1].end = std::max(watched[merged - 1].end, range.end);
    else
      watched[merged++] = range;
  watched.resize(merged);
  for (Range range : watched)
    for (uint8_t *memory : {arena.data(), before.data()})
      memset(memory + range.begin, kPoison, range.end - range.begin);
  return Status();
}

/// Accepts the present contents of the step's declared outputs.
void EmulatedPlan::accept(const artifact::Step &step) {
  for (const artifact::Buffer &buffer : view.kernelArguments(step))
    if (buffer.written && buffer.space == Space::arena && buffer.bytes)
      memcpy(before.data() + buffer.offset, arena.data() + buffer.offset,
             buffer.bytes);
}

/// Checks that a step changed only its declared outputs.
Status EmulatedPlan::checkArena(const artifact::Step &step) {
  accept(step);
  const uint8_t *now = arena.data();
  for (Range range : watched) {
    if (!memcmp(before.data() + range.begin, now + range.begin,
                range.end - range.begin))
      continue;
    auto where = std::mismatch(now + range.begin, now + range.end,
                               before.data() + range.begin);
    return Status(FRIT_BAD_MODEL,
                  format("wrote to byte %zu of the arena, which is none of its "
                         "results",
                         size_t(where.first - now)));
  }
  return Status();
}
