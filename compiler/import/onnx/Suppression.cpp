//===- Suppression.cpp - NonMaxSuppression on data ------------------------===//

#include "compiler/import/onnx/Counted.h"

#include "dialects/nn/Fold.h"

#include <limits>

using namespace mlir;
using namespace frit;
using namespace frit::importer;

/// Boxes of a class that are picked, one after another: each takes a few
/// kernels.
static constexpr int64_t mostRounds = 512;

/// Whole numbers that a 32-bit float has.
static constexpr int64_t mostBoxes = 1 << 24;

static constexpr double lowest = -std::numeric_limits<double>::infinity();

namespace {

/// Corners and areas of all boxes, images x 1 x count; or of one box of every
/// class of every image.
struct Corners {
  Expr top, left, bottom, right, area;

  template <typename Map> Corners map(Map to) const {
    return {to(top), to(left), to(bottom), to(right), to(area)};
  }
};

} // namespace

/// `boxes` by the two corners that they are between, or by their centre.
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

/// Whether boxes share more than `limit` of what they cover.
static Expr overlaps(const Corners &a, const Corners &b, Expr limit) {
  Expr height = a.bottom.min(b.bottom) - a.top.max(b.top);
  Expr width = a.right.min(b.right) - a.left.max(b.left);
  Expr both = height * width, none = both.number(0);
  both = ((height > none) & (width > none)).select(both, none);
  Expr all = a.area + b.area - both;
  return (all > none).select(both / all, none) > limit;
}

/// A number that may be data, or `otherwise` where it is left out.
static Expr optional(Node &node, size_t i, Type element, double otherwise) {
  return node.has(i) ? input(node, i).reshape({}).to(element)
                     : Expr{node, node.scalar(element, otherwise)};
}

/// In every round every class of every image picks its best box, which takes it
/// and those that overlap with it out.
Results frit::importer::countedSuppression(Node &node) {
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
  Type i64 = node.builder().getI64Type(), real = scores.element();
  Expr most = optional(node, 2, i64, 0);
  Expr limit = optional(node, 3, real, 0);
  Expr least = optional(node, 4, real, lowest);
  int64_t rounds = count;
  if (DenseElementsAttr known = most ? nn::constantValue(most) : nullptr)
    rounds = std::clamp<int64_t>(*known.value_begin<int64_t>(), 0, count);
  if (!node.has(2) || rounds == 0 || images * classes == 0)
    return {table(node, {0, 3}, ArrayRef<int64_t>())};
  if (count > mostBoxes) {
    node.error() << "has " << count << " boxes, but at most " << mostBoxes
                 << " can be told apart";
    return {};
  }
  if (rounds > mostRounds) {
    node.error() << "picks up to " << rounds
                 << " boxes of a class, but at most " << mostRounds
                 << " can be, unless all inputs are known"
                 << fixInputsHint(scores);
    return {};
  }

  SmallVector<int64_t> whole = {images, classes, count};
  SmallVector<int64_t> each = {images, classes, 1};
  Corners corners = readCorners(boxes.to(real), fromCentre);
  Corners flat =
      corners.map([&](Expr all) { return all.reshape(images * count); });
  Expr none = {node, node.scalar(real, lowest)};
  Expr left = (scores > least).select(scores, none).expand(whole);
  // Floats, which rows are reduced fastest in; they tell all boxes apart.
  Type f32 = node.builder().getF32Type();
  Expr index = iota(node, f32, {1, 1, count}, 2);
  Expr start = iota(node, i64, {images, 1, 1}, 0) * static_cast<double>(count);
  Expr round = iota(node, i64, {1, 1, rounds}, 2);
  Expr picked = filled(node, i64, {images, classes, rounds}, -1);
  for (int64_t i = 0; i < rounds; ++i) {
    Expr score = left.reduce(nn::Combiner::max, {2}).reshape(each);
    Expr best = left.equals(score)
                    .select(index, index.number(static_cast<double>(count - 1)))
                    .reduce(nn::Combiner::min, {2})
                    .reshape(each);
    Expr place = best.to(i64);
    Expr isThere = (score > none) & (most > static_cast<double>(i));
    Expr isNow = round.equals(round.number(static_cast<double>(i)));
    picked = (isNow & isThere).select(place, picked);
    if (i + 1 == rounds)
      break;
    Expr from = place + start;
    Corners box = flat.map([&](Expr all) { return all.gather(from, 0); });
    Expr isOut = overlaps(corners, box, limit) | index.equals(best);
    left = isOut.select(none, left);
  }

  int64_t total = images * classes * rounds;
  Expr boxOf = picked.reshape(total);
  Ones ones = findOnes((boxOf >= boxOf.number(0)).to(i64));
  Expr at = ones.indices;
  auto per = [](int64_t n) { return static_cast<double>(n); };
  SmallVector<Value> columns = {
      (at / per(classes * rounds)).reshape({total, 1}),
      (at / per(rounds)).mod(at.number(per(classes))).reshape({total, 1}),
      boxOf.gather(at, 0).reshape({total, 1})};
  return {
      node.counted(node.concat(columns, 1), 0, node.count(ones.total, total))};
}
