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

#include "codegen/cuda/target/Emit.h"

namespace frit::cuda {

class RowKernel {
public:
  RowKernel(nn::FusionOp fusion, const LinalgFusion &lowered)
      : fusion(fusion), lowered(lowered), graph(lowered.context()) {}

  /// Finds rows, columns and reductions, or says what does not fit.
  bool match(std::string &reason);
  /// Builds the graph for vectors of `vector` columns, or of rows where rows
  /// are neighbours in memory. Columns that are no multiple of it are skewed:
  /// rows begin within vectors.
  bool build(int64_t vector, std::string &reason);

  /// With `keeps`, terms may leave values for later phases in their element;
  /// `staged` names the tensors that shared memory holds for a while.
  std::string print(llvm::StringRef name, bool keeps, bool staged = false);
  bool isSkewed() const { return graph.lanes.skewed; }
  /// Columns that a row's vectors cover, at most.
  int64_t covered() const {
    return cols + (isSkewed() ? graph.lanes.width - 1 : 0);
  }
  /// Whether every operand read along the lanes is read vector by vector.
  bool isVectorised() const;
  /// Bytes of the narrowest element read along the lanes, 16 at most.
  int64_t narrowestLoad() const;
  /// Bytes of the widest element read or written along the lanes.
  int64_t widestAccess() const;
  /// Bytes that keep what is loaded of an element, or 0 where several values
  /// are.
  int64_t storedBytes() const;
  /// Whether vectors of that are copied as they are in memory.
  bool isCopied() const;
  /// Whether one pass over a row is all there is.
  bool readsOnce() const { return reductions.size() == 1 && perColumn.empty(); }
  /// Whether teams of `team` threads have their rows in shared memory for
  /// vectors' sake, `held` to a block.
  bool isStaged(int64_t team, int64_t held) const;
  /// Rows that a team then has at once, in blocks of `threads`.
  int64_t heldRows(int64_t team, int64_t threads, int64_t perThread) const;
  /// Bytes that this takes for a block of `held` rows.
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

  /// Tensors in shared memory, by number, with the bytes that an element takes
  /// in those before it; and in all. Behind them are those of which all rows
  /// read the same, with the bytes before each.
  struct Staging {
    llvm::SmallVector<std::pair<unsigned, int64_t>> inputs, outputs, weights;
    int64_t bytes = 0, weightBytes = 0;
  };

  void findFrontier();
  void findLeft();
  llvm::SmallVector<Node *> storeRoots() const;
  llvm::SmallVector<Node *> everything() const;
  bool isColumns() const { return inner > 1; }
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

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_MEMORY_ROWKERNEL_H
