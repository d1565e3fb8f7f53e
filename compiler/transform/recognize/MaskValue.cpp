//===- MaskValue.cpp - What an attention mask hides -----------------------===//

#include "compiler/transform/recognize/MaskValue.h"

#include "dialects/nn/constants/ConstantValues.h"

#include <cmath>
#include <limits>

using namespace mlir;
using namespace frit;
using namespace frit::nn;

bool MaskRanges::showAll() const {
  for (size_t i = 0; i < ends.size(); i += 2)
    if (ends[i] != 0 || ends[i + 1] != keys)
      return false;
  return true;
}

bool MaskRanges::areCausal() const {
  for (size_t i = 0; i < ends.size(); i += 2)
    if (ends[i] != 0 ||
        ends[i + 1] != std::min<int64_t>(i / 2 % queries + 1, keys))
      return false;
  return true;
}

namespace {
/// Finds the range of each row of a mask.
class RangeFinder {
public:
  RangeFinder(bool isBool, bool isInverse)
      : isBool(isBool), isInverse(isInverse) {}

  /// Adds a row; `at(j)` is its element for key j. Returns false if the row is
  /// no range, or no mask.
  template <class At> bool add(MaskRanges &ranges, const At &at) {
    int64_t first = 0, last = ranges.keys;
    while (first < ranges.keys && !sees(at(first)))
      if (!hides(at(first++)))
        return false;
    int64_t end = first;
    while (end < ranges.keys && sees(at(end)))
      ++end;
    for (int64_t j = end; j < last; ++j)
      if (!hides(at(j)))
        return false;
    if (first == end)
      return false;
    ranges.ends.push_back(first);
    ranges.ends.push_back(end);
    return true;
  }

  /// Returns what all hidden elements are, or -inf if they differ.
  float hidden() const {
    return differ() ? -std::numeric_limits<float>::infinity() : least;
  }
  bool differ() const { return least < most; }

private:
  bool sees(float x) const { return isBool ? (x != 0) != isInverse : x == 0; }
  bool hides(float x) {
    least = std::min(least, x);
    most = std::max(most, x);
    return isBool ? !sees(x) : x <= kMasked;
  }

  bool isBool, isInverse;
  float least = std::numeric_limits<float>::infinity();
  float most = -std::numeric_limits<float>::infinity();
};
} // namespace

/// Returns whether no end decreases from a query to the next of its batch.
static bool areOrdered(const MaskRanges &ranges) {
  for (size_t i = 2; i < ranges.ends.size(); ++i)
    if (int64_t(i) / 2 % ranges.queries != 0 &&
        ranges.ends[i] < ranges.ends[i - 2])
      return false;
  return true;
}

std::optional<MaskRanges> frit::findMaskRanges(Value mask, bool hides) {
  auto type = tensorType(mask);
  const bool isBool = type.getElementType().isInteger(1);
  if (!type.hasStaticShape() || type.getRank() < 2 ||
      type.getNumElements() == 0 ||
      (!isBool && !isa<FloatType>(type.getElementType())))
    return std::nullopt;
  auto value = evaluateConstant(mask);
  if (!value)
    return std::nullopt;
  const ConstantElements &elements = value->elements;
  const StridedPlaces &places = elements.places;
  const size_t rank = places.shape.size();
  MaskRanges ranges;
  ranges.queries = places.shape[rank - 2];
  ranges.keys = places.shape[rank - 1];
  // Ranges may differ by batch, the first of four dimensions.
  SmallVector<int64_t> distinct = elements.distinctShape();
  for (size_t d = 0; d + 2 < rank; ++d)
    if (distinct[d] != 1 && (d != 0 || rank != 4))
      return std::nullopt;
  const int64_t batchStride = rank == 4 ? places.strides[0] : 0;
  if (rank == 4 && distinct[0] != 1)
    ranges.batch = distinct[0];
  RangeFinder finder(isBool, hides);
  for (int64_t n = 0; n < ranges.batch; ++n)
    for (int64_t i = 0; i < ranges.queries; ++i) {
      const float *row = elements.data->data() + places.offset +
                         n * batchStride + i * places.strides[rank - 2];
      if (!finder.add(ranges, [&](int64_t j) {
            return row[j * places.strides[rank - 1]];
          }))
        return std::nullopt;
    }
  ranges.hidden = finder.hidden();
  ranges.hiddenDiffer = finder.differ();
  // Positions of batches are often computed apart and yet the same.
  const size_t own = ranges.ends.size() / ranges.batch;
  if (std::equal(ranges.ends.begin() + own, ranges.ends.end(),
                 ranges.ends.begin())) {
    ranges.ends.resize(own);
    ranges.batch = 1;
  }
  // A learnt bias may be zero in this file but not after training.
  if (!areOrdered(ranges) || (value->readsWeights && ranges.showAll()))
    return std::nullopt;
  return ranges;
}

std::optional<MaskRanges> frit::rangesOf(Value mask) {
  ArrayRef<int64_t> shape = shapeOf(mask);
  while (Operation *def = mask.getDefiningOp()) {
    if (!isa<ReshapeOp, ExpandOp>(def) ||
        shapeOf(def->getOperand(0)).take_back(2) != shape.take_back(2))
      break;
    mask = def->getOperand(0);
  }
  auto op = mask.getDefiningOp<RangeMaskOp>();
  auto constant =
      op ? op.getRanges().getDefiningOp<ConstantOp>() : ConstantOp();
  auto ends = constant ? dyn_cast<DenseElementsAttr>(constant.getValue())
                       : DenseElementsAttr();
  if (!ends)
    return std::nullopt;
  ArrayRef<int64_t> own = shapeOf(op.getY());
  // The batch is the first of four dimensions.
  if (own[0] != 1 && (shape.size() != 4 || shape[0] != own[0]))
    return std::nullopt;
  MaskRanges ranges;
  ranges.batch = own[0];
  ranges.queries = own[2];
  ranges.keys = own[3];
  llvm::append_range(ranges.ends, ends.getValues<int32_t>());
  return ranges;
}

std::optional<MaskRanges> frit::intersect(const MaskRanges &a,
                                          const MaskRanges &b) {
  if (a.queries != b.queries || a.keys != b.keys ||
      (a.batch != b.batch && a.batch != 1 && b.batch != 1))
    return std::nullopt;
  MaskRanges both = a.batch == 1 ? b : a;
  for (size_t i = 0; i < both.ends.size(); i += 2) {
    size_t inA = i % a.ends.size(), inB = i % b.ends.size();
    both.ends[i] = std::max(a.ends[inA], b.ends[inB]);
    both.ends[i + 1] = std::min(a.ends[inA + 1], b.ends[inB + 1]);
    if (both.ends[i] >= both.ends[i + 1])
      return std::nullopt;
  }
  return both;
}

Value frit::buildRanges(NNBuilder &b, const MaskRanges &ranges) {
  auto type = RankedTensorType::get({ranges.batch, 1, ranges.queries, 2},
                                    b.getI32Type());
  auto ends = DenseElementsAttr::get(type, ArrayRef(ranges.ends));
  return ConstantOp::create(b, cast<ElementsAttr>(ends), StringAttr());
}

SmallVector<int64_t> frit::findFinite(Value mask) {
  auto type = tensorType(mask);
  if (!type.hasStaticShape() || type.getNumElements() == 0 ||
      !isa<FloatType>(type.getElementType()))
    return {};
  auto value = evaluateConstant(mask);
  if (!value)
    return {};
  const std::vector<float> elements = value->elements.distinct();
  const SmallVector<int64_t> distinct = value->elements.distinctShape();
  SmallVector<int64_t> result;
  for (size_t dim = 0; dim < distinct.size(); ++dim) {
    int64_t size = distinct[dim];
    int64_t inner =
        ShapedType::getNumElements(ArrayRef(distinct).drop_front(dim + 1));
    int64_t latest = 0;
    for (int64_t line = 0, n = elements.size() / size; line < n; ++line) {
      int64_t start = line / inner * inner * size + line % inner, at = 0;
      while (at < size && !std::isfinite(elements[start + at * inner]))
        ++at;
      // A line without one has all of its elements before it.
      latest = std::max(latest, at < size ? at : type.getShape()[dim]);
    }
    result.push_back(latest);
  }
  return result;
}
