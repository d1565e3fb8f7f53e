//===- Strips.cpp - Strips of vertically adjacent outputs -----------------===//

#include "codegen/cuda/memory/Strips.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Maximum steps of an unrolled reduction, and outputs per strip.
static constexpr int64_t kMostSteps = 32, kLongest = 5;
/// Maximum number of a dimension in a schedule.
static constexpr int64_t kLastDim = 31;
/// Parts loaded ahead of each store, since the compiler does not move loads
/// above stores.
static constexpr int64_t kAhead = 2;
/// Threads per block and blocks per SM. Windows of up to three rows need 96
/// registers per thread, so five blocks fit; longer windows gain from 128
/// registers. With split blocks, 80 registers suffice.
static constexpr int64_t kStripThreads = 128, kOccupancy = 5,
                         kLongOccupancy = 4, kFewParts = 3, kSplitOccupancy = 6;
/// Threads per SM that suffice to hide latency.
static constexpr int64_t kBusy = 1024;

Strips::Strips(const LinalgFusion &lowered, unsigned dim, int64_t length,
               int64_t vector)
    : lowered(lowered), length(length), vector(vector),
      graph(lowered.context()) {
  ArrayRef<int64_t> shape = rankedType(lowered.outputs()[0]).getShape();
  size = shape[dim];
  for (int64_t before : shape.take_front(dim))
    outer *= before;
  for (int64_t behind : shape.drop_front(dim + 1))
    inner *= behind;
  channels = shape.back();
  piece = kCacheLineBytes / storageBytes(elementType(lowered.outputs()[0]));
  graph.maxUnrolledSteps = kMostSteps;
  graph.keepsParts = true;
  graph.dividends = kLane;
  index = graph.space.addDim(count());
  // The last strip ends where the dimension does and may overlap the one before
  // it.
  first = graph.space.addDim(size - length + 1);
  graph.setLane(index, vector);
  for (int64_t step = 0; step < length; ++step) {
    for (Value output : lowered.outputs())
      roots.push_back(graph.elementAt(output, place(step)));
    partsUpTo.push_back(graph.parts.size());
  }
  areByteExtremes = findByteExtremes();
}

bool Strips::findByteExtremes() const {
  StringRef extreme = byteExtreme(roots[0]);
  if (lowered.outputs().size() > 1 || vector % 4 || extreme.empty())
    return false;
  llvm::SmallSetVector<Node *, 32> seen(roots.begin(), roots.end());
  for (size_t i = 0; i < seen.size(); ++i) {
    Node *node = seen[i];
    if (node->kind == Node::Kind::operation) {
      if (byteExtreme(node) != extreme)
        return false;
      seen.insert(node->operands.begin(), node->operands.end());
    } else if (node->kind != Node::Kind::constant &&
               (node->kind != Node::Kind::load ||
                node->pattern.use != LaneUse::contiguous)) {
      return false;
    }
  }
  return true;
}

AffineExpr Strips::place(int64_t step) {
  IndexSpace &space = graph.space;
  AffineExpr row = space.add(first, space.constant(step));
  return space.add(
      space.mul(space.floorDiv(index, inner * strips()), inner * size),
      space.add(space.mul(row, inner), space.mod(index, inner)));
}

bool Strips::canSplit() const {
  return piece % vector == 0 && channels % piece == 0 && channels > piece &&
         inner > channels;
}

bool Strips::pays() const { return partsUpTo[1] < 2 * partsUpTo[0]; }

bool Strips::fits() const {
  if (!graph.failure().empty() || inner % vector ||
      indexIsWide(outer * size * inner))
    return false;
  return llvm::none_of(Graph::reachable(roots, graph), [](Node *node) {
    return node->kind == Node::Kind::loop ||
           (node->kind == Node::Kind::load &&
            node->pattern.use == LaneUse::scattered);
  });
}

/// Prints the array in which a thread keeps a vector of values.
void Strips::printArray(Printer &printer, StringRef name, Type type) const {
  if (areByteExtremes)
    printer.line("uint32_t " + name + "[" + Twine(vector / 4) + "];");
  else
    printer.line(valueName(type) + " " + name + "[" + Twine(vector) + "];");
}

void Strips::printPart(Printer &printer, size_t number) {
  Node *part = graph.parts[number];
  std::string name = "part" + std::to_string(number);
  printArray(printer, name, part->type);
  if (areByteExtremes) {
    printer.line(printer.extremesOfBytes(name, part));
    printer.define(part, name);
    return;
  }
  printer.openLanes();
  std::string text = printer.value(part);
  printer.line(name + "[v] = " + text + ";");
  printer.closeLanes();
  printer.define(part, name + "[v]");
}

void Strips::printOutputs(Printer &printer, int64_t step, StringRef start) {
  size_t outputs = lowered.outputs().size();
  std::string at =
      graph.space
          .print(place(step),
                 [&](AffineExpr leaf, bool, bool) -> IndexText {
                   return {leaf == first ? "first" : start.str(), kPrimary};
                 })
          .text;
  auto nameOf = [&](size_t output) {
    return "out" + std::to_string(output) + "_" + std::to_string(step);
  };
  auto rootsNow = ArrayRef(roots).slice(step * outputs, outputs);
  std::string stores;
  for (auto [output, root] : llvm::enumerate(rootsNow)) {
    printArray(printer, nameOf(output), root->type);
    stores += (stores.empty() ? "" : "\n") +
              ("frit::store" + Twine(areByteExtremes ? "Words" : "Vector") +
               "(y" + Twine(output) + " + " + at + ", " + nameOf(output) + ");")
                  .str();
  }
  if (areByteExtremes) {
    printer.line(printer.extremesOfBytes(nameOf(0), rootsNow[0]));
  } else {
    printer.openLanes();
    for (auto [output, root] : llvm::enumerate(rootsNow)) {
      std::string text = printer.value(root);
      printer.line(nameOf(output) + "[v] = " + text + ";");
    }
    printer.closeLanes();
  }
  printer.line(stores);
}

/// Prints the first element of thread `i` for split blocks: first one cache
/// line of every pixel of a row, then the next line of the same pixels.
std::string Strips::printPlace() const {
  auto text = [](int64_t number) { return std::to_string(number); };
  int64_t across = inner / channels;
  return "i / " + text(inner) + " * " + text(inner) + " + i % " + text(inner) +
         " / " + text(across * piece) + " * " + text(piece) + " + i / " +
         text(piece) + " % " + text(across) + " * " + text(channels) +
         " + i % " + text(piece);
}

std::string Strips::print(bool split) {
  std::string start = split ? "at" : "i";
  Printer printer(graph);
  printer.setArguments(lowered.inputElements());
  printer.nameDim(index, start);
  printer.nameDim(first, "first");
  if (areByteExtremes)
    printer.keepWords();
  if (split)
    printer.line("unsigned at = " + printPlace() + ";");
  std::string row = start + " / " + std::to_string(inner) + " % " +
                    std::to_string(strips()) + " * " + std::to_string(length);
  if (size % length)
    row = "frit::minimum<unsigned>(" + row + ", " +
          std::to_string(size - length) + ")";
  printer.line("unsigned first = " + row + ";");
  printer.expect(roots);
  int64_t printed = 0;
  for (int64_t step = 0; step < length; ++step) {
    int64_t wanted = std::min(partsUpTo[step] + kAhead, stripParts());
    for (; printed < wanted; ++printed)
      printPart(printer, printed);
    printOutputs(printer, step, start);
  }
  return "  __device__ void operator()(unsigned i) const {\n" + printer.str(4) +
         "  }\n";
}

/// Returns the strips along dimension `dim`, or null if the skeleton cannot
/// compute them.
static std::unique_ptr<Strips> makeStrips(const LinalgFusion &lowered,
                                          unsigned dim, int64_t length,
                                          int64_t vector) {
  ArrayRef<int64_t> shape = rankedType(lowered.outputs()[0]).getShape();
  if (dim + 1 >= shape.size() || shape[dim] < length ||
      groupOutputs(lowered).size() != 1)
    return nullptr;
  auto strips = std::make_unique<Strips>(lowered, dim, length, vector);
  return strips->fits() ? std::move(strips) : nullptr;
}

StripsAttr frit::cuda::chooseStrips(Problem &problem, int64_t vector,
                                    const Machine &machine) {
  const LinalgFusion &lowered = problem.lowered();
  int64_t rank = rankedType(lowered.outputs()[0]).getRank();
  StripsAttr best;
  int64_t least = INT64_MAX;
  for (int64_t length = 2; length <= kLongest; ++length) {
    // Take the first dimension along which strips pay.
    std::unique_ptr<Strips> strips;
    unsigned dim = 0;
    for (; dim + 1 < rank && !strips; ++dim) {
      strips = makeStrips(lowered, dim, length, vector);
      if (strips && !strips->pays())
        strips.reset();
    }
    if (!strips || strips->count() / vector < machine.arch.threadsOf(kBusy))
      break;
    int64_t parts = strips->strips() * strips->stripParts();
    if (parts >= least)
      continue;
    least = parts;
    bool split = strips->canSplit();
    int64_t occupancy = strips->windowParts() > kFewParts ? kLongOccupancy
                        : split                           ? kSplitOccupancy
                                                          : kOccupancy;
    best = StripsAttr::get(problem.context(), dim - 1, length, vector,
                           kStripThreads, occupancy, split);
  }
  return best;
}

LogicalResult
StripsAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                   int64_t dim, int64_t length, int64_t vector, int64_t threads,
                   int64_t occupancy, bool split) {
  if (failed(requireRanges(emitError, {{"dim", dim, 0, kLastDim},
                                       {"length", length, 2, kLongest},
                                       {"occupancy", occupancy, 0, 32}})) ||
      failed(require(emitError, isPowerOf2UpTo(vector, 8), "vector",
                     "1, 2, 4 or 8")))
    return failure();
  return requireBlock(emitError, threads);
}

namespace {
class StripsSkeleton : public MapFamily<StripsAttr, std::unique_ptr<Strips>> {
  nn::Match<std::unique_ptr<Strips>>
  fit(Problem &problem, StripsAttr schedule,
      const Machine &machine) const override {
    auto strips = makeStrips(problem.lowered(), unsigned(schedule.getDim()),
                             schedule.getLength(), schedule.getVector());
    if (!strips || (schedule.getSplit() && !strips->canSplit()))
      return nn::Mismatch("it has no such strips");
    return strips;
  }
  KernelText print(std::unique_ptr<Strips> &strips, Problem &problem,
                   StripsAttr schedule, StringRef name) const override;
};
} // namespace

KernelText StripsSkeleton::print(std::unique_ptr<Strips> &strips,
                                 Problem &problem, StripsAttr schedule,
                                 StringRef name) const {
  const LinalgFusion &lowered = problem.lowered();
  int64_t vector = schedule.getVector(), threads = schedule.getThreads();
  KernelText kernel;
  kernel.header = "map";
  std::string call =
      ("frit::map<" + Twine(vector) + ">(" + name + "_body{" +
       argumentList(lowered) + "}, " + Twine(strips->count()) + "u);\n")
          .str();
  kernel.source =
      ("struct " + name + "_body {\n").str() + parameterList(lowered, true) +
      "\n" + strips->print(schedule.getSplit()) + "};\n" +
      kernelFunction(name, lowered,
                     {.threads = threads, .occupancy = schedule.getOccupancy()},
                     call);
  kernel.grid[0] = ceilDiv(strips->count() / vector, threads);
  kernel.block[0] = threads;
  return kernel;
}

template <> std::unique_ptr<Skeleton> frit::cuda::makeSkeleton<StripsAttr>() {
  return std::make_unique<StripsSkeleton>();
}
