//===- EmitTranspose.cpp - Tiled transposes
//-----------------------------------===//
//
// A fusion whose one transpose swaps two groups of neighbouring dimensions,
// [batch, rows, cols] -> [batch, cols, rows], with elementwise operators on
// either side, which join the copy's reads and writes.
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/Emit.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

static constexpr int64_t kTile = 64;

namespace {
class TransposeKernel {
public:
  explicit TransposeKernel(const Lowered &lowered)
      : lowered(lowered), graph(lowered.context()) {}

  bool match(nn::FusionOp fusion, std::string &reason);
  bool build(std::string &reason);
  std::string print(StringRef name);

  int64_t batch = 1, rows = 1, cols = 1;

private:
  const Lowered &lowered;
  Graph graph;
  nn::TransposeOp transpose;
  AffineExpr from, to;
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
  // What stays in front is the batch; the rest must be rotated.
  ArrayRef<int64_t> shape = nn::shapeOf(transpose.getX());
  SmallVector<int64_t> kept, perm;
  for (auto [dim, size] : llvm::enumerate(shape))
    if (size != 1)
      kept.push_back(dim);
  for (int64_t dim : transpose.getPerm())
    if (shape[dim] != 1)
      perm.push_back(dim);
  size_t prefix = 0;
  while (prefix < perm.size() && perm[prefix] == kept[prefix])
    batch *= shape[kept[prefix++]];
  size_t count = perm.size() - prefix, shift = 0;
  while (shift < count && kept[prefix + shift] != perm[prefix])
    rows *= shape[kept[prefix + shift++]];
  for (size_t i = 0; i < count; ++i) {
    if (perm[prefix + i] != kept[prefix + (shift + i) % count]) {
      reason = "it does more than swap two groups of dimensions";
      return false;
    }
    if (i + shift < count)
      cols *= shape[perm[prefix + i]];
  }
  if (rows < 8 || cols < 8) {
    reason = "its tiles would be nearly empty";
    return false;
  }
  return true;
}

bool TransposeKernel::build(std::string &reason) {
  int64_t count = batch * rows * cols;
  from = graph.space.addDim(count);
  to = graph.space.addDim(count);
  moved = graph.elementAt(lowered[transpose.getX()], from);
  value = graph.given(moved->type, "value", 0);
  SmallVector<int64_t> shape(nn::shapeOf(transpose.getY()));
  graph.give(lowered[transpose.getY()],
             [this, shape](ArrayRef<AffineExpr> indices) {
               if (graph.space.linearize(indices, shape) != to)
                 return graph.fail("the transpose is read out of order");
               return value;
             });
  for (Value output : lowered.outputs()) {
    if (rankedType(output).getNumElements() != count)
      graph.fail("an output differs in size");
    else
      stored.push_back(graph.elementAt(output, to));
  }
  // A warp's reads are neighbours, in pieces of a memory transaction at least.
  auto inPieces = [&](AffineExpr index) {
    return graph.space.laneUse(index, from, 16, [](unsigned) {
      return false;
    }) == LaneUse::contiguous;
  };
  bool contiguous = false, loops = false;
  for (Node *node : Graph::reachable(moved, graph)) {
    contiguous |= node->kind == Node::Kind::load &&
                  (node->index == from || inPieces(node->index));
    loops |= node->kind == Node::Kind::loop;
  }
  if (!contiguous || loops)
    graph.fail("what it moves is not read in order");
  reason = graph.failure();
  return reason.empty();
}

std::string TransposeKernel::print(StringRef name) {
  std::string type = valueName(moved->type).str();
  Printer load(graph);
  load.setArguments(lowered.inputElements());
  load.nameDim(from, "i");
  load.expect(moved);
  load.line("return " + load.value(moved) + ";");

  Printer store(graph);
  store.setArguments(lowered.inputElements());
  store.nameDim(to, "i");
  store.expect(stored);
  for (auto [output, node] : llvm::enumerate(stored))
    storeOutput(store, graph, output, elementType(lowered.outputs()[output]),
                node, "i");
  return ("struct " + name + "_body {\n" + parameterList(lowered, true) +
          "\n  __device__ " + type + " load(size_t i) const {\n" + load.str(4) +
          "  }\n  __device__ void store(size_t i, " + type +
          " value) const {\n" + store.str(4) + "  }\n};\n")
      .str();
}

nn::ScheduleAttr frit::cuda::scheduleTranspose(nn::FusionOp fusion,
                                               const Lowered &lowered,
                                               std::string &reason) {
  TransposeKernel kernel(lowered);
  if (!kernel.match(fusion, reason) || !kernel.build(reason))
    return nullptr;
  return nn::ScheduleAttr::get(lowered.context(), nn::Skeleton::transpose, 1,
                               256, 1, false);
}

FailureOr<KernelText> frit::cuda::emitTranspose(nn::FusionOp fusion,
                                                const Lowered &lowered,
                                                StringRef name,
                                                std::string &failure) {
  TransposeKernel kernel(lowered);
  if (!kernel.match(fusion, failure) || !kernel.build(failure))
    return llvm::failure();
  KernelText text;
  text.header = "transpose";
  std::string call =
      ("frit::transpose<" + name + "_body, " + Twine(kTile) + ">({" +
       argumentList(lowered) + "}, " + Twine(kernel.batch) + ", " +
       Twine(kernel.rows) + ", " + Twine(kernel.cols) + ");\n")
          .str();
  text.source = kernel.print(name) + kernelFunction(name, lowered, 256, call);
  text.grid[0] =
      std::min<int64_t>(INT32_MAX, kernel.batch * ceilDiv(kernel.rows, kTile) *
                                       ceilDiv(kernel.cols, kTile));
  text.block[0] = 256;
  return text;
}
