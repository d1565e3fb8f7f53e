//===- CodedAttention.cpp - Attention to caches of codes ------------------===//
//
//   nn.fusion(%q, %keys: 1x2x512x64xui8, %scales: 1x2x512x1xf32, …) {
//     %x = nn.cast %keys
//     %y = nn.sub %x, 128
//     %k = nn.mul %y, %scales
//     … nn.attention %q, %k, %v, %ranges }
//
// The kernel of the attention decodes the keys that it reads, so that a call
// costs as much as the cache holds.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/attention/CodedAttention.h"

#include "dialects/nn/training/Gradient.h"

#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace frit;
using namespace frit::cpu;

/// The code of 0 in int8.
static constexpr double kMiddle = 128;

std::optional<double> cpu::splatOf(Value value) {
  DenseElementsAttr elements;
  if (!matchPattern(value, m_Constant(&elements)) || !elements.isSplat() ||
      !isa<FloatType>(elements.getElementType()))
    return std::nullopt;
  return elements.getSplatValue<APFloat>().convertToDouble();
}

/// Matches numbers of codes before they are multiplied.
static std::optional<Codes> matchUnits(Value units) {
  Codes found;
  Operation *def = units.getDefiningOp();
  auto sub = dyn_cast_or_null<nn::SubOp>(def);
  if (sub && splatOf(sub->getOperand(1)) == kMiddle) {
    found.code = nn::Code::int8;
    auto cast = sub->getOperand(0).getDefiningOp<nn::CastOp>();
    if (!cast)
      return std::nullopt;
    found.codes = cast->getOperand(0);
    found.ops = {cast, sub, sub->getOperand(1).getDefiningOp()};
  } else if (auto cast = dyn_cast_or_null<nn::CastOp>(def)) {
    found.code = nn::Code::e4m3;
    auto bits = cast->getOperand(0).getDefiningOp<nn::BitCastOp>();
    if (!bits || !isa<Float8E4M3FNType>(
                     nn::tensorType(bits->getResult(0)).getElementType()))
      return std::nullopt;
    found.codes = bits->getOperand(0);
    found.ops = {bits, cast};
  } else {
    return std::nullopt;
  }
  if (!nn::tensorType(found.codes).getElementType().isUnsignedInteger(8))
    return std::nullopt;
  return found;
}

std::optional<Codes> cpu::matchCodes(Value numbers) {
  auto cast = numbers.getDefiningOp<nn::CastOp>();
  auto product =
      (cast ? cast->getOperand(0) : numbers).getDefiningOp<nn::MulOp>();
  if (!product ||
      !nn::tensorType(product->getResult(0)).getElementType().isF32())
    return std::nullopt;
  for (unsigned scaled : {0, 1}) {
    std::optional<Codes> found = matchUnits(product->getOperand(scaled));
    if (!found)
      continue;
    found->scales = product->getOperand(1 - scaled);
    SmallVector<int64_t> shape(nn::shapeOf(found->codes));
    shape.back() = 1;
    if (shape.size() != 4 || nn::shapeOf(found->scales) != ArrayRef(shape))
      return std::nullopt;
    found->ops.push_back(product);
    if (cast)
      found->ops.push_back(cast);
    return found;
  }
  return std::nullopt;
}

/// Describes keys or values, and adds what makes them of codes to `known`.
static bool describeRows(Value rows, nn::AttentionOperand &operand,
                         std::optional<CodedRows> &coded,
                         SmallVectorImpl<Operation *> &known) {
  std::optional<Codes> codes = matchCodes(rows);
  auto described = nn::describeOperand(codes ? codes->codes : rows);
  if (failed(described))
    return false;
  operand = *described;
  if (!codes)
    return true;
  auto scales = nn::describeOperand(codes->scales);
  if (failed(scales))
    return false;
  coded = {codes->code, *scales};
  llvm::append_range(known, codes->ops);
  return true;
}

std::optional<CodedAttention> cpu::describeCodedAttention(nn::FusionOp fusion) {
  CodedAttention found;
  auto formOf = [](nn::AttentionOp op) {
    return nn::hasRanges(op.getMask()) ? MaskForm::ranges : MaskForm::added;
  };
  if (auto plain = nn::describeAttention(fusion)) {
    found.info = *plain;
    found.mask = formOf(plain->op);
    return found;
  }
  nn::AttentionInfo &info = found.info;
  Block &body = fusion.getBody().front();
  auto attentions = body.getOps<nn::AttentionOp>();
  if (!llvm::hasSingleElement(attentions) || fusion->getNumResults() != 1)
    return std::nullopt;
  nn::AttentionOp op = info.op = *attentions.begin();
  SmallVector<Operation *> known{op};
  if (!op.getMask())
    return std::nullopt;
  auto q = nn::describeOperand(op.getQ());
  auto mask = nn::describeOperand(op.getMask());
  auto written = nn::describeWrite(op.getY());
  if (failed(q) || failed(mask) || failed(written) ||
      !describeRows(op.getK(), info.k, found.keys, known) ||
      !describeRows(op.getV(), info.v, found.values, known))
    return std::nullopt;
  for (Operation &inner : body.without_terminator())
    if (!isa<nn::ReshapeOp, nn::TransposeOp, nn::SliceOp, nn::ExpandOp>(
            inner) &&
        !llvm::is_contained(known, &inner))
      return std::nullopt;
  found.mask = formOf(op);
  info.q = *q;
  info.mask = *mask;
  info.result.offset = written->offset;
  llvm::copy(written->strides, info.result.strides);
  ArrayRef<int64_t> shape = nn::shapeOf(op.getQ());
  info.batch = shape[0];
  info.heads = shape[1];
  info.queries = shape[2];
  info.size = shape[3];
  info.groups = nn::shapeOf(op.getK())[1];
  info.keys = nn::shapeOf(op.getK())[2];
  info.valueSize = nn::shapeOf(op.getV())[3];
  info.scale = op.getScale().convertToFloat();
  return found;
}

bool cpu::decodes(nn::FusionOp fusion) {
  Block &body = fusion.getBody().front();
  if (fusion->getNumResults() != 1)
    return false;
  auto codes = matchCodes(body.getTerminator()->getOperand(0));
  return codes && isa<BlockArgument>(codes->codes) &&
         isa<BlockArgument>(codes->scales) &&
         llvm::all_of(body.without_terminator(), [&](Operation &op) {
           return llvm::is_contained(codes->ops, &op);
         });
}
