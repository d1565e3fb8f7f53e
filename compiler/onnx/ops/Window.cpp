//===- Window.cpp - Pooling -----------------------------------------------===//

#include "compiler/onnx/ops/Window.h"
#include "compiler/onnx/reader/Expr.h"
#include "compiler/onnx/reader/Hooks.h"

#include "dialects/nn/Infer.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;

SmallVector<int64_t> frit::importer::windowEntries(Node &node, StringRef name,
                                                   size_t count,
                                                   int64_t least) {
  constexpr int64_t most = int64_t(1) << 31;
  SmallVector<int64_t> fallback(count, least);
  SmallVector<int64_t> values = node.integers(name).value_or(fallback);
  if (values.size() != count)
    node.error() << "attribute '" << name << "' has " << values.size()
                 << " entries instead of " << count;
  else if (llvm::any_of(values,
                        [&](int64_t v) { return v < least || v > most; }))
    node.error() << "attribute '" << name << "' has an entry that is not from "
                 << least << " to " << most;
  else
    return values;
  return fallback;
}

bool frit::importer::hasOpenSpace(Node &node, Value x) {
  return x && isMarked(x) &&
         llvm::any_of(ArrayRef(node.dataShape(x)).drop_front(2),
                      [](const Size &size) { return !size.isKnown(); });
}

std::optional<Window> frit::importer::readWindow(Node &node, Value x,
                                                 ArrayRef<int64_t> size) {
  size_t rank = size.size();
  ArrayRef<int64_t> input = nn::shapeOf(x).drop_front(2);
  Window w;
  w.size.assign(size.begin(), size.end());
  w.strides = windowEntries(node, "strides", rank, 1);
  w.dilations = windowEntries(node, "dilations", rank, 1);
  w.pads = windowEntries(node, "pads", 2 * rank, 0);
  StringRef mode = node.string("auto_pad", "NOTSET");
  bool sameUpper = mode == "SAME_UPPER", sameLower = mode == "SAME_LOWER";
  bool roundUp = node.integer("ceil_mode", 0);
  if (mode == "VALID" || sameUpper || sameLower)
    w.pads.assign(2 * rank, 0);
  else if (mode != "NOTSET" && !mode.empty())
    node.error() << "auto_pad '" << mode << "' is not supported";
  if (llvm::any_of(size, [](int64_t entry) { return entry > nn::maxEntry; }))
    node.error() << "a window of " << nn::shapeText(size) << " is too large";
  if (node.failed)
    return std::nullopt;

  for (size_t d = 0; d < rank; ++d) {
    int64_t reach = (size[d] - 1) * w.dilations[d] + 1;
    int64_t stride = w.strides[d];
    if (sameUpper || sameLower) {
      int64_t count = llvm::divideCeil(input[d], stride);
      int64_t pad =
          std::max<int64_t>((count - 1) * stride + reach - input[d], 0);
      w.pads[d] = sameUpper ? pad / 2 : pad - pad / 2;
      w.pads[d + rank] = pad - w.pads[d];
      w.shape.push_back(count);
      continue;
    }
    // With ceil_mode the last window may extend past the end, but must start
    // inside: also the only window, where it is larger than the input.
    int64_t free = input[d] + w.pads[d] + w.pads[d + rank] - reach;
    int64_t count = llvm::divideFloorSigned(free, stride) + 1;
    if (roundUp && free % stride && count * stride < input[d] + w.pads[d])
      ++count;
    if (count < 1) {
      node.error() << "a window of " << nn::shapeText(size)
                   << " does not fit into "
                   << nn::shapeText(nn::shapeOf(x).drop_front(2));
      return std::nullopt;
    }
    w.shape.push_back(count);
  }
  return w;
}

/// Returns the node's input if it is n×c×spatial.
static Value image(Node &node) {
  Value x = node.input(0);
  if (!x || rankOf(x) >= 3)
    return x;
  node.error() << "needs batch, channels and spatial dimensions, but has "
               << nn::shapeText(nn::shapeOf(x));
  return {};
}

static std::optional<Window> poolWindow(Node &node, Value x) {
  auto size = windowEntries(node, "kernel_shape", rankOf(x) - 2, 1);
  if (node.failed)
    return std::nullopt;
  return readWindow(node, x, size);
}

static SmallVector<NamedAttribute> attributes(Node &node, const Window &w) {
  return {node.named("window", w.size), node.named("strides", w.strides),
          node.named("pads", w.pads), node.named("dilations", w.dilations),
          node.named("shape", w.shape)};
}

/// Converts indices in an image to indices in the whole tensor, in row-major
/// order or, if columns come first, with the spatial dimensions reversed.
static Value maxPlaces(Node &node, Value x, Value y, const Window &window,
                       bool columnsFirst) {
  SmallVector<NamedAttribute> list = attributes(node, window);
  list.pop_back();
  Expr places = {node, node.create<nn::MaxPoolPlacesOp>({x, y}, list)};
  auto shape = sizes(x);
  auto spatial = ArrayRef(shape).drop_front(2);
  if (columnsFirst) {
    Expr rest = places, turned = places * 0.0;
    int64_t step = product(spatial);
    for (int64_t size : llvm::reverse(spatial)) {
      step /= size;
      Expr above = rest / static_cast<double>(size);
      turned = turned + (rest - above * static_cast<double>(size)) *
                            static_cast<double>(step);
      rest = above;
    }
    places = turned;
  }
  SmallVector<int64_t> images(shape.size(), 1);
  images[0] = shape[0];
  images[1] = shape[1];
  Expr before = iota(node, places.element(), {shape[0] * shape[1]}, 0) *
                static_cast<double>(product(spatial));
  return places + before.reshape(images);
}

static Results maxPool(Node &node) {
  bool columnsFirst = node.integer("storage_order", 0);
  Value x = image(node);
  auto window = x ? poolWindow(node, x) : std::nullopt;
  if (!window)
    return {};
  Value y = node.create<nn::MaxPoolOp>(x, attributes(node, *window));
  if (!node.wants(1) || !y)
    return {y};
  return {y, maxPlaces(node, x, y, *window, columnsFirst)};
}

/// Builds the p-th root of the sum of |x|^p under a window.
static Results lpPool(Node &node) {
  Expr x = {node, image(node)};
  auto p = static_cast<double>(node.integer("p", 2));
  auto window = x ? poolWindow(node, x) : std::nullopt;
  if (!window)
    return {};
  Expr powers = x.to(nn::workType(x.element())).apply<nn::AbsOp>();
  powers = powers.apply<nn::PowOp>({powers.number(p)});
  // Pad with zeros, so that every mean has the same number of elements.
  size_t rank = window->size.size();
  for (size_t d = 0; d < rank; ++d) {
    int64_t reach = (window->shape[d] - 1) * window->strides[d] +
                    (window->size[d] - 1) * window->dilations[d] + 1;
    powers = powers.pad(d + 2, window->pads[d],
                        reach - x.size(d + 2) - window->pads[d]);
    window->pads[d] = window->pads[d + rank] = 0;
  }
  Expr sum = powers.apply<nn::AvgPoolOp>({}, attributes(node, *window)) *
             static_cast<double>(product(window->size));
  return {sum.apply<nn::PowOp>({sum.number(1 / p)}).to(x.element())};
}

static Results globalLpPool(Node &node) {
  Expr x = {node, image(node)};
  auto p = static_cast<double>(node.integer("p", 2));
  if (!x)
    return {};
  Expr powers = x.to(nn::workType(x.element())).apply<nn::AbsOp>();
  powers = powers.apply<nn::PowOp>({powers.number(p)});
  Expr sum = powers.sum(llvm::to_vector(llvm::seq<int64_t>(2, x.rank())));
  return {sum.apply<nn::PowOp>({sum.number(1 / p)}).to(x.element())};
}

Results frit::importer::averagePool(Node &node) {
  Value x = image(node);
  auto window = x ? poolWindow(node, x) : std::nullopt;
  bool includePad = node.integer("count_include_pad", 0);
  if (!window)
    return {};
  auto list = attributes(node, *window);
  if (includePad)
    list.push_back(node.named("include_pad", node.builder().getUnitAttr()));
  return {node.create<nn::AvgPoolOp>(x, list)};
}

Results frit::importer::globalAveragePool(Node &node) {
  Value x = image(node);
  if (!x)
    return {};
  auto axes = llvm::to_vector(llvm::seq<int64_t>(2, rankOf(x)));
  return {node.create<nn::ReduceMeanOp>(x, node.named("axes", axes))};
}

static Results globalMaxPool(Node &node) {
  Value x = image(node);
  if (!x)
    return {};
  auto axes = llvm::to_vector(llvm::seq<int64_t>(2, rankOf(x)));
  return {node.reduce(x, nn::Combiner::max, axes)};
}

/// Builds x / (bias + alpha / size · Σ x²)^beta, summed over `size`
/// neighbouring channels: an average pool of squares over channels, padding
/// included.
static Results lrn(Node &node) {
  Expr given = {node, image(node)}, x = given.to(nn::workType(given.element()));
  int64_t size = node.integer("size", 0);
  double alpha = node.real("alpha", 1e-4), beta = node.real("beta", 0.75);
  double bias = node.real("bias", 1);
  if (!x)
    return {};
  auto shape = x.shape();
  if (size < 1) {
    node.error() << "a size of " << size << " is none";
    return {};
  }
  int64_t pixels = product(ArrayRef(shape).drop_front(2));
  Expr squares = (x * x).reshape({shape[0], 1, shape[1], pixels});
  Window window{{size, 1},
                {1, 1},
                {(size - 1) / 2, 0, size / 2, 0},
                {1, 1},
                {shape[1], pixels}};
  auto list = attributes(node, window);
  list.push_back(node.named("include_pad", node.builder().getUnitAttr()));
  Expr base =
      squares.apply<nn::AvgPoolOp>({}, list).reshape(shape) * alpha + bias;
  Expr scale = base.apply<nn::PowOp>({base.number(beta)});
  return {(x / scale).to(given.element())};
}

ArrayRef<Hook> frit::importer::windowHooks() {
  static constexpr Hook hooks[] = {
      {"MaxPool", 1, 1, 1, maxPool, takesCounts},
      {"LpPool", 2, 1, 1, lpPool},
      {"GlobalLpPool", 2, 1, 1, globalLpPool},
      {"AveragePool", 1, 1, 1, averagePool, takesCounts},
      {"GlobalAveragePool", 1, 1, 1, globalAveragePool, takesCounts},
      {"GlobalMaxPool", 1, 1, 1, globalMaxPool},
      {"LRN", 1, 1, 1, lrn},
  };
  return hooks;
}
