//===- RowKernel.h - A fusion as phases over rows -------------------------===//
//
// Prints a fusion with reductions over adjacent dimensions as a body of the row
// skeletons, or of the column skeletons if other dimensions follow the reduced
// ones. In both cases a row is what one reduction combines. Data dependences
// give the phases:
//
//   load     values that vary along a row, need no reduction and feed one: the
//            frontier, kept in registers
//   term     a reduction's operand, computed from the frontier and earlier
//            reductions; expensive values in it that later phases need are
//            cached next to the frontier
//   store    outputs with one element per column, recomputed from these
//   finish   outputs with one element per row
//
// A fusion may also sum parts of all rows, one sum per column. A kernel of
// row_columns.cuh computes both:
//
//   add      their terms, computed like what is stored
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_REDUCTION_ROWKERNEL_H
#define FRIT_CODEGEN_CUDA_REDUCTION_ROWKERNEL_H

#include "codegen/cuda/memory/MemorySkeleton.h"

namespace frit::cuda {

/// Options of a row kernel's graph.
struct RowBuild {
  /// Vector width: neighbouring columns of a row, or neighbouring rows in
  /// column kernels.
  int64_t vector = 1;
  /// Whether rows may begin inside a vector because their length is not a
  /// multiple of the vector width.
  bool skewed = false;
  /// Whether scales and biases are loaded with the row instead of after its
  /// reductions.
  bool preload = false;
};

class RowKernel {
public:
  RowKernel(nn::FusionOp fusion, const LinalgFusion &lowered)
      : fusion(fusion), lowered(lowered), graph(lowered.context()) {}

  /// Finds rows, columns and reductions. Returns the mismatch if the fusion has
  /// another form.
  nn::Legality match();
  /// Builds the graph. Call once, after match() succeeded.
  nn::Legality build(const RowBuild &how);

  /// Prints the body. With `keeps`, terms may cache values for later phases in
  /// their element. With `staged`, adds the functions that list the tensors
  /// staged in shared memory (row_staged.cuh).
  std::string print(llvm::StringRef name, bool keeps, bool staged = false);
  /// Prints the body of a kernel that also sums columns.
  std::string printWithSums(llvm::StringRef name);
  /// Returns whether printWithSums() applies: there are column sums, and rows
  /// are whole vectors of the inputs.
  bool canSumColumns() const;
  /// Returns the bytes of shared memory of a block of such a kernel.
  int64_t sharedForSums(int64_t threads) const {
    return threads / 32 * 2 * stagedInputBytes() * cols;
  }
  bool isColumns() const { return inner > 1; }
  bool isSkewed() const { return graph.lanes.skewed; }
  /// Returns the maximum number of columns that a row's vectors cover.
  int64_t covered() const {
    return cols + (isSkewed() ? graph.lanes.width - 1 : 0);
  }
  /// Returns whether no load is scattered over the lanes.
  bool isVectorised() const;
  /// Returns the bytes of the narrowest element read along the lanes, at most
  /// 16.
  int64_t narrowestLoad() const;
  /// Returns the bytes of the widest element read or written along the lanes.
  int64_t widestAccess() const;
  /// Returns the bytes per element of a row kept in shared memory; 0 if an
  /// element has several values.
  int64_t storedBytes() const;
  /// Returns whether the row in shared memory is an unchanged copy of an input.
  bool isCopied() const;
  /// Returns the bytes of shared memory of a row of row_shared; 0 if it is read
  /// only once or cannot be kept there.
  int64_t sharedRowBytes() const {
    return readsOnce() ? 0 : storedBytes() * cols;
  }
  /// Returns whether column_shared can keep columns: it copies vectors of 16
  /// bytes of one input, which several passes read.
  bool canShareColumns() const;
  /// Returns whether a single pass reads each row.
  bool readsOnce() const {
    return (reductions.size() == 1 && perColumn.empty()) || isJoint();
  }
  /// Returns whether one pass over columns computes all reductions and outputs
  /// with an element per column, at least two in all: none of them needs a
  /// reduction's result.
  bool isJoint() const { return joint; }
  /// Returns whether teams of `team` threads can stage rows through shared
  /// memory, `held` rows per block.
  bool canStage(int64_t team, int64_t held) const;
  /// Returns the bytes of shared memory for a block of `held` staged rows.
  int64_t stagedBytes(int64_t held) const;
  /// Returns the bytes of the narrowest staged element.
  int64_t narrowestStaged() const;
  /// Returns the number of values per element in registers.
  int64_t elementValues() const { return std::max<size_t>(frontier.size(), 1); }

  /// Number of rows, of elements per row, and of elements between a row's
  /// neighbours in memory.
  int64_t rows = 0, cols = 0, inner = 1;
  llvm::SmallVector<nn::ReduceOp> reductions;
  /// Column sums, and the number of parts of each.
  llvm::SmallVector<nn::ReduceOp> columnSums;
  int64_t parts = 0;

private:
  /// A value that a term caches in its element, and its slot there.
  struct CachedValue {
    size_t term, slot;
    Node *node;
  };

  /// The tensors in shared memory by number, each with its offset in bytes per
  /// element. `weights`, which all rows share, follow them, each with its
  /// offset in bytes.
  struct Staging {
    llvm::SmallVector<std::pair<unsigned, int64_t>> inputs, outputs, weights;
    int64_t bytes = 0, weightBytes = 0;
  };

  nn::Legality matchColumnSums();
  /// Returns the value of the body that is the fusion's result `i`.
  mlir::Value yielded(size_t i) const {
    nn::FusionOp op = fusion;
    return op.getBody().front().getTerminator()->getOperand(i);
  }
  void findFrontier(bool preload);
  bool needsNoResult() const;
  void findCachedValues();
  /// Returns whether a value depends on memory, but not on the position in a
  /// row.
  bool isOfRow(const Node *node) const;
  void findRowValues();
  /// Returns the loads that a term needs of values that are the same along a
  /// row, for rows not in registers.
  llvm::SmallVector<Node *> rowLoads(Node *term) const;
  /// Returns the stored values with an element per column.
  llvm::SmallVector<Node *> storedValues() const;
  /// Returns storedValues() and the terms of column sums.
  llvm::SmallVector<Node *> storeRoots() const;
  llvm::SmallVector<Node *> everything() const;
  bool changes(const Node *node) const;
  bool dependsOnColumn(const Node *node) const;
  bool followsFromPosition(Node *node) const;
  Node *sharedValue(Node *term, const llvm::DenseSet<Node *> &known,
                    const llvm::DenseSet<Node *> &later) const;
  void findStaged();
  bool readsOnlyStaged() const;
  Staging staging() const;
  std::string printStaging() const;
  std::string printStagedInputs() const;
  /// Returns the bytes per element of all inputs with an element at every (row,
  /// column).
  int64_t stagedInputBytes() const;
  std::string printAdd();
  std::string printStoreSum() const;
  std::string rowValuesParameter() const {
    return rowValues.empty() ? "" : ", const RowValues &values";
  }
  /// Returns the position parameters: "unsigned row, unsigned col".
  std::string position() const;
  std::string printElement(bool stored) const;
  std::string printLoad();
  std::string printStored();
  /// Numbers the passes over a row, one per term. A term shares the pass of the
  /// one before it unless it needs a result of that pass.
  llvm::SmallVector<int> passesOfTerms() const;
  std::string printPasses() const;
  std::string printTerm();
  std::string printCombine();
  std::string printRowValues();
  std::string printStore();
  std::string printFinish();
  /// Returns a printer for the phase after the first `terms` terms. `element`
  /// is the text of the element.
  Printer printer(size_t terms, llvm::StringRef element);
  std::string lane() const { return graph.lanes.width > 1 ? "e[v]" : "e[0]"; }
  std::string results(bool ofLanes) const;

  nn::FusionOp fusion;
  const LinalgFusion &lowered;
  Graph graph;
  mlir::AffineExpr row, col, place;
  llvm::SmallVector<Node *> resultNodes, terms, frontier, sumTerms;
  llvm::SmallVector<CachedValue> cached;
  /// The row's values that stores use, for rows that are not in registers.
  llvm::SmallVector<Node *> rowValues;
  llvm::SmallVector<unsigned> stagedInputs, stagedWeights;
  llvm::SmallVector<mlir::Type> slots;
  bool joint = false;
  /// Outputs with an element per column and per row, with their output numbers.
  llvm::SmallVector<std::pair<unsigned, Node *>> perColumn, perRow;
};

/// Chooses the schedule of a reduction: #cuda.row_columns,
/// #cuda.row_staged, #cuda.row, #cuda.row_shared, #cuda.row_streamed,
/// #cuda.column_shared or #cuda.column.
nn::Match<nn::Schedule> chooseRow(Problem &problem, const Machine &machine);
template <class Attr>
using RowFamily = MemorySkeleton<Attr, std::unique_ptr<RowKernel>, chooseRow,
                                 /*milliseconds=*/50, Problem::Kind::reduction>;

/// Matches a problem and builds its kernel; returns the mismatch on failure.
nn::Match<std::unique_ptr<RowKernel>> buildRowKernel(Problem &problem,
                                                     const RowBuild &how);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_REDUCTION_ROWKERNEL_H
