//===- Random.td - Random numbers --------------------------------------------===//

include "dialects/nn/Base.td"

def NN_RandomUniformOp : NN_Structural<"random_uniform", ""> {
  let summary = "Uniform random numbers in [0, 1), a function of the arguments.";
  let description = [{
    Philox4x32-10 (Salmon et al., "Parallel Random Numbers: As Easy as 1, 2, 3",
    SC'11). Element i, in row-major order, is the upper 24 bits of word i mod 4
    of block i / 4. The key is `seed`. The counter is, from its low word on, the
    number of the block (48 bits), `stream` (16 bits) and `offset` (64 bits): a
    graph gives each of its generators a `stream`, and each call an `offset`.
  }];
  let arguments = (ins 0DTensorOf<[I64]>:$seed, 0DTensorOf<[I64]>:$offset,
                   DenseI64ArrayAttr:$shape, I64Attr:$stream);
  let results = (outs RankedTensorOf<[F32]>:$y);
}

def NN_DropoutOp : NN_Composite<"dropout", ""> {
  let summary = "x; where a model trains, elements are dropped at random.";
  let description = [{
    Srivastava et al., "Dropout: A Simple Way to Prevent Neural Networks from
    Overfitting", JMLR 15, 2014. Compiling a training step replaces it: each
    element is 0 with probability `rate`, and the others are scaled by
    1 / (1 - rate). Elsewhere it is x.
  }];
  let arguments = (ins NN_FloatTensor:$x, F32Attr:$rate);
  let results = (outs NN_FloatTensor:$y);
}
