//===- TransposeKernel.h - A fusion as a tiled transpose ------------------===//
//
// A fusion with one transpose that changes the innermost dimension, and with
// elementwise operators on either side, which join the copy's reads and writes;
// or one that moves rows of an innermost dimension which are no whole vectors.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_MEMORY_TRANSPOSEKERNEL_H
#define FRIT_CODEGEN_CUDA_MEMORY_TRANSPOSEKERNEL_H

#include "codegen/cuda/memory/MemorySkeleton.h"

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
  /// Elements of a line of transpose_skewed.cuh, and of its tiles that have all
  /// rows.
  static constexpr int64_t kSkewLine = 128, kFlatLine = 64;
  /// The most rows of a matrix of which a skewed tile can have all.
  static constexpr int64_t kFlatRows = 304;

  explicit TransposeKernel(const LinalgFusion &lowered)
      : lowered(lowered), load(lowered.context()), store(lowered.context()) {}

  /// Finds the transpose and its matrix, or says what does not fit.
  nn::Legality match(nn::FusionOp fusion);
  /// Builds the graphs for vectors of `loads` and `stores` elements; once,
  /// after a match.
  nn::Legality build(int64_t loads, int64_t stores);

  /// Whether runs of neighbours are moved whole.
  bool isRuns() const { return run > 1; }
  /// Whether one tensor's elements become another's as they are.
  bool isOnlyMoved() const;
  /// Bytes of an element that is only moved.
  int64_t movedBytes() const;
  /// Whether vectors are read and written whole, of 16 bytes at most, in tiles
  /// of these sides.
  bool isVectorised(int64_t tileRows, int64_t tileCols) const;
  /// Whether a tile of all that a side reads, or writes, in a row of its own
  /// has no gaps, so that vectors need not end where a row does.
  bool isFlat(bool loads, int64_t vector, int64_t tileRows,
              int64_t tileCols) const;
  /// Whether every line of tiles of runs begins at a vector and is whole ones.
  bool hasAlignedLines(int64_t tileRows, int64_t tileCols) const;
  /// Whether a skewed tile can have all rows.
  bool canHoldAllRows() const { return col.to == rows && rows <= kFlatRows; }

  /// Prints the body of transpose.cuh and transpose_flat.cuh, which joins the
  /// fusion's other operators to the reads and writes.
  std::string print(llvm::StringRef name);
  /// Prints the body of the others, which only move units of `unit` bytes.
  std::string printMoved(llvm::StringRef name, int64_t unit);

  /// A dimension of the moved tensor, with the strides of both its forms.
  struct Dim {
    int64_t size, from, to;
  };
  /// Neighbours that stay neighbours.
  int64_t run = 1;
  /// The matrices and their sides; of runs, where they stay together.
  int64_t batch = 1, rows = 1, cols = 1;
  /// The matrix's two dimensions, and the others in the output's order.
  Dim row, col;
  llvm::SmallVector<Dim> others;
  TransposeSide load, store;
  Node *moved = nullptr, *value = nullptr;
  llvm::SmallVector<Node *> stored;

private:
  std::string printBase(llvm::StringRef name, int64_t Dim::*stride,
                        int64_t elements);

  const LinalgFusion &lowered;
  nn::TransposeOp transpose;
};

/// The kernel of a problem with such vectors, or what does not fit.
nn::Match<std::unique_ptr<TransposeKernel>>
buildTranspose(Problem &problem, int64_t loads, int64_t stores);

/// Which of #cuda.transpose_runs, #cuda.transpose_skewed_flat,
/// #cuda.transpose_skewed, #cuda.transpose_flat and #cuda.transpose.
nn::Match<nn::Schedule> chooseTranspose(Problem &problem,
                                        const Machine &machine);
template <class Attr>
using TransposeFamily =
    MemorySkeleton<Attr, chooseTranspose, Problem::Kind::transpose>;

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_MEMORY_TRANSPOSEKERNEL_H
