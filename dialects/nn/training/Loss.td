//===- Loss.td - Losses ---------------------------------------------------===//

include "dialects/nn/Base.td"

def NN_CrossEntropyOp : NN_Composite<"cross_entropy", ""> {
  let summary = "-log softmax(x) at each row's label.";
  let description = [{
    `x` is rows×classes, `labels` has a class per row and the result a number
    per row: f32, or f64 for f64. As PyTorch's CrossEntropyLoss with
    `reduction='none'`: a row whose label is `ignore_index` gives 0, and with
    `label_smoothing` s the target is 1 - s at the label plus s / classes
    everywhere (Szegedy et al., "Rethinking the Inception Architecture",
    arXiv:1512.00567). A label outside of 0 … classes - 1 other than
    `ignore_index` gives NaN.
  }];
  let arguments = (ins NN_FloatTensor:$x, RankedTensorOf<[I64]>:$labels,
                   DefaultValuedAttr<SI64Attr, "-100">:$ignore_index,
                   DefaultValuedAttr<F32Attr, "0.0f">:$label_smoothing);
  let results = (outs NN_FloatTensor:$y);
  let vjp = [{
    {CrossEntropyGradOp::create(b, getX(), getLabels(), dy,
                                getIgnoreIndexAttr(), getLabelSmoothingAttr()),
     ::mlir::Value()} }];
}

def NN_CrossEntropyGradOp : NN_Composite<"cross_entropy_grad", ""> {
  let summary = "Gradient of `cross_entropy`: (softmax(x) - target) · dy.";
  let description = [{
    `dy` has a number per row; the result has the shape and type of `x`. Rows
    whose label is `ignore_index` give zeros, and those with another label
    outside of 0 … classes - 1 give NaN.
  }];
  let arguments = (ins NN_FloatTensor:$x, RankedTensorOf<[I64]>:$labels,
                   NN_FloatTensor:$dy,
                   DefaultValuedAttr<SI64Attr, "-100">:$ignore_index,
                   DefaultValuedAttr<F32Attr, "0.0f">:$label_smoothing);
  let results = (outs NN_FloatTensor:$dx);
  let differentiable = 1;
}

def NN_SquaredErrorOp : NN_Elementwise<"squared_error", "",
    [{ (x[0] - x[1]) * (x[0] - x[1]) }], "t[0]"> {
  let summary = "The square of the difference of `x` and `target`.";
  let description = [{
    As PyTorch's MSELoss with `reduction='none'`. One operator, so that with 16
    bits the difference of near numbers is taken in f32.
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_FloatTensor:$target);
  let vjp = [{
    {2.0 * dy * (x[0] - x[1]), -2.0 * dy * (x[0] - x[1])}
  }];
}

// The gradient is (1 - t) · p - t · (1 - p) with p = sigmoid(x): p - t loses
// the digits of a p close to t = 1.
def NN_BceWithLogitsOp : NN_Elementwise<"bce_with_logits", "",
    [{ s.max(x[0], s.constant(0, x[0])) - x[0] * x[1] +
       s.log1p(s.exp(-s.abs(x[0]))) }], "t[0]"> {
  let summary = "-t · log sigmoid(x) - (1 - t) · log(1 - sigmoid(x)).";
  let description = [{
    The binary cross-entropy of logits `x` and targets t in [0, 1]. Stable for
    all x, as PyTorch's BCEWithLogitsLoss with `reduction='none'`.
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_FloatTensor:$target);
  let vjp = [{
    {dy * ((1.0 - x[1]) * sigmoid(x[0]) - x[1] * sigmoid(-x[0])), -dy * x[0]}
  }];
}
