//===- Reduction.td - Combining the elements along dimensions ----------------===//

include "dialects/nn/Base.td"

def NN_Combiner : I32EnumAttr<"Combiner", "how a reduction combines", [
    I32EnumAttrCase<"sum", 0>, I32EnumAttrCase<"prod", 1>,
    I32EnumAttrCase<"max", 2>, I32EnumAttrCase<"min", 3>]> {
  let cppNamespace = "::frit::nn";
  let genSpecializedAttr = 0;
}
def NN_CombinerAttr : EnumAttr<NN_Dialect, NN_Combiner, "combiner">;

def NN_ReduceOp : NN_Structural<"reduce", ""> {
  let summary = "Combines the elements along `axes`, which become size 1.";
  let description = [{
    16-bit floats are combined in f32. The axes ascend and are not negative.
    An empty sum is 0, an empty product 1, an empty maximum the type's least.
  }];
  let arguments = (ins NN_NumberTensor:$x, NN_CombinerAttr:$kind,
                   DenseI64ArrayAttr:$axes);
  let results = (outs NN_NumberTensor:$y);
  let hasFolder = 1;
}

def NN_ReduceMeanOp : NN_Composite<"reduce_mean", ""> {
  let summary = "Mean along `axes`, which become size 1.";
  let arguments = (ins NN_NumberTensor:$x, DenseI64ArrayAttr:$axes);
  let results = (outs NN_NumberTensor:$y);
}

class NN_ArgReduce<string mnemonic, string onnx>
    : NN_Composite<mnemonic, onnx> {
  let description = [{
    Of several the first, or with `select_last_index = 1` the last; NaN counts
    as the winner. The dimension stays with size 1 unless `keepdims = 0`.
  }];
  let arguments = (ins NN_NumberTensor:$x,
                   DefaultValuedAttr<SI64Attr, "0">:$axis,
                   DefaultValuedAttr<SI64Attr, "1">:$keepdims,
                   DefaultValuedAttr<SI64Attr, "0">:$select_last_index);
  let results = (outs RankedTensorOf<[I64]>:$y);
}
def NN_ArgMaxOp : NN_ArgReduce<"arg_max", "ArgMax"> {
  let summary = "Where along `axis` the largest element is.";
}
def NN_ArgMinOp : NN_ArgReduce<"arg_min", "ArgMin"> {
  let summary = "Where along `axis` the smallest element is.";
}

class NN_Cumulative<string mnemonic> : NN_Structural<mnemonic, ""> {
  let description = [{
    With `exclusive` an element is not in its own result; with `reverse` they
    run from the end. Takes time quadratic in the dimension, as every result is
    worked out on its own.
  }];
  let arguments = (ins NN_NumberTensor:$x, SI64Attr:$axis,
                   UnitAttr:$exclusive, UnitAttr:$reverse);
  let results = (outs NN_NumberTensor:$y);
}
def NN_CumSumOp : NN_Cumulative<"cum_sum"> {
  let summary = "Sums of all elements up to each along `axis`.";
}
def NN_CumProdOp : NN_Cumulative<"cum_prod"> {
  let summary = "Products of all elements up to each along `axis`.";
}
