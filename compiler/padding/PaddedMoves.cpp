//===- PaddedMoves.cpp - Elements that several operators move -------------===//
//
// Attention with relative positions shifts row i of its scores by i places. Of
// 3 and of 4 rows, this is
//
//   3:  %p = nn.pad %x {low = [0, 1]} : tensor<3x5xf32> -> tensor<3x6xf32>
//       %r = nn.reshape %p -> tensor<6x3xf32>
//       %s = nn.slice %r {starts = [1, 0], sizes = [5, 3]} -> tensor<5x3xf32>
//       %v = nn.reshape %s -> tensor<3x5xf32>
//       %y = nn.slice %v {starts = [0, 0], sizes = [3, 3]} -> tensor<3x3xf32>
//   4:  … tensor<4x7xf32> -> tensor<4x8xf32> -> tensor<8x4xf32> -> …
//
// No operator alone keeps the elements of the small model in front; %y, which
// has %x[i, j + 2 - i] or %x[i, j + 3 - i], does where the columns of the small
// %x are those of the large one from 1 on. So the places of all elements are
// followed through the chain in both models.
//
//===----------------------------------------------------------------------===//

#include "compiler/padding/PaddedMoves.h"

using namespace mlir;
using namespace frit;
using namespace frit::nn;

/// Most elements of a value that are followed.
static constexpr int64_t kMostMoved = int64_t(1) << 22;

/// Calls `visit` with the indices of each element, in order.
static void forEachIndex(ArrayRef<int64_t> shape,
                         llvm::function_ref<void(ArrayRef<int64_t>)> visit) {
  SmallVector<int64_t> at(shape.size());
  for (int64_t left = ShapedType::getNumElements(shape); left-- > 0;) {
    visit(at);
    for (size_t dim = shape.size(); dim-- > 0;) {
      if (++at[dim] < shape[dim])
        break;
      at[dim] = 0;
    }
  }
}

/// Returns the number of an element, or nothing if an index is outside.
static std::optional<int64_t> numberOf(ArrayRef<int64_t> at,
                                       ArrayRef<int64_t> shape) {
  int64_t number = 0;
  for (auto [index, size] : llvm::zip_equal(at, shape)) {
    if (index < 0 || index >= size)
      return std::nullopt;
    number = number * size + index;
  }
  return number;
}

static bool isMove(Operation *op) {
  if (auto pad = dyn_cast<PadOp>(op))
    return pad.getMode() == "constant";
  return isa<SliceOp, TransposeOp, ConcatOp>(op);
}

bool PaddedMoves::putOff(Operation *small, Operation *large,
                         Operation *reason) {
  if (!isMove(small) || !isMove(large))
    return false;
  for (Value operand : large->getOperands())
    if (Operation *earlier = reasonOf(operand)) {
      reason = earlier;
      break;
    }
  reasons[small] = reasons[large] = reason;
  return true;
}

bool PaddedMoves::isMoved(Value value) const {
  Operation *op = value.getDefiningOp();
  return op &&
         (isa<ReshapeOp>(op) || reasons.contains(op) || pairs.isSkipped(op));
}

Operation *PaddedMoves::reasonOf(Value large) const {
  for (Operation *op = large.getDefiningOp(); op;
       op = op->getOperand(0).getDefiningOp()) {
    if (auto found = reasons.find(op); found != reasons.end())
      return found->second;
    if (!isMoved(large) || op->getNumOperands() == 0)
      return nullptr;
    large = op->getOperand(0);
  }
  return nullptr;
}

/// Returns how many leading dimensions no operator of a value's chain touches.
size_t PaddedMoves::countUntouched(Value value) const {
  ArrayRef<int64_t> shape = shapeOf(value);
  if (!isMoved(value))
    return shape.size();
  Operation *op = value.getDefiningOp();
  ArrayRef<int64_t> from = shapeOf(op->getOperand(0));
  size_t count = 0, most = std::min(shape.size(), from.size());
  auto touches = [&](size_t dim) {
    if (auto pad = dyn_cast<PadOp>(op))
      return pad.getLow()[dim] != 0 || pad.getHigh()[dim] != 0;
    if (auto slice = dyn_cast<SliceOp>(op))
      return slice.getStarts()[dim] != 0 || slice.getSteps()[dim] != 1;
    if (auto transpose = dyn_cast<TransposeOp>(op))
      return transpose.getPerm()[dim] != int64_t(dim);
    if (auto concat = dyn_cast<ConcatOp>(op))
      return int64_t(dim) == axisOf(concat.getY(), concat.getAxis());
    return false;
  };
  while (count < most && from[count] == shape[count] && !touches(count))
    ++count;
  // The value of a pad has no dimensions.
  ValueRange moved = op->getOperands();
  if (isa<PadOp>(op))
    moved = moved.take_front();
  for (Value operand : moved)
    count = std::min(count, countUntouched(operand));
  return count;
}

/// Finds where the elements of a value are from, for one index of the untouched
/// dimensions. Values at which chains begin are added to `roots`.
std::optional<PaddedMoves::Sources>
PaddedMoves::findSources(Value value, size_t untouched,
                         SmallVectorImpl<Value> &roots) {
  ArrayRef<int64_t> shape = shapeOf(value);
  shape = shape.drop_front(std::min(untouched, shape.size()));
  int64_t count = ShapedType::getNumElements(shape);
  if (count > kMostMoved)
    return std::nullopt;
  Sources sources;
  sources.reserve(count);
  if (!isMoved(value)) {
    int root = llvm::find(roots, value) - roots.begin();
    if (root == int(roots.size()))
      roots.push_back(value);
    for (int64_t at = 0; at < count; ++at)
      sources.push_back({root, at});
    return sources;
  }
  Operation *op = value.getDefiningOp();
  SmallVector<Sources, 2> operands;
  SmallVector<ArrayRef<int64_t>, 2> shapes;
  for (Value operand : op->getOperands()) {
    auto from = findSources(operand, untouched, roots);
    if (!from)
      return std::nullopt;
    operands.push_back(std::move(*from));
    ArrayRef<int64_t> whole = shapeOf(operand);
    shapes.push_back(whole.drop_front(std::min(untouched, whole.size())));
  }
  if (isa<ReshapeOp>(op))
    return operands[0];
  forEachIndex(shape, [&](ArrayRef<int64_t> at) {
    SmallVector<int64_t> from(at);
    size_t operand = 0;
    for (auto [dim, index] : llvm::enumerate(from)) {
      size_t axis = untouched + dim;
      if (auto pad = dyn_cast<PadOp>(op)) {
        index -= pad.getLow()[axis];
      } else if (auto slice = dyn_cast<SliceOp>(op)) {
        index = slice.getStarts()[axis] + index * slice.getSteps()[axis];
      } else if (auto concat = dyn_cast<ConcatOp>(op);
                 concat &&
                 int64_t(axis) == axisOf(concat.getY(), concat.getAxis())) {
        while (index >= shapes[operand][dim])
          index -= shapes[operand++][dim];
      }
    }
    if (auto transpose = dyn_cast<TransposeOp>(op))
      for (size_t dim = 0; dim < at.size(); ++dim)
        from[transpose.getPerm()[untouched + dim] - untouched] = at[dim];
    if (auto number = numberOf(from, shapes[operand]))
      sources.push_back(operands[operand][*number]);
    else
      sources.push_back(operands.size() > 1 ? operands[1][0] : Source());
  });
  return sources;
}

/// Returns the index in a large dimension of one in a small dimension.
static int64_t placeOf(int64_t index, const DimPlaces &places) {
  int64_t result = 0, scale = 1;
  for (const SizePair &part : llvm::reverse(places)) {
    result += (index % part.small + part.offset) * scale;
    index /= part.small;
    scale *= part.large;
  }
  return result;
}

/// Returns whether each element of the small model's `from` is that of the
/// large model's value at the same index.
bool PaddedMoves::areEqual(const Sources &small, const Sources &large,
                           const PaddedValue &value, Value from,
                           size_t untouched, ArrayRef<Value> roots,
                           ArrayRef<PaddedValue> known) const {
  // The numbers of the roots' elements in the large model.
  SmallVector<std::vector<int64_t>> places(roots.size());
  for (auto [root, pair, numbers] : llvm::zip_equal(roots, known, places)) {
    if (pair.anywhere)
      continue;
    ArrayRef<int64_t> shape = shapeOf(root), other = shapeOf(pair.large);
    size_t skip = std::min(untouched, shape.size());
    if (!llvm::all_of(ArrayRef(pair.places).take_front(skip), isLeading))
      return false;
    forEachIndex(shape.drop_front(skip), [&](ArrayRef<int64_t> at) {
      SmallVector<int64_t> moved;
      for (auto [dim, index] : llvm::enumerate(at))
        moved.push_back(placeOf(index, pair.places[skip + dim]));
      numbers.push_back(numberOf(moved, other.drop_front(skip)).value_or(-1));
    });
  }
  ArrayRef<int64_t> shape = shapeOf(value.large).drop_front(untouched);
  bool areEqual = true;
  size_t next = 0;
  forEachIndex(shapeOf(from).drop_front(untouched), [&](ArrayRef<int64_t> at) {
    const Source &own = small[next++], &other = large[*numberOf(at, shape)];
    areEqual &=
        own.root == other.root && (own.root < 0 || known[own.root].anywhere ||
                                   places[own.root][own.at] == other.at);
  });
  return areEqual;
}

std::optional<PaddedValue> PaddedMoves::find(Value small, Value large) {
  auto result = leadingValue(small, large);
  if (!result || result->anywhere || isEmpty(small) ||
      (!isMoved(small) && !isMoved(large)))
    return std::nullopt;
  size_t untouched = std::min(countUntouched(small), countUntouched(large));
  SmallVector<Value> roots, others;
  auto from = findSources(small, untouched, roots);
  auto to = findSources(large, untouched, others);
  if (!from || !to || roots.size() != others.size())
    return std::nullopt;
  SmallVector<PaddedValue, 1> known;
  // A pad without a value puts zeros.
  Type element = signlessType(tensorType(large).getElementType());
  PaddedContent &content = result->content;
  content = PaddedContent::uniform(
      AbstractValue(Builder(element.getContext()).getZeroAttr(element)));
  for (auto [a, b] : llvm::zip_equal(roots, others)) {
    auto pair = pairs.find(a, b);
    if (!pair || (!pair->anywhere && pair->places.size() != shapeOf(a).size()))
      return std::nullopt;
    content.inside = content.inside | pair->content.inside;
    content.outside = content.outside | pair->content.all();
    known.push_back(std::move(*pair));
  }
  content.outside = content.outside | content.inside;
  if (!areEqual(*from, *to, *result, small, untouched, roots, known))
    return std::nullopt;
  pairs.set(small, *result);
  return result;
}
