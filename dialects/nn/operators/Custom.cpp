//===- Custom.cpp - Operators that users define ---------------------------===//

#include "dialects/nn/operators/Custom.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/Path.h"

using namespace mlir;
using namespace frit::nn;

#define GET_OP_CLASSES
#include "dialects/nn/Custom.cpp.inc"

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

bool CustomAttr::takes(unsigned i, Type type) const {
  auto variable = i < getTypes().size() ? dyn_cast<StringAttr>(getTypes()[i])
                                        : StringAttr();
  auto all = variable ? getVariables().getAs<ArrayAttr>(variable) : ArrayAttr();
  return all && llvm::is_contained(all, TypeAttr::get(type));
}

std::string CustomAttr::getShortName() const {
  StringRef name = getName();
  name = name.substr(name.rfind(':') + 1);
  std::string text = name.empty() || llvm::isDigit(name[0]) ? "op" : "";
  for (char c : name)
    text += llvm::isAlnum(c) ? llvm::toLower(c) : '_';
  return text;
}

CustomAttr frit::nn::customOf(Operation *op) {
  return llvm::TypeSwitch<Operation *, CustomAttr>(op)
      .Case<CustomElementwiseOp, CustomOp>(
          [](auto custom) { return custom.getCustom(); })
      .Default(CustomAttr());
}

LogicalResult frit::nn::checkHasFunctions(FusionOp fusion, bool host,
                                          StringRef arch) {
  for (Operation &op : fusion.getBody().front()) {
    CustomAttr custom = customOf(&op);
    if (!custom || (host ? custom.getHost() : custom.getDevice()))
      continue;
    return emitError(op.getLoc())
           << custom.getName() << " has no function for " << arch
           << ": give its file of --custom-op \"" << (host ? "host" : "cuda")
           << "\", or leave " << arch << " out of -march";
  }
  return success();
}

std::string frit::nn::printablePath(const Twine &path) {
  std::string text = path.str();
  for (char &c : text)
    if (c == '"' || c == '\\' || !llvm::isPrint(c))
      c = '_';
  return text;
}

/// Returns "#line 1 "path"": the next line is the first of the file.
static std::string lineDirective(const Twine &path) {
  return "#line 1 \"" + printablePath(path) + "\"\n";
}

std::string frit::nn::textOf(UserFunctionAttr function) {
  return (lineDirective(function.getPath()) + function.getText() + "\n").str();
}

std::string frit::nn::callDirective(CustomAttr custom,
                                    UserFunctionAttr function) {
  return lineDirective(Twine(function.getPath()) + ", as " + custom.getName() +
                       " calls it");
}

std::string frit::nn::folderOf(UserFunctionAttr function) {
  StringRef folder = llvm::sys::path::parent_path(function.getPath());
  return folder.empty() ? "." : folder.str();
}

SmallVector<std::pair<StringAttr, Type>>
frit::nn::boundVariables(Operation *op) {
  llvm::SmallVector<std::pair<StringAttr, Type>> bound;
  for (auto [entry, operand] :
       llvm::zip(customOf(op).getTypes(), op->getOperands())) {
    auto variable = dyn_cast<StringAttr>(entry);
    if (variable && llvm::none_of(bound, [&](const auto &known) {
          return known.first == variable;
        }))
      bound.push_back({variable, tensorType(operand).getElementType()});
  }
  return bound;
}

Type frit::nn::callType(Type body) {
  auto integer = dyn_cast<IntegerType>(body);
  return integer && integer.getWidth() < 32
             ? IntegerType::get(body.getContext(), 32)
             : body;
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

/// Checks that the operands and the first `results` results have the types that
/// the user's file gives them.
static LogicalResult verifyTypes(Operation *op, CustomAttr custom,
                                 ArrayAttr constants, unsigned results) {
  for (Attribute constant : constants) {
    auto typed = dyn_cast<TypedAttr>(constant);
    Type type = typed ? typed.getType() : Type();
    if (!isa<IntegerAttr, FloatAttr>(constant) ||
        !(type.isInteger(32) || type.isInteger(64) || type.isF32() ||
          type.isF64()))
      return op->emitOpError() << constant << " is no number that is passed";
  }
  unsigned operands = op->getNumOperands();
  ArrayRef<Attribute> types = custom.getTypes().getValue();
  if (types.size() != operands + results)
    return op->emitOpError()
           << "has " << operands << " operands and " << results
           << " results, but " << types.size() << " types";
  llvm::DenseMap<StringAttr, Type> known;
  for (auto [i, entry] : llvm::enumerate(types)) {
    Value value =
        i < operands ? op->getOperand(i) : Value(op->getResult(i - operands));
    Type element = tensorType(value).getElementType();
    if (auto fixed = dyn_cast<TypeAttr>(entry)) {
      if (fixed.getValue() != element)
        return op->emitOpError() << "takes " << fixed << ", not " << element;
      continue;
    }
    auto variable = dyn_cast<StringAttr>(entry);
    if (!variable)
      return op->emitOpError() << entry << " is no type";
    auto [it, isNew] = known.try_emplace(variable, element);
    if (it->second != element)
      return op->emitOpError()
             << variable << " is " << it->second << " and " << element;
  }
  return success();
}

LogicalResult CustomElementwiseOp::verify() {
  SmallVector<ArrayRef<int64_t>> shapes = llvm::map_to_vector(
      getXs(), [](Value x) -> ArrayRef<int64_t> { return shapeOf(x); });
  auto shape = broadcastShapes(shapes);
  if (shapes.empty() || !shape)
    return emitOpError("has operands that do not broadcast");
  if (ArrayRef<int64_t>(*shape) != shapeOf(getY()))
    return emitOpError("gives ") << shapeText(*shape);
  return verifyTypes(*this, getCustom(), getConstants(), 1);
}

LogicalResult CustomOp::verify() {
  if (getGrid().size() != 3 || getBlock().size() != 3)
    return emitOpError("has a launch that is not three-dimensional");
  if (getNumResults() < 1u + getWorkspace())
    return emitOpError("has no result");
  return verifyTypes(*this, getCustom(), getConstants(),
                     getNumResults() - getWorkspace());
}

Scalar CustomElementwiseOp::buildScalar(ScalarBuilder &s, ArrayRef<Scalar> x) {
  return s.call(getCustom(), x, getConstants().getValue(),
                tensorType(getY()).getElementType());
}

Scalar ScalarBuilder::call(Attribute function, ArrayRef<Scalar> x,
                           ArrayRef<Attribute> constants, Type storage) {
  SmallVector<Value> inputs;
  for (const Scalar &scalar : x) {
    Type type = callType(scalar.type());
    if (type == scalar.type())
      inputs.push_back(scalar.value);
    else if (scalar.isUnsigned || scalar.isBool())
      inputs.push_back(arith::ExtUIOp::create(b, type, scalar.value));
    else
      inputs.push_back(arith::ExtSIOp::create(b, type, scalar.value));
  }
  for (Attribute constant : constants)
    inputs.push_back(
        arith::ConstantOp::create(b, mlir::cast<TypedAttr>(constant)));
  Type body = bodyType(storage);
  Value y = ScalarCallOp::create(b, callType(body),
                                 mlir::cast<CustomAttr>(function), inputs);
  if (y.getType() != body)
    y = arith::TruncIOp::create(b, body, y);
  return wrap(y, storage);
}

//===----------------------------------------------------------------------===//
// Gradients
//===----------------------------------------------------------------------===//

bool CustomElementwiseOp::isDifferentiable() {
  return getGradients().has_value();
}
bool CustomOp::isDifferentiable() { return getGradients().has_value(); }

/// Returns the element types that the operands of `custom` are cast to, and
/// then those of its `results`. A variable stands for the type of its first
/// operand, or for f32 if `custom` does not take that type.
static SmallVector<Type> chooseTypes(CustomAttr custom, ValueRange operands) {
  SmallVector<Type> types;
  llvm::DenseMap<StringAttr, Type> known;
  for (auto [i, entry] : llvm::enumerate(custom.getTypes())) {
    if (auto fixed = dyn_cast<TypeAttr>(entry)) {
      types.push_back(fixed.getValue());
      continue;
    }
    auto [it, isNew] = known.try_emplace(cast<StringAttr>(entry));
    if (isNew && i < operands.size()) {
      Type own = tensorType(operands[i]).getElementType();
      it->second = custom.takes(i, own) ? own : workType(own);
    }
    types.push_back(it->second);
  }
  return types;
}

/// Creates the operator with the attributes `gradient`. Its results are shaped
/// like `wanted`.
static SmallVector<Value> buildGradient(NNBuilder &b, DictionaryAttr gradient,
                                        ValueRange operands,
                                        ValueRange wanted) {
  auto custom = gradient.getAs<CustomAttr>("custom");
  SmallVector<Type> elements = chooseTypes(custom, operands);
  SmallVector<Value> inputs;
  for (auto [operand, element] : llvm::zip(operands, elements))
    inputs.push_back(b.cast(operand, element));
  NamedAttrList attributes(gradient);
  bool isKernel = gradient.contains("grid");
  SmallVector<Type> types;
  for (auto [value, element] :
       llvm::zip(wanted, ArrayRef(elements).drop_front(operands.size())))
    // Elementwise results have the shape that the operands broadcast to, which
    // is that of the result's gradient.
    types.push_back(RankedTensorType::get(
        shapeOf(isKernel ? value : operands.back()), element));
  if (auto bytes =
          dyn_cast_or_null<IntegerAttr>(attributes.erase("workspace_bytes")))
    types.push_back(RankedTensorType::get({bytes.getInt()}, b.getI8Type()));
  OperationState state(b.getLoc(),
                       isKernel ? CustomOp::getOperationName()
                                : CustomElementwiseOp::getOperationName(),
                       inputs, types, attributes);
  Operation *op = b.create(state);
  return SmallVector<Value>(op->getResults().take_front(wanted.size()));
}

static SmallVector<Value> buildGradients(NNBuilder &b, ArrayAttr gradients,
                                         ValueRange xs, Value dy) {
  SmallVector<Value> operands(xs);
  operands.push_back(dy);
  auto one = dyn_cast<DictionaryAttr>(gradients[0]);
  if (gradients.size() == 1 && one)
    return buildGradient(b, one, operands, xs);
  SmallVector<Value> result;
  for (auto [x, gradient] : llvm::zip_equal(xs, gradients)) {
    auto attributes = dyn_cast<DictionaryAttr>(gradient);
    result.push_back(attributes ? buildGradient(b, attributes, operands, x)[0]
                                : Value());
  }
  return result;
}

SmallVector<Value> CustomElementwiseOp::buildVjp(NNBuilder &b, Value dy) {
  return buildGradients(b, *getGradients(), getXs(), dy);
}

SmallVector<Value> CustomOp::buildVjp(NNBuilder &b, Value dy) {
  return buildGradients(b, *getGradients(), getXs(), dy);
}
