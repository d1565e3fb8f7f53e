//===- Tune.cpp - Time the schedules of a model's contractions ------------===//
//
// Every contraction's schedules are compiled, as many at a time as there are
// cores, and timed one after another. The most costly contractions come first,
// so that a budget that runs out leaves the least undone; each result is in the
// file before the next contraction is begun.
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/Tune.h"

#include "codegen/cuda/EmitContraction.h"
#include "compiler/driver/TuneImage.h"
#include "compiler/planning/Contractions.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/ThreadPool.h"

#include <chrono>

using namespace mlir;
using namespace frit;
using Clock = std::chrono::steady_clock;

/// Schedules per contraction; those behind are ones that the model thinks
/// little of. The library and the plain skeletons always count.
static constexpr size_t kMostTiles = 14;

namespace {
struct Problem {
  nn::FusionOp fusion;
  SmallVector<nn::ScheduleAttr> candidates;
  double work = 0; ///< of all its uses in the model
};

class Tuner {
public:
  Tuner(const cuda::CudaOptions &options, const TuneOptions &tune,
        TuneDevice &device, cuda::Tuning &tuning)
      : options(options), tune(tune), device(device), tuning(tuning) {
    this->options.tuning = nullptr;
  }

  llvm::Error run(ModuleOp module);

private:
  void collect(ModuleOp module);
  llvm::Error tuneOne(StringRef text, const Problem &problem);
  llvm::Error append(StringRef line);
  double elapsed() const {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  cuda::CudaOptions options;
  const TuneOptions &tune;
  TuneDevice &device;
  cuda::Tuning &tuning;
  std::string environment;
  llvm::MapVector<StringAttr, Problem> problems;
  Clock::time_point start = Clock::now();
};
} // namespace

void Tuner::collect(ModuleOp module) {
  module.walk([&](nn::FusionOp fusion) {
    std::string text = cuda::tuningProblem(fusion);
    if (text.empty() || tuning.find(text, options.arch, environment))
      return;
    Problem &problem = problems[StringAttr::get(fusion.getContext(), text)];
    problem.work += double(planning::countFlops(fusion));
    if (problem.fusion)
      return;
    problem.fusion = fusion;
    std::string reason;
    size_t tiles = 0;
    for (nn::ScheduleAttr schedule :
         cuda::contractionSchedules(fusion, options, ~0u, reason)) {
      bool wgmma = schedule.getSkeleton() == nn::Skeleton::wgmma_gemm ||
                   schedule.getSkeleton() == nn::Skeleton::wgmma_conv;
      if (!wgmma || tiles++ < kMostTiles)
        problem.candidates.push_back(schedule);
    }
  });
}

llvm::Error Tuner::append(StringRef line) {
  bool isNew = !llvm::sys::fs::exists(tune.path);
  std::error_code error;
  llvm::raw_fd_ostream os(tune.path, error, llvm::sys::fs::CD_OpenAlways,
                          llvm::sys::fs::FA_Write,
                          llvm::sys::fs::OF_Append | llvm::sys::fs::OF_Text);
  if (!error) {
    os << (isNew ? cuda::Tuning::firstLine() : "") << line;
    os.close();
    error = os.error();
    os.clear_error();
  }
  return error ? llvm::createFileError(tune.path, error)
               : llvm::Error::success();
}

llvm::Error Tuner::tuneOne(StringRef text, const Problem &problem) {
  std::vector<TuneImage> images;
  for (nn::ScheduleAttr schedule : problem.candidates)
    images.emplace_back(problem.fusion, schedule, options);
  std::vector<std::string> failures(images.size());
  {
    llvm::DefaultThreadPool pool;
    for (auto [image, failure] : llvm::zip(images, failures)) {
      if (llvm::Error error = image.emit()) {
        failure = llvm::toString(std::move(error));
        continue;
      }
      pool.async([&image, &failure] {
        if (llvm::Error error = image.compile())
          failure = llvm::toString(std::move(error));
      });
    }
  }
  cuda::TunedSchedule best;
  best.arch = options.arch;
  best.environment = environment;
  for (auto [image, failure] : llvm::zip(images, failures)) {
    double time = 0;
    if (failure.empty()) {
      auto finished = image.finish();
      auto timed = finished ? device.time(*finished) : finished.takeError();
      if (timed)
        time = *timed / image.repeats();
      else
        failure = llvm::toString(timed.takeError());
    }
    if (tune.verbose)
      llvm::errs() << "fritc:   " << image.getSchedule() << ": "
                   << (failure.empty() ? llvm::formatv("{0:F2} us", time).str()
                                       : failure)
                   << "\n";
    if (!failure.empty())
      continue;
    ++best.candidates;
    if (!best.schedule || time < best.microseconds) {
      best.schedule = image.getSchedule();
      best.microseconds = time;
    }
  }
  if (!best.schedule) {
    llvm::errs() << "fritc: none of the schedules of '" << text
                 << "' can be timed: " << failures.front() << "\n";
    return llvm::Error::success();
  }
  std::string line = cuda::Tuning::line(text, best);
  if (tune.verbose)
    llvm::errs() << "fritc: " << line;
  tuning.add(text, best);
  return append(line);
}

llvm::Error Tuner::run(ModuleOp module) {
  auto opened = device.open();
  if (!opened)
    return opened.takeError();
  environment = *opened;
  collect(module);
  SmallVector<std::pair<StringAttr, Problem>> order = problems.takeVector();
  llvm::stable_sort(order, [](const auto &a, const auto &b) {
    return a.second.work > b.second.work;
  });
  size_t done = 0;
  for (; done < order.size() && elapsed() < tune.budget; ++done)
    if (llvm::Error error =
            tuneOne(order[done].first.getValue(), order[done].second))
      return error;
  llvm::errs() << llvm::formatv("fritc: tuned {0} contractions for {1} in "
                                "{2:F1} s\n",
                                done, options.arch, elapsed());
  for (size_t i = done; i < order.size(); ++i)
    llvm::errs() << "fritc: '" << order[i].first.getValue()
                 << "' is not tuned: --tune-budget has run out; the same "
                    "command goes on from here\n";
  return llvm::Error::success();
}

llvm::Error frit::tuneContractions(ModuleOp module,
                                   const cuda::CudaOptions &options,
                                   const TuneOptions &tune, TuneDevice &device,
                                   cuda::Tuning &tuning) {
  return Tuner(options, tune, device, tuning).run(module);
}
