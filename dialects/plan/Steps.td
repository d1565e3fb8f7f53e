//===- Steps.td - The steps of a command list -----------------------------===//
//
// Included by Plan.td.
//
//===----------------------------------------------------------------------===//

include "dialects/plan/StepInterface.td"

/// A step of a list or a guard.
class Plan_Step<string mnemonic, list<Trait> traits = []>
    : Plan_Op<mnemonic, [ParentOneOf<["CommandListOp", "GuardOp"]>,
                         DeclareOpInterfaceMethods<Plan_StepOp>] # traits>;

/// A step that all ranks take part in, so that it is in no guard.
class Plan_SharedStep<string mnemonic>
    : Plan_Op<mnemonic, [HasParent<"CommandListOp">,
                         DeclareOpInterfaceMethods<Plan_StepOp>]>;

/// A step that may run a kernel.
class Plan_KernelStep<string mnemonic> : Plan_Step<mnemonic, [
    AttrSizedOperandSegments,
    DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let hasVerifier = 1;
}

def Plan_LaunchOp : Plan_KernelStep<"launch"> {
  let summary = "Runs a kernel.";
  let description = [{
    `workspace` is the scratch memory of the kernel, which `plan-memory`
    allocates. With `shard_rows` a rank runs the kernel on its shard. The kernel
    is elementwise then, and each argument is one number or has `shard_rows`
    rows of 4096 elements.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel,
      Variadic<Plan_Buffer>:$inputs, Variadic<Plan_Buffer>:$outputs,
      Optional<Plan_Buffer>:$workspace,
      OptionalAttr<Plan_Positive>:$shard_rows);
  let builders = [OpBuilder<(ins "::mlir::FlatSymbolRefAttr":$kernel,
      "::mlir::ValueRange":$inputs, "::mlir::ValueRange":$outputs,
      "::mlir::Value":$workspace, "::mlir::DenseI64ArrayAttr":$follows,
      "::mlir::IntegerAttr":$shard_rows), [{
    build($_builder, $_state, kernel, inputs, outputs, workspace, shard_rows);
    if (follows)
      $_state.addAttribute("follows", follows);
  }]>];
  let assemblyFormat = [{
    $kernel `(` $inputs `)` `->` `(` $outputs `)`
    (`workspace` `(` $workspace^ `:` type($workspace) `)`)? attr-dict `:`
    type($inputs) `->` type($outputs)
  }];
}

class Plan_Contraction<string mnemonic> : Plan_KernelStep<mnemonic> {
  let description = [{
    The fields are those of the struct of the same name in frit/artifact.h.
    `fallback` runs on the same buffers if the library declines. `algorithm` is
    the one that tuning found fastest.
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
      Plan_Count:$m, Plan_Count:$n, Plan_Count:$k, Plan_Count:$batch,
      Plan_Counts:$ld, Plan_Counts:$batch_strides,
      UnitAttr:$transpose_a, UnitAttr:$transpose_b, UnitAttr:$tf32,
      UnitAttr:$bias, UnitAttr:$residual,
      DefaultValuedAttr<Plan_ActivationAttr, "::frit::Activation::none">
          :$activation, OptionalAttr<Plan_Count>:$algorithm));
}

def Plan_ConvOp : Plan_Contraction<"conv"> {
  let summary = "A convolution or its gradient by cuDNN or the host's kernel.";
  let description = [{
    The fields are those of the struct of the same name in frit/artifact.h. The
    inputs are x and w; dy and w if `pass` is `grad_input`; x and dy if it is
    `grad_weight`. If the library declines, `fallback` runs on the same buffers;
    without a fallback, opening the model fails.
    `algorithm` is the one that tuning found fastest. If it is `quantized`, the
    inputs are those of nn.quantized_conv; `offset`, `scale` and `y_zero` say
    which of the optional ones there are, beside `bias`.
  }];
  let arguments = !con(operands, (ins
      Plan_Positives:$strides, Plan_Counts:$pads,
      Plan_Positives:$dilations, Plan_Positive:$group, UnitAttr:$channels_last,
      UnitAttr:$tf32, UnitAttr:$bias, UnitAttr:$residual,
      DefaultValuedAttr<Plan_ActivationAttr, "::frit::Activation::none">
          :$activation,
      DefaultValuedAttr<Plan_ConvPassAttr, "::frit::plan::ConvPass::forward">
          :$pass, OptionalAttr<Plan_Count>:$algorithm, UnitAttr:$quantized,
      UnitAttr:$offset, UnitAttr:$scale, UnitAttr:$y_zero));
}

def Plan_AttentionOp : Plan_Contraction<"attention"> {
  let summary = "Attention or its gradient by cuDNN.";
  let description = [{
    The fields are those of the struct of the same name in frit/artifact.h. With
    `dy`, `stats`, `dq`, `dk` and `dv` it is the gradient; `y` is an input then.
    If the library declines, `fallback` runs on the same buffers; without a
    fallback, opening the model fails. `algorithm` is the one that tuning found
    fastest.
  }];
  let arguments = !con(operands, (ins
      Plan_Count:$batch, Plan_Count:$heads, Plan_Count:$groups,
      Plan_Count:$queries, Plan_Count:$keys, Plan_Count:$size,
      Plan_Count:$value_size, Plan_Finite:$scale,
      UnitAttr:$causal, Plan_OperandAttr:$q, Plan_OperandAttr:$k,
      Plan_OperandAttr:$v, OptionalAttr<Plan_OperandAttr>:$mask,
      Plan_OperandAttr:$y, OptionalAttr<Plan_OperandAttr>:$dy,
      OptionalAttr<Plan_OperandAttr>:$stats,
      OptionalAttr<Plan_OperandAttr>:$dq, OptionalAttr<Plan_OperandAttr>:$dk,
      OptionalAttr<Plan_OperandAttr>:$dv, OptionalAttr<Plan_Count>:$algorithm));
  let extraClassDeclaration = [{
    /// Returns whether it computes the gradient.
    bool isGradient() { return bool(getDyAttr()); }
  }];
}

def Plan_CopyOp : Plan_Step<"copy"> {
  let summary = "Copies the bytes of a buffer to another.";
  let arguments = (ins Plan_Buffer:$source, Plan_Buffer:$target);
  let assemblyFormat = [{
    $source `to` $target attr-dict `:` type($source) `to` type($target)
  }];
  let hasVerifier = 1;
}

def Plan_CollectiveOp : Plan_SharedStep<"collective"> {
  let summary = "Begins to replace a buffer by what all ranks compute of it.";
  let description = [{
    `mean` and `sum` replace it by its mean or sum over the ranks;
    `reduce_scatter` replaces the rank's shard by the mean, and the rest by 0;
    `all_gather` replaces the buffer, which may be a state, by the shards of all
    ranks. `order-steps` lets it run concurrently with the steps after it until
    the buffer's `plan.await`; no step between the two uses the buffer. Each
    collective follows the one before it. A context that has joined no group
    leaves the buffer as it is.
  }];
  let arguments = (ins Plan_CollectiveAttr:$kind, Plan_Buffer:$buffer);
  let assemblyFormat = "$kind $buffer attr-dict `:` type($buffer)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Returns what the runtime calls it.
    artifact::Collective getCollective() {
      return artifact::Collective(getKind());
    }
  }];
}

def Plan_AwaitOp : Plan_SharedStep<"await"> {
  let summary = "Waits for the earlier collectives on `buffers`.";
  let description = [{
    It follows these collectives. A context that has joined no group does not
    run them, and drops the await's edges to them. So the await also follows, by
    other edges, the steps that they follow.
  }];
  let arguments = (ins Variadic<Plan_Buffer>:$buffers);
  let assemblyFormat = "$buffers attr-dict `:` type($buffers)";
}

def Plan_GuardOp : Plan_Step<"guard", [NoTerminator, SingleBlock]> {
  let summary = "Steps that are needed only if a condition equals `when`.";
  let description = [{
    `condition` is one byte, written by earlier steps or the caller. If it
    differs from `when`, the steps are skipped if any of them writes state;
    otherwise skipping them is optional, since nothing reads their results.
    Memory is planned as if they ran.
  }];
  let arguments = (ins Plan_Buffer:$condition, BoolAttr:$when);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $condition `is` $when attr-dict-with-keyword `:` type($condition) $body
  }];
  let hasVerifier = 1;
}
