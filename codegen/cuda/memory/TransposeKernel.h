//===- TransposeKernel.h - A fusion as a tiled transpose ------------------===//
//
// A fusion with one transpose that changes the innermost dimension, and with
// elementwise operators on either side, which join the copy's reads and writes;
// or one that moves rows of an innermost dimension which are no whole vectors.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_MEMORY_TRANSPOSEKERNEL_H
#define FRIT_CODEGEN_CUDA_MEMORY_TRANSPOSEKERNEL_H

#include "codegen/cuda/target/Emit.h"

namespace frit::cuda {

/// The part of a kernel before the transpose, or that behind it.
struct TransposeSide {
  explicit TransposeSide(mlir::MLIRContext *context) : graph(context) {}
  Graph graph;
  mlir::AffineExpr index;
  int64_t vector = 1;
};

class TransposeKernel {
public:
  /// Of transpose_skewed.cuh: elements of a line, and the same of tiles with
  /// all rows.
  static constexpr int64_t kSkewLine = 128, kFlatLine = 64;

  explicit TransposeKernel(const LinalgFusion &lowered)
      : lowered(lowered), load(lowered.context()), store(lowered.context()) {}

  /// Finds the transpose and its matrix, or says what does not fit.
  bool match(nn::FusionOp fusion, std::string &reason);
  /// Builds the graphs for vectors of `loads` and `stores` elements.
  bool build(int64_t loads, int64_t stores, std::string &reason);
  /// Whether vectors are read and written whole, of 16 bytes at most.
  bool isVectorised() const;
  /// Whether 16-bit elements are only moved, but not by vectors on both sides:
  /// then tiles are skewed.
  bool isSkewed() const;
  /// Whether tiles have all of a short side of an odd number of elements.
  bool isShort() const;
  /// Whether runs of neighbours are moved whole.
  bool isRuns() const { return run > 1; }
  /// The body that transpose.cuh moves by, or transpose_skewed.cuh and
  /// transpose_runs.cuh.
  std::string print(llvm::StringRef name);
  std::string printMoved(llvm::StringRef name);
  /// The kernel's statement.
  std::string call(llvm::StringRef name) const;
  /// Sets the tile's sides for the matrix.
  void chooseTile();
  int64_t tileCount() const;
  /// Of dynamic shared memory.
  int64_t sharedBytes() const;
  int64_t threads() const;
  /// Blocks beside each other, or 0.
  int64_t resident() const;

  /// Of runs, where they stay together.
  int64_t batch = 1, rows = 1, cols = 1;
  int64_t tileRows = 64, tileCols = 64;

private:
  /// A dimension of the moved tensor, with the strides of both its forms.
  struct Dim {
    int64_t size, from, to;
  };

  bool isFlat(bool loads, int64_t vector) const;
  bool isOnlyMoved() const;
  bool takesRuns(std::string &reason) const;
  /// Bytes of an element that is only moved.
  int64_t movedBytes() const;
  /// Bytes of an element, or of the widest that runs are made of; elements
  /// that this is.
  int64_t unit() const;
  int64_t unitElements() const;
  std::string unitName() const;
  bool hasAlignedLines() const;
  /// Whether a skewed tile has all rows.
  bool hasAllRows() const;
  int64_t skewRows() const;
  int64_t wordSize() const;
  std::string printBase(llvm::StringRef name, int64_t Dim::*stride);

  const LinalgFusion &lowered;
  nn::TransposeOp transpose;
  /// Neighbours that stay neighbours.
  int64_t run = 1;
  /// The matrix's two dimensions, and the others in the output's order.
  Dim row, col;
  llvm::SmallVector<Dim> others;
  TransposeSide load, store;
  Node *moved = nullptr, *value = nullptr;
  llvm::SmallVector<Node *> stored;
};

/// The kernel with the widest accesses that fit either side; null, and why,
/// where the fusion is none.
std::unique_ptr<TransposeKernel> makeTranspose(nn::FusionOp fusion,
                                               const LinalgFusion &lowered,
                                               std::string &reason);

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_MEMORY_TRANSPOSEKERNEL_H
