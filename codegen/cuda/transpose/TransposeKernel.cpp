//===- TransposeKernel.cpp - A fusion as a tiled transpose ----------------===//

#include "codegen/cuda/transpose/TransposeKernel.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

nn::Legality TransposeKernel::match(nn::FusionOp fusion) {
  for (Operation &op : fusion.getBody().front().without_terminator()) {
    auto found = dyn_cast<nn::TransposeOp>(op);
    if (found && transpose)
      return nn::Mismatch("there are several transposes");
    if (found)
      transpose = found;
  }
  if (!transpose)
    return nn::Mismatch("there is no transpose");
  // The output's dimensions; merge those that are contiguous in both source and
  // destination.
  ArrayRef<int64_t> shape = nn::shapeOf(transpose.getX());
  SmallVector<int64_t> strides(shape.size(), 1);
  for (int64_t i = int64_t(shape.size()) - 2; i >= 0; --i)
    strides[i] = strides[i + 1] * shape[i + 1];
  SmallVector<Dim> dims;
  for (int64_t dim : transpose.getPerm()) {
    if (shape[dim] == 1)
      continue;
    if (!dims.empty() && dims.back().from == strides[dim] * shape[dim]) {
      dims.back().size *= shape[dim];
      dims.back().from = strides[dim];
    } else {
      dims.push_back({shape[dim], strides[dim], 1});
    }
  }
  if (dims.size() < 2 || llvm::is_contained(shape, int64_t(0)))
    return nn::Mismatch("nothing moves");
  for (size_t i = dims.size() - 1; i-- > 0;)
    dims[i].to = dims[i + 1].to * dims[i + 1].size;
  if (dims.back().from == 1)
    run = dims.pop_back_val().size;
  row = dims.pop_back_val();
  for (const Dim &dim : dims) {
    if (dim.from == run) {
      col = dim;
      continue;
    }
    others.push_back(dim);
    batch *= dim.size;
  }
  rows = row.size;
  cols = col.size;
  if (batch > INT32_MAX || rows > INT32_MAX || cols > INT32_MAX)
    return nn::Mismatch("it is too large");
  return std::nullopt;
}

nn::Legality TransposeKernel::build(int64_t loads, int64_t stores) {
  int64_t count = batch * rows * cols * run;
  load.vector = loads;
  store.vector = stores;
  for (TransposeSide *side : {&load, &store}) {
    side->index = side->graph.space.addDim(count);
    side->graph.setLane(side->index, side->vector);
  }
  moved = load.graph.elementAt(lowered[transpose.getX()], load.index);
  Graph &graph = store.graph;
  value = graph.given(moved->type, "", stores > 1 ? kLane : 0);
  SmallVector<int64_t> shape(nn::shapeOf(transpose.getY()));
  graph.give(lowered[transpose.getY()],
             [this, shape](ArrayRef<AffineExpr> indices) {
               Graph &graph = store.graph;
               if (graph.space.linearize(indices, shape) != store.index)
                 return graph.fail("the transpose is read out of order");
               return value;
             });
  for (Value output : lowered.outputs()) {
    if (rankedType(output).getNumElements() != count)
      graph.fail("an output differs in size");
    else
      stored.push_back(graph.elementAt(output, store.index));
  }
  // A warp must read contiguous pieces of at least a sector.
  IndexSpace &space = load.graph.space;
  Lanes pieces = space.addLanes(load.index, 16);
  bool contiguous = false, loops = false;
  for (Node *node : Graph::reachable(moved, load.graph)) {
    contiguous |= node->kind == Node::Kind::load &&
                  (node->index == load.index ||
                   space.lanePattern(node->index, pieces, [](unsigned) {
                          return false;
                        }).use == LaneUse::contiguous);
    loops |= node->kind == Node::Kind::loop;
  }
  if (!contiguous || loops)
    load.graph.fail("what it moves is not read in order");
  for (const std::string &failure : {load.graph.failure(), graph.failure()})
    if (!failure.empty())
      return nn::Mismatch(failure);
  if (isRuns() && !isOnlyMoved())
    return nn::Mismatch("the transpose keeps the innermost dimension");
  return std::nullopt;
}

bool TransposeKernel::isFlat(bool loads, int64_t vector, int64_t tileRows,
                             int64_t tileCols) const {
  const Dim &inner = loads ? col : row;
  int64_t stride = loads ? row.from : col.to;
  int64_t tileInner = loads ? tileCols : tileRows;
  if (tileInner != inner.size || stride != inner.size)
    return false;
  bool aligned = tileRows * tileCols % vector == 0 && rows * cols % vector == 0;
  for (const Dim &dim : others)
    aligned &= (loads ? dim.from : dim.to) % vector == 0;
  return aligned;
}

bool TransposeKernel::isOnlyMoved() const {
  return moved->kind == Node::Kind::load && moved->index == load.index &&
         stored.size() == 1 && stored[0] == value &&
         elementType(lowered.outputs()[0]) ==
             lowered.inputElements()[moved->argument];
}

int64_t TransposeKernel::movedBytes() const {
  return storageBytes(lowered.inputElements()[moved->argument]);
}

bool TransposeKernel::hasAlignedLines(int64_t tileRows,
                                      int64_t tileCols) const {
  int64_t element = movedBytes();
  auto fits = [&](int64_t stride) {
    return stride * element % kVectorBytes == 0;
  };
  return fits(tileRows * run) && fits(tileCols * run) && fits(rows * run) &&
         fits(cols * run) && fits(row.from) && fits(col.to) &&
         llvm::all_of(others, [&](const Dim &dim) {
           return fits(dim.from) && fits(dim.to);
         });
}

bool TransposeKernel::takesBytes() const {
  int64_t held = moved->kind == Node::Kind::load ? movedBytes()
                                                 : storageBytes(moved->type);
  return !isRuns() && held == 1 && row.from % kByteVector == 0 &&
         col.to % kByteVector == 0 && isVectorised(kByteTile, kByteTile);
}
bool TransposeKernel::isVectorised(int64_t tileRows, int64_t tileCols) const {
  auto fits = [&](const TransposeSide &side, ArrayRef<Node *> roots,
                  int64_t inner, bool loads) {
    if (side.vector == 1)
      return true;
    int64_t tileInner = loads ? tileCols : tileRows;
    if ((inner % side.vector || tileInner % side.vector) &&
        !isFlat(loads, side.vector, tileRows, tileCols))
      return false;
    for (Node *node : Graph::reachable(roots, side.graph)) {
      if (node->kind != Node::Kind::load ||
          node->pattern.use == LaneUse::uniform)
        continue;
      if (node->pattern.use == LaneUse::scattered ||
          side.vector * storageBytes(lowered.inputElements()[node->argument]) >
              kVectorBytes)
        return false;
    }
    return true;
  };
  for (Value output : lowered.outputs())
    if (store.vector > 1 &&
        store.vector * storageBytes(elementType(output)) > kVectorBytes)
      return false;
  return fits(load, moved, cols, true) && fits(store, stored, rows, false);
}

nn::Match<std::unique_ptr<TransposeKernel>>
frit::cuda::buildTranspose(Problem &problem, int64_t loads, int64_t stores) {
  auto kernel = std::make_unique<TransposeKernel>(problem.lowered());
  if (nn::Legality why = kernel->match(problem.fusion()))
    return *why;
  if (nn::Legality why = kernel->build(loads, stores))
    return *why;
  return kernel;
}
