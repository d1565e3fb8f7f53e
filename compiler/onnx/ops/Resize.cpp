//===- Resize.cpp - Resize images -----------------------------------------===//
//
// Interpolation is separable, and positions and weights are known at compile
// time: along an axis, every result is a sum of a few elements, selected by
// constant indices and multiplied by constant weights. Keys, "Cubic Convolution
// Interpolation for Digital Image Processing", IEEE Trans. ASSP 29 (1981).
//
//===----------------------------------------------------------------------===//

#include "compiler/onnx/indexing/OpenPlaces.h"
#include "compiler/onnx/reader/Expr.h"
#include "compiler/onnx/reader/Hooks.h"

#include <cmath>

using namespace mlir;
using namespace frit;
using namespace frit::importer;

namespace {

/// The resizing of one axis.
struct Axis {
  int64_t input, output;
  float scale;
  float length;             ///< of the result; with scales, see chooseLengths()
  float start = 0, end = 1; ///< of the region of interest
  bool hasSize = false;     ///< the result's size is given, not a scale
};

struct Rules {
  StringRef mode, nearest, coordinates;
  double cubic;
  bool excludesOutside, antialias;
};

/// The source elements of one result.
struct Place {
  int64_t first;
  bool isOutside; ///< of the region; the result is the extrapolation value
};

} // namespace

/// Returns the source coordinate of result `i`, computed in f32: as a scale is
/// f32, only then does 7 / 0.7 give 10. ONNX Runtime and PyTorch do the same.
static float placeOf(int64_t i, const Axis &axis, StringRef coordinates) {
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
static double narrowOf(const Axis &axis, const Rules &rules) {
  return rules.antialias ? std::min(axis.scale, 1.0F) : 1;
}

/// Returns the start of the filter relative to the element before a position;
/// its end is symmetric.
static int64_t beginOf(const Axis &axis, const Rules &rules) {
  double reach = rules.mode == "cubic" ? -2 : -1;
  return static_cast<int64_t>(std::floor(reach / narrowOf(axis, rules)) + 1);
}

/// Returns the number of elements per result.
static int64_t countTaps(const Axis &axis, const Rules &rules) {
  return rules.mode == "nearest" ? 1 : 2 - 2 * beginOf(axis, rules);
}

/// Computes the source elements of a result and their weights.
static Place weigh(double place, const Axis &axis, const Rules &rules,
                   MutableArrayRef<double> weights) {
  bool isOutside = rules.coordinates == "tf_crop_and_resize" &&
                   (place < 0 || place > static_cast<double>(axis.input - 1));
  if (rules.mode == "nearest") {
    double nearest = rules.nearest == "floor"  ? std::floor(place)
                     : rules.nearest == "ceil" ? std::ceil(place)
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
static Expr resizeAxis(Expr x, int64_t dim, const Axis &axis,
                       const Rules &rules, double outside) {
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
static bool followsSize(Node &node, const Axis &axis, const Rules &rules) {
  bool isBetween = axis.hasSize &&
                   (rules.mode != "nearest" || axis.output % axis.input != 0);
  bool isKnown = rules.coordinates == "align_corners" ||
                 (isBetween && (rules.coordinates == "half_pixel" ||
                                rules.coordinates == "pytorch_half_pixel"));
  return isKnown && !rules.antialias && !rules.excludesOutside &&
         axis.output > 1 && hasOpenLengths(node);
}

/// As resizeAxis, where an open size decides the places.
static Expr resizeOpenAxis(Expr x, int64_t dim, const Axis &axis,
                           const Rules &rules) {
  Node &node = *x.node;
  Type f32 = node.builder().getF32Type(), i64 = node.builder().getI64Type();
  Expr place = openIota(node, f32, axis.output);
  auto input = double(axis.input), output = double(axis.output);
  // As a sum, so that the scale is not folded to one number.
  Expr whole = openIota(node, f32, 1) + output;
  if (rules.coordinates == "align_corners")
    place = place * (input - 1) / (output - 1);
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

static Value resizeAxes(Expr x, ArrayRef<std::pair<int64_t, Axis>> axes,
                        const Rules &rules, double outside) {
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

/// Gives all axes the same scale: the smallest or the largest of them.
static void keepAspect(Node &node, StringRef policy,
                       MutableArrayRef<std::pair<int64_t, Axis>> axes) {
  if (policy == "stretch" || axes.empty())
    return;
  float scale = axes[0].second.scale;
  for (auto &[dim, axis] : axes)
    scale = policy == "not_larger" ? std::min(scale, axis.scale)
                                   : std::max(scale, axis.scale);
  if (policy != "not_larger" && policy != "not_smaller")
    node.error() << "keep_aspect_ratio_policy '" << policy
                 << "' is none of stretch, not_larger and not_smaller";
  for (auto &[dim, axis] : axes) {
    axis.scale = scale;
    axis.length = std::round(scale * static_cast<float>(axis.input));
    axis.output = integerOf(axis.length);
  }
}

/// Decides where the last of 10 · 0.75 results lies with corners aligned, which
/// ONNX leaves open: its text means the 7 that there are, as PyTorch and ONNX
/// Runtime do; its node tests (resize_downsample_scales_linear_align_corners)
/// mean 7.5. frit follows the exporter if it is PyTorch's, else the tests.
static void chooseLengths(Node &node, const Rules &rules,
                          MutableArrayRef<std::pair<int64_t, Axis>> axes) {
  if (rules.coordinates != "align_corners")
    return;
  for (auto &[dim, axis] : axes) {
    const auto whole = static_cast<float>(axis.output);
    if (axis.length == whole)
      continue;
    if (node.producer() == "pytorch") {
      axis.length = whole;
      continue;
    }
    SmallString<16> length;
    APFloat(axis.length).toString(length, /*FormatPrecision=*/6);
    emitWarning(node.loc) << "aligns the corners of " << axis.input
                          << " elements with those of " << length
                          << ", as ONNX's tests do; PyTorch and ONNX Runtime "
                             "align them with those of "
                          << axis.output << ": for these, give 'sizes' instead "
                          << "of 'scales' [-Wresize]";
    return;
  }
}

static bool isOneOf(Node &node, StringRef name, StringRef value,
                    ArrayRef<StringRef> values) {
  if (llvm::is_contained(values, value))
    return true;
  node.error() << "attribute '" << name << "' is '" << value
               << "', which is none of " << llvm::join(values, ", ");
  return false;
}

/// Imports a resizing whose scales or sizes are inputs, or `factors` if these
/// are given.
static Results resizeBy(Node &node, size_t roiInput, size_t scalesInput,
                        size_t sizesInput, StringRef coordinates,
                        ArrayRef<double> factors = {}) {
  Expr x = input(node, 0);
  Rules rules{node.string("mode", "nearest"),
              node.string("nearest_mode",
                          scalesInput == 1 ? "floor" : "round_prefer_floor"),
              node.string("coordinate_transformation_mode", coordinates),
              node.real("cubic_coeff_a", -0.75),
              node.integer("exclude_outside", 0) != 0,
              node.integer("antialias", 0) != 0};
  if (rules.mode == "bilinear")
    rules.mode = "linear";
  double outside = node.real("extrapolation_value", 0);
  StringRef policy = node.string("keep_aspect_ratio_policy", "stretch");
  auto given = node.integers("axes");
  if (!x)
    return {};
  isOneOf(node, "mode", rules.mode, {"nearest", "linear", "cubic"});
  isOneOf(node, "nearest_mode", rules.nearest,
          {"floor", "ceil", "round_prefer_floor", "round_prefer_ceil"});
  isOneOf(node, "coordinate_transformation_mode", rules.coordinates,
          {"align_corners", "asymmetric", "tf_crop_and_resize",
           "tf_half_pixel_for_nn", "half_pixel", "pytorch_half_pixel",
           "half_pixel_symmetric"});
  auto dims = given.value_or(llvm::to_vector(llvm::seq<int64_t>(x.rank())));
  for (int64_t &dim : dims)
    dim = node.axis(dim, x.rank());
  if (node.axes(dims, x.rank()).size() != dims.size())
    return {};
  auto isThere = [&](size_t i) {
    return node.has(i) && nn::tensorType(node.input(i)).getNumElements() != 0;
  };
  std::optional<SmallVector<double>> scales, sizes, region;
  bool hasSizes = isThere(sizesInput);
  if (hasSizes)
    sizes = numbers(node, sizesInput, dims.size());
  else if (factors.size() == dims.size())
    scales = llvm::to_vector(factors);
  else if (!factors.empty())
    node.error() << "has " << factors.size() << " scales for " << dims.size()
                 << " dimensions";
  else
    scales = numbers(node, scalesInput, dims.size());
  if (rules.coordinates == "tf_crop_and_resize")
    region = numbers(node, roiInput, 2 * dims.size());
  if (node.failed)
    return {};
  SmallVector<std::pair<int64_t, Axis>> axes;
  for (auto [i, dim] : llvm::enumerate(dims)) {
    Axis axis{x.size(dim), 0, 1, 0};
    auto n = static_cast<float>(axis.input);
    if (hasSizes) {
      axis.output = integerOf((*sizes)[i]);
      axis.hasSize = true;
      axis.length = static_cast<float>(axis.output);
      axis.scale = axis.length / n;
    } else {
      axis.scale = static_cast<float>((*scales)[i]);
      axis.length = axis.scale * n;
      axis.output = integerOf(std::floor(axis.length));
    }
    if (region) {
      axis.start = static_cast<float>((*region)[i]);
      axis.end = static_cast<float>((*region)[i + dims.size()]);
    }
    axes.push_back({dim, axis});
  }
  if (hasSizes)
    keepAspect(node, policy, axes);
  // Each element of the filter becomes an operator with a table of weights.
  constexpr double leastScale = 1.0 / 1024;
  chooseLengths(node, rules, axes);
  SmallVector<int64_t> shape = x.shape();
  for (auto &[dim, axis] : axes) {
    shape[dim] = axis.output;
    if (axis.output == 0 && axis.input == 0)
      continue;
    if (axis.output < 1 || axis.input < 1 ||
        (rules.antialias && !(axis.scale >= leastScale)) ||
        axis.output > mostInTable / countTaps(axis, rules))
      node.error() << "cannot resize dimension " << dim << " from "
                   << axis.input << " to " << axis.output << " elements";
  }
  if (node.failed)
    return {};
  if (product(shape) == 0)
    return {node.expand(node.scalar(x, 0), shape)};
  return {resizeAxes(x, axes, rules, outside)};
}

static Results resize(Node &node) {
  return resizeBy(node, 1, 2, 3, "half_pixel");
}

/// Imports Resize before opset 11: scales only, and asymmetric coordinates.
static Results resizeByScales(Node &node) {
  return resizeBy(node, 4, 1, 5, "asymmetric");
}

/// Imports Upsample before opset 9, whose scales are an attribute.
static Results upsample(Node &node) {
  SmallVector<double> scales = node.reals("scales");
  if (scales.empty()) {
    node.error() << "has no attribute 'scales'";
    return {};
  }
  return resizeBy(node, 4, 1, 5, "asymmetric", scales);
}

/// Crops every dimension to its centre, or pads it symmetrically with zeros.
static Results centerCropPad(Node &node) {
  Expr x = input(node, 0);
  auto shape = node.integers(1);
  auto given = node.integers("axes");
  if (!x || !shape)
    return {};
  auto dims = given.value_or(llvm::to_vector(llvm::seq<int64_t>(x.rank())));
  if (dims.size() != shape->size()) {
    node.error() << "has " << shape->size() << " sizes for " << dims.size()
                 << " axes";
    return {};
  }
  for (auto [given, target] : llvm::zip_equal(dims, *shape)) {
    int64_t dim = node.axis(given, x.rank());
    if (target < 0)
      node.error() << "cannot have " << target << " elements in dimension "
                   << dim;
    if (node.failed)
      return {};
    int64_t size = x.size(dim);
    if (target < size)
      x = x.slice(dim, (size - target) / 2, target);
    else
      x = x.pad(dim, (target - size) / 2, target - size - (target - size) / 2);
  }
  return {x};
}

ArrayRef<Hook> frit::importer::resizeHooks() {
  static constexpr Hook hooks[] = {
      {"Upsample", 7, 1, 1, upsample},
      {"Upsample", 9, 2, 2, resizeByScales},
      {"Resize", 10, 2, 2, resizeByScales},
      {"Resize", 11, 1, 4, resize},
      {"CenterCropPad", 18, 2, 2, centerCropPad},
  };
  return hooks;
}
