//===- KernelSize.cpp - What operators add to a kernel --------------------===//

#include "dialects/nn/KernelSize.h"

using namespace mlir;
using namespace frit;

/// Of a polynomial, or a call where the target has no polynomial.
static constexpr int64_t kFunction = 16;
/// Of divisions and remainders that turn an element's number into places.
static constexpr int64_t kPlace = 8;
/// Of a loop, or of an exchange between the threads that share a row.
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
  // Each operand of a concatenation is read at a place of its own.
  if (auto concat = dyn_cast<ConcatOp>(op))
    return kPlace * concat.getXs().size();
  if (isa<TransposeOp, ExpandOp, SliceOp, PadOp, GatherOp, IotaOp, TriluOp>(op))
    return kPlace;
  return kReduction;
}
