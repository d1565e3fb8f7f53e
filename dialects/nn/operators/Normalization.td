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
  let differentiable = 1;
}

def NN_LogSoftmaxOp : NN_Composite<"log_softmax", "LogSoftmax"> {
  let summary = "Logarithm of the softmax along an axis.";
  let since = 13;
  let arguments = (ins NN_FloatTensor:$x,
                   DefaultValuedAttr<SI64Attr, "-1">:$axis);
  let results = (outs NN_FloatTensor:$y);
  let differentiable = 1;
}

def NN_LayerNormOp : NN_Composite<"layer_norm", ""> {
  let summary = "Normalizes the dimensions from `axis` on, scales and shifts.";
  let description = [{
    Ba, Kiros and Hinton, "Layer Normalization", arXiv:1607.06450. `scale` and
    `bias` have the shape of the normalized dimensions.
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_FloatTensor:$scale,
                   Optional<NN_FloatTensor>:$bias,
                   DefaultValuedAttr<SI64Attr, "-1">:$axis,
                   DefaultValuedAttr<NN_EpsilonAttr, "1e-5f">:$epsilon);
  let results = (outs NN_FloatTensor:$y);
  let differentiable = 1;
}

def NN_RmsNormOp : NN_Composite<"rms_norm", ""> {
  let summary = "Divides by the root mean square from `axis` on, then scales.";
  let description = [{
    Zhang and Sennrich, "Root Mean Square Layer Normalization",
    arXiv:1910.07467. `scale` has the shape of the normalized dimensions.
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_FloatTensor:$scale,
                   DefaultValuedAttr<SI64Attr, "-1">:$axis,
                   DefaultValuedAttr<NN_EpsilonAttr, "1e-5f">:$epsilon);
  let results = (outs NN_FloatTensor:$y);
  let differentiable = 1;
}

def NN_MomentsOp : NN_Composite<"moments", ""> {
  let summary = "Mean and sum of squared deviations of parts of rows.";
  let description = [{
    A part is `width` adjacent elements of the last dimension: x [..., n] gives
    [..., n / width, 2] in f32 (f64 for f64). The epilogue of a matrix product
    can compute them; `normalize` and `normalize_product` merge them.
  }];
  let arguments = (ins NN_FloatTensor:$x, SI64Attr:$width);
  let results = (outs NN_FloatTensor:$y);
}

def NN_MergeMomentsOp : NN_Composite<"merge_moments", ""> {
  let summary = "Moments of rows from the moments of their parts.";
  let description = [{
    [..., parts, 2] gives [..., 1, 2]; each part has `width` elements.
  }];
  let arguments = (ins NN_FloatTensor:$x, SI64Attr:$width);
  let results = (outs NN_FloatTensor:$y);
}

/// Normalization of rows by given moments, those of nn.moments.
class NN_ByMoments<string mnemonic> : NN_Composite<mnemonic, ""> {
  let arguments = (ins NN_FloatTensor:$x, NN_FloatTensor:$moments,
                   NN_FloatTensor:$column, NN_FloatTensor:$offset,
                   SI64Attr:$width, NN_EpsilonAttr:$epsilon);
  let results = (outs NN_FloatTensor:$y);
}

def NN_NormalizeOp : NN_ByMoments<"normalize"> {
  let summary = "(x - mean) · inverse · column + offset, given x's moments.";
  let description = [{
    A layer norm with moments that are already known: `moments` is the result of
    nn.moments, [..., parts, 2] with parts of `width` elements. `mean` is the
    row's mean and `inverse` 1 / sqrt(variance + epsilon). `column` has an
    element per column; `offset` is broadcast, and the result has its element
    type.
  }];
}

def NN_NormalizeProductOp : NN_ByMoments<"normalize_product"> {
  let summary = "(x - mean · column) · inverse + offset.";
  let description = [{
    If x = h · w, `moments` are those of h and `column` has the sums of w's
    columns, the result is the normalized h times w. So the product can start
    before h's moments are known. `mean` and `inverse` are as in `normalize`.
  }];
}

class NN_BatchStatistic<string mnemonic> : NN_Composite<mnemonic, ""> {
  let description = [{
    Taken over all dimensions but that of channels, which is dimension 1, or the
    last with `channels_last`. The result has an element per channel, in f32
    (f64 for f64).
  }];
  let results = (outs NN_FloatTensor:$y);
}
def NN_BatchMeanOp : NN_BatchStatistic<"batch_mean"> {
  let summary = "Mean of each channel.";
  let arguments = (ins NN_FloatTensor:$x, UnitAttr:$channels_last);
}
def NN_BatchVarianceOp : NN_BatchStatistic<"batch_variance"> {
  let summary = "Mean square of each channel's deviations from its mean.";
  let arguments = (ins NN_FloatTensor:$x, NN_FloatTensor:$mean,
                   UnitAttr:$channels_last);
}

def NN_BatchNormOp : NN_Composite<"batch_norm", ""> {
  let summary = "Normalizes channels by given statistics.";
  let description = [{
    Ioffe and Szegedy, "Batch Normalization", arXiv:1502.03167. Channels are
    dimension 1, with `channels_last` the last one. With `batch_statistics` the
    mean and variance are those of x itself, over all dimensions but the
    channels. The gradient with respect to x then includes the terms through
    `mean` and `variance`, and these operands have none.
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_FloatTensor:$scale,
                   NN_FloatTensor:$bias, NN_FloatTensor:$mean,
                   NN_FloatTensor:$variance,
                   DefaultValuedAttr<NN_EpsilonAttr, "1e-5f">:$epsilon,
                   UnitAttr:$batch_statistics, UnitAttr:$channels_last);
  let results = (outs NN_FloatTensor:$y);
  let differentiable = 1;
}
