//===- CappedAttention.cpp - Attention with capped scores -----------------===//
//
// Gemma 2 (Gemma Team, arXiv:2408.00118) replaces scores x by
// cap · tanh(x / cap). That is no nn.attention: products, a softmax, and what
// is between them have become one fusion (JoinAppends.cpp).
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/attention/CodedAttention.h"

#include <cmath>

using namespace mlir;
using namespace frit;
using namespace frit::cpu;

static Value throughReshapes(Value value) {
  while (auto reshape = value.getDefiningOp<nn::ReshapeOp>())
    value = reshape.getX();
  return value;
}

template <typename Op> static Op definedBy(Value value) {
  return throughReshapes(value).getDefiningOp<Op>();
}

/// Returns what a softmax over the last dimension reads; null if `weights` is
/// none.
static Value softmaxOf(Value weights) {
  auto div = definedBy<nn::DivOp>(weights);
  auto power = div ? div->getOperand(0).getDefiningOp<nn::ExpOp>() : nullptr;
  auto sum = div ? div->getOperand(1).getDefiningOp<nn::ReduceOp>() : nullptr;
  if (!power || !sum || sum.getX() != power->getResult(0) ||
      sum.getKind() != nn::Combiner::sum)
    return nullptr;
  auto sub = power->getOperand(0).getDefiningOp<nn::SubOp>();
  auto most = sub ? sub->getOperand(1).getDefiningOp<nn::ReduceOp>() : nullptr;
  if (!most || most.getX() != sub->getOperand(0) ||
      most.getKind() != nn::Combiner::max)
    return nullptr;
  int64_t last = nn::tensorType(most.getX()).getRank() - 1;
  if (most.getAxes() != ArrayRef(last) || sum.getAxes() != ArrayRef(last))
    return nullptr;
  return most.getX();
}

/// Returns `x` of x · number or x / number, and the number it is multiplied by.
template <typename Op>
static std::optional<std::pair<Value, double>> scaledBy(Value value) {
  auto op = definedBy<Op>(value);
  auto number = op ? splatOf(op->getOperand(1)) : std::nullopt;
  if (!number)
    return std::nullopt;
  return std::pair{op->getOperand(0), *number};
}

std::optional<CodedAttention>
cpu::describeCappedAttention(nn::FusionOp fusion) {
  Block &body = fusion.getBody().front();
  if (fusion->getNumResults() != 1)
    return std::nullopt;
  Value y = body.getTerminator()->getOperand(0);
  auto sums = y.getDefiningOp<nn::MatmulOp>();
  if (!sums || sums.getTransposeA() || sums.getTransposeB())
    return std::nullopt;
  Value hidden = softmaxOf(sums.getA());
  auto where = hidden ? definedBy<nn::WhereOp>(hidden) : nullptr;
  auto never = where ? splatOf(where->getOperand(2)) : std::nullopt;
  if (!never || !std::isinf(*never) || *never > 0)
    return std::nullopt;
  auto capped = scaledBy<nn::MulOp>(where->getOperand(1));
  auto tanh = capped ? definedBy<nn::TanhOp>(capped->first) : nullptr;
  auto unit = tanh ? scaledBy<nn::DivOp>(tanh->getOperand(0)) : std::nullopt;
  if (!unit || unit->second != capped->second)
    return std::nullopt;
  auto scaled = scaledBy<nn::MulOp>(unit->first);
  auto scores = definedBy<nn::MatmulOp>(scaled ? scaled->first : unit->first);
  if (!scores || scores.getTransposeA() || !scores.getTransposeB())
    return std::nullopt;

  CodedAttention found;
  nn::AttentionInfo &info = found.info;
  found.mask = MaskForm::shown;
  found.cap = float(capped->second);
  info.scale = scaled ? float(scaled->second) : 1;
  Value shown = where->getOperand(0), q = scores.getA(), k = scores.getB(),
        v = sums.getB();
  for (Value operand : {q, k, v})
    if (!isa<BlockArgument>(operand) ||
        !nn::tensorType(operand).getElementType().isF32() ||
        nn::tensorType(operand).getRank() != 4)
      return std::nullopt;
  if (!isa<BlockArgument>(shown) ||
      !nn::tensorType(shown).getElementType().isInteger(1))
    return std::nullopt;
  // batch×1×1×queries×keys: the same for all heads.
  ArrayRef<int64_t> mask = nn::shapeOf(shown), rows = nn::shapeOf(q);
  ArrayRef<int64_t> all = nn::shapeOf(where->getResult(0));
  info.batch = rows[0];
  info.groups = rows[1];
  info.size = rows[3];
  info.keys = nn::shapeOf(k)[2];
  info.valueSize = nn::shapeOf(v)[3];
  if (mask.size() != 5 || mask[1] != 1 || mask[2] != 1 ||
      mask[4] != info.keys || all.size() != 5 || all[0] != info.batch ||
      all[1] != info.groups || all[3] != mask[3] ||
      (mask[0] != 1 && mask[0] != info.batch) || rows[2] != all[2] * all[3] ||
      nn::shapeOf(k)[0] != info.batch || nn::shapeOf(k)[1] != info.groups ||
      nn::shapeOf(v)[0] != info.batch || nn::shapeOf(v)[1] != info.groups ||
      nn::shapeOf(v)[2] != info.keys)
    return std::nullopt;
  info.queries = mask[3];
  info.heads = info.groups * all[2];
  auto contiguous = [&](Value value, int64_t heads, int64_t positions,
                        int64_t last) {
    nn::AttentionOperand operand;
    operand.argument = dyn_cast<BlockArgument>(value);
    operand.strides[3] = 1;
    operand.strides[2] = last;
    operand.strides[1] = positions * last;
    operand.strides[0] = heads * positions * last;
    return operand;
  };
  info.q = contiguous(q, info.heads, info.queries, info.size);
  info.k = contiguous(k, info.groups, info.keys, info.size);
  info.v = contiguous(v, info.groups, info.keys, info.valueSize);
  info.result = contiguous(y, info.heads, info.queries, info.valueSize);
  info.mask = contiguous(shown, 1, info.queries, info.keys);
  info.mask->strides[1] = 0;
  if (mask[0] == 1)
    info.mask->strides[0] = 0;
  return found;
}
