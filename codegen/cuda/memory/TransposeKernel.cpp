//===- TransposeKernel.cpp - Finding transposes and their tiles -----------===//

#include "codegen/cuda/memory/TransposeKernel.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Of transpose_skewed.cuh: elements of a line that are no columns of its tile,
/// and rows that a tile reads besides those that it writes.
static constexpr int64_t kSkewPhases = 8, kSkew = 16;
/// The most rows of tiles that have all, and of such with blocks of 256
/// threads.
static constexpr int64_t kFlatRows = 304, kFlatFewRows = 224;
/// Of transpose_flat.cuh: what the long side of a tile is a multiple of.
static constexpr int64_t kFlatLong = 64;
/// A matrix with shorter sides is not worth such tiles.
static constexpr int64_t kSkewSide = 128;
/// Elements that are moved before a launch is over.
static constexpr int64_t kSmall = 1 << 18;
/// Of transpose_runs.cuh: bytes of a tile that leave room for many others.
static constexpr int64_t kRunTile = 13 << 10;
/// Bytes of a vector and of a memory transaction.
static constexpr int64_t kVector = 16, kSector = 32;

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
  if (dims.size() < 2 || llvm::is_contained(shape, int64_t(0))) {
    reason = "nothing moves";
    return false;
  }
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
  if (batch > INT32_MAX || rows > INT32_MAX || cols > INT32_MAX) {
    reason = "it is too large";
    return false;
  }
  return true;
}

bool TransposeKernel::build(int64_t loads, int64_t stores,
                            std::string &reason) {
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
  return reason.empty() && (!isRuns() || takesRuns(reason));
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

/// Whether one tensor's elements become another's as they are.
bool TransposeKernel::isOnlyMoved() const {
  return moved->kind == Node::Kind::load && moved->index == load.index &&
         stored.size() == 1 && stored[0] == value &&
         elementType(lowered.outputs()[0]) ==
             lowered.inputElements()[moved->argument];
}

int64_t TransposeKernel::movedBytes() const {
  return storageBytes(lowered.inputElements()[moved->argument]);
}

int64_t TransposeKernel::unit() const {
  int64_t bytes = movedBytes();
  for (int64_t left = run; left % 2 == 0 && bytes < 8; left /= 2)
    bytes *= 2;
  return bytes;
}

int64_t TransposeKernel::unitElements() const { return unit() / movedBytes(); }

/// Runs that vectors take, and single elements of four bytes, are moved as well
/// without shared memory.
bool TransposeKernel::takesRuns(std::string &reason) const {
  auto fits = [&] {
    int64_t element = movedBytes(), bytes = run * element;
    return bytes % kVector != 0 && (run % 2 == 0 || element < 4) &&
           bytes <= kRunTile && batch * rows * cols * run >= kSmall;
  };
  if (!isOnlyMoved() || !fits()) {
    reason = "the innermost dimension stays";
    return false;
  }
  return true;
}

/// Whether all lines of tiles of runs are whole vectors.
bool TransposeKernel::hasAlignedLines() const {
  int64_t element = movedBytes();
  auto fits = [&](int64_t stride) { return stride * element % kVector == 0; };
  return fits(tileRows * run) && fits(tileCols * run) && fits(rows * run) &&
         fits(cols * run) && fits(row.from) && fits(col.to) &&
         llvm::all_of(others, [&](const Dim &dim) {
           return fits(dim.from) && fits(dim.to);
         });
}

void TransposeKernel::chooseTile() {
  if (isRuns()) {
    // Whole sectors where it is written, and longer than where it is read.
    int64_t bytes = run * movedBytes();
    auto fits = [&](int64_t count) { return count * bytes <= kRunTile; };
    tileRows = tileCols = 1;
    while (tileRows * unit() < kSector && tileRows < rows && fits(2 * tileRows))
      tileRows *= 2;
    while (fits(2 * tileRows * tileCols) &&
           (tileRows < rows || tileCols < cols)) {
      bool across = tileCols < cols && 2 * tileCols <= tileRows;
      (across || tileRows >= rows ? tileCols : tileRows) *= 2;
    }
    return;
  }
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
  return !isRuns() && std::min(load.vector, store.vector) == 1 &&
         std::min(rows, cols) >= kSkewSide && tileRows * tileCols == 64 * 64 &&
         isOnlyMoved() && movedBytes() == 2;
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
  // The column before those of a tile is there as well.
  if (hasAllRows())
    return batch * ceilDiv(cols, kFlatLine - kSkewPhases - 1);
  // A column's first rows may be left to the tile before, its last to another.
  return batch * ceilDiv(rows + kSkew - 1, skewRows()) *
         ceilDiv(cols, kSkewLine - kSkewPhases);
}

int64_t TransposeKernel::sharedBytes() const {
  if (!isSkewed())
    return 0;
  return hasAllRows() ? llvm::alignTo(rows, 4) * (kFlatLine + 2) * 2
                      : (skewRows() + kSkew) * (kSkewLine + 2) * 2;
}

/// Elements of a word of the tile: what four bytes hold, or one.
int64_t TransposeKernel::wordSize() const {
  bool isCopy = moved->kind == Node::Kind::load;
  int64_t bytes = isCopy ? movedBytes() : storageBytes(moved->type);
  int64_t word = std::max<int64_t>(4 / bytes, 1);
  bool fits = load.vector % word == 0 && store.vector >= word &&
              cols % word == 0 && tileCols % word == 0 &&
              !isFlat(true, load.vector) && !isFlat(false, store.vector);
  return fits ? word : 1;
}

bool TransposeKernel::hasAllRows() const {
  return col.to == rows && rows <= kFlatRows;
}

/// Rows that a skewed tile writes: those of which tiles read the fewest.
int64_t TransposeKernel::skewRows() const {
  int64_t best = 0, least = INT64_MAX;
  for (int64_t length : {80, 96, 112}) {
    int64_t lines = ceilDiv(rows + kSkew - 1, length) * (length + kSkew);
    if (lines < least) {
      best = length;
      least = lines;
    }
  }
  return best;
}

int64_t TransposeKernel::threads() const {
  if (!isSkewed())
    return 256;
  return !hasAllRows() ? 4 * skewRows() : rows <= kFlatFewRows ? 256 : 384;
}

int64_t TransposeKernel::resident() const {
  if (!isSkewed())
    return 0;
  // As many as have registers for all that they read.
  if (!hasAllRows())
    return skewRows() > 96 ? 3 : 4;
  return rows <= 144 ? 6 : rows <= 176 ? 5 : rows <= kFlatFewRows ? 4 : 3;
}

std::unique_ptr<TransposeKernel>
frit::cuda::makeTranspose(nn::FusionOp fusion, const LinalgFusion &lowered,
                          std::string &reason) {
  auto make = [&](int64_t loads, int64_t stores) {
    auto kernel = std::make_unique<TransposeKernel>(lowered);
    if (!kernel->match(fusion, reason) || !kernel->build(loads, stores, reason))
      return std::unique_ptr<TransposeKernel>();
    kernel->chooseTile();
    return kernel;
  };
  auto plain = make(1, 1);
  if (!plain)
    return nullptr;
  if (plain->isRuns())
    return plain;
  int64_t loads = 8, stores = 8;
  while (loads > 1 && !make(loads, 1)->isVectorised())
    loads /= 2;
  while (stores > 1 && !make(1, stores)->isVectorised())
    stores /= 2;
  return make(loads, stores);
}

nn::ScheduleAttr frit::cuda::scheduleTranspose(nn::FusionOp fusion,
                                               const LinalgFusion &lowered,
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
