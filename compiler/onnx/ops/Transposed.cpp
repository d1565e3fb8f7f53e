//===- Transposed.cpp - Transposed convolution, Col2Im, MaxUnpool ---------===//
//
// A transposed convolution is a convolution of the input, with zeros between
// its elements, by the reversed filters. Dumoulin and Visin, "A guide to
// convolution arithmetic for deep learning", arXiv:1603.07285.
//
//===----------------------------------------------------------------------===//

#include "compiler/onnx/indexing/Scatter.h"
#include "compiler/onnx/ops/Contraction.h"
#include "compiler/onnx/ops/Window.h"
#include "compiler/onnx/reader/Hooks.h"

#include "dialects/nn/Infer.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;

/// Inserts `stride` - 1 zeros between the elements of `axis`.
static Expr spreadOut(Expr x, int64_t axis, int64_t stride) {
  if (!x || stride == 1)
    return x;
  auto apart = x.shape(), joined = apart;
  apart.insert(apart.begin() + axis + 1, 1);
  joined[axis] *= stride;
  return x.reshape(apart)
      .pad(axis + 1, 0, stride - 1)
      .reshape(joined)
      .slice(axis, 0, joined[axis] - stride + 1);
}

/// Transposes filters c×(k/group)×window to k×(c/group)×window and reverses the
/// window.
static Expr reverseFilters(Expr w, int64_t group) {
  auto shape = w.shape();
  int64_t rank = w.rank();
  for (int64_t dim = 2; dim < rank; ++dim)
    w = w.reverse(dim);
  SmallVector<int64_t> grouped = {group, shape[0] / group, shape[1]};
  grouped.append(shape.begin() + 2, shape.end());
  SmallVector<int64_t> perm = {0, 2, 1};
  for (int64_t dim = 3; dim <= rank; ++dim)
    perm.push_back(dim);
  SmallVector<int64_t> turned = {product({group, shape[1]}), shape[0] / group};
  turned.append(shape.begin() + 2, shape.end());
  return w.reshape(grouped).transpose(perm).reshape(turned);
}

/// Returns whether a size is too large: computations with smaller ones fit in
/// 64 bits.
static bool isTooLarge(int64_t size) {
  return size < 0 || size > int64_t(1) << 30;
}

namespace {
/// The attributes of a transposed convolution.
struct TransposedConv {
  int64_t group;
  SmallVector<int64_t> strides, dilations, pads, extra; ///< extra: at the end
  std::optional<SmallVector<int64_t>> sizes; ///< of the result, if given
  bool hasMostAtEnd; ///< of pads that follow from the sizes

  /// Chooses the pads with which a dimension of `whole` elements has the size
  /// that is given. The part that no window reaches is added at the end.
  void choosePads(size_t d, int64_t whole) {
    int64_t total = whole - (*sizes)[d], half = total / 2;
    pads[d] = total < 0 ? 0 : hasMostAtEnd ? half : total - half;
    pads[d + strides.size()] = total - pads[d];
  }
};
} // namespace

/// Reads the attributes. Fails the node if they do not fit its operands.
static TransposedConv readTransposed(Node &node, Expr x, Expr w) {
  TransposedConv conv{node.integer("group", 1), {}, {}, {}, {}, {}, {}};
  StringRef autoPad = node.string("auto_pad", "NOTSET");
  auto outputShape = node.integers("output_shape");
  node.ignore("kernel_shape");
  if (x.rank() < 3 || w.rank() != x.rank() || conv.group < 1 ||
      x.size(1) % conv.group || w.size(0) != x.size(1)) {
    node.error() << "filters of " << nn::shapeText(w.shape()) << " in "
                 << conv.group << " groups do not fit "
                 << nn::shapeText(x.shape());
    return conv;
  }
  size_t rank = x.rank() - 2;
  conv.strides = windowEntries(node, "strides", rank, 1);
  conv.dilations = windowEntries(node, "dilations", rank, 1);
  conv.pads = windowEntries(node, "pads", 2 * rank, 0);
  conv.extra = windowEntries(node, "output_padding", rank, 0);
  conv.hasMostAtEnd = autoPad == "SAME_UPPER";
  bool same = autoPad.starts_with("SAME");
  if (!same && autoPad != "NOTSET" && autoPad != "VALID" && !autoPad.empty())
    node.error() << "auto_pad '" << autoPad << "' is not supported";
  if (outputShape && outputShape->size() == rank + 2)
    outputShape->erase(outputShape->begin(), outputShape->begin() + 2);
  if (outputShape && outputShape->size() != rank)
    node.error() << "output_shape has " << outputShape->size()
                 << " entries instead of " << rank;
  if (llvm::any_of(x.shape(), isTooLarge) ||
      llvm::any_of(w.shape(), isTooLarge) ||
      (outputShape && llvm::any_of(*outputShape, isTooLarge)))
    node.error() << "its sizes are too large";
  if (node.failed)
    return conv;
  if (outputShape) {
    conv.sizes.emplace(*outputShape);
  } else if (same) {
    conv.sizes.emplace();
    for (size_t d = 0; d < rank; ++d)
      conv.sizes->push_back(x.size(d + 2) * conv.strides[d]);
  }
  return conv;
}

static Results convTranspose(Node &node) {
  Expr x = input(node, 0), w(node, weightFor(node, x, 1));
  if (!x || !w)
    return {};
  TransposedConv conv = readTransposed(node, x, w);
  if (node.failed)
    return {};
  // Beyond a length that depends on the data there are zeros, as in a margin.
  bool isOpen = hasOpenSpace(node, x);
  DataShape lengths = node.dataShape(x);
  if (isOpen && conv.sizes)
    node.error() << "its input's length depends on the data, and its result's "
                    "is given";
  if (isOpen)
    x = {node, node.masked(x, x.number(0))};
  if (node.failed || !x)
    return {};
  Expr y = x;
  size_t rank = x.rank() - 2;
  SmallVector<int64_t> around(2 * rank, 0), ones(rank, 1);
  for (size_t d = 0; d < rank; ++d) {
    int64_t axis = d + 2, reach = (w.size(axis) - 1) * conv.dilations[d];
    int64_t stride = conv.strides[d], end = conv.extra[d] + reach;
    if (conv.sizes)
      conv.choosePads(d, stride * (x.size(axis) - 1) + end + 1);
    // Positive pads crop what the windows write; negative ones add zeros.
    int64_t low = reach - conv.pads[d], high = end - conv.pads[d + rank];
    lengths[axis] = DataSizes::plus(DataSizes::times(lengths[axis], stride),
                                    low + high - reach + 1 - stride);
    y = spreadOut(y, axis, stride);
    if (low < 0 || high < 0) {
      y = y.pad(axis, low, high);
      low = high = 0;
    }
    around[d] = low;
    around[d + rank] = high;
  }
  SmallVector<Value> operands = {reverseFilters(w, conv.group)};
  if (node.has(2))
    operands.push_back(weightFor(node, x, 2));
  y = y.apply<nn::ConvOp>(
      operands,
      {node.named("strides", ones), node.named("pads", around),
       node.named("dilations", conv.dilations),
       node.named("group", node.builder().getI64IntegerAttr(conv.group))});
  lengths[1] = y.size(1);
  return {isOpen ? node.marked(y, lengths) : Value(y)};
}

/// Imports Col2Im: shifts the image of each position in the block to its place,
/// and adds all images.
static Results col2Im(Node &node) {
  Expr x = input(node, 0);
  auto image = node.integers(1), block = node.integers(2);
  if (!x || !image || !block)
    return {};
  size_t rank = image->size();
  auto strides = windowEntries(node, "strides", rank, 1);
  auto dilations = windowEntries(node, "dilations", rank, 1);
  auto pads = windowEntries(node, "pads", 2 * rank, 0);
  int64_t places = product(*block);
  constexpr int64_t mostPlaces = 4096;
  auto isSize = [](int64_t n) { return n > 0 && n <= nn::maxEntry; };
  if (node.failed || x.rank() != 3 || block->size() != rank ||
      places > mostPlaces || !llvm::all_of(*block, isSize) ||
      !llvm::all_of(*image, isSize) || x.size(1) % places) {
    if (!node.failed)
      node.error() << "blocks of " << nn::shapeText(*block) << " do not fit "
                   << nn::shapeText(x.shape());
    return {};
  }
  int64_t n = x.size(0), channels = x.size(1) / places;
  SmallVector<int64_t> counts, form = {n, channels};
  for (size_t d = 0; d < rank; ++d) {
    int64_t free = (*image)[d] + pads[d] + pads[d + rank] -
                   ((*block)[d] - 1) * dilations[d] - 1;
    counts.push_back(free < 0 ? 0 : free / strides[d] + 1);
  }
  form.append(counts.begin(), counts.end());
  if (product(counts) != x.size(2)) {
    node.error() << "an image of " << nn::shapeText(*image) << " has "
                 << product(counts) << " blocks, not " << x.size(2);
    return {};
  }
  Expr blocks = x.reshape({n, channels, places, x.size(2)});
  Expr sum = {node, {}};
  for (int64_t place = 0; place < places; ++place) {
    Expr part = blocks.slice(2, place, 1).reshape(form);
    int64_t rest = place;
    for (size_t d = rank; d-- > 0;) {
      int64_t at = rest % (*block)[d] * dilations[d] - pads[d];
      rest /= (*block)[d];
      int64_t axis = d + 2, span = (counts[d] - 1) * strides[d] + 1;
      part = spreadOut(part, axis, strides[d])
                 .pad(axis, at, (*image)[d] - at - span);
    }
    sum = sum.value ? sum + part : part;
  }
  return {sum};
}

/// Writes elements to the indices that a MaxPool returned; zeros elsewhere.
static Results maxUnpool(Node &node) {
  Expr x = input(node, 0), places = input(node, 1);
  if (!x || !places)
    return {};
  if (x.rank() < 3 || places.shape() != x.shape() ||
      llvm::any_of(x.shape(), isTooLarge)) {
    node.error() << "needs an image and as many places";
    return {};
  }
  size_t rank = x.rank() - 2;
  auto kernel = windowEntries(node, "kernel_shape", rank, 1);
  auto strides = windowEntries(node, "strides", rank, 1);
  auto pads = windowEntries(node, "pads", 2 * rank, 0);
  SmallVector<int64_t> inner = x.shape(), shape;
  for (size_t d = 0; d < rank; ++d)
    inner[d + 2] =
        (x.size(d + 2) - 1) * strides[d] + kernel[d] - pads[d] - pads[d + rank];
  shape = inner;
  if (node.has(2)) {
    auto given = node.integers(2);
    if (!given)
      return {};
    shape = *given;
  }
  bool fits = shape.size() == inner.size();
  for (size_t d = 0; fits && d < shape.size(); ++d)
    fits = shape[d] >= inner[d] && inner[d] > 0;
  if (!fits) {
    node.error() << "its result cannot have the shape " << nn::shapeText(shape);
    return {};
  }
  // Indices refer to the result without extra size.
  int64_t count = product(x.shape());
  node.checkNumbers(places, 0, product(inner) - 1,
                    "writes to " + Twine(product(inner)) + " elements");
  Expr zeros = filled(node, x.element(), {product(inner)}, 0);
  Expr y =
      scatter(zeros, places.reshape({count}), x.reshape({count}), 0, "none")
          .reshape(inner);
  for (size_t d = 0; d < shape.size(); ++d)
    y = y.pad(d, 0, shape[d] - inner[d]);
  return {y};
}

ArrayRef<Hook> frit::importer::transposedHooks() {
  static constexpr Hook hooks[] = {
      {"ConvTranspose", 1, 2, 3, convTranspose, takesCounts},
      {"Col2Im", 18, 3, 3, col2Im, takesCounts},
      {"MaxUnpool", 9, 2, 3, maxUnpool, takesCounts},
  };
  return hooks;
}
