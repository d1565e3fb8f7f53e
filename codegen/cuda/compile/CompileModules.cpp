//===- CompileModules.cpp - Emitted programs to device code ---------------===//

#include "codegen/cuda/compile/CompileModules.h"

#include "codegen/cuda/compile/EmitModule.h"
#include "codegen/cuda/compile/Nvrtc.h"
#include "codegen/cuda/custom/UserText.h"
#include "dialects/nn/operators/Custom.h"

#include "llvm/ADT/StringSet.h"
#include "llvm/Support/ThreadPool.h"

#include <list>
#include <mutex>

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

namespace {
/// One run of NVRTC, and where its results go.
struct Job {
  const ModuleText *module;
  std::string arch;
  int64_t milliseconds;
  std::string *cubin, *ptx; ///< null if it is not wanted
  std::string failure = "";
  bool isTextWrong = false; ///< else NVRTC cannot compile any
  /// The user's kernel at fault, if NVRTC itself reported no error.
  plan::KernelOp wrong = {};
};

/// Returns the user's kernel that a kernel of the plan runs, or null.
nn::CustomOp userKernelOf(plan::KernelOp kernel) {
  auto fusion = cast<nn::FusionOp>(kernel.getFusion());
  return dyn_cast<nn::CustomOp>(fusion.getBody().front().front());
}
} // namespace

static void addJobs(StringRef arch, ArrayRef<ModuleText> modules,
                    artifact::TargetCode &code, std::vector<Job> &jobs) {
  std::string generic = genericArch(arch);
  code.modules.resize(modules.size());
  for (auto [module, to] : llvm::zip(modules, code.modules)) {
    int64_t cost = module.milliseconds;
    // Code without architecture-specific features is compiled for the generic
    // architecture, whose PTX other devices can translate.
    if (!module.hasFloor || arch == generic) {
      jobs.push_back({&module, generic, cost, &to.cubin, &to.ptx});
      continue;
    }
    jobs.push_back({&module, arch.str(), cost, &to.cubin, nullptr});
    jobs.push_back({&module, genericPtx(arch), cost / 2, nullptr, &to.ptx});
  }
}

static void run(Job &job) {
  auto compiled = compileCuda(job.module->text, job.arch, job.module->folders);
  if (!compiled) {
    llvm::handleAllErrors(compiled.takeError(),
                          [&](const llvm::StringError &error) {
                            job.failure = error.getMessage();
                            job.isTextWrong = error.convertToErrorCode() ==
                                              llvm::inconvertibleErrorCode();
                          });
    return;
  }
  for (plan::KernelOp kernel : job.module->kernels)
    if (nn::CustomOp custom = userKernelOf(kernel)) {
      job.failure = checkUserKernel(custom, compiled->ptx);
      job.wrong = kernel;
      if (!job.failure.empty())
        return;
    }
  if (job.cubin)
    *job.cubin = std::move(compiled->cubin);
  if (job.ptx)
    *job.ptx = std::move(compiled->ptx);
}

/// Returns the user's operator whose file NVRTC's log names, or whose file
/// lacks the kernel; or null.
static Operation *blamedOperator(const Job &job) {
  if (job.wrong)
    return userKernelOf(job.wrong);
  for (plan::KernelOp kernel : job.module->kernels) {
    auto fusion = cast<nn::FusionOp>(kernel.getFusion());
    for (Operation &op : fusion.getBody().front()) {
      nn::CustomAttr custom = nn::customOf(&op);
      if (custom && namesFile(job.failure, custom.getDevice()))
        return &op;
    }
  }
  return nullptr;
}

/// Returns the kernel that NVRTC's log is about: the first that the log names
/// by a line or, as ptxas does, by name. Null if there is none.
static plan::KernelOp blamedKernel(const Job &job) {
  StringRef log = job.failure;
  size_t line;
  StringRef at = log.split("frit.cu(").second;
  if (!at.consumeInteger(10, line))
    if (plan::KernelOp kernel = job.module->kernelAt(line))
      return kernel;
  for (plan::KernelOp kernel : job.module->kernels)
    if (log.contains(("'" + kernel.getSymName() + "'").str()))
      return kernel;
  return {};
}

/// Reports that a job failed, at the kernel if one is known.
static void report(const Job &job, plan::KernelOp kernel,
                   MLIRContext *context) {
  Location nowhere = UnknownLoc::get(context);
  InFlightDiagnostic error = emitError(kernel ? kernel.getLoc() : nowhere);
  if (kernel)
    error << "kernel '" << kernel.getSymName() << "': ";
  error << job.failure;
  if (!job.isTextWrong)
    return;
  Diagnostic &note = error.attachNote(nowhere);
  note << "this is a bug in frit, not a fault of the model; please report it "
          "with the text above or the model";
  if (kernel)
    note << "; the kernel computes " << plan::nodeNames(kernel.getLoc());
  note << "; -O0, -fno-fuse or another -march may avoid it";
}

LogicalResult
frit::cuda::compileTargets(ArrayRef<plan::TargetOp> targets, CompileAs as,
                           llvm::StringMap<artifact::TargetCode> &code,
                           KernelProgress progress,
                           llvm::function_ref<void(Culprit)> blame) {
  std::list<std::vector<ModuleText>> modules;
  std::vector<Job> jobs;
  for (plan::TargetOp target : targets) {
    std::vector<ModuleText> &own = modules.emplace_back();
    if (as == CompileAs::modules)
      own = splitIntoModules(target);
    else if (ModuleText all = joinKernels(target); !all.kernels.empty())
      own.push_back(std::move(all));
    addJobs(target.getArch(), own, code[target.getArch()], jobs);
  }
  // Longest first, so that no thread still has a long one when the others are
  // done.
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
          plan::KernelOp next = job->module->kernels.front();
          progress(done, total, next.getSymName());
        };
        report(0);
        run(*job);
        report(job->module->kernels.size());
      });
  }
  // Several architectures often report the same error: print it once.
  llvm::StringSet<> said;
  for (const Job &job : jobs) {
    if (job.failure.empty())
      continue;
    if (Operation *op = blamedOperator(job)) {
      blame(Culprit::user);
      if (said.insert(nn::customOf(op).getName()).second)
        emitError(op->getLoc()) << job.failure;
      continue;
    }
    blame(job.isTextWrong ? Culprit::frit : Culprit::nvrtc);
    plan::KernelOp kernel = blamedKernel(job);
    if (said.insert(kernel ? kernel.getSymName() : job.failure).second)
      report(job, kernel, targets[0]->getContext());
  }
  return failure(
      llvm::any_of(jobs, [](const Job &job) { return !job.failure.empty(); }));
}
