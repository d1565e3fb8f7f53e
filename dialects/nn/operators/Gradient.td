//===- Gradient.td - Operators of the backward pass -------------------------===//

include "dialects/nn/Base.td"

class NN_ConvGrad<string mnemonic> : NN_Composite<mnemonic, ""> {
  let results = (outs NN_FloatTensor:$y);
}

def NN_ConvGradInputOp : NN_ConvGrad<"conv_grad_input"> {
  let summary = "Gradient of `conv` with respect to x.";
  let description = [{
    `dy` is the gradient with respect to the convolution's result and `w` its
    filters; the attributes are the convolution's. `shape` is the spatial shape
    of x and of the result.
  }];
  let arguments = (ins NN_FloatTensor:$dy, NN_FloatTensor:$w,
                   DenseI64ArrayAttr:$shape,
                   DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$pads,
                   DenseI64ArrayAttr:$dilations,
                   DefaultValuedAttr<I64Attr, "1">:$group,
                   UnitAttr:$channels_last, UnitAttr:$tf32);
}

def NN_ConvGradWeightOp : NN_ConvGrad<"conv_grad_weight"> {
  let summary = "Gradient of `conv` with respect to w.";
  let description = [{
    As `conv_grad_input`, but `x` is the convolution's input and `shape` the
    window's.
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_FloatTensor:$dy,
                   DenseI64ArrayAttr:$shape,
                   DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$pads,
                   DenseI64ArrayAttr:$dilations,
                   DefaultValuedAttr<I64Attr, "1">:$group,
                   UnitAttr:$channels_last, UnitAttr:$tf32);
}

def NN_AttentionStatsOp : NN_Composite<"attention_stats", ""> {
  let summary = "Logarithm of the sum of the exponentials of a query's scores.";
  let description = [{
    The scores are those of `attention` with the same operands and attributes,
    whose kernel computes it too. The result is batch×heads×queries, f32 (f64
    for f64): the weights are exp(scores - stats). A query that sees no key has
    +inf.
  }];
  let arguments = (ins NN_FloatTensor:$q, NN_FloatTensor:$k,
                   Optional<AnyTypeOf<[NN_FloatTensor, NN_BoolTensor]>>:$mask,
                   F32Attr:$scale, UnitAttr:$causal, UnitAttr:$tf32);
  let results = (outs NN_FloatTensor:$stats);
}

def NN_AttentionGradOp : NN_Composite<"attention_grad", ""> {
  let summary = "Gradients of `attention` with respect to q, k and v.";
  let description = [{
    `y` and `stats` are the results of `attention` and `attention_stats` on the
    operands of the same names with the same attributes, and `dy` is the
    gradient with respect to y. Values are as long as keys. If there are as many
    queries as keys, the result has a row per position:
    batch×queries×(heads + 2·groups)×size, the gradients of all heads of q, then
    k, then v, as a projection to q, k and v lays them out. Otherwise it has a
    row per head of a position, (batch·queries·heads + 2·batch·keys·groups)×size:
    all gradients of q, then of k, then of v.
  }];
  let arguments = (ins NN_FloatTensor:$q, NN_FloatTensor:$k, NN_FloatTensor:$v,
                   NN_FloatTensor:$y, NN_FloatTensor:$dy, NN_FloatTensor:$stats,
                   Optional<AnyTypeOf<[NN_FloatTensor, NN_BoolTensor]>>:$mask,
                   F32Attr:$scale, UnitAttr:$causal, UnitAttr:$tf32);
  let results = (outs NN_FloatTensor:$dqkv);
}

def NN_GatherGradOp : NN_Composite<"gather_grad", ""> {
  let summary = "Gradient of `gather`: sums slices of dy by their index.";
  let description = [{
    The result is dy with the dimensions of `indices`, which begin at `axis`,
    replaced by one of `size`; slice i is the sum of all slices of dy whose
    index is i. Indices are as in `gather`; `axis` is not negative. Sums are in
    f32 for 16-bit floats and in a fixed order. Time is about linear: indices
    are sorted, and slices with the same index are neighbours (`segment_sum`).
  }];
  let arguments = (ins NN_FloatTensor:$dy, NN_IndexTensor:$indices,
                   I64Attr:$size, I64Attr:$axis);
  let results = (outs NN_FloatTensor:$dx);
}

def NN_SegmentSumOp : NN_Composite<"segment_sum", ""> {
  let summary = "Sums of rows by segment.";
  let description = [{
    Row s of the result, of which there are `size`, is the sum of the rows
    `order[i]` of x, which is count×columns, for all i with `segments[i]` = s.
    `order` and `segments` are lists of count numbers, the rows of x and ascending
    rows of the result. Sums are in f32 for 16-bit floats and in a fixed order.
  }];
  let arguments = (ins NN_FloatTensor:$x, RankedTensorOf<[I64]>:$order,
                   RankedTensorOf<[I64]>:$segments, I64Attr:$size);
  let results = (outs NN_FloatTensor:$y);
}

def NN_MaxPoolGradOp : NN_Composite<"max_pool_grad", ""> {
  let summary = "Gradient of `max_pool`; the first maximum of a window gets it.";
  let description = [{
    `y` is the result of `max_pool` on `x` with the same attributes and `dy` the
    gradient with respect to it.
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_FloatTensor:$y, NN_FloatTensor:$dy,
                   DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$strides,
                   DenseI64ArrayAttr:$pads, DenseI64ArrayAttr:$dilations,
                   UnitAttr:$channels_last);
  let results = (outs NN_FloatTensor:$dx);
}

def NN_AvgPoolGradOp : NN_Composite<"avg_pool_grad", ""> {
  let summary = "Gradient of `avg_pool`.";
  let description = [{
    `dy` is the gradient with respect to the pool's result; the attributes are
    the pool's, but `shape` is the spatial shape of x.
  }];
  let arguments = (ins NN_FloatTensor:$dy,
                   DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$strides,
                   DenseI64ArrayAttr:$pads, DenseI64ArrayAttr:$dilations,
                   DenseI64ArrayAttr:$shape, UnitAttr:$include_pad,
                   UnitAttr:$channels_last);
  let results = (outs NN_FloatTensor:$dx);
}

def NN_SumOverWindowsOp : NN_Structural<"sum_over_windows", ""> {
  let summary = "For each element, the sum over the windows that cover it.";
  let description = [{
    `x` is n×c×spatial and has a number per window; lists are those of
    `max_pool`, and `shape` is the spatial shape of the result. With `places`,
    which `max_pool_places` gives, a window counts only for the element at its
    place. 16-bit floats are summed in f32.
  }];
  let arguments = (ins NN_FloatTensor:$x,
                   Optional<RankedTensorOf<[I64]>>:$places,
                   DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$strides,
                   DenseI64ArrayAttr:$pads, DenseI64ArrayAttr:$dilations,
                   DenseI64ArrayAttr:$shape);
  let results = (outs NN_FloatTensor:$y);
}
