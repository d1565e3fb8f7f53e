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
