//===- Known.cpp - Data-dependent operators on constants ------------------===//
//
// The number of results may be known at compile time; then the results are
// constants. Otherwise DataDependent.cpp builds them.
//
//===----------------------------------------------------------------------===//

#include "compiler/onnx/bounded/DataDependent.h"
#include "compiler/onnx/reader/Hooks.h"

#include "dialects/nn/Fold.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

using namespace mlir;
using namespace frit;
using namespace frit::importer;

/// Returns whether an input is present and not constant.
static bool isData(Node &node, size_t i) {
  return node.has(i) && !nn::constantValue(node.input(i));
}

/// Returns the elements of an input as numbers.
static std::optional<SmallVector<double>> elements(Node &node, size_t i) {
  Value x = node.input(i);
  return x ? numbers(node, i, nn::tensorType(x).getNumElements())
           : std::nullopt;
}

/// Computes the indices of the nonzero elements, one column each.
static Results nonZero(Node &node) {
  if (isData(node, 0))
    return dataDependentNonZero(node);
  Value x = node.input(0);
  auto values = elements(node, 0);
  if (!values)
    return {};
  auto shape = sizes(x);
  int64_t rank = std::max<int64_t>(shape.size(), 1);
  SmallVector<SmallVector<int64_t>> rows(rank);
  for (auto [flat, value] : llvm::enumerate(*values)) {
    if (value == 0)
      continue;
    auto rest = static_cast<int64_t>(flat);
    for (int64_t d = rank; d-- > 0;) {
      int64_t size = shape.empty() ? 1 : shape[d];
      rows[d].push_back(rest % size);
      rest /= size;
    }
  }
  SmallVector<int64_t> all;
  for (const auto &row : rows)
    all.append(row);
  return {table(node, {rank, static_cast<int64_t>(rows[0].size())}, all)};
}

/// Compares numbers with NaN as the largest and equal to itself, because
/// sorting needs a total order.
static bool isLess(double a, double b) {
  return std::isnan(b) ? !std::isnan(a) : a < b;
}

namespace {
struct SliceOrder {
  bool operator()(const std::vector<double> &a,
                  const std::vector<double> &b) const {
    return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end(),
                                        isLess);
  }
};
} // namespace

/// Computes the distinct slices along an axis, or elements: sorted, or in order
/// of first appearance.
static Results unique(Node &node) {
  if (isData(node, 0))
    return dataDependentUnique(node);
  Expr x = input(node, 0);
  auto values = elements(node, 0);
  bool hasAxis = node.attribute("axis");
  int64_t axis = node.integer("axis", 0);
  bool sorts = node.integer("sorted", 1);
  if (!values)
    return {};
  if (!hasAxis)
    x = x.reshape(static_cast<int64_t>(values->size()));
  axis = node.axis(axis, x.rank());
  if (node.failed)
    return {};
  auto shape = x.shape();
  // The number of empty slices may exceed memory.
  if (values->empty() && shape[axis] != 0) {
    node.error() << "has no elements";
    return {};
  }
  int64_t outer = product(ArrayRef(shape).take_front(axis)),
          inner = product(ArrayRef(shape).drop_front(axis + 1));
  std::map<std::vector<double>, int64_t, SliceOrder> groups;
  SmallVector<int64_t> firsts, counts, groupOf;
  for (int64_t i = 0; i < shape[axis]; ++i) {
    std::vector<double> slice;
    for (int64_t a = 0; a < outer; ++a)
      for (int64_t b = 0; b < inner; ++b)
        slice.push_back((*values)[(a * shape[axis] + i) * inner + b]);
    auto [it, isNew] = groups.try_emplace(slice, firsts.size());
    if (isNew) {
      firsts.push_back(i);
      counts.push_back(0);
    }
    ++counts[it->second];
    groupOf.push_back(it->second);
  }
  auto order = llvm::to_vector(llvm::seq<int64_t>(firsts.size()));
  if (sorts) {
    order.clear();
    for (const auto &group : groups)
      order.push_back(group.second);
  }
  SmallVector<int64_t> places(order.size()), chosen, sizes, back;
  for (auto [place, group] : llvm::enumerate(order)) {
    places[group] = place;
    chosen.push_back(firsts[group]);
    sizes.push_back(counts[group]);
  }
  for (int64_t group : groupOf)
    back.push_back(places[group]);
  Value indices = node.constant(chosen);
  return {x.gather(indices, axis), indices, node.constant(back),
          node.constant(sizes)};
}

//===----------------------------------------------------------------------===//
// NonMaxSuppression
//===----------------------------------------------------------------------===//

namespace {
struct Box {
  double top, left, bottom, right;
  double area() const { return (bottom - top) * (right - left); }
};
} // namespace

static double overlap(const Box &a, const Box &b) {
  double height = std::min(a.bottom, b.bottom) - std::max(a.top, b.top);
  double width = std::min(a.right, b.right) - std::max(a.left, b.left);
  if (height <= 0 || width <= 0)
    return 0;
  double both = height * width, all = a.area() + b.area() - both;
  return all > 0 ? both / all : 0;
}

static Box readBox(ArrayRef<double> v, bool fromCentre) {
  if (fromCentre)
    return {v[1] - v[3] / 2, v[0] - v[2] / 2, v[1] + v[3] / 2, v[0] + v[2] / 2};
  return {std::min(v[0], v[2]), std::min(v[1], v[3]), std::max(v[0], v[2]),
          std::max(v[1], v[3])};
}

/// Imports NonMaxSuppression by greedy selection per class and image: the best
/// box, then the best of those that do not overlap it too much, and so on.
static Results nonMaxSuppression(Node &node) {
  Value boxes = node.input(0), scores = node.input(1);
  if (!boxes || !scores)
    return {};
  auto form = sizes(scores), boxForm = sizes(boxes);
  if (form.size() != 3 || boxForm.size() != 3 || boxForm[2] != 4 ||
      boxForm[0] != form[0] || boxForm[1] != form[2]) {
    node.error() << "boxes of shape " << nn::shapeText(boxForm)
                 << " do not fit scores of shape " << nn::shapeText(form);
    return {};
  }
  if (llvm::any_of(llvm::seq<size_t>(5),
                   [&](size_t i) { return isData(node, i); }))
    return dataDependentSuppression(node);
  bool fromCentre = node.integer("center_point_box", 0);
  auto corners = elements(node, 0), points = elements(node, 1);
  auto optional = [&](size_t i, double otherwise) {
    return node.has(i) ? number(node, i).value_or(otherwise) : otherwise;
  };
  double most = optional(2, 0), limit = optional(3, 0);
  double least = optional(4, -std::numeric_limits<double>::infinity());
  if (!corners || !points || node.failed)
    return {};
  int64_t count = form[2];
  SmallVector<int64_t> chosen;
  // With an empty input, its data do not bound the other sizes.
  if (points->empty())
    return {table(node, {0, 3}, chosen)};
  for (int64_t image = 0; image < form[0]; ++image)
    for (int64_t kind = 0; kind < form[1]; ++kind) {
      auto score =
          ArrayRef(*points).slice((image * form[1] + kind) * count, count);
      auto order = llvm::to_vector(llvm::seq<int64_t>(count));
      llvm::stable_sort(order, [&](int64_t a, int64_t b) {
        return isLess(-score[a], -score[b]);
      });
      SmallVector<Box> kept;
      for (int64_t i : order) {
        if (static_cast<double>(kept.size()) >= most || score[i] <= least)
          break;
        Box box = readBox(ArrayRef(*corners).slice((image * count + i) * 4, 4),
                          fromCentre);
        if (llvm::any_of(kept, [&](const Box &other) {
              return overlap(box, other) > limit;
            }))
          continue;
        kept.push_back(box);
        chosen.append({image, kind, i});
      }
    }
  return {table(node, {static_cast<int64_t>(chosen.size()) / 3, 3}, chosen)};
}

//===----------------------------------------------------------------------===//
// Optionals
//===----------------------------------------------------------------------===//

static Results optionalHasElement(Node &node) {
  return {node.scalar(node.builder().getI1Type(), node.has(0))};
}

/// Returns the input: an optional is imported as its value.
static Results sameValue(Node &node) { return {node.input(0)}; }

ArrayRef<Hook> frit::importer::knownHooks() {
  static constexpr Hook hooks[] = {
      {"NonZero", 9, 1, 1, nonZero, takesCounts},
      {"Unique", 11, 1, 1, unique},
      {"NonMaxSuppression", 10, 2, 5, nonMaxSuppression, takesCounts},
      {"Optional", 15, 1, 1, sameValue, takesLists | takesCounts},
      {"OptionalHasElement", 15, 0, 1, optionalHasElement,
       takesLists | takesCounts},
      {"OptionalGetElement", 15, 1, 1, sameValue, takesLists | takesCounts},
  };
  return hooks;
}
