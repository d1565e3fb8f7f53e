//===- Tune.cpp - Time the schedules of a model's contractions ------------===//
//
// Every contraction's schedules are compiled, as many at a time as there are
// cores, and timed one after another. The most costly contractions come first,
// so that a budget that runs out leaves the least undone; each result is in the
// file before the next contraction is begun.
//
//===----------------------------------------------------------------------===//

#include "compiler/driver/tuning/Tune.h"

#include "codegen/cuda/target/CudaDialect.h"
#include "codegen/cuda/target/Problem.h"
#include "compiler/driver/Outputs.h"
#include "compiler/driver/tuning/TuneImage.h"
#include "compiler/planning/Contractions.h"
#include "compiler/support/Progress.h"

#include "llvm/ADT/MapVector.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/ThreadPool.h"

#include <chrono>

using namespace mlir;
using namespace frit;
using Clock = std::chrono::steady_clock;

/// Tiles timed per contraction; the cost model ranks the others lower.
static constexpr unsigned kMostTiles = 14;
/// Factor by which a library's call must beat our kernel: it also needs a
/// workspace in the arena, and the library takes a second to load.
static constexpr double kLibraryGain = 0.95;

/// Calls longer than kBusyMicroseconds are limited by the device's power. Of
/// their schedules, those whose bursts come within kFinalistsWithin of the
/// best, at most kMostFinalists, are then timed continuously.
static constexpr double kBusyMicroseconds = 20, kFinalistsWithin = 1.15;
static constexpr size_t kMostFinalists = 6;

namespace {
using Pace = TuneDevice::Pace;

/// Schedules that are timed alternately.
using Turns = SmallVector<nn::Schedule, 2>;

/// The result of timing a round of turns.
struct Timing {
  Turns turns;
  double microseconds = 0;
  std::string failure;
};

struct TunedFusion {
  nn::FusionOp fusion;
  SmallVector<Turns> candidates; ///< of one schedule each
  double work = 0;               ///< of all its uses in the model
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
  std::vector<Timing> time(nn::FusionOp fusion, ArrayRef<Turns> candidates,
                           Pace pace = Pace::bursts);
  std::vector<Timing> timeFinalists(nn::FusionOp fusion,
                                    std::vector<Timing> timings);
  SmallVector<Turns> otherAlgorithms(nn::FusionOp fusion,
                                     nn::Schedule schedule);
  double timeAmongOwn(nn::FusionOp fusion, const Timing &library,
                      const Timing &own, Pace pace);
  llvm::Error tuneOne(StringRef text, const TunedFusion &problem);
  llvm::Error append(StringRef line);
  double elapsed() const {
    return std::chrono::duration<double>(Clock::now() - start).count();
  }

  cuda::CudaOptions options;
  const TuneOptions &tune;
  TuneDevice &device;
  cuda::Tuning &tuning;
  std::string environment;
  std::string
      broke; ///< the schedules after which the device no longer ran anything
  llvm::MapVector<StringAttr, TunedFusion> problems;
  Clock::time_point start = Clock::now();
};
} // namespace

void Tuner::collect(ModuleOp module) {
  module.walk([&](nn::FusionOp fusion) {
    cuda::Problem described(fusion);
    std::string text = cuda::tuningProblem(described);
    if (text.empty() || tuning.find(text, options.arch, environment))
      return;
    TunedFusion &problem = problems[StringAttr::get(fusion.getContext(), text)];
    problem.work += double(planning::countFlops(fusion));
    if (problem.fusion)
      return;
    problem.fusion = fusion;
    for (nn::Schedule schedule :
         cuda::CudaTarget(options).candidates(fusion, kMostTiles))
      problem.candidates.push_back({schedule});
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
  return outputError(tune.path, error);
}

std::vector<Timing> Tuner::time(nn::FusionOp fusion, ArrayRef<Turns> candidates,
                                Pace pace) {
  std::vector<TuneImage> images;
  std::vector<Timing> timings;
  for (const Turns &turns : candidates) {
    images.emplace_back(fusion, turns, options);
    timings.push_back({turns, 0, ""});
  }
  {
    llvm::DefaultThreadPool pool;
    for (auto [image, timing] : llvm::zip(images, timings)) {
      if (llvm::Error error = image.emit()) {
        timing.failure = llvm::toString(std::move(error));
        continue;
      }
      pool.async([&image, &timing] {
        if (llvm::Error error = image.compile())
          timing.failure = llvm::toString(std::move(error));
      });
    }
  }
  for (auto [image, timing] : llvm::zip(images, timings)) {
    if (timing.failure.empty()) {
      auto finished = image.finish();
      auto timed =
          finished ? device.time(*finished, pace) : finished.takeError();
      if (timed)
        timing.microseconds = *timed / image.rounds();
      else
        timing.failure = llvm::toString(timed.takeError());
      if (!timing.failure.empty() && broke.empty() && !device.works()) {
        llvm::raw_string_ostream os(broke);
        llvm::interleave(timing.turns, os, " and ");
        os << ": " << timing.failure;
      }
    }
    if (tune.verbose) {
      llvm::errs() << "fritc:   ";
      llvm::interleave(timing.turns, llvm::errs(), " and ");
      llvm::errs()
          << ": "
          << (timing.failure.empty()
                  ? llvm::formatv("{0:F2} us", timing.microseconds).str()
                  : timing.failure)
          << "\n";
    }
  }
  return timings;
}

/// Returns the library's algorithms except its favourite, which `schedule`
/// runs.
SmallVector<Turns> Tuner::otherAlgorithms(nn::FusionOp fusion,
                                          nn::Schedule schedule) {
  TuneImage image(fusion, schedule, options);
  llvm::Error error = image.emit();
  if (!error)
    error = image.compile();
  auto finished =
      error ? llvm::Expected<frit_image>(std::move(error)) : image.finish();
  SmallVector<Turns> others;
  if (!finished) {
    llvm::consumeError(finished.takeError());
    return others;
  }
  std::vector<uint32_t> numbers = device.algorithms(*finished);
  for (size_t i = 1; i < numbers.size(); ++i)
    others.push_back(
        {cast<plan::LibraryCall>(schedule).withAlgorithm(numbers[i])});
  return others;
}

/// Times a library call alternating with the best of frit's own kernels. Timed
/// alone, the call would not show what it costs the kernels around it, which
/// cannot start before it ends (no PDL).
double Tuner::timeAmongOwn(nn::FusionOp fusion, const Timing &library,
                           const Timing &own, Pace pace) {
  Turns both = {own.turns.front(), library.turns.front()};
  Timing timing = time(fusion, both, pace).front();
  return timing.failure.empty() ? timing.microseconds - own.microseconds
                                : library.microseconds;
}

/// Times the schedules that were fastest in bursts continuously, from the
/// fastest on and then in reverse, because the device gets warmer.
std::vector<Timing> Tuner::timeFinalists(nn::FusionOp fusion,
                                         std::vector<Timing> timings) {
  llvm::erase_if(timings, [](const Timing &t) { return !t.failure.empty(); });
  llvm::stable_sort(timings, [](const Timing &a, const Timing &b) {
    return a.microseconds < b.microseconds;
  });
  size_t count = 0;
  while (count < std::min(timings.size(), kMostFinalists) &&
         timings[count].microseconds <
             kFinalistsWithin * timings.front().microseconds)
    ++count;
  timings.resize(count);
  SmallVector<Turns> order;
  for (const Timing &timing : timings)
    order.push_back(timing.turns);
  for (const Timing &timing : llvm::reverse(timings))
    order.push_back(timing.turns);
  std::vector<Timing> onEnd = time(fusion, order, Pace::onEnd);
  for (size_t i = 0; i < count; ++i) {
    const Timing &back = onEnd[2 * count - 1 - i];
    timings[i].microseconds = (onEnd[i].microseconds + back.microseconds) / 2;
    timings[i].failure = onEnd[i].failure + back.failure;
  }
  return timings;
}

llvm::Error Tuner::tuneOne(StringRef text, const TunedFusion &problem) {
  std::vector<Timing> timings = time(problem.fusion, problem.candidates);
  for (const Turns &turns : problem.candidates)
    if (turns.front().isLibraryCall())
      llvm::append_range(
          timings,
          time(problem.fusion, otherAlgorithms(problem.fusion, turns.front())));
  if (!broke.empty())
    return llvm::createStringError("the device runs nothing more after '" +
                                   text + "' by " + broke);
  unsigned timed = 0;
  double fastest = std::numeric_limits<double>::infinity();
  for (const Timing &timing : timings)
    if (timing.failure.empty()) {
      ++timed;
      fastest = std::min(fastest, timing.microseconds);
    }
  if (!timed) {
    llvm::errs() << "fritc: none of the schedules of '" << text
                 << "' can be timed: " << timings.front().failure << "\n";
    return llvm::Error::success();
  }
  Pace pace = fastest > kBusyMicroseconds ? Pace::onEnd : Pace::bursts;
  if (pace == Pace::onEnd)
    timings = timeFinalists(problem.fusion, std::move(timings));
  Timing own, library;
  for (const Timing &timing : timings) {
    if (!timing.failure.empty())
      continue;
    Timing &best = timing.turns.front().isLibraryCall() ? library : own;
    if (best.turns.empty() || timing.microseconds < best.microseconds)
      best = timing;
  }
  bool compares = !own.turns.empty() && !library.turns.empty();
  if (compares && library.microseconds < own.microseconds)
    library.microseconds = timeAmongOwn(problem.fusion, library, own, pace);
  bool takesLibrary =
      own.turns.empty() ||
      (compares && library.microseconds < own.microseconds * kLibraryGain);
  const Timing &best = takesLibrary ? library : own;
  if (best.turns.empty())
    return llvm::createStringError("what ran in bursts does not on end: '" +
                                   text + "'");
  cuda::TunedSchedule schedule = {options.arch, environment, best.turns.front(),
                                  best.microseconds, timed};
  std::string line = cuda::Tuning::line(text, schedule);
  if (tune.verbose)
    llvm::errs() << "fritc: " << line;
  tuning.add(text, schedule);
  return append(line);
}

llvm::Error Tuner::run(ModuleOp module) {
  auto opened = device.open();
  if (!opened)
    return opened.takeError();
  environment = *opened;
  collect(module);
  SmallVector<std::pair<StringAttr, TunedFusion>> order = problems.takeVector();
  llvm::stable_sort(order, [](const auto &a, const auto &b) {
    return a.second.work > b.second.work;
  });
  size_t done = 0;
  {
    Progress progress("tune for " + options.arch);
    for (; done < order.size() && elapsed() < tune.budget; ++done) {
      StringRef problem = order[done].first.getValue();
      progress.update(done, order.size(), problem.str());
      if (llvm::Error error = tuneOne(problem, order[done].second))
        return error;
    }
  }
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
