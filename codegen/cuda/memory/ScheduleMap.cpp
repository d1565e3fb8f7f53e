//===- ScheduleMap.cpp - Choice of elementwise schedules ------------------===//
//
// Chooses among map, generic, windows and strips, and the number of elements
// per thread.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/memory/Map.h"
#include "codegen/cuda/memory/Strips.h"
#include "codegen/cuda/memory/Windows.h"

#include "llvm/ADT/DenseSet.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Returns the maximum vector width: as many elements as fit 16 bytes of the
/// narrowest tensor that is read or written once per element. Sets `narrowest`
/// to the bytes of its elements.
static int64_t widestVector(const LinalgFusion &lowered,
                            const OutputGroup &group, ArrayRef<Node *> nodes,
                            int64_t &narrowest) {
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
  // A wider store would be split into 16-byte stores with gaps between threads.
  // L1 merges such loads, but nothing merges the stores.
  return std::min<int64_t>({16 / narrowest, 16 / widestStore, 8});
}

/// Returns whether the scattered lanes of a load use most of the 32-byte
/// sectors that a warp touches, with the same offsets in every thread.
static bool sharesSectors(const Node *load, const Graph &graph, int64_t bytes,
                          bool inLoop) {
  const Lanes &lanes = graph.lanes;
  AffineExpr index = load->pattern.index;
  unsigned group = cast<AffineDimExpr>(lanes.group).getPosition();
  unsigned place = cast<AffineDimExpr>(lanes.place).getPosition();
  MLIRContext *context = index.getContext();
  AffineExpr zero = getAffineConstantExpr(0, context);
  // Most symbols are indices clamped by a pad; replace them by the index that
  // is clamped.
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
  // The distances between lanes are the same in every iteration of a loop, so
  // look at the first.
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
  // In a loop, other iterations read the rest of the sectors.
  int64_t most = inLoop ? 4 : 2;
  return static_cast<int64_t>(elements.size()) * bytes * most >=
         static_cast<int64_t>(sectors.size()) * 32;
}

/// Returns whether there is a loop and a load that is scattered over the lanes.
static bool hasScatteredLoops(ArrayRef<Node *> roots, const Graph &graph) {
  bool loops = false, scattered = false;
  for (Node *node : Graph::reachable(roots, graph)) {
    loops |= node->kind == Node::Kind::loop;
    scattered |= node->kind == Node::Kind::load &&
                 node->pattern.use == LaneUse::scattered;
  }
  return loops && scattered;
}

/// Returns the number of neighbouring outputs with overlapping windows per
/// thread: the most for which vectors have at most 16 bytes, or 1.
static int64_t widestWindows(const LinalgFusion &lowered,
                             const OutputGroup &group) {
  int64_t width = 1;
  for (int64_t next = 2; next <= 8; next *= 2) {
    auto windows = makeWindows(lowered, group, next);
    if (!windows || !windows->pays() || group.count / next < 64 * 1024)
      continue;
    width = next;
    if (windows->widest() == 16)
      break;
  }
  return width;
}

/// Returns whether a fusion replaces rows of a state at a place that it reads.
static bool appendsRows(nn::FusionOp fusion) {
  return llvm::any_of(fusion.getBody().front().getOps<nn::UpdateOp>(),
                      [](nn::UpdateOp update) { return update.getOffset(); });
}

nn::Match<nn::Schedule> frit::cuda::chooseMap(Problem &problem,
                                              const Machine &machine) {
  for (Operation &op : problem.fusion().getBody().front())
    if (isa<nn::CompositeOp>(op))
      return nn::Mismatch("no kernel takes " + op.getName().getStringRef() +
                          " as it is here");
  const LinalgFusion &lowered = problem.lowered();
  MLIRContext *context = problem.context();
  int64_t sms = machine.arch.sms;
  SmallVector<OutputGroup> groups = groupOutputs(lowered);
  auto generic = [&](int64_t vector, int64_t threads) -> nn::Schedule {
    return GenericAttr::get(context, vector, /*interleave=*/1, threads);
  };
  int64_t count = 0;
  for (const OutputGroup &group : groups)
    count = std::max(count, group.count);
  // Spread small tensors over all SMs before giving threads several elements.
  auto threadsFor = [&](int64_t work) {
    return work >= 256 * sms ? 256 : work >= 128 * sms ? 128 : 64;
  };
  Graph plain(context);
  SmallVector<Node *> nodes;
  for (const OutputGroup &group : groups)
    llvm::append_range(
        nodes, Graph::reachable(buildRoots(plain, lowered, group, 1), plain));
  bool loops = llvm::any_of(
      nodes, [](Node *node) { return node->kind == Node::Kind::loop; });
  // Loops that share loads store to neighbouring places.
  bool updates = lowered.hasDestinations();
  const bool several = groups.size() != 1;
  if (count == 0 || (updates && loops) ||
      (several && !appendsRows(problem.fusion())))
    return generic(1, threadsFor(count));

  // The scalar loads of a loop need neighbouring threads close together.
  auto mayScatter = [&](int64_t vector, Node *load) {
    int64_t bytes = storageBytes(lowered.inputElements()[load->argument]);
    return loops ? vector * bytes <= 4 : vector >= 4;
  };
  auto fitsGroup = [&](const OutputGroup &group, int64_t vector) {
    if (group.count % vector != 0 || !lowered.keepsRows(vector))
      return false;
    Graph graph(context);
    auto roots = buildRoots(graph, lowered, group, vector);
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
  auto fits = [&](int64_t vector) {
    return llvm::all_of(groups, [&](const OutputGroup &group) {
      return fitsGroup(group, vector);
    });
  };
  int64_t narrowest;
  int64_t vector = widestVector(lowered, groups[0], nodes, narrowest);
  // What runs beside rows of caches has many elements, or a thread has one.
  if (several) {
    for (const OutputGroup &group : groups)
      vector = std::min(vector, widestVector(lowered, group, nodes, narrowest));
    while (vector > 1 && (count / vector < 64 * 1024 || !fits(vector)))
      vector /= 2;
    return generic(vector, threadsFor(count / vector));
  }
  while (vector > 1 && vector * narrowest > 4 && count / vector < 64 * 1024)
    vector /= 2;
  while (vector > 1 && !fits(vector))
    vector /= 2;
  if (loops) {
    Graph lanes(context);
    bool scattered =
        hasScatteredLoops(buildRoots(lanes, lowered, groups[0], vector), lanes);
    if (vector == 1 || scattered) {
      vector = std::max(vector, widestWindows(lowered, groups[0]));
      Graph wide(context);
      auto windows = makeWindows(lowered, groups[0], vector);
      if (windows && windows->pays() &&
          hasScatteredLoops(buildRoots(wide, lowered, groups[0], vector), wide))
        return nn::Schedule(
            WindowsAttr::get(context, vector, threadsFor(count / vector)));
    } else if (StripsAttr strips = chooseStrips(problem, vector, machine)) {
      return nn::Schedule(strips);
    }
  }
  if (vector > 1 && loops)
    return generic(vector, threadsFor(count / vector));
  if (vector > 1)
    return nn::Schedule(MapAttr::get(context, vector, /*interleave=*/1,
                                     threadsFor(count / vector)));
  // Small tensors count as contiguous even if vectors do not pay.
  bool contiguous =
      !loops && (fits(2) || llvm::all_of(nodes, [&](Node *node) {
                   return node->kind != Node::Kind::load ||
                          isa<AffineConstantExpr, AffineDimExpr>(node->index);
                 }));
  // For large tensors, four elements per thread still fill the GPU, and their
  // loads overlap.
  const GpuArch &arch = machine.arch;
  bool isLarge = count >= 4 * arch.threadsOf(arch.threadsPerSm);
  int64_t interleave = !loops && isLarge && !updates ? 4 : 1;
  if (contiguous)
    return nn::Schedule(
        MapAttr::get(context, /*vector=*/1, interleave, threadsFor(count)));
  return nn::Schedule(
      GenericAttr::get(context, /*vector=*/1, interleave, threadsFor(count)));
}
