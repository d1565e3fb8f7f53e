//===- RowKernel.h - A fusion as phases over rows -------------------------===//
//
// A fusion with reductions over trailing dimensions becomes a body of the row
// skeleton. Its phases follow from what depends on what:
//
//   load     what changes along a row, needs no reduction and feeds one that
//            does: the frontier, kept in registers
//   term     a reduction's operand, from the frontier and earlier reductions
//   store    outputs with an element per column, worked out again from these
//   finish   outputs with one element per row
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_ROWKERNEL_H
#define FRIT_CODEGEN_CUDA_ROWKERNEL_H

#include "codegen/cuda/Emit.h"

namespace frit::cuda {

class RowKernel {
public:
  RowKernel(nn::FusionOp fusion, const Lowered &lowered)
      : fusion(fusion), lowered(lowered), graph(lowered.context()) {}

  /// Finds rows, columns and reductions, or says what does not fit.
  bool match(std::string &reason);
  /// Builds the graph for vectors of `vector` columns.
  bool build(int64_t vector, std::string &reason);

  std::string print(llvm::StringRef name);
  /// Whether every operand read along a row is read vector by vector.
  bool isVectorised() const;

  int64_t rows = 0, cols = 0;
  llvm::SmallVector<nn::ReduceOp> reductions;
  llvm::SmallVector<Node *> everything() const;

private:
  void findFrontier();
  std::string printLoad();
  std::string printTerm();
  std::string printCombine();
  std::string printStore();
  std::string printFinish();
  Printer printer();
  std::string results() const {
    return "const float (&r)[" +
           std::to_string(std::max<size_t>(reductions.size(), 1)) + "]";
  }

  nn::FusionOp fusion;
  const Lowered &lowered;
  Graph graph;
  mlir::AffineExpr row, col, place;
  llvm::SmallVector<Node *> resultNodes, terms, frontier;
  /// Outputs per column and per row, with their places among the outputs.
  llvm::SmallVector<std::pair<unsigned, Node *>> perColumn, perRow;
};

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_ROWKERNEL_H
