//===- RowKernel.cpp - A fusion as phases over rows
//---------------------------===//

#include "codegen/cuda/RowKernel.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

bool RowKernel::match(std::string &reason) {
  for (Operation &op : fusion.getBody().front().without_terminator()) {
    auto reduce = dyn_cast<nn::ReduceOp>(op);
    if (!reduce)
      continue;
    ArrayRef<int64_t> shape = nn::shapeOf(reduce.getX());
    int64_t outer = 1, inner = 1;
    bool trailing = true, reduced = false;
    for (auto [dim, size] : llvm::enumerate(shape)) {
      if (llvm::is_contained(reduce.getAxes(), int64_t(dim))) {
        inner *= size;
        reduced = true;
      } else {
        outer *= size;
        trailing &= !reduced || size == 1;
      }
    }
    if (!trailing) {
      reason = "a reduction is not over the last dimensions";
      return false;
    }
    if (!valueType(nn::tensorType(reduce.getX()).getElementType()).isF32()) {
      reason = "a reduction is not of 32-bit or 16-bit floats";
      return false;
    }
    if (!reductions.empty() && (outer != rows || inner != cols)) {
      reason = "reductions differ in shape";
      return false;
    }
    rows = outer;
    cols = inner;
    reductions.push_back(reduce);
  }
  if (reductions.empty())
    reason = "there is no reduction";
  else if (rows * cols == 0 || rows > INT32_MAX || cols > INT32_MAX)
    reason = "it has no rows, or too many";
  else
    return true;
  return false;
}

bool RowKernel::build(int64_t vector, std::string &reason) {
  IndexSpace &space = graph.space;
  row = space.addDim(rows);
  col = space.addDim(cols);
  graph.setLane(col, vector);
  place = space.add(space.mul(row, cols), col);
  for (auto [number, reduce] : llvm::enumerate(reductions)) {
    terms.push_back(graph.elementAt(lowered[reduce.getX()], place));
    Node *result = graph.given(Float32Type::get(lowered.context()),
                               "r[" + std::to_string(number) + "]", 0);
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
  for (auto [i, output] : llvm::enumerate(lowered.outputs())) {
    int64_t count = rankedType(output).getNumElements();
    if (count == rows * cols)
      perColumn.push_back({i, graph.elementAt(output, place)});
    else if (count == rows)
      perRow.push_back({i, graph.elementAt(output, row)});
    else
      graph.fail("an output has neither a column's nor a row's elements");
  }
  for (Node *term : terms)
    if (!term->type.isF32())
      graph.fail("a reduction is not in 32-bit floats");
  reason = graph.failure();
  if (reason.empty())
    findFrontier();
  return reason.empty();
}

/// A node belongs to it that changes along the row, needs no reduction's result
/// and is a term or what a term computes with beside results.
void RowKernel::findFrontier() {
  llvm::DenseSet<Node *> needsResult(resultNodes.begin(), resultNodes.end());
  SmallVector<Node *> order = Graph::reachable(terms, graph);
  for (Node *node : order)
    for (Node *operand : graph.operandsOf(node))
      if (needsResult.contains(operand))
        needsResult.insert(node);
  llvm::SetVector<Node *> found;
  // With one lane nothing is said to change along it, so loads tell.
  auto changes = [&](Node *node) {
    if (graph.width > 1)
      return (node->dependence & kLane) != 0;
    return llvm::any_of(Graph::reachable(node, graph), [&](Node *part) {
      return part->index && part->index.isFunctionOfDim(
                                cast<AffineDimExpr>(col).getPosition());
    });
  };
  auto consider = [&](Node *node) {
    if (!needsResult.contains(node) && changes(node))
      found.insert(node);
  };
  for (Node *term : terms)
    consider(term);
  for (Node *node : order)
    if (needsResult.contains(node))
      for (Node *operand : graph.operandsOf(node))
        consider(operand);
  frontier.assign(found.begin(), found.end());
}

SmallVector<Node *> RowKernel::everything() const {
  SmallVector<Node *> roots(terms);
  for (auto [output, node] : perColumn)
    roots.push_back(node);
  for (auto [output, node] : perRow)
    roots.push_back(node);
  return Graph::reachable(roots, graph);
}

bool RowKernel::isVectorised() const {
  return llvm::all_of(everything(), [](Node *node) {
    return node->kind != Node::Kind::load ||
           node->laneUse != LaneUse::scattered;
  });
}
