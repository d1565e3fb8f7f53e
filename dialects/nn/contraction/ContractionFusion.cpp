//===- ContractionFusion.cpp - Fusions of one contraction or two ----------===//

#include "dialects/nn/contraction/Contraction.h"

#include "dialects/nn/operators/Quantized.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

static SmallVector<Operation *> allOf(FusionOp fusion) {
  return llvm::map_to_vector(fusion.getBody().front().without_terminator(),
                             [](Operation &op) { return &op; });
}

SmallVector<Operation *> frit::nn::chainOf(ArrayRef<Operation *> operators) {
  SmallVector<Operation *> chain(operators);
  llvm::erase_if(
      chain, llvm::IsaPred<ConstantOp, DequantizeOp, DecompressOp, RmsNormOp>);
  return chain;
}

/// Returns a fusion's operators except these.
static SmallVector<Operation *> operatorsOf(FusionOp fusion) {
  return chainOf(allOf(fusion));
}

/// Returns the slope at `x` that a fusion yields as its second result, or null.
static Value slopeAt(FusionOp fusion, Value x, Activation activation) {
  auto slope = fusion.getBody()
                   .front()
                   .getTerminator()
                   ->getOperand(1)
                   .getDefiningOp<GeluSlopeOp>();
  Activation kind = slope && slope.getApproximate() == "tanh"
                        ? Activation::geluTanh
                        : Activation::gelu;
  return slope && slope.getX() == x && kind == activation ? slope.getY()
                                                          : Value();
}

/// Adds the store of the activation's operand or slope if a fusion yields two
/// results and its epilogue computes one.
static void addSecondStore(FusionOp fusion, Epilogue &epilogue) {
  auto *map = epilogue.find<stage::Map>();
  if (fusion.getNumResults() != 2 || !map || map->isMixed ||
      epilogue.find<stage::Reduce>())
    return;
  Value slope = slopeAt(fusion, map->operand, map->activation);
  auto at = llvm::find_if(epilogue.stages, [](const EndStage &one) {
    return std::holds_alternative<stage::Map>(one);
  });
  if (slope)
    epilogue.stages.insert(std::next(at),
                           stage::Store{stage::Store::What::slope, slope});
  else
    epilogue.stages.insert(at,
                           stage::Store{stage::Store::What::sum, map->operand});
}

/// Checks that a fusion yields just `results` and computes none of `operands`;
/// values may be null.
static Legality checkEnds(FusionOp fusion, ArrayRef<Value> results,
                          ArrayRef<Value> operands) {
  Block &body = fusion.getBody().front();
  if (!llvm::equal(body.getTerminator()->getOperands(), results))
    return Mismatch("it does not yield just the result of its last operator");
  for (Value operand : operands)
    if (operand && !isa<BlockArgument>(operand) &&
        !isa<DequantizeOp, DecompressOp>(operand.getDefiningOp()))
      return Mismatch("an operand is computed in the fusion");
  return std::nullopt;
}

/// Describes a contraction, the first of `operators`, and its epilogue.
template <typename Op, typename Describe>
static auto describePart(ArrayRef<Operation *> operators, Describe describe)
    -> decltype(describe(Op())) {
  auto info = describe(cast<Op>(operators.front()));
  if (!info)
    return info;
  auto epilogue = describeEpilogue(operators.front(), operators.drop_front());
  if (!epilogue)
    return epilogue.mismatch();
  info->epilogue = *epilogue;
  return info;
}

//===----------------------------------------------------------------------===//
// One contraction
//===----------------------------------------------------------------------===//

template <typename Info, typename Op, typename Describe>
static Match<Info> describeFusion(FusionOp fusion, Describe describe) {
  SmallVector<Operation *> operators = operatorsOf(fusion);
  if (operators.empty())
    return Mismatch("it has no contraction");
  if (!isa<Op>(operators.front()))
    return Mismatch(operators.front()->getName().getStringRef() +
                    " comes before the contraction");
  // The slope of the activation comes last and ends no chain.
  if (fusion.getNumResults() == 2 && isa<GeluSlopeOp>(operators.back()))
    operators.pop_back();
  Match<Info> info = describePart<Op>(operators, describe);
  if (!info)
    return info;
  Epilogue &epilogue = info->epilogue;
  addSecondStore(fusion, epilogue);
  SmallVector<Value> results = {epilogue.result()};
  if (auto *second = epilogue.secondStore())
    results.push_back(second->value);
  if (auto *reduce = epilogue.find<stage::Reduce>())
    results.push_back(reduce->value);
  SmallVector<Value> operands(operators.front()->getOperands());
  for (const EndStage &one : epilogue.stages)
    llvm::append_range(operands, operandsOf(one));
  if (ConvOp addend = epilogue.addend)
    llvm::append_values(operands, addend.getX(), addend.getW());
  if (Legality why = checkEnds(fusion, results, operands))
    return *why;
  return info;
}

Match<GemmInfo> frit::nn::describeGemm(FusionOp fusion) {
  return describeFusion<GemmInfo, MatmulOp>(fusion, describeMatmul);
}

Match<ConvInfo> frit::nn::describeConvolution(FusionOp fusion) {
  return describeFusion<ConvInfo, ConvOp>(fusion, describeConv);
}

//===----------------------------------------------------------------------===//
// Products with operands that are computed
//===----------------------------------------------------------------------===//

Match<GemmInfo> frit::nn::describePrepared(MatmulOp op,
                                           ArrayRef<Operation *> operators) {
  auto info = describeMatmul(op);
  if (!info)
    info = describeQuantizedMatmul(op);
  if (!info)
    info = describeSparseMatmul(op);
  if (!info)
    return info;
  auto norm = info->a.getDefiningOp<RmsNormOp>();
  if (!norm || !llvm::is_contained(operators, norm.getOperation()))
    return info;
  if (axisOf(norm.getX(), norm.getAxis()) + 1 !=
      tensorType(norm.getX()).getRank())
    return Mismatch("it normalizes more than rows");
  info->a = norm.getX();
  info->norm = RowNorm{norm.getScale(), norm.getEpsilon().convertToDouble()};
  return info;
}

/// Returns whether two products of equal sizes have equal operands A.
static bool shareRows(const GemmInfo &x, const GemmInfo &y) {
  if (x.a != y.a || x.norm.has_value() != y.norm.has_value())
    return false;
  return !x.norm ||
         (x.norm->scale == y.norm->scale && x.norm->epsilon == y.norm->epsilon);
}

/// Returns the stage that reads `value`, if it is the only residual; else null.
static stage::Load *loadOf(Epilogue &epilogue, Value value) {
  if (epilogue.residual() && epilogue.residual() != value)
    return nullptr;
  for (EndStage &one : epilogue.stages)
    if (auto *load = std::get_if<stage::Load>(&one))
      if (load->value == value)
        return load;
  return nullptr;
}

Match<GemmInfo> frit::nn::describePair(ArrayRef<Operation *> operators) {
  SmallVector<Operation *> chain = chainOf(operators);
  SmallVector<MatmulOp> products;
  for (Operation *op : chain)
    if (auto product = dyn_cast<MatmulOp>(op))
      products.push_back(product);
  if (products.size() != 2)
    return Mismatch("it is not two products");
  for (unsigned i = 0; i < 2; ++i) {
    MatmulOp first = products[i], other = products[1 - i];
    SmallVector<Operation *> then(chain);
    llvm::erase(then, first);
    llvm::erase(then, other);
    auto epilogue = describeEpilogue(first, then);
    stage::Load *load = epilogue ? loadOf(*epilogue, other.getY()) : nullptr;
    if (!load)
      continue;
    // A single row also has the shape of a bias.
    load->role = stage::Load::Role::residual;
    auto info = describePrepared(first, operators),
         second = describePrepared(other, operators);
    if (!info || !second)
      return info ? second : info;
    if (!shareRows(*info, *second) ||
        first.getB().getType() != other.getB().getType() ||
        first.getY().getType() != other.getY().getType() ||
        info->transposeA != second->transposeA ||
        info->transposeB != second->transposeB)
      return Mismatch("its two products are not of the same rows");
    info->epilogue = *epilogue;
    info->pairedB = second->b;
    return info;
  }
  return Mismatch("no elementwise operators combine its two products");
}

Match<GemmInfo> frit::nn::describePreparedGemm(FusionOp fusion) {
  SmallVector<Operation *> all = allOf(fusion), chain = chainOf(all);
  if (chain.empty() || !isa<MatmulOp>(chain.front()))
    return Mismatch("it does not begin with a product");
  auto info = llvm::count_if(chain, llvm::IsaPred<MatmulOp>) == 2
                  ? describePair(all)
                  : describePart<MatmulOp>(chain, [&](MatmulOp product) {
                      return describePrepared(product, all);
                    });
  if (!info)
    return info;
  SmallVector<Value> operands = {info->a, info->b};
  if (info->norm)
    operands.push_back(info->norm->scale);
  for (const EndStage &one : info->epilogue.stages)
    for (Value operand : operandsOf(one))
      if (!info->pairedB || operand != info->epilogue.residual())
        operands.push_back(operand);
  if (info->pairedB)
    operands.push_back(info->pairedB);
  if (Legality why = checkEnds(fusion, {info->epilogue.result()}, operands))
    return *why;
  return info;
}

//===----------------------------------------------------------------------===//
// Two contractions back to back
//===----------------------------------------------------------------------===//

Match<ConvB2bInfo> frit::nn::describeConvB2b(ArrayRef<Operation *> operators) {
  size_t second = 1;
  while (second < operators.size() && !isa<ConvOp>(operators[second]))
    ++second;
  if (second >= operators.size() || !isa<ConvOp>(operators.front()))
    return Mismatch("it is not two convolutions");
  auto first = describePart<ConvOp>(operators.take_front(second), describeConv);
  if (!first)
    return first.mismatch();
  auto last = describePart<ConvOp>(operators.drop_front(second), describeConv);
  if (!last)
    return last.mismatch();
  if (last->x != first->epilogue.result() || !pointwiseGemm(*last))
    return Mismatch("the second convolution is not a pointwise one of "
                    "what the first has made");
  return ConvB2bInfo{*first, *last};
}

Match<ConvB2bInfo> frit::nn::describeConvB2b(FusionOp fusion) {
  auto chain = describeConvB2b(operatorsOf(fusion));
  if (!chain)
    return chain;
  const ConvInfo &first = chain->first, &last = chain->last;
  SmallVector<Value> operands = {first.x, first.w, last.w};
  for (const ConvInfo *part : {&first, &last})
    for (const EndStage &one : part->epilogue.stages)
      llvm::append_range(operands, operandsOf(one));
  if (Legality why = checkEnds(fusion, {last.epilogue.result()}, operands))
    return *why;
  return chain;
}
