//===- Structure.td - Constants, views and fusions --------------------------===//

include "dialects/nn/Base.td"
include "dialects/nn/Schedule.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

def NN_ConstantOp : NN_Op<"constant", "", [ConstantLike]> {
  let summary = "A weight or another tensor known at compile time.";
  let description = [{
    `name` is the weight's name in the model; constants that the compiler
    created have none. Large values are `dense_resource`, whose bytes may be
    mapped from the model's file.
  }];
  let arguments = (ins ElementsAttr:$value, OptionalAttr<StrAttr>:$name);
  let results = (outs NN_Tensor:$y);
  let assemblyFormat = "($name^)? $value attr-dict";
  let hasFolder = 1;
  let extraMethodDefinitions = [{
    ::llvm::LogicalResult $cppClass::inferReturnTypes(
        ::mlir::MLIRContext *, ::std::optional<::mlir::Location>,
        ::mlir::ValueRange operands, ::mlir::DictionaryAttr attributes,
        ::mlir::OpaqueProperties properties, ::mlir::RegionRange regions,
        ::llvm::SmallVectorImpl<::mlir::Type> &types) {
      Adaptor op(operands, attributes, properties, regions);
      types.push_back(op.getValue().getType());
      return ::mlir::success();
    }
  }];
}

def NN_ReshapeOp : NN_Inferred<"reshape", "", []> {
  let summary = "The same elements in the same order under another shape.";
  let description = [{
    A view, which is free. `shape` is the result's; importers resolve ONNX's 0
    and -1.
  }];
  let arguments = (ins NN_Tensor:$x, DenseI64ArrayAttr:$shape);
  let results = (outs NN_Tensor:$y);
  let hasFolder = 1;
  let differentiable = 1;
}

def NN_YieldOp : Op<NN_Dialect, "yield", [
    Pure, Terminator, ReturnLike, ParentOneOf<["FusionOp", "GuardOp"]>]> {
  let summary = "The results of a fusion or guard.";
  let arguments = (ins Variadic<NN_Tensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def NN_FusionOp : Op<NN_Dialect, "fusion", [
    Pure, IsolatedFromAbove, SingleBlock]> {
  let summary = "Operators that become one kernel.";
  let description = [{
    The block's arguments are the inputs, in order, with their types. The
    schedule is set by the target before planning.
  }];
  let arguments = (ins Variadic<NN_Tensor>:$inputs,
                   OptionalAttr<NN_Schedule>:$schedule);
  let results = (outs Variadic<NN_Tensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` $inputs `)` (`schedule` `` `(` $schedule^ `)`)? attr-dict `:`
    functional-type($inputs, $outputs) $body
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The operator that determines the schedule: the contraction, or else the
    /// last operator.
    ::mlir::Operation *getAnchor();
  }];
}

def NN_GuardOp : Op<NN_Dialect, "guard", [
    Pure, IsolatedFromAbove, SingleBlock]> {
  let summary = "Operators that are needed only if a condition equals `when`.";
  let description = [{
    If it differs, the results are undefined and do not matter: an nn.where with
    the same condition selects its other operand.
    The block's arguments are the inputs, in order, with their types.
  }];
  let arguments = (ins NN_BoolTensor:$condition, BoolAttr:$when,
                   Variadic<NN_Tensor>:$inputs);
  let results = (outs Variadic<NN_Tensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $condition `is` $when `(` $inputs `)` attr-dict `:` type($condition) `,`
    functional-type($inputs, $outputs) $body
  }];
  let hasVerifier = 1;
}
