//===- Contraction.cpp - Convolutions and Gemm ----------------------------===//

#include "compiler/onnx/ops/Contraction.h"
#include "compiler/onnx/indexing/Positions.h"
#include "compiler/onnx/ops/Window.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;

/// Returns how many places a window has along spatial dimension `d` of length
/// `length`, which may depend on the data.
static Size lengthOf(Node &node, const Size &length, const Window &window,
                     size_t d) {
  DataSizes &sizes = node.dataSizes();
  int64_t reach = (window.size[d] - 1) * window.dilations[d];
  Size rest = DataSizes::plus(
      length, window.pads[d] + window.pads[d + window.size.size()] - reach - 1);
  // An empty tensor has no place for a window.
  rest = sizes.largest(node, rest, -window.strides[d]);
  return sizes.quotient(node, DataSizes::plus(rest, window.strides[d]),
                        window.strides[d]);
}

Value frit::importer::weightFor(Node &node, Value x, size_t i) {
  Value weight = node.input(i);
  if (!x || !weight || !weight.getDefiningOp<nn::ConstantOp>())
    return weight;
  Type type = nn::tensorType(x).getElementType();
  bool isFolded =
      type.isBF16() && nn::tensorType(weight).getElementType().isF32();
  return isFolded ? node.cast(weight, type) : weight;
}

Results frit::importer::conv(Node &node) {
  Value x = node.input(0), w = weightFor(node, x, 1);
  int64_t group = node.integer("group", 1);
  auto kernel = node.integers("kernel_shape");
  if (!x || !w)
    return {};
  auto filter = nn::shapeOf(w);
  if (rankOf(x) < 3 || rankOf(w) != rankOf(x)) {
    node.error() << "cannot convolve " << nn::shapeText(nn::shapeOf(x))
                 << " with " << nn::shapeText(filter);
    return {};
  }
  auto size = filter.drop_front(2);
  if (kernel && ArrayRef(*kernel) != size) {
    node.error() << "kernel_shape is " << nn::shapeText(*kernel)
                 << ", but the filter's is " << nn::shapeText(size);
    return {};
  }
  int64_t channels = nn::shapeOf(x)[1];
  if (group < 1 || channels % group || filter[0] % group ||
      filter[1] != channels / group || llvm::is_contained(size, 0)) {
    node.error() << "filters of " << nn::shapeText(filter) << " in " << group
                 << " groups do not fit " << channels << " channels";
    return {};
  }
  auto window = readWindow(node, x, size);
  if (!window)
    return {};
  // Beyond a length that depends on the data there are zeros, as in a margin.
  bool isOpen = hasOpenSpace(node, x);
  DataShape lengths = node.dataShape(x);
  if (isOpen && node.string("auto_pad", "").starts_with("SAME") &&
      llvm::any_of(window->strides, [](int64_t by) { return by != 1; }))
    node.error() << "auto_pad with strides is not supported where the data "
                    "decide about a length";
  if (isOpen) {
    lengths[1] = filter[0];
    for (auto [d, length] :
         llvm::enumerate(MutableArrayRef(lengths).drop_front(2)))
      length = lengthOf(node, length, *window, d);
    x = node.masked(x, node.scalar(x, 0));
  }
  Results operands = {x, w};
  if (node.has(2)) {
    if (nn::shapeOf(node.input(2)) != ArrayRef(filter[0])) {
      node.error() << "its bias has the shape "
                   << nn::shapeText(nn::shapeOf(node.input(2)))
                   << " instead of " << filter[0];
      return {};
    }
    operands.push_back(weightFor(node, x, 2));
  }
  Value y = node.create<nn::ConvOp>(
      operands,
      {node.named("strides", window->strides), node.named("pads", window->pads),
       node.named("dilations", window->dilations),
       node.named("group", node.builder().getI64IntegerAttr(group))});
  return {isOpen ? node.marked(y, lengths) : y};
}

static Results matMul(Node &node) {
  multiplyPositions(node);
  return {node.create<nn::MatmulOp>({node.input(0), node.input(1)})};
}

/// Builds alpha · a · b + beta · c; a and b may be stored transposed.
Results frit::importer::gemm(Node &node) {
  Value a = node.input(0), b = weightFor(node, a, 1);
  double alpha = node.real("alpha", 1), beta = node.real("beta", 1);
  node.ignore("broadcast"); // Before opset 7; c is always broadcast.
  SmallVector<NamedAttribute> transposed;
  UnitAttr unit = node.builder().getUnitAttr();
  if (node.integer("transA", 0))
    transposed.push_back(node.named("transpose_a", unit));
  if (node.integer("transB", 0))
    transposed.push_back(node.named("transpose_b", unit));
  if (!a || !b)
    return {};
  if (rankOf(a) != 2 || rankOf(b) != 2) {
    node.error() << "multiplies matrices, but has "
                 << nn::shapeText(nn::shapeOf(a)) << " and "
                 << nn::shapeText(nn::shapeOf(b));
    return {};
  }
  Value y = node.create<nn::MatmulOp>({a, b}, transposed);
  if (alpha != 1)
    y = node.create<nn::MulOp>({y, node.scalar(y, alpha)});
  if (!node.has(2) || beta == 0 || !y)
    return {y};
  Value c = weightFor(node, a, 2);
  auto shape = nn::broadcastShapes({nn::shapeOf(y), nn::shapeOf(c)});
  if (shape && ArrayRef(*shape) != nn::shapeOf(y)) {
    node.error() << nn::shapeText(nn::shapeOf(c)) << " does not broadcast to "
                 << nn::shapeText(nn::shapeOf(y));
    return {};
  }
  if (beta != 1)
    c = node.create<nn::MulOp>({c, node.scalar(c, beta)});
  return {node.create<nn::AddOp>({y, c})};
}

ArrayRef<Hook> frit::importer::contractionHooks() {
  static constexpr Hook hooks[] = {
      {"Conv", 1, 2, 3, conv, takesCounts},
      {"Gemm", 1, 2, 3, gemm, takesCounts},
      {"MatMul", 1, 2, 2, matMul, takesCounts},
  };
  return hooks;
}
