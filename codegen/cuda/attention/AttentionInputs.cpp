//===- AttentionInputs.cpp - What an attention's kernel computes first ----===//
//
// A step of a language model rotates a few queries and keys, and appends keys
// and values to caches. A kernel of their own would take as long as its launch.
// Here each becomes a function of the attention's kernel, which computes 16
// bytes where the kernel would read them:
//
//   __device__ void query(frit::bf16 *to, unsigned i) const {
//     float a0[8];
//     frit::loadVector(a0, x0 + i);
//     ...
//     frit::storeVector(to, out);
//   }
//
//===----------------------------------------------------------------------===//

#include "codegen/cuda/attention/AttentionInputs.h"
#include "codegen/cuda/scalar/KernelText.h"

using namespace mlir;
using namespace frit;
using namespace frit::cuda;

namespace {
/// A tensor whose elements a function of the struct computes.
struct Computed {
  StringRef function;
  Value tensor; ///< in the lowered fusion
};

/// The elements of one call: neighbours, in a graph of its own.
struct Piece {
  explicit Piece(Value tensor, MLIRContext *context) : graph(context) {
    const int64_t width = 128 / elementType(tensor).getIntOrFloatBitWidth();
    AffineExpr i = graph.space.addDim(rankedType(tensor).getNumElements());
    graph.setLane(i, width);
    root = graph.elementAt(tensor, i);
  }
  Graph graph;
  Node *root;
};
} // namespace

static SmallVector<Computed> tensorsOf(nn::AttentionInfo info,
                                       const LinalgFusion &lowered) {
  SmallVector<Computed> tensors = {
      {"key", lowered[info.newKeys->update.getValue()]},
      {"value", lowered[info.newValues->update.getValue()]}};
  if (info.computesQueries)
    tensors.push_back({"query", lowered[info.op.getQ()]});
  return tensors;
}

nn::Legality frit::cuda::checkInputs(const nn::AttentionInfo &info,
                                     const LinalgFusion &lowered) {
  for (auto [function, tensor] : tensorsOf(info, lowered)) {
    Piece piece(tensor, lowered.context());
    if (!piece.graph.failure().empty())
      return nn::Mismatch(piece.graph.failure());
  }
  return std::nullopt;
}

static std::string functionText(const Computed &computed,
                                const LinalgFusion &lowered) {
  Piece piece(computed.tensor, lowered.context());
  Printer printer(piece.graph);
  printer.setArguments(lowered.inputElements());
  printer.nameDim(piece.graph.lanes.lane, "i");
  printer.expect(piece.root);
  printer.shareLoops(piece.root);
  printer.openLanes();
  std::string value = printer.value(piece.root);
  printer.before(valueName(piece.root->type) + " out[" +
                 Twine(piece.graph.lanes.width) + "];");
  printer.line("out[v] = " + value + ";");
  printer.closeLanes();
  return ("  __device__ void " + computed.function + "(" +
          storageName(elementType(computed.tensor)) +
          " *to, unsigned i) const {\n" + printer.str(4) +
          "    frit::storeVector(to, out);\n  }\n")
      .str();
}

std::string frit::cuda::inputsText(StringRef name,
                                   const nn::AttentionInfo &info,
                                   const LinalgFusion &lowered) {
  const Destination &place = *lowered.destination(info.newKeys->resultIndex);
  std::string text = ("struct " + name + " {\n").str();
  text += parameterList(lowered, /*asFields=*/true);
  text += "  static constexpr bool computesQueries = " +
          std::string(info.computesQueries ? "true" : "false") + ";\n";
  text += constantsText("int", {{"appended", place.rows}});
  auto isSettled = [&](unsigned input) {
    return llvm::is_contained(lowered.settledInputs(), int64_t(input));
  };
  bool early = isSettled(place.offsets) &&
               isSettled(info.k.argument.getArgNumber()) &&
               isSettled(info.v.argument.getArgNumber());
  text += constantsText("bool", {{"early", early}});
  text += "  __device__ int64_t firstRow(int batch) const {\n    return x" +
          std::to_string(place.offsets) +
          (place.each == place.outer ? "[0]" : "[batch]") + ";\n  }\n";
  for (const Computed &computed : tensorsOf(info, lowered))
    text += functionText(computed, lowered);
  return text + "};\n";
}
