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
    query may attend to a key. It is broadcast to batch×heads×queries×keys. With
    `causal`, query i attends to keys 0 to i only. A query whose keys are all
    masked (all scores are -inf) gives zeros.

    If a target keeps the operator whole, scores and sums are f32. `tf32` allows
    the operands of both products to be rounded to TF32.
  }];
  let arguments = (ins NN_FloatTensor:$q, NN_FloatTensor:$k, NN_FloatTensor:$v,
                   Optional<AnyTypeOf<[NN_FloatTensor, NN_BoolTensor]>>:$mask,
                   F32Attr:$scale, UnitAttr:$causal, UnitAttr:$tf32);
  let results = (outs NN_FloatTensor:$y);
  let differentiable = 1;
}
