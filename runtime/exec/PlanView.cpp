//===- PlanView.cpp - Check an artifact's plan ----------------------------===//

#include "runtime/exec/PlanView.h"
#include "runtime/exec/ProblemCheck.h"
#include "runtime/exec/TensorMapCheck.h"
#include "runtime/exec/Types.h"

#include <cstring>

using namespace frit;
using namespace frit::artifact;

static Status bad(std::string what) {
  return Status(FRIT_BAD_MODEL, "the model's plan is damaged: " + what);
}

/// Whether [offset, offset + size) lies in [0, limit).
static bool fits(uint64_t offset, uint64_t size, uint64_t limit) {
  return offset <= limit && size <= limit - offset;
}

bool frit::isCudaArch(std::string_view arch) {
  return arch.starts_with("sm_") || arch.starts_with("compute_");
}

unsigned frit::operandCount(const Gemm &gemm) {
  return 3 + (gemm.hasBias ? 1 : 0) + (gemm.hasResidual ? 1 : 0);
}

unsigned frit::operandCount(const Conv &conv) {
  return 3 + (conv.hasBias ? 1 : 0) + (conv.hasResidual ? 1 : 0);
}

std::span<const Buffer> PlanView::kernelArguments(const Step &step) const {
  std::span<const Buffer> all = arguments(step);
  if (step.kind == StepKind::gemm)
    return all.first(operandCount(gemm(step)));
  if (step.kind == StepKind::conv)
    return all.first(operandCount(conv(step)));
  return all;
}

uint64_t PlanView::bytesOf(const Step &step) const {
  uint64_t bytes = 0;
  for (const Buffer &buffer : kernelArguments(step))
    bytes += buffer.bytes;
  return bytes;
}

uint64_t PlanView::flopsOf(const Step &step) const {
  // A count that wraps around is wrong, but harms nobody.
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
  return step.kernel == kNone ? 0 : kernels()[step.kernel].flops;
}

std::string PlanView::nodeOf(const Step &step) const {
  std::string name(text(step.node));
  // The compiler says what kind of node it is where it knows.
  return name.starts_with("node '") ? name : "node '" + name + "'";
}

namespace frit {
/// The checks, in an order in which each may rely on those before it.
class PlanCheck {
public:
  PlanCheck(const frit_image &image, PlanView &plan)
      : image(image), plan(plan) {}

  Status run() {
    FRIT_TRY(checkHeader());
    FRIT_TRY(checkTables());
    FRIT_TRY(checkTensors());
    FRIT_TRY(checkConstants());
    for (size_t i = 0; i < plan.targets().size(); ++i)
      FRIT_TRY(checkTarget(plan.targets()[i]));
    return Status();
  }

private:
  Status checkHeader();
  Status checkTables();
  Status checkTensors();
  Status checkConstants();
  Status checkTarget(const Target &target);
  Status checkKernel(const Kernel &kernel, bool cuda);
  Status checkStep(const Target &target, const Step &step, bool preparing);
  Status checkArgument(const Target &target, const Buffer &buffer,
                       bool preparing);
  Status checkShape(const char *what, Text name, DType type, Range dims,
                    uint64_t bytes);

  bool valid(Text text) const {
    return fits(text.offset, text.size, plan.head->strings.size);
  }
  static bool valid(Range range, const Table &table) {
    return fits(range.first, range.count, table.count);
  }
  bool valid(Blob blob) const {
    return fits(blob.offset, blob.size, plan.head->bytes);
  }

  const frit_image &image;
  PlanView &plan;
};
} // namespace frit

Status PlanCheck::checkHeader() {
  if (image.abi != FRIT_IMAGE_ABI)
    return Status(FRIT_BAD_MODEL,
                  format("the model's image has ABI %u and this runtime reads "
                         "%u: compile the model with the same frit",
                         image.abi, FRIT_IMAGE_ABI));
  if (!image.plan)
    return bad("there is none");
  if (image.plan_bytes < sizeof(Header))
    return bad("it is shorter than its header");
  plan.base = static_cast<const uint8_t *>(image.plan);
  if (reinterpret_cast<uintptr_t>(plan.base) % alignof(Header))
    return bad("it is misaligned");
  plan.head = reinterpret_cast<const Header *>(plan.base);
  const Header &head = *plan.head;
  if (memcmp(head.magic, kMagic, sizeof kMagic))
    return bad("its magic bytes are wrong");
  if (head.version != kVersion)
    return Status(FRIT_BAD_MODEL,
                  format("the model's plan has version %u and this runtime "
                         "reads %u: compile the model with the same frit",
                         head.version, kVersion));
  if (head.headerBytes != sizeof(Header))
    return bad("its header has another size");
  if (head.bytes < sizeof(Header) || head.bytes > image.plan_bytes)
    return bad("it is cut off");
  if (image.kernel_count && !image.kernels)
    return bad("the image has no kernels");
  if (image.weight_bytes < head.weightBytes ||
      (head.weightBytes && !image.weights))
    return bad("the weights are cut off");
  return Status();
}

Status PlanCheck::checkTables() {
  const Header &head = *plan.head;
  const struct {
    const char *name;
    const Table &table;
    uint64_t entryBytes;
  } tables[] = {
      {"dims", head.dims, sizeof(int64_t)},
      {"inputs", head.inputs, sizeof(Tensor)},
      {"outputs", head.outputs, sizeof(Tensor)},
      {"constants", head.constants, sizeof(Constant)},
      {"buffers", head.buffers, sizeof(Buffer)},
      {"kernels", head.kernels, sizeof(Kernel)},
      {"tensor maps", head.tensorMaps, sizeof(TensorMap)},
      {"gemms", head.gemms, sizeof(Gemm)},
      {"convs", head.convs, sizeof(Conv)},
      {"steps", head.steps, sizeof(Step)},
      {"targets", head.targets, sizeof(Target)},
  };
  for (const auto &[name, table, entryBytes] : tables) {
    if (table.count > head.bytes / entryBytes ||
        !fits(table.offset, table.count * entryBytes, head.bytes))
      return bad(format("the table of %s reaches past its end", name));
    if (table.offset % 8)
      return bad(format("the table of %s is misaligned", name));
  }
  if (!valid(head.strings))
    return bad("its texts reach past its end");
  if (!valid(head.model) || !valid(head.producer))
    return bad("its name is out of range");
  if (plan.targets().empty())
    return bad("it has no target");
  return Status();
}

Status PlanCheck::checkShape(const char *what, Text name, DType type,
                             Range dims, uint64_t bytes) {
  if (!valid(name))
    return bad(format("the name of %s is out of range", what));
  std::string label(plan.text(name));
  if (!valid(dims, plan.head->dims))
    return bad(
        format("the shape of %s '%s' is out of range", what, label.c_str()));
  uint64_t size = elementBytes(type), count, total;
  if (!size)
    return bad(format("the type of %s '%s' is unknown", what, label.c_str()));
  if (!countElements(plan.dims(dims), count) ||
      __builtin_mul_overflow(count, size, &total) || total != bytes)
    return bad(format("the size of %s '%s' does not match its shape", what,
                      label.c_str()));
  return Status();
}

Status PlanCheck::checkTensors() {
  for (const Tensor &tensor : plan.inputs())
    FRIT_TRY(checkShape("input", tensor.name, tensor.type, tensor.dims,
                        tensor.bytes));
  for (const Tensor &tensor : plan.outputs())
    FRIT_TRY(checkShape("output", tensor.name, tensor.type, tensor.dims,
                        tensor.bytes));
  return Status();
}

Status PlanCheck::checkConstants() {
  for (const Constant &constant : plan.constants()) {
    FRIT_TRY(checkShape("weight", constant.name, constant.type, constant.dims,
                        constant.bytes));
    if (!valid(constant.file))
      return bad("the file of a weight is out of range");
    uint64_t limit = constant.file.size ? INT64_MAX : plan.head->weightBytes;
    if (!fits(constant.offset, constant.bytes, limit))
      return bad(format("weight '%s' reaches past the weights' end",
                        std::string(plan.text(constant.name)).c_str()));
  }
  return Status();
}

Status PlanCheck::checkKernel(const Kernel &kernel, bool cuda) {
  if (!valid(kernel.name))
    return bad("the name of a kernel is out of range");
  std::string name(plan.text(kernel.name));
  if (!cuda &&
      (kernel.host >= image.kernel_count || !image.kernels[kernel.host]))
    return bad(format("the image lacks kernel '%s'", name.c_str()));
  if (!valid(kernel.tensorMaps, plan.head->tensorMaps))
    return bad(format("the tensor maps of kernel '%s' are out of range",
                      name.c_str()));
  for (const TensorMap &map : plan.tensorMaps(kernel))
    if (const char *problem = checkTensorMap(map))
      return bad(format("kernel '%s': %s", name.c_str(), problem));
  return Status();
}

Status PlanCheck::checkTarget(const Target &target) {
  const Header &head = *plan.head;
  if (!valid(target.arch))
    return bad("the name of a target is out of range");
  if (!valid(target.cubin) || !valid(target.ptx))
    return bad("a target's code reaches past its end");
  if (!valid(target.kernels, head.kernels) ||
      !valid(target.prepare, head.steps) || !valid(target.main, head.steps))
    return bad("a target's kernels or steps are out of range");
  if (target.arenaBytes > INT64_MAX || target.prepareArenaBytes > INT64_MAX ||
      target.preparedBytes > INT64_MAX)
    return bad("a target's memory has an impossible size");
  bool cuda = isCudaArch(plan.text(target.arch));
  for (const Kernel &kernel :
       plan.kernels().subspan(target.kernels.first, target.kernels.count))
    FRIT_TRY(checkKernel(kernel, cuda));
  for (const Step &step : plan.steps(target.prepare))
    FRIT_TRY(checkStep(target, step, /*preparing=*/true));
  for (const Step &step : plan.steps(target.main))
    FRIT_TRY(checkStep(target, step, /*preparing=*/false));
  return Status();
}

Status PlanCheck::checkArgument(const Target &target, const Buffer &buffer,
                                bool preparing) {
  const Header &head = *plan.head;
  uint64_t limit = 0;
  bool writable = true;
  switch (buffer.space) {
  case Space::input:
  case Space::output: {
    bool input = buffer.space == Space::input;
    if (preparing)
      return bad("a prepare step uses an input or output");
    if (buffer.index >= (input ? head.inputs : head.outputs).count)
      return bad("an argument names an input or output that is not there");
    limit = (input ? plan.inputs() : plan.outputs())[buffer.index].bytes;
    writable = !input;
    break;
  }
  case Space::constant:
    if (buffer.index >= head.constants.count)
      return bad("an argument names a weight that is not there");
    if (!preparing && !plan.constants()[buffer.index].resident)
      return bad("a step reads a weight that is not kept on the device");
    limit = plan.constants()[buffer.index].bytes;
    writable = false;
    break;
  case Space::arena:
    limit = preparing ? target.prepareArenaBytes : target.arenaBytes;
    break;
  case Space::prepared:
    limit = target.preparedBytes;
    writable = preparing;
    break;
  default:
    return bad("an argument lies in no known memory");
  }
  if (!fits(buffer.offset, buffer.bytes, limit))
    return bad("an argument reaches past its memory's end");
  if (buffer.written && !writable)
    return bad("a step writes what is constant");
  return Status();
}

Status PlanCheck::checkStep(const Target &target, const Step &step,
                            bool preparing) {
  const Header &head = *plan.head;
  if (!valid(step.node))
    return bad("the node of a step is out of range");
  if (!valid(step.arguments, head.buffers))
    return bad("the arguments of a step are out of range");
  std::span<const Buffer> arguments = plan.arguments(step);
  for (const Buffer &buffer : arguments)
    FRIT_TRY(checkArgument(target, buffer, preparing));
  bool kernel = step.kernel >= target.kernels.first &&
                step.kernel - target.kernels.first < target.kernels.count;
  if (!kernel && (step.kernel != kNone || step.kind == StepKind::launch))
    return bad("a step launches a kernel that is not there");
  for (int i = 0; i < 3; ++i)
    if (step.grid[i] > INT32_MAX || step.block[i] > INT32_MAX)
      return bad("a step has an impossible grid");

  const char *problem = nullptr;
  switch (step.kind) {
  case StepKind::launch:
    break;
  case StepKind::gemm:
    if (step.problem >= head.gemms.count)
      return bad("a gemm is out of range");
    problem = checkGemm(plan.gemm(step), arguments);
    break;
  case StepKind::conv:
    if (step.problem >= head.convs.count)
      return bad("a convolution is out of range");
    problem = checkConv(plan.conv(step), arguments);
    break;
  case StepKind::copy:
    if (arguments.size() != 2 || arguments[0].bytes != arguments[1].bytes)
      problem = "its two arguments differ in size";
    else if (!arguments[1].written)
      problem = "it does not write its second argument";
    break;
  default:
    return bad("a step is of no known kind");
  }
  if (kernel && !problem)
    for (const TensorMap &map : plan.tensorMaps(plan.kernels()[step.kernel]))
      if (!problem)
        problem = checkTensorMap(map, plan.kernelArguments(step));
  if (problem)
    return bad(format("%s: %s", plan.nodeOf(step).c_str(), problem));
  return Status();
}

Status PlanView::open(const frit_image &image, PlanView &plan) {
  PlanView view;
  FRIT_TRY(PlanCheck(image, view).run());
  plan = view;
  return Status();
}
