//===- Strips.cpp - Outputs one below the other ---------------------------===//

#include "codegen/cuda/memory/Strips.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Steps of a reduction that is written out, and outputs of a strip.
static constexpr int64_t kWrittenOut = 32, kLongest = 5;
/// Parts that are under way before an output is stored, since loads do not pass
/// stores.
static constexpr int64_t kAhead = 2;
/// Of small blocks many threads find room beside each other: enough with 96
/// registers each, which windows of three rows can do with, and longer ones
/// gain by all of 128.
static constexpr int64_t kThreads = 128, kResident = 5, kLongResident = 4,
                         kFewParts = 3;
/// With a block's threads beside each other, 80 registers do.
static constexpr int64_t kBesideResident = 6;
/// Bytes of a line of the cache.
static constexpr int64_t kLine = 128;
/// Threads that keep the multiprocessors of a large GPU busy.
static constexpr int64_t kBusy = 132 * 1024;

Strips::Strips(const LinalgFusion &lowered, unsigned dim, int64_t length,
               int64_t vector)
    : lowered(lowered), length(length), graph(lowered.context()) {
  ArrayRef<int64_t> shape = rankedType(lowered.outputs()[0]).getShape();
  size = shape[dim];
  for (int64_t before : shape.take_front(dim))
    outer *= before;
  for (int64_t behind : shape.drop_front(dim + 1))
    inner *= behind;
  // Neighbouring pixels have most of their windows in common, so a block has a
  // line of many rather than all of a few.
  channels = shape.back();
  piece = kLine / storageBytes(elementType(lowered.outputs()[0]));
  isSplit = piece % vector == 0 && channels % piece == 0 && channels > piece &&
            inner > channels;
  graph.writtenOut = kWrittenOut;
  graph.keepsParts = true;
  graph.dividends = kLane;
  index = graph.space.addDim(count());
  // The last strip ends where the dimension does, and may begin in the one
  // before.
  first = graph.space.addDim(size - length + 1);
  graph.setLane(index, vector);
  for (int64_t step = 0; step < length; ++step) {
    for (Value output : lowered.outputs())
      roots.push_back(graph.elementAt(output, place(step)));
    partsUpTo.push_back(graph.parts.size());
  }
}

AffineExpr Strips::place(int64_t step) {
  IndexSpace &space = graph.space;
  AffineExpr row = space.add(first, space.constant(step));
  return space.add(
      space.mul(space.floorDiv(index, inner * strips()), inner * size),
      space.add(space.mul(row, inner), space.mod(index, inner)));
}

bool Strips::pays() const {
  if (!graph.failure().empty() ||
      (length > 1 && partsUpTo[1] >= 2 * partsUpTo[0]))
    return false;
  return llvm::none_of(Graph::reachable(roots, graph), [](Node *node) {
    return node->kind == Node::Kind::loop ||
           (node->kind == Node::Kind::load &&
            node->pattern.use == LaneUse::scattered);
  });
}

void Strips::printPart(Printer &printer, size_t number) {
  Node *part = graph.parts[number];
  std::string name = "part" + std::to_string(number);
  printer.line(valueName(part->type) + " " + name + "[" +
               Twine(graph.lanes.width) + "];");
  printer.openLanes();
  std::string text = printer.value(part);
  printer.line(name + "[v] = " + text + ";");
  printer.closeLanes();
  printer.define(part, name + "[v]");
}

void Strips::printOutputs(Printer &printer, int64_t step) {
  size_t outputs = lowered.outputs().size();
  std::string at =
      graph.space
          .print(place(step),
                 [&](AffineExpr leaf, bool, bool) -> IndexText {
                   return {leaf == first ? "first" : start().str(), kPrimary};
                 })
          .text;
  std::string stores;
  for (auto [output, root] :
       llvm::enumerate(ArrayRef(roots).slice(step * outputs, outputs))) {
    std::string name =
        "out" + std::to_string(output) + "_" + std::to_string(step);
    printer.line(valueName(root->type) + " " + name + "[" +
                 Twine(graph.lanes.width) + "];");
    stores += (stores.empty() ? "" : "\n") +
              ("frit::storeVector(y" + std::to_string(output) + " + " + at +
               ", " + name + ");");
  }
  printer.openLanes();
  for (size_t output = 0; output < outputs; ++output) {
    std::string text = printer.value(roots[step * outputs + output]);
    printer.line("out" + Twine(output) + "_" + Twine(step) + "[v] = " + text +
                 ";");
  }
  printer.closeLanes();
  printer.line(stores);
}

/// Where thread `i` is: lines of a row's pixels come first, then the others of
/// the same pixels.
std::string Strips::printPlace() const {
  auto text = [](int64_t number) { return std::to_string(number); };
  int64_t across = inner / channels;
  return "i / " + text(inner) + " * " + text(inner) + " + i % " + text(inner) +
         " / " + text(across * piece) + " * " + text(piece) + " + i / " +
         text(piece) + " % " + text(across) + " * " + text(channels) +
         " + i % " + text(piece);
}

std::string Strips::print() {
  Printer printer(graph);
  printer.setArguments(lowered.inputElements());
  printer.nameDim(index, start());
  printer.nameDim(first, "first");
  if (isSplit)
    printer.line("unsigned at = " + printPlace() + ";");
  std::string row = start().str() + " / " + std::to_string(inner) + " % " +
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
    printOutputs(printer, step);
  }
  return "  __device__ void operator()(unsigned i) const {\n" + printer.str(4) +
         "  }\n";
}

/// Along the first dimension where they pay.
static std::unique_ptr<Strips> makeStrips(const LinalgFusion &lowered,
                                          int64_t length, int64_t vector) {
  ArrayRef<int64_t> shape = rankedType(lowered.outputs()[0]).getShape();
  for (unsigned dim = 0; dim + 1 < shape.size(); ++dim) {
    if (shape[dim] < length)
      continue;
    auto strips = std::make_unique<Strips>(lowered, dim, length, vector);
    if (strips->pays())
      return strips;
  }
  return nullptr;
}

nn::ScheduleAttr frit::cuda::scheduleStrips(const LinalgFusion &lowered,
                                            int64_t vector) {
  int64_t count = rankedType(lowered.outputs()[0]).getNumElements();
  if (count > int64_t(1) << 30)
    return nullptr;
  int64_t best = 1, least = INT64_MAX;
  for (int64_t length = 2; length <= kLongest; ++length) {
    auto strips = makeStrips(lowered, length, vector);
    if (!strips || strips->count() / vector < kBusy)
      break;
    int64_t parts = strips->strips() * strips->stripParts();
    if (parts < least) {
      best = length;
      least = parts;
    }
  }
  if (best == 1)
    return nullptr;
  return nn::ScheduleAttr::get(lowered.context(), nn::Skeleton::generic, vector,
                               kThreads, best, false);
}

FailureOr<KernelText> frit::cuda::emitStrips(const LinalgFusion &lowered,
                                             StringRef name,
                                             nn::ScheduleAttr schedule,
                                             std::string &failure) {
  int64_t vector = schedule.getVector(), threads = schedule.getThreads();
  auto strips = makeStrips(lowered, schedule.getPerThread(), vector);
  if (!strips) {
    failure = "it has no strips";
    return llvm::failure();
  }
  KernelText kernel;
  kernel.header = "map";
  std::string call =
      ("frit::map<" + Twine(vector) + ">(" + name + "_body{" +
       argumentList(lowered) + "}, " + Twine(strips->count()) + "u);\n")
          .str();
  int64_t resident = threads != kThreads                 ? 0
                     : strips->windowParts() > kFewParts ? kLongResident
                     : strips->isSplit                   ? kBesideResident
                                                         : kResident;
  kernel.source = ("struct " + name + "_body {\n").str() +
                  parameterList(lowered, true) + "\n" + strips->print() +
                  "};\n" +
                  kernelFunction(name, lowered, threads, call, 0,
                                 Waits::inFunction, 1, resident);
  kernel.grid[0] = ceilDiv(strips->count() / vector, threads);
  kernel.block[0] = threads;
  return kernel;
}
