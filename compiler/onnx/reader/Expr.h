//===- Expr.h - Write formulas of nn operators ----------------------------===//
//
// Operator overloads for hooks that expand an ONNX operator into a formula.
// Errors stick, as everywhere in a hook: an expression with a failed operand is
// null.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_ONNX_READER_EXPR_H
#define FRIT_COMPILER_ONNX_READER_EXPR_H

#include "compiler/onnx/reader/Node.h"

namespace frit::importer {

/// A value and the node it is built for.
class Expr {
public:
  Expr(Node &node, mlir::Value value) : node(&node), value(value) {}
  operator mlir::Value() const { return value; }
  explicit operator bool() const { return bool(value); }

  llvm::SmallVector<int64_t> shape() const {
    return value ? sizes(value) : llvm::SmallVector<int64_t>();
  }
  int64_t rank() const { return value ? rankOf(value) : 0; }
  /// Returns the size of a dimension; 1, after an error, if there is none.
  int64_t size(int64_t dim) const {
    return value && node->hasDimension(value, dim) ? shape()[dim] : 1;
  }
  mlir::Type element() const {
    return value ? elementOf(value) : node->builder().getF32Type();
  }
  bool isFloat() const { return llvm::isa<mlir::FloatType>(element()); }

  template <typename Op>
  Expr apply(llvm::ArrayRef<mlir::Value> others = {},
             llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) const {
    llvm::SmallVector<mlir::Value> operands = {value};
    operands.append(others.begin(), others.end());
    return {*node, node->create<Op>(operands, attributes)};
  }
  /// Returns a scalar constant of the same element type.
  Expr number(double x) const { return {*node, node->scalar(value, x)}; }

  Expr to(mlir::Type type) const { return {*node, node->cast(value, type)}; }
  Expr reshape(llvm::ArrayRef<int64_t> to) const {
    return {*node, node->reshape(value, to)};
  }
  Expr expand(llvm::ArrayRef<int64_t> to) const {
    return {*node, node->expand(value, to)};
  }
  Expr transpose(llvm::ArrayRef<int64_t> perm) const {
    return {*node, value ? node->transpose(value, perm) : value};
  }
  Expr slice(int64_t axis, int64_t start, int64_t count) const {
    if (value && start == 0 && count == size(axis))
      return *this;
    return {*node, node->slice(value, axis, start, count)};
  }
  /// Reverses the elements along `axis`.
  Expr reverse(int64_t axis) const {
    if (!value || !node->hasDimension(value, axis))
      return {*node, {}};
    llvm::SmallVector<int64_t> starts(rank(), 0), steps(rank(), 1);
    starts[axis] = size(axis) - 1;
    steps[axis] = -1;
    return apply<nn::SliceOp>({}, {node->named("starts", starts),
                                   node->named("sizes", shape()),
                                   node->named("steps", steps)});
  }
  Expr gather(mlir::Value indices, int64_t axis) const {
    return apply<nn::GatherOp>(indices, node->namedSigned("axis", axis));
  }
  Expr gatherElements(mlir::Value indices, int64_t axis) const {
    return apply<nn::GatherElementsOp>(indices,
                                       node->namedSigned("axis", axis));
  }
  Expr reduce(nn::Combiner kind, llvm::ArrayRef<int64_t> axes) const {
    return {*node, axes.empty() ? value : node->reduce(value, kind, axes)};
  }
  Expr sum(llvm::ArrayRef<int64_t> axes) const {
    return reduce(nn::Combiner::sum, axes);
  }
  /// Pads `axis` with `low` zeros (or `fill`) before and `high` after.
  Expr pad(int64_t axis, int64_t low, int64_t high,
           mlir::Value fill = {}) const {
    if (!value || (low == 0 && high == 0))
      return *this;
    if (!node->hasDimension(value, axis))
      return {*node, {}};
    llvm::SmallVector<int64_t> before(rank(), 0), after(rank(), 0);
    before[axis] = low;
    after[axis] = high;
    llvm::SmallVector<mlir::Value> others;
    if (fill)
      others.push_back(fill);
    return apply<nn::PadOp>(
        others, {node->named("low", before), node->named("high", after)});
  }

  Expr max(mlir::Value x) const { return apply<nn::MaxOp>(x); }
  Expr min(mlir::Value x) const { return apply<nn::MinOp>(x); }
  Expr clamp(double low, double high) const {
    return max(number(low)).min(number(high));
  }
  Expr mod(mlir::Value x) const { return apply<nn::ModOp>(x); }
  Expr matmul(mlir::Value x) const { return apply<nn::MatmulOp>(x); }
  Expr equals(mlir::Value x) const { return apply<nn::EqualOp>(x); }
  Expr logicalNot() const { return apply<nn::NotOp>(); }
  /// Selects `yes` where this condition holds, otherwise `no`.
  Expr select(mlir::Value yes, mlir::Value no) const {
    return apply<nn::WhereOp>({yes, no});
  }

  Node *node;
  mlir::Value value;
};

#define FRIT_EXPR(symbol, Op)                                                  \
  inline Expr operator symbol(Expr x, Expr y) { return x.apply<nn::Op>({y}); } \
  inline Expr operator symbol(Expr x, double y) { return x symbol x.number(y); }
FRIT_EXPR(+, AddOp)
FRIT_EXPR(-, SubOp)
FRIT_EXPR(*, MulOp)
FRIT_EXPR(/, DivOp)
FRIT_EXPR(<, LessOp)
FRIT_EXPR(<=, LessEqualOp)
FRIT_EXPR(>, GreaterOp)
FRIT_EXPR(>=, GreaterEqualOp)
#undef FRIT_EXPR
inline Expr operator-(double x, Expr y) { return y.number(x) - y; }
inline Expr operator*(double x, Expr y) { return y.number(x) * y; }
inline Expr operator&(Expr x, Expr y) { return x.apply<nn::AndOp>({y}); }
inline Expr operator|(Expr x, Expr y) { return x.apply<nn::OrOp>({y}); }

inline Expr input(Node &node, size_t i) { return {node, node.input(i)}; }

/// Builds 0, 1, 2, ... along `axis` of a shape.
inline Expr iota(Node &node, mlir::Type element, llvm::ArrayRef<int64_t> shape,
                 int64_t axis) {
  return {node,
          node.create<nn::IotaOp>(
              {node.scalar(element, 0), node.scalar(element, 1)},
              {node.named("shape", shape),
               node.named("axis", node.builder().getI64IntegerAttr(axis))})};
}

/// Returns a tensor with all elements `x`.
inline Expr filled(Node &node, mlir::Type element,
                   llvm::ArrayRef<int64_t> shape, double x) {
  return {node, node.expand(node.scalar(element, x), shape)};
}

/// Returns a constant tensor of floats, converted to `element`.
Expr table(Node &node, mlir::Type element, llvm::ArrayRef<int64_t> shape,
           llvm::ArrayRef<double> values);

/// Returns a constant tensor of integers.
inline Expr table(Node &node, llvm::ArrayRef<int64_t> shape,
                  llvm::ArrayRef<int64_t> values) {
  return {node, node.reshape(node.constant(values), shape)};
}

/// Converts negative indices, which count from the end, to i64 indices from the
/// front.
inline Expr fromFront(Expr indices, Expr size) {
  Expr wide = indices.to(indices.node->builder().getI64Type());
  return (wide < 0.0).select(wide + size, wide);
}
inline Expr fromFront(Expr indices, int64_t size) {
  Node &node = *indices.node;
  return fromFront(indices, {node, node.scalar(node.builder().getI64Type(),
                                               static_cast<double>(size))});
}

/// Returns an input that must be constant: one number, or `count` of them.
std::optional<double> number(Node &node, size_t i);
std::optional<llvm::SmallVector<double>> numbers(Node &node, size_t i,
                                                 size_t count);

} // namespace frit::importer

#endif // FRIT_COMPILER_ONNX_READER_EXPR_H
