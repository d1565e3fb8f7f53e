//===- InterfaceTypes.cpp - Inputs and outputs of given types -------------===//
//
// types=x:ui8,y:f16
//   func.func @main(%x: tensor<4xf32> {nn.name = "x"})
//       -> (tensor<4xf32> {nn.name = "y"}) {
//     %y = nn.relu %x
//     return %y
// ==>
//   func.func @main(%x: tensor<4xui8> {nn.name = "x"})
//       -> (tensor<4xf16> {nn.name = "y"}) {
//     %w = nn.cast %x {to = f32}
//     %y = nn.relu %w
//     %n = nn.cast %y {to = f16}
//     return %n
//
// The casts fuse into the neighbouring kernels; those that undo a cast of the
// chosen precision disappear.
//
//===----------------------------------------------------------------------===//

#include "compiler/transform/Graph.h"
#include "compiler/transform/Passes.h"

#include "mlir/AsmParser/AsmParser.h"

namespace frit {
#define GEN_PASS_DEF_INTERFACETYPES
#include "compiler/transform/Passes.h.inc"
} // namespace frit

using namespace mlir;
using namespace frit;
using namespace frit::nn;

namespace {
class InterfaceTypes : public frit::impl::InterfaceTypesBase<InterfaceTypes> {
public:
  using InterfaceTypesBase::InterfaceTypesBase;

  void runOnOperation() override;

private:
  LogicalResult parse();
  void setInputs(func::FuncOp main);
  void setOutputs(func::FuncOp main);
  /// Returns the type chosen for the input or output `name`, or null to keep
  /// its type.
  Type chosen(StringAttr name);

  /// Names of inputs and outputs.
  SmallVector<StringRef> names;

  struct Chosen {
    Type element;
    bool found = false;
  };
  llvm::MapVector<StringRef, Chosen> chosenTypes;
};
} // namespace

LogicalResult InterfaceTypes::parse() {
  chosenTypes.clear();
  for (StringRef spec : types) {
    auto [name, type] = spec.rsplit(':');
    Type element = type.empty() ? Type() : parseType(type, &getContext());
    if (!element || !element.isIntOrFloat())
      return emitError(getOperation().getLoc(), "'")
             << spec << "' is no name and type, as x:f16 is";
    chosenTypes[name].element = element;
  }
  return success();
}

Type InterfaceTypes::chosen(StringAttr name) {
  if (!name)
    return {};
  names.push_back(name);
  auto it = chosenTypes.find(name.getValue());
  if (it == chosenTypes.end())
    return {};
  it->second.found = true;
  return it->second.element;
}

void InterfaceTypes::setInputs(func::FuncOp main) {
  OpBuilder builder = OpBuilder::atBlockBegin(&main.getBody().front());
  for (BlockArgument input : main.getArguments()) {
    Type element = chosen(
        main.getArgAttrOfType<StringAttr>(input.getArgNumber(), "nn.name"));
    auto type = tensorType(input);
    if (!element || element == type.getElementType())
      continue;
    input.setType(type.clone(element));
    auto cast =
        CastOp::create(builder, input.getLoc(), input, type.getElementType());
    input.replaceAllUsesExcept(cast.getY(), cast);
  }
}

void InterfaceTypes::setOutputs(func::FuncOp main) {
  Operation *end = main.getBody().front().getTerminator();
  OpBuilder builder(end);
  for (OpOperand &output : end->getOpOperands()) {
    Type element = chosen(main.getResultAttrOfType<StringAttr>(
        output.getOperandNumber(), "nn.name"));
    if (element && element != tensorType(output.get()).getElementType())
      output.set(CastOp::create(builder, output.get().getLoc(), output.get(),
                                element));
  }
  main.setType(builder.getFunctionType(main.getBody().getArgumentTypes(),
                                       end->getOperandTypes()));
}

void InterfaceTypes::runOnOperation() {
  auto main = getOperation().lookupSymbol<func::FuncOp>("main");
  if (types.empty() || !main || main.isExternal())
    return;
  if (failed(parse()))
    return signalPassFailure();
  names.clear();
  setInputs(main);
  setOutputs(main);
  for (auto &[name, type] : chosenTypes)
    if (!type.found) {
      emitError(main.getLoc(), "-ftype names '")
          << name << "', which is no input or output; there is '"
          << llvm::join(names, "', '") << "'";
      signalPassFailure();
    }
}
