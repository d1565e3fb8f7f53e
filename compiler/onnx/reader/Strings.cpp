//===- Strings.cpp - Tensors of strings -----------------------------------===//
//
// Each distinct string of a model has a number, and a tensor of strings is the
// i64 tensor of its numbers. A value of type none marks these numbers as
// strings. Nothing reads that value after the import. The runtime numbers the
// strings of a call, and names those of its outputs.
//
// Operators that move or compare elements work on the numbers (Registry.cpp).
// Those that make strings run on the host when a call starts
// (compiler/onnx/strings).
//
//===----------------------------------------------------------------------===//

#include "compiler/onnx/reader/Expr.h"

#include "dialects/nn/Fold.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;
using ::onnx::TensorProto;

Value ImportState::stringTensor(Location loc, ArrayRef<int64_t> shape,
                                ArrayRef<StringRef> texts) {
  SmallVector<int64_t> all;
  for (StringRef text : texts)
    all.push_back(numberOf(text));
  auto type = RankedTensorType::get(shape, builder.getI64Type());
  Value ids = nn::ConstantOp::create(
      builder, loc, DenseElementsAttr::get(type, ArrayRef(all)), StringAttr());
  return stringsOf(builder, loc, ids);
}

Value ImportState::readStrings(const TensorProto &tensor, Location loc) {
  ArrayRef<int64_t> shape(tensor.dims().data(), tensor.dims_size());
  std::optional<int64_t> count = countElements(shape);
  if (!count || *count != tensor.string_data_size()) {
    emitError(loc) << "has " << tensor.string_data_size() << " strings for "
                   << nn::shapeText(shape);
    return {};
  }
  return stringTensor(loc, shape,
                      SmallVector<StringRef>(tensor.string_data().begin(),
                                             tensor.string_data().end()));
}

Value ImportState::readStringsFile(StringRef file, Location loc) {
  auto buffer = llvm::MemoryBuffer::getFile(file, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer) {
    emitError(loc) << "cannot read its value from '" << file
                   << "': " << buffer.getError().message();
    return {};
  }
  TensorProto tensor;
  if ((*buffer)->getBufferSize() > INT_MAX ||
      !tensor.ParseFromArray((*buffer)->getBufferStart(),
                             (*buffer)->getBufferSize()) ||
      tensor.data_type() != TensorProto::STRING) {
    emitError(loc) << "'" << file
                   << "' is no file with a TensorProto of strings";
    return {};
  }
  return readStrings(tensor, loc);
}

Value Node::tensorValue(StringRef name) {
  auto found = attribute(name, ::onnx::AttributeProto::TENSOR);
  if (!found)
    return {};
  if (found->t().data_type() != TensorProto::STRING) {
    ElementsAttr value = tensor(name);
    return value ? constant(value) : Value();
  }
  Value value = state.readStrings(found->t(), loc);
  failed |= !value;
  return value;
}

//===----------------------------------------------------------------------===//
// LabelEncoder
//===----------------------------------------------------------------------===//

/// Returns the keys or the values of a LabelEncoder, `which`, as a tensor of
/// rank 1; null, after an error, if it has none.
static Value entries(Node &node, const std::string &which) {
  OpBuilder &b = node.builder();
  Value value = node.tensorValue(which + "_tensor");
  if (auto texts = node.strings(which + "_strings"); !texts.empty())
    value = node.stringTensor({static_cast<int64_t>(texts.size())}, texts);
  if (auto numbers = node.integers(which + "_int64s"))
    value = node.constant(*numbers);
  if (auto numbers = node.reals(which + "_floats"); !numbers.empty())
    value = table(node, b.getF32Type(), {static_cast<int64_t>(numbers.size())},
                  numbers);
  if (!value && !node.failed)
    node.error() << "has no " << which;
  if (node.failed)
    return {};
  Value numbers = isStrings(value) ? idsOf(value) : value;
  int64_t count = nn::tensorType(numbers).getNumElements();
  return isStrings(value)
             ? stringsOf(b, node.loc, node.reshape(numbers, {count}))
             : node.reshape(numbers, {count});
}

/// Returns the value of keys that are not listed, of the type of `values`.
static Value defaultValue(Node &node, Value values) {
  Value given = node.tensorValue("default_tensor");
  auto integer = static_cast<double>(node.integer("default_int64", -1));
  double real = node.real("default_float", -0.0);
  StringRef string = node.string("default_string", "_Unused");
  if (!values || node.failed)
    return {};
  if (given && isStrings(given) != isStrings(values)) {
    node.error() << "its default is of another type than its values";
    return {};
  }
  if (isStrings(values))
    return node.reshape(idsOf(given ? given : node.stringTensor({1}, {string})),
                        {1});
  if (given)
    return node.cast(node.reshape(given, {1}), elementOf(values));
  bool isFloat = isa<FloatType>(elementOf(values));
  return node.reshape(node.scalar(elementOf(values), isFloat ? real : integer),
                      {1});
}

/// Looks keys up among all that are listed. A NaN is equal to itself here.
static Results labelEncoder(Node &node) {
  Value x = node.input(0), keys = entries(node, "keys"),
        values = entries(node, "values");
  Value otherwise = defaultValue(node, values);
  if (!x || !otherwise)
    return {};
  OpBuilder &b = node.builder();
  if (isStrings(x) != isStrings(keys)) {
    node.error() << "its keys are " << (isStrings(keys) ? "" : "not ")
                 << "strings, but its input is" << (isStrings(x) ? "" : " not");
    return {};
  }
  Expr key = {node, isStrings(keys) ? idsOf(keys) : keys};
  Expr wanted = {node, isStrings(x) ? idsOf(x) : x};
  Expr found = {node, isStrings(values) ? idsOf(values) : values};
  int64_t count = key.size(0);
  if (found.size(0) != count || elementOf(key) != elementOf(wanted)) {
    node.error() << "has " << count << " keys of type " << elementOf(key)
                 << " and " << found.size(0) << " values for an input of "
                 << elementOf(wanted);
    return {};
  }
  auto shape = wanted.shape();
  int64_t elements = product(shape);
  wanted = wanted.reshape({elements, 1});
  key = key.reshape({1, count});
  Expr same = wanted.equals(key);
  if (key.isFloat())
    same = same | (wanted.apply<nn::IsNaNOp>() & key.apply<nn::IsNaNOp>());
  // If keys are equal, the last one counts. The default stands before the first
  // value.
  Expr numbered = iota(node, b.getI64Type(), {1, count}, 1) + 1.0;
  Expr place = same.select(numbered, numbered.number(0))
                   .reduce(nn::Combiner::max, {1})
                   .reshape(shape);
  Value both[] = {otherwise, found};
  Expr result = Expr{node, node.concat(both, 0)}.gather(place, 0);
  if (isStrings(values) && result)
    return {stringsOf(b, node.loc, result)};
  return {result};
}

ArrayRef<Hook> frit::importer::stringHooks() {
  static constexpr Hook hooks[] = {
      {"ai.onnx.ml::LabelEncoder", 2, 1, 1, labelEncoder, takesStrings},
  };
  return hooks;
}
