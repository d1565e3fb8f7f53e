//===- EmitTranspose.cpp - Tiled transposes -------------------------------===//
//
// A fusion with one transpose that changes the innermost dimension, and with
// elementwise operators on either side, which join the copy's reads and writes.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/Emit.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

/// Of transpose_skewed.cuh: the columns of a tile, with those of all rows one
/// less, the rows that it writes, and those that it reads besides; the bytes of
/// a line, and the rows that are few enough to have all of them.
static constexpr int64_t kSkewCols = 240, kSkewRows = 64, kSkew = 16;
static constexpr int64_t kSkewLineBytes = 516, kSkewAllRows = 216;
/// A matrix with shorter sides is not worth such tiles.
static constexpr int64_t kSkewSide = 128;
/// Elements that are moved before a launch is over.
static constexpr int64_t kSmall = 1 << 18;

namespace {
/// The part of the kernel before the transpose, or that behind it.
struct Side {
  explicit Side(MLIRContext *context) : graph(context) {}
  Graph graph;
  AffineExpr index;
  int64_t vector = 1;
};

class TransposeKernel {
public:
  explicit TransposeKernel(const Lowered &lowered)
      : lowered(lowered), load(lowered.context()), store(lowered.context()) {}

  bool match(nn::FusionOp fusion, std::string &reason);
  /// Builds the graphs for vectors of `loads` and `stores` elements.
  bool build(int64_t loads, int64_t stores, std::string &reason);
  /// Whether vectors are read and written whole, of 16 bytes at most.
  bool isVectorised() const;
  /// Whether 16-bit elements are only moved, but not by vectors on both sides:
  /// then tiles are skewed.
  bool isSkewed() const;
  std::string print(StringRef name);
  std::string printSkewed(StringRef name);
  std::string call(StringRef name) const;
  void chooseTile();
  int64_t tileCount() const;
  int64_t sharedBytes() const;
  int64_t threads() const { return isSkewed() && hasAllRows() ? 512 : 256; }
  /// Blocks beside each other, or 0.
  int64_t resident() const { return isSkewed() ? hasAllRows() ? 2 : 3 : 0; }

  int64_t batch = 1, rows = 1, cols = 1;
  int64_t tileRows = 64, tileCols = 64;

private:
  /// A dimension of the moved tensor, with the strides of both its forms.
  struct Dim {
    int64_t size, from, to;
  };

  bool isFlat(bool loads, int64_t vector) const;
  /// Whether a skewed tile has all rows.
  bool hasAllRows() const { return col.to == rows && rows <= kSkewAllRows; }
  int64_t wordSize() const;
  std::string printBase(StringRef name, int64_t Dim::*stride);

  const Lowered &lowered;
  nn::TransposeOp transpose;
  /// The matrix's two dimensions, and the others in the output's order.
  Dim row, col;
  SmallVector<Dim> others;
  Side load, store;
  Node *moved = nullptr, *value = nullptr;
  SmallVector<Node *> stored;
};
} // namespace

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
  for (Side *side : {&load, &store}) {
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
    int64_t length = std::max<int64_t>(side * side / other / 8 * 8, 8);
    return std::min(all, length);
  };
  if (tileRows < side && rows <= cols)
    tileCols = stretch(tileRows, cols);
  else if (tileCols < side)
    tileRows = stretch(tileCols, rows);
}

bool TransposeKernel::isVectorised() const {
  auto fits = [&](const Side &side, ArrayRef<Node *> roots, int64_t inner,
                  bool loads) {
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

int64_t TransposeKernel::tileCount() const {
  if (!isSkewed())
    return batch * ceilDiv(rows, tileRows) * ceilDiv(cols, tileCols);
  if (hasAllRows())
    return batch * ceilDiv(cols, kSkewCols - 1);
  // A column's first rows may be left to the tile before, its last to another.
  return batch * ceilDiv(rows + kSkew - 1, kSkewRows) *
         ceilDiv(cols, kSkewCols);
}

int64_t TransposeKernel::sharedBytes() const {
  if (!isSkewed())
    return 0;
  int64_t lines = hasAllRows() ? llvm::alignTo(rows, 4) : kSkewRows + kSkew;
  return lines * kSkewLineBytes;
}

/// Where a matrix begins, from its number.
std::string TransposeKernel::printBase(StringRef name, int64_t Dim::*stride) {
  IndexSpace space(lowered.context());
  AffineExpr number = space.addDim(batch), place = space.constant(0);
  SmallVector<int64_t> sizes;
  for (const Dim &dim : others)
    sizes.push_back(dim.size);
  for (auto [dim, index] : llvm::zip(others, space.delinearize(number, sizes)))
    place = space.add(place, space.mul(index, dim.*stride));
  std::string text =
      space
          .print(place,
                 [&](AffineExpr, bool wide, bool) -> IndexText {
                   return {wide ? "int64_t(batch)" : "batch", kPrimary};
                 })
          .text;
  return ("  __device__ static size_t " + name +
          "(unsigned batch) {\n    return " + text + ";\n  }\n")
      .str();
}

std::string TransposeKernel::print(StringRef name) {
  bool isCopy = moved->kind == Node::Kind::load;
  StringRef held = isCopy
                       ? storageName(lowered.inputElements()[moved->argument])
                       : valueName(moved->type);
  std::string lane = load.vector > 1 ? "e[v]" : "e[0]";
  Printer in(load.graph);
  in.setArguments(lowered.inputElements());
  in.nameDim(load.index, "i");
  in.expect(moved);
  if (isCopy) {
    in.line("frit::copyVector(e, x" + Twine(moved->argument) + " + " +
            in.place(moved) + ");");
  } else {
    in.openLanes();
    std::string text = in.value(moved);
    in.line(lane + " = " + text + ";");
    in.closeLanes();
  }

  Printer out(store.graph);
  out.setArguments(lowered.inputElements());
  out.nameDim(store.index, "i");
  lane = store.vector > 1 ? "e[v]" : "e[0]";
  out.define(value, isCopy ? "frit::load(" + lane + ")" : lane);
  out.expect(stored);
  out.openLanes();
  std::string stores;
  for (auto [output, node] : llvm::enumerate(stored)) {
    Type element = elementType(lowered.outputs()[output]);
    std::string y = ("y" + Twine(output)).str();
    // What is only moved is not converted there and back.
    if (node == value && storageName(element) == held)
      stores += "frit::copyVector(" + y + " + i, e);\n";
    else if (std::string store = storeOutput(out, this->store.graph, output,
                                             element, node, "i");
             !store.empty())
      stores += store + "\n";
  }
  out.closeLanes();
  return ("struct " + name + "_body {\n" + parameterList(lowered, true) +
          "  using Held = " + held + ";\n\n  __device__ void load(Held (&e)[" +
          Twine(load.vector) + "], size_t i) const {\n" + in.str(4) +
          "  }\n  __device__ void store(const Held (&e)[" +
          Twine(store.vector) + "], size_t i) const {\n" + out.str(4) +
          indented(stores, 4) + "  }\n" + printBase("from", &Dim::from) +
          printBase("to", &Dim::to) + "};\n")
      .str();
}

std::string TransposeKernel::printSkewed(StringRef name) {
  return ("struct " + name + "_body {\n" + parameterList(lowered, true) +
          "\n  __device__ const uint16_t *source() const {\n    return "
          "reinterpret_cast<const uint16_t *>(x" +
          Twine(moved->argument) +
          ");\n  }\n  __device__ uint16_t *target() const {\n    return "
          "reinterpret_cast<uint16_t *>(y0);\n  }\n" +
          printBase("from", &Dim::from) + printBase("to", &Dim::to) + "};\n")
      .str();
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

std::string TransposeKernel::call(StringRef name) const {
  std::string body = name.str() + "_body";
  std::string values = ">({" + argumentList(lowered) + "}, ";
  std::string count = (Twine(batch * rows * cols) + ");\n").str();
  if (isSkewed() && hasAllRows())
    return ("frit::transposeSkewedFlat<" + body + ", " + Twine(rows) + values +
            Twine(cols) + ", " + Twine(row.from) + ", " + count)
        .str();
  std::string sizes = (Twine(rows) + ", " + Twine(cols) + ", " +
                       Twine(row.from) + ", " + Twine(col.to))
                          .str();
  if (isSkewed())
    return "frit::transposeSkewed<" + body + values + sizes + ", " + count;
  bool flatLoad = isFlat(true, load.vector);
  bool flatStore = isFlat(false, store.vector);
  std::string flat;
  if (flatLoad || flatStore)
    flat = std::string(flatLoad ? ", true" : ", false") +
           (flatStore ? ", true" : "");
  return ("frit::transpose<" + body + ", " + Twine(tileRows) + ", " +
          Twine(tileCols) + ", " + Twine(load.vector) + ", " +
          Twine(store.vector) + ", " + Twine(wordSize()) + flat + values +
          Twine(batch) + ", " + sizes + ");\n")
      .str();
}

/// The kernel with the widest accesses that fit either side.
static std::unique_ptr<TransposeKernel> makeTranspose(nn::FusionOp fusion,
                                                      const Lowered &lowered,
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

FailureOr<KernelText> frit::cuda::emitTranspose(nn::FusionOp fusion,
                                                const Lowered &lowered,
                                                StringRef name,
                                                std::string &failure) {
  auto kernel = makeTranspose(fusion, lowered, failure);
  if (!kernel)
    return llvm::failure();
  KernelText text;
  bool skewed = kernel->isSkewed();
  int64_t threads = kernel->threads();
  text.header = skewed ? "transpose_skewed" : "transpose";
  text.source = (skewed ? kernel->printSkewed(name) : kernel->print(name)) +
                kernelFunction(name, lowered, threads, kernel->call(name), 0,
                               Waits::inFunction, 1, kernel->resident());
  text.grid[0] = std::min<int64_t>(INT32_MAX, kernel->tileCount());
  text.block[0] = threads;
  text.sharedBytes = kernel->sharedBytes();
  return text;
}
