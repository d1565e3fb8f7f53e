//===- FusionGroups.h - Operators that share a kernel ---------------------===//
//
// Every operator starts as a group of one. In program order, each then joins
// its producers' groups if one kernel can compute both. A group has one space,
// the shape that its threads iterate over:
//
//   map       elementwise operators of one shape, and updates of states by
//             values of that shape, whose readers have other kernels
//   row       reductions of the trailing dimensions of one shape, and
//             elementwise operators of that shape or the reduced one, before,
//             between and after
//   anchored  a contraction, window or other reduction, then a chain of
//             elementwise operators on its result's shape. Also: before a
//             reduction, elementwise operators that only it reads; before a sum
//             of two convolutions, both of them; after a convolution's chain, a
//             pointwise convolution and its own chain; in the chain of a
//             product, another product of the same rows; in that of a product
//             of bytes, another one that becomes bytes; after it, one that
//             multiplies the bytes that it becomes
//   movement  a chain of operators that only select elements. With one reader
//             in a map or row group it becomes an index computation there.
//             Before it, also elementwise operators that only it reads
//   epilogue  operators that only the kernel of a product implements: moments
//             of its result's rows, and norms by moments
//   opaque    a composite that the target implements directly, with the
//             movement that its kernel does by strides
//   view      no kernel at all
//
// No kernel exceeds the target's largest size, so compile time is linear in the
// number of operators.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_TRANSFORM_FUSION_FUSIONGROUPS_H
#define FRIT_COMPILER_TRANSFORM_FUSION_FUSIONGROUPS_H

#include "dialects/nn/Match.h"
#include "dialects/nn/Target.h"
#include "dialects/nn/operators/Quantized.h"

#include <map>

namespace frit {

/// Returns the number of leading dimensions that a reduction keeps, or nothing
/// if the reduced dimensions are not the trailing ones.
std::optional<int64_t> rowDimensions(nn::ReduceOp reduce);

/// Returns whether an operator's result is cheaper to recompute in every reader
/// than to store: broadcasts and counters.
bool isGenerator(mlir::Operation *op);

/// Returns whether an operator is free: its result is a contiguous part of its
/// operand's bytes with another shape.
bool isView(mlir::Operation *op);

/// Returns whether an operator only says where a value belongs: planning lets
/// the kernel that computes the value write it there.
bool isPlacement(mlir::Operation *op);

/// Returns the operator that computes a value, looking through views, or null
/// for arguments and constants.
mlir::Operation *computedBy(mlir::Value value);

/// Returns whether an operator only selects elements of its operands.
bool isMovement(mlir::Operation *op);

/// Returns whether an operator multiplies operands that it reads from memory.
/// Elementwise operators may follow in its kernel.
bool isContraction(mlir::Operation *op);

/// Moves operators of one block into a fusion before `end`. Its results are
/// those of their results that others use.
nn::FusionOp createFusionOp(llvm::ArrayRef<mlir::Operation *> ops,
                            mlir::Operation *end);

/// Returns whether an operator was repeated for its reader, in whose kernel it
/// belongs (RecomputeWide.cpp).
inline bool isRecomputed(mlir::Operation *op) {
  return op->hasAttr("nn.recomputed");
}

/// Returns whether an operator is a cast of 16-bit floats to a wider type,
/// which each reader can do for itself: stored, its result takes twice the
/// memory.
bool widensForReaders(mlir::Operation *op);

/// Returns the only reader of an operator's results, or null if there are
/// several.
mlir::Operation *onlyReader(mlir::Operation *op);

/// Returns whether an operator can only run in the kernel of a product.
bool isEpilogueOnly(mlir::Operation *op);

/// Returns the operators that compute operands of a product in its kernel: B
/// from codes, A as a norm.
llvm::SmallVector<mlir::Operation *, 2>
operandsInside(mlir::Operation *op, const nn::Target &target);

class FusionGroups {
public:
  enum class Kind { view, map, row, anchored, movement, epilogue, opaque };

  /// A producer and a consumer that did not join, and why.
  struct Refusal {
    mlir::Operation *producer, *consumer;
    nn::Mismatch why;
  };

  /// Puts every operator of the block except constants into a group of its own.
  /// Operators of each list in `whole` share a group that no other joins.
  FusionGroups(mlir::Block &block, const nn::Target &target,
               llvm::ArrayRef<llvm::SmallVector<mlir::Operation *>> whole = {});

  /// Joins groups greedily. A widening cast joins its producer only after all
  /// others are done: if it joins its reader instead, the narrow value is
  /// stored.
  void join();

  /// Returns the operators of every group in program order; groups are in
  /// topological order.
  llvm::SmallVector<llvm::SmallVector<mlir::Operation *>> ordered() const;

  /// Returns the refusals between groups that are still separate. A view is not
  /// a group here: its producer is the group that computes its elements.
  llvm::SmallVector<Refusal> refusals() const;

private:
  struct Group {
    Kind kind = Kind::anchored;
    llvm::SmallVector<unsigned> members; ///< ascending
    llvm::SmallVector<int64_t> space;
    int64_t rows = 0; ///< leading dimensions that a row group keeps
    /// Size of the group's kernel; `tensors` is an upper bound.
    nn::KernelSize size;
    /// Place in a topological order of the groups; no two have the same.
    uint64_t place = 0;
    /// Returns the space with the reduced dimensions set to 1.
    llvm::SmallVector<int64_t> reduced() const;
  };

  Group single(unsigned index) const;
  /// Joins a group to its producers; with `onlyRecomputed`, only to those of
  /// isRecomputed().
  void joinProducers(unsigned index, bool onlyRecomputed = false);
  /// Joins reductions to the largest and the smallest numbers of a tensor, by
  /// which it is quantized, or of parts of it.
  void joinRanges();
  /// Returns the operators of a group, in program order.
  llvm::SmallVector<mlir::Operation *> operatorsOf(const Group &group) const;
  /// Returns them without what computes an operand of a contraction.
  llvm::SmallVector<mlir::Operation *> chainOf(const Group &group) const;
  /// Returns why `from` and its reader `to` cannot share a kernel, if they
  /// cannot. The legality checks are in FusionLegality.cpp, those of products
  /// of bytes in FusionBytes.cpp.
  nn::Legality checkLegality(unsigned from, unsigned to) const;
  nn::Legality checkEpilogue(const Group &from, const Group &to) const;
  /// Returns whether `to` is a convolution that is added to the one of `from`,
  /// neither has other readers, and the target computes both in one kernel.
  bool addsContraction(const Group &from, const Group &to) const;
  /// Returns whether `to` is a convolution and the only reader of `from`, a
  /// convolution and its epilogue, and the target computes both in one kernel.
  /// A convolution that is added to a third one joins that instead.
  bool chainsContraction(const Group &from, const Group &to) const;
  /// Returns whether the two are products of the same rows and `to` reads
  /// `from` alone, and the target computes both in one kernel.
  bool pairsProducts(const Group &from, const Group &to) const;
  bool isIn(mlir::Operation *op, const Group &group) const;
  /// Returns whether the two are products of bytes, `to` reads all of what
  /// becomes of `from`, and the target computes both in one kernel.
  bool pairsBytes(const Group &from, const Group &to) const;
  /// Returns whether `to` is a product that alone multiplies the bytes that the
  /// product of `from` becomes, and the target computes both in one kernel.
  bool chainsBytes(const Group &from, const Group &to) const;
  nn::Legality checkPrologue(const Group &from, const Group &to) const;
  /// Returns the last product of bytes of a group, or null.
  mlir::Operation *productOfBytes(const Group &group) const;
  /// Returns the group norm of a group, or null.
  mlir::Operation *normOf(const Group &group) const;
  nn::Legality checkEndOfBytes(const Group &from, const Group &to) const;
  nn::Legality checkEndOfNorm(const Group &from, const Group &to) const;
  /// Returns whether only the elementwise operators after a product of bytes
  /// read `from`, such as the dequantization of a residual.
  bool feedsEnd(const Group &from, const Group &to) const;
  nn::Legality checkMovement(const Group &from, const Group &to) const;
  nn::Legality checkUpdates(const Group &from, const Group &to) const;
  bool spacesFit(const Group &from, const Group &to) const;
  bool reducesAlone(const Group &from, const Group &to) const;
  /// Returns whether `to` repeats a number per row of `from` for each element.
  bool repeatsRows(const Group &from, const Group &to) const;
  /// Returns whether an operator of `to` reads one of `from` at other indices
  /// than its own.
  bool readsMoved(const Group &from, const Group &to) const;
  /// Returns the size of a kernel of both groups.
  nn::KernelSize sizeOfBoth(const Group &from, const Group &to) const;
  /// Makes a group and its reader one, which checkLegality has allowed.
  void merge(unsigned from, unsigned to);
  /// Adds the operators of `from` to `to`, whose place stays the same.
  void absorb(unsigned from, unsigned to);

  // In FusionOrder.cpp:

  /// Returns the other groups whose results `group` reads.
  llvm::SmallVector<unsigned> producers(const Group &group) const;
  /// Returns the groups in a topological order, in the program's if possible.
  llvm::SmallVector<unsigned> sorted() const;
  /// Groups between the places of a group and of its reader: those that depend
  /// on the group, or those that the reader needs.
  struct Between {
    bool dependents = false;
    llvm::SmallVector<unsigned> groups;
  };
  /// Whether the reader depends on the group through a third one.
  enum class Path { none, exists, unknown };
  /// Finds the groups between that depend on `from` or that `to` needs, by
  /// `found.dependents`. They are all of them if there is no path.
  Path search(unsigned from, unsigned to, Between &found, size_t limit) const;
  /// Returns the fewer groups of the two kinds, or nothing if `to` also depends
  /// on `from` through one of them. A search that takes too long finds nothing
  /// either.
  std::optional<Between> findBetween(unsigned from, unsigned to) const;
  void placeAll(llvm::ArrayRef<unsigned> order);
  /// Gives `to` a place for both groups, which will be one.
  void placeBoth(unsigned from, unsigned to);

  const nn::Target &target;
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::DenseMap<mlir::Operation *, unsigned> indices;
  llvm::SmallVector<unsigned> groupOf;  ///< by operator
  llvm::SmallVector<Group> groups;      ///< no members: merged into another
  std::map<uint64_t, unsigned> byPlace; ///< groups in their order
  llvm::SmallVector<Refusal> refused;
};

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_FUSION_FUSIONGROUPS_H
