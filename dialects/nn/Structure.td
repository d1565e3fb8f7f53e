//===- Structure.td - Constants, views and fusions --------------------------===//

include "dialects/nn/Base.td"
include "mlir/Interfaces/ControlFlowInterfaces.td"
include "mlir/IR/BuiltinAttributeInterfaces.td"

//===----------------------------------------------------------------------===//
// Schedule
//===----------------------------------------------------------------------===//

def NN_Skeleton : I32EnumAttr<"Skeleton", "how a fusion runs", [
    I32EnumAttrCase<"generic", 0>,   // a thread per output element
    I32EnumAttrCase<"map", 1>,       // contiguous elements, vectorised
    I32EnumAttrCase<"row", 2>,       // reductions of rows and what is around
    I32EnumAttrCase<"transpose", 3>, // tiled through shared memory
    I32EnumAttrCase<"gemm", 4>,      // a matmul and its epilogue
    I32EnumAttrCase<"conv", 5>,      // a convolution and its epilogue
    I32EnumAttrCase<"host", 6>,      // a loop nest of the cpu target
    I32EnumAttrCase<"wgmma_gemm", 7>, // gemm by TMA and wgmma (sm_90a)
    I32EnumAttrCase<"wgmma_conv", 8>, // conv by im2col TMA and wgmma (sm_90a)
    I32EnumAttrCase<"attention", 9>, // attention in one pass over the keys
    I32EnumAttrCase<"conv_b2b", 10>, // two convolutions (sm_90a)
    I32EnumAttrCase<"depthwise", 11> // a convolution of each channel by itself
  ]> {
  let cppNamespace = "::frit::nn";
  let genSpecializedAttr = 0;
}

def NN_ScheduleAttr : AttrDef<NN_Dialect, "Schedule"> {
  let mnemonic = "schedule";
  let summary = "The skeleton that runs a fusion and its shape";
  let description = [{
    Set on a fusion before planning. `vector` elements are handled at a time by
    a thread, `threads` threads make a block, and each keeps `per_thread`
    elements of a row in registers. `library` asks for cuBLASLt or cuDNN, with
    the skeleton as the fallback, and `algorithm` for one of its algorithms, by
    the number that the runtime gives it; 0 leaves the choice to the library.

    A contraction's blocks compute `tile_m` × `tile_n` elements from `tile_k`
    steps of the sum at a time, `stages` of which are in shared memory at once.
    `cluster` blocks share what they load, and `split` blocks share the sum of
    one tile.
  }];
  let parameters = (ins EnumParameter<NN_Skeleton>:$skeleton,
      DefaultValuedParameter<"int64_t", "1">:$vector,
      DefaultValuedParameter<"int64_t", "256">:$threads,
      DefaultValuedParameter<"int64_t", "1">:$perThread,
      DefaultValuedParameter<"bool", "false">:$library,
      DefaultValuedParameter<"int64_t", "0">:$tileM,
      DefaultValuedParameter<"int64_t", "0">:$tileN,
      DefaultValuedParameter<"int64_t", "0">:$tileK,
      DefaultValuedParameter<"int64_t", "0">:$stages,
      DefaultValuedParameter<"int64_t", "1">:$cluster,
      DefaultValuedParameter<"int64_t", "1">:$split,
      DefaultValuedParameter<"int64_t", "0">:$algorithm);
  let builders = [
    AttrBuilder<(ins "::frit::nn::Skeleton":$skeleton, "int64_t":$vector,
        "int64_t":$threads, "int64_t":$perThread, "bool":$library), [{
      return $_get($_ctxt, skeleton, vector, threads, perThread, library,
                   /*tileM=*/0, /*tileN=*/0, /*tileK=*/0, /*stages=*/0,
                   /*cluster=*/1, /*split=*/1, /*algorithm=*/0);
    }]>
  ];
  let assemblyFormat = "`<` struct(params) `>`";
  let extraClassDeclaration = [{
    /// The same schedule with another of the library's algorithms.
    ScheduleAttr withAlgorithm(int64_t algorithm) const {
      return get(getContext(), getSkeleton(), getVector(), getThreads(),
                 getPerThread(), getLibrary(), getTileM(), getTileN(),
                 getTileK(), getStages(), getCluster(), getSplit(), algorithm);
    }
  }];
}

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
                   OptionalAttr<NN_ScheduleAttr>:$schedule);
  let results = (outs Variadic<NN_Tensor>:$outputs);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `(` $inputs `)` (`schedule` $schedule^)? attr-dict `:`
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
