//===- FusionGroups.cpp - Operators that share a kernel -------------------===//

#include "compiler/transform/fusion/FusionGroups.h"

#include "compiler/transform/Graph.h"
#include "dialects/nn/contraction/Contraction.h"
#include "dialects/nn/operators/Custom.h"
#include "dialects/nn/operators/Statistics.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Reductions that wait for another of the same tensor, and the most numbers
/// that each reduces to one: one block reads them all, once for each.
static constexpr size_t kMostOpen = 8;
static constexpr int64_t kMostReduced = 1 << 14;

std::optional<int64_t> frit::rowDimensions(ReduceOp reduce) {
  ArrayRef<int64_t> shape = shapeOf(reduce.getX());
  int64_t rows = shape.size();
  llvm::SmallDenseSet<int64_t> axes(reduce.getAxes().begin(),
                                    reduce.getAxes().end());
  // A dimension of size 1 counts as reduced or not, as needed.
  while (rows > 0 && (axes.contains(rows - 1) || shape[rows - 1] == 1))
    --rows;
  for (int64_t axis : axes)
    if (axis < rows && shape[axis] != 1)
      return std::nullopt;
  return rows;
}

bool frit::isGenerator(Operation *op) { return isa<ExpandOp, IotaOp>(op); }

bool frit::isView(Operation *op) {
  if (isa<ReshapeOp>(op))
    return true;
  auto slice = dyn_cast<SliceOp>(op);
  if (!slice || !slice.getX().getType().hasStaticShape())
    return false;
  // If only the slice reads the producer, compute it where the slice is read.
  Operation *producer = slice.getX().getDefiningOp();
  if (isa_and_nonnull<ElementwiseOp, ConstantOp>(producer))
    return false;
  // Kernels read vectors of 16 bytes.
  constexpr int64_t alignment = 16;
  auto offset = contiguousOffset(slice);
  int64_t bits = resultType(op).getElementTypeBitWidth();
  return offset && *offset * bits % (8 * alignment) == 0;
}

bool frit::isPlacement(Operation *op) {
  auto update = dyn_cast<UpdateOp>(op);
  return isa<PackOp>(op) || (update && !update.getOffset());
}

Operation *frit::computedBy(Value value) {
  Operation *def = value.getDefiningOp();
  while (def && isView(def))
    def = def->getOperand(0).getDefiningOp();
  return isa_and_nonnull<ConstantOp>(def) ? nullptr : def;
}

bool frit::isMovement(Operation *op) {
  return isa<TransposeOp, ExpandOp, SliceOp, ConcatOp, PadOp, GatherOp, IotaOp,
             TriluOp>(op);
}

bool frit::isContraction(Operation *op) {
  return isa<MatmulOp, ConvOp, DepthwiseConvOp, QuantizedConvOp>(op);
}

bool frit::isEpilogueOnly(Operation *op) {
  return isa<MomentsOp, NormalizeOp, NormalizeProductOp, GateColumnsOp>(op);
}

/// Returns whether a cast widens what may be stored narrow. Scales that are
/// rounded to powers of two belong to what computes them, and bits of what is
/// in memory to their readers.
static bool widens(Operation *op) {
  auto cast = dyn_cast<CastOp>(op);
  return cast && !cast.getX().getDefiningOp<BitCastOp>() &&
         !isa<Float8E8M0FNUType>(tensorType(cast.getX()).getElementType()) &&
         tensorType(cast.getX()).getElementTypeBitWidth() <
             tensorType(cast.getY()).getElementTypeBitWidth();
}

/// Returns whether an operator begins to compute with bits of what is stored.
static bool readsBits(Operation *op) {
  return isa<BitCastOp>(op) &&
         llvm::all_of(op->getUsers(), [](Operation *user) {
           auto cast = dyn_cast<CastOp>(user);
           return cast && resultType(cast).getElementTypeBitWidth() >
                              tensorType(cast.getX()).getElementTypeBitWidth();
         });
}

SmallVector<Operation *, 2> frit::operandsInside(Operation *op,
                                                 const Target &target) {
  SmallVector<Operation *, 2> inside;
  auto product = dyn_cast<MatmulOp>(op);
  if (!product || product.getA() == product.getB())
    return inside;
  Operation *matrix = product.getB().getDefiningOp();
  if (isa_and_nonnull<DequantizeOp, DecompressOp>(matrix) &&
      target.canFuseCodes(product))
    inside.push_back(matrix);
  if (auto norm = product.getA().getDefiningOp<RmsNormOp>())
    if (target.canFuseNorm(product))
      inside.push_back(norm);
  return inside;
}

FusionGroups::FusionGroups(Block &block, const Target &target,
                           ArrayRef<SmallVector<Operation *>> whole)
    : target(target) {
  for (Operation &op : block.without_terminator()) {
    if (isa<ConstantOp>(op))
      continue;
    indices[&op] = ops.size();
    ops.push_back(&op);
  }
  for (unsigned i = 0; i < ops.size(); ++i) {
    groupOf.push_back(i);
    groups.push_back(single(i));
  }
  for (ArrayRef<Operation *> members : whole) {
    unsigned to = indices.lookup(members.front());
    for (Operation *member : members.drop_front())
      absorb(indices.lookup(member), to);
    groups[to].kind = Kind::opaque;
  }
  // A view before an update is an index computation of its kernel.
  for (unsigned i = 0; i < ops.size(); ++i)
    if (auto update = dyn_cast<UpdateOp>(ops[i]))
      if (auto view = update.getValue().getDefiningOp<ReshapeOp>();
          view && view->hasOneUse() && update.getOffset()) {
        absorb(indices.lookup(view), i);
        groups[i].space = llvm::to_vector(shapeOf(view.getX()));
      }
  for (unsigned i = 0; i < ops.size(); ++i)
    for (Operation *inside : operandsInside(ops[i], target))
      absorb(indices.lookup(inside), i);
  placeAll(sorted());
}

FusionGroups::Group FusionGroups::single(unsigned index) const {
  Operation *op = ops[index];
  Group group;
  group.members = {index};
  group.size.instructions = countInstructions(op);
  group.size.tensors = op->getNumOperands() + op->getNumResults();
  if (op->getNumResults() == 1)
    group.space = llvm::to_vector(resultType(op).getShape());
  if (isView(op) || isPlacement(op)) {
    group.kind = Kind::view;
  } else if (auto update = dyn_cast<UpdateOp>(op)) {
    group.kind = Kind::map;
    group.space = llvm::to_vector(shapeOf(update.getValue()));
  } else if (isa<ElementwiseOp>(op)) {
    group.kind = Kind::map;
  } else if (isMovement(op)) {
    group.kind = Kind::movement;
  } else if (isEpilogueOnly(op)) {
    group.kind = Kind::epilogue;
    group.space = llvm::to_vector(shapeOf(op->getOperand(0)));
  } else if (isContraction(op) || isa<GroupNormOp>(op)) {
    group.kind = Kind::anchored;
  } else if (isa<CompositeOp, FusionOp, GuardOp, CustomOp>(op) ||
             isCollective(op)) {
    group.kind = Kind::opaque;
  } else if (auto reduce = dyn_cast<ReduceOp>(op)) {
    if (auto rows = rowDimensions(reduce)) {
      group.kind = Kind::row;
      group.space = llvm::to_vector(shapeOf(reduce.getX()));
      group.rows = *rows;
    }
  }
  return group;
}

SmallVector<int64_t> FusionGroups::Group::reduced() const {
  SmallVector<int64_t> shape(space);
  for (size_t d = rows; d < shape.size(); ++d)
    shape[d] = 1;
  return shape;
}

SmallVector<Operation *> FusionGroups::operatorsOf(const Group &group) const {
  return llvm::map_to_vector(group.members,
                             [&](unsigned member) { return ops[member]; });
}

SmallVector<Operation *> FusionGroups::chainOf(const Group &group) const {
  return nn::chainOf(operatorsOf(group));
}

//===----------------------------------------------------------------------===//
// Joining
//===----------------------------------------------------------------------===//

void FusionGroups::merge(unsigned from, unsigned to) {
  placeBoth(from, to);
  absorb(from, to);
}

void FusionGroups::absorb(unsigned from, unsigned to) {
  Group &consumer = groups[to], &producer = groups[from];
  // A chain after an anchor stays anchored, and the last anchor determines the
  // space. Otherwise a reduction does, and then elementwise operators.
  bool takesProducers =
      (producer.kind == Kind::anchored && consumer.kind != Kind::anchored) ||
      (producer.kind == Kind::row &&
       (consumer.kind == Kind::map || consumer.kind == Kind::movement));
  if (takesProducers) {
    consumer.kind = producer.kind;
    consumer.space = producer.space;
    consumer.rows = producer.rows;
  }
  consumer.size = sizeOfBoth(producer, consumer);
  for (unsigned member : producer.members)
    groupOf[member] = to;
  size_t count = consumer.members.size();
  llvm::append_range(consumer.members, producer.members);
  std::inplace_merge(consumer.members.begin(), consumer.members.begin() + count,
                     consumer.members.end());
  producer.members.clear();
}

void FusionGroups::joinProducers(unsigned index, bool onlyRecomputed) {
  SmallVector<unsigned> candidates;
  for (Value operand : ops[index]->getOperands())
    if (Operation *def = operand.getDefiningOp(); indices.contains(def))
      if (!onlyRecomputed || isRecomputed(def))
        candidates.push_back(indices.lookup(def));
  // Anchored producers first: an epilogue saves the most, and only a group of
  // one operator can become one. Then the nearest producers.
  llvm::sort(candidates, [&](unsigned x, unsigned y) {
    auto rank = [&](unsigned i) {
      return std::pair(groups[groupOf[i]].kind == Kind::anchored, i);
    };
    return rank(x) > rank(y);
  });
  candidates.erase(llvm::unique(candidates), candidates.end());
  for (unsigned producer : candidates) {
    unsigned from = groupOf[producer], to = groupOf[index];
    if (from == to)
      continue;
    if (Legality why = checkLegality(from, to))
      refused.push_back({ops[producer], ops[index], std::move(*why)});
    else
      merge(from, to);
  }
}

void FusionGroups::join() {
  SmallVector<unsigned> deferred;
  for (unsigned index = 0; index < ops.size(); ++index) {
    Kind kind = groups[groupOf[index]].kind;
    if (kind == Kind::view || kind == Kind::opaque)
      continue;
    if (isRecomputed(ops[index])) {
      joinProducers(index, /*onlyRecomputed=*/true);
      deferred.push_back(index);
    } else if (widens(ops[index]) || readsBits(ops[index])) {
      deferred.push_back(index);
    } else {
      joinProducers(index);
    }
  }
  for (unsigned index : deferred)
    joinProducers(index);
  // A launch costs a device more than what two reductions share.
  if (!target.isHost())
    joinRanges();
}

void FusionGroups::joinRanges() {
  auto isAlone = [&](unsigned index) {
    const Group &group = groups[groupOf[index]];
    auto reduce = dyn_cast<ReduceOp>(ops[index]);
    return reduce && group.kind == Kind::row && group.members.size() == 1 &&
           (reduce.getKind() == Combiner::max ||
            reduce.getKind() == Combiner::min) &&
           ShapedType::getNumElements(group.space) <=
               kMostReduced * ShapedType::getNumElements(group.reduced());
  };
  auto readsSame = [&](Value a, Value b) {
    auto first = indices.find(a.getDefiningOp());
    auto second = indices.find(b.getDefiningOp());
    return a == b || (first != indices.end() && second != indices.end() &&
                      groupOf[first->second] == groupOf[second->second]);
  };
  SmallVector<unsigned> open;
  for (unsigned index = 0; index < ops.size(); ++index) {
    if (!isAlone(index))
      continue;
    auto reduce = cast<ReduceOp>(ops[index]);
    auto fits = [&](unsigned before) {
      auto other = cast<ReduceOp>(ops[before]);
      return other.getKind() != reduce.getKind() &&
             other.getX().getType() == reduce.getX().getType() &&
             other.getAxes() == reduce.getAxes() &&
             readsSame(other.getX(), reduce.getX());
    };
    auto other = llvm::find_if(open, fits);
    if (other == open.end()) {
      open.push_back(index);
      if (open.size() > kMostOpen)
        open.erase(open.begin());
      continue;
    }
    unsigned from = groupOf[*other], to = groupOf[index];
    open.erase(other);
    if (groups[from].place > groups[to].place)
      std::swap(from, to);
    if (findBetween(from, to))
      merge(from, to);
  }
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

SmallVector<SmallVector<Operation *>> FusionGroups::ordered() const {
  return llvm::map_to_vector(
      sorted(), [&](unsigned id) { return operatorsOf(groups[id]); });
}

SmallVector<FusionGroups::Refusal> FusionGroups::refusals() const {
  SmallVector<Refusal> apart;
  auto add = [&](Value value, Operation *consumer, const Mismatch &why) {
    Operation *producer = computedBy(value);
    auto it = indices.find(producer);
    if (producer && (it == indices.end() ||
                     groupOf[it->second] != groupOf[indices.lookup(consumer)]))
      apart.push_back({producer, consumer, why});
  };
  for (const Refusal &refusal : refused)
    add(refusal.producer->getResult(0), refusal.consumer, refusal.why);
  // Opaque groups have not tried to join their producers.
  for (const Group &group : groups) {
    if (group.kind != Kind::opaque)
      continue;
    for (unsigned member : group.members) {
      llvm::SmallDenseSet<Operation *> known;
      for (Value operand : ops[member]->getOperands()) {
        Operation *def = operand.getDefiningOp();
        auto it = indices.find(def);
        if (it != indices.end() && groupOf[it->second] != groupOf[member] &&
            known.insert(def).second)
          add(operand, ops[member],
              Mismatch("the target implements its reader as one kernel"));
      }
    }
  }
  return apart;
}
