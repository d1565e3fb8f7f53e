//===- Steps.cpp - String steps of a model --------------------------------===//

#include "compiler/onnx/strings/Steps.h"

#include "dialects/nn/Fold.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

using namespace mlir;
using namespace frit;
using namespace frit::importer;

/// Returns the numbers of strings if they are an input of the model.
static BlockArgument inputOf(Value strings) {
  auto argument = dyn_cast<BlockArgument>(unmarked(idsOf(strings)));
  return argument && isa<func::FuncOp>(argument.getOwner()->getParentOp())
             ? argument
             : BlockArgument();
}

/// Returns the text that names a node in messages of the runtime.
static StringRef describe(Location loc) {
  auto named = dyn_cast<NameLoc>(loc);
  return named ? named.getName().getValue() : StringRef("a node");
}

StringStep::StringStep(Node &node, StringRef op) : node(node) {
  set("op", node.builder().getStringAttr(op));
  set("node", node.builder().getStringAttr(describe(node.loc)));
}

void StringStep::set(StringRef name, int64_t value) {
  attributes.set(name, node.builder().getI64IntegerAttr(value));
}

void StringStep::set(StringRef name, ArrayRef<StringRef> texts) {
  SmallVector<int64_t> numbers;
  for (StringRef text : texts)
    numbers.push_back(node.import().numberOf(text));
  set(name, node.builder().getDenseI64ArrayAttr(numbers));
}

void StringStep::read(Value strings) {
  if (node.failed)
    return;
  OpBuilder &b = node.builder();
  NamedAttrList operand;
  Value ids = unmarked(idsOf(strings));
  if (BlockArgument input = inputOf(strings)) {
    operand.set("input", b.getI64IntegerAttr(input.getArgNumber()));
  } else if (DenseElementsAttr known =
                 nn::constantValue(ids, std::numeric_limits<int64_t>::max())) {
    operand.set("ids", b.getDenseI64ArrayAttr(
                           llvm::to_vector(known.getValues<int64_t>())));
    operand.set("dims", b.getDenseI64ArrayAttr(sizes(ids)));
  } else {
    node.error() << "reads strings that other operators move or choose; it can "
                    "read inputs of the model, constants, and results of "
                    "operators such as StringConcat";
  }
  operands.push_back(operand.getDictionary(node.context()));
}

ArrayAttr StringStep::symbolsOf(Node &node, Value strings) {
  BlockArgument input = inputOf(strings);
  return input ? node.import().symbolsOf(input) : ArrayAttr();
}

Value StringStep::result(Type element, ArrayRef<int64_t> shape, Value like,
                         StringRef suffix) {
  if (node.failed)
    return {};
  ArrayAttr symbols = like ? symbolsOf(node, like) : ArrayAttr();
  if (symbols) {
    // Dimensions that only the result has follow the operand's.
    SmallVector<Attribute> names(symbols.begin(), symbols.end());
    names.resize(shape.size(), node.builder().getStringAttr(""));
    symbols = node.builder().getArrayAttr(names);
  }
  BlockArgument argument = node.import().addComputed(
      node.fullName() + suffix.str(), RankedTensorType::get(shape, element),
      symbols, node.loc);
  if (!attributes.get("result"))
    set("result", argument.getArgNumber());
  return argument;
}

void StringStep::add() {
  if (node.failed)
    return;
  set("operands", node.builder().getArrayAttr(operands));
  node.import().stringSteps.push_back(attributes.getDictionary(node.context()));
}
