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

def NN_PackOp : NN_Inferred<"pack", "", []> {
  let summary = "Flattened tensors, one after another in a tensor of rank 1.";
  let description = [{
    Operand i's elements lie in row-major order from element `offsets[i]` on.
    Operands do not overlap, and elements that none covers are 0. Planning makes
    the operands' producers write there, so no kernel computes it.
  }];
  let arguments = (ins Variadic<NN_Tensor>:$xs, DenseI64ArrayAttr:$offsets,
                   I64Attr:$size);
  let results = (outs NN_Tensor:$y);
}

def NN_AllReduceOp : NN_Inferred<"all_reduce", "", []> {
  let summary = "The mean of a tensor over the ranks of a group, or its sum.";
  let description = [{
    Each rank runs the same program on other data. A rank that runs alone gets
    `x`. Every rank must execute the operator, so it is never inside an
    `nn.guard`. No kernel computes it: planning makes it a step that runs
    concurrently with the steps after it.
  }];
  let arguments = (ins NN_Tensor:$x, UnitAttr:$sum);
  let results = (outs NN_Tensor:$y);
}

def NN_ReduceScatterOp : NN_Inferred<"reduce_scatter", "", []> {
  let summary = "This rank's shard of a tensor's mean over the ranks.";
  let description = [{
    A tensor is divided into rows of 4096 elements. Each rank's shard has the
    same number of rows; the last rank's has the remainder, too. Elements
    outside of the shard are 0. A rank that runs alone gets `x`. See
    `nn.all_reduce`.
  }];
  let arguments = (ins NN_Tensor:$x);
  let results = (outs NN_Tensor:$y);
}

def NN_AllGatherOp : NN_Inferred<"all_gather", "", []> {
  let summary = "The whole tensor, joined from the shards of all ranks.";
  let description = [{
    Elements of `x` outside of the rank's shard have no effect. A rank that runs
    alone gets `x`. See `nn.reduce_scatter`.
  }];
  let arguments = (ins NN_Tensor:$x);
  let results = (outs NN_Tensor:$y);
}

def NN_YieldOp : Op<NN_Dialect, "yield", [
    Pure, Terminator, ReturnLike, ParentOneOf<["FusionOp", "GuardOp", "ScanOp"]>]> {
  let summary = "The results of a fusion, guard or step of a scan.";
  let arguments = (ins Variadic<NN_Tensor>:$values);
  let assemblyFormat = "($values^ `:` type($values))? attr-dict";
}

def NN_FusionOp : Op<NN_Dialect, "fusion", [
    Pure, IsolatedFromAbove, SingleBlock,
    DeclareOpInterfaceMethods<NN_TiedInterface>]> {
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
    /// Returns the operator that determines the schedule: the contraction, or
    /// else the last operator.
    ::mlir::Operation *getAnchor();
    /// Returns the operand of which a result replaces only some rows, or
    /// nothing.
    ::std::optional<unsigned> replacedOperand(::mlir::OpResult result);
  }];
}

def NN_GuardOp : Op<NN_Dialect, "guard", [
    Pure, IsolatedFromAbove, SingleBlock]> {
  let summary = "Operators that are needed only if a condition equals `when`.";
  let description = [{
    If the condition differs from `when`, the results are undefined, and no
    value depends on them: an nn.where with the same condition selects its other
    operand, or an nn.and with the condition is false. The block's arguments are
    the inputs, in order, with their types.
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

def NN_ScanOp : Op<NN_Dialect, "scan", [
    Pure, SingleBlock, DeclareOpInterfaceMethods<NN_CompositeInterface>]> {
  let summary = "States that a loop updates, row by row.";
  let description = [{
    For t = 0, 1, … `count` - 1, or backwards with `reversed`, the block gets t
    (a scalar i64), row t of `xs` and the states, and yields the next states.
    `count` is at most the number of rows. The results are the first state after
    each row, in that row of `ys`, with zeros from row `count` on; and the last
    states. Importers write it for recurrent layers, so that a model for several
    lengths differs only in shapes; it is unrolled before any pass sees it.
  }];
  let arguments = (ins NN_Tensor:$count, NN_Tensor:$xs,
                   Variadic<NN_Tensor>:$initial, UnitAttr:$reversed);
  let results = (outs NN_Tensor:$ys, Variadic<NN_Tensor>:$last);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $xs `to` $count `from` $initial attr-dict `:` type($xs) `,` type($count) `,`
    functional-type($initial, results) $body
  }];
  let extraClassDeclaration = [{
    /// Returns whether `count` is a constant, the number of rows.
    bool scansAllRows();
  }];
  let hasVerifier = 1;
}
