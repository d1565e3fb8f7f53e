//===- Branches.cpp - Parallel branches of steps and their time -----------===//
//
// Assigns jobs to branches by list scheduling (Topcuoglu et al.,
// "Performance-effective and low-complexity task scheduling for heterogeneous
// computing", 2002, with identical processors). It uses the times of jobs that
// have the GPU to themselves. The result is then simulated, since concurrent
// jobs that fill the GPU slow each other down.
//
//===----------------------------------------------------------------------===//

#include "compiler/planning/Branches.h"

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace frit;
using namespace frit::planning;
using llvm::ArrayRef;
using llvm::SmallVector;

namespace {

/// Assigns jobs to branches.
class Assignment {
public:
  Assignment(ArrayRef<Job> jobs, unsigned most, const nn::BranchCosts &costs)
      : jobs(jobs), most(most), costs(costs), ends(jobs.size()),
        before(jobs.size(), llvm::BitVector(jobs.size())) {
    if (llvm::any_of(jobs, [](const Job &job) { return job.isBeside; }))
      this->most = most - 1;
  }

  std::vector<SmallVector<size_t, 4>> run() {
    std::vector<SmallVector<size_t, 4>> follows;
    for (size_t job = 0; job < jobs.size(); ++job)
      follows.push_back(add(job));
    return follows;
  }

private:
  /// Returns the earliest start of a job after `last`, the last job of a
  /// branch, or on a new branch.
  double startAfter(size_t job, std::optional<size_t> last) const {
    double start = last ? ends[*last] : costs.fork;
    for (size_t other : jobs[job].after)
      start = std::max(start, ends[other] + (other == last ? 0 : costs.fork));
    return start;
  }

  SmallVector<size_t, 4> add(size_t job) {
    bool isBeside = jobs[job].isBeside;
    SmallVector<size_t> &own = isBeside ? besides : lasts;
    size_t branch = 0, mostOwn = isBeside ? 1 : most;
    double start = 0;
    for (auto [i, last] : llvm::enumerate(own))
      if (double here = startAfter(job, last); i == 0 || here < start)
        std::tie(branch, start) = std::pair(i, here);
    if (double alone = startAfter(job, {});
        own.size() < mostOwn && (own.empty() || alone < start)) {
      branch = own.size();
      start = lasts.empty() && besides.empty() ? 0 : alone;
      own.push_back(job);
    }
    SmallVector<size_t, 4> follows(jobs[job].after);
    if (own[branch] != job)
      follows.push_back(own[branch]);
    own[branch] = job;
    ends[job] = start + jobs[job].cost.microseconds;
    return reduced(job, follows);
  }

  /// Removes jobs that `follows` implies through other jobs.
  SmallVector<size_t, 4> reduced(size_t job, SmallVector<size_t, 4> follows) {
    llvm::sort(follows);
    follows.erase(llvm::unique(follows), follows.end());
    llvm::BitVector implied(jobs.size());
    for (size_t other : follows)
      implied |= before[other];
    llvm::erase_if(follows, [&](size_t other) { return implied[other]; });
    for (size_t other : follows)
      implied.set(other);
    before[job] = std::move(implied);
    return follows;
  }

  ArrayRef<Job> jobs;
  unsigned most; ///< branches of those that fill the device
  const nn::BranchCosts &costs;
  std::vector<double> ends;
  std::vector<llvm::BitVector> before; ///< all predecessors of each job
  SmallVector<size_t> lasts;           ///< last job of each branch
  SmallVector<size_t> besides;         ///< of the one beside them, if any
};

/// Simulates the jobs on one GPU.
class Simulation {
public:
  Simulation(ArrayRef<Job> jobs, const Branches &branches,
             const nn::BranchCosts &costs)
      : jobs(jobs), costs(costs), waitsFor(jobs.size()),
        followers(jobs.size()) {
    for (auto [job, follows] : llvm::enumerate(branches.follows)) {
      waitsFor[job] = follows.size();
      for (size_t other : follows)
        followers[other].push_back(job);
      if (!follows.empty())
        joins.push_back(costs.join * (follows.size() - 1));
      else
        joins.push_back(0);
    }
  }

  double run() {
    bool isFirst = true;
    for (size_t job = 0; job < jobs.size(); ++job)
      if (waitsFor[job] == 0) {
        start(job, isFirst ? 0 : costs.fork);
        isFirst = false;
      }
    double time = 0;
    while (!running.empty())
      time += advance();
    // The steps after the region wait for all jobs that none follows.
    size_t open = llvm::count_if(followers,
                                 [](const auto &list) { return list.empty(); });
    return time + costs.join * (open - 1);
  }

private:
  struct Running {
    size_t job;
    double delay, work; ///< remaining microseconds: first delay, then work
  };

  void start(size_t job, double delay) {
    running.push_back({job, joins[job] + delay, jobs[job].cost.microseconds});
  }

  /// Advances to the next event. Returns the time that took in microseconds.
  double advance() {
    double occupancy = 0;
    for (const Running &entry : running)
      occupancy += jobs[entry.job].cost.occupancy;
    double rate = occupancy > 1 ? 1 / occupancy : 1;
    double step = std::numeric_limits<double>::max();
    for (const Running &entry : running)
      step = std::min(step, entry.delay > 0 ? entry.delay : entry.work / rate);
    SmallVector<size_t> ended;
    for (Running &entry : running) {
      double &left = entry.delay > 0 ? entry.delay : entry.work;
      left -= entry.delay > 0 ? step : step * rate;
      if (left < kRoundingError)
        left = 0;
      if (entry.delay <= 0 && entry.work <= 0)
        ended.push_back(entry.job);
    }
    llvm::erase_if(running, [](const Running &entry) {
      return entry.delay <= 0 && entry.work <= 0;
    });
    for (size_t job : ended)
      for (auto [i, next] : llvm::enumerate(followers[job]))
        if (--waitsFor[next] == 0)
          start(next, i == 0 ? 0 : costs.fork);
    return step;
  }

  /// Times below this, in microseconds, are rounding errors.
  static constexpr double kRoundingError = 1e-9;

  ArrayRef<Job> jobs;
  const nn::BranchCosts &costs;
  std::vector<size_t> waitsFor;
  std::vector<SmallVector<size_t, 4>> followers;
  std::vector<double> joins;
  SmallVector<Running> running;
};

} // namespace

Branches frit::planning::branchOut(ArrayRef<Job> jobs, unsigned most,
                                   const nn::BranchCosts &costs) {
  Branches branches;
  branches.follows = Assignment(jobs, most, costs).run();
  branches.microseconds = Simulation(jobs, branches, costs).run();
  return branches;
}

double frit::planning::chainMicroseconds(ArrayRef<Job> jobs) {
  double sum = 0;
  for (const Job &job : jobs)
    sum += job.cost.microseconds;
  return sum;
}
