//===- Buckets.h - Parameters in a few flat states ------------------------===//
//
// Optimizers treat all elements alike. Parameters with the same update rule lie
// in one state of rank 1, a bucket, as do their gradients and moments. One
// kernel updates a bucket.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_TRAINING_OPTIMIZER_BUCKETS_H
#define FRIT_COMPILER_TRAINING_OPTIMIZER_BUCKETS_H

#include "compiler/training/TrainingOptions.h"
#include "compiler/training/optimizer/States.h"

namespace frit {

/// A parameter and its place in a bucket.
struct BucketMember {
  mlir::BlockArgument argument; ///< of the function, until replaceArguments
  mlir::StringAttr name;
  mlir::RankedTensorType type;
  mlir::ElementsAttr initial;
  int64_t offset = 0; ///< in elements
};

struct Bucket {
  int64_t index = 0;
  double decay = 0;      ///< weight decay of its members
  double rateFactor = 1; ///< of their learning rate
  /// Whether its members are weights of products and convolutions alone.
  bool multiplied = false;
  /// Whether elements of its members that are 0 stay 0.
  bool keepsZeros = false;
  int64_t size = 0; ///< in elements, a multiple of kBucketRow
  std::vector<BucketMember> members;
};

/// Units in elements. Members start where wide accesses are aligned. Norms are
/// summed over rows of a bucket, and ranks have shards of whole rows.
inline constexpr int64_t kMemberAlignment = 64, kBucketRow = nn::kShardRow;

/// The largest multiple to which targets round up the rows of a matrix, in
/// AlignColumns. A bucket has room for these rows, so that they need no copy.
inline constexpr int64_t kRowMultiple = 8;

/// How parameters are divided into buckets.
struct BucketRule {
  /// Elements of the first bucket and of others at most, unless a bucket has a
  /// single member.
  int64_t mostInFirst, mostInOthers;
  /// Whether weights of products and convolutions have buckets of their own,
  /// because their gradients are in 16 bits; those of others, such as biases
  /// and weights of norms, are sums in f32.
  bool multipliedApart = false;
};

/// The rule for gradients that are reduced over ranks. Buckets are large enough
/// for the full bandwidth, and small enough that most of the backward pass is
/// still to come when the first ones are ready. The first bucket has the
/// parameters that the backward pass reaches last. It is small, since little is
/// left to compute while its gradients are reduced.
inline constexpr BucketRule kReducedBuckets = {4 << 20, 16 << 20};

/// The rule for a single rank. The gradients of a bucket take memory as soon as
/// the first one is ready, while the backward pass still needs most values of
/// the forward pass. Smaller buckets keep large models from allocating all
/// gradients at once.
inline constexpr BucketRule kBuckets = {32 << 20, 32 << 20};

/// Lays out the function's arguments with the attribute `kind` in buckets, in
/// order. Each group of the optimizer has buckets of its own, and in it the
/// parameters without weight decay (`noDecay`) have, and weights that are 2:4
/// sparse. The rule may divide these further. A bucket that reaches the rule's
/// size is followed by another.
std::vector<Bucket> makeBuckets(mlir::func::FuncOp main, llvm::StringRef kind,
                                const OptimizerOptions &optimizer,
                                BucketRule rule);

/// Adds the state `PREFIX.INDEX` with the bucket's members and their initial
/// values. With a suffix, its members are zeros named `MEMBER/SUFFIX`, of which
/// each rank may have a shard.
mlir::Value addBucket(States &states, const Bucket &bucket,
                      frit_state_role role, llvm::StringRef prefix,
                      llvm::StringRef suffix = "", bool sharded = false);

/// Adds the state `averages.INDEX` with the moving averages `MEMBER/ema`, which
/// begin as the bucket's members.
mlir::Value addAverages(States &states, const Bucket &bucket);

/// Replaces the arguments of all buckets by parts of `values`, the states'
/// values, and removes them from the function.
void replaceArguments(mlir::func::FuncOp main, llvm::ArrayRef<Bucket> buckets,
                      llvm::ArrayRef<mlir::Value> values);

/// Returns the part of a bucket's value that is the given member.
mlir::Value memberOf(nn::NNBuilder &b, mlir::Value bucket,
                     const BucketMember &member);

/// Packs members' values in the bucket's layout. Null ones become 0.
mlir::Value packMembers(nn::NNBuilder &b, const Bucket &bucket,
                        llvm::ArrayRef<mlir::Value> values);

} // namespace frit

#endif // FRIT_COMPILER_TRAINING_OPTIMIZER_BUCKETS_H
