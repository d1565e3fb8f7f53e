//===- Reduction.td - Reductions ----------------------------------------------===//

include "dialects/nn/Base.td"

def NN_Combiner : I32EnumAttr<"Combiner", "a reduction's operation", [
    I32EnumAttrCase<"sum", 0>, I32EnumAttrCase<"prod", 1>,
    I32EnumAttrCase<"max", 2>, I32EnumAttrCase<"min", 3>]> {
  let cppNamespace = "::frit::nn";
  let genSpecializedAttr = 0;
}
def NN_CombinerAttr : EnumAttr<NN_Dialect, NN_Combiner, "combiner">;

def NN_ReduceOp : NN_Structural<"reduce", ""> {
  let summary = "Sum, product, maximum or minimum along `axes`, now of size 1.";
  let description = [{
    16-bit floats are reduced in f32. The axes are ascending and not negative.
    An empty sum is 0 and an empty product 1. An empty maximum is the type's
    least value, an empty minimum its greatest: -inf and inf for floats.
  }];
  let arguments = (ins NN_NumberTensor:$x, NN_CombinerAttr:$kind,
                   DenseI64ArrayAttr:$axes);
  let results = (outs NN_NumberTensor:$y);
  let hasFolder = 1;
  let differentiable = 1;
}

def NN_ReduceMeanOp : NN_Composite<"reduce_mean", ""> {
  let summary = "Mean along `axes`, which become size 1.";
  let arguments = (ins NN_NumberTensor:$x, DenseI64ArrayAttr:$axes);
  let results = (outs NN_NumberTensor:$y);
}

class NN_ArgReduce<string mnemonic, string onnx>
    : NN_Composite<mnemonic, onnx> {
  let description = [{
    Of equal elements it is the first, or with `select_last_index = 1` the last.
    NaN counts as the extreme. The dimension stays with size 1 unless
    `keepdims = 0`.
  }];
  let arguments = (ins NN_NumberTensor:$x,
                   DefaultValuedAttr<SI64Attr, "0">:$axis,
                   DefaultValuedAttr<NN_Flag, "1">:$keepdims,
                   DefaultValuedAttr<NN_Flag, "0">:$select_last_index);
  let results = (outs RankedTensorOf<[I64]>:$y);
  let discrete = 1;
}
def NN_ArgMaxOp : NN_ArgReduce<"arg_max", "ArgMax"> {
  let summary = "Index of the largest element along `axis`.";
}
def NN_ArgMinOp : NN_ArgReduce<"arg_min", "ArgMin"> {
  let summary = "Index of the smallest element along `axis`.";
}

class NN_Cumulative<string mnemonic> : NN_Structural<mnemonic, ""> {
  let description = [{
    With `exclusive`, result i leaves out element i. With `reverse`, results
    accumulate from the end. Time is quadratic in the dimension: each result is
    computed from scratch.
  }];
  let arguments = (ins NN_NumberTensor:$x, SI64Attr:$axis,
                   UnitAttr:$exclusive, UnitAttr:$reverse);
  let results = (outs NN_NumberTensor:$y);
}
def NN_CumSumOp : NN_Cumulative<"cum_sum"> {
  let summary = "Running sum along `axis`.";
  let vjp = [{
    {CumSumOp::create(b, dy.value(), getAxis(), getExclusive(),
                      !getReverse())} }];
}
def NN_CumProdOp : NN_Cumulative<"cum_prod"> {
  let summary = "Running product along `axis`.";
  let differentiable = 1;
}
