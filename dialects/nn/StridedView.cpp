//===- StridedView.cpp - Data movement in a fusion as strides -------------===//

#include "dialects/nn/StridedView.h"

#include "dialects/nn/training/Gradient.h"

using namespace mlir;
using namespace frit::nn;

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

static bool areStatic(Operation *op) {
  auto isStatic = [](Type type) {
    return cast<RankedTensorType>(type).hasStaticShape();
  };
  return llvm::all_of(op->getOperandTypes(), isStatic) &&
         llvm::all_of(op->getResultTypes(), isStatic);
}

StridedPlaces StridedPlaces::whole(ArrayRef<int64_t> shape) {
  StridedPlaces places;
  places.shape.assign(shape.begin(), shape.end());
  places.strides.resize(shape.size());
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0; stride *= shape[d])
    places.strides[d] = stride;
  return places;
}

/// Adjacent dimensions merge if the outer stride equals the extent of the inner
/// one; any dimension can be split. So groups of dimensions with equal numbers
/// of elements on both sides are matched. Within a group the source must merge
/// into a single dimension.
FailureOr<StridedPlaces> StridedPlaces::reshaped(ArrayRef<int64_t> to) const {
  StridedPlaces result;
  result.offset = offset;
  result.shape.assign(to.begin(), to.end());
  result.strides.assign(to.size(), 0);
  if (llvm::is_contained(to, 0))
    return result;
  // Skip dimensions of size 1; their strides stay 0.
  SmallVector<size_t> from, into;
  for (size_t d = 0; d < shape.size(); ++d)
    if (shape[d] != 1)
      from.push_back(d);
  for (size_t d = 0; d < to.size(); ++d)
    if (to[d] != 1)
      into.push_back(d);
  size_t i = 0, j = 0;
  while (i < from.size() && j < into.size()) {
    size_t firstFrom = i, firstInto = j;
    int64_t left = shape[from[i++]], right = to[into[j++]];
    while (left != right) {
      if (left < right && i < from.size())
        left *= shape[from[i++]];
      else if (right < left && j < into.size())
        right *= to[into[j++]];
      else
        return failure();
    }
    for (size_t n = firstFrom; n + 1 < i; ++n)
      if (strides[from[n]] != strides[from[n + 1]] * shape[from[n + 1]])
        return failure();
    int64_t stride = strides[from[i - 1]];
    for (size_t n = j; n-- > firstInto; stride *= to[into[n]])
      result.strides[into[n]] = stride;
  }
  if (i < from.size() || j < into.size())
    return failure();
  return result;
}

StridedPlaces StridedPlaces::broadcast(ArrayRef<int64_t> to) const {
  StridedPlaces result;
  result.offset = offset;
  result.shape.assign(to.begin(), to.end());
  result.strides.assign(to.size(), 0);
  size_t added = to.size() - shape.size();
  for (auto [d, stride] : llvm::enumerate(strides))
    if (shape[d] == to[added + d])
      result.strides[added + d] = stride;
  return result;
}

FailureOr<StridedPlaces> StridedPlaces::moved(Operation *op) const {
  if (!isa<ReshapeOp, TransposeOp, SliceOp, ExpandOp>(op) || !areStatic(op))
    return failure();
  if (auto reshape = dyn_cast<ReshapeOp>(op))
    return reshaped(reshape.getY().getType().getShape());
  if (auto expand = dyn_cast<ExpandOp>(op))
    return broadcast(expand.getY().getType().getShape());
  StridedPlaces result;
  result.offset = offset;
  if (auto transpose = dyn_cast<TransposeOp>(op)) {
    for (int64_t d : transpose.getPerm()) {
      result.shape.push_back(shape[d]);
      result.strides.push_back(strides[d]);
    }
    return result;
  }
  auto slice = cast<SliceOp>(op);
  result.shape.assign(slice.getSizes().begin(), slice.getSizes().end());
  for (auto [d, stride] : llvm::enumerate(strides)) {
    result.offset += slice.getStarts()[d] * stride;
    result.strides.push_back(slice.getSteps()[d] * stride);
  }
  return result;
}

std::optional<int64_t> frit::nn::contiguousOffset(SliceOp slice) {
  if (!areStatic(slice))
    return std::nullopt;
  auto places = StridedPlaces::whole(shapeOf(slice.getX())).moved(slice);
  StridedPlaces whole = StridedPlaces::whole(slice.getSizes());
  for (size_t d = 0; d < whole.shape.size(); ++d)
    if (whole.shape[d] != 1 && whole.strides[d] != places->strides[d])
      return std::nullopt;
  return places->offset;
}

//===----------------------------------------------------------------------===//
// Reading and writing
//===----------------------------------------------------------------------===//

FailureOr<StridedView> frit::nn::describeRead(Value value) {
  SmallVector<Operation *> chain;
  while (Operation *def = value.getDefiningOp()) {
    if (!isa<ReshapeOp, TransposeOp, SliceOp, ExpandOp>(def))
      return failure();
    chain.push_back(def);
    value = def->getOperand(0);
  }
  if (!tensorType(value).hasStaticShape())
    return failure();
  StridedPlaces places = StridedPlaces::whole(shapeOf(value));
  for (Operation *op : llvm::reverse(chain)) {
    auto next = places.moved(op);
    if (failed(next))
      return failure();
    places = std::move(*next);
  }
  return StridedView{std::move(places), cast<BlockArgument>(value)};
}

FailureOr<StridedPlaces> frit::nn::describeWrite(ArrayRef<Operation *> chain) {
  if (!llvm::all_of(chain, areStatic))
    return failure();
  StridedPlaces places =
      StridedPlaces::whole(shapeOf(chain.back()->getResult(0)));
  for (Operation *op : llvm::reverse(chain)) {
    if (isa<ReshapeOp>(op)) {
      auto before = places.reshaped(shapeOf(op->getOperand(0)));
      if (failed(before))
        return failure();
      places = std::move(*before);
      continue;
    }
    StridedPlaces before = places;
    for (auto [i, d] : llvm::enumerate(cast<TransposeOp>(op).getPerm())) {
      before.shape[d] = places.shape[i];
      before.strides[d] = places.strides[i];
    }
    places = std::move(before);
  }
  return places;
}

FailureOr<StridedResult> frit::nn::describeWrite(Value value) {
  StridedPlaces places = StridedPlaces::whole(shapeOf(value));
  SmallVector<Operation *> chain;
  while (value.hasOneUse()) {
    OpOperand &use = *value.use_begin();
    Operation *user = use.getOwner();
    if (user->hasTrait<OpTrait::IsTerminator>()) {
      if (!chain.empty()) {
        auto described = describeWrite(chain);
        if (failed(described))
          return failure();
        places = std::move(*described);
      }
      return StridedResult{std::move(places), use.getOperandNumber()};
    }
    if (!isa<ReshapeOp, TransposeOp>(user))
      return failure();
    chain.push_back(user);
    value = user->getResult(0);
  }
  return failure();
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

FailureOr<AttentionOperand> frit::nn::describeOperand(Value value) {
  auto view = describeRead(value);
  if (failed(view))
    return failure();
  AttentionOperand operand;
  operand.argument = view->argument;
  operand.offset = view->offset;
  size_t missing = 4 - view->shape.size();
  for (auto [d, stride] : llvm::enumerate(view->strides))
    operand.strides[missing + d] = view->shape[d] == 1 ? 0 : stride;
  return operand;
}

/// Describes an attention's mask, result and sizes; or returns why it cannot.
static Legality describeRest(AttentionInfo &info) {
  AttentionOp op = info.op;
  if (Value mask = op.getMask()) {
    auto described = describeOperand(mask);
    if (failed(described))
      return Mismatch("the mask is not a strided view of an input");
    info.mask = *described;
  }
  auto written = describeWrite(op.getY());
  if (failed(written))
    return Mismatch("the result is not a strided view of the output");
  info.resultIndex = written->result;
  info.result.offset = written->offset;
  llvm::copy(written->strides, info.result.strides);

  ArrayRef<int64_t> q = shapeOf(op.getQ()), k = shapeOf(op.getK());
  info.batch = q[0];
  info.heads = q[1];
  info.groups = k[1];
  info.queries = q[2];
  info.keys = k[2];
  info.size = q[3];
  info.valueSize = shapeOf(op.getV())[3];
  info.scale = op.getScale().convertToFloat();
  info.causal = op.getCausal();
  return std::nullopt;
}

Match<AttentionInfo> frit::nn::describeAttention(FusionOp fusion) {
  AttentionInfo info;
  AttentionStatsOp stats;
  Block &body = fusion.getBody().front();
  for (Operation &op : body.without_terminator()) {
    if (auto attention = dyn_cast<AttentionOp>(op)) {
      if (info.op)
        return Mismatch("it has two attentions");
      info.op = attention;
    } else if (auto one = dyn_cast<AttentionStatsOp>(op)) {
      stats = one;
    } else if (!isa<ReshapeOp, TransposeOp, SliceOp, ExpandOp>(op)) {
      return Mismatch(op.getName().getStringRef() +
                      " is neither the attention nor a view");
    }
  }
  if (!info.op)
    return Mismatch("it has no attention");
  if (stats && !isStatsOf(stats, info.op))
    return Mismatch("its statistics are those of another attention");
  if (body.getTerminator()->getNumOperands() != (stats ? 2 : 1))
    return Mismatch("its results are not the attention's");

  std::pair<Value, AttentionOperand *> operands[] = {{info.op.getQ(), &info.q},
                                                     {info.op.getK(), &info.k},
                                                     {info.op.getV(), &info.v}};
  for (auto [value, operand] : operands) {
    auto described = describeOperand(value);
    if (failed(described))
      return Mismatch("an operand is not a strided view of an input");
    *operand = *described;
  }
  if (Legality why = describeRest(info))
    return *why;
  if (stats)
    info.statsIndex = 1 - info.resultIndex;
  return info;
}

/// Returns the rows that `state`, an attention's operand, has got in this
/// fusion: along its third dimension.
static std::optional<AppendedRows> appendedRows(Value state) {
  auto update = state.getDefiningOp<UpdateOp>();
  if (!update || !update.getOffset() || update.getAxis() != 2 ||
      !isa<BlockArgument>(update.getState()) ||
      !isa<BlockArgument>(update.getOffset()) || !areStatic(update))
    return std::nullopt;
  for (OpOperand &use : state.getUses())
    if (use.getOwner()->hasTrait<OpTrait::IsTerminator>())
      return AppendedRows{update, use.getOperandNumber()};
  return std::nullopt;
}

Match<AttentionInfo> frit::nn::describeAppendingAttention(FusionOp fusion) {
  AttentionInfo info;
  Block &body = fusion.getBody().front();
  for (Operation &op : body.without_terminator())
    if (auto attention = dyn_cast<AttentionOp>(op)) {
      if (info.op)
        return Mismatch("it has two attentions");
      info.op = attention;
    }
  if (!info.op)
    return Mismatch("it has no attention");
  if (body.getTerminator()->getNumOperands() != 3)
    return Mismatch("its results are not the attention's and its states");
  std::tuple<Value, AttentionOperand *, std::optional<AppendedRows> *>
      states[] = {{info.op.getK(), &info.k, &info.newKeys},
                  {info.op.getV(), &info.v, &info.newValues}};
  for (auto [value, operand, rows] : states) {
    *rows = appendedRows(value);
    if (!*rows)
      return Mismatch("it does not append to its keys and values");
    *operand = *describeOperand((*rows)->update.getState());
  }
  UpdateOp keys = info.newKeys->update, values = info.newValues->update;
  if (keys.getOffset() != values.getOffset() ||
      shapeOf(keys.getValue())[2] != shapeOf(values.getValue())[2])
    return Mismatch("its keys and values are not appended alike");
  Value q = info.op.getQ();
  if (auto described = describeOperand(q); succeeded(described)) {
    info.q = *described;
  } else {
    info.computesQueries = true;
    StridedPlaces whole = StridedPlaces::whole(shapeOf(q));
    for (auto [d, stride] : llvm::enumerate(whole.strides))
      info.q.strides[d] = whole.shape[d] == 1 ? 0 : stride;
  }
  if (Legality why = describeRest(info))
    return *why;
  return info;
}
