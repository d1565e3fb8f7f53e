//===- Normalization.td - Softmax and the norms ------------------------------===//

include "dialects/nn/Base.td"

def NN_SoftmaxOp : NN_Composite<"softmax", "Softmax"> {
  let summary = "exp(x) over its sum along an axis.";
  let description = [{
    The row's largest element is subtracted first, so nothing overflows.
  }];
  let since = 13;
  let arguments = (ins NN_FloatTensor:$x,
                   DefaultValuedAttr<SI64Attr, "-1">:$axis);
  let results = (outs NN_FloatTensor:$y);
}

def NN_LogSoftmaxOp : NN_Composite<"log_softmax", "LogSoftmax"> {
  let summary = "Logarithm of the softmax along an axis.";
  let since = 13;
  let arguments = (ins NN_FloatTensor:$x,
                   DefaultValuedAttr<SI64Attr, "-1">:$axis);
  let results = (outs NN_FloatTensor:$y);
}

def NN_LayerNormOp : NN_Composite<"layer_norm", ""> {
  let summary = "Normalises the dimensions from `axis` on, scales and shifts.";
  let description = [{
    Ba, Kiros and Hinton, "Layer Normalization", arXiv:1607.06450. `scale` and
    `bias` have the shape of the normalised dimensions.
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_FloatTensor:$scale,
                   Optional<NN_FloatTensor>:$bias,
                   DefaultValuedAttr<SI64Attr, "-1">:$axis,
                   DefaultValuedAttr<F32Attr, "1e-5f">:$epsilon);
  let results = (outs NN_FloatTensor:$y);
}

def NN_BatchNormOp : NN_Composite<"batch_norm", ""> {
  let summary = "Normalises channels (dimension 1) by given statistics.";
  let description = [{
    Ioffe and Szegedy, "Batch Normalization", arXiv:1502.03167, at inference.
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_FloatTensor:$scale,
                   NN_FloatTensor:$bias, NN_FloatTensor:$mean,
                   NN_FloatTensor:$variance,
                   DefaultValuedAttr<F32Attr, "1e-5f">:$epsilon);
  let results = (outs NN_FloatTensor:$y);
}
