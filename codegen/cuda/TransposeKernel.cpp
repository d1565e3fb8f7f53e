//===- TransposeKernel.cpp - Finding transposes and their tiles -----------===//

#include "codegen/cuda/TransposeKernel.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Of transpose_skewed.cuh: the columns of a tile, the rows that it writes, and
/// those that it reads besides; the bytes of a line.
static constexpr int64_t kSkewCols = 248, kSkewRows = 64, kSkew = 16;
static constexpr int64_t kSkewLineBytes = 516;
/// The same of tiles with all rows; rows that are few enough for that, and for
/// blocks of 256 threads, which read nine vectors each at most.
static constexpr int64_t kFlatCols = 119, kFlatLineBytes = 260;
static constexpr int64_t kFlatRows = 288, kFlatFewRows = 144;
/// Of transpose_flat.cuh: what the long side of a tile is a multiple of.
static constexpr int64_t kFlatLong = 64;
/// A matrix with shorter sides is not worth such tiles.
static constexpr int64_t kSkewSide = 128;
/// Elements that are moved before a launch is over.
static constexpr int64_t kSmall = 1 << 18;

bool TransposeKernel::match(nn::FusionOp fusion, std::string &reason) {
  for (Operation &op : fusion.getBody().front().without_terminator()) {
    auto found = dyn_cast<nn::TransposeOp>(op);
    if (found && transpose) {
      reason = "there are several transposes";
      return false;
    }
    if (found)
      transpose = found;
  }
  if (!transpose) {
    reason = "there is no transpose";
    return false;
  }
  // The output's dimensions; those that are neighbours in both forms are one.
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
  if (dims.empty() || dims.back().from == 1 ||
      llvm::is_contained(shape, int64_t(0))) {
    reason = "the innermost dimension stays";
    return false;
  }
  for (size_t i = dims.size() - 1; i-- > 0;)
    dims[i].to = dims[i + 1].to * dims[i + 1].size;
  row = dims.pop_back_val();
  for (const Dim &dim : dims) {
    if (dim.from == 1) {
      col = dim;
      continue;
    }
    others.push_back(dim);
    batch *= dim.size;
  }
  rows = row.size;
  cols = col.size;
  if (batch > INT32_MAX || rows > INT32_MAX || cols > INT32_MAX) {
    reason = "it is too large";
    return false;
  }
  return true;
}

bool TransposeKernel::build(int64_t loads, int64_t stores,
                            std::string &reason) {
  int64_t count = batch * rows * cols;
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
  // A warp's reads are neighbours, in pieces of a memory transaction at least.
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
  reason = load.graph.failure() + graph.failure();
  return reason.empty();
}

/// Whether a tile of all that a side reads or writes in a row of its own has no
/// gaps, so that vectors need not end where a row does.
bool TransposeKernel::isFlat(bool loads, int64_t vector) const {
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

void TransposeKernel::chooseTile() {
  // Small tensors are spread over the multiprocessors. A tile that is short one
  // way is long the other; a multiple of eight lets vectors end where it does.
  int64_t elements = batch * rows * cols;
  int64_t side = elements >= 2 * 132 * 4096 ? 64 : 32;
  tileRows = std::min(rows, side);
  tileCols = std::min(cols, side);
  auto stretch = [&](int64_t other, int64_t all) {
    int64_t length = side * side / other;
    // Such lengths are what transpose_flat.cuh wants.
    if (other % 8 && length >= kFlatLong && all >= kFlatLong)
      return std::min(llvm::alignTo(all, kFlatLong),
                      uint64_t(length / kFlatLong * kFlatLong));
    return uint64_t(std::min(all, std::max<int64_t>(length / 8 * 8, 8)));
  };
  if (tileRows < side && rows <= cols)
    tileCols = stretch(tileRows, cols);
  else if (tileCols < side)
    tileRows = stretch(tileCols, rows);
}

bool TransposeKernel::isVectorised() const {
  auto fits = [&](const TransposeSide &side, ArrayRef<Node *> roots,
                  int64_t inner, bool loads) {
    if (side.vector == 1)
      return true;
    int64_t tileInner = loads ? tileCols : tileRows;
    if ((inner % side.vector || tileInner % side.vector) &&
        !isFlat(loads, side.vector))
      return false;
    for (Node *node : Graph::reachable(roots, side.graph)) {
      if (node->kind != Node::Kind::load ||
          node->pattern.use == LaneUse::uniform)
        continue;
      if (node->pattern.use == LaneUse::scattered ||
          side.vector * storageBytes(lowered.inputElements()[node->argument]) >
              16)
        return false;
    }
    return true;
  };
  for (Value output : lowered.outputs())
    if (store.vector > 1 &&
        store.vector * storageBytes(elementType(output)) > 16)
      return false;
  return fits(load, moved, cols, true) && fits(store, stored, rows, false);
}

bool TransposeKernel::isSkewed() const {
  return std::min(load.vector, store.vector) == 1 &&
         std::min(rows, cols) >= kSkewSide && tileRows * tileCols == 64 * 64 &&
         moved->kind == Node::Kind::load && moved->index == load.index &&
         storageBytes(lowered.inputElements()[moved->argument]) == 2 &&
         stored.size() == 1 && stored[0] == value &&
         elementType(lowered.outputs()[0]) ==
             lowered.inputElements()[moved->argument];
}

bool TransposeKernel::isShort() const {
  bool loads = isFlat(true, load.vector);
  if (loads == isFlat(false, store.vector))
    return false;
  int64_t width = loads ? tileCols : tileRows;
  int64_t length = loads ? tileRows : tileCols;
  return width % 8 && length % kFlatLong == 0 && load.vector > 1 &&
         store.vector > 1;
}

int64_t TransposeKernel::tileCount() const {
  if (!isSkewed())
    return batch * ceilDiv(rows, tileRows) * ceilDiv(cols, tileCols);
  if (hasAllRows())
    return batch * ceilDiv(cols, kFlatCols);
  // A column's first rows may be left to the tile before, its last to another.
  return batch * ceilDiv(rows + kSkew - 1, kSkewRows) *
         ceilDiv(cols, kSkewCols);
}

int64_t TransposeKernel::sharedBytes() const {
  if (!isSkewed())
    return 0;
  return hasAllRows() ? llvm::alignTo(rows, 4) * kFlatLineBytes
                      : (kSkewRows + kSkew) * kSkewLineBytes;
}

/// Elements of a word of the tile: what four bytes hold, or one.
int64_t TransposeKernel::wordSize() const {
  bool isCopy = moved->kind == Node::Kind::load;
  int64_t bytes = isCopy
                      ? storageBytes(lowered.inputElements()[moved->argument])
                      : storageBytes(moved->type);
  int64_t word = std::max<int64_t>(4 / bytes, 1);
  bool fits = load.vector % word == 0 && store.vector >= word &&
              cols % word == 0 && tileCols % word == 0 &&
              !isFlat(true, load.vector) && !isFlat(false, store.vector);
  return fits ? word : 1;
}

bool TransposeKernel::hasAllRows() const {
  return col.to == rows && rows <= kFlatRows;
}

int64_t TransposeKernel::threads() const {
  return isSkewed() && hasAllRows() && rows > kFlatFewRows ? 512 : 256;
}

int64_t TransposeKernel::resident() const {
  if (!isSkewed())
    return 0;
  return hasAllRows() ? 1024 / threads() : 3;
}

std::unique_ptr<TransposeKernel>
frit::cuda::makeTranspose(nn::FusionOp fusion, const Lowered &lowered,
                          std::string &reason) {
  auto make = [&](int64_t loads, int64_t stores) {
    auto kernel = std::make_unique<TransposeKernel>(lowered);
    if (!kernel->match(fusion, reason) || !kernel->build(loads, stores, reason))
      return std::unique_ptr<TransposeKernel>();
    kernel->chooseTile();
    return kernel;
  };
  if (!make(1, 1))
    return nullptr;
  int64_t loads = 8, stores = 8;
  while (loads > 1 && !make(loads, 1)->isVectorised())
    loads /= 2;
  while (stores > 1 && !make(1, stores)->isVectorised())
    stores /= 2;
  return make(loads, stores);
}

nn::ScheduleAttr frit::cuda::scheduleTranspose(nn::FusionOp fusion,
                                               const Lowered &lowered,
                                               std::string &reason) {
  auto kernel = makeTranspose(fusion, lowered, reason);
  if (!kernel)
    return nullptr;
  // A round trip through shared memory takes longer than reading a small tensor
  // in short pieces.
  if (std::min(kernel->rows, kernel->cols) < 8 &&
      kernel->batch * kernel->rows * kernel->cols < kSmall) {
    reason = "it is small";
    return nullptr;
  }
  return nn::ScheduleAttr::get(lowered.context(), nn::Skeleton::transpose, 1,
                               kernel->threads(), 1, false);
}
