//===- Indexing.cpp - Gather and scatter ----------------------------------===//

#include "compiler/onnx/bounded/DataDependent.h"
#include "compiler/onnx/indexing/Scatter.h"
#include "compiler/onnx/reader/Hooks.h"

#include "dialects/nn/Fold.h"
#include "dialects/nn/constants/ConstantValues.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;

/// Returns whether constant indices are in range along `axis`; reports an error
/// otherwise.
static bool checkAlong(Node &node, Expr x, Expr indices, int64_t axis) {
  axis = x ? node.axis(axis, x.rank()) : 0;
  return !node.failed && node.checkIndices(indices, x.size(axis));
}

/// Converts indices into `axis` of x to non-negative ones. Indices out of the
/// valid range get a position outside of x.
static Expr placesIn(Expr x, int64_t axis, Expr indices) {
  Node &node = *x.node;
  Size size = node.dataShape(x)[axis];
  if (!size.isKnown()) {
    Expr raw = {node, unmarked(indices)};
    Expr wrapped = fromFront(raw, {node, node.dataSizes().valueOf(node, size)});
    indices = {node, node.marked(wrapped, node.dataShape(indices))};
  }
  return {node, node.masked(indices, indices.number(x.size(axis)))};
}

/// Returns the 1-d tensor that indices are expanded from, if they are equal
/// along all dimensions but `axis`. Whole slices can then be written.
static Expr oneEach(Expr indices, int64_t axis) {
  Node &node = *indices.node;
  auto expand = unmarked(indices).getDefiningOp<nn::ExpandOp>();
  Expr none = {node, {}};
  if (!expand || rankOf(expand.getX()) != indices.rank())
    return none;
  Expr x = {node, expand.getX()};
  for (int64_t d = 0; d < x.rank(); ++d)
    if (d != axis && x.size(d) != 1)
      return none;
  Size count = node.dataShape(indices)[axis];
  return {node, node.markedAlong(x.reshape(x.size(axis)), 0, count)};
}

static Results scatterElements(Node &node) {
  Expr x = input(node, 0), indices = input(node, 1), updates = input(node, 2);
  int64_t axis = node.integer("axis", 0);
  StringRef reduction = node.string("reduction", "none");
  if (!checkAlong(node, x, indices, axis) || !updates)
    return {};
  int64_t along = node.axis(axis, x.rank());
  DataShape shape = node.dataShape(x), given = node.dataShape(updates);
  Expr all = {node, unmarked(x)}, news = {node, unmarked(updates)};
  auto others = news.shape();
  others[along] = all.size(along);
  Expr each = oneEach(indices, along);
  if (along == 0 && each && others == all.shape() &&
      isStatic(ArrayRef(shape).drop_front())) {
    int64_t length = product(ArrayRef(others).drop_front());
    Expr y = scatterRows(
        all.reshape({others[0], length}),
        placesIn({node, node.markedAlong(all.reshape({others[0], length}), 0,
                                         shape[0])},
                 0, each),
        news.reshape({news.size(0), length}), reduction);
    return {node.marked(y.reshape(others), shape)};
  }
  return {node.marked(
      scatter(all, placesIn(x, along, indices), news, axis, reduction), shape)};
}

static Results gatherElements(Node &node) {
  Expr x = input(node, 0), indices = input(node, 1);
  int64_t axis = node.integer("axis", 0);
  if (!checkAlong(node, x, indices, axis))
    return {};
  return {x.gatherElements(indices, axis)};
}

/// Flattens index tuples of `count` entries for the dimensions of `x` from
/// `first` on. A tuple with an index out of range becomes a position past the
/// end.
static Expr flatPlaces(Expr indices, Expr x, int64_t first, int64_t count) {
  Node &node = *indices.node;
  auto shape = x.shape();
  DataShape sizes = node.dataShape(x);
  int64_t last = indices.rank() - 1;
  auto form = indices.shape();
  if (!form.empty())
    form.pop_back();
  Expr flat = filled(node, node.builder().getI64Type(), form, 0);
  Expr isInside = {node, {}};
  for (int64_t i = 0; i < count; ++i) {
    Expr size = {node, node.dataSizes().valueOf(node, sizes[first + i])};
    Expr index = fromFront(indices.slice(last, i, 1), size).reshape(form);
    Expr fits = (index >= 0.0) & (index < size);
    isInside = isInside ? isInside & fits : fits;
    flat = flat * static_cast<double>(shape[first + i]) + index;
  }
  if (count < 2)
    return flat;
  // The same for all sizes, if there are several.
  int64_t past = node.import().hasOpenSizes()
                     ? std::numeric_limits<int32_t>::max()
                     : product(ArrayRef(shape).slice(first, count));
  return isInside.select(flat, flat.number(past));
}

/// Returns whether the last dimension of `indices` matches dimensions of x from
/// `first` on.
static bool checkPlaces(Node &node, Value x, Value indices, int64_t first) {
  if (!x || !indices)
    return false;
  int64_t depth = rankOf(indices) ? sizes(indices).back() : 0;
  if (rankOf(indices) > first && first >= 0 && depth >= 1 &&
      first + depth <= rankOf(x))
    return node.checkIndices(indices, nn::shapeOf(x).slice(first, depth));
  node.error() << "indices of shape " << nn::shapeText(nn::shapeOf(indices))
               << " do not fit " << nn::shapeText(nn::shapeOf(x));
  return false;
}

/// As flatPlaces, for constant indices; -1 for tuples out of range.
static std::optional<SmallVector<int64_t>>
knownPlaces(Value indices, ArrayRef<int64_t> shape) {
  auto type = nn::tensorType(indices);
  auto known = type.getNumElements() <= mostInTable &&
                       isa<IntegerType>(type.getElementType())
                   ? nn::evaluateConstant(indices)
                   : std::nullopt;
  if (!known)
    return std::nullopt;
  SmallVector<int64_t> places;
  int64_t dim = 0, depth = sizes(indices).back();
  for (float element : nn::readElements(known->elements, type.getShape())) {
    if (dim == 0)
      places.push_back(0);
    int64_t i = element, size = shape[dim], &place = places.back();
    i += i < 0 ? size : 0;
    place = place < 0 || i < 0 || i >= size ? -1 : place * size + i;
    dim = (dim + 1) % depth;
  }
  return places;
}

/// Returns whether constant indices list all positions in order.
static bool isEveryPlace(Value indices, ArrayRef<int64_t> shape) {
  auto known = knownPlaces(indices, shape);
  return known && llvm::equal(*known, llvm::seq<int64_t>(0, known->size()));
}

/// Scatters updates to constant positions. Each row has a table entry with its
/// update, so it does not search. Null if a row gets several updates to
/// combine.
static Expr scatterKnown(Expr x, ArrayRef<int64_t> places, Expr updates,
                         StringRef reduction) {
  Node &node = *x.node;
  SmallVector<int64_t> from(x.size(0), 0);
  SmallVector<double> isHit(x.size(0), 0);
  for (auto [i, place] : llvm::enumerate(places)) {
    if (place < 0)
      continue;
    if (isHit[place] != 0 && reduction != "none")
      return {node, {}};
    from[place] = i;
    isHit[place] = 1;
  }
  Expr y = updates.gather(node.constant(from), 0);
  if (reduction != "none")
    y = combineUpdate(x, y, reduction);
  return table(node, node.builder().getI1Type(), {x.size(0), 1}, isHit)
      .select(y, x);
}

/// Imports ScatterND: flattens the indexed dimensions to one, and those of an
/// update to another.
static Results scatterND(Node &node) {
  Expr x = input(node, 0), indices = input(node, 1), updates = input(node, 2);
  StringRef reduction = node.string("reduction", "none");
  if (!checkPlaces(node, x, indices, 0) || !updates)
    return {};
  auto shape = x.shape();
  DataShape sizes = node.dataShape(x);
  int64_t depth = indices.shape().back();
  int64_t rows = product(ArrayRef(shape).take_front(depth));
  int64_t length = product(ArrayRef(shape).drop_front(depth));
  int64_t count = product(ArrayRef(indices.shape()).drop_back());
  if (nn::tensorType(updates).getNumElements() != product({count, length})) {
    node.error() << "updates of shape " << nn::shapeText(updates.shape())
                 << " do not fit indices of shape "
                 << nn::shapeText(indices.shape());
    return {};
  }
  Expr lines = Expr{node, unmarked(x)}.reshape({rows, length});
  updates = Expr{node, unmarked(updates)}.reshape({count, length});
  constexpr int64_t few = 16; // updates: searching is as fast
  if (count > few && rows <= mostInTable)
    if (auto known = knownPlaces(indices, shape))
      if (Expr y = scatterKnown(lines, *known, updates, reduction))
        return {y.reshape(shape)};
  Expr places = flatPlaces({node, unmarked(indices)}, x, 0, depth);
  DataShape counts = node.dataShape(indices);
  counts.pop_back();
  places = {node, node.marked(places, counts)};
  places =
      Expr{node, node.masked(places, places.number(static_cast<double>(rows)))};
  Expr y = scatterRows(lines, places.reshape(count), updates, reduction);
  return {node.marked(y.reshape(shape), sizes)};
}

static Results gatherND(Node &node) {
  Expr x = input(node, 0), indices = input(node, 1);
  int64_t batch = node.integer("batch_dims", 0);
  if (!checkPlaces(node, x, indices, batch))
    return {};
  auto shape = x.shape(), form = indices.shape();
  DataShape sizes = node.dataShape(x), result = node.dataShape(indices);
  int64_t depth = form.back();
  form.pop_back();
  result.pop_back();
  result.append(sizes.begin() + batch + depth, sizes.end());
  int64_t batches = product(ArrayRef(shape).take_front(batch));
  int64_t rows = product(ArrayRef(shape).slice(batch, depth));
  auto rest = ArrayRef(shape).drop_front(batch + depth);
  if (product(ArrayRef(form).take_front(batch)) != batches) {
    node.error() << "x and indices differ in their " << batch
                 << " batch dimensions";
    return {};
  }
  int64_t picked = product(form) / std::max<int64_t>(batches, 1);
  form.append(rest.begin(), rest.end());
  // PyTorch's exporter gathers masks of attention from all positions in order.
  if (batch == 0 && picked == rows && isEveryPlace(indices, shape))
    return {node.marked(Expr{node, unmarked(x)}.reshape(form), result)};
  Expr places = flatPlaces({node, unmarked(indices)}, x, batch, depth)
                    .reshape({batches, picked});
  x = {node, unmarked(x)};
  // Rows of batch i come after those of earlier batches.
  if (batches > 1)
    places = places + iota(node, places.element(), {batches, 1}, 0) *
                          static_cast<double>(rows);
  Expr y = x.reshape({batches * rows, product(rest)}).gather(places, 0);
  return {node.marked(y.reshape(form), result)};
}

/// Writes row b of the update to the cache from position w[b] on, wrapping
/// around if circular.
static Results tensorScatter(Node &node) {
  Expr cache = input(node, 0), update = input(node, 1);
  StringRef mode = node.string("mode", "linear");
  int64_t axis = node.integer("axis", -2);
  if (!cache || !update)
    return {};
  axis = node.axis(axis, cache.rank());
  if (axis == 0 || update.rank() != cache.rank()) {
    node.error() << "has no dimension for the sequence";
    return {};
  }
  Type i64 = node.builder().getI64Type();
  Expr starts = node.has(2) ? input(node, 2) : filled(node, i64, {}, 0);
  if (mode == "linear") {
    if (node.has(2))
      node.checkNumbers(starts, 0, cache.size(axis) - update.size(axis),
                        "writes " + Twine(update.size(axis)) + " of " +
                            Twine(cache.size(axis)) + " entries from there on");
    return {cache.apply<nn::UpdateOp>(
        {update, starts},
        node.named("axis", node.builder().getI64IntegerAttr(axis)))};
  }
  SmallVector<int64_t> line(cache.rank(), 1), batch(cache.rank(), 1);
  line[axis] = update.size(axis);
  if (node.has(2))
    batch[0] = cache.size(0);
  Expr places = iota(node, i64, line, axis) + starts.to(i64).reshape(batch);
  places = places.mod(places.number(cache.size(axis)));
  return {scatter(cache, places.expand(update.shape()), update, axis, "none")};
}

/// Imports OneHot. An index out of range gives a row without a one.
static Results oneHot(Node &node) {
  Expr indices = input(node, 0), values = input(node, 2);
  auto depth = number(node, 1);
  int64_t axis = node.integer("axis", -1);
  if (!indices || !values || !depth)
    return {};
  axis = node.axis(axis, indices.rank() + 1);
  if (node.failed)
    return {};
  Type i64 = node.builder().getI64Type();
  auto form = indices.shape();
  form.insert(form.begin() + axis, 1);
  SmallVector<int64_t> line(form.size(), 1);
  line[axis] = integerOf(*depth);
  Expr places = fromFront(indices.to(i64), line[axis]).reshape(form);
  Expr hot = places.equals(iota(node, i64, line, axis));
  // Constant values are part of the graph; they are not weights.
  if (isa<FloatType>(values.element()) && nn::constantValue(values))
    if (auto offOn = numbers(node, 2, 2))
      return {
          hot.select(values.number((*offOn)[1]), values.number((*offOn)[0]))};
  return {hot.select(values.slice(0, 1, 1).reshape({}),
                     values.slice(0, 0, 1).reshape({}))};
}

/// Selects the entries where a condition holds.
static Results compress(Node &node) {
  Expr x = input(node, 0), condition = input(node, 1);
  auto given = node.attribute("axis");
  int64_t axis = node.integer("axis", 0);
  if (!x || !condition)
    return {};
  if (!given)
    x = x.reshape(nn::tensorType(x).getNumElements());
  axis = node.axis(axis, x.rank());
  if (condition.rank() != 1) {
    node.error() << "needs a vector of conditions";
    return {};
  }
  if (!nn::constantValue(condition))
    return dataDependentCompress(x, condition, axis);
  auto known = node.integers(1);
  if (!known)
    return {};
  SmallVector<int64_t> places;
  for (auto [i, holds] : llvm::enumerate(*known))
    if (holds && static_cast<int64_t>(i) < x.size(axis))
      places.push_back(i);
  return {x.gather(node.constant(places), axis)};
}

/// Reverses the first `length[b]` steps of batch entry b.
static Results reverseSequence(Node &node) {
  Expr x = input(node, 0), lengths = input(node, 1);
  int64_t batch = node.integer("batch_axis", 1);
  int64_t time = node.integer("time_axis", 0);
  if (!x || !lengths)
    return {};
  batch = node.axis(batch, x.rank());
  time = node.axis(time, x.rank());
  if (node.failed)
    return {};
  node.checkNumbers(lengths, 0, x.size(time),
                    "takes lengths of at most " + Twine(x.size(time)) +
                        " steps");
  SmallVector<int64_t> line(x.rank(), 1), column(x.rank(), 1);
  line[time] = x.size(time);
  column[batch] = x.size(batch);
  Expr length = lengths.to(node.builder().getI64Type()).reshape(column);
  Expr place = iota(node, length.element(), line, time);
  Expr source = (place < length).select(length - 1.0 - place, place);
  return {x.gatherElements(source.expand(x.shape()), time)};
}

static Results eyeLike(Node &node) {
  Expr x = input(node, 0);
  int64_t k = node.integer("k", 0);
  int64_t type = node.integer("dtype", 0);
  if (!x || x.rank() != 2) {
    if (!node.failed)
      node.error() << "needs a matrix";
    return {};
  }
  Type element = type ? elementType(type, *node.context()) : x.element();
  if (!element) {
    node.error() << "element type " << dataTypeName(type)
                 << " is not supported";
    return {};
  }
  Type i64 = node.builder().getI64Type();
  Expr row = iota(node, i64, {x.size(0), 1}, 0);
  Expr column = iota(node, i64, {1, x.size(1)}, 1);
  return {(row + static_cast<double>(k)).equals(column).to(element)};
}

/// Selects columns of a table.
static Results arrayFeatures(Node &node) {
  Expr x = input(node, 0), indices = input(node, 1);
  if (!x || !indices)
    return {};
  if (x.rank() == 0)
    return {};
  int64_t count = product(indices.shape()), columns = x.shape().back();
  node.checkNumbers(indices, 0, columns - 1,
                    "selects from " + Twine(columns) + " columns");
  Expr y = x.gather(indices.reshape(count), x.rank() - 1);
  return {x.rank() == 1 ? y.reshape({1, count}) : y};
}

ArrayRef<Hook> frit::importer::indexingHooks() {
  static constexpr Hook hooks[] = {
      {"Scatter", 9, 3, 3, scatterElements, takesCounts},
      {"ScatterElements", 11, 3, 3, scatterElements, takesCounts},
      {"ScatterND", 11, 3, 3, scatterND, takesCounts},
      {"GatherElements", 11, 2, 2, gatherElements, takesCounts},
      {"GatherND", 11, 2, 2, gatherND, takesCounts},
      {"TensorScatter", 24, 2, 3, tensorScatter},
      {"OneHot", 9, 3, 3, oneHot, takesCounts},
      {"Compress", 9, 2, 2, compress, takesCounts},
      {"ReverseSequence", 10, 2, 2, reverseSequence},
      {"EyeLike", 9, 1, 1, eyeLike},
      {"ai.onnx.ml::ArrayFeatureExtractor", 1, 2, 2, arrayFeatures},
  };
  return hooks;
}
