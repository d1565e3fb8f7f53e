//===- Random.td - Random numbers --------------------------------------------===//

include "dialects/nn/Base.td"

def NN_RandomUniformOp : NN_Structural<"random_uniform", ""> {
  let summary = "Uniform random numbers in [0, 1), the same for the same "
                "arguments.";
  let description = [{
    Philox4x32-10 (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3",
    SC'11). Element i, in row-major order, is the upper 24 bits of word i mod 4
    of block i / 4. The key is `seed`. The counter consists, from its low word
    on, of the block's number (48 bits), `stream` (16 bits) and `offset` (64
    bits). Each generator of a graph has its own `stream`, and each call its own
    `offset`.
  }];
  let arguments = (ins 0DTensorOf<[I64]>:$seed, 0DTensorOf<[I64]>:$offset,
                   DenseI64ArrayAttr:$shape, I64Attr:$stream);
  let results = (outs RankedTensorOf<[F32]>:$y);
}

def NN_DropoutOp : NN_Composite<"dropout", ""> {
  let summary = "Identity; in a training step, drops elements at random.";
  let description = [{
    Srivastava et al., "Dropout: A Simple Way to Prevent Neural Networks from
    Overfitting", JMLR 15, 2014. In a training step, each element is 0 with
    probability `rate`, and the others are scaled by 1 / (1 - rate). With rate 1,
    all are 0.
  }];
  let arguments = (ins NN_FloatTensor:$x, F32Attr:$rate);
  let results = (outs NN_FloatTensor:$y);
}
