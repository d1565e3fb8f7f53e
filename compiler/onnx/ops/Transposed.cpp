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

static Results convTranspose(Node &node) {
  Expr x = input(node, 0), w(node, weightFor(node, x, 1));
  int64_t group = node.integer("group", 1);
  auto outputShape = node.integers("output_shape");
  StringRef autoPad = node.string("auto_pad", "NOTSET");
  node.ignore("kernel_shape");
  if (!x || !w)
    return {};
  if (x.rank() < 3 || w.rank() != x.rank() || group < 1 || x.size(1) % group ||
      w.size(0) != x.size(1)) {
    node.error() << "filters of " << nn::shapeText(w.shape()) << " in " << group
                 << " groups do not fit " << nn::shapeText(x.shape());
    return {};
  }
  size_t rank = x.rank() - 2;
  auto strides = windowEntries(node, "strides", rank, 1);
  auto dilations = windowEntries(node, "dilations", rank, 1);
  auto pads = windowEntries(node, "pads", 2 * rank, 0);
  auto extra = windowEntries(node, "output_padding", rank, 0);
  if (outputShape && outputShape->size() == rank + 2)
    outputShape->erase(outputShape->begin(), outputShape->begin() + 2);
  if (outputShape && outputShape->size() != rank)
    node.error() << "output_shape has " << outputShape->size()
                 << " entries instead of " << rank;
  bool same = autoPad.starts_with("SAME");
  if (!same && autoPad != "NOTSET" && autoPad != "VALID" && !autoPad.empty())
    node.error() << "auto_pad '" << autoPad << "' is not supported";
  if (llvm::any_of(x.shape(), isTooLarge) ||
      llvm::any_of(w.shape(), isTooLarge) ||
      (outputShape && llvm::any_of(*outputShape, isTooLarge)))
    node.error() << "its sizes are too large";
  if (node.failed)
    return {};
  // Beyond a length that depends on the data there are zeros, as in a margin.
  bool isOpen = hasOpenSpace(node, x);
  DataShape lengths = node.dataShape(x);
  if (isOpen && (outputShape || same))
    node.error() << "its input's length depends on the data, and its result's "
                    "is given";
  if (isOpen)
    x = {node, node.masked(x, x.number(0))};
  if (node.failed || !x)
    return {};
  Expr y = x;
  SmallVector<int64_t> around(2 * rank, 0), ones(rank, 1);
  for (size_t d = 0; d < rank; ++d) {
    int64_t axis = d + 2, reach = (w.size(axis) - 1) * dilations[d];
    int64_t whole = strides[d] * (x.size(axis) - 1) + extra[d] + reach + 1;
    if (outputShape || same) {
      int64_t wanted =
          outputShape ? (*outputShape)[d] : x.size(axis) * strides[d];
      int64_t total = whole - wanted;
      int64_t half = total / 2;
      // The part that no window reaches is added at the end.
      pads[d] = total < 0 ? 0 : autoPad == "SAME_UPPER" ? half : total - half;
      pads[d + rank] = total - pads[d];
    }
    lengths[axis] = DataSizes::plus(DataSizes::times(lengths[axis], strides[d]),
                                    extra[d] + reach + 1 - strides[d] -
                                        pads[d] - pads[d + rank]);
    // Positive pads crop what the windows write; negative ones add zeros.
    int64_t low = reach - pads[d], high = reach - pads[d + rank] + extra[d];
    y = spreadOut(y, axis, strides[d]);
    if (low < 0 || high < 0) {
      y = y.pad(axis, low, high);
      low = high = 0;
    }
    around[d] = low;
    around[d + rank] = high;
  }
  SmallVector<Value> operands = {reverseFilters(w, group)};
  if (node.has(2))
    operands.push_back(weightFor(node, x, 2));
  y = y.apply<nn::ConvOp>(
      operands, {node.named("strides", ones), node.named("pads", around),
                 node.named("dilations", dilations),
                 node.named("group", node.builder().getI64IntegerAttr(group))});
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
