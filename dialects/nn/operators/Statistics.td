//===- Statistics.td - Statistics of columns, rows and groups ---------------===//

include "dialects/nn/Base.td"

def NN_ColumnMomentsOp : NN_Composite<"column_moments", ""> {
  let summary = "Mean and sum of squared deviations of parts of columns.";
  let description = [{
    x [..., n] is viewed as rows×n, with all leading dimensions flattened. A
    part is `height` successive rows. The result is [2, rows / height, n] in f32
    (f64 for f64), first the means. The epilogue of a contraction can compute
    them for its result; batch norms of training steps merge them.
  }];
  let arguments = (ins NN_FloatTensor:$x, SI64Attr:$height);
  let results = (outs NN_FloatTensor:$y);
}

def NN_ColumnSumsOp : NN_Composite<"column_sums", ""> {
  let summary = "Sums of parts of columns.";
  let description = [{
    x [..., n] is viewed as rows×n, with all leading dimensions flattened. A
    part is `height` successive rows. The result is [rows / height, n] in f32
    (f64 for f64). The epilogue of a matrix product can compute them for its
    result; gradients of biases sum the parts.
  }];
  let arguments = (ins NN_FloatTensor:$x, SI64Attr:$height);
  let results = (outs NN_FloatTensor:$y);
}

def NN_RowDotsOp : NN_Composite<"row_dots", ""> {
  let summary = "Dot products of parts of rows.";
  let description = [{
    a and b [..., n] are viewed as rows×n, with all leading dimensions
    flattened. A part is `width` neighbours of a row. The result is [rows, n /
    width] in f32 (f64 for f64): the sum of a · b of each part. The epilogue of
    a matrix product can compute them for its result; gradients of attention
    need them for each head.
  }];
  let arguments = (ins NN_FloatTensor:$a, NN_FloatTensor:$b, SI64Attr:$width);
  let results = (outs NN_FloatTensor:$y);
}

class NN_GroupStatistic<string mnemonic> : NN_Composite<mnemonic, ""> {
  let description = [{
    Taken over all positions of a sample and the channels of one group. Channels
    are the last dimension, divided into `groups` of adjacent ones. x [n, ...,
    c] gives [n, groups, 1], in f32 (f64 for f64).
  }];
  let results = (outs NN_FloatTensor:$y);
}
def NN_GroupMeanOp : NN_GroupStatistic<"group_mean"> {
  let summary = "Mean of each sample's groups of channels.";
  let arguments = (ins NN_FloatTensor:$x, SI64Attr:$groups);
}
def NN_GroupVarianceOp : NN_GroupStatistic<"group_variance"> {
  let summary = "Mean square of the deviations from a group's mean.";
  let arguments = (ins NN_FloatTensor:$x, NN_FloatTensor:$mean,
                   SI64Attr:$groups);
}

def NN_GroupNormOp : NN_Composite<"group_norm", ""> {
  let summary = "Normalizes each sample's groups of channels.";
  let description = [{
    Wu and He, "Group Normalization", arXiv:1803.08494. Channels are the last
    dimension, divided into `groups` of adjacent ones; `scale` and `bias` have
    an element per channel. With as many groups as channels this is an instance
    norm.
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_FloatTensor:$scale,
                   NN_FloatTensor:$bias, SI64Attr:$groups,
                   DefaultValuedAttr<NN_EpsilonAttr, "1e-5f">:$epsilon);
  let results = (outs NN_FloatTensor:$y);
  let differentiable = 1;
}

def NN_ConvBatchNormOp : NN_Composite<"conv_batch_norm", ""> {
  let summary = "Batch norm of a pointwise convolution's result.";
  let description = [{
    Channels are last. x [..., c] and w [k, 1, ..., c] give z = conv(x, w) of
    [..., k], which is normalized by its own mean and variance over all
    positions: Ioffe and Szegedy, "Batch Normalization", arXiv:1502.03167. The
    gradient reads x in place of z, which pays if c is much smaller than k. It
    adds up products over all positions in `parts` equal parts.
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_FloatTensor:$w,
                   NN_FloatTensor:$scale, NN_FloatTensor:$bias,
                   DefaultValuedAttr<NN_EpsilonAttr, "1e-5f">:$epsilon,
                   DefaultValuedAttr<SI64Attr, "1">:$parts);
  let results = (outs NN_FloatTensor:$y);
  let differentiable = 1;
}
