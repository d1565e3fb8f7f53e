//===- Module.cpp - Open a model and choose where it runs -----------------===//

#include "runtime/exec/Module.h"
#include "runtime/cuda/Driver.h"
#include "runtime/exec/IndexCheck.h"
#include "runtime/exec/SharedLibrary.h"
#include "runtime/exec/Targets.h"
#include "runtime/exec/Types.h"
#include "runtime/system/System.h"

#include "frit/signature.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <optional>

using namespace frit;

Status frit::stepFailed(const PlanView &plan, const artifact::Step &step,
                        Status status) {
  if (!status.failed())
    return status;
  return std::move(status).within(plan.nodeOf(step));
}

Status frit::noKernel(const PlanView &plan, const artifact::Step &step,
                      bool deterministic) {
  bool isGradient = step.kind == artifact::StepKind::conv
                        ? plan.conv(step).pass != artifact::ConvPass::forward
                        : step.kind == artifact::StepKind::attention &&
                              plan.attention(step).gradient;
  if (isGradient && deterministic)
    return Status(FRIT_UNSUPPORTED,
                  format("%s: cuDNN has no deterministic algorithm for its "
                         "gradient; compile the model with -fdeterministic",
                         plan.nodeOf(step).c_str()));
  if (isGradient)
    return Status(
        FRIT_UNSUPPORTED,
        format("%s: its gradient needs cuDNN %s (FRIT_CUDNN names it), "
               "which is missing or does not support it; compile the "
               "model with -fno-cudnn for frit's own kernels",
               plan.nodeOf(step).c_str(),
               step.kind == artifact::StepKind::conv ? "9"
                                                     : "9.10.2 or later"));
  const char *what = step.kind == artifact::StepKind::gemm   ? "matrix product"
                     : step.kind == artifact::StepKind::conv ? "convolution"
                                                             : "attention";
  return Status(
      FRIT_UNSUPPORTED,
      format("%s: neither cuDNN nor cuBLASLt supports this %s, and the "
             "model has no generated kernel for it; compile it with "
             "-fno-cublas -fno-cudnn",
             plan.nodeOf(step).c_str(), what));
}

static uint64_t mostBytes(const PlanView &plan, bool input, uint32_t index) {
  uint64_t most = 0;
  for (size_t variant = 0; variant < plan.variants().size(); ++variant)
    most = std::max(
        most,
        (input ? plan.inputs(variant) : plan.outputs(variant))[index].bytes);
  return most;
}

uint64_t Model::inputBytes(uint32_t index) const {
  return mostBytes(plan, /*input=*/true, index);
}

uint64_t Model::outputBytes(uint32_t index) const {
  return mostBytes(plan, /*input=*/false, index);
}

StridedRegion frit::regionOf(const PlanView &plan, const Binding &binding,
                             const artifact::Tensor &tensor) {
  return StridedRegion(binding.dims, plan.dims(tensor.dims),
                       elementBytes(tensor.type));
}

Status frit::applyCounts(const PlanView &plan, size_t variant,
                         std::span<const int64_t> counts,
                         std::span<const Binding> outputs) {
  std::span<const artifact::Tensor> tensors = plan.modelOutputs(variant);
  auto isLength = [&](size_t count) {
    return std::ranges::any_of(tensors, [&](const artifact::Tensor &tensor) {
      return std::ranges::any_of(
          plan.extents(tensor), [&](const artifact::Extent &extent) {
            return extent.count != artifact::kNone && extent.count == count;
          });
    });
  };
  // A count that is no output's length is a check of the data: negative if it
  // failed. Its name is the message.
  for (size_t i = 0; i < counts.size(); ++i) {
    if (counts[i] >= 0 || isLength(i))
      continue;
    const artifact::Tensor &check = plan.outputs(variant)[tensors.size() + i];
    if (check.indices.count)
      return indexFault(plan, check, counts[i]);
    return invalidArgument(std::string(plan.text(check.name)));
  }
  for (size_t i = 0; i < tensors.size(); ++i) {
    std::span<const artifact::Extent> extents = plan.extents(tensors[i]);
    for (size_t dim = 0; outputs[i].counted && dim < extents.size(); ++dim) {
      const artifact::Extent &extent = extents[dim];
      if (extent.count == artifact::kNone)
        continue;
      int64_t length;
      if (!computeLength(extent, counts[extent.count], length) || length < 0)
        return Status(
            FRIT_BAD_MODEL,
            format("dimension %zu of output '%s' cannot be as long as a count "
                   "of %lld makes it",
                   dim, std::string(plan.text(tensors[i].name)).c_str(),
                   static_cast<long long>(counts[extent.count])));
      outputs[i].counted[dim] =
          std::min(length, plan.dims(tensors[i].dims)[dim]);
    }
  }
  return Status();
}

bool frit::isCutInside(const PlanView &plan, const artifact::Tensor &tensor) {
  bool isInside = false;
  std::span<const artifact::Extent> extents = plan.extents(tensor);
  for (size_t dim = 0; dim < extents.size(); ++dim) {
    if (isInside && extents[dim].count != artifact::kNone)
      return true;
    isInside |= plan.dims(tensor.dims)[dim] != 1;
  }
  return false;
}

bool Model::keepsWeights() const {
  auto hasValue = [](const artifact::State &state) {
    return state.constant != artifact::kNone;
  };
  return std::ranges::any_of(plan.states(), hasValue);
}

OpenedArtifact::~OpenedArtifact() {
  if (library)
    system::closeLibrary(library);
}

Status frit_module::load(const std::string &path,
                         const frit_module_options *options,
                         std::span<const frit_tensor> weights) {
  artifact = std::make_shared<OpenedArtifact>();
  const frit_image *image;
  FRIT_TRY(openModelLibrary(path, artifact->library, image));
  size_t slash = path.find_last_of(system::kSlashes);
  Status status =
      open(*image, options, slash == path.npos ? "" : path.substr(0, slash),
           weights);
  return status.failed() ? std::move(status).within(path) : status;
}

/// Returns the image of the linked object. If `image` comes from a C header,
/// sets `hash` to that of the header's signature.
static const frit_image &linkedImage(const frit_image &image,
                                     std::optional<uint64_t> &hash) {
  if (image.abi != FRIT_IMAGE_REFERENCE || !image.plan)
    return image;
  hash = image.plan_bytes;
  return *static_cast<const frit_image *>(image.plan);
}

/// Fails if a program was compiled with the header of another object.
static Status checkHeader(const PlanView &plan, uint64_t hash) {
  std::string signature = artifact::signatureOf(&plan.header());
  if (artifact::signatureHash(signature) == hash)
    return Status();
  return Status(
      FRIT_BAD_MODEL,
      format("the program was compiled with the header of another model, or of "
             "an earlier compilation of '%s' with other inputs or outputs; "
             "compile it with the header that fritc wrote for this object, "
             "which has %s",
             std::string(plan.text(plan.header().model)).c_str(),
             signature.c_str()));
}

Status frit_module::open(const frit_image &given,
                         const frit_module_options *options,
                         const std::string &folder,
                         std::span<const frit_tensor> weights) {
  frit_module_options used = FRIT_MODULE_OPTIONS_INIT;
  if (options) {
    // The program may be compiled for an earlier version, whose options have
    // fewer fields.
    size_t bytes = options->struct_bytes;
    if (bytes < offsetof(frit_module_options, memory_limit) ||
        bytes > sizeof used || bytes % sizeof(void *))
      return invalidArgument(
          "frit_module_options::struct_bytes is wrong; start from "
          "FRIT_MODULE_OPTIONS_INIT");
    memcpy(&used, options, bytes);
  }
  if (!artifact)
    artifact = std::make_shared<OpenedArtifact>();
  std::optional<uint64_t> hash;
  const frit_image &image = linkedImage(given, hash);
  artifact->image = model.image = &image;
  model.weights = &artifact->weights;
  model.flags = used.flags;
  model.threads = used.threads;
  model.remark = {used.remark, used.remark_user};
  if (!used.allocator.allocate != !used.allocator.release)
    return invalidArgument(
        "frit_allocator has one of its functions; it needs both");
  model.memory =
      std::make_shared<MemorySource>(used.memory_limit, used.allocator);
  FRIT_TRY(PlanView::open(image, model.plan));
  if (hash)
    FRIT_TRY(checkHeader(model.plan, *hash));

  const PlanView &plan = model.plan;
  artifact->folder = used.weights_folder ? used.weights_folder : folder;
  copyTexts();
  const char *wanted = used.device ? used.device : "";
  if (!strcmp(wanted, "none"))
    return Status();
  std::vector<uint32_t> changed;
  FRIT_TRY(artifact->weights.give(plan, weights, changed));
  FRIT_TRY(artifact->weights.open(plan, image, artifact->folder));
  return chooseDevice(wanted);
}

Status frit_module::setWeights(std::span<const frit_tensor> weights) {
  if (!executor)
    return invalidArgument(
        "the module was opened with device \"none\", to be looked at "
        "only");
  const PlanView &plan = model.plan;
  if (!plan.states().empty())
    return invalidArgument("the weights of a model with state are set by "
                           "frit_state_write");
  std::vector<uint32_t> changed;
  FRIT_TRY(artifact->weights.give(plan, weights, changed));
  FRIT_TRY(artifact->weights.open(plan, *model.image, artifact->folder));
  return executor->setWeights(changed);
}

void frit_module::copyTexts() {
  const PlanView &plan = model.plan;
  name = plan.text(plan.header().model);
  function = plan.text(plan.function().name);
  for (const artifact::Function &other : plan.functions())
    functionNames.emplace_back(plan.text(other.name));
  for (const artifact::State &state : plan.states())
    stateNames.emplace_back(plan.text(state.name));
  for (const artifact::Constant &constant : plan.constants()) {
    weightNames.emplace_back(plan.text(constant.name));
    std::string file = weightFile(plan, constant, artifact->folder);
    if (!file.empty() &&
        std::ranges::find(weightFiles, file) == weightFiles.end())
      weightFiles.push_back(std::move(file));
  }
  auto copy = [&](std::span<const artifact::Tensor> tensors,
                  std::vector<std::string> &names,
                  std::vector<std::vector<int32_t>> &symbols,
                  std::vector<std::vector<int32_t>> &counts, bool isInput) {
    for (const artifact::Tensor &tensor : tensors) {
      names.emplace_back(plan.text(tensor.name));
      std::vector<int32_t> &sized = symbols.emplace_back(tensor.dims.count, -1);
      std::vector<int32_t> &counted = counts.emplace_back(sized);
      for (size_t dim = 0; dim < plan.extents(tensor).size(); ++dim) {
        const artifact::Extent &extent = plan.extents(tensor)[dim];
        sized[dim] =
            isInput && extent.symbol != artifact::kNone && !isSymbol(extent)
                ? FRIT_SUM_OF_SYMBOLS
                : int32_t(extent.symbol);
        counted[dim] = int32_t(plan.extents(tensor)[dim].count);
      }
    }
  };
  std::vector<std::vector<int32_t>> none;
  copy(plan.namedInputs(0), inputNames, inputSymbols, none, true);
  copy(plan.modelOutputs(0), outputNames, outputSymbols, outputCounts, false);
  for (const artifact::Tensor &input :
       plan.namedInputs(plan.variants().size() - 1)) {
    std::vector<std::string> &uses = indexUses.emplace_back();
    for (const artifact::IndexRange &range : plan.indices(input))
      uses.emplace_back(plan.text(range.use));
  }
  for (const artifact::Target &target : plan.targets())
    archs.emplace_back(plan.text(target.arch));
  for (size_t index = 0; index < plan.symbols().size(); ++index) {
    symbolNames.emplace_back(plan.text(plan.symbols()[index].name));
    symbolSizes.push_back(variantSizes(plan, index));
  }
}

/// Returns whether `device` is the UUID of a GPU or of a part of one.
static bool isUuid(const char *device) {
  return !strncmp(device, "GPU-", 4) || !strncmp(device, "MIG-", 4);
}

/// Parses "cuda" or "cuda:N" to the device ordinal; -1 for anything else.
static int cudaOrdinal(const char *device) {
  if (!strcmp(device, "cuda"))
    return 0;
  if (strncmp(device, "cuda:", 5) || device[5] < '0' || device[5] > '9')
    return -1;
  char *end;
  long ordinal = strtol(device + 5, &end, 10);
  return *end || ordinal > 1023 ? -1 : int(ordinal);
}

Status frit_module::openFunction(const frit_module &from, const char *wanted) {
  auto found = std::ranges::find(from.functionNames, wanted);
  if (found == from.functionNames.end())
    return invalidArgument(
        format("there is no function '%s'; the model's functions "
               "are: %s",
               wanted, joinNames(from.functionNames).c_str()));
  artifact = from.artifact;
  model.image = from.model.image;
  model.plan = from.model.plan.of(size_t(found - from.functionNames.begin()));
  model.weights = from.model.weights;
  model.flags = from.model.flags;
  model.threads = from.model.threads;
  model.remark = from.model.remark;
  model.memory = from.model.memory;
  copyTexts();
  device = from.device;
  if (!from.executor)
    return Status();
  return openOn(cudaOrdinal(device.c_str()), from.executor.get());
}

Status frit_module::chooseDevice(const char *wanted) {
  const PlanView &plan = model.plan;
  bool any = !*wanted, cpuOnly = !strcmp(wanted, "cpu");
  int ordinal = any ? 0 : cudaOrdinal(wanted);
  if (isUuid(wanted))
    FRIT_TRY(cuda::findDevice(wanted, ordinal));
  if (!any && !cpuOnly && ordinal < 0)
    return invalidArgument(
        format("unknown device '%s'; write cuda, cuda:N, a GPU's "
               "UUID, cpu or none",
               wanted));

  Status noGpu(FRIT_NO_DEVICE, "");
  if (!cpuOnly) {
    noGpu = openOn(ordinal, /*sibling=*/nullptr);
    // Once there is a target, the GPU is chosen.
    if (model.target || !any)
      return noGpu;
  }
  Status status = openOn(/*ordinal=*/-1, /*sibling=*/nullptr);
  if (any && !model.target)
    return Status(status.status(),
                  noGpu.message() + "; and " + status.message());
  if (any && model.target && hasCudaTarget(plan))
    model.remark("running on the cpu: " + noGpu.message());
  return status;
}

/// Chooses the target for a GPU, or for the processor if `ordinal` is negative,
/// and loads it there.
Status frit_module::openOn(int ordinal, const Executor *sibling) {
  const PlanView &plan = model.plan;
  if (ordinal >= 0) {
    bool usePtx;
    model.phases.begin("find the GPU");
    Status status = cuda::findTarget(plan, ordinal, model.target, usePtx);
    if (!status.failed()) {
      device = format("cuda:%d", ordinal);
      status = createCudaExecutor(model, ordinal, sibling, executor);
    }
    model.phases.end();
    return status;
  }
  model.target = chooseCpuTarget(plan);
  if (!model.target)
    return Status(FRIT_NO_DEVICE,
                  format("the model has no code for this processor; it has "
                         "code for: %s",
                         listArchs(plan).c_str()));
  device = "cpu";
  return createCpuExecutor(model, sibling, executor);
}
