//===- RowKernel.cpp - A fusion as phases over rows -----------------------===//

#include "codegen/cuda/memory/RowKernel.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Operations that take less than keeping their result does, such as comparing
/// a column with a label.
static constexpr int kCheapOperations = 4;

/// Whether a reduction is of rows.
static bool reducesRows(nn::ReduceOp op) {
  return llvm::is_contained(op.getAxes(),
                            int64_t(nn::shapeOf(op.getX()).size()) - 1);
}

nn::Legality RowKernel::match() {
  auto reduces =
      llvm::to_vector(fusion.getBody().front().getOps<nn::ReduceOp>());
  bool hasRows = llvm::any_of(reduces, reducesRows);
  for (nn::ReduceOp reduce : reduces) {
    if (hasRows && !reducesRows(reduce)) {
      columnSums.push_back(reduce);
      continue;
    }
    ArrayRef<int64_t> shape = nn::shapeOf(reduce.getX());
    // Elements before, in and after the reduced dimensions.
    int64_t sizes[3] = {1, 1, 1};
    int part = 0;
    bool neighbours = true;
    for (auto [dim, size] : llvm::enumerate(shape)) {
      if (size == 1)
        continue;
      bool reduced = llvm::is_contained(reduce.getAxes(), int64_t(dim));
      if (reduced != (part == 1))
        ++part;
      neighbours &= part <= 2;
      if (part <= 2)
        sizes[part] *= size;
    }
    if (!neighbours)
      return nn::Mismatch("a reduction is not over adjacent dimensions");
    if (!valueType(nn::tensorType(reduce.getX()).getElementType()).isF32())
      return nn::Mismatch("a reduction is not of 32-bit or 16-bit floats");
    int64_t outer = sizes[0] * sizes[2];
    if (!reductions.empty() &&
        (outer != rows || sizes[1] != cols || sizes[2] != inner))
      return nn::Mismatch("reductions differ in shape");
    rows = outer;
    cols = sizes[1];
    inner = sizes[2];
    reductions.push_back(reduce);
  }
  if (reductions.empty())
    return nn::Mismatch("there is no reduction");
  if (rows * cols == 0 || rows > INT32_MAX || cols > INT32_MAX)
    return nn::Mismatch("it has no rows, or too many");
  return matchColumnSums();
}

/// Takes sums of parts × rows × columns over the rows, each a result.
nn::Legality RowKernel::matchColumnSums() {
  for (nn::ReduceOp sum : columnSums) {
    ArrayRef<int64_t> shape = nn::shapeOf(sum.getX());
    if (shape.size() != 3 || sum.getAxes() != ArrayRef<int64_t>{1} ||
        sum.getKind() != nn::Combiner::sum || shape[2] != cols ||
        shape[0] * shape[1] != rows || (parts && parts != shape[0]))
      return nn::Mismatch("reductions differ in shape");
    parts = shape[0];
    if (!nn::tensorType(sum.getX()).getElementType().isF32() ||
        !llvm::all_of(sum->getUsers(), llvm::IsaPred<nn::YieldOp>))
      return nn::Mismatch("a sum down columns is no result in f32");
  }
  return std::nullopt;
}

nn::Legality RowKernel::build(const RowBuild &how) {
  if ((isColumns() ? inner : cols) % how.vector && !how.skewed)
    return nn::Mismatch("its rows are no whole vectors");
  IndexSpace &space = graph.space;
  row = space.addDim(rows);
  col = space.addDim(cols);
  graph.setDependence(col, kReduced);
  graph.dividends = kReduced;
  graph.setLane(isColumns() ? row : col, how.vector);
  graph.lanes.skewed = how.skewed;
  SmallVector<int64_t> shape = {rows / inner, cols, inner};
  place = space.linearize(
      {space.floorDiv(row, inner), col, space.mod(row, inner)}, shape);
  for (Operation *op : reductions) {
    auto reduce = cast<nn::ReduceOp>(op);
    terms.push_back(graph.elementAt(lowered[reduce.getX()], place));
    Node *result = graph.given(Float32Type::get(lowered.context()), "",
                               isColumns() && how.vector > 1 ? kLane : 0);
    resultNodes.push_back(result);
    SmallVector<int64_t> shape(nn::shapeOf(reduce.getY()));
    graph.give(lowered[reduce.getY()],
               [this, shape, result](ArrayRef<AffineExpr> indices) {
                 AffineExpr at = graph.space.linearize(indices, shape);
                 if (at != row && rows != 1)
                   return graph.fail("a row reads another row's reduction");
                 return result;
               });
  }
  for (nn::ReduceOp sum : columnSums)
    sumTerms.push_back(graph.elementAt(lowered[sum.getX()], place));
  for (auto [i, output] : llvm::enumerate(lowered.outputs())) {
    if (llvm::is_contained(columnSums, yielded(i).getDefiningOp()))
      continue;
    int64_t count = rankedType(output).getNumElements();
    if (count == rows * cols)
      perColumn.push_back({i, graph.elementAt(output, place)});
    else if (count == rows)
      perRow.push_back({i, graph.elementAt(output, row)});
    else
      graph.fail("an output has neither a column's nor a row's elements");
  }
  for (Node *term : llvm::concat<Node *>(terms, sumTerms))
    if (!term->type.isF32())
      graph.fail("a reduction is not in 32-bit floats");
  if (!graph.failure().empty())
    return nn::Mismatch(graph.failure());
  joint = isColumns() && reductions.size() > 1 && needsNoResult();
  findFrontier(how.preload);
  for (Node *node : frontier)
    slots.push_back(node->type);
  findStaged();
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// What is kept
//===----------------------------------------------------------------------===//

/// Returns whether a value varies along a row. In column kernels the lanes are
/// rows, so the lane does not count.
bool RowKernel::changes(const Node *node) const {
  Dependence along = graph.lanes.width > 1 && !isColumns() ? kLane : kReduced;
  return (node->dependence & along) != 0;
}

/// Returns the nodes under `roots`, without the operands of `known` nodes.
static llvm::DenseSet<Node *> usesOf(ArrayRef<Node *> roots,
                                     const llvm::DenseSet<Node *> &known,
                                     const Graph &graph) {
  llvm::DenseSet<Node *> seen;
  SmallVector<Node *> work(roots);
  while (!work.empty()) {
    Node *node = work.pop_back_val();
    if (seen.insert(node).second && !known.contains(node))
      llvm::append_range(work, graph.operandsOf(node));
  }
  return seen;
}

/// Returns whether neither a term nor an output with an element per column
/// needs a reduction's result.
bool RowKernel::needsNoResult() const {
  SmallVector<Node *> roots(terms);
  llvm::append_range(roots, storeRoots());
  return llvm::none_of(Graph::reachable(roots, graph), [&](Node *node) {
    return llvm::is_contained(resultNodes, node);
  });
}

SmallVector<int> RowKernel::passesOfTerms() const {
  SmallVector<int> passes = {0};
  size_t first = 0; // of the current pass
  for (size_t i = 1; i < terms.size(); ++i) {
    ArrayRef<Node *> pass = ArrayRef(resultNodes).slice(first, i - first);
    if (llvm::any_of(Graph::reachable(terms[i], graph), [&](Node *node) {
          return llvm::is_contained(pass, node);
        }))
      first = i;
    passes.push_back(passes.back() + (first == i));
  }
  return passes;
}

/// Returns whether the operation itself takes many instructions.
static bool isExpensive(const Node *node) {
  if (node->kind != Node::Kind::operation)
    return false;
  StringRef text = node->form->text, name = node->form->name;
  return text.contains(" / ") ||
         (name.starts_with("math.") && text.contains("frit::"));
}

/// Returns whether a value follows from the position in the row by a few cheap
/// operations, so that computing it again is better than keeping it.
bool RowKernel::followsFromPosition(Node *node) const {
  int count = 0;
  for (Node *part : Graph::reachable(node, graph)) {
    if (!changes(part) || part->kind == Node::Kind::index)
      continue;
    if (part->kind != Node::Kind::operation || isExpensive(part) ||
        ++count > kCheapOperations)
      return false;
  }
  return true;
}

/// Collects the nodes that vary along the row, need no reduction's result, and
/// are either terms or operands of nodes that do need a result.
void RowKernel::findFrontier(bool preload) {
  llvm::DenseSet<Node *> needsResult(resultNodes.begin(), resultNodes.end());
  SmallVector<Node *> order = Graph::reachable(terms, graph);
  for (Node *node : order)
    for (Node *operand : graph.operandsOf(node))
      if (needsResult.contains(operand))
        needsResult.insert(node);
  llvm::SetVector<Node *> found;
  auto consider = [&](Node *node) {
    if (!needsResult.contains(node) && changes(node))
      found.insert(node);
  };
  for (Node *term : terms)
    consider(term);
  for (Node *node : order)
    if (needsResult.contains(node))
      for (Node *operand : graph.operandsOf(node))
        if (!followsFromPosition(operand))
          consider(operand);
  // If a later phase needs the loaded values but not the value computed from
  // them, keep the loaded values.
  llvm::DenseSet<Node *> known(found.begin(), found.end());
  known.insert(resultNodes.begin(), resultNodes.end());
  llvm::DenseSet<Node *> later = usesOf(storeRoots(), known, graph);
  if (preload)
    for (Node *node : Graph::reachable(storeRoots(), graph))
      if (node->kind == Node::Kind::load && later.contains(node))
        consider(node);
  llvm::SetVector<Node *> kept;
  for (Node *node : found) {
    SmallVector<Node *> loads;
    for (Node *part : Graph::reachable(node, graph))
      if (part->kind == Node::Kind::load && changes(part))
        loads.push_back(part);
    if (llvm::all_of(loads, [&](Node *part) { return later.contains(part); }) &&
        !later.contains(node))
      kept.insert(loads.begin(), loads.end());
    else
      kept.insert(node);
  }
  frontier.assign(kept.begin(), kept.end());
}

SmallVector<Node *> RowKernel::storedValues() const {
  SmallVector<Node *> values;
  for (auto [output, node] : perColumn)
    values.push_back(node);
  return values;
}

SmallVector<Node *> RowKernel::storeRoots() const {
  SmallVector<Node *> roots = storedValues();
  llvm::append_range(roots, sumTerms);
  return roots;
}

/// Chooses the expensive values that terms cache in their element for later
/// phases, reusing slots whose values are dead.
void RowKernel::findCachedValues() {
  SmallVector<SmallVector<Node *>> phases;
  for (Node *term : terms)
    phases.push_back({term});
  phases.push_back(storeRoots());
  llvm::DenseSet<Node *> known(frontier.begin(), frontier.end());
  known.insert(resultNodes.begin(), resultNodes.end());
  SmallVector<std::pair<size_t, Node *>> found;
  for (size_t i = 0; i < terms.size(); ++i) {
    auto usesAfter = [&] {
      llvm::DenseSet<Node *> uses;
      for (size_t j = i + 1; j < phases.size(); ++j)
        uses.insert_range(usesOf(phases[j], known, graph));
      return uses;
    };
    llvm::DenseSet<Node *> later = usesAfter(),
                           here = usesOf(phases[i], known, graph);
    SmallVector<Node *> chosen;
    for (Node *node : Graph::reachable(phases[i], graph))
      if (isExpensive(node) && changes(node) && here.contains(node) &&
          later.contains(node) && !known.contains(node))
        chosen.push_back(node);
    known.insert(chosen.begin(), chosen.end());
    // Drop values that only other cached values use.
    later = usesAfter();
    for (Node *node : chosen)
      if (later.contains(node))
        found.push_back({i, node});
      else
        known.erase(node);
  }
  // The last phase that reads each slot, by slot.
  SmallVector<size_t> lastUse(slots.size(), 0);
  auto noteUses = [&](size_t slot, Node *node) {
    for (size_t phase = 0; phase < phases.size(); ++phase)
      if (usesOf(phases[phase], known, graph).contains(node))
        lastUse[slot] = phase;
  };
  for (auto [slot, node] : llvm::enumerate(frontier))
    noteUses(slot, node);
  for (auto [term, node] : found) {
    size_t slot = 0;
    while (slot < slots.size() &&
           (lastUse[slot] > term || slots[slot] != node->type))
      ++slot;
    if (slot == slots.size()) {
      slots.push_back(node->type);
      lastUse.push_back(0);
    }
    noteUses(slot, node);
    cached.push_back({term, slot, node});
  }
}

bool RowKernel::isOfRow(const Node *node) const {
  if (changes(node))
    return false;
  if (node->kind == Node::Kind::load)
    return true;
  return node->kind == Node::Kind::operation &&
         llvm::any_of(node->operands,
                      [&](const Node *operand) { return isOfRow(operand); });
}

/// Collects the values of the row that operands of stored values are. The
/// compiler computes others outside of the loop, but loads stay in it, as
/// stores may overwrite what they read.
void RowKernel::findRowValues() {
  llvm::SetVector<Node *> found;
  for (Node *node : Graph::reachable(storeRoots(), graph))
    if (changes(node))
      for (Node *operand : graph.operandsOf(node))
        if (isOfRow(operand))
          found.insert(operand);
  rowValues = found.takeVector();
}

SmallVector<Node *> RowKernel::rowLoads(Node *term) const {
  SmallVector<Node *> loads;
  if (rowValues.empty())
    return loads;
  // Loads that only kept values use are done already.
  llvm::DenseSet<Node *> kept(frontier.begin(), frontier.end());
  llvm::DenseSet<Node *> needed = usesOf({term}, kept, graph);
  for (Node *node : Graph::reachable(term, graph))
    if (node->kind == Node::Kind::load && needed.contains(node) &&
        isOfRow(node))
      loads.push_back(node);
  return loads;
}

SmallVector<Node *> RowKernel::everything() const {
  SmallVector<Node *> roots(terms);
  llvm::append_range(roots, storeRoots());
  for (auto [output, node] : perRow)
    roots.push_back(node);
  return Graph::reachable(roots, graph);
}

bool RowKernel::isVectorised() const {
  return llvm::all_of(everything(), [](Node *node) {
    return node->kind != Node::Kind::load ||
           node->pattern.use != LaneUse::scattered;
  });
}

int64_t RowKernel::narrowestLoad() const {
  int64_t narrowest = 16;
  for (Node *node : everything())
    if (node->kind == Node::Kind::load && changes(node))
      narrowest = std::min(
          narrowest, storageBytes(lowered.inputElements()[node->argument]));
  return narrowest;
}

int64_t RowKernel::widestAccess() const {
  int64_t widest = 1;
  for (Node *node : everything())
    if (node->kind == Node::Kind::load && changes(node))
      widest = std::max(widest,
                        storageBytes(lowered.inputElements()[node->argument]));
  for (auto [output, node] : perColumn)
    widest =
        std::max(widest, storageBytes(elementType(lowered.outputs()[output])));
  return widest;
}

int64_t RowKernel::storedBytes() const {
  if (frontier.size() != 1 || !frontier[0]->type.isF32())
    return 0;
  if (frontier[0]->kind == Node::Kind::load)
    return storageBytes(lowered.inputElements()[frontier[0]->argument]);
  return 4;
}

bool RowKernel::isCopied() const {
  if (frontier.size() != 1 || frontier[0]->kind != Node::Kind::load)
    return false;
  int64_t width = graph.lanes.width;
  return width * storedBytes() >= 4 &&
         (width == 1 || frontier[0]->pattern.use == LaneUse::contiguous);
}

nn::Match<std::unique_ptr<RowKernel>>
frit::cuda::buildRowKernel(Problem &problem, const RowBuild &how) {
  auto kernel =
      std::make_unique<RowKernel>(problem.fusion(), problem.lowered());
  if (nn::Legality why = kernel->match())
    return *why;
  if (nn::Legality why = kernel->build(how))
    return *why;
  return std::move(kernel);
}
