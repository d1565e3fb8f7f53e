//===- FusionGroups.h - Which operators share a kernel --------------------===//
//
// Every operator starts as a group of one; in program order each then joins its
// producers' groups where a kernel can hold both. A group has one space, the
// shape its threads go over:
//
//   map       elementwise operators of one shape
//   row       reductions of the trailing dimensions of one shape, and
//             elementwise operators of that shape or the reduced one, before,
//             between and after
//   anchored  a contraction, window or other reduction, then a chain of
//             elementwise operators of its result's shape; before a reduction
//             also elementwise operators that it alone reads, before a sum of
//             two convolutions both of them, and behind a convolution's chain
//             a pointwise convolution and its own chain
//   movement  operators that pick elements of their operands, one after the
//             other; with one reader in a map or row group they become an index
//             computation there; before them also elementwise operators that
//             they alone read
//   epilogue  what only the kernel of a product does: moments of its result's
//             rows, and norms by moments
//   opaque    a composite that the target keeps whole, with the movement that
//             its kernel does by strides
//   view      no kernel at all
//
// No kernel gets larger than the target's largest, so that what a model of many
// operators takes to compile grows with their number alone.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_TRANSFORM_FUSION_FUSIONGROUPS_H
#define FRIT_COMPILER_TRANSFORM_FUSION_FUSIONGROUPS_H

#include "dialects/nn/Match.h"
#include "dialects/nn/Target.h"

#include "llvm/ADT/BitVector.h"

namespace frit {

/// How many of an operator's leading dimensions a reduction of the rest leaves
/// alone, or nothing where the reduced ones are not the trailing ones.
std::optional<int64_t> rowDimensions(nn::ReduceOp reduce);

/// Whether an operator's result is cheaper to compute anew in every reader than
/// to store: broadcasts and counters.
bool isGenerator(mlir::Operation *op);

/// Whether an operator costs nothing: its result is some of its operand's bytes
/// under another shape.
bool isView(mlir::Operation *op);

/// Whether an operator picks elements of its operands and computes nothing.
bool isMovement(mlir::Operation *op);

/// Whether an operator multiplies operands that it reads from memory;
/// elementwise operators may follow in its kernel.
bool isContraction(mlir::Operation *op);

/// Whether an operator runs in the kernel of a product or not at all.
bool isEpilogueOnly(mlir::Operation *op);

class FusionGroups {
public:
  enum class Kind { view, map, row, anchored, movement, epilogue, opaque };

  /// Two neighbours that did not join, and why.
  struct Refusal {
    mlir::Operation *producer, *consumer;
    nn::Mismatch why;
  };

  /// Every operator of the block but constants, each on its own, but those of
  /// `whole`, which share a kernel that nothing else joins.
  FusionGroups(mlir::Block &block, const nn::Target &target,
               llvm::ArrayRef<llvm::SmallVector<mlir::Operation *>> whole = {});

  /// Joins groups greedily. A cast to a wider type would rather join its
  /// reader, as then the narrow value is what is stored; it joins its producer
  /// when all others are done.
  void join();

  /// The operators of every group, in program order; the groups in an order in
  /// which each comes after those it reads.
  llvm::SmallVector<llvm::SmallVector<mlir::Operation *>> ordered() const;

  /// The refusals between groups that are still apart.
  llvm::SmallVector<Refusal> refusals() const;

private:
  struct Group {
    Kind kind = Kind::anchored;
    llvm::SmallVector<unsigned> members; ///< ascending
    llvm::SmallVector<int64_t> space;
    int64_t rows = 0; ///< leading dimensions that a row group keeps
    /// Size of the group's kernel; `tensors` is an upper bound.
    nn::KernelSize size;
    /// No operator that the group holds or depends on comes behind this one.
    unsigned reach = 0;
    /// The space with the reduced dimensions 1.
    llvm::SmallVector<int64_t> reduced() const;
  };

  Group single(unsigned index) const;
  void joinProducers(unsigned index);
  /// The operators of a group, in program order.
  llvm::SmallVector<mlir::Operation *> operatorsOf(const Group &group) const;
  /// The groups whose results the operators of `group` read, but itself.
  llvm::SmallVector<unsigned> producers(const Group &group) const;
  /// Why `from` and its reader `to` cannot share a kernel, if so; this and
  /// what it asks are in FusionLegality.cpp.
  nn::Legality checkLegality(unsigned from, unsigned to) const;
  nn::Legality checkEpilogue(const Group &from, const Group &to) const;
  /// Whether `to` is a convolution and what adds it to that of `from`, neither
  /// of them read by others, and the target multiplies for both in one kernel.
  bool addsContraction(const Group &from, const Group &to) const;
  /// Whether `to` is a convolution that alone reads what `from`, another one
  /// and what follows, has made, and the target has both in one kernel. One
  /// that is added to a third is rather one with that.
  bool chainsContraction(const Group &from, const Group &to) const;
  nn::Legality checkPrologue(const Group &from, const Group &to) const;
  nn::Legality checkMovement(const Group &from, const Group &to) const;
  bool spacesFit(const Group &from, const Group &to) const;
  /// Whether an operator of `to` reads one of `from` at other places.
  bool readsMoved(const Group &from, const Group &to) const;
  /// The size of the kernel of both groups.
  nn::KernelSize sizeOfBoth(const Group &from, const Group &to) const;
  /// Whether `to` also depends on `from` through a third group, or may: a
  /// search that takes long ends with this answer. In FusionOrder.cpp.
  bool dependsIndirectly(unsigned from, unsigned to) const;
  /// Lets those that depend on a group reach as far as it does.
  void spreadReach(unsigned id);
  void merge(unsigned from, unsigned to);

  const nn::Target &target;
  llvm::SmallVector<mlir::Operation *> ops;
  llvm::DenseMap<mlir::Operation *, unsigned> indices;
  llvm::SmallVector<unsigned> groupOf; ///< of every operator
  llvm::SmallVector<Group> groups;     ///< no members: merged into another
  llvm::SmallVector<Refusal> refused;
};

} // namespace frit

#endif // FRIT_COMPILER_TRANSFORM_FUSION_FUSIONGROUPS_H
