//===- EmulatedPlan.cpp - A CUDA target's plan, run on the host -----------===//

#include "test/emulator/EmulatedPlan.h"

#include "runtime/exec/Executor.h"
#include "runtime/exec/SharedLibrary.h"

#include <algorithm>
#include <cstring>
#include <dlfcn.h>

using namespace frit;
using namespace frit::emulation;
using artifact::Space;
using artifact::StepKind;

/// What skeletons take for granted of every argument.
static constexpr uintptr_t kArgumentAlignment = 16;

/// Memory that nobody has written reads as this byte: NaN in every float type.
static constexpr uint8_t kPoison = 0xFF;

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
                          const std::string &kernelsPath,
                          const std::string &arch) {
  void *library = nullptr;
  const frit_image *image = nullptr;
  FRIT_TRY(openModelLibrary(model, library, image));
  FRIT_TRY(PlanView::open(*image, view));
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
  FRIT_TRY(
      allocatePoisoned(prepared, target->preparedBytes, "prepared weights"));
  cpu::HostMemory scratch;
  FRIT_TRY(allocatePoisoned(scratch, target->prepareArenaBytes, "preparation"));
  return runSteps(view.steps(target->prepare),
                  {scratch.data(), target->prepareArenaBytes});
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
  FRIT_TRY(allocatePoisoned(arena, program.arenaBytes, "the arena"));
  for (const artifact::Tensor &tensor : view.outputs(variant))
    FRIT_TRY(
        allocatePoisoned(outputs.emplace_back(), tensor.bytes, "an output"));
  return runSteps(view.steps(program.steps),
                  {arena.data(), program.arenaBytes});
}

Status EmulatedPlan::runSteps(std::span<const artifact::Step> list,
                              const Memory &memory) {
  steps = list.size();
  for (const artifact::Step &step : list) {
    before.assign(memory.arena, memory.arena + memory.arenaBytes);
    FRIT_TRY(stepFailed(view, step, runStep(step, memory)));
    FRIT_TRY(stepFailed(view, step, checkArena(step, memory)));
  }
  return Status();
}

void *EmulatedPlan::resolve(const artifact::Buffer &buffer,
                            const Memory &memory) const {
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
    base = memory.arena;
    break;
  case Space::prepared:
    base = prepared.data();
    break;
  }
  return base + buffer.offset;
}

Status EmulatedPlan::runStep(const artifact::Step &step, const Memory &memory) {
  std::span<const artifact::Buffer> buffers = view.arguments(step);
  std::vector<void *> arguments;
  for (const artifact::Buffer &buffer : buffers)
    arguments.push_back(resolve(buffer, memory));
  switch (step.kind) {
  case StepKind::copy:
    if (uint64_t bytes = buffers[0].bytes)
      memmove(arguments[1], arguments[0], bytes);
    return Status();
  case StepKind::gemm:
    arguments.resize(operandCount(view.gemm(step)));
    break;
  case StepKind::conv:
    arguments.resize(operandCount(view.conv(step)));
    break;
  case StepKind::launch:
    break;
  }
  return launch(step, arguments);
}

Status EmulatedPlan::launch(const artifact::Step &step,
                            std::span<void *const> arguments) {
  if (step.kernel == artifact::kNone)
    return noKernel(view, step);
  std::string name(view.text(view.kernels()[step.kernel].name));
  auto entry = reinterpret_cast<Entry>(dlsym(kernels, ("emu_" + name).c_str()));
  auto failures = reinterpret_cast<int (*)()>(dlsym(kernels, "emu_failures"));
  if (!entry || !failures)
    return Status(FRIT_BAD_MODEL,
                  format("the kernels have no '%s'", name.c_str()));
  for (size_t index = 0; index < arguments.size(); ++index)
    if (reinterpret_cast<uintptr_t>(arguments[index]) % kArgumentAlignment)
      return Status(FRIT_BAD_MODEL,
                    format("argument %zu of '%s' is not 16-byte aligned", index,
                           name.c_str()));
  int before = failures();
  entry(arguments.data(), step.grid, step.block, step.sharedBytes);
  if (failures() != before)
    return Status(FRIT_DEVICE_ERROR, format("'%s' failed", name.c_str()));
  return Status();
}

/// A step may change what its arguments say it writes, and nothing else.
Status EmulatedPlan::checkArena(const artifact::Step &step,
                                const Memory &memory) const {
  std::vector<uint8_t> expected = before;
  for (const artifact::Buffer &buffer : view.arguments(step))
    if (buffer.written && buffer.space == Space::arena && buffer.bytes)
      memcpy(&expected[buffer.offset], memory.arena + buffer.offset,
             buffer.bytes);
  if (expected.empty() ||
      !memcmp(expected.data(), memory.arena, expected.size()))
    return Status();
  auto where = std::mismatch(expected.begin(), expected.end(), memory.arena);
  return Status(FRIT_BAD_MODEL,
                format("wrote to byte %zu of the arena, which is none of its "
                       "results",
                       size_t(where.first - expected.begin())));
}
