//===- EmitMap.cpp - One thread per vector of output elements -------------===//
//
// The map skeleton where everything is contiguous or broadcast, and the generic
// kernel: one output element per thread, reductions as loops.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/memory/Strips.h"
#include "codegen/cuda/memory/Windows.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

static constexpr int64_t kMaxGrid = INT32_MAX;
/// Of which four to a thread leave enough threads.
static constexpr int64_t kManyElements = 4 * 132 * 2048;

namespace {
/// Outputs of the same number of elements, which share a body.
struct Group {
  int64_t count;
  SmallVector<unsigned> outputs;
};
} // namespace

static SmallVector<Group> groupOutputs(const LinalgFusion &lowered) {
  SmallVector<Group> groups;
  for (auto [i, output] : llvm::enumerate(lowered.outputs())) {
    int64_t count = rankedType(output).getNumElements();
    auto *group =
        llvm::find_if(groups, [&](const Group &g) { return g.count == count; });
    if (group == groups.end())
      group = &groups.emplace_back(Group{count, {}});
    group->outputs.push_back(i);
  }
  return groups;
}

static SmallVector<Node *> buildRoots(Graph &graph, const LinalgFusion &lowered,
                                      const Group &group, int64_t vector,
                                      int64_t apart = 1) {
  AffineExpr i = graph.space.addDim(group.count);
  if (apart > 1)
    graph.setScatteredLane(i, apart);
  else
    graph.setLane(i, vector);
  graph.dividends = kLane;
  SmallVector<Node *> roots;
  for (unsigned output : group.outputs)
    roots.push_back(graph.elementAt(lowered.outputs()[output], i));
  return roots;
}

/// `operator()` of a body whose lanes are `threads` elements apart. They load
/// before any of them stores.
static std::string printApart(Graph &graph, ArrayRef<Node *> roots,
                              const LinalgFusion &lowered, const Group &group,
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

/// `operator()` of a group's body.
static std::string printBody(Graph &graph, ArrayRef<Node *> roots,
                             const LinalgFusion &lowered, const Group &group,
                             StringRef indexType) {
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

/// Whether threads have several neighbours of an image's row, whose windows
/// share what they read.
static std::unique_ptr<Windows> makeWindows(const LinalgFusion &lowered,
                                            const Group &group, int64_t width) {
  for (unsigned output : group.outputs)
    if (width * storageBytes(elementType(lowered.outputs()[output])) > 16)
      return nullptr;
  if (width == 1 || group.count % width != 0)
    return nullptr;
  auto windows =
      std::make_unique<Windows>(lowered, group.outputs, group.count, width);
  return windows->pays() ? std::move(windows) : nullptr;
}

/// Whether lanes of loops read neither the same nor neighbours.
static bool hasScatteredLoops(ArrayRef<Node *> roots, const Graph &graph) {
  bool loops = false, scattered = false;
  for (Node *node : Graph::reachable(roots, graph)) {
    loops |= node->kind == Node::Kind::loop;
    scattered |= node->kind == Node::Kind::load &&
                 node->pattern.use == LaneUse::scattered;
  }
  return loops && scattered;
}

FailureOr<KernelText> frit::cuda::emitMap(const LinalgFusion &lowered,
                                          StringRef name,
                                          nn::ScheduleAttr schedule,
                                          std::string &failure) {
  int64_t vector = schedule.getVector(), threads = schedule.getThreads();
  int64_t apart = schedule.getPerThread();
  if (vector > 1 && apart > 1)
    return emitStrips(lowered, name, schedule, failure);
  KernelText kernel;
  kernel.header = "map";
  std::string calls, scalars;
  // Where nothing else depends on how many elements there are, a parameter says
  // so: then the same code serves tensors of any size.
  bool anySize = schedule.getSkeleton() == nn::Skeleton::map;
  SmallVector<Group> groups = groupOutputs(lowered);
  int64_t blocks = 1;
  for (auto [i, group] : llvm::enumerate(groups)) {
    Graph graph(lowered.context());
    auto roots = buildRoots(graph, lowered, group, vector, apart);
    if (!graph.failure().empty()) {
      failure = graph.failure();
      return llvm::failure();
    }
    // The skeleton's 32-bit index must not wrap when it steps past the end.
    bool wide = group.count > (int64_t(1) << 30);
    std::string body = name.str() + "_body";
    if (groups.size() > 1)
      body += std::to_string(i);
    StringRef index = wide ? "uint64_t" : "unsigned";
    std::unique_ptr<Windows> windows;
    if (apart == 1 && hasScatteredLoops(roots, graph))
      windows = makeWindows(lowered, group, vector);
    kernel.source +=
        "struct " + body + " {\n" + parameterList(lowered, true) + "\n" +
        (apart > 1 ? printApart(graph, roots, lowered, group, index, threads)
         : windows ? windows->print(index)
                   : printBody(graph, roots, lowered, group, index)) +
        "};\n";
    std::string count = std::to_string(group.count) + (wide ? "ull" : "u");
    if (anySize) {
      count = "n" + std::to_string(i);
      scalars += ((i ? ", " : "") + index + " " + count).str();
      kernel.scalars.push_back(group.count);
    }
    calls += (apart > 1 ? "frit::mapApart<" + std::to_string(apart)
                        : "frit::map<" + std::to_string(vector)) +
             ">(" + body + "{" + argumentList(lowered) + "}, " + count + ");\n";
    blocks = std::max(blocks, ceilDiv(group.count / vector, threads * apart));
  }
  kernel.source +=
      kernelFunction(name, lowered, threads, calls, 0, Waits::inFunction,
                     /*cluster=*/1, /*resident=*/0, scalars);
  kernel.grid[0] = std::min(blocks, kMaxGrid);
  kernel.block[0] = threads;
  return kernel;
}

//===----------------------------------------------------------------------===//
// Schedule
//===----------------------------------------------------------------------===//

/// Elements that 16 bytes hold of the narrowest tensor that is read or written
/// once per element.
static int64_t widestVector(const LinalgFusion &lowered, const Group &group,
                            ArrayRef<Node *> nodes, int64_t &narrowest) {
  narrowest = 16;
  int64_t widestStore = 1;
  for (unsigned output : group.outputs) {
    int64_t bytes = storageBytes(elementType(lowered.outputs()[output]));
    narrowest = std::min(narrowest, bytes);
    widestStore = std::max(widestStore, bytes);
  }
  for (Node *node : nodes)
    if (node->kind == Node::Kind::load && !isa<AffineConstantExpr>(node->index))
      narrowest = std::min(
          narrowest, storageBytes(lowered.inputElements()[node->argument]));
  // A store of more than 16 bytes would be several with gaps between threads,
  // which nothing joins again; caches do that for loads.
  return std::min<int64_t>({16 / narrowest, 16 / widestStore, 8});
}

/// Whether a load whose lanes are scattered, the same way for every thread,
/// shares sectors of 32 bytes with the other lanes' and with neighbouring
/// threads', so that few are read in vain.
static bool sharesSectors(const Node *load, const Graph &graph, int64_t bytes,
                          bool inLoop) {
  const Lanes &lanes = graph.lanes;
  AffineExpr index = load->pattern.index;
  unsigned group = cast<AffineDimExpr>(lanes.group).getPosition();
  unsigned place = cast<AffineDimExpr>(lanes.place).getPosition();
  MLIRContext *context = index.getContext();
  AffineExpr zero = getAffineConstantExpr(0, context);
  // Symbols are mostly places that a pad keeps inside, and stand for those.
  SmallVector<AffineExpr> values;
  bool known = true;
  index.walk([&](AffineExpr part) {
    auto symbol = dyn_cast<AffineSymbolExpr>(part);
    if (!symbol)
      return;
    values.resize(std::max<size_t>(values.size(), symbol.getPosition() + 1),
                  zero);
    AffineExpr &value = values[symbol.getPosition()];
    for (Node *node : Graph::reachable(graph.symbolNode(part), graph)) {
      known &= node->kind != Node::Kind::load;
      if (node->kind != Node::Kind::index ||
          isa<AffineConstantExpr>(node->index))
        continue;
      AffineExpr inside = node->pattern.index;
      known &= inside && (value == zero || value == inside);
      value = inside;
    }
  });
  if (!known)
    return false;
  index = index.replaceSymbols(values);
  // Wherever a loop stands, lanes are as far apart as in its first step.
  unsigned last = std::max(group, place);
  index.walk([&](AffineExpr part) {
    if (auto dim = dyn_cast<AffineDimExpr>(part))
      last = std::max(last, dim.getPosition());
  });
  SmallVector<AffineExpr> dims(last + 1, zero);
  llvm::DenseSet<int64_t> sectors, elements;
  SmallVector<int64_t> apart; // of the first thread's lanes
  for (int64_t thread = 0; thread < 32; ++thread) {
    int64_t first = 0;
    for (int64_t lane = 0; lane < lanes.width; ++lane) {
      dims[group] = getAffineConstantExpr(thread, context);
      dims[place] = getAffineConstantExpr(lane, context);
      auto at = dyn_cast<AffineConstantExpr>(
          index.replaceDimsAndSymbols(dims, /*symReplacements=*/{}));
      if (!at)
        return false;
      if (lane == 0)
        first = at.getValue();
      if (thread == 0)
        apart.push_back(at.getValue() - first);
      else if (at.getValue() - first != apart[lane])
        return false;
      elements.insert(at.getValue());
      sectors.insert(llvm::divideFloorSigned(at.getValue() * bytes, 32));
    }
  }
  // A loop's other steps read what the first leaves of its sectors.
  int64_t most = inLoop ? 4 : 2;
  return static_cast<int64_t>(elements.size()) * bytes * most >=
         static_cast<int64_t>(sectors.size()) * 32;
}

/// Neighbours with windows for a thread: as many as one of its vectors takes 16
/// bytes for, if there are that many, or 1.
static int64_t widestWindows(const LinalgFusion &lowered, const Group &group) {
  int64_t width = 1;
  for (int64_t next = 2; next <= 8; next *= 2) {
    auto windows = makeWindows(lowered, group, next);
    if (!windows || group.count / next < 64 * 1024)
      continue;
    width = next;
    if (windows->widest() == 16)
      break;
  }
  return width;
}

nn::ScheduleAttr frit::cuda::scheduleMap(const LinalgFusion &lowered) {
  MLIRContext *context = lowered.context();
  SmallVector<Group> groups = groupOutputs(lowered);
  auto get = [&](nn::Skeleton skeleton, int64_t vector, int64_t threads) {
    return nn::ScheduleAttr::get(context, skeleton, vector, threads, 1, false);
  };
  int64_t count = 0;
  for (const Group &group : groups)
    count = std::max(count, group.count);
  // Small tensors are spread over the multiprocessors before threads are given
  // several elements.
  auto threadsFor = [](int64_t work) {
    return work >= 256 * 132 ? 256 : work >= 128 * 132 ? 128 : 64;
  };
  Graph plain(context);
  SmallVector<Node *> nodes;
  for (const Group &group : groups)
    llvm::append_range(
        nodes, Graph::reachable(buildRoots(plain, lowered, group, 1), plain));
  bool loops = llvm::any_of(
      nodes, [](Node *node) { return node->kind == Node::Kind::loop; });
  if (groups.size() != 1 || count == 0)
    return get(nn::Skeleton::generic, 1, threadsFor(count));

  // A loop's loads one by one want neighbouring threads close together.
  auto mayScatter = [&](int64_t vector, Node *load) {
    int64_t bytes = storageBytes(lowered.inputElements()[load->argument]);
    return loops ? vector * bytes <= 4 : vector >= 4;
  };
  auto fits = [&](int64_t vector) {
    if (count % vector != 0)
      return false;
    Graph graph(context);
    auto roots = buildRoots(graph, lowered, groups[0], vector);
    return llvm::all_of(Graph::reachable(roots, graph), [&](Node *node) {
      return node->kind != Node::Kind::load ||
             node->pattern.use != LaneUse::scattered ||
             (mayScatter(vector, node) &&
              sharesSectors(
                  node, graph,
                  storageBytes(lowered.inputElements()[node->argument]),
                  loops));
    });
  };
  int64_t narrowest;
  int64_t vector = widestVector(lowered, groups[0], nodes, narrowest);
  while (vector > 1 && vector * narrowest > 4 && count / vector < 64 * 1024)
    vector /= 2;
  while (vector > 1 && !fits(vector))
    vector /= 2;
  Graph lanes(context);
  if (loops &&
      (vector == 1 ||
       hasScatteredLoops(buildRoots(lanes, lowered, groups[0], vector), lanes)))
    vector = std::max(vector, widestWindows(lowered, groups[0]));
  else if (loops)
    if (nn::ScheduleAttr strips = scheduleStrips(lowered, vector))
      return strips;
  if (vector > 1)
    return get(loops ? nn::Skeleton::generic : nn::Skeleton::map, vector,
               threadsFor(count / vector));
  // Small tensors are contiguous too, even if not worth vectors.
  bool contiguous =
      !loops && (fits(2) || llvm::all_of(nodes, [&](Node *node) {
                   return node->kind != Node::Kind::load ||
                          isa<AffineConstantExpr, AffineDimExpr>(node->index);
                 }));
  // Threads of a large tensor have several elements each, whose loads overlap.
  return nn::ScheduleAttr::get(
      context, contiguous ? nn::Skeleton::map : nn::Skeleton::generic, 1,
      threadsFor(count), !loops && count >= kManyElements ? 4 : 1, false);
}
