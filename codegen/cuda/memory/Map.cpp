//===- Map.cpp - One thread per vector of output elements -----------------===//
//
// The skeletons map, for fusions whose accesses are contiguous or broadcast,
// and generic, which takes any fusion and computes reductions as loops.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/memory/Map.h"
#include "dialects/nn/rewrites/JoinMaps.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

static constexpr int64_t kMaxGrid = INT32_MAX;
/// Elements per SM up to which a kernel takes hardly longer than its launch.
static constexpr int64_t kShortElements = 512;
/// Elements per SM of a kernel that appends to caches, and of what runs beside:
/// there, a launch and the end of another kernel cost more than larger blocks.
static constexpr int64_t kAppendElements = 128 << 10;

SmallVector<OutputGroup> frit::cuda::groupOutputs(const LinalgFusion &lowered) {
  SmallVector<OutputGroup> groups;
  for (auto [i, output] : llvm::enumerate(lowered.outputs())) {
    int64_t count = rankedType(output).getNumElements();
    auto *group = llvm::find_if(
        groups, [&](const OutputGroup &g) { return g.count == count; });
    if (group == groups.end())
      group = &groups.emplace_back(OutputGroup{count, {}});
    group->outputs.push_back(i);
  }
  return groups;
}

SmallVector<Node *> frit::cuda::buildRoots(Graph &graph,
                                           const LinalgFusion &lowered,
                                           const OutputGroup &group,
                                           int64_t vector, int64_t interleave) {
  AffineExpr i = graph.space.addDim(group.count);
  if (interleave > 1)
    graph.setScatteredLane(i, interleave);
  else
    graph.setLane(i, vector);
  graph.dividends = kLane;
  SmallVector<Node *> roots;
  for (unsigned output : group.outputs)
    roots.push_back(graph.elementAt(lowered.outputs()[output], i));
  return roots;
}

/// Prints `operator()` of a body whose lanes are `threads` elements apart. All
/// lanes load before the first one stores, so that their loads overlap.
static std::string printInterleaved(Graph &graph, ArrayRef<Node *> roots,
                                    const LinalgFusion &lowered,
                                    const OutputGroup &group,
                                    StringRef indexType, int64_t threads) {
  std::string width = std::to_string(graph.lanes.width);
  std::string place = "i + v * " + std::to_string(threads);
  bool whole = group.count % (graph.lanes.width * threads) == 0;
  Printer printer(graph);
  printer.setArguments(lowered.inputElements());
  printer.nameDim(graph.lanes.lane, "at[v]");
  printer.before(indexType + " at[" + width + "];\n#pragma unroll\n" +
                 "for (int v = 0; v < " + width + "; ++v)\n  at[v] = " +
                 (whole ? place
                        : "frit::minimum<" + indexType.str() + ">(" + place +
                              ", " + std::to_string(group.count - 1) + ")") +
                 ";");
  printer.expect(roots);
  printer.shareLoops(roots);
  printer.openLanes();
  std::string stores;
  for (auto [output, root] : llvm::zip(group.outputs, roots)) {
    std::string number = std::to_string(output);
    std::string value = printer.value(root);
    printer.before(valueName(root->type) + " out" + number + "[" + width +
                   "];");
    printer.line("out" + number + "[v] = " + value + ";");
    stores +=
        "frit::store(y" + number + "[" + place + "], out" + number + "[v]);\n";
  }
  printer.closeLanes();
  std::string guard = whole ? ""
                            : "if (" + place +
                                  " >= " + std::to_string(group.count) +
                                  ")\n  break;\n";
  return ("  __device__ void operator()(" + indexType + " i) const {\n" +
          printer.str(4) + "#pragma unroll\n    for (int v = 0; v < " + width +
          "; ++v) {\n" + indented(guard + stores, 6) + "    }\n  }\n")
      .str();
}

/// Prints `operator()` of a group's body.
static std::string printBody(Graph &graph, ArrayRef<Node *> roots,
                             const LinalgFusion &lowered,
                             const OutputGroup &group, StringRef indexType) {
  Printer printer(graph);
  printer.setArguments(lowered.inputElements());
  printer.nameDim(graph.lanes.lane, "i");
  printer.expect(roots);
  printer.shareLoops(roots);
  SmallVector<std::pair<unsigned, Node *>> outputs;
  for (auto [output, root] : llvm::zip(group.outputs, roots))
    outputs.push_back({output, root});
  return ("  __device__ void operator()(" + indexType + " i) const {\n" +
          storeOutputs(printer, graph, lowered, outputs, "i") + "  }\n")
      .str();
}

namespace {
/// The parameters that #cuda.map and #cuda.generic share.
struct ElementSchedule {
  int64_t vector, interleave, threads;
  /// Whether the number of elements is a kernel parameter, so that the same
  /// code serves tensors of any size.
  bool countsAreParameters;
};

/// Outputs that share a body, and the elements that a thread computes.
struct ElementGroup {
  ElementGroup(OutputGroup outputs, MLIRContext *context)
      : outputs(std::move(outputs)), graph(context) {}

  OutputGroup outputs;
  Graph graph;
  SmallVector<Node *> roots;
};
using ElementGroups = std::vector<std::unique_ptr<ElementGroup>>;
} // namespace

static nn::Match<ElementGroups> fitElements(Problem &problem,
                                            const ElementSchedule &schedule) {
  const LinalgFusion &lowered = problem.lowered();
  int64_t vector = schedule.vector, interleave = schedule.interleave;
  ElementGroups groups;
  for (OutputGroup &outputs : groupOutputs(lowered)) {
    if (outputs.count % vector)
      return nn::Mismatch(
          "its number of elements is not a multiple of the vector width");
    if (!lowered.keepsRows(vector) ||
        (interleave > 1 && lowered.hasDestinations()))
      return nn::Mismatch("threads would store to several rows of a state");
    ElementGroup &group = *groups.emplace_back(
        std::make_unique<ElementGroup>(std::move(outputs), problem.context()));
    group.roots =
        buildRoots(group.graph, lowered, group.outputs, vector, interleave);
    if (!group.graph.failure().empty())
      return nn::Mismatch(group.graph.failure());
  }
  return groups;
}

static KernelText printElements(ElementGroups &groups, Problem &problem,
                                const ElementSchedule &schedule,
                                StringRef name) {
  const LinalgFusion &lowered = problem.lowered();
  auto [vector, interleave, threads, countsAreParameters] = schedule;
  KernelText kernel;
  kernel.header = "map";
  std::string calls, scalars;
  int64_t blocks = 0;
  for (auto [i, held] : llvm::enumerate(groups)) {
    auto &[group, graph, roots] = *held;
    bool wide = indexIsWide(group.count);
    std::string body = name.str() + "_body";
    if (groups.size() > 1)
      body += std::to_string(i);
    StringRef index = wide ? "uint64_t" : "unsigned";
    kernel.source +=
        "struct " + body + " {\n" + parameterList(lowered, true) + "\n" +
        (interleave > 1
             ? printInterleaved(graph, roots, lowered, group, index, threads)
             : printBody(graph, roots, lowered, group, index)) +
        "};\n";
    std::string count = std::to_string(group.count) + (wide ? "ull" : "u");
    if (countsAreParameters) {
      count = "n" + std::to_string(i);
      scalars += ((i ? ", " : "") + index + " " + count).str();
      kernel.scalars.push_back(group.count);
    }
    // Each group has blocks of its own, so that none waits for another.
    int64_t own =
        std::min(std::max<int64_t>(
                     ceilDiv(group.count / vector, threads * interleave), 1),
                 kMaxGrid / static_cast<int64_t>(groups.size()));
    if (groups.size() > 1)
      calls += "if (" + (i ? "blockIdx.x >= " + std::to_string(blocks) : "") +
               (i && i + 1 < groups.size() ? " && " : "") +
               (i + 1 < groups.size()
                    ? "blockIdx.x < " + std::to_string(blocks + own)
                    : "") +
               ")\n  ";
    calls += (interleave > 1 ? "frit::mapApart<" + std::to_string(interleave)
                             : "frit::map<" + std::to_string(vector)) +
             ">(" + body + "{" + argumentList(lowered) + "}, " + count;
    if (groups.size() > 1)
      calls += ", frit::BlockRange{" + std::to_string(blocks) + ", " +
               std::to_string(own) + "}";
    calls += ");\n";
    blocks += own;
  }
  kernel.source += kernelFunction(
      name, lowered, {.threads = threads, .scalars = scalars}, calls);
  kernel.grid[0] = blocks;
  kernel.block[0] = threads;
  return kernel;
}

//===----------------------------------------------------------------------===//
// Skeletons
//===----------------------------------------------------------------------===//

static LogicalResult
verifyElements(llvm::function_ref<InFlightDiagnostic()> emitError,
               int64_t vector, int64_t interleave, int64_t threads) {
  if (failed(require(emitError, isPowerOf2UpTo(vector, 8), "vector",
                     "1, 2, 4 or 8")) ||
      failed(requireRanges(emitError, {{"interleave", interleave, 1, 16}})) ||
      failed(require(emitError, vector == 1 || interleave == 1, "interleave",
                     "1 where there are vectors")))
    return failure();
  return requireBlock(emitError, threads);
}

LogicalResult
MapAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                int64_t vector, int64_t interleave, int64_t threads) {
  return verifyElements(emitError, vector, interleave, threads);
}

LogicalResult
GenericAttr::verify(llvm::function_ref<InFlightDiagnostic()> emitError,
                    int64_t vector, int64_t interleave, int64_t threads) {
  return verifyElements(emitError, vector, interleave, threads);
}

namespace {
/// The common part of both skeletons.
template <class Attr> class Elements : public MapFamily<Attr, ElementGroups> {
  static ElementSchedule scheduleOf(Attr schedule) {
    return {schedule.getVector(), schedule.getInterleave(),
            schedule.getThreads(),
            /*countsAreParameters=*/std::is_same_v<Attr, MapAttr>};
  }
  nn::Match<ElementGroups> fit(Problem &problem, Attr schedule,
                               const Machine &machine) const override {
    return fitElements(problem, scheduleOf(schedule));
  }
  KernelText print(ElementGroups &groups, Problem &problem, Attr schedule,
                   StringRef name) const override {
    return printElements(groups, problem, scheduleOf(schedule), name);
  }
};

/// Elementwise fusions that read and write in order.
class Map : public Elements<MapAttr> {};

/// Returns whether a fusion computes each element by itself, and at most
/// `perSm` for each SM.
static bool hasFewElements(nn::FusionOp fusion, int64_t perSm,
                           const Machine &machine) {
  Block &body = fusion.getBody().front();
  int64_t elements = 0;
  for (Value result : body.getTerminator()->getOperands()) {
    auto update = result.getDefiningOp<nn::UpdateOp>();
    Value stored = update ? update.getValue() : result;
    if (!haveElements(stored))
      return false;
    elements += nn::tensorType(stored).getNumElements();
  }
  return elements <= perSm * machine.arch.sms &&
         llvm::all_of(body.without_terminator(), computesElementsAlone);
}

/// Any fusion without composites.
class Generic : public Elements<GenericAttr> {
  bool isGeneric() const override { return true; }
  void populateRewrites(nn::TargetRewrites &rewrites,
                        const Machine &machine) const override {
    rewrites.add(nn::JoinMapsRewrite{
        [&machine](nn::FusionOp fusion) {
          return hasFewElements(fusion, kShortElements, machine);
        },
        [&machine](nn::FusionOp fusion) {
          return hasFewElements(fusion, kAppendElements, machine);
        }});
  }
};
} // namespace

template <> std::unique_ptr<Skeleton> frit::cuda::makeSkeleton<MapAttr>() {
  return std::make_unique<Map>();
}
template <> std::unique_ptr<Skeleton> frit::cuda::makeSkeleton<GenericAttr>() {
  return std::make_unique<Generic>();
}
