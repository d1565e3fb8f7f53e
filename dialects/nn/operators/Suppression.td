//===- Suppression.td - Non-maximum suppression -----------------------------===//

include "dialects/nn/Base.td"

def NN_KeepBitsOp : NN_Structural<"keep_bits", ""> {
  let summary = "The candidates that greedy suppression keeps, as bits.";
  let description = [{
    Each element of `bits` is a mask of up to 64 candidates. Element c of the
    last dimension of `takes_out` is the mask of those that candidate c
    suppresses if it is kept. From the lowest bit on, a candidate is kept if its
    bit is set and no kept one before it suppresses it. This is the sequential
    part of NonMaxSuppression.
  }];
  let arguments = (ins RankedTensorOf<[I64]>:$bits,
                   RankedTensorOf<[I64]>:$takes_out);
  let results = (outs RankedTensorOf<[I64]>:$kept);
  let discrete = 1;
}
