//===- Resize.cpp - Resize, Upsample, CenterCropPad -----------------------===//

#include "compiler/onnx/ops/ResizeAxis.h"
#include "compiler/onnx/reader/Hooks.h"

#include "llvm/ADT/StringExtras.h"

#include <cmath>

using namespace mlir;
using namespace frit;
using namespace frit::importer;

/// Gives all axes the same scale: the smallest or the largest of them.
static void keepAspect(Node &node, StringRef policy,
                       MutableArrayRef<std::pair<int64_t, ResizeAxis>> axes) {
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
static void
chooseLengths(Node &node, const ResizeRules &rules,
              MutableArrayRef<std::pair<int64_t, ResizeAxis>> axes) {
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
  ResizeRules rules{node.string("mode", "nearest"),
                    node.string("nearest_mode", "round_prefer_floor"),
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
  // Before opset 11 there is no attribute: ONNX Runtime takes the element after
  // a place in a smaller result, else that before it.
  if (scalesInput == 1)
    rules.nearest = "simple";
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
  SmallVector<std::pair<int64_t, ResizeAxis>> axes;
  for (auto [i, dim] : llvm::enumerate(dims)) {
    ResizeAxis axis{x.size(dim), 0, 1, 0};
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
