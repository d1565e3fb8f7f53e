//===- WrittenCaches.cpp - Caches of a fixed size -------------------------===//
//
// With 96 entries and calls of 3 tokens:
//   %a = nn.transpose %past {perm = 2, 0, 1, 3}            96x1x2x8
//   %b = nn.reshape %a                                     96x16
//   %c = nn.expand %places                                 3 ==> 3x16
//   %d = nn.scatter_elements %b, %c, %rows                 96x16, 3x16, 3x16
//   %e = nn.reshape %d                                     96x1x2x8
//   %all = nn.transpose %e {perm = 1, 2, 0, 3}             1x2x96x8
// The scatter may be along another dimension, and all but itself is missing
// then.
//
//===----------------------------------------------------------------------===//

#include "compiler/decoder/caches/WrittenCaches.h"
#include "dialects/nn/constants/ConstantValues.h"

#include "mlir/IR/IRMapping.h"

#include <numeric>

using namespace mlir;
using namespace frit;
using namespace frit::decoder;

/// Operators that compute places; more are not looked at.
static constexpr size_t kMostOperators = 64;

/// Returns the value of a row's place alone, without dimensions along which
/// `indices` repeats; null if there are none or others.
static Value placesOf(Value indices, int64_t axis) {
  int64_t rows = nn::shapeOf(indices)[axis];
  while (nn::tensorType(indices).getNumElements() != rows) {
    auto expand = indices.getDefiningOp<nn::ExpandOp>();
    if (!expand)
      return {};
    indices = expand.getX();
    // The rows stay the dimension that they are.
    ArrayRef<int64_t> shape = nn::shapeOf(indices);
    int64_t more =
        int64_t(nn::shapeOf(expand.getY()).size()) - int64_t(shape.size());
    axis -= more;
    if (axis < 0 || shape[axis] != rows)
      return {};
  }
  return indices;
}

std::optional<WrittenCache> decoder::findWritten(Value all) {
  WrittenCache found;
  // Rows of an operator that takes lengths.
  if (auto update = all.getDefiningOp<nn::UpdateOp>()) {
    found.past = dyn_cast<BlockArgument>(update.getState());
    found.offset = update.getOffset();
    if (!found.past || !found.past.hasOneUse() || !found.offset ||
        nn::tensorType(found.offset).getRank() != 1)
      return std::nullopt;
    found.reader = update;
    found.axis = update.getAxis();
    found.values = update.getValue();
    found.rows = nn::shapeOf(found.values)[found.axis];
    return found;
  }
  auto stepInto = [](Value value, auto isKind) -> Operation * {
    Operation *def = value.getDefiningOp();
    return def && isKind(def) && value.hasOneUse() ? def : nullptr;
  };
  // `all` itself has several readers.
  Value value = all;
  auto after = value.getDefiningOp<nn::TransposeOp>();
  if (after)
    value = after.getX();
  Operation *joined = nullptr;
  if (isa_and_nonnull<nn::ReshapeOp>(value.getDefiningOp()) &&
      (value == all || value.hasOneUse())) {
    joined = value.getDefiningOp();
    value = joined->getOperand(0);
  }
  auto scatter = value.getDefiningOp<nn::ScatterElementsOp>();
  if (!scatter || scatter.getReduction() != "none" ||
      (value != all && !value.hasOneUse()))
    return std::nullopt;
  int64_t along = nn::axisOf(scatter.getX(), scatter.getAxis());

  Value before = scatter.getX();
  if (joined) {
    Operation *apart =
        stepInto(before, [](Operation *op) { return isa<nn::ReshapeOp>(op); });
    if (!apart || along != 0)
      return std::nullopt;
    before = apart->getOperand(0);
    // Only the dimensions behind the entries are joined.
    if (nn::shapeOf(before) != nn::shapeOf(joined->getResult(0)) ||
        nn::shapeOf(scatter.getX()).size() != 2 ||
        nn::shapeOf(before).front() != nn::shapeOf(scatter.getX()).front())
      return std::nullopt;
  }
  int64_t rank = int64_t(nn::shapeOf(before).size());
  found.perm.resize(rank);
  std::iota(found.perm.begin(), found.perm.end(), 0);
  if (after) {
    Operation *move = stepInto(
        before, [](Operation *op) { return isa<nn::TransposeOp>(op); });
    if (!move)
      return std::nullopt;
    found.perm.assign(cast<nn::TransposeOp>(move).getPerm().begin(),
                      cast<nn::TransposeOp>(move).getPerm().end());
    before = move->getOperand(0);
    for (int64_t i = 0; i < rank; ++i)
      if (found.perm[after.getPerm()[i]] != i)
        return std::nullopt;
  }
  found.past = dyn_cast<BlockArgument>(before);
  if (!found.past || !before.hasOneUse())
    return std::nullopt;
  found.reader = *before.user_begin();
  found.axis = found.perm[along];
  found.values = scatter.getUpdates();
  found.rows = nn::shapeOf(found.values)[along];
  // All of the dimensions beside the entries are written.
  auto whole = llvm::to_vector(nn::shapeOf(scatter.getX()));
  whole[along] = found.rows;
  found.places = placesOf(scatter.getIndices(), along);
  if (!found.places || nn::shapeOf(found.values) != ArrayRef(whole))
    return std::nullopt;
  return found;
}

Value decoder::buildRows(nn::NNBuilder &b, const WrittenCache &cache) {
  if (cache.offset)
    return cache.values;
  auto shape = llvm::to_vector(nn::shapeOf(cache.past));
  shape[cache.axis] = cache.rows;
  SmallVector<int64_t> moved, back(shape.size());
  for (auto [to, from] : llvm::enumerate(cache.perm)) {
    moved.push_back(shape[from]);
    back[from] = int64_t(to);
  }
  Value rows = b.reshape(cache.values, moved);
  if (llvm::is_sorted(back))
    return rows;
  return nn::TransposeOp::create(b, rows, back);
}

/// Builds `value` again from what `map` has. Null if that takes too many
/// operators.
static Value cloneFrom(OpBuilder &b, Value value, IRMapping &map,
                       SmallVector<Operation *> &made) {
  if (Value known = map.lookupOrNull(value))
    return known;
  Operation *def = value.getDefiningOp();
  if (!def)
    return value;
  for (Value operand : def->getOperands())
    if (Value own = cloneFrom(b, operand, map, made))
      map.map(operand, own);
    else
      return {};
  if (made.size() == kMostOperators || def->getNumResults() != 1 ||
      def->getNumRegions())
    return {};
  made.push_back(b.clone(*def, map));
  map.map(value, made.back()->getResult(0));
  return made.back()->getResult(0);
}

/// Returns the elements of `value` where the inputs have the given elements.
static std::optional<std::vector<float>>
evaluateWith(nn::NNBuilder &b, Value value, ArrayRef<BlockArgument> inputs,
             llvm::function_ref<int64_t(int64_t)> elementOf) {
  IRMapping map;
  SmallVector<Operation *> made;
  for (BlockArgument input : inputs) {
    auto type = nn::tensorType(input);
    SmallVector<Attribute> elements;
    for (int64_t i = 0; i < type.getNumElements(); ++i)
      elements.push_back(b.getIntegerAttr(type.getElementType(), elementOf(i)));
    auto constant = nn::ConstantOp::create(
        b, DenseElementsAttr::get(type, elements), StringAttr());
    made.push_back(constant);
    map.map(input, constant.getY());
  }
  std::optional<std::vector<float>> result;
  if (Value own = cloneFrom(b, value, map, made))
    if (auto known = nn::evaluateConstant(own))
      result = nn::readElements(known->elements, nn::shapeOf(own));
  for (Operation *op : llvm::reverse(made))
    op->erase();
  return result;
}

/// Returns places of a first row to try. A window that wraps or shifts shows at
/// the end.
static SmallVector<int64_t> samplePlaces(int64_t entries, int64_t rows) {
  int64_t last = entries - rows;
  if (last < 0)
    return {};
  return {0, std::min<int64_t>(1, last), last / 2, last};
}

bool decoder::writesAtPositions(const WrittenCache &cache,
                                ArrayRef<BlockArgument> positions,
                                int64_t entries) {
  nn::NNBuilder b(cache.places.getLoc(),
                  cache.reader->getBlock()->getTerminator());
  auto samples = samplePlaces(entries, cache.rows);
  return !samples.empty() && llvm::all_of(samples, [&](int64_t first) {
    SmallVector<int64_t> wanted(cache.rows);
    std::iota(wanted.begin(), wanted.end(), first);
    auto places = evaluateWith(b, cache.places, positions, [&](int64_t i) {
      return wanted[i % cache.rows];
    });
    return places && llvm::equal(*places, wanted);
  });
}

bool decoder::writesBehindMask(const WrittenCache &cache, BlockArgument mask) {
  const int64_t entries = nn::shapeOf(mask).back();
  nn::NNBuilder b(cache.offset.getLoc(),
                  cache.reader->getBlock()->getTerminator());
  auto samples = samplePlaces(entries, cache.rows);
  return !samples.empty() && llvm::all_of(samples, [&](int64_t first) {
    auto places = evaluateWith(b, cache.offset, mask, [&](int64_t i) {
      return i % entries < first + cache.rows;
    });
    return places && llvm::all_of(*places, [&](float place) {
             return place == float(first);
           });
  });
}
