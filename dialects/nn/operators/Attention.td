//===- Attention.td - Scaled dot-product attention --------------------------===//

include "dialects/nn/Base.td"

def NN_AttentionOp : NN_Composite<"attention", ""> {
  let summary = "softmax(q · kᵀ · scale + mask) · v, head by head.";
  let description = [{
    Vaswani et al., "Attention Is All You Need", arXiv:1706.03762. `q` is
    batch×heads×queries×size, `k` batch×groups×keys×size and `v`
    batch×groups×keys×value size. Each group of keys and values serves
    heads/groups consecutive heads (Ainslie et al., arXiv:2305.13245). The
    result is batch×heads×queries×value size.

    A float `mask` is added to the scaled scores; a bool `mask` is true where a
    query may attend to a key. It is broadcast to batch×heads×queries×keys. An
    i32 `mask` has the ranges of keys that `range_mask` describes: kernels skip
    keys outside them. With `causal`, query i attends to keys 0 to i only;
    ranges exclude it. A query whose keys are all masked (all scores are -inf)
    gives zeros; with `unguarded` it gives NaN, as a softmax of -inf does.
    Finite masks never hide all keys: a query that adds the same large negative
    number to all scores gives the mean of the values. The lowest f16 in a mask
    stands for the lowest f32.

    If a target keeps the operator whole, scores and sums are f32. `tf32` allows
    the operands of both products to be rounded to TF32.
  }];
  let arguments = (ins NN_FloatTensor:$q, NN_FloatTensor:$k, NN_FloatTensor:$v,
                   Optional<NN_AttentionMask>:$mask,
                   NN_FiniteAttr:$scale, UnitAttr:$causal, UnitAttr:$tf32,
                   UnitAttr:$unguarded);
  let results = (outs NN_FloatTensor:$y);
  let differentiable = 1;
}

def NN_RangeMaskOp : NN_Composite<"range_mask", ""> {
  let summary = "Mask of the keys in a range for each query.";
  let description = [{
    `ranges` is batch×1×queries×2, the result batch×1×queries×`keys`: query i
    attends to keys ranges[i, 0] to ranges[i, 1] - 1. Causal masks, sliding
    windows, prefixes and packed sequences have this form. Neither end decreases
    from a query to the next.
  }];
  let arguments = (ins RankedTensorOf<[I32]>:$ranges, NN_Count:$keys);
  let results = (outs NN_BoolTensor:$y);
  let discrete = 1;
}
