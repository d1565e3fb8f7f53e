//===- RoiAlign.cpp - Resample regions of images to one size --------------===//
//
// Mask R-CNN's RoIAlign (He et al., arXiv:1703.06870): each bin of a region is
// the mean or maximum of bilinear samples.
//
//===----------------------------------------------------------------------===//

#include "compiler/onnx/ops/Sampling.h"
#include "compiler/onnx/reader/Node.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;

namespace {
/// The two neighbours of positions along a dimension, and their weights.
struct Pair {
  Expr low, high, lowWeight, highWeight;
};
} // namespace

/// Returns the neighbours of positions. Positions up to 1 outside are clamped
/// to the border; those further out have weight 0.
static Pair around(Expr place, int64_t size) {
  auto last = static_cast<double>(size - 1);
  Expr isIn = (place >= -1.0) & (place <= static_cast<double>(size));
  Expr at = place.clamp(0, last);
  Expr low = at.apply<nn::FloorOp>(), rest = at - low;
  Expr counts = isIn.to(place.element());
  return {low, (low + 1.0).clamp(0, last), (1.0 - rest) * counts,
          rest * counts};
}

/// Returns the sample positions of every region along one dimension:
/// regions×(bins·ratio).
static Expr samples(Expr start, Expr end, int64_t bins, int64_t ratio,
                    bool halfPixel) {
  Node &node = *start.node;
  Expr length = end - start;
  if (!halfPixel)
    length = length.max(length.number(1));
  Expr step = length / static_cast<double>(bins * ratio);
  Expr i = iota(node, start.element(), {1, bins * ratio}, 1) + 0.5;
  return start + i * step;
}

Results frit::importer::roiAlign(Node &node) {
  Expr x = input(node, 0), rois = input(node, 1), batch = input(node, 2);
  bool halfPixel =
      node.opset >= 16 && node.string("coordinate_transformation_mode",
                                      "half_pixel") == "half_pixel";
  StringRef mode = node.string("mode", "avg");
  int64_t height = node.integer("output_height", 1);
  int64_t width = node.integer("output_width", 1);
  int64_t ratio = node.integer("sampling_ratio", 0);
  double scale = node.real("spatial_scale", 1);
  if (!x || !rois || !batch)
    return {};
  if (x.rank() != 4 || rois.rank() != 2 || rois.size(1) != 4 || height < 1 ||
      width < 1) {
    node.error() << "needs an image and regions of 4 coordinates";
    return {};
  }
  node.checkNumbers(batch, 0, x.size(0) - 1,
                    "takes regions of " + Twine(x.size(0)) +
                        (x.size(0) == 1 ? " image" : " images"));
  if (ratio < 1) {
    node.error() << "a sampling_ratio of 0, by which the number of samples "
                    "depends on the regions, is not supported";
    return {};
  }
  int64_t points = product({height, ratio, width, ratio});
  if (points > mostInTable) {
    node.error() << points << " samples of a region are more than "
                 << mostInTable;
    return {};
  }
  int64_t count = rois.size(0), channels = x.size(1);
  Type element = x.element(), work = nn::workType(element);
  Expr corners = rois.to(work) * scale;
  if (halfPixel)
    corners = corners - 0.5;
  auto corner = [&](int64_t i) { return corners.slice(1, i, 1); };
  auto form = [&](Expr v, bool isRow) {
    return v.reshape(isRow ? SmallVector<int64_t>{count, height * ratio, 1}
                           : SmallVector<int64_t>{count, 1, width * ratio});
  };
  Pair ys = around(
      form(samples(corner(1), corner(3), height, ratio, halfPixel), true),
      x.size(2));
  Pair xs = around(
      form(samples(corner(0), corner(2), width, ratio, halfPixel), false),
      x.size(3));
  bool isOne = x.size(0) == 1;
  Expr flatX = x.reshape({x.size(0), channels, x.size(2) * x.size(3)});
  Expr images = isOne ? flatX : flatX.gather(batch, 0);
  auto part = [&](Expr row, Expr rowWeight, Expr column, Expr columnWeight) {
    Expr flat = flatIndex(row, x.size(3), column);
    flat = flat.reshape(isOne ? SmallVector<int64_t>{count, points}
                              : SmallVector<int64_t>{count, 1, points});
    Expr weight = (rowWeight * columnWeight).reshape({count, 1, points});
    // There is only one image.
    Expr picked = isOne ? images.reshape({channels, x.size(2) * x.size(3)})
                              .gather(flat, 1)
                              .transpose({1, 0, 2})
                        : pick(images, flat, points);
    return picked.to(work) * weight;
  };
  Expr parts[] = {part(ys.low, ys.lowWeight, xs.low, xs.lowWeight),
                  part(ys.low, ys.lowWeight, xs.high, xs.highWeight),
                  part(ys.high, ys.highWeight, xs.low, xs.lowWeight),
                  part(ys.high, ys.highWeight, xs.high, xs.highWeight)};
  bool isMax = mode == "max";
  Expr y = parts[0];
  for (int i = 1; i < 4; ++i)
    y = isMax ? y.max(parts[i]) : y + parts[i];
  y = y.reshape({count, channels, height, ratio, width, ratio});
  if (isMax)
    y = y.reduce(nn::Combiner::max, {3, 5});
  else
    y = y.sum({3, 5}) / static_cast<double>(ratio * ratio);
  return {y.to(element).reshape({count, channels, height, width})};
}
