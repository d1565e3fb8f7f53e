//===- Suppression.cpp - NonMaxSuppression on the device ------------------===//

#include "compiler/onnx/bounded/DataDependent.h"
#include "compiler/onnx/indexing/Order.h"

#include "dialects/nn/Fold.h"
#include "dialects/nn/operators/Suppression.h"

#include <limits>

using namespace mlir;
using namespace frit;
using namespace frit::importer;

/// Up to mostRounds boxes per class are selected one after another, with a few
/// kernels each. Beyond that, boxes are processed in blocks of as many as an
/// integer has bits.
static constexpr int64_t mostRounds = 512, block = 64,
                         mostInBlocks = 512 * block;

/// Integers up to which f32 is exact.
static constexpr int64_t mostBoxes = 1 << 24;

static constexpr double lowest = -std::numeric_limits<double>::infinity();

namespace {

/// Corners and areas of all boxes (images × 1 × count), or of one box per class
/// and image.
struct Corners {
  Expr top, left, bottom, right, area;

  template <typename Map> Corners map(Map to) const {
    return {to(top), to(left), to(bottom), to(right), to(area)};
  }
};

} // namespace

/// Reads `boxes` given by two opposite corners, or by centre and size.
static Corners readCorners(Expr boxes, bool fromCentre) {
  int64_t images = boxes.size(0), count = boxes.size(1);
  auto column = [&](int64_t i) {
    return boxes.slice(2, i, 1).reshape({images, 1, count});
  };
  Expr a = column(0), b = column(1), c = column(2), d = column(3);
  auto corners = [](Expr top, Expr left, Expr bottom, Expr right) {
    return Corners{top, left, bottom, right, (bottom - top) * (right - left)};
  };
  if (fromCentre)
    return corners(b - d * 0.5, a - c * 0.5, b + d * 0.5, a + c * 0.5);
  return corners(a.min(c), b.min(d), a.max(c), b.max(d));
}

/// Returns whether the intersection over union of boxes exceeds `limit`.
static Expr overlaps(const Corners &a, const Corners &b, Expr limit) {
  Expr height = a.bottom.min(b.bottom) - a.top.max(b.top);
  Expr width = a.right.min(b.right) - a.left.max(b.left);
  Expr both = height * width, none = both.number(0);
  both = ((height > none) & (width > none)).select(both, none);
  Expr all = a.area + b.area - both;
  return (all > none).select(both / all, none) > limit;
}

/// Returns a hint to bound the number of boxes by -fbound.
static std::string fixBoundHint(Value value) {
  std::string names;
  for (auto counted = value.getDefiningOp<nn::CountedOp>(); counted;
       counted = counted.getX().getDefiningOp<nn::CountedOp>())
    if (names.empty())
      names = "; -fbound=NODE:N bounds the number of results of a "
              "data-dependent node";
  return names + fixInputsHint(value);
}

/// Returns a scalar input, or `otherwise` if it is omitted.
static Expr optional(Node &node, size_t i, Type element, double otherwise) {
  return node.has(i) ? input(node, i).reshape({}).to(element)
                     : Expr{node, node.scalar(element, otherwise)};
}

namespace {

/// Parameters of a NonMaxSuppression.
struct Suppression {
  Corners corners;
  Expr scores; ///< images × classes × count; lowest if there is no box
  Expr most, limit;
  int64_t images, classes, count, rounds;
};

} // namespace

/// Returns the selected boxes (images × classes × rounds), best first, then -1.
/// In each round, every class of every image selects its best box and removes
/// those that overlap it.
static Expr pickInRounds(const Suppression &s) {
  Node &node = *s.scores.node;
  Type i64 = node.builder().getI64Type();
  SmallVector<int64_t> each = {s.images, s.classes, 1};
  Corners flat =
      s.corners.map([&](Expr all) { return all.reshape(s.images * s.count); });
  Expr left = s.scores, none = left.number(lowest);
  // f32 rows are reduced fastest, and hold all indices exactly.
  Type f32 = node.builder().getF32Type();
  Expr index = iota(node, f32, {1, 1, s.count}, 2);
  Expr start =
      iota(node, i64, {s.images, 1, 1}, 0) * static_cast<double>(s.count);
  Expr round = iota(node, i64, {1, 1, s.rounds}, 2);
  Expr picked = filled(node, i64, {s.images, s.classes, s.rounds}, -1);
  for (int64_t i = 0; i < s.rounds; ++i) {
    Expr score = left.reduce(nn::Combiner::max, {2}).reshape(each);
    Expr best =
        left.equals(score)
            .select(index, index.number(static_cast<double>(s.count - 1)))
            .reduce(nn::Combiner::min, {2})
            .reshape(each);
    Expr place = best.to(i64);
    Expr isThere = (score > none) & (s.most > static_cast<double>(i));
    Expr isNow = round.equals(round.number(static_cast<double>(i)));
    picked = (isNow & isThere).select(place, picked);
    if (i + 1 == s.rounds)
      break;
    Expr from = place + start;
    Corners box = flat.map([&](Expr all) { return all.gather(from, 0); });
    Expr isOut = overlaps(s.corners, box, s.limit) | index.equals(best);
    left = isOut.select(none, left);
  }
  return picked;
}

/// As pickInRounds, for more boxes. Returns images × classes × count in the
/// order of scores, -1 for boxes not selected. keep_bits decides within a
/// block; the kept boxes then remove later boxes, all at once. Empty blocks are
/// skipped.
static Expr pickInBlocks(const Suppression &s) {
  Node &node = *s.scores.node;
  Type i64 = node.builder().getI64Type(), f32 = node.builder().getF32Type();
  int64_t rows = s.images * s.classes;
  int64_t blocks = llvm::divideCeil(s.count, block), all = blocks * block;
  Expr none = s.scores.number(lowest);
  Expr scores =
      s.scores.reshape({rows, s.count}).pad(1, 0, all - s.count, none);
  Expr order = firstInOrder(scores, all, /*isDescending=*/true);
  Expr isLeft = scores.gatherElements(order, 1) > none;
  Expr boxes = isLeft.to(i64).sum(1).reduce(nn::Combiner::max, 0).reshape({});
  auto last = static_cast<double>(s.count - 1);
  Expr images = iota(node, i64, {s.images, 1}, 0)
                    .expand({s.images, s.classes})
                    .reshape({rows, 1});
  Expr places =
      order.min(order.number(last)) + images * static_cast<double>(s.count);
  Corners corners = s.corners.map([&](Expr of) {
    return of.reshape(s.images * s.count).gather(places, 0);
  });
  auto as = [&](const Corners &of, ArrayRef<int64_t> shape) {
    return of.map([&](Expr x) { return x.reshape(shape); });
  };
  SmallVector<int64_t> powers;
  for (int64_t i = 0; i < block; ++i)
    powers.push_back(static_cast<int64_t>(uint64_t(1) << i));
  Expr bits = {node, node.constant(powers)};

  // For each box, the later boxes of its block that it suppresses if kept.
  Expr inner = iota(node, i64, {block, 1}, 0) < iota(node, i64, {1, block}, 1);
  Expr takesOut = overlaps(as(corners, {rows, blocks, block, 1}),
                           as(corners, {rows, blocks, 1, block}), s.limit) &
                  inner;
  takesOut = takesOut.select(bits, bits.number(0)).sum(3).reshape({rows, all});
  Expr index = iota(node, i64, {1, 1, all}, 2);
  // Compute the boxes from a block on, and its first one, from those of the
  // previous block: with constants, no two blocks would share a kernel.
  Expr rest = boxes;
  for (int64_t i = 0; i < blocks; ++i) {
    Expr mine = {node, node.constant(llvm::to_vector(
                           llvm::seq(i * block, (i + 1) * block)))};
    auto own = [&](Expr x) { return x.gather(mine, 1); };
    Expr places = iota(node, i64, block, 0) + (boxes - rest);
    Expr alive = isLeft.gather(places, 1)
                     .select(bits, bits.number(0))
                     .sum(1)
                     .reshape(rows);
    Expr kept = alive.apply<nn::KeepBitsOp>({own(takesOut)});
    Expr isKept = kept.reshape({rows, 1}).apply<nn::BitwiseAndOp>({bits});
    isKept = isKept.equals(isKept.number(0)).logicalNot();
    Expr isOut = overlaps(as(corners.map(own), {rows, block, 1}),
                          as(corners, {rows, 1, all}), s.limit) &
                 isKept.reshape({rows, block, 1}) &
                 (mine.reshape({1, block, 1}) < index);
    isOut =
        isOut.to(f32).reduce(nn::Combiner::max, 1).reshape({rows, all}) > 0.5;
    Expr isThere = rest > 0.0;
    isLeft = isThere.select(isLeft & isOut.logicalNot(), isLeft);
    rest = rest - static_cast<double>(block);
  }
  Expr rank = cumulate(isLeft.to(i64), 1);
  return (isLeft & (rank <= s.most))
      .select(order, order.number(-1))
      .reshape({s.images, s.classes, all});
}

Results frit::importer::dataDependentSuppression(Node &node) {
  Expr boxes = input(node, 0), scores = input(node, 1);
  bool fromCentre = node.integer("center_point_box", 0);
  if (!boxes || !scores)
    return {};
  if (!scores.isFloat() || !boxes.isFloat()) {
    node.error() << "needs boxes and scores that are floats";
    return {};
  }
  auto form = scores.shape();
  int64_t images = form[0], classes = form[1], count = form[2];
  // The areas of boxes do not fit into 16 bits.
  Type i64 = node.builder().getI64Type(), real = nn::workType(scores.element());
  Expr most = optional(node, 2, i64, 0);
  Expr limit = optional(node, 3, real, 0);
  Expr least = optional(node, 4, real, lowest);
  int64_t rounds = count;
  if (DenseElementsAttr known = most ? nn::constantValue(most) : nullptr)
    rounds = std::clamp<int64_t>(*known.value_begin<int64_t>(), 0, count);
  if (!node.has(2) || rounds == 0 || images * classes == 0)
    return {table(node, {0, 3}, ArrayRef<int64_t>())};
  bool fits = count <= (rounds > mostRounds ? mostInBlocks : mostBoxes);
  if (!fits) {
    node.error() << "picks among up to " << count << " boxes of a class, but "
                 << "at most "
                 << (rounds > mostRounds ? mostInBlocks : mostBoxes)
                 << " can be compared" << fixBoundHint(scores);
    return {};
  }
  Expr none = {node, node.scalar(real, lowest)};
  scores = {node, node.masked(scores.to(real), none)};
  boxes = {node, unmarked(boxes)};
  Expr left = (scores > least).select(scores, none);
  Suppression all = {readCorners(boxes.to(real), fromCentre),
                     left.expand({images, classes, count}),
                     most,
                     limit,
                     images,
                     classes,
                     count,
                     rounds};
  Expr picked = rounds > mostRounds ? pickInBlocks(all) : pickInRounds(all);

  int64_t total = product(picked.shape()), each = total / images / classes;
  Expr boxOf = picked.reshape(total);
  Ones ones = findOnes((boxOf >= boxOf.number(0)).to(i64));
  Expr at = ones.indices;
  auto per = [](int64_t n) { return static_cast<double>(n); };
  SmallVector<Value> columns = {
      (at / per(classes * each)).reshape({total, 1}),
      (at / per(each)).mod(at.number(per(classes))).reshape({total, 1}),
      boxOf.gather(at, 0).reshape({total, 1})};
  Size found = node.count(ones.total, images * classes * rounds);
  return {node.markedAlong(node.concat(columns, 1), 0, found)};
}
