//===- Moments.h - Moments of gradients, in f32 or 8 bits -----------------===//

#ifndef FRIT_COMPILER_TRAINING_OPTIMIZER_MOMENTS_H
#define FRIT_COMPILER_TRAINING_OPTIMIZER_MOMENTS_H

#include "compiler/training/optimizer/Buckets.h"

namespace frit {

/// A moment of a bucket's gradients, a state of the function.
struct Moment {
  nn::TensorExpr value; ///< before the step, f32; of codes in blocks
  bool isSquare;        ///< whether it is of squares
  mlir::Value state;    ///< f32, or codes
  mlir::Value scales;   ///< of blocks of codes; null: it is kept in f32
};

/// Returns a bucket's elements as rows that share a scale. A cast follows the
/// view, so that the kernel of the update can compute it.
nn::TensorExpr inBlocks(nn::NNBuilder &b, mlir::Value bucket);

/// Adds the moment `MEMBER/NAME` of each member, zeros at first. In bytes it
/// has a scale for every kMemberAlignment elements, in `MEMBER/NAME/scale`.
Moment addMoment(States &states, nn::NNBuilder &b, const Bucket &bucket,
                 llvm::StringRef name, bool isSquare, bool inBytes,
                 bool sharded);

/// Sets the moment after the step, which has the shape of its value. If
/// `applies` is false, it stays as it was.
void setMoment(States &states, nn::NNBuilder &b, const Moment &moment,
               nn::TensorExpr x, std::optional<nn::TensorExpr> applies);

} // namespace frit

#endif // FRIT_COMPILER_TRAINING_OPTIMIZER_MOMENTS_H
