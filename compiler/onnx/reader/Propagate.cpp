//===- Propagate.cpp - Operators on data-dependent tensors ----------------===//
//
// An operator computes all entries of the upper bound; ValidEntries.h says
// which of them are valid. For operators that combine entries, invalid ones are
// replaced by the neutral element:
//
//   nn.reduce (nn.counted %x, %n {axis = 0}) {axes = [0], kind = sum}
// ==>
//   %m = nn.where (nn.less (nn.iota 0, 1 {shape = [8, 1]}), %n), %x, 0
//   nn.reduce %m {axes = [0], kind = sum}
//
// Operators that move entries (concat, reshape, slice) are followed by a gather
// if valid entries would not be first.
//
//===----------------------------------------------------------------------===//

#include "compiler/import/CreateOp.h"
#include "compiler/onnx/bounded/ValidEntries.h"
#include "compiler/onnx/reader/Expr.h"

#include "dialects/nn/lowering/Lowering.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;

/// Masks some dimensions and leaves the others.
static Expr maskedAlong(Expr x, ArrayRef<int64_t> axes, Value fill) {
  DataShape shape = x.node->dataShape(x), some = shape;
  for (auto [d, size] : llvm::enumerate(some))
    (llvm::is_contained(axes, int64_t(d)) ? shape[d] : size) = x.size(d);
  Node &node = *x.node;
  Expr raw = {node, unmarked(x)};
  return {node, node.marked(node.masked(node.marked(raw, some), fill), shape)};
}

Value Node::mixes(ValueRange operands, StringRef reason) {
  if (failed)
    return {};
  auto message = error();
  for (Value x : operands) {
    auto counted = x.getDefiningOp<nn::CountedOp>();
    if (!counted)
      continue;
    message << "reads a tensor whose size depends on the data, of up to "
            << sizes(x)[counted.getAxis()] << " entries, and " << reason
            << fixInputsHint(counted.getX());
    break;
  }
  return {};
}

/// Resolves negative indices, which count from the end of the valid entries.
static Value wrapIndices(Node &node, Value x, int64_t axis, Value indices,
                         DataSizes &sizes) {
  Size size = node.dataShape(x)[axis];
  if (size.isKnown())
    return indices;
  Expr raw = {node, unmarked(indices)};
  Expr count = Expr{node, sizes.valueOf(node, size)}.to(raw.element());
  return node.marked((raw < 0.0).select(raw + count, raw),
                     node.dataShape(indices));
}

/// Cuts equal sizes with different upper bounds to the same bound.
static void alignBounds(Node &node, MutableArrayRef<Value> operands) {
  for (Value &x : operands)
    for (Value &y : operands) {
      DataShape a = node.dataShape(x), b = node.dataShape(y);
      for (size_t i = 1; i <= std::min(a.size(), b.size()); ++i) {
        size_t dx = a.size() - i, dy = b.size() - i;
        if (a[dx].isKnown() || !(a[dx] == b[dy]) ||
            sizes(x)[dx] <= sizes(y)[dy])
          continue;
        x = node.marked(node.slice(unmarked(x), dx, 0, sizes(y)[dy]), a);
      }
    }
}

Value Node::propagate(OperationName name, ValueRange given,
                      ArrayRef<NamedAttribute> attributes) {
  SmallVector<Value> operands(given);
  auto is = [&]<typename... Op>() {
    return ((name.getStringRef() == Op::getOperationName()) || ...);
  };
  auto entry = [&](StringRef attribute) -> Attribute {
    for (NamedAttribute a : attributes)
      if (a.getName() == attribute)
        return a.getValue();
    return {};
  };
  auto list = [&](StringRef attribute) {
    return llvm::cast<DenseI64ArrayAttr>(entry(attribute)).asArrayRef();
  };
  auto axisOf = [&](Value x) {
    auto attribute = dyn_cast_or_null<IntegerAttr>(entry("axis"));
    int64_t axis = attribute ? attribute.getValue().getSExtValue() : 0;
    return axis < 0 ? axis + rankOf(x) : axis;
  };
  Expr x = {*this, operands[0]};
  auto lowest = [&](nn::Combiner kind) -> Value {
    Type element = x.element();
    auto none = nn::identity(kind, element, element.isUnsignedInteger());
    return constant(DenseElementsAttr::get(RankedTensorType::get({}, element),
                                           Attribute(none)));
  };
  DataShape shape = dataShape(x);

  if (is.operator()<nn::ReshapeOp>()) {
    auto target = regroup(shape, sizes(x), list("shape"), /*mustLead=*/false);
    return target ? reshapeTo(x, *target)
                  : mixes(operands, "splits them into parts of another size");
  }
  if (is.operator()<nn::SliceOp>()) {
    ArrayRef<int64_t> starts = list("starts"), counts = list("sizes"),
                      steps = list("steps");
    // First the static dimensions, then the others.
    SmallVector<int64_t> first(starts), most(counts), by(steps);
    DataShape cut = shape;
    for (int64_t d = 0; d < x.rank(); ++d) {
      if (shape[d].isKnown()) {
        cut[d] = counts[d];
        continue;
      }
      bool isWhole = starts[d] == 0 && counts[d] == x.size(d);
      if (steps[d] != 1 && !isWhole)
        return mixes(operands, "takes every n-th of them");
      first[d] = 0;
      most[d] = x.size(d);
      by[d] = 1;
    }
    Value y = create<nn::SliceOp>(
        unmarked(x),
        {named("starts", first), named("sizes", most), named("steps", by)});
    y = marked(y, cut);
    for (int64_t d = 0; d < x.rank() && y; ++d) {
      if (shape[d].isKnown() || (starts[d] == 0 && counts[d] == x.size(d)))
        continue;
      Size rest =
          state.sizes.largest(*this, 0, DataSizes::plus(shape[d], -starts[d]));
      y = sliceTo(y, d, starts[d], state.sizes.least(*this, counts[d], rest),
                  1);
    }
    return y;
  }
  if (is.operator()<nn::ConcatOp>()) {
    alignBounds(*this, operands);
    return concatCounted(operands, axisOf(x));
  }
  if (is.operator()<nn::GatherOp>()) {
    int64_t axis = axisOf(x);
    Value indices = wrapIndices(*this, x, axis, operands[1], state.sizes);
    DataShape places = dataShape(indices);
    DataShape result(shape.begin(), shape.begin() + axis);
    result.append(places);
    result.append(shape.begin() + axis + 1, shape.end());
    Expr raw = {*this, unmarked(x)};
    return marked(raw.gather(unmarked(indices), axis), result);
  }
  if (is.operator()<nn::GatherElementsOp>()) {
    int64_t axis = axisOf(x);
    Value indices = wrapIndices(*this, x, axis, operands[1], state.sizes);
    Expr raw = {*this, unmarked(x)};
    return marked(raw.gatherElements(unmarked(indices), axis),
                  dataShape(indices));
  }
  if (is.operator()<nn::ReduceOp>()) {
    auto kind = llvm::cast<nn::CombinerAttr>(entry("kind")).getValue();
    operands[0] = maskedAlong(x, list("axes"), lowest(kind));
  } else if (is.operator()<nn::ReduceMeanOp>()) {
    Size count = 1;
    for (int64_t axis : list("axes"))
      count = state.sizes.times(*this, count, shape[axis]);
    Expr number = {*this, state.sizes.valueOf(*this, count)};
    return x.sum(list("axes")) / number.to(x.element());
  } else if (is.operator()<nn::SoftmaxOp, nn::LogSoftmaxOp>()) {
    int64_t axis = axisOf(x);
    if (!shape[axis].isKnown()) {
      Value inner = maskedAlong(x, axis, lowest(nn::Combiner::max));
      return markedAlong(create(name, inner, attributes), axis, shape[axis]);
    }
  } else if (is.operator()<nn::ArgMaxOp>()) {
    operands[0] = maskedAlong(x, axisOf(x), lowest(nn::Combiner::max));
  } else if (is.operator()<nn::ArgMinOp>()) {
    operands[0] = maskedAlong(x, axisOf(x), lowest(nn::Combiner::min));
  } else if (is.operator()<nn::CumSumOp>()) {
    // Invalid entries come last, or are added as zeros.
    return marked(create(name, {masked(x, x.number(0))}, attributes), shape);
  } else if (is.operator()<nn::CumProdOp>()) {
    return marked(create(name, {masked(x, x.number(1))}, attributes), shape);
  } else if (is.operator()<nn::MatmulOp>()) {
    // The dimension of the sum; a vector has only one.
    auto summed = [&](Value side, bool isFirst) {
      int64_t rank = rankOf(side);
      bool isLast =
          isFirst != bool(entry(isFirst ? "transpose_a" : "transpose_b"));
      return rank < 2 || isLast ? rank - 1 : rank - 2;
    };
    Size length = dataShape(operands[0])[summed(operands[0], true)];
    if (!(length == dataShape(operands[1])[summed(operands[1], false)]))
      return mixes(operands, "multiplies them by others");
    if (!length.isKnown())
      for (int i = 0; i < 2; ++i)
        operands[i] = maskedAlong({*this, operands[i]},
                                  summed(operands[i], i == 0), x.number(0));
  }
  if (failed || llvm::is_contained(operands, Value()))
    return {};
  alignBounds(*this, operands);

  SmallVector<Value> raws = llvm::map_to_vector(operands, unmarked);
  auto shapes = llvm::map_to_vector(
      operands, [&](Value operand) { return dataShape(operand); });
  Operation *probe = importer::createInferred(loc, name, raws, attributes);
  if (!probe) {
    failed = true;
    return {};
  }
  auto result = validEntries(*this, probe, shapes);
  probe->destroy();
  if (!result)
    return mixes(operands, "combines them with others");
  return marked(create(name, raws, attributes), *result);
}
