//===- Gradient.td - Operators of the backward pass -------------------------===//

include "dialects/nn/Base.td"

class NN_ConvGrad<string mnemonic> : NN_Composite<mnemonic, ""> {
  let results = (outs NN_FloatTensor:$y);
}

def NN_ConvGradInputOp : NN_ConvGrad<"conv_grad_input"> {
  let summary = "Gradient of `conv` with respect to x.";
  let description = [{
    `dy` is the gradient with respect to the convolution's result, and `w` are
    its filters. Attributes are those of the convolution; `shape` is the spatial
    shape of x and of the result.
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
    shape of its window.
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
    The scores are those of `attention` on the same operands with the same
    attributes. A fused attention kernel can return the statistics as a second
    result. The result is batch×heads×queries, f32 (f64 for f64): the weights
    are exp(scores - stats). It is +inf for a query whose keys are all masked,
    or NaN if `unguarded`.
  }];
  let arguments = (ins NN_FloatTensor:$q, NN_FloatTensor:$k,
                   Optional<NN_AttentionMask>:$mask,
                   NN_FiniteAttr:$scale, UnitAttr:$causal, UnitAttr:$tf32,
                   UnitAttr:$unguarded);
  let results = (outs NN_FloatTensor:$stats);
}

def NN_AttentionGradOp : NN_Composite<"attention_grad", ""> {
  let summary = "Gradients of `attention` with respect to q, k and v.";
  let description = [{
    `y` and `stats` are the results of `attention` and `attention_stats` on the
    operands of the same names with the same attributes, and `dy` is the
    gradient with respect to y. `v` has the head size of `k`. If there are as
    many queries as keys, the result is batch×queries×(heads + 2·groups)×size:
    at each position the gradients of all heads of q, then of k, then of v, the
    layout of a fused q/k/v projection. Otherwise it is (batch·queries·heads +
    2·batch·keys·groups)×size: all gradients of q, then of k, then of v.

    Ranges in an i32 `mask` are batch×1×(queries + keys)×2: of keys for each
    query, as in `attention`, then of queries for each key.

    Of `y` only its product with `dy` counts: `y` may also be delta, the sum of
    y · dy of each query, which is batch×heads×queries and has the type of
    `stats`. The pass `attention-deltas` computes it for targets that prefer it.
  }];
  let arguments = (ins NN_FloatTensor:$q, NN_FloatTensor:$k, NN_FloatTensor:$v,
                   NN_FloatTensor:$y, NN_FloatTensor:$dy, NN_FloatTensor:$stats,
                   Optional<NN_AttentionMask>:$mask,
                   NN_FiniteAttr:$scale, UnitAttr:$causal, UnitAttr:$tf32,
                   UnitAttr:$unguarded);
  let results = (outs NN_FloatTensor:$dqkv);
}

def NN_GatherGradOp : NN_Composite<"gather_grad", ""> {
  let summary = "Gradient of `gather`: sums slices of dy by their index.";
  let description = [{
    The result has dy's shape, but the dimensions that came from `indices`, from
    `axis` on, are one dimension of `size`. Slice i is the sum of all slices of
    dy whose index is i. Indices are as in `gather`; `axis` is not negative.
    Sums are in f32 for 16-bit floats and in a fixed order. Time is about
    linear: indices are sorted, which makes slices with the same index
    neighbours (`segment_sum`).
  }];
  let arguments = (ins NN_FloatTensor:$dy, NN_IndexTensor:$indices,
                   I64Attr:$size, I64Attr:$axis);
  let results = (outs NN_FloatTensor:$dx);
}

def NN_SegmentSumOp : NN_Composite<"segment_sum", ""> {
  let summary = "Sums of rows by segment.";
  let description = [{
    `x` is count×columns and the result size×columns. Row s of the result is the
    sum of the rows `order[i]` of x over all i with `segments[i]` = s. Both
    lists have count entries; `segments` is ascending. Sums are in f32 for
    16-bit floats and in a fixed order.
  }];
  let arguments = (ins NN_FloatTensor:$x, RankedTensorOf<[I64]>:$order,
                   RankedTensorOf<[I64]>:$segments, I64Attr:$size);
  let results = (outs NN_FloatTensor:$y);
}

def NN_MaxPoolGradOp : NN_Composite<"max_pool_grad", ""> {
  let summary = "Gradient of `max_pool`, added at each window's first maximum.";
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
    `dy` is the gradient with respect to the pool's result. Attributes are those
    of the pool, except that `shape` is the spatial shape of x.
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
    `x` is n×c×spatial and has a number per window. Lists are those of
    `max_pool`, and `shape` is the spatial shape of the result. With `places`,
    the result of `max_pool_places`, a window adds only to the element at that
    position. 16-bit floats are summed in f32.
  }];
  let arguments = (ins NN_FloatTensor:$x,
                   Optional<RankedTensorOf<[I64]>>:$places,
                   DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$strides,
                   DenseI64ArrayAttr:$pads, DenseI64ArrayAttr:$dilations,
                   DenseI64ArrayAttr:$shape);
  let results = (outs NN_FloatTensor:$y);
  let differentiable = 1;
}
