//===- ResizeAxis.cpp - Resize images axis by axis ------------------------===//
//
// Interpolation is separable, and positions and weights are known at compile
// time: along an axis, every result is a sum of a few elements, selected by
// constant indices and multiplied by constant weights. Keys, "Cubic Convolution
// Interpolation for Digital Image Processing", IEEE Trans. ASSP 29 (1981).
//
//===----------------------------------------------------------------------===//

#include "compiler/onnx/ops/ResizeAxis.h"

#include "compiler/onnx/indexing/OpenPlaces.h"

#include <cmath>

using namespace mlir;
using namespace frit;
using namespace frit::importer;

namespace {

/// The source elements of one result.
struct Place {
  int64_t first;
  bool isOutside; ///< of the region; the result is the extrapolation value
};

} // namespace

/// Returns the source coordinate of result `i`, computed in f32: as a scale is
/// f32, only then does 7 / 0.7 give 10. ONNX Runtime and PyTorch do the same.
static float placeOf(int64_t i, const ResizeAxis &axis, StringRef coordinates) {
  auto at = static_cast<float>(i), n = static_cast<float>(axis.input);
  auto length = static_cast<float>(axis.output);
  if (coordinates == "align_corners")
    return axis.length == 1 ? 0 : at * (n - 1) / (axis.length - 1);
  if (coordinates == "asymmetric")
    return at / axis.scale;
  if (coordinates == "tf_crop_and_resize") {
    float span = (axis.end - axis.start) * (n - 1);
    return axis.start * (n - 1) +
           (length == 1 ? span / 2 : at * span / (length - 1));
  }
  if (coordinates == "tf_half_pixel_for_nn")
    return (at + 0.5F) / axis.scale;
  if (coordinates == "pytorch_half_pixel" && length == 1)
    return 0;
  if (coordinates == "half_pixel_symmetric") {
    float offset = n / 2 * (1 - length / (axis.scale * n));
    return static_cast<float>(offset + (at + 0.5) / axis.scale - 0.5);
  }
  return (at + 0.5F) / axis.scale - 0.5F;
}

static double cubicWeight(double distance, double a) {
  double x = std::abs(distance);
  if (x <= 1)
    return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/// Returns the factor for distances with antialiasing: when downsampling, the
/// filter widens so that it covers all elements.
static double narrowOf(const ResizeAxis &axis, const ResizeRules &rules) {
  return rules.antialias ? std::min(axis.scale, 1.0F) : 1;
}

/// Returns the start of the filter relative to the element before a position;
/// its end is symmetric.
static int64_t beginOf(const ResizeAxis &axis, const ResizeRules &rules) {
  double reach = rules.mode == "cubic" ? -2 : -1;
  return static_cast<int64_t>(std::floor(reach / narrowOf(axis, rules)) + 1);
}

int64_t frit::importer::countTaps(const ResizeAxis &axis,
                                  const ResizeRules &rules) {
  return rules.mode == "nearest" ? 1 : 2 - 2 * beginOf(axis, rules);
}

/// Computes the source elements of a result and their weights.
static Place weigh(double place, const ResizeAxis &axis,
                   const ResizeRules &rules, MutableArrayRef<double> weights) {
  bool isOutside = rules.coordinates == "tf_crop_and_resize" &&
                   (place < 0 || place > static_cast<double>(axis.input - 1));
  if (rules.mode == "nearest") {
    bool isSmaller = rules.nearest == "simple" && axis.scale < 1;
    double nearest = rules.nearest == "ceil" || isSmaller ? std::ceil(place)
                     : rules.nearest == "floor" || rules.nearest == "simple"
                         ? std::floor(place)
                     : rules.nearest == "round_prefer_ceil"
                         ? std::floor(place + 0.5)
                         : std::ceil(place - 0.5);
    weights[0] = 1;
    return {integerOf(nearest), isOutside};
  }
  double base = std::ceil(place) - 1, ratio = place - base;
  double narrow = narrowOf(axis, rules), sum = 0;
  int64_t begin = beginOf(axis, rules), first = integerOf(base) + begin;
  for (auto [tap, weight] : llvm::enumerate(weights)) {
    auto i = static_cast<int64_t>(tap);
    double distance = narrow * (static_cast<double>(begin + i) - ratio);
    weight = rules.mode == "cubic" ? cubicWeight(distance, rules.cubic)
                                   : std::max(1 - std::abs(distance), 0.0);
    int64_t at = first + i;
    if (rules.excludesOutside && (at < 0 || at >= axis.input))
      weight = 0;
    sum += weight;
  }
  if (rules.antialias || rules.excludesOutside)
    for (double &weight : weights)
      weight /= sum;
  return {first, isOutside};
}

/// Resizes one axis of x; `outside` is the extrapolation value.
static Expr resizeAxis(Expr x, int64_t dim, const ResizeAxis &axis,
                       const ResizeRules &rules, double outside) {
  Node &node = *x.node;
  size_t taps = countTaps(axis, rules);
  std::vector<Place> results;
  std::vector<double> all(axis.output * taps);
  for (int64_t i = 0; i < axis.output; ++i) {
    double place = placeOf(i, axis, rules.coordinates);
    if (std::isnan(place)) {
      node.error() << "its region of dimension " << dim << " is not a number";
      return {node, {}};
    }
    // All positions that far outside are equivalent.
    constexpr double farthest = 1e15;
    results.push_back(weigh(std::clamp(place, -farthest, farthest), axis, rules,
                            MutableArrayRef(all).slice(i * taps, taps)));
  }
  SmallVector<int64_t> line(x.rank(), 1);
  line[dim] = axis.output;
  Expr y = {node, {}};
  for (size_t tap = 0; tap < taps && !node.failed; ++tap) {
    SmallVector<int64_t> places;
    SmallVector<double> weights;
    for (auto [i, result] : llvm::enumerate(results)) {
      int64_t place = result.first + static_cast<int64_t>(tap);
      places.push_back(std::clamp<int64_t>(place, 0, axis.input - 1));
      weights.push_back(all[i * taps + tap]);
    }
    if (llvm::all_of(weights, [](double w) { return w == 0; }))
      continue;
    Expr part = x.gather(node.constant(places), dim);
    if (!llvm::all_of(weights, [](double w) { return w == 1; }))
      part = part * table(node, x.element(), line, weights);
    y = y.value ? y + part : part;
  }
  SmallVector<double> isIn;
  for (const Place &result : results)
    isIn.push_back(!result.isOutside);
  if (llvm::is_contained(isIn, 0.0))
    y = table(node, node.builder().getI1Type(), line, isIn)
            .select(y, y.number(outside));
  return y;
}

/// Returns the weight of an element at a distance, from 0 to 1 or, of outer
/// elements, from 1 to 2 (cubicWeight).
static Expr openCubicWeight(Expr x, double a, bool isOuter) {
  if (isOuter)
    return ((x * a - 5 * a) * x + 8 * a) * x - 4 * a;
  return (x * (a + 2) - (a + 3)) * x * x + 1.0;
}

/// Returns whether the places between elements depend on an open size in a way
/// that tables of several sizes do not share.
static bool followsSize(Node &node, const ResizeAxis &axis,
                        const ResizeRules &rules) {
  bool isBetween =
      axis.hasSize && (rules.mode != "nearest" ||
                       axis.output % axis.input != 0 || node.computesPlaces());
  bool isKnown =
      rules.coordinates == "align_corners" ||
      (isBetween && (rules.coordinates == "half_pixel" ||
                     rules.coordinates == "pytorch_half_pixel")) ||
      (isBetween && node.computesPlaces() &&
       rules.coordinates == "asymmetric" && rules.nearest != "simple");
  return isKnown && !rules.antialias && !rules.excludesOutside &&
         axis.output > 1 && hasOpenLengths(node);
}

/// As resizeAxis, where an open size decides the places.
static Expr resizeOpenAxis(Expr x, int64_t dim, const ResizeAxis &axis,
                           const ResizeRules &rules) {
  Node &node = *x.node;
  Type f32 = node.builder().getF32Type(), i64 = node.builder().getI64Type();
  Expr place = openIota(node, f32, axis.output);
  auto input = double(axis.input), output = double(axis.output);
  // As a sum, so that the scale is not folded to one number.
  Expr whole = openIota(node, f32, 1) + output;
  if (rules.coordinates == "align_corners")
    place = place * (input - 1) / (output - 1);
  else if (rules.coordinates == "asymmetric")
    place = place / (whole / input);
  else
    place = (place + 0.5) / (whole / input) - 0.5;
  SmallVector<int64_t> line(x.rank(), 1);
  line[dim] = axis.output;
  auto gather = [&](Expr at) {
    Expr index = at.to(i64);
    return x.gather(index.max(index.number(0)).min(index.number(input - 1)),
                    dim);
  };
  if (rules.mode == "nearest") {
    bool isCeiled =
        rules.nearest == "ceil" || rules.nearest == "round_prefer_floor";
    if (rules.nearest == "round_prefer_ceil")
      place = place + 0.5;
    else if (rules.nearest == "round_prefer_floor")
      place = place - 0.5;
    return gather(isCeiled ? place.apply<nn::CeilOp>()
                           : place.apply<nn::FloorOp>());
  }
  Expr low = place.apply<nn::FloorOp>(), ratio = place - low;
  auto weighed = [&](double offset, Expr weight) {
    return gather(low + offset) * weight.to(x.element()).reshape(line);
  };
  if (rules.mode == "cubic") {
    double a = rules.cubic;
    Expr y = weighed(-1, openCubicWeight(ratio + 1.0, a, true));
    y = y + weighed(0, openCubicWeight(ratio, a, false));
    y = y + weighed(1, openCubicWeight(1.0 - ratio, a, false));
    return y + weighed(2, openCubicWeight(2.0 - ratio, a, true));
  }
  Expr y = weighed(0, 1.0 - ratio);
  return y + weighed(1, ratio);
}

Value frit::importer::resizeAxes(Expr x,
                                 ArrayRef<std::pair<int64_t, ResizeAxis>> axes,
                                 const ResizeRules &rules, double outside) {
  Node &node = *x.node;
  Type element = x.element();
  bool moves = rules.mode == "nearest";
  bool isInteger = !isa<FloatType>(element);
  Expr y = moves ? x
                 : x.to(isInteger ? Type(node.builder().getF32Type())
                                  : nn::workType(element));
  for (auto &[dim, axis] : axes) {
    bool same = axis.scale == 1 && axis.output == axis.input &&
                axis.start == 0 && axis.end == 1;
    if (!same)
      y = followsSize(node, axis, rules)
              ? resizeOpenAxis(y, dim, axis, rules)
              : resizeAxis(y, dim, axis, rules, outside);
    if (node.failed)
      return {};
  }
  if (isInteger && !moves)
    y = y.apply<nn::RoundOp>();
  return y.to(element);
}
