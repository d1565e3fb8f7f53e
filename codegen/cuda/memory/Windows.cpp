//===- Windows.cpp - Windows of neighbouring outputs ----------------------===//

#include "codegen/cuda/memory/Windows.h"

#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Maximum steps of an unrolled reduction.
static constexpr int64_t kMaxUnrolledSteps = 32;

Windows::Windows(const LinalgFusion &lowered, ArrayRef<unsigned> outputs,
                 int64_t count, int64_t width)
    : lowered(lowered), outputs(outputs), width(width),
      graph(lowered.context()) {
  graph.maxUnrolledSteps = kMaxUnrolledSteps;
  graph.dividends = kLane;
  IndexSpace &space = graph.space;
  group = space.addDim(count / width);
  for (unsigned output : outputs)
    for (int64_t i = 0; i < width; ++i)
      roots.push_back(graph.elementAt(
          lowered.outputs()[output],
          space.add(space.mul(group, width), space.constant(i))));
  unrolls = graph.failure().empty() &&
            llvm::none_of(Graph::reachable(roots, graph), [](Node *node) {
              return node->kind == Node::Kind::loop;
            });
  if (unrolls)
    findRuns();
}

void Windows::findRuns() {
  IndexSpace &space = graph.space;
  // Loads by argument and index without its constant term, then by that
  // constant.
  llvm::MapVector<std::pair<unsigned, AffineExpr>, std::map<int64_t, Node *>>
      rows;
  for (Node *node : Graph::reachable(roots, graph)) {
    if (node->kind != Node::Kind::load || isa<AffineConstantExpr>(node->index))
      continue;
    ++loads;
    AffineExpr base = node->index;
    int64_t rest = 0;
    if (auto sum = dyn_cast<AffineBinaryOpExpr>(base);
        sum && sum.getKind() == AffineExprKind::Add)
      if (auto constant = dyn_cast<AffineConstantExpr>(sum.getRHS())) {
        base = sum.getLHS();
        rest = constant.getValue();
      }
    rows[{node->argument, base}][rest] = node;
  }
  for (auto &[key, row] : rows) {
    int64_t bytes = storageBytes(lowered.inputElements()[key.first]);
    for (int64_t length = 16 / bytes; length > 1; length /= 2)
      for (auto at = row.begin(); at != row.end();) {
        Run run = {length * bytes, {}};
        auto end = at;
        if (space.mod(space.add(key.second, space.constant(at->first)),
                      length) == space.constant(0))
          for (; end != row.end() &&
                 end->first == at->first + int64_t(run.loads.size()) &&
                 int64_t(run.loads.size()) < length;
               ++end)
            run.loads.push_back(end->second);
        if (int64_t(run.loads.size()) < length) {
          ++at;
          continue;
        }
        at = row.erase(at, end);
        runs.push_back(std::move(run));
      }
    scalarLoads += row.size();
  }
}

bool Windows::pays() const {
  return 2 * (int64_t(runs.size()) + scalarLoads) <= loads;
}

int64_t Windows::widest() const {
  int64_t bytes = 0;
  for (const Run &run : runs)
    bytes = std::max(bytes, run.bytes);
  return bytes;
}

std::string Windows::print(StringRef indexType) {
  Printer printer(graph);
  printer.setArguments(lowered.inputElements());
  printer.nameDim(group, "group");
  printer.line(indexType + " group = i / " + Twine(width) + ";");
  printer.expect(roots);
  for (auto [number, run] : llvm::enumerate(runs)) {
    std::string name = "w" + std::to_string(number);
    std::string place = printer.place(run.loads[0]);
    printer.line(valueName(run.loads[0]->type) + " " + name + "[" +
                 Twine(run.loads.size()) + "];");
    printer.line("frit::loadVector(" + name + ", x" +
                 Twine(run.loads[0]->argument) + " + " + place + ");");
    for (auto [i, load] : llvm::enumerate(run.loads))
      printer.define(load, name + "[" + std::to_string(i) + "]");
  }
  for (auto [i, output] : llvm::enumerate(outputs)) {
    std::string name = "out" + std::to_string(output);
    ArrayRef<Node *> values = ArrayRef<Node *>(roots).slice(i * width, width);
    printer.line(valueName(values[0]->type) + " " + name + "[" + Twine(width) +
                 "];");
    for (auto [lane, value] : llvm::enumerate(values)) {
      std::string text = printer.value(value);
      printer.line(name + "[" + Twine(lane) + "] = " + text + ";");
    }
    printer.line("frit::storeVector(y" + Twine(output) + " + i, " + name +
                 ");");
  }
  return ("  __device__ void operator()(" + indexType + " i) const {\n" +
          printer.str(4) + "  }\n")
      .str();
}

std::unique_ptr<Windows> frit::cuda::makeWindows(const LinalgFusion &lowered,
                                                 const OutputGroup &group,
                                                 int64_t width) {
  for (unsigned output : group.outputs)
    if (width * storageBytes(elementType(lowered.outputs()[output])) > 16)
      return nullptr;
  if (width == 1 || group.count % width != 0)
    return nullptr;
  auto windows =
      std::make_unique<Windows>(lowered, group.outputs, group.count, width);
  return windows->fits() ? std::move(windows) : nullptr;
}

LogicalResult
WindowsAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                    int64_t width, int64_t threads) {
  if (failed(require(emitError, width > 1 && isPowerOf2UpTo(width, 8), "width",
                     "2, 4 or 8")))
    return failure();
  return requireBlock(emitError, threads);
}

namespace {
class WindowsSkeleton
    : public MapFamily<WindowsAttr, std::unique_ptr<Windows>> {
  int64_t elementsPerThread(WindowsAttr schedule) const override {
    return schedule.getWidth();
  }
  nn::Match<std::unique_ptr<Windows>>
  fit(Problem &problem, WindowsAttr schedule,
      const Machine &machine) const override {
    const LinalgFusion &lowered = problem.lowered();
    SmallVector<OutputGroup> groups = groupOutputs(lowered);
    auto windows = groups.size() == 1
                       ? makeWindows(lowered, groups[0], schedule.getWidth())
                       : std::unique_ptr<Windows>();
    if (!windows)
      return nn::Mismatch("it has no overlapping windows of that width");
    return windows;
  }
  KernelText print(std::unique_ptr<Windows> &windows, Problem &problem,
                   WindowsAttr schedule, StringRef name) const override;
};
} // namespace

KernelText WindowsSkeleton::print(std::unique_ptr<Windows> &windows,
                                  Problem &problem, WindowsAttr schedule,
                                  StringRef name) const {
  const LinalgFusion &lowered = problem.lowered();
  int64_t width = schedule.getWidth(), threads = schedule.getThreads();
  int64_t count = groupOutputs(lowered).front().count;
  bool wide = indexIsWide(count);
  std::string body = (name + "_body").str();
  KernelText kernel;
  kernel.header = "map";
  kernel.source =
      "struct " + body + " {\n" + parameterList(lowered, true) + "\n" +
      windows->print(wide ? "uint64_t" : "unsigned") + "};\n" +
      kernelFunction(name, lowered, {.threads = threads},
                     "frit::map<" + std::to_string(width) + ">(" + body + "{" +
                         argumentList(lowered) + "}, " + std::to_string(count) +
                         (wide ? "ull" : "u") + ");\n");
  kernel.grid[0] =
      std::min<int64_t>(ceilDiv(count / width, threads), INT32_MAX);
  kernel.block[0] = threads;
  return kernel;
}

template <> std::unique_ptr<Skeleton> frit::cuda::makeSkeleton<WindowsAttr>() {
  return std::make_unique<WindowsSkeleton>();
}
