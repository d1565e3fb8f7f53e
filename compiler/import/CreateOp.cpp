//===- CreateOp.cpp - Create nn operators by name -------------------------===//

#include "compiler/import/CreateOp.h"

#include "compiler/import/Elements.h"
#include "dialects/nn/Infer.h"
#include "dialects/nn/NN.h"

#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"

using namespace mlir;
using namespace frit;

/// Checks the operand count against the operator's trait.
template <unsigned... N>
static bool takes(OperationName name, size_t count,
                  std::integer_sequence<unsigned, N...>) {
  auto exactly = [&](bool applies, size_t number) {
    return !applies || count == number;
  };
  return exactly(name.hasTrait<OpTrait::ZeroOperands>(), 0) &&
         exactly(name.hasTrait<OpTrait::OneOperand>(), 1) &&
         (exactly(name.hasTrait<OpTrait::NOperands<N + 2>::template Impl>(),
                  N + 2) &&
          ...) &&
         ((!name.hasTrait<OpTrait::AtLeastNOperands<N + 1>::template Impl>() ||
           count > N) &&
          ...);
}

Operation *frit::importer::createInferred(Location loc, OperationName name,
                                          ValueRange operands,
                                          ArrayRef<NamedAttribute> attributes) {
  constexpr unsigned mostOperands = 16;
  if (!takes(name, operands.size(),
             std::make_integer_sequence<unsigned, mostOperands>())) {
    emitError(loc) << "has the wrong number of inputs, " << operands.size();
    return nullptr;
  }
  // Inference needs the operator's properties, so first create one without
  // results.
  OperationState state(loc, name, operands, /*types=*/{}, attributes);
  Operation *typeless = Operation::create(state);
  SmallVector<Type> types;
  auto *infer = name.getInterface<InferTypeOpInterface>();
  LogicalResult inferred = infer->inferReturnTypes(
      name.getContext(), loc, typeless->getOperands(),
      typeless->getAttrDictionary(), typeless->getPropertiesStorage(),
      typeless->getRegions(), types);
  typeless->destroy();
  if (failed(inferred))
    return nullptr;
  for (Type type : types) {
    auto shape = cast<RankedTensorType>(type).getShape();
    if (countElements(shape))
      continue;
    emitError(loc) << "a tensor of shape " << nn::shapeText(shape)
                   << " is too large";
    return nullptr;
  }
  state.addTypes(types);
  Operation *op = Operation::create(state);
  if (succeeded(verify(op, /*verifyRecursively=*/false)))
    return op;
  op->destroy();
  return nullptr;
}

Attribute frit::importer::chooseForm(RegisteredOperationName name,
                                     StringRef attribute,
                                     ArrayRef<Attribute> forms) {
  MLIRContext *context = name.getContext();
  ScopedDiagnosticHandler quiet(context, [](Diagnostic &) {});
  for (Attribute form : forms) {
    NamedAttrList list;
    list.append(attribute, form);
    if (succeeded(name.verifyInherentAttrs(
            list, [&] { return emitError(UnknownLoc::get(context)); })))
      return form;
  }
  return {};
}

Value frit::importer::createWeight(OpBuilder &builder, Block &body,
                                   Operation *&last, Location loc,
                                   ElementsAttr value, StringAttr name) {
  OpBuilder::InsertionGuard guard(builder);
  if (last)
    builder.setInsertionPointAfter(last);
  else
    builder.setInsertionPointToStart(&body);
  last = nn::ConstantOp::create(builder, loc, value, name);
  return last->getResult(0);
}
