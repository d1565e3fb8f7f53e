//===- Suppression.td - Non-maximum suppression -----------------------------===//

include "dialects/nn/Base.td"

def NN_KeepBitsOp : NN_Structural<"keep_bits", ""> {
  let summary = "The candidates that greedy suppression keeps, as bits.";
  let description = [{
    Every element of `bits` has a bit per candidate, up to 64. The last
    dimension of `takes_out` has, per candidate, the bits of those that it
    suppresses if it is kept. Starting with the lowest, a candidate is kept if
    its bit is set and no kept one before it suppresses it. This is the
    sequential part of NonMaxSuppression.
  }];
  let arguments = (ins RankedTensorOf<[I64]>:$bits,
                   RankedTensorOf<[I64]>:$takes_out);
  let results = (outs RankedTensorOf<[I64]>:$kept);
  let discrete = 1;
}
