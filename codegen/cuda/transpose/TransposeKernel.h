//===- TransposeKernel.h - A fusion as a tiled transpose ------------------===//
//
// Matches two forms of a fusion with one transpose. Either it changes the
// innermost dimension; elementwise operators before and after are then fused
// into the copy's reads and writes. Or it moves whole rows of the innermost
// dimension that are not a multiple of a vector (runs).
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_CODEGEN_CUDA_TRANSPOSE_TRANSPOSEKERNEL_H
#define FRIT_CODEGEN_CUDA_TRANSPOSE_TRANSPOSEKERNEL_H

#include "codegen/cuda/memory/MemorySkeleton.h"

namespace frit::cuda {

/// The part of a kernel before or after the transpose.
struct TransposeSide {
  explicit TransposeSide(mlir::MLIRContext *context) : graph(context) {}
  Graph graph;
  mlir::AffineExpr index;
  int64_t vector = 1;
};

/// Rows that a tile of transpose_skewed.cuh reads beyond the rows that it
/// writes.
inline constexpr int64_t kSkew = 16;

class TransposeKernel {
public:
  /// Elements of a line in transpose_skewed.cuh, and in its tiles that contain
  /// all rows.
  static constexpr int64_t kSkewLine = 128, kFlatLine = 64;
  /// Maximum number of matrix rows for which a skewed tile can contain them
  /// all.
  static constexpr int64_t kFlatRows = 304;

  /// Sides of a tile, and bytes of a vector, in transpose_bytes.cuh.
  static constexpr int64_t kByteTile = 128, kByteVector = 16;

  explicit TransposeKernel(const LinalgFusion &lowered)
      : load(lowered.context()), store(lowered.context()), lowered(lowered) {}

  /// Finds the transpose and its matrix. Returns the mismatch if the fusion has
  /// another form.
  nn::Legality match(nn::FusionOp fusion);
  /// Builds the graphs for vectors of `loads` and `stores` elements. Call once,
  /// after match() succeeded.
  nn::Legality build(int64_t loads, int64_t stores);

  /// Returns whether contiguous runs are moved as a whole.
  bool isRuns() const { return run > 1; }
  /// Returns whether the fusion copies one tensor's elements to another
  /// unchanged.
  bool isOnlyMoved() const;
  /// Returns the bytes of an element of the moved tensor.
  int64_t movedBytes() const;
  /// Returns whether tiles of these sides are read and written in whole vectors
  /// of at most 16 bytes.
  bool isVectorised(int64_t tileRows, int64_t tileCols) const;
  /// Returns whether a tile that spans all columns of the source (`loads`), or
  /// all rows of the destination, is contiguous there, so that vectors may
  /// cross the ends of rows.
  bool isFlat(bool loads, int64_t vector, int64_t tileRows,
              int64_t tileCols) const;
  /// Returns whether neither vectors nor the edges of the matrix and of a tile
  /// split words of `word` elements.
  bool isWords(int64_t word, int64_t tileCols) const {
    return word == 1 || (load.vector % word == 0 && store.vector >= word &&
                         cols % word == 0 && tileCols % word == 0);
  }
  /// Returns whether transpose_bytes.cuh computes it, if it was built for
  /// vectors of 16.
  bool takesBytes() const;
  /// Returns whether every line of a tile of runs is aligned to vectors at both
  /// ends.
  bool hasAlignedLines(int64_t tileRows, int64_t tileCols) const;
  /// Returns whether a skewed tile can contain all rows.
  bool canHoldAllRows() const { return col.to == rows && rows <= kFlatRows; }

  /// Prints the body for transpose.cuh and transpose_flat.cuh, with the
  /// fusion's other operators fused into reads and writes.
  std::string print(llvm::StringRef name);
  /// Prints the body for the other skeletons, which only move units of `unit`
  /// bytes.
  std::string printMoved(llvm::StringRef name, int64_t unit);
  /// Returns the type of a unit of so many bytes: "uint32_t".
  static std::string unitName(int64_t bytes);

  /// A dimension of the moved tensor, with its strides in source and
  /// destination.
  struct Dim {
    int64_t size, from, to;
  };
  /// Elements that stay contiguous.
  int64_t run = 1;
  /// Number of matrices and their sides, counted in runs if run > 1.
  int64_t batch = 1, rows = 1, cols = 1;
  /// The matrix's two dimensions, and the remaining ones in the output's order.
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

/// Matches a problem and builds its kernel for these vector widths; returns the
/// mismatch on failure.
nn::Match<std::unique_ptr<TransposeKernel>>
buildTranspose(Problem &problem, int64_t loads, int64_t stores);

/// Chooses among #cuda.transpose_runs, #cuda.transpose_skewed_flat,
/// #cuda.transpose_skewed, #cuda.transpose_flat, #cuda.transpose_bytes and
/// #cuda.transpose.
nn::Match<nn::Schedule> chooseTranspose(Problem &problem,
                                        const Machine &machine);
template <class Attr>
using TransposeFamily =
    MemorySkeleton<Attr, std::unique_ptr<TransposeKernel>, chooseTranspose,
                   /*milliseconds=*/20, Problem::Kind::transpose>;

} // namespace frit::cuda

#endif // FRIT_CODEGEN_CUDA_TRANSPOSE_TRANSPOSEKERNEL_H
