//===- Node.h - One ONNX node, as its hook sees it ------------------------===//
//
// Errors stick: what a node lacks is reported where it is asked for, a stand-in
// is returned, and values built from a failed one are null without another
// report. So a hook reads its inputs and attributes, builds its result and
// returns it, with no check after every step.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_ONNX_READER_NODE_H
#define FRIT_COMPILER_ONNX_READER_NODE_H

#include "compiler/onnx/reader/Importer.h"

#include "dialects/nn/NN.h"

#include "mlir/IR/Diagnostics.h"

#include <limits>

namespace frit::importer {

class Node {
public:
  Node(Importer &importer, const ::onnx::NodeProto &proto, Scope &scope,
       unsigned depth, int64_t opset, mlir::Location loc, Results inputs);

  /// "Softmax", "ai.onnx.ml::Binarizer".
  std::string operation() const;
  mlir::MLIRContext *context() const { return loc.getContext(); }

  /// The opset of the node's domain, where it is and whether it has failed.
  const int64_t opset;
  const mlir::Location loc;
  bool failed = false;

  mlir::InFlightDiagnostic error() {
    failed = true;
    return mlir::emitError(loc);
  }

  //===--------------------------------------------------------------------===//
  // Inputs and outputs
  //===--------------------------------------------------------------------===//

  llvm::ArrayRef<mlir::Value> inputs() const { return values; }
  bool has(size_t i) const { return i < values.size() && values[i]; }
  /// Input `i`; null, with an error, if it is left out.
  mlir::Value input(size_t i);

  /// The elements of an input that must be known when compiling.
  std::optional<llvm::SmallVector<int64_t>> integers(size_t i);
  std::optional<int64_t> integer(size_t i);

  /// The elements of an integer input, which may depend on the data.
  std::optional<DataShape> sizesIn(size_t i);

  /// Reports that input `i` must be known when compiling.
  void notKnown(size_t i);

  size_t numOutputs() const { return proto.output_size(); }
  bool wants(size_t i) const {
    return i < numOutputs() && !proto.output(i).empty();
  }

  //===--------------------------------------------------------------------===//
  // Attributes
  //===--------------------------------------------------------------------===//

  /// The attribute `name` if the node has it; one that no hook asks for is an
  /// error, so that nothing is dropped in silence.
  const ::onnx::AttributeProto *attribute(llvm::StringRef name);
  void ignore(llvm::StringRef name) { attribute(name); }

  int64_t integer(llvm::StringRef name, int64_t otherwise);
  double real(llvm::StringRef name, double otherwise);
  llvm::StringRef string(llvm::StringRef name, llvm::StringRef otherwise);
  std::optional<llvm::SmallVector<int64_t>> integers(llvm::StringRef name);
  llvm::SmallVector<double> reals(llvm::StringRef name);
  llvm::SmallVector<llvm::StringRef> strings(llvm::StringRef name);
  /// A constant from an attribute that is a tensor, or null if it has none.
  mlir::ElementsAttr tensor(llvm::StringRef name);

  /// A subgraph; null, with an error, if the node has none of that name.
  const ::onnx::GraphProto *graph(llvm::StringRef name);
  /// The outputs of a subgraph on `inputs`, as part of the graph around; where
  /// one has failed they are null and so is the node. `name` tells it from
  /// others of this node.
  Results inlineGraph(const ::onnx::GraphProto &graph,
                      llvm::ArrayRef<mlir::Value> inputs, std::string name);

  /// Converts every attribute for the nn operator `operation`, which has them
  /// under the same names.
  llvm::SmallVector<mlir::NamedAttribute>
  convertAll(mlir::RegisteredOperationName operation);

  /// Reports attributes that nothing has asked for.
  void checkAttributes();

  //===--------------------------------------------------------------------===//
  // Building
  //===--------------------------------------------------------------------===//

  /// A new operator, or the constant that it amounts to; null if an operand is
  /// or if the operands do not fit, which is reported.
  mlir::Value create(mlir::OperationName name, mlir::ValueRange operands,
                     llvm::ArrayRef<mlir::NamedAttribute> attributes = {});
  template <typename Op>
  mlir::Value create(mlir::ValueRange operands,
                     llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) {
    return create(mlir::OperationName(Op::getOperationName(), context()),
                  operands, attributes);
  }

  mlir::Value constant(mlir::ElementsAttr value);
  mlir::Value constant(llvm::ArrayRef<int64_t> values);
  /// A rank 0 constant of the element type of `like`.
  mlir::Value scalar(mlir::Value like, double value);
  mlir::Value scalar(mlir::Type element, double value);

  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<int64_t> shape);
  mlir::Value expand(mlir::Value x, llvm::ArrayRef<int64_t> shape);
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> perm);
  mlir::Value cast(mlir::Value x, mlir::Type element);
  mlir::Value reduce(mlir::Value x, nn::Combiner kind,
                     llvm::ArrayRef<int64_t> axes);
  /// Consecutive elements of dimension `axis`.
  mlir::Value slice(mlir::Value x, int64_t axis, int64_t start, int64_t size);
  mlir::Value concat(mlir::ValueRange xs, int64_t axis);

  //===--------------------------------------------------------------------===//
  // Shapes that depend on the data (DataShape.h)
  //===--------------------------------------------------------------------===//

  DataSizes &dataSizes() { return importer.sizes; }
  /// The sizes of a tensor: what counts of it.
  DataShape dataShape(mlir::Value x);
  /// `x`, of which as many entries count as `shape` says, with no more room
  /// than these may need.
  mlir::Value marked(mlir::Value x, llvm::ArrayRef<Size> shape);
  /// The same along one axis.
  mlir::Value counted(mlir::Value x, int64_t axis, const Size &count);
  /// All there is room for, with `fill`, a scalar, where entries do not count.
  mlir::Value masked(mlir::Value x, mlir::Value fill);
  /// `value`, an i64 scalar, as the number of entries of this node's results,
  /// at most `most` or what -fbound says.
  Size count(mlir::Value value, int64_t most);
  /// The same elements in another shape.
  mlir::Value reshapeTo(mlir::Value x, llvm::ArrayRef<Size> shape);
  /// Every few elements of a dimension from `start` on, `count` of them.
  mlir::Value sliceTo(mlir::Value x, int64_t axis, const Size &start,
                      const Size &count, int64_t step);
  /// x where `condition`, a scalar, holds, else y, which may differ in their
  /// sizes; null, without a report, where they cannot be one tensor.
  mlir::Value choose(mlir::Value condition, mlir::Value x, mlir::Value y);
  /// The sizes of a tensor of `sizes`, with room for `from`, that is reshaped
  /// to have room for `to`; with `mustLead` only if the entries that count stay
  /// the first in every dimension.
  std::optional<DataShape> regroup(llvm::ArrayRef<Size> sizes,
                                   llvm::ArrayRef<int64_t> from,
                                   llvm::ArrayRef<int64_t> to, bool mustLead);
  /// How often `b` is in `a`, where that is known not to leave a rest.
  std::optional<Size> ratio(const Size &a, const Size &b);
  /// Whether tensors of a shape that data decide about may be so large, or an
  /// error that names -fbound.
  bool mayHold(llvm::ArrayRef<int64_t> shape);
  /// What is known of where the first `length` elements of a value are not
  /// zero.
  Importer::Places &places(mlir::Value x, int64_t length) {
    return importer.places[{x, length}];
  }
  /// An operator on unmarked operands, as it is.
  mlir::Value build(mlir::OperationName name, mlir::ValueRange operands,
                    llvm::ArrayRef<mlir::NamedAttribute> attributes);
  template <typename Op>
  mlir::Value build(mlir::ValueRange operands,
                    llvm::ArrayRef<mlir::NamedAttribute> attributes = {}) {
    if (failed || llvm::is_contained(operands, mlir::Value()))
      return {};
    return build(mlir::OperationName(Op::getOperationName(), context()),
                 operands, attributes);
  }

  mlir::NamedAttribute named(llvm::StringRef name, mlir::Attribute value) {
    return builder().getNamedAttr(name, value);
  }
  mlir::NamedAttribute named(llvm::StringRef name,
                             llvm::ArrayRef<int64_t> values) {
    return named(name, builder().getDenseI64ArrayAttr(values));
  }
  /// Attributes whose integers have a sign, as axes do.
  mlir::NamedAttribute namedSigned(llvm::StringRef name, int64_t value);
  mlir::OpBuilder &builder() { return importer.builder; }
  /// Whether the model may have this many operators more for the node, or a
  /// table of so many elements; else an error.
  bool mayBecome(size_t operators);
  bool mayTabulate(size_t elements);

  /// Whether `x` has a dimension `dim`, counted from the front, or an error.
  bool hasDimension(mlir::Value x, int64_t dim);
  /// Whether indices that are known are in range, or an error. The first of
  /// them is one of a dimension of `limits[0]` entries, and so on, in turn.
  bool checkIndices(mlir::Value indices, llvm::ArrayRef<int64_t> limits);
  /// `axis` counted from the front; 0, with an error, if it is out of range.
  int64_t axis(int64_t axis, int64_t rank);
  /// `axis` for every one, without duplicates, ascending.
  llvm::SmallVector<int64_t> axes(llvm::ArrayRef<int64_t> axes, int64_t rank);

private:
  mlir::Value valueOfNothing(mlir::Operation *op);
  mlir::Value spread(mlir::OperationName name, mlir::ValueRange operands,
                     llvm::ArrayRef<mlir::NamedAttribute> attributes);
  mlir::Value concatCounted(mlir::ValueRange xs, int64_t axis);
  /// Reports why an operator cannot read what the data decide about.
  mlir::Value mixes(mlir::ValueRange operands, llvm::StringRef reason);
  const ::onnx::AttributeProto *
  attribute(llvm::StringRef name, ::onnx::AttributeProto::AttributeType type);
  std::optional<mlir::Attribute>
  convert(const ::onnx::AttributeProto &attribute,
          mlir::RegisteredOperationName operation);

  Importer &importer;
  const ::onnx::NodeProto &proto;
  Scope &scope;
  unsigned depth;
  Results values;
  /// The node's attributes by name, references resolved.
  llvm::StringMap<const ::onnx::AttributeProto *> attributes;
  llvm::StringSet<> asked;

  friend class Importer;
};

/// What a node is called in messages: its name or else its first output's.
inline std::string ownName(const ::onnx::NodeProto &node) {
  return node.name().empty() && node.output_size() ? node.output(0)
                                                   : node.name();
}

/// A tensor's shape as a list one can edit.
inline llvm::SmallVector<int64_t> sizes(mlir::Value v) {
  return llvm::SmallVector<int64_t>(nn::shapeOf(v));
}
inline int64_t rankOf(mlir::Value v) { return nn::tensorType(v).getRank(); }
inline mlir::Type elementOf(mlir::Value v) {
  return nn::tensorType(v).getElementType();
}

/// The product of sizes, which countElements has found sane.
/// What goes past 64 bits is the largest number, so that nothing fits it.
inline int64_t product(llvm::ArrayRef<int64_t> sizes) {
  int64_t n = 1;
  for (int64_t size : sizes)
    if (__builtin_mul_overflow(n, size, &n))
      return std::numeric_limits<int64_t>::max();
  return n;
}

/// The integer nearest to a number, towards 0; 0 where that is none.
int64_t integerOf(double value);

/// Larger tables made up of a few numbers in the model would be larger than
/// most models.
inline constexpr int64_t mostInTable = int64_t(1) << 22;

} // namespace frit::importer

#endif // FRIT_COMPILER_ONNX_READER_NODE_H
