//===- Suppression.td - Candidates that take others out --------------------===//

include "dialects/nn/Base.td"

def NN_KeepBitsOp : NN_Structural<"keep_bits", ""> {
  let summary = "Which bits are kept where each that is takes others out.";
  let description = [{
    `bits` has rows of up to 64 candidates; `takes_out` has for each of them,
    along its last dimension, the bits that it takes out if it is kept. From the
    lowest on, a bit is kept that is set and that none before it has taken out.
    What NonMaxSuppression decides one box after another.
  }];
  let arguments = (ins RankedTensorOf<[I64]>:$bits,
                   RankedTensorOf<[I64]>:$takes_out);
  let results = (outs RankedTensorOf<[I64]>:$kept);
}
