//===- Recompute.cpp - Run kernels of the forward pass again --------------===//
//
//   %a = nn.fusion(%x)                    kept for the backward pass
//   %b = nn.fusion(%a)
//   … the loss …
//   %db = nn.fusion(%dc, %b)
//   %da = nn.fusion(%db, %a)
// ==>                                     %b runs again
//   %a = nn.fusion(%x)
//   %b = nn.fusion(%a)
//   … the loss …
//   %b' = nn.fusion(%a)
//   %db = nn.fusion(%dc, %b')
//   %da = nn.fusion(%db, %a)
//
// A kernel runs again just before the backward pass first reads one of its
// results. It reads recomputed operands where there are some, so a sequence of
// such kernels is a segment of activation checkpointing (Chen et al., "Training
// Deep Nets with Sublinear Memory Cost", arXiv:1604.06174). The same kernel
// runs on the same values, so results are equal bit for bit.
//
//===----------------------------------------------------------------------===//

#include "compiler/training/gradients/Recompute.h"

#include "compiler/training/Passes.h"
#include "compiler/training/Training.h"
#include "compiler/training/gradients/FusedStep.h"
#include "compiler/transform/Names.h"
#include "dialects/nn/contraction/Contraction.h"

#include "llvm/ADT/SetVector.h"

namespace frit {
#define GEN_PASS_DEF_RECOMPUTE
#include "compiler/training/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Bytes of memory traffic that take as long as a floating-point operation of a
/// contraction: GPUs of 2020 and later do some 200 operations per byte.
static constexpr double kBytesPerFlop = 1. / 200;

/// Kernels whose results have fewer bytes are no candidates.
static constexpr int64_t kFewBytes = 4096;

static int64_t flopsOf(Operation *fusion) {
  int64_t sum = 0;
  fusion->walk([&](Operation *op) {
    if (op != fusion)
      sum += countFlops(op);
  });
  return sum;
}

static double costOf(Operation *fusion) {
  return double(bytesOf(fusion->getOperands()) +
                bytesOf(fusion->getResults())) +
         kBytesPerFlop * double(flopsOf(fusion));
}

namespace {
/// Finds the choices of a step. Numbers are indices of fusions.
class ChoiceFinder {
public:
  explicit ChoiceFinder(func::FuncOp main) : main(main), step(main) {
    for (auto [i, op] : llvm::enumerate(step.fusions))
      numbers[op] = i;
  }
  std::vector<RecomputeChoice> run();

private:
  using Kernels = llvm::SetVector<Operation *>;
  void addCheap();
  void addSegments(size_t count);
  void add(ArrayRef<Operation *> kernels);

  func::FuncOp main;
  FusedStep step;
  llvm::DenseMap<Operation *, size_t> numbers;
  std::vector<RecomputeChoice> choices;
  SmallVector<Operation *> cheap;
};
} // namespace

/// Adds a choice, after trying it on a copy of the function.
void ChoiceFinder::add(ArrayRef<Operation *> kernels) {
  RecomputeChoice choice;
  for (Operation *op : kernels)
    choice.kernels.push_back(numbers.lookup(op));
  auto trial = cast<func::FuncOp>(main->clone());
  FusedStep tried(trial);
  llvm::DenseSet<Operation *> chosen;
  for (size_t number : choice.kernels)
    chosen.insert(tried.fusions[number]);
  for (Operation *copy : tried.copy(chosen))
    choice.cost += costOf(copy);
  choice.bytes = tried.peak();
  trial->erase();
  choices.push_back(std::move(choice));
}

/// Adds choices of more and more kernels without contractions, first those that
/// take the least time for the memory they save.
void ChoiceFinder::addCheap() {
  int64_t total = 0;
  for (Operation *op : step.forward)
    if (step.keptBytes(op) >= kFewBytes && !flopsOf(op)) {
      cheap.push_back(op);
      total += step.keptBytes(op);
    }
  llvm::stable_sort(cheap, [&](Operation *a, Operation *b) {
    return costOf(a) * double(step.keptBytes(b)) <
           costOf(b) * double(step.keptBytes(a));
  });
  constexpr int64_t kParts = 8;
  int64_t sum = 0, part = 1;
  for (auto [i, op] : llvm::enumerate(cheap)) {
    sum += step.keptBytes(op);
    if (sum * kParts < total * part)
      continue;
    part = sum * kParts / total + 1;
    add(ArrayRef(cheap).take_front(i + 1));
  }
}

/// Cuts the forward pass into `count` segments, where little is read across,
/// and adds choices of more and more of them.
void ChoiceFinder::addSegments(size_t count) {
  size_t size = step.forward.size();
  std::vector<int64_t> crossing(size), before(size + 1);
  for (auto [i, op] : llvm::enumerate(step.forward)) {
    int64_t bytes = bytesOf(op->getResults());
    before[i + 1] = before[i] + bytes;
    for (size_t at = i; at < size && step.crosses(op, at); ++at)
      crossing[at] += bytes;
  }
  SmallVector<size_t> cuts;
  for (size_t j = 1; j < count; ++j) {
    auto share = [&](double part) {
      return double(before[size]) * part / double(count);
    };
    std::optional<size_t> best;
    for (size_t at = cuts.empty() ? 0 : cuts.back() + 1; at < size; ++at)
      if (double(before[at + 1]) >= share(double(j) - 0.5) &&
          double(before[at + 1]) < share(double(j) + 0.5) &&
          (!best || crossing[at] < crossing[*best]))
        best = at;
    if (best)
      cuts.push_back(*best);
  }
  Kernels chosen;
  size_t next = 0;
  for (size_t cut : cuts) {
    for (; next <= cut; ++next) {
      Operation *op = step.forward[next];
      bool isKept = llvm::any_of(
          cuts, [&](size_t at) { return next <= at && step.crosses(op, at); });
      if (!isKept)
        chosen.insert(op);
    }
    add(chosen.getArrayRef());
    Kernels more = chosen;
    for (Operation *op : cheap)
      if (!llvm::any_of(cuts, [&](size_t at) {
            return at < next && step.crosses(op, at);
          }))
        more.insert(op);
    add(more.getArrayRef());
  }
}

std::vector<RecomputeChoice> ChoiceFinder::run() {
  add({});
  addCheap();
  for (size_t count : {4, 8, 16, 32})
    if (step.forward.size() > 2 * count)
      addSegments(count);
  std::stable_sort(
      choices.begin(), choices.end(),
      [](const auto &a, const auto &b) { return a.cost < b.cost; });
  std::vector<RecomputeChoice> better;
  for (RecomputeChoice &choice : choices)
    if (better.empty() || choice.bytes < better.back().bytes)
      better.push_back(std::move(choice));
  return better;
}

std::vector<RecomputeChoice> frit::findRecomputeChoices(func::FuncOp main) {
  return ChoiceFinder(main).run();
}

void frit::recompute(func::FuncOp main, ArrayRef<size_t> kernels) {
  FusedStep step(main);
  llvm::DenseSet<Operation *> chosen;
  for (size_t number : kernels)
    chosen.insert(step.fusions[number]);
  step.copy(chosen);
}

//===----------------------------------------------------------------------===//
// By name
//===----------------------------------------------------------------------===//

namespace {
class Recompute : public frit::impl::RecomputeBase<Recompute> {
public:
  explicit Recompute(const TrainingOptions &options) : options(options) {}

  void runOnOperation() override {
    FusedStep step(getOperation().lookupSymbol<func::FuncOp>("main"));
    llvm::DenseSet<Operation *> chosen;
    for (Operation *op : step.forward)
      if (llvm::any_of(nodeNamesOf(op), [&](StringRef name) {
            return matchesAny(options.recompute, name);
          }))
        chosen.insert(op);
    step.copy(chosen);
  }

private:
  const TrainingOptions &options;
};
} // namespace

std::unique_ptr<Pass> frit::createRecompute(const TrainingOptions &options) {
  return std::make_unique<Recompute>(options);
}
