//===- RowKernel.h - A fusion as phases over rows -------------------------===//
//
// A fusion with reductions over neighbouring dimensions becomes a body of the
// row skeleton, or of the column skeleton where more dimensions follow. What a
// reduction combines is called a row either way. The phases follow from what
// depends on what:
//
//   load     what changes along a row, needs no reduction and feeds one that
//            does: the frontier, kept in registers
//   term     a reduction's operand, from the frontier and earlier reductions;
//            what is dear in it and used again takes a place beside the
//            frontier
//   store    outputs with an element per column, worked out again from these
//   finish   outputs with one element per row
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_MEMORY_ROWKERNEL_H
#define FRIT_CODEGEN_CUDA_MEMORY_ROWKERNEL_H

#include "codegen/cuda/memory/MemorySkeleton.h"

namespace frit::cuda {

/// What a row kernel's graph depends on besides its fusion.
struct RowBuild {
  /// Neighbouring columns, or rows where rows are neighbours in memory.
  int64_t vector = 1;
  /// Whether rows may begin inside a vector, as their length is no multiple.
  bool skewed = false;
  /// Whether weights are loaded with the row, not after its reductions.
  bool preload = false;
};

class RowKernel {
public:
  RowKernel(nn::FusionOp fusion, const LinalgFusion &lowered)
      : fusion(fusion), lowered(lowered), graph(lowered.context()) {}

  /// Finds rows, columns and reductions, or says what does not fit.
  nn::Legality match();
  /// Builds the graph; once, after a match.
  nn::Legality build(const RowBuild &how);

  /// Prints the body. With `keeps`, terms may leave values for later phases in
  /// their element; `staged` names the tensors that shared memory holds for a
  /// while.
  std::string print(llvm::StringRef name, bool keeps, bool staged = false);
  bool isColumns() const { return inner > 1; }
  bool isSkewed() const { return graph.lanes.skewed; }
  /// The most columns that a row's vectors cover.
  int64_t covered() const {
    return cols + (isSkewed() ? graph.lanes.width - 1 : 0);
  }
  /// Whether every operand read along the lanes is read vector by vector.
  bool isVectorised() const;
  /// Bytes of the narrowest element read along the lanes, 16 at most.
  int64_t narrowestLoad() const;
  /// Bytes of the widest element read or written along the lanes.
  int64_t widestAccess() const;
  /// Bytes that keep what is loaded of an element; 0 where that is several
  /// values.
  int64_t storedBytes() const;
  /// Whether vectors of that are copied as they are in memory.
  bool isCopied() const;
  /// Whether one pass over a row is all there is.
  bool readsOnce() const { return reductions.size() == 1 && perColumn.empty(); }
  /// Whether teams of `team` threads can stage rows through shared memory,
  /// `held` to a block.
  bool canStage(int64_t team, int64_t held) const;
  /// Bytes of shared memory for a block of `held` staged rows.
  int64_t stagedBytes(int64_t held) const;
  /// Bytes of the narrowest element there.
  int64_t narrowestStaged() const;
  /// Values that registers keep of an element.
  int64_t elementValues() const { return std::max<size_t>(frontier.size(), 1); }

  /// A row's elements are `inner` apart.
  int64_t rows = 0, cols = 0, inner = 1;
  llvm::SmallVector<nn::ReduceOp> reductions;

private:
  /// A value that a term leaves in the element, and its place there.
  struct Left {
    size_t term, slot;
    Node *node;
  };

  /// The tensors in shared memory, by number, each with the bytes of an element
  /// in the tensors before it. `weights`, of which all rows read the same, lie
  /// behind them, each with the bytes before it.
  struct Staging {
    llvm::SmallVector<std::pair<unsigned, int64_t>> inputs, outputs, weights;
    int64_t bytes = 0, weightBytes = 0;
  };

  void findFrontier(bool preload);
  void findLeft();
  llvm::SmallVector<Node *> storeRoots() const;
  llvm::SmallVector<Node *> everything() const;
  bool changes(const Node *node) const;
  void findStaged();
  bool readsStagedAlone() const;
  Staging staging() const;
  std::string printStaging() const;
  /// "unsigned row, unsigned col" as parameters.
  std::string position() const;
  std::string printElement(bool stored) const;
  std::string printLoad();
  std::string printStored();
  std::string printTerm();
  std::string printCombine();
  std::string printStore();
  std::string printFinish();
  /// A printer for the phase after `terms` terms, which finds the element at
  /// `element`.
  Printer printer(size_t terms, llvm::StringRef element);
  std::string lane() const { return graph.lanes.width > 1 ? "e[v]" : "e[0]"; }
  std::string results(bool ofLanes) const;

  nn::FusionOp fusion;
  const LinalgFusion &lowered;
  Graph graph;
  mlir::AffineExpr row, col, place;
  llvm::SmallVector<Node *> resultNodes, terms, frontier;
  llvm::SmallVector<Left> left;
  llvm::SmallVector<unsigned> stagedInputs, stagedWeights;
  llvm::SmallVector<mlir::Type> slots;
  /// Outputs per column and per row, with their places among the outputs.
  llvm::SmallVector<std::pair<unsigned, Node *>> perColumn, perRow;
};

/// How threads share the rows or columns of a reduction: a schedule of
/// #cuda.row_staged, #cuda.row, #cuda.row_shared, #cuda.row_streamed,
/// #cuda.column_shared or #cuda.column.
nn::Match<nn::Schedule> chooseRow(Problem &problem, const Machine &machine);
template <class Attr>
using RowFamily = MemorySkeleton<Attr, chooseRow, Problem::Kind::reduction>;

/// The kernel of a problem, matched and built, or what does not fit.
nn::Match<std::unique_ptr<RowKernel>> buildRowKernel(Problem &problem,
                                                     const RowBuild &how);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_MEMORY_ROWKERNEL_H
