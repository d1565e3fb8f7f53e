//===- CudaCode.cpp - A CUDA program's kernels as device code -------------===//

#include "compiler/driver/CudaCode.h"

#include "codegen/cuda/compile/Nvrtc.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/ThreadPool.h"

#include <mutex>

using namespace mlir;
using namespace frit;

static Attribute tensorMapAttr(const cuda::TensorMap &map, Builder &b) {
  auto list = [&](ArrayRef<int64_t> values) {
    return values.empty() ? DenseI64ArrayAttr()
                          : b.getDenseI64ArrayAttr(values);
  };
  SmallVector<int64_t, 5> steps = map.elementStrides;
  if (steps.empty())
    steps.assign(map.dims.size(), 1);
  return plan::TensorMapAttr::get(
      b.getContext(), map.argument, map.offset, map.type,
      map.im2col ? plan::MapKind::im2col : plan::MapKind::tiled,
      b.getDenseI64ArrayAttr(map.dims), b.getDenseI64ArrayAttr(map.strides),
      list(map.box), b.getDenseI64ArrayAttr(steps), map.swizzle,
      list(map.lower), list(map.upper), map.channels, map.pixels);
}

/// A kernel's name while its text is compared with others'; no character of
/// C++.
static constexpr StringLiteral kAnyName = "@";

/// The text of a kernel that was emitted as kAnyName.
static std::string named(StringRef text, StringRef name) {
  SmallVector<StringRef> parts;
  text.split(parts, kAnyName);
  return llvm::join(parts, name);
}

FailureOr<CudaProgram> frit::emitProgram(plan::ProgramOp program,
                                         const cuda::CudaTarget &target,
                                         CudaModules modules) {
  CudaProgram result;
  result.program = program;
  SmallVector<cuda::KernelText> kernels;
  llvm::StringMap<size_t> known; // by text
  SmallVector<std::pair<plan::KernelOp, size_t>> uses;
  Builder b(program.getContext());
  for (auto kernel : program.getBody().getOps<plan::KernelOp>()) {
    auto fusion = cast<nn::FusionOp>(kernel.getFusion());
    FailureOr<cuda::KernelText> text =
        cuda::emitKernel(fusion, kAnyName, target);
    if (failed(text))
      return failure();
    kernel.setGridAttr(b.getDenseI64ArrayAttr(text->grid));
    kernel.setBlockAttr(b.getDenseI64ArrayAttr(text->block));
    kernel.setSharedBytesAttr(b.getI64IntegerAttr(text->sharedBytes));
    kernel.setWaits(cuda::waitsForInputs(target.arch()));
    if (!text->tensorMaps.empty())
      kernel.setTensorMapsAttr(b.getArrayAttr(llvm::map_to_vector(
          text->tensorMaps, [&](auto &map) { return tensorMapAttr(map, b); })));
    if (!text->scalars.empty())
      kernel.setScalars(text->scalars);
    auto [it, isNew] = known.try_emplace(text->source, kernels.size());
    uses.push_back({kernel, it->second});
    if (isNew) {
      text->source = named(text->source, kernel.getSymName());
      kernels.push_back(std::move(*text));
      result.kernels.push_back(kernel);
    } else {
      kernel.setSymbol(result.kernels[it->second].getSymName());
    }
  }
  cuda::ModuleText all = cuda::joinKernels(kernels);
  result.text = all.text;
  if (modules == CudaModules::many)
    result.modules = cuda::groupKernels(kernels);
  else if (!kernels.empty())
    result.modules.push_back(std::move(all));
  SmallVector<size_t> moduleOf(kernels.size());
  for (auto [number, module] : llvm::enumerate(result.modules))
    for (size_t kernel : module.kernels)
      moduleOf[kernel] = number;
  for (auto [kernel, number] : uses)
    kernel.setModule(moduleOf[number]);
  return result;
}

namespace {
/// One run of NVRTC, and where what it makes goes.
struct Job {
  const CudaProgram *program;
  const cuda::ModuleText *module;
  std::string arch;
  double milliseconds;
  std::string *cubin, *ptx; ///< null where it is not wanted
  std::string failure = "";
};
} // namespace

static void addJobs(const CudaProgram &program, artifact::TargetCode &code,
                    std::vector<Job> &jobs) {
  plan::ProgramOp op = program.program;
  StringRef arch = op.getArch();
  std::string generic = cuda::genericArch(arch);
  code.modules.resize(program.modules.size());
  for (auto [module, to] : llvm::zip(program.modules, code.modules)) {
    double cost = module.milliseconds;
    // What uses nothing of one architecture alone is the same code for the
    // generic one, whose PTX other devices translate.
    if (!module.hasFloor || arch == generic) {
      jobs.push_back({&program, &module, generic, cost, &to.cubin, &to.ptx});
      continue;
    }
    jobs.push_back({&program, &module, arch.str(), cost, &to.cubin, nullptr});
    jobs.push_back({&program, &module, cuda::genericPtx(arch), cost / 2,
                    nullptr, &to.ptx});
  }
}

static void run(Job &job) {
  auto compiled = cuda::compileCuda(job.module->text, job.arch);
  if (!compiled) {
    job.failure = llvm::toString(compiled.takeError());
    return;
  }
  if (job.cubin)
    *job.cubin = std::move(compiled->cubin);
  if (job.ptx)
    *job.ptx = std::move(compiled->ptx);
}

/// The kernel that NVRTC's log is about: the one whose line it names first, or
/// whose name, as ptxas does; or null.
static plan::KernelOp blamedKernel(const Job &job) {
  StringRef log = job.failure;
  const std::vector<plan::KernelOp> &kernels = job.program->kernels;
  size_t line;
  StringRef at = log.split("frit.cu(").second;
  if (!at.consumeInteger(10, line))
    if (std::optional<size_t> number = job.module->kernelAt(line))
      return kernels[*number];
  for (size_t number : job.module->kernels) {
    plan::KernelOp kernel = kernels[number];
    if (log.contains(("'" + kernel.getSymName() + "'").str()))
      return kernel;
  }
  return {};
}

LogicalResult frit::compilePrograms(ArrayRef<CudaProgram> programs,
                                    llvm::StringMap<artifact::TargetCode> &code,
                                    KernelProgress progress) {
  std::vector<Job> jobs;
  for (const CudaProgram &program : programs) {
    plan::ProgramOp op = program.program;
    addJobs(program, code[op.getSymName()], jobs);
  }
  // The longest first, so that no thread is left with one at the end.
  std::vector<Job *> order;
  size_t total = 0, done = 0;
  for (Job &job : jobs) {
    order.push_back(&job);
    total += job.module->kernels.size();
  }
  llvm::stable_sort(order, [](const Job *a, const Job *b) {
    return a->milliseconds > b->milliseconds;
  });
  std::mutex mutex;
  {
    llvm::DefaultThreadPool pool;
    for (Job *job : order)
      pool.async([&, job] {
        auto report = [&](size_t kernels) {
          std::lock_guard lock(mutex);
          done += kernels;
          size_t first = job->module->kernels.front();
          plan::KernelOp kernel = job->program->kernels[first];
          progress(done, total, kernel.getSymName());
        };
        report(0);
        run(*job);
        report(job->module->kernels.size());
      });
  }
  // Several architectures often refuse a text for the same reason: say it once.
  llvm::StringSet<> said;
  for (const Job &job : jobs) {
    if (job.failure.empty())
      continue;
    plan::KernelOp kernel = blamedKernel(job);
    if (kernel && said.insert(kernel.getSymName()).second)
      kernel.emitError("kernel '")
          << kernel.getSymName() << "': " << job.failure;
    else if (!kernel && said.insert(job.failure).second)
      emitError(UnknownLoc::get(programs[0].program->getContext()))
          << job.failure;
  }
  return failure(
      llvm::any_of(jobs, [](const Job &job) { return !job.failure.empty(); }));
}
