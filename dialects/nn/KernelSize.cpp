//===- KernelSize.cpp - Estimate the size of kernels ----------------------===//

#include "dialects/nn/KernelSize.h"

using namespace mlir;
using namespace frit;

/// Instructions of a transcendental function: a polynomial or a call.
static constexpr int64_t kFunction = 16;
/// Instructions that compute an index from a flat one, by division.
static constexpr int64_t kPlace = 8;
/// Instructions of a reduction: a loop, or an exchange between the threads that
/// share a row.
static constexpr int64_t kReduction = 32;

int64_t nn::countInstructions(Operation *op) {
  if (isa<AddOp, SubOp, MulOp, MaxOp, MinOp, NegOp, AbsOp, FloorOp, CeilOp,
          RoundOp, EqualOp, LessOp, LessEqualOp, GreaterOp, GreaterEqualOp,
          AndOp, OrOp, XorOp, NotOp, WhereOp, CastOp, BitCastOp>(op))
    return 1;
  if (isa<ConstantOp, ReshapeOp>(op))
    return 0;
  if (isa<ElementwiseOp>(op))
    return kFunction;
  // Each operand of a concatenation has its own index.
  if (auto concat = dyn_cast<ConcatOp>(op))
    return kPlace * concat.getXs().size();
  if (auto update = dyn_cast<UpdateOp>(op))
    return update.getOffset() ? kPlace : 0;
  if (isa<TransposeOp, ExpandOp, SliceOp, PadOp, GatherOp, IotaOp, TriluOp>(op))
    return kPlace;
  return kReduction;
}
