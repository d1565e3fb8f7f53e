//===- Attention.td - Scaled dot-product attention --------------------------===//

include "dialects/nn/Base.td"

def NN_AttentionOp : NN_Composite<"attention", ""> {
  let summary = "softmax(q · kᵀ · scale + mask) · v, head by head.";
  let description = [{
    Vaswani et al., "Attention Is All You Need", arXiv:1706.03762. `q` is
    batch×heads×queries×size, `k` batch×groups×keys×size and `v`
    batch×groups×keys×value size, where each of the groups' keys and values
    serve heads/groups heads in a row (Ainslie et al., arXiv:2305.13245); the
    result is batch×heads×queries×value size. A `mask` of floats is added to the
    scaled scores; one of bools says which of them count. It broadcasts to
    batch×heads×queries×keys. With `causal` query i sees keys 0 to i only. A
    query that sees no key, whose scores are all -inf, gives zeros.
    Scores and their sums are f32 where a target keeps the operator whole.
    `tf32` allows the operands of products, the weights too, to be rounded to
    TF32.
  }];
  let arguments = (ins NN_FloatTensor:$q, NN_FloatTensor:$k, NN_FloatTensor:$v,
                   Optional<AnyTypeOf<[NN_FloatTensor, NN_BoolTensor]>>:$mask,
                   F32Attr:$scale, UnitAttr:$causal, UnitAttr:$tf32);
  let results = (outs NN_FloatTensor:$y);
}
