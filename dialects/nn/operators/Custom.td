//===- Custom.td - Operators that users define ------------------------------===//

include "dialects/nn/Base.td"

//===----------------------------------------------------------------------===//
// Operators of the user
//===----------------------------------------------------------------------===//

def NN_UserFunctionAttr : AttrDef<NN_Dialect, "UserFunction"> {
  let mnemonic = "user_function";
  let summary = "A function in a user's file.";
  let description = [{
    `text` is the whole file, CUDA C++ or C, and `path` is what messages call
    it. Headers that it includes are looked for in the folder of `path`.
  }];
  let parameters = (ins StringRefParameter<>:$name, StringRefParameter<>:$path,
                    StringRefParameter<>:$text);
  let assemblyFormat = "`<` struct(params) `>`";
}

def NN_CustomAttr : AttrDef<NN_Dialect, "Custom"> {
  let mnemonic = "custom";
  let summary = "An operator that a user's file defines.";
  let description = [{
    `types` has an entry for each operand and then for each result: a type, or
    the name of a type variable. `variables` lists the types of each variable.
    A target without its function, `device` or `host`, cannot run the operator.
  }];
  let parameters = (ins StringRefParameter<>:$name, "::mlir::ArrayAttr":$types,
      "::mlir::DictionaryAttr":$variables,
      OptionalParameter<"::frit::nn::UserFunctionAttr">:$device,
      OptionalParameter<"::frit::nn::UserFunctionAttr">:$host);
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = [{
    /// Returns whether tensor `i`, operands first, may change from f32 to
    /// `type`.
    bool takes(unsigned i, ::mlir::Type type) const;
    /// Returns the name without the domain, as part of a C identifier.
    std::string getShortName() const;
  }];
}

//===----------------------------------------------------------------------===//
// Operators
//===----------------------------------------------------------------------===//

def NN_ScalarCallOp : Op<NN_Dialect, "scalar_call", [Pure]> {
  let summary = "A call of a user's function in the body of a loop.";
  let description = [{
    Operands and result are f32, f64, i32 or i64; the function may take and give
    narrower integers.
  }];
  let arguments = (ins NN_CustomAttr:$custom, Variadic<AnyType>:$inputs);
  let results = (outs AnyType:$y);
  let assemblyFormat =
      "operands attr-dict `:` functional-type(operands, results)";
}

class NN_CustomBase<string mnemonic, list<Trait> traits>
    : Op<NN_Dialect, mnemonic, !listconcat([
        Pure, DeclareOpInterfaceMethods<NN_DifferentiableInterface,
                                        ["isDifferentiable"]>], traits)> {
  let assemblyFormat =
      "operands attr-dict `:` functional-type(operands, results)";
  let hasVerifier = 1;
  /// For the list of operators: some have a gradient.
  bit hasGradient = 1;
}

def NN_CustomElementwiseOp : NN_CustomBase<"custom_elementwise", [
    DeclareOpInterfaceMethods<NN_ElementwiseInterface>]> {
  let summary = "A user's function of the elements at the same index.";
  let description = [{
    The function takes an element of each operand, 16-bit floats as f32, and
    then `constants`. `gradients` has for each operand the `#nn.custom` of the
    operator that computes its gradient from the operands and the result's
    gradient, or unit. `node` has the attributes of the model's node.
  }];
  let arguments = (ins Variadic<NN_Tensor>:$xs, NN_CustomAttr:$custom,
                   ArrayAttr:$constants, OptionalAttr<ArrayAttr>:$gradients,
                   OptionalAttr<DictionaryAttr>:$node);
  let results = (outs NN_Tensor:$y);
}

def NN_CustomOp : NN_CustomBase<"custom", []> {
  let summary = "A user's kernel.";
  let description = [{
    The kernel takes pointers to the operands and the results, and then
    `constants`. With `workspace`, the last result is memory that only the
    kernel itself reads. `grid`, `block` and `shared_bytes` launch the CUDA
    kernel; the host's is one call. `batched` says that the first dimension of
    all tensors is that of samples, which do not depend on each other.
    `gradients` and `node` are as in nn.custom_elementwise, but one operator may
    compute the gradients of all operands, with a result for each of them.
  }];
  let arguments = (ins Variadic<NN_Tensor>:$xs, NN_CustomAttr:$custom,
      ArrayAttr:$constants,
      ConfinedAttr<DenseI64ArrayAttr,
          [DenseArrayNonNegative<DenseI64ArrayAttr>]>:$grid,
      ConfinedAttr<DenseI64ArrayAttr,
          [DenseArrayStrictlyPositive<DenseI64ArrayAttr>]>:$block,
      NN_Count:$shared_bytes, UnitAttr:$workspace, UnitAttr:$batched,
      OptionalAttr<ArrayAttr>:$gradients, OptionalAttr<DictionaryAttr>:$node);
  let results = (outs Variadic<NN_Tensor>:$ys);
}
