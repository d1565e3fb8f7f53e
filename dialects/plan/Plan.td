//===- Plan.td - The plan dialect: what the runtime executes -----------------===//
//
// A plan is static: buffers at fixed places, steps in order. It is what the
// artifact serialises, printed and read back by frit-opt.
//
//===----------------------------------------------------------------------===//

#ifndef FRIT_PLAN
#define FRIT_PLAN

include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/OpBase.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/Interfaces/SideEffectInterfaces.td"

def Plan_Dialect : Dialect {
  let name = "plan";
  let cppNamespace = "::frit::plan";
  let summary = "What the runtime executes for one target";
  let description = [{
    A `plan.program` holds the kernels of a target and lists of steps:
    `prepare`, run once when a module is loaded, and one that is run per call,
    `main`, or several for models whose shapes are not fixed. Steps name their
    buffers; `plan-memory` gives every arena buffer its offset.
  }];
  let useDefaultAttributePrinterParser = 1;
}

def Plan_Buffer : MemRefOf<[AnyType]>;

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

def Plan_Space : I32EnumAttr<"Space", "which memory a buffer lies in", [
    I32EnumAttrCase<"input", 0>, I32EnumAttrCase<"output", 1>,
    I32EnumAttrCase<"constant", 2>, I32EnumAttrCase<"arena", 3>,
    I32EnumAttrCase<"prepared", 4>]> {
  let cppNamespace = "::frit::plan";
  let genSpecializedAttr = 0;
}
def Plan_SpaceAttr : EnumAttr<Plan_Dialect, Plan_Space, "space">;

def Plan_Activation : I32EnumAttr<"Activation", "what a contraction ends with", [
    I32EnumAttrCase<"none", 0>, I32EnumAttrCase<"relu", 1>,
    I32EnumAttrCase<"gelu_tanh", 2>, I32EnumAttrCase<"gelu", 3>,
    I32EnumAttrCase<"silu", 4>]> {
  let cppNamespace = "::frit::plan";
  let genSpecializedAttr = 0;
}
def Plan_ActivationAttr : EnumAttr<Plan_Dialect, Plan_Activation, "activation">;

def Plan_MapKind : I32EnumAttr<"MapKind", "how a tensor map walks a tensor", [
    I32EnumAttrCase<"tiled", 0>, I32EnumAttrCase<"im2col", 1>]> {
  let cppNamespace = "::frit::plan";
  let genSpecializedAttr = 0;
}

def Plan_TensorMapAttr : AttrDef<Plan_Dialect, "TensorMap"> {
  let mnemonic = "tensor_map";
  let summary = "A descriptor for a kernel's tensor copies.";
  let description = [{
    What the runtime gives cuTensorMapEncodeTiled or cuTensorMapEncodeIm2col,
    innermost dimension first: `dims`, `strides` in bytes for all but the first
    of them, `element_strides`; `box` of a tiled map; the corners `lower` and
    `upper`, `channels` and `pixels` of an im2col one. The tensor starts
    `offset` bytes behind the kernel's pointer parameter `argument`.
  }];
  let parameters = (ins "unsigned":$argument,
      DefaultValuedParameter<"int64_t", "0">:$offset, "::mlir::Type":$type,
      EnumParameter<Plan_MapKind>:$kind, "::mlir::DenseI64ArrayAttr":$dims,
      "::mlir::DenseI64ArrayAttr":$strides,
      OptionalParameter<"::mlir::DenseI64ArrayAttr">:$box,
      "::mlir::DenseI64ArrayAttr":$element_strides,
      DefaultValuedParameter<"int64_t", "0">:$swizzle,
      OptionalParameter<"::mlir::DenseI64ArrayAttr">:$lower,
      OptionalParameter<"::mlir::DenseI64ArrayAttr">:$upper,
      DefaultValuedParameter<"int64_t", "0">:$channels,
      DefaultValuedParameter<"int64_t", "0">:$pixels);
  let assemblyFormat = "`<` struct(params) `>`";
  let genVerifyDecl = 1;
}

def Plan_OperandAttr : AttrDef<Plan_Dialect, "Operand"> {
  let mnemonic = "operand";
  let summary = "Where a tensor of four dimensions lies in an argument.";
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

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

class Plan_Op<string mnemonic, list<Trait> traits = []>
    : Op<Plan_Dialect, mnemonic, traits>;

def Plan_ProgramOp : Plan_Op<"program", [
    Symbol, SymbolTable, IsolatedFromAbove, NoTerminator, SingleBlock]> {
  let summary = "The plan of one target.";
  let description = [{
    `inputs` and `outputs` name the model's, in order. `prepare_bytes` is the
    arena of the prepare list and `prepared_bytes` the memory it fills.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$arch,
      OptionalAttr<ArrayAttr>:$inputs, OptionalAttr<ArrayAttr>:$outputs,
      OptionalAttr<I64Attr>:$prepare_bytes,
      OptionalAttr<I64Attr>:$prepared_bytes);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name $arch attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The list that is run once, or null.
    CommandListOp getPrepare();
    /// The lists that are run per call: one per variant of the model.
    ::llvm::SmallVector<CommandListOp> getMains();
  }];
}

def Plan_KernelOp : Plan_Op<"kernel", [
    Symbol, IsolatedFromAbove, NoTerminator, SingleBlock,
    HasParent<"ProgramOp">]> {
  let summary = "A kernel of our own: one nn.fusion, shared by its launches.";
  let description = [{
    The block's arguments are the fusion's inputs. Its parameters are a pointer
    for each input, then for each output, then a tensor map for each of
    `tensor_maps`, then the numbers `scalars`. Code generation adds those, the
    launch's shape, the number of the `module` of code that has the kernel, and
    its name there, `symbol`, where it shares the text of another kernel. On the
    cpu target `grid[0]` counts independent work items, and a call over some of
    them uses `workspace_bytes` of memory of its own, with up to `workspaces`
    such calls at a time. `waits` says that every
    block waits for the kernels before, so that it may start beside the last of
    them; `flops` counts the multiplications and additions of its contractions,
    `skipped` the bytes of its inputs that it leaves out, of which it gathers or
    slices the others.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
      OptionalAttr<DenseI64ArrayAttr>:$grid,
      OptionalAttr<DenseI64ArrayAttr>:$block,
      OptionalAttr<I64Attr>:$shared_bytes, OptionalAttr<I64Attr>:$module,
      OptionalAttr<StrAttr>:$symbol, OptionalAttr<DenseI64ArrayAttr>:$scalars,
      OptionalAttr<TypedArrayAttrBase<Plan_TensorMapAttr,
          "tensor map array">>:$tensor_maps,
      UnitAttr:$waits, OptionalAttr<I64Attr>:$flops,
      OptionalAttr<I64Attr>:$skipped, OptionalAttr<I64Attr>:$workspace_bytes,
      OptionalAttr<I64Attr>:$workspaces);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// The nn.fusion it computes.
    ::mlir::Operation *getFusion() { return &getBody().front().front(); }
    /// Bytes that a launch needs beside the kernel's inputs and outputs.
    int64_t getLaunchWorkspaceBytes() {
      return getWorkspaceBytes().value_or(0) * getWorkspaces().value_or(1);
    }
  }];
}

def Plan_CommandListOp : Plan_Op<"command_list", [
    Symbol, NoTerminator, SingleBlock, HasParent<"ProgramOp">]> {
  let summary = "Steps in the order they run.";
  let description = [{
    A step starts when all those before it have ended, unless it says which of
    them it `follows`, by their places in the list; then it starts when these
    have ended, and what they follow.

    `input_types` and `output_types` are those of the model's inputs and outputs
    in this variant of it. `arena_bytes` is the scratch memory of the steps,
    `lower_bound` the peak of live bytes that no placement beats; both are set
    by `plan-memory`.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name,
      OptionalAttr<TypeArrayAttr>:$input_types,
      OptionalAttr<TypeArrayAttr>:$output_types,
      OptionalAttr<I64Attr>:$arena_bytes, OptionalAttr<I64Attr>:$lower_bound);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

def Plan_ConstantOp : Plan_Op<"constant", [Symbol]> {
  let summary = "An original weight, shared by the programs of a module.";
  let arguments = (ins SymbolNameAttr:$sym_name, ElementsAttr:$value);
  let assemblyFormat = "$sym_name $value attr-dict";
}

//===----------------------------------------------------------------------===//
// Buffers
//===----------------------------------------------------------------------===//

def Plan_BufferOp : Plan_Op<"buffer", [Pure]> {
  let summary = "A buffer in one of the runtime's memories.";
  let description = [{
    `index` counts inputs and outputs, `symbol` names a constant, `offset` is in
    bytes within the arena or prepared memory.
  }];
  let arguments = (ins Plan_SpaceAttr:$space, OptionalAttr<I64Attr>:$index,
      OptionalAttr<StrAttr>:$symbol, OptionalAttr<I64Attr>:$offset);
  let results = (outs Plan_Buffer:$buffer);
  let assemblyFormat = [{
    $space (`[` $index^ `]`)? ($symbol^)? (`at` $offset^)? attr-dict `:`
    type($buffer)
  }];
  let hasVerifier = 1;
}

def Plan_ViewOp : Plan_Op<"view", [Pure]> {
  let summary = "The bytes of a buffer from `offset` on, as another shape.";
  let arguments = (ins Plan_Buffer:$source, DefaultValuedAttr<I64Attr, "0">:$offset);
  let results = (outs Plan_Buffer:$view);
  let assemblyFormat = [{
    $source (`at` $offset^)? attr-dict `:` type($source) `to` type($view)
  }];
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

class Plan_Step<string mnemonic> : Plan_Op<mnemonic, [
    AttrSizedOperandSegments, ParentOneOf<["CommandListOp", "GuardOp"]>]> {
  let hasVerifier = 1;
}

def Plan_LaunchOp : Plan_Step<"launch"> {
  let summary = "Runs a kernel.";
  let description = [{
    `workspace` is what the kernel needs beside its inputs and outputs;
    `plan-memory` makes it.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel,
      Variadic<Plan_Buffer>:$inputs, Variadic<Plan_Buffer>:$outputs,
      Optional<Plan_Buffer>:$workspace,
      OptionalAttr<DenseI64ArrayAttr>:$follows);
  let assemblyFormat = [{
    $kernel `(` $inputs `)` `->` `(` $outputs `)`
    (`workspace` `(` $workspace^ `:` type($workspace) `)`)? attr-dict `:`
    type($inputs) `->` type($outputs)
  }];
}

class Plan_Contraction<string mnemonic> : Plan_Step<mnemonic> {
  let description = [{
    The fields are those of the struct of the same name in frit/artifact.h.
    `fallback` runs over the same buffers where the library cannot.
    `algorithm` is the one that was the fastest when it was timed.
  }];
  let assemblyFormat = [{
    (`fallback` $fallback^)? `(` $inputs `)` `->` `(` $outputs `)`
    (`workspace` `(` $workspace^ `:` type($workspace) `)`)? attr-dict `:`
    type($inputs) `->` type($outputs)
  }];
  dag operands = (ins OptionalAttr<FlatSymbolRefAttr>:$fallback,
      Variadic<Plan_Buffer>:$inputs, Variadic<Plan_Buffer>:$outputs,
      Optional<Plan_Buffer>:$workspace);
}

def Plan_GemmOp : Plan_Contraction<"gemm"> {
  let summary = "A batched matrix product by cuBLASLt or the host's kernel.";
  let arguments = !con(operands, (ins
      I64Attr:$m, I64Attr:$n, I64Attr:$k, I64Attr:$batch,
      DenseI64ArrayAttr:$ld, DenseI64ArrayAttr:$batch_strides,
      UnitAttr:$transpose_a, UnitAttr:$transpose_b, UnitAttr:$tf32,
      UnitAttr:$bias, UnitAttr:$residual,
      DefaultValuedAttr<Plan_ActivationAttr, "::frit::plan::Activation::none">
          :$activation, OptionalAttr<I64Attr>:$algorithm));
}

def Plan_ConvOp : Plan_Contraction<"conv"> {
  let summary = "A convolution by cuDNN or the host's kernel.";
  let arguments = !con(operands, (ins
      DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$pads,
      DenseI64ArrayAttr:$dilations, I64Attr:$group, UnitAttr:$channels_last,
      UnitAttr:$tf32, UnitAttr:$bias, UnitAttr:$residual,
      DefaultValuedAttr<Plan_ActivationAttr, "::frit::plan::Activation::none">
          :$activation, OptionalAttr<I64Attr>:$algorithm));
}

def Plan_AttentionOp : Plan_Contraction<"attention"> {
  let summary = "Attention by cuDNN.";
  let arguments = !con(operands, (ins
      I64Attr:$batch, I64Attr:$heads, I64Attr:$groups, I64Attr:$queries,
      I64Attr:$keys, I64Attr:$size, I64Attr:$value_size, F32Attr:$scale,
      UnitAttr:$causal, Plan_OperandAttr:$q, Plan_OperandAttr:$k,
      Plan_OperandAttr:$v, OptionalAttr<Plan_OperandAttr>:$mask,
      Plan_OperandAttr:$y, OptionalAttr<I64Attr>:$algorithm));
}

def Plan_CopyOp : Plan_Op<"copy", [ParentOneOf<["CommandListOp", "GuardOp"]>]> {
  let summary = "Copies a buffer's bytes over another's.";
  let arguments = (ins Plan_Buffer:$source, Plan_Buffer:$target);
  let assemblyFormat = [{
    $source `to` $target attr-dict `:` type($source) `to` type($target)
  }];
  let hasVerifier = 1;
}

def Plan_GuardOp : Plan_Op<"guard", [
    NoTerminator, SingleBlock, ParentOneOf<["CommandListOp", "GuardOp"]>]> {
  let summary = "Steps that need not run unless a condition is `when`.";
  let description = [{
    `condition` is one byte that earlier steps, or the caller, have written.
    Otherwise nobody uses what the steps would have written. Memory is planned
    as if they ran.
  }];
  let arguments = (ins Plan_Buffer:$condition, BoolAttr:$when);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $condition `is` $when attr-dict-with-keyword `:` type($condition) $body
  }];
  let hasVerifier = 1;
}

#endif // FRIT_PLAN
