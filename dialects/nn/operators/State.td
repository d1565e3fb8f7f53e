//===- State.td - Memory that lasts from call to call -----------------------===//

include "dialects/nn/Base.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/SymbolInterfaces.td"

def NN_MemberAttr : AttrDef<NN_Dialect, "Member"> {
  let mnemonic = "member";
  let summary = "A named tensor within a state.";
  let description = [{
    The tensor lies row major from element `offset` of the state on. A new
    context sets it to `initial`, or to zeros.
  }];
  let parameters = (ins "::mlir::StringAttr":$name, "int64_t":$offset,
      "::mlir::RankedTensorType":$type,
      OptionalParameter<"::mlir::ElementsAttr">:$initial);
  let assemblyFormat =
      "`<` $name `at` $offset `:` $type (`=` $initial^)? `>`";
}

def NN_StateOp : Op<NN_Dialect, "state", [Symbol]> {
  let summary = "Memory that lasts from call to call.";
  let description = [{
    A function's argument with the attribute `nn.state = @name` is the value
    before a call, a result with it the value after. The functions of a model
    that name the same state share it. Ranks divide a `sharded` state as
    `nn.reduce_scatter` divides a tensor; only elementwise fusions use it.

    A state that is `derived_from` another has no members: @derive computes it
    from the other. A function that writes the other state writes it, too, or
    leaves it to @derive.

    `role` is what its members are: the name of a frit_state_role.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttr:$type,
                   TypedArrayAttrBase<NN_MemberAttr, "member array">:$members,
                   DefaultValuedStrAttr<StrAttr, "other">:$role,
                   UnitAttr:$sharded,
                   OptionalAttr<FlatSymbolRefAttr>:$derived_from);
  let assemblyFormat = "$sym_name `:` $type $members attr-dict";
  let hasVerifier = 1;
}

def NN_UpdateOp : NN_Inferred<"update", "", [
    DeclareOpInterfaceMethods<NN_TiedInterface>]> {
  let summary = "A state with a part of it replaced.";
  let description = [{
    The result is tied to `state`: planning gives both the same memory if
    nothing reads the old value afterwards, so that an update costs the bytes of
    `value`. Otherwise the state is copied first.

    Without `offset`, `value` has the type of the state and replaces it.

    With `offset`, `value` has the state's shape except in dimension `axis`:
    its row i along the axis becomes row offset + i of the state. A row that
    would lie outside of the state is dropped. `offset` has rank 0, or rank 1
    with one entry for each index of dimension 0, which is not the axis then.

    ```mlir
    // Appends the keys of one token to a cache of 4096.
    %after = nn.update %cache, %keys, %length {axis = 2 : i64} :
        (tensor<1x8x4096x64xf16>, tensor<1x8x1x64xf16>, tensor<1xi32>)
        -> tensor<1x8x4096x64xf16>
    ```
  }];
  let arguments = (ins NN_Tensor:$state, NN_Tensor:$value,
                   Optional<NN_IndexTensor>:$offset,
                   DefaultValuedAttr<I64Attr, "0">:$axis);
  let results = (outs NN_Tensor:$y);
}
