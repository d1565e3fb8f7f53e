//===- Plan.td - The plan dialect: what the runtime executes -----------------===//
//
// A plan is static: buffers at fixed offsets, steps in order. It is the last IR
// before the artifact, and frit-opt prints and parses it.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_DIALECTS_PLAN_PLAN_TD
#define FRIT_DIALECTS_PLAN_PLAN_TD

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Plan_Dialect : Dialect {
  let name = "plan";
  let cppNamespace = "::frit::plan";
  let summary = "The commands that the runtime executes";
  let description = [{
    A module has one `plan.function` for each function that a program can open,
    and one `plan.target` for each processor or GPU. A target owns code and
    prepared weights, which all functions share, and command lists: `prepare`,
    run once when a module is loaded; `derive`, run before a call that uses
    stale derived states; and for each function one list per variant, of which a
    call runs one. Steps name their buffers; `plan-memory` gives every arena
    buffer its offset.

    All functions share the module's `plan.constant`s and `plan.state`s: memory
    that keeps its contents from call to call.

    ```mlir
    plan.function "train_step" inputs ["x", "labels"] outputs ["loss"] {role = "train_step"}
    plan.function "eval_step" inputs ["x"] outputs ["y"] {role = "eval_step"}
    plan.state @params : tensor<4096xf32> [...]
    plan.target "sm_90a" {
      plan.kernel @matmul_0 {...}
      plan.command_list @train_step of "train_step" {...}
      plan.command_list @eval_step of "eval_step" {...}
    }
    ```
  }];
  let useDefaultAttributePrinterParser = 1;
}

/// Sizes, counts and positions.
def Plan_Count : ConfinedAttr<I64Attr, [IntNonNegative]>;
def Plan_Counts : ConfinedAttr<DenseI64ArrayAttr,
                               [DenseArrayNonNegative<DenseI64ArrayAttr>]>;
def Plan_Positive : ConfinedAttr<I64Attr, [IntPositive]>;
def Plan_Positives : ConfinedAttr<DenseI64ArrayAttr,
                                  [DenseArrayStrictlyPositive<DenseI64ArrayAttr>]>;
def Plan_Finite : ConfinedAttr<F32Attr, [AttrConstraint<
    CPred<"::llvm::cast<::mlir::FloatAttr>($_self).getValue().isFinite()">,
    "that is finite">]>;

def Plan_Buffer : MemRefOf<[AnyType]>;

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

def Plan_Space : I32EnumAttr<"Space", "the memory space of a buffer", [
    I32EnumAttrCase<"input", 0>, I32EnumAttrCase<"output", 1>,
    I32EnumAttrCase<"constant", 2>, I32EnumAttrCase<"arena", 3>,
    I32EnumAttrCase<"prepared", 4>, I32EnumAttrCase<"state", 5>]> {
  let cppNamespace = "::frit::plan";
  let genSpecializedAttr = 0;
}
def Plan_SpaceAttr : EnumAttr<Plan_Dialect, Plan_Space, "space">;

def Plan_Collective : I32EnumAttr<"Collective",
    "what ranks compute together; see frit/collectives.h", [
    I32EnumAttrCase<"mean", 0>, I32EnumAttrCase<"sum", 1>,
    I32EnumAttrCase<"reduce_scatter", 2>, I32EnumAttrCase<"all_gather", 3>]> {
  let cppNamespace = "::frit::plan";
  let genSpecializedAttr = 0;
}
def Plan_CollectiveAttr : EnumAttr<Plan_Dialect, Plan_Collective, "collective">;

def Plan_ConvPass : I32EnumAttr<"ConvPass", "what a convolution's step computes", [
    I32EnumAttrCase<"forward", 0>, I32EnumAttrCase<"grad_input", 1>,
    I32EnumAttrCase<"grad_weight", 2>]> {
  let cppNamespace = "::frit::plan";
  let genSpecializedAttr = 0;
}
def Plan_ConvPassAttr : EnumAttr<Plan_Dialect, Plan_ConvPass, "pass">;

def Plan_ActivationAttr : AttrDef<Plan_Dialect, "Activation"> {
  let mnemonic = "activation";
  let summary = "A contraction's activation.";
  let parameters = (ins "::frit::Activation":$value);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let returnType = "::frit::Activation";
  let convertFromStorage = "$_self.getValue()";
  let constBuilderCall =
      "::frit::plan::ActivationAttr::get($_builder.getContext(), $0)";
}

def Plan_TensorMapAttr : AttrDef<Plan_Dialect, "TensorMap"> {
  let mnemonic = "tensor_map";
  let summary = "A TMA descriptor of a kernel.";
  let description = [{
    The arguments of cuTensorMapEncodeTiled or cuTensorMapEncodeIm2col,
    innermost dimension first: `dims`, `strides` in bytes for all but the first
    of them, `element_strides`; `box` of a tiled map; the corners `lower` and
    `upper`, `channels` and `pixels` of an im2col map. The tensor starts
    `offset` bytes after the kernel's pointer parameter `argument`. What is not
    written is 0.
  }];
  let parameters = (ins "::frit::artifact::TensorMap":$value);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
}

def Plan_SourceAttr : AttrDef<Plan_Dialect, "Source"> {
  let mnemonic = "source";
  let summary = "The CUDA C++ of a kernel.";
  let description = [{
    `text` is the kernel without the header that it includes,
    "frit/`header`.cuh". Compiling it takes about `milliseconds`. `preludes` are
    the texts of the user's files that are placed before it, `folders` their
    include paths. All kernels of a module have the same `preludes` and
    `folders`.
  }];
  let parameters = (ins StringRefParameter<>:$header, StringRefParameter<>:$text,
      "int64_t":$milliseconds, OptionalParameter<"::mlir::ArrayAttr">:$preludes,
      OptionalParameter<"::mlir::ArrayAttr">:$folders);
  let assemblyFormat = "`<` struct(params) `>`";
}

def Plan_OperandAttr : AttrDef<Plan_Dialect, "Operand"> {
  let mnemonic = "operand";
  let summary = "A four-dimensional strided view of a kernel's argument.";
  let description = [{
    Element i is at `offset` + Σ i[d] · `strides[d]`, counted in elements, of
    the kernel's pointer parameter `argument`.
  }];
  let parameters = (ins "unsigned":$argument,
      DefaultValuedParameter<"int64_t", "0">:$offset,
      "::mlir::DenseI64ArrayAttr":$strides);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Plan_MemberAttr : AttrDef<Plan_Dialect, "Member"> {
  let mnemonic = "member";
  let summary = "A named tensor inside a state.";
  let description = [{
    The tensor lies row major from element `offset` of the state on. A new
    context sets it to the `plan.constant` `initial`, or to zeros.
  }];
  let parameters = (ins StringRefParameter<>:$name, "int64_t":$offset,
      TypeParameter<"::mlir::RankedTensorType", "the tensor's type">:$type,
      OptionalParameter<"::mlir::FlatSymbolRefAttr">:$initial);
  let assemblyFormat = "`<` struct(params) `>`";
}

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

class Plan_Op<string mnemonic, list<Trait> traits = []>
    : Op<Plan_Dialect, mnemonic, traits>;

def Plan_FunctionOp : Plan_Op<"function"> {
  let summary = "A function that a program opens and calls.";
  let description = [{
    `inputs` and `outputs` are the names of its tensors. Their types are in the
    command lists, one per variant and target. `role` is what it computes: the
    name of a frit_function_role.
  }];
  let arguments = (ins StrAttr:$name, StrArrayAttr:$inputs,
      StrArrayAttr:$outputs, DefaultValuedStrAttr<StrAttr, "inference">:$role);
  let assemblyFormat = "$name `inputs` $inputs `outputs` $outputs attr-dict";
  let hasVerifier = 1;
}

def Plan_TargetOp : Plan_Op<"target", [
    SymbolTable, IsolatedFromAbove, NoTerminator, SingleBlock]> {
  let summary = "Code and steps for one processor or GPU.";
  let description = [{
    `arch` is its `-march`. `prepare_bytes` is the size of the prepare list's
    arena, `prepared_bytes` that of its results.
  }];
  let arguments = (ins StrAttr:$arch, OptionalAttr<Plan_Count>:$prepare_bytes,
      OptionalAttr<Plan_Count>:$prepared_bytes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$arch attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Returns the list that runs once per module, or null.
    CommandListOp getPrepare();
    /// Returns the list that computes derived states, or null.
    CommandListOp getDerive();
    /// Returns the lists of all functions, one per variant.
    ::llvm::SmallVector<CommandListOp> getMains();
    /// Returns the lists of a function, one per variant.
    ::llvm::SmallVector<CommandListOp> getMains(::llvm::StringRef function);
  }];
}

def Plan_KernelOp : Plan_Op<"kernel", [
    Symbol, IsolatedFromAbove, NoTerminator, SingleBlock,
    HasParent<"TargetOp">]> {
  let summary = "A generated kernel: one nn.fusion, shared by its launches.";
  let description = [{
    The block's arguments are the fusion's inputs. The kernel's parameters are a
    pointer per input, then per output, then the `tensor_maps`, then the numbers
    `scalars`. Code generation sets all attributes.

    CUDA (by `emit-kernels`): `source` is the text, and `module` the number of
    the module that it is compiled in. Kernels with the same text share one: all
    but the first have its name as `symbol`, and no source; `symbol` is also the
    name of a user's kernel, which `preludes` define. `grid` and `block` are the
    launch configuration, `shared_bytes` the dynamic shared memory. With
    `waits`, the kernel may be launched before the preceding ones end, since
    each block waits for them (PDL).

    CPU: `grid[0]` is the number of independent work items. A call over some of
    them has `workspace_bytes` of scratch memory of its own, and at most
    `workspaces` calls run concurrently.

    If the fusion has an attribute `plan.batch`, a launch takes that many sets of
    arguments and computes the fusion of each: all inputs of the first set, of
    the second and so on, then the outputs in the same order.

    For reports: `flops` counts the multiplications and additions of its
    contractions, `skipped` the bytes of its inputs that it never reads because
    it gathers or slices.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
      OptionalAttr<Plan_Counts>:$grid, OptionalAttr<Plan_Counts>:$block,
      OptionalAttr<Plan_Count>:$shared_bytes, OptionalAttr<Plan_Count>:$module,
      OptionalAttr<StrAttr>:$symbol, OptionalAttr<DenseI64ArrayAttr>:$scalars,
      OptionalAttr<TypedArrayAttrBase<Plan_TensorMapAttr,
          "tensor map array">>:$tensor_maps,
      UnitAttr:$waits, OptionalAttr<Plan_Count>:$flops,
      OptionalAttr<Plan_Count>:$skipped,
      OptionalAttr<Plan_Count>:$workspace_bytes,
      OptionalAttr<Plan_Positive>:$workspaces,
      OptionalAttr<Plan_SourceAttr>:$source);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Returns the nn.fusion that it computes.
    ::mlir::Operation *getFusion() { return &getBody().front().front(); }
    /// Returns the sets of arguments of a launch.
    int64_t getBatch() { return batchOf(getFusion()); }
    /// Returns the bytes of the workspaces of a launch.
    int64_t getLaunchWorkspaceBytes() {
      return getWorkspaceBytes().value_or(0) * getWorkspaces().value_or(1);
    }
  }];
}

def Plan_CommandListOp : Plan_Op<"command_list", [
    Symbol, NoTerminator, SingleBlock, HasParent<"TargetOp">]> {
  let summary = "A list of steps in the order they run.";
  let description = [{
    A step starts when the steps that it follows have ended, and all that these
    follow, directly or not. Its attribute `follows` lists them by number, in
    ascending order: all steps of the list are numbered in the order of the
    text, those in guards too. Without the attribute, a step follows the step
    before it in its block; the first step in a guard follows the guard, and the
    first step of the list follows none.

    To follow a guard from outside is to follow all its steps. A step in a guard
    follows the guard or other steps in it. No step follows a step in a guard
    that it is not in.

    These are all edges there are: the runtime adds none. `order-steps` and
    `fork` write them, and `check-edges` verifies that they order all steps that
    use the same memory. The prepare and derive lists have no `follows`.

    A call of `function` runs the list. The prepare and derive lists have none.

    `input_types` and `output_types` are the types of the model's inputs and
    outputs in this variant. `plan-memory` sets `arena_bytes`, the scratch
    memory of the steps, and `lower_bound`, the peak of live bytes.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
      OptionalAttr<StrAttr>:$function,
      OptionalAttr<TypeArrayAttr>:$input_types,
      OptionalAttr<TypeArrayAttr>:$output_types,
      OptionalAttr<Plan_Count>:$arena_bytes,
      OptionalAttr<Plan_Count>:$lower_bound);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name (`of` $function^)? attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
}

def Plan_ConstantOp : Plan_Op<"constant", [Symbol]> {
  let summary = "A weight of the model, shared by all functions and targets.";
  let arguments = (ins SymbolNameAttr:$sym_name, ElementsAttr:$value);
  let assemblyFormat = "$sym_name $value attr-dict";
}

def Plan_StateOp : Plan_Op<"state", [
    Symbol, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "Memory that keeps its contents between a context's calls.";
  let description = [{
    Its elements are of one `type`. `members` are the tensors in it that the
    runtime knows by name; they do not overlap, and no two members of a module
    share a name. Elements outside of all members start as zeros and cannot be
    read or written by name.

    All functions share the module's states; each context has its own copy.
    `plan-memory` sets `offset`, in bytes within the state memory. Ranks divide
    a `sharded` state; only launches with `shard_rows` use it.

    `role` is what its members are: the name of a frit_state_role.

    A state that is `derived_from` another has no members. The other determines
    its contents, as the `derive` list computes them. It is stale in a new
    context, after a member of the other has been written by name, and after a
    call that writes the other but not this one; `derive` then runs before the
    next call that uses it.

    ```mlir
    plan.state @params.0 : tensor<4096xf32> [
        #plan.member<name = "fc.weight", offset = 0, type = tensor<64x32xf32>,
                     initial = @fc.weight>,
        #plan.member<name = "fc.bias", offset = 2048, type = tensor<32xf32>>]
    plan.state @params.0.bf16 {derived_from = @params.0} : tensor<4096xbf16> []
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<Plan_Count>:$offset,
      TypeAttrOf<AnyStaticShapeTensor>:$type,
      TypedArrayAttrBase<Plan_MemberAttr, "member array">:$members,
      DefaultValuedStrAttr<StrAttr, "other">:$role, UnitAttr:$sharded, OptionalAttr<FlatSymbolRefAttr>:$derived_from);
  let assemblyFormat = [{
    $sym_name (`at` $offset^)? attr-dict `:` $type $members
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

def Plan_BufferOp : Plan_Op<"buffer", [
    Pure, DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "A buffer in one of the runtime's memories.";
  let description = [{
    `index` numbers inputs and outputs, `symbol` names a constant or a state,
    `offset` is in bytes within the arena or prepared memory. A buffer of a
    state is the whole of it; views are parts of it. A step may read and write
    the same bytes of a state.
  }];
  let arguments = (ins Plan_SpaceAttr:$space, OptionalAttr<Plan_Count>:$index,
      OptionalAttr<StrAttr>:$symbol, OptionalAttr<Plan_Count>:$offset);
  let results = (outs Plan_Buffer:$buffer);
  let assemblyFormat = [{
    $space (`[` $index^ `]`)? ($symbol^)? (`at` $offset^)? attr-dict `:`
    type($buffer)
  }];
  let hasVerifier = 1;
}

def Plan_ViewOp : Plan_Op<"view", [Pure]> {
  let summary = "The bytes of a buffer from `offset` on, as another shape.";
  let arguments = (ins Plan_Buffer:$source,
      DefaultValuedAttr<Plan_Count, "0">:$offset);
  let results = (outs Plan_Buffer:$view);
  let assemblyFormat = [{
    $source (`at` $offset^)? attr-dict `:` type($source) `to` type($view)
  }];
  let hasVerifier = 1;
}

include "dialects/plan/Steps.td"

#endif // FRIT_DIALECTS_PLAN_PLAN_TD
