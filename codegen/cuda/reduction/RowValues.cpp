//===- RowValues.cpp - Values that a row kernel keeps ---------------------===//

#include "codegen/cuda/reduction/RowKernel.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Operations that are cheaper than keeping their result, such as comparing a
/// column with a label.
static constexpr int kCheapOperations = 4;

/// Returns whether a value varies along a row. In column kernels the lanes are
/// rows, so the lane does not count.
bool RowKernel::changes(const Node *node) const {
  Dependence along = graph.lanes.width > 1 && !isColumns() ? kLane : kReduced;
  return (node->dependence & along) != 0;
}

/// Returns whether a value depends on the position in a row. Those of a vector
/// may share it: an element of each channel, of which a row has several.
bool RowKernel::dependsOnColumn(const Node *node) const {
  return changes(node) || (node->dependence & kReduced) != 0;
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

/// Returns whether a value is computed from the position in the row by a few
/// cheap operations, so that recomputing it is better than keeping it.
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

/// Returns the value that a term is a function of, such as that whose size is
/// reduced, if a later phase needs it and then no longer the values that it is
/// computed from; null if there is none.
Node *RowKernel::sharedValue(Node *term, const llvm::DenseSet<Node *> &known,
                             const llvm::DenseSet<Node *> &later) const {
  Node *value = term;
  do {
    SmallVector<Node *> operands = graph.operandsOf(value);
    if (operands.size() != 1)
      return nullptr;
    value = operands.front();
  } while (!later.contains(value));
  if (value->kind != Node::Kind::operation)
    return nullptr;
  llvm::DenseSet<Node *> all = known;
  all.insert(value);
  llvm::DenseSet<Node *> left = usesOf(storeRoots(), all, graph);
  for (Node *part : Graph::reachable(value, graph))
    if (part->kind == Node::Kind::load && changes(part) && left.contains(part))
      return nullptr;
  return value;
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
    if (!llvm::all_of(loads,
                      [&](Node *part) { return later.contains(part); }) ||
        later.contains(node))
      kept.insert(node);
    else if (Node *shared = sharedValue(node, known, later))
      kept.insert(shared);
    else
      kept.insert(loads.begin(), loads.end());
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
  if (dependsOnColumn(node))
    return false;
  if (node->kind == Node::Kind::load)
    return true;
  return node->kind == Node::Kind::operation &&
         llvm::any_of(node->operands,
                      [&](const Node *operand) { return isOfRow(operand); });
}

/// Collects the row's values that are operands of stored values. The compiler
/// hoists other computations out of the loop, but not loads, since stores may
/// overwrite what they read.
void RowKernel::findRowValues() {
  llvm::SetVector<Node *> found;
  for (Node *node : Graph::reachable(storeRoots(), graph))
    if (dependsOnColumn(node))
      for (Node *operand : graph.operandsOf(node))
        if (isOfRow(operand))
          found.insert(operand);
  rowValues = found.takeVector();
}

SmallVector<Node *> RowKernel::rowLoads(Node *term) const {
  SmallVector<Node *> loads;
  if (rowValues.empty())
    return loads;
  // Loads that are only used by kept values have been done already.
  llvm::DenseSet<Node *> kept(frontier.begin(), frontier.end());
  llvm::DenseSet<Node *> needed = usesOf({term}, kept, graph);
  for (Node *node : Graph::reachable(term, graph))
    if (node->kind == Node::Kind::load && needed.contains(node) &&
        isOfRow(node))
      loads.push_back(node);
  return loads;
}
