//===- Moments.cpp - Moments of gradients, in f32 or 8 bits ---------------===//
//
// In 8 bits, 64 elements share a scale s, their largest magnitude (Dettmers et
// al., "8-bit Optimizers via Block-wise Quantization", arXiv:2110.02861):
//
//   first moments   code = round(127 · √(|m| / s)) with the sign of m
//   squares         code = max(round(255 · ∜(v / s)), 1)
//
// The roots give small elements beside large ones more codes: a first moment
// 16,000 times smaller than the largest of its block still has one. A square
// has at least the code 1, so that the update never divides by 0.
//
//===----------------------------------------------------------------------===//

#include "compiler/training/optimizer/Moments.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

static constexpr double kMostSigned = 127, kMostUnsigned = 255;
/// The scale of a block of zeros.
static constexpr double kScaleOfZeros = 0x1p-120;

static int64_t blocksOf(int64_t elements) {
  return llvm::divideCeil(elements, kMemberAlignment);
}

/// Adds the state of a moment's codes, or of their scales.
static Value addCodes(States &states, const Bucket &bucket, StringRef name,
                      Type element, bool areScales) {
  SmallVector<MemberAttr> members;
  for (const BucketMember &member : bucket.members) {
    StringAttr owner = member.name;
    int64_t elements = member.type.getNumElements();
    auto shape = areScales ? SmallVector<int64_t>{blocksOf(elements)}
                           : SmallVector<int64_t>(member.type.getShape());
    members.push_back(MemberAttr::get(
        owner.getContext(),
        StringAttr::get(owner.getContext(), owner.getValue() + "/" + name +
                                                (areScales ? "/scale" : "")),
        areScales ? member.offset / kMemberAlignment : member.offset,
        RankedTensorType::get(shape, element), ElementsAttr()));
  }
  int64_t size = areScales ? blocksOf(bucket.size) : bucket.size;
  return states.add(
      (name + (areScales ? ".scale." : ".") + Twine(bucket.index)).str(),
      FRIT_STATE_OPTIMIZER, RankedTensorType::get({size}, element), members);
}

TensorExpr frit::inBlocks(NNBuilder &b, Value bucket) {
  if (auto cast = bucket.getDefiningOp<CastOp>())
    return {b, b.cast(inBlocks(b, cast.getX()), cast.getTo())};
  return {b, b.reshape(bucket, {shapeOf(bucket)[0] / kMemberAlignment,
                                kMemberAlignment})};
}

/// Returns the scales of blocks as a column.
static TensorExpr asColumn(NNBuilder &b, Value scales) {
  return {b, b.reshape(scales, {shapeOf(scales)[0], 1})};
}

Moment frit::addMoment(States &states, NNBuilder &b, const Bucket &bucket,
                       StringRef name, bool isSquare, bool inBytes,
                       bool sharded) {
  if (!inBytes) {
    Value state =
        addBucket(states, bucket, FRIT_STATE_OPTIMIZER, name, name, sharded);
    return {TensorExpr(b, state), isSquare, state, Value()};
  }
  Type f32 = b.getF32Type();
  Type byte =
      isSquare ? b.getIntegerType(8, /*isSigned=*/false) : b.getIntegerType(8);
  Value codes = addCodes(states, bucket, name, byte, /*areScales=*/false);
  Value scales = addCodes(states, bucket, name, f32, /*areScales=*/true);
  TensorExpr code(b, b.cast(inBlocks(b, codes), f32));
  TensorExpr scale = asColumn(b, scales);
  TensorExpr root = code * (1 / (isSquare ? kMostUnsigned : kMostSigned));
  TensorExpr part = isSquare ? root * root : root * abs(root);
  return {(isSquare ? part * part : part) * scale, isSquare, codes, scales};
}

void frit::setMoment(States &states, NNBuilder &b, const Moment &moment,
                     TensorExpr x, std::optional<TensorExpr> applies) {
  auto keep = [&](Value value, Value before) -> Value {
    return applies
               ? where(*applies, TensorExpr(b, value), TensorExpr(b, before))
                     .value()
               : value;
  };
  if (!moment.scales) {
    states.set(moment.state, keep(x, moment.state));
    return;
  }
  TensorExpr size = moment.isSquare ? x : abs(x);
  TensorExpr scale(b, b.reduce(size, Combiner::max, {1}));
  scale = {b, MaxOp::create(b, scale, scale.number(kScaleOfZeros))};
  TensorExpr root = sqrt(size / scale);
  TensorExpr code = root;
  if (moment.isSquare) {
    code = round(sqrt(root) * kMostUnsigned);
    code = {b, MaxOp::create(b, code, code.number(1))};
  } else {
    code = round(root * kMostSigned) * sign(x);
  }
  Value codes = b.cast(code, tensorType(moment.state).getElementType());
  codes = b.reshape(codes, shapeOf(moment.state));
  states.set(moment.state, keep(codes, moment.state));
  Value scales = b.reshape(scale, shapeOf(moment.scales));
  states.set(moment.scales, keep(scales, moment.scales));
}
