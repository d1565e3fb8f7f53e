//===- Sampling.cpp - Sample images at computed positions -----------------===//
//
// Interpolation: a weighted sum of neighbours. Positions depend on the data, so
// weights are computed, and each neighbour takes one gather.
//
//===----------------------------------------------------------------------===//

#include "compiler/onnx/ops/Sampling.h"
#include "compiler/onnx/ops/Window.h"
#include "compiler/onnx/reader/Expr.h"
#include "compiler/onnx/reader/Hooks.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;

Expr frit::importer::pick(Expr image, Expr places, int64_t points) {
  return image.gatherElements(
      places.expand({image.size(0), image.size(1), points}), 2);
}

Expr frit::importer::flatIndex(Expr row, int64_t width, Expr column) {
  Type i64 = row.node->builder().getI64Type();
  return row.to(i64) * static_cast<double>(width) + column.to(i64);
}

static Expr floorOf(Expr x) { return x.apply<nn::FloorOp>(); }
static Expr absOf(Expr x) { return x.apply<nn::AbsOp>(); }

//===----------------------------------------------------------------------===//
// GridSample
//===----------------------------------------------------------------------===//

namespace {
struct Grid {
  StringRef mode, padding;
  bool alignCorners;
};

/// A neighbour along one dimension: its index and weight.
struct Neighbour {
  Expr place, weight;
};
} // namespace

/// Reflects positions at the borders.
static Expr reflect(Expr x, double low, double high) {
  double range = high - low;
  if (range == 0)
    return x * 0.0;
  Expr distance = absOf(x - low);
  Expr times = floorOf(distance / range);
  Expr rest = distance - times * range;
  Expr isEven = (times - floorOf(times / 2.0) * 2.0) < 0.5;
  return isEven.select(rest + low, rest.number(high) - rest);
}

static std::pair<double, double> borders(int64_t size, bool alignCorners) {
  auto last = static_cast<double>(size - 1);
  return alignCorners ? std::pair(0.0, last) : std::pair(-0.5, last + 0.5);
}

/// Clamps an integer position; with zero padding, its weight becomes 0 if it
/// was outside.
static Neighbour inside(Expr place, Expr weight, int64_t size,
                        const Grid &grid) {
  auto last = static_cast<double>(size - 1);
  if (grid.padding == "zeros") {
    Expr isIn = (place >= 0.0) & (place <= last);
    weight = weight * isIn.to(weight.element());
  } else if (grid.padding == "reflection") {
    auto [low, high] = borders(size, grid.alignCorners);
    place = reflect(place, low, high);
  }
  return {place.clamp(0, last), weight};
}

/// Returns the weights of Keys' cubic kernel for the four elements around a
/// position; `x` is the distance from the second.
static std::array<Expr, 4> cubicWeights(Expr x) {
  double a = -0.75;
  auto far = [&](Expr d) { return ((d * a - 5 * a) * d + 8 * a) * d - 4 * a; };
  auto near = [&](Expr d) { return (d * (a + 2) - (a + 3)) * d * d + 1.0; };
  return {far(x + 1.0), near(x), near(1.0 - x), far(2.0 - x)};
}

static SmallVector<Neighbour> neighbours(Expr place, int64_t size,
                                         const Grid &grid) {
  auto last = static_cast<double>(size - 1);
  auto [low, high] = borders(size, grid.alignCorners);
  // Cubic interpolation pads each of its positions by itself.
  if (grid.mode != "cubic" && grid.padding == "border")
    place = place.clamp(0, last);
  else if (grid.mode != "cubic" && grid.padding == "reflection")
    place = reflect(place, low, high);
  if (grid.mode == "nearest")
    return {inside(place.apply<nn::RoundOp>(), place.number(1), size, grid)};
  Expr base = floorOf(place), rest = place - base;
  if (grid.mode == "linear")
    return {inside(base, 1.0 - rest, size, grid),
            inside(base + 1.0, rest, size, grid)};
  SmallVector<Neighbour> all;
  auto weights = cubicWeights(rest);
  for (int i = 0; i < 4; ++i)
    all.push_back(
        inside(base + static_cast<double>(i - 1), weights[i], size, grid));
  return all;
}

static Results gridSample(Node &node) {
  Expr x = input(node, 0), grid = input(node, 1);
  Grid rules{node.string("mode", "linear"),
             node.string("padding_mode", "zeros"),
             node.integer("align_corners", 0) != 0};
  if (rules.mode == "bilinear")
    rules.mode = "linear";
  if (rules.mode == "bicubic")
    rules.mode = "cubic";
  if (!x || !grid)
    return {};
  int64_t spatial = x.rank() - 2;
  auto form = grid.shape();
  // There are 2 or 4 to this power neighbours.
  constexpr int64_t mostSpatial = 3;
  if (spatial < 1 || spatial > mostSpatial || grid.rank() != x.rank() ||
      form.back() != spatial ||
      !llvm::is_contained({"linear", "nearest", "cubic"}, rules.mode)) {
    node.error() << "cannot sample " << nn::shapeText(x.shape())
                 << " at a grid of " << nn::shapeText(form) << " by '"
                 << rules.mode << "'";
    return {};
  }
  Type element = x.element(), work = nn::workType(element);
  if (!isa<FloatType>(work))
    work = node.builder().getF32Type();
  int64_t batch = x.size(0), channels = x.size(1);
  int64_t points = product(ArrayRef(form).drop_front().drop_back());
  Expr places = grid.to(work).reshape({batch, points, spatial});

  // Combine the neighbours of one dimension after the other. The last
  // coordinate belongs to the first spatial dimension.
  struct Partial {
    Expr place, weight;
  };
  Type i64 = node.builder().getI64Type();
  SmallVector<Partial> partials = {
      {filled(node, i64, {}, 0), filled(node, work, {}, 1)}};
  for (int64_t dim = 0; dim < spatial; ++dim) {
    int64_t size = x.size(dim + 2);
    auto n = static_cast<double>(size);
    Expr u = places.slice(2, spatial - 1 - dim, 1).reshape({batch, 1, points});
    // Whole numbers are recognised as sizes (compiler/padding).
    Expr place = rules.alignCorners ? (u + 1.0) * (n - 1) * 0.5
                                    : ((u + 1.0) * n - 1.0) * 0.5;
    SmallVector<Partial> next;
    for (const Partial &partial : partials)
      for (const Neighbour &neighbour : neighbours(place, size, rules))
        next.push_back({flatIndex(partial.place, size, neighbour.place),
                        partial.weight * neighbour.weight});
    partials = next;
  }
  Expr image =
      x.reshape({batch, channels, product(ArrayRef(x.shape()).drop_front(2))});
  Expr y = {node, {}};
  for (const Partial &partial : partials) {
    Expr part = pick(image, partial.place, points).to(work) * partial.weight;
    y = y.value ? y + part : part;
  }
  SmallVector<int64_t> shape = {batch, channels};
  shape.append(form.begin() + 1, form.end() - 1);
  return {y.to(element).reshape(shape)};
}

/// Multiplies theta by the coordinates of a grid over [-1, 1] in every
/// dimension.
static Results affineGrid(Node &node) {
  Expr theta = input(node, 0);
  Type element = theta.element();
  auto size = node.integers(1);
  bool alignCorners = node.integer("align_corners", 0);
  if (!theta || !size)
    return {};
  int64_t spatial = static_cast<int64_t>(size->size()) - 2;
  if (theta.rank() != 3 || spatial < 1 || theta.size(1) != spatial ||
      theta.size(2) != spatial + 1) {
    node.error() << "theta of shape " << nn::shapeText(theta.shape())
                 << " does not fit " << nn::shapeText(*size);
    return {};
  }
  auto dims = ArrayRef(*size).drop_front(2);
  if (!countElements(dims) ||
      llvm::any_of(dims, [](int64_t n) { return n < 1 || n > mostInTable; })) {
    node.error() << "a grid of " << nn::shapeText(dims) << " is not supported";
    return {};
  }
  theta = theta.to(nn::workType(element));
  SmallVector<int64_t> shape(dims), line(spatial + 1, 1);
  shape.push_back(1);
  // The first coordinate belongs to the last dimension.
  SmallVector<Value> coordinates;
  for (int64_t dim = spatial - 1; dim >= 0; --dim) {
    auto n = static_cast<double>(dims[dim]);
    double step = alignCorners ? 2 / std::max(n - 1, 1.0) : 2 / n;
    SmallVector<double> values;
    for (int64_t i = 0; i < dims[dim]; ++i)
      values.push_back((alignCorners ? -1 : step / 2 - 1) +
                       step * static_cast<double>(i));
    line.assign(spatial + 1, 1);
    line[dim] = dims[dim];
    coordinates.push_back(
        table(node, theta.element(), line, values).expand(shape));
  }
  coordinates.push_back(filled(node, theta.element(), shape, 1));
  Expr grid = {node, node.concat(coordinates, spatial)};
  Expr points = grid.reshape({product(dims), spatial + 1});
  Expr y = points.matmul(theta.transpose({0, 2, 1}));
  SmallVector<int64_t> result = {theta.size(0)};
  result.append(dims.begin(), dims.end());
  result.push_back(spatial);
  return {y.to(element).reshape(result)};
}

//===----------------------------------------------------------------------===//
// DeformConv
//===----------------------------------------------------------------------===//

/// Imports DeformConv (Dai et al., arXiv:1703.06211): every element of the
/// window is shifted by an offset and multiplied by a mask.
static Results deformConv(Node &node) {
  Expr x = input(node, 0), w = input(node, 1), offset = input(node, 2);
  int64_t group = node.integer("group", 1);
  int64_t offsetGroup = node.integer("offset_group", 1);
  auto strides = windowEntries(node, "strides", 2, 1);
  auto pads = windowEntries(node, "pads", 4, 0);
  auto dilations = windowEntries(node, "dilations", 2, 1);
  node.ignore("kernel_shape");
  if (!x || !w || !offset || node.failed)
    return {};
  if (x.rank() != 4 || w.rank() != 4 || offset.rank() != 4 || group < 1 ||
      offsetGroup < 1 || x.size(1) < 1 || x.size(1) % group ||
      x.size(1) % offsetGroup || w.size(0) % group ||
      offset.size(1) != product({offsetGroup, w.size(2), w.size(3), 2})) {
    node.error() << "needs an image, filters and offsets that fit each other";
    return {};
  }
  int64_t n = x.size(0), channels = x.size(1), height = x.size(2),
          width = x.size(3), rows = w.size(2), columns = w.size(3);
  int64_t oh = offset.size(2), ow = offset.size(3), points = oh * ow;
  int64_t window = rows * columns, perGroup = channels / offsetGroup;
  constexpr int64_t mostTaps = 4096;
  if (window > mostTaps) {
    node.error() << "filters of " << rows << "x" << columns << " are too large";
    return {};
  }
  Type element = x.element(), work = nn::workType(element);
  Expr offsets = offset.to(work).reshape({n, offsetGroup, window, 2, oh, ow});
  Expr image = x.reshape({n * offsetGroup, perGroup, height * width});
  const Grid zeros{"linear", "zeros", false};
  SmallVector<Value> taps;
  for (int64_t tap = 0; tap < window && !node.failed; ++tap) {
    Expr moved = offsets.slice(2, tap, 1);
    auto place = [&](int64_t dim, int64_t from) {
      Expr start = iota(node, work,
                        dim ? SmallVector<int64_t>{1, 1, ow}
                            : SmallVector<int64_t>{1, oh, 1},
                        dim ? 2 : 1) *
                       static_cast<double>(strides[dim]) +
                   static_cast<double>(from * dilations[dim] - pads[dim]);
      return moved.slice(3, dim, 1).reshape({n * offsetGroup, oh, ow}) + start;
    };
    Expr y = place(0, tap / columns), z = place(1, tap % columns);
    Expr sum = {node, {}};
    for (const Neighbour &row : neighbours(y, height, zeros))
      for (const Neighbour &column : neighbours(z, width, zeros)) {
        SmallVector<int64_t> each = {n * offsetGroup, 1, points};
        Expr flat = flatIndex(row.place, width, column.place).reshape(each);
        Expr part = pick(image, flat, points).to(work) *
                    (row.weight * column.weight).reshape(each);
        sum = sum.value ? sum + part : part;
      }
    if (node.has(4)) {
      Expr mask =
          input(node, 4).to(work).reshape({n, offsetGroup, window, points});
      sum = sum * mask.slice(2, tap, 1).reshape({n * offsetGroup, 1, points});
    }
    taps.push_back(sum.to(element).reshape({n, channels, 1, points}));
  }
  int64_t filters = w.size(0);
  Expr all = Expr{node, node.concat(taps, 2)}.reshape(
      {n, group, channels / group * window, points});
  Expr y = w.reshape({group, filters / group, channels / group * window})
               .matmul(all)
               .reshape({n, filters, oh, ow});
  if (node.has(3))
    y = y + input(node, 3).reshape({filters, 1, 1});
  return {y};
}

ArrayRef<Hook> frit::importer::samplingHooks() {
  static constexpr Hook hooks[] = {
      {"GridSample", 16, 2, 2, gridSample},
      {"AffineGrid", 20, 2, 2, affineGrid},
      {"RoiAlign", 10, 3, 3, roiAlign, takesCounts},
      {"DeformConv", 19, 3, 5, deformConv},
  };
  return hooks;
}
