//===- Node.h - The interface of a hook to its node -----------------------===//
//
// Errors stick: a missing or wrong part of a node is reported when a hook asks
// for it, and a placeholder is returned; operators on failed values are null
// without another report. So a hook reads inputs and attributes, builds its
// result and returns it without checking each step.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_COMPILER_ONNX_READER_NODE_H
#define FRIT_COMPILER_ONNX_READER_NODE_H

#include "compiler/onnx/reader/ImportState.h"

#include "dialects/nn/NN.h"

#include "mlir/IR/Diagnostics.h"

#include <limits>

namespace frit::importer {

class Node {
public:
  Node(ImportState &state, const ::onnx::NodeProto &proto, Scope &scope,
       unsigned depth, int64_t opset, mlir::Location loc, Results inputs);

  /// Returns the operator's name: "Softmax", "ai.onnx.ml::Binarizer".
  std::string operation() const;
  mlir::MLIRContext *context() const { return loc.getContext(); }

  /// Opset version of the node's domain.
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
  /// Returns input `i`; null, after an error, if it was omitted.
  mlir::Value input(size_t i);
  void setInput(size_t i, mlir::Value value) { values[i] = value; }
  /// Returns the value called `name` in the node's scope; null, after an error,
  /// if nothing has computed it.
  mlir::Value valueCalled(llvm::StringRef name);

  /// Returns the elements of an input that must be constant.
  std::optional<llvm::SmallVector<int64_t>> integers(size_t i);
  std::optional<int64_t> integer(size_t i);

  /// Returns the elements of an integer input, which may depend on the data.
  std::optional<DataShape> sizesIn(size_t i);

  /// Reports that input `i` must be constant.
  void notKnown(size_t i);
  /// As above, where -fbound helps: the input says sizes.
  void notBounded(size_t i);

  /// Returns whether the model will train (ImportOptions::trains).
  bool modelTrains() const;
  /// Returns whether the model is imported for several sizes.
  bool hasOpenSizes() const { return state.hasOpenSizes(); }
  /// Returns whether places are computed (ImportOptions::computesPlaces).
  bool computesPlaces() const { return state.computesPlaces(); }
  /// Records that the file has this node in training mode.
  void noteTrainingMode() { state.inTrainingMode.push_back(loc); }
  /// Returns the value of a key in the node's metadata, or "".
  llvm::StringRef metadata(llvm::StringRef key) const;
  /// Returns the name of the tool that wrote the model, or "".
  llvm::StringRef producer() const { return state.producer(); }
  /// Returns the node's name, or that of its first output, after those of the
  /// enclosing calls.
  std::string fullName() const;
  /// Returns the import that the node is a part of.
  ImportState &import() { return state; }

  size_t numOutputs() const { return proto.output_size(); }
  bool wants(size_t i) const {
    return i < numOutputs() && !proto.output(i).empty();
  }

  //===--------------------------------------------------------------------===//
  // Attributes
  //===--------------------------------------------------------------------===//

  /// Returns the attribute `name`, or null. Attributes that no hook asks for
  /// are errors, so that none is ignored silently.
  const ::onnx::AttributeProto *attribute(llvm::StringRef name);
  void ignore(llvm::StringRef name) { attribute(name); }

  int64_t integer(llvm::StringRef name, int64_t otherwise);
  double real(llvm::StringRef name, double otherwise);
  llvm::StringRef string(llvm::StringRef name, llvm::StringRef otherwise);
  std::optional<llvm::SmallVector<int64_t>> integers(llvm::StringRef name);
  llvm::SmallVector<double> reals(llvm::StringRef name);
  llvm::SmallVector<llvm::StringRef> strings(llvm::StringRef name);
  /// Returns a tensor attribute as a constant, or null.
  mlir::ElementsAttr tensor(llvm::StringRef name);
  /// As above, as a value; strings too.
  mlir::Value tensorValue(llvm::StringRef name);

  /// Returns a subgraph attribute; null, after an error, if there is none.
  const ::onnx::GraphProto *graph(llvm::StringRef name);
  /// Inlines a subgraph on `inputs` and returns its outputs; null, and the node
  /// fails, if a node in it failed. `name` distinguishes the subgraphs of a
  /// node.
  Results inlineGraph(const ::onnx::GraphProto &graph,
                      llvm::ArrayRef<mlir::Value> inputs, std::string name);

  /// As inlineGraph, for a subgraph whose results may be unused.
  Results inlineUnused(const ::onnx::GraphProto &graph,
                       llvm::ArrayRef<mlir::Value> inputs, std::string name);

  /// Converts all attributes for the nn operator `operation`, whose attributes
  /// have the same names.
  llvm::SmallVector<mlir::NamedAttribute>
  convertAll(mlir::RegisteredOperationName operation);

  /// Reports attributes that the hook did not ask for.
  void checkAttributes();

  //===--------------------------------------------------------------------===//
  // Building
  //===--------------------------------------------------------------------===//

  /// Creates an operator, or a constant if it folds. Null if an operand is
  /// null, or, after an error, if the operands do not match.
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
  mlir::Value stringTensor(llvm::ArrayRef<int64_t> shape,
                           llvm::ArrayRef<llvm::StringRef> texts) {
    return state.stringTensor(loc, shape, texts);
  }
  /// Returns a rank 0 constant with the element type of `like`.
  mlir::Value scalar(mlir::Value like, double value);
  mlir::Value scalar(mlir::Type element, double value);

  mlir::Value reshape(mlir::Value x, llvm::ArrayRef<int64_t> shape);
  mlir::Value expand(mlir::Value x, llvm::ArrayRef<int64_t> shape);
  mlir::Value transpose(mlir::Value x, llvm::ArrayRef<int64_t> perm);
  mlir::Value cast(mlir::Value x, mlir::Type element);
  mlir::Value reduce(mlir::Value x, nn::Combiner kind,
                     llvm::ArrayRef<int64_t> axes);
  /// Slices consecutive elements of dimension `axis`.
  mlir::Value slice(mlir::Value x, int64_t axis, int64_t start, int64_t size);
  mlir::Value concat(mlir::ValueRange xs, int64_t axis);

  //===--------------------------------------------------------------------===//
  // Data-dependent shapes
  //===--------------------------------------------------------------------===//

  DataSizes &dataSizes() { return state.sizes; }
  /// Returns what -fbound says about this node's results, if anything.
  std::optional<int64_t> bound() const;
  /// Returns the elements of a small integer tensor, at most what -fbound says
  /// about this node if they are not known; nothing if it says nothing. A call
  /// whose data give more fails.
  std::optional<DataShape> boundElements(mlir::Value value);
  /// Returns the elements of input `i`, a shape. As sizesIn, but unknown ones
  /// are allowed if -fbound limits this node.
  std::optional<DataShape> shapeIn(size_t i);
  /// Returns the sizes of a tensor: the number of valid entries per dimension.
  DataShape dataShape(mlir::Value x);
  /// Marks `x` with valid sizes `shape`, after cutting it to their upper
  /// bounds.
  mlir::Value marked(mlir::Value x, llvm::ArrayRef<Size> shape);
  /// As `marked`, along one axis.
  mlir::Value markedAlong(mlir::Value x, int64_t axis, const Size &count);
  /// Returns the whole upper bound of `x`, with the scalar `fill` in invalid
  /// entries.
  mlir::Value masked(mlir::Value x, mlir::Value fill);
  /// Makes `value`, an i64 scalar, the length of this node's results: at most
  /// `most`, or what -fbound says.
  Size count(mlir::Value value, int64_t most);
  /// Reshapes to data-dependent sizes.
  mlir::Value reshapeTo(mlir::Value x, llvm::ArrayRef<Size> shape);
  /// Slices `count` elements of a dimension from `start` on, `step` apart.
  mlir::Value sliceTo(mlir::Value x, int64_t axis, const Size &start,
                      const Size &count, int64_t step);
  /// Selects x if the scalar `condition` holds, otherwise y. Their sizes may
  /// differ. Null, without a report, if no common tensor exists.
  mlir::Value choose(mlir::Value condition, mlir::Value x, mlir::Value y);
  /// Returns the valid sizes of a tensor of valid `sizes` and bounds `from`
  /// that is reshaped to bounds `to`. With `mustLead`, only if the valid
  /// entries stay first in every dimension.
  std::optional<DataShape> regroup(llvm::ArrayRef<Size> sizes,
                                   llvm::ArrayRef<int64_t> from,
                                   llvm::ArrayRef<int64_t> to, bool mustLead);
  /// Returns a / b if it is known to be exact.
  std::optional<Size> ratio(const Size &a, const Size &b);
  /// Returns whether a data-dependent tensor may have this upper bound;
  /// otherwise reports an error that suggests -fbound.
  bool mayHold(llvm::ArrayRef<int64_t> shape);
  /// Returns the cached nonzero indices of the first `length` elements of a
  /// value.
  ImportState::Places &places(mlir::Value x, int64_t length) {
    return state.places[{x, length}];
  }
  /// Creates an operator on operands without marks, without folding or
  /// propagation.
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
  /// Returns a signed integer attribute, as for axes.
  mlir::NamedAttribute namedSigned(llvm::StringRef name, int64_t value);
  mlir::OpBuilder &builder() { return state.builder; }
  /// Return whether the model may get that many more operators, or table
  /// elements; report an error otherwise.
  bool mayBecome(size_t operators);
  bool mayTabulate(size_t elements);

  /// Returns whether `x` has dimension `dim` (not negative); reports an error
  /// otherwise.
  bool hasDimension(mlir::Value x, int64_t dim);
  /// Returns whether constant indices are in range; reports an error otherwise.
  /// Index i of each tuple belongs to a dimension of `limits[i]` entries; it
  /// may be negative, to count from the end. The runtime checks others that are
  /// elements of an input.
  bool checkIndices(mlir::Value indices, llvm::ArrayRef<int64_t> limits);
  /// Holds values that are no indices from the end, such as lengths, to a range
  /// that includes `most`, or to `other`. `use` says what they are, as in "is
  /// of 5 steps".
  void checkNumbers(mlir::Value numbers, int64_t least, int64_t most,
                    const llvm::Twine &use,
                    std::optional<int64_t> other = std::nullopt);
  /// Returns `axis` as a non-negative number; 0, after an error, if it is out
  /// of range.
  int64_t axis(int64_t axis, int64_t rank);
  /// Applies `axis` to all; ascending, without duplicates.
  llvm::SmallVector<int64_t> axes(llvm::ArrayRef<int64_t> axes, int64_t rank);

private:
  void checkRanges(mlir::Value indices, llvm::ArrayRef<nn::IndexRange> ranges);
  mlir::Value valueOfNothing(mlir::Operation *op);
  mlir::Value propagate(mlir::OperationName name, mlir::ValueRange operands,
                        llvm::ArrayRef<mlir::NamedAttribute> attributes);
  mlir::Value concatCounted(mlir::ValueRange xs, int64_t axis);
  /// Reports why an operator cannot read data-dependent tensors.
  mlir::Value mixes(mlir::ValueRange operands, llvm::StringRef reason);
  const ::onnx::AttributeProto *
  attribute(llvm::StringRef name, ::onnx::AttributeProto::AttributeType type);
  std::optional<mlir::Attribute>
  convert(const ::onnx::AttributeProto &attribute,
          mlir::RegisteredOperationName operation);

  ImportState &state;
  const ::onnx::NodeProto &proto;
  Scope &scope;
  unsigned depth;
  Results values;
  /// The node's attributes by name, with references resolved.
  llvm::StringMap<const ::onnx::AttributeProto *> attributes;
  llvm::StringSet<> asked;

  friend class Importer;
};

/// Returns a node's name for messages: its name, or that of its first output.
inline std::string ownName(const ::onnx::NodeProto &node) {
  return node.name().empty() && node.output_size() ? node.output(0)
                                                   : node.name();
}

/// Returns a tensor's shape as an editable list.
inline llvm::SmallVector<int64_t> sizes(mlir::Value v) {
  return llvm::SmallVector<int64_t>(nn::shapeOf(v));
}
inline int64_t rankOf(mlir::Value v) { return nn::tensorType(v).getRank(); }
inline mlir::Type elementOf(mlir::Value v) {
  return nn::tensorType(v).getElementType();
}

/// Returns the product of sizes that countElements accepted; the largest number
/// on overflow, so that nothing fits.
inline int64_t product(llvm::ArrayRef<int64_t> sizes) {
  int64_t n = 1;
  for (int64_t size : sizes)
    if (__builtin_mul_overflow(n, size, &n))
      return std::numeric_limits<int64_t>::max();
  return n;
}

/// Converts to an integer, rounding towards 0; 0 for NaN.
int64_t integerOf(double value);

/// Largest table that is generated from a few numbers of the model.
inline constexpr int64_t mostInTable = int64_t(1) << 22;

/// Maximum steps of a loop or sequence: longer ones give graphs too large to
/// compile.
inline constexpr int64_t mostSteps = 4096;

} // namespace frit::importer

#endif // FRIT_COMPILER_ONNX_READER_NODE_H
