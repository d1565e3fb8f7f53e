//===- Buckets.h - Parameters in a few flat states ------------------------===//
//
// Optimizers treat all elements alike. Parameters with the same update rule lie
// in one state of rank 1, a bucket, as do their gradients and moments. One
// kernel updates a bucket.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_TRANSFORM_TRAINING_BUCKETS_H
#define FRIT_COMPILER_TRANSFORM_TRAINING_BUCKETS_H

#include "compiler/transform/training/States.h"

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
  bool decays = true; ///< whether weight decay holds for its members
  int64_t size = 0;   ///< in elements, a multiple of kBucketRow
  std::vector<BucketMember> members;
};

/// Units in elements. Members start where wide accesses are aligned. Norms are
/// summed over rows of a bucket, and ranks have shards of whole rows.
inline constexpr int64_t kMemberAlignment = 64, kBucketRow = nn::kShardRow;

/// How many elements buckets have at most, unless they have a single member.
struct BucketSizes {
  int64_t inFirst, inOthers;
};

/// Sizes of buckets whose gradients are reduced over ranks: large enough for
/// the full bandwidth, small enough that most of the backward pass is still to
/// come when the first ones are ready. The first bucket has the parameters that
/// the backward pass reaches last. It is small, since little is left to compute
/// while its gradients are reduced.
inline constexpr BucketSizes kReducedBuckets = {4 << 20, 16 << 20};

/// Sizes on a single rank. The gradients of a bucket take memory as soon as the
/// first one is ready, while the backward pass still needs most values of the
/// forward pass. Smaller buckets keep large models from allocating all
/// gradients at once.
inline constexpr BucketSizes kBuckets = {32 << 20, 32 << 20};

/// Lays out the function's arguments that have the attribute `kind`, in order:
/// in one bucket those that weight decay holds for, and in another those whose
/// name matches one of the glob patterns `noDecay`. A bucket that reaches
/// its size in `most` is followed by another.
std::vector<Bucket> makeBuckets(mlir::func::FuncOp main, llvm::StringRef kind,
                                llvm::ArrayRef<std::string> noDecay,
                                BucketSizes most);

/// Adds the state `PREFIX.INDEX` with the bucket's members and their initial
/// values. With a suffix, its members are zeros named `MEMBER/SUFFIX`, of which
/// each rank may have a shard.
mlir::Value addBucket(States &states, const Bucket &bucket,
                      llvm::StringRef prefix, llvm::StringRef suffix = "",
                      bool sharded = false);

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

#endif // FRIT_COMPILER_TRANSFORM_TRAINING_BUCKETS_H
