//===- RowKernel.cpp - A fusion as phases over rows -----------------------===//

#include "codegen/cuda/reduction/RowKernel.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Returns whether a reduction is along rows.
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

/// Matches sums of parts × rows × columns over the rows, each a result of the
/// fusion.
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
  joint = isColumns() && (reductions.size() > 1 || !perColumn.empty()) &&
          needsNoResult();
  findFrontier(how.preload);
  for (Node *node : frontier)
    slots.push_back(node->type);
  findStaged();
  return std::nullopt;
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

bool RowKernel::canShareColumns() const {
  return graph.lanes.width * storedBytes() == 16 && isCopied() && !readsOnce();
}

nn::Match<std::unique_ptr<RowKernel>>
frit::cuda::buildRowKernel(Problem &problem, const RowBuild &how) {
  auto kernel =
      std::make_unique<RowKernel>(problem.fusion(), problem.lowered());
  if (nn::Legality why = kernel->match())
    return *why;
  if (nn::Legality why = kernel->build(how))
    return *why;
  return kernel;
}
