//===- Movement.td - Operators that move elements ----------------------------===//

include "dialects/nn/Base.td"

def NN_TransposeOp : NN_Structural<"transpose", "Transpose"> {
  let summary = "Dimension i of the result is dimension `perm[i]` of x.";
  let arguments = (ins NN_Tensor:$x, DenseI64ArrayAttr:$perm);
  let results = (outs NN_Tensor:$y);
  let hasFolder = 1;
  let hasCanonicalizeMethod = 1;
  let differentiable = 1;
}

def NN_ExpandOp : NN_Structural<"expand", ""> {
  let summary = "Repeats x along dimensions of size 1, up to `shape`.";
  let description = [{
    NumPy's broadcasting: dimensions align from the last.
  }];
  let arguments = (ins NN_Tensor:$x, DenseI64ArrayAttr:$shape);
  let results = (outs NN_Tensor:$y);
  let hasFolder = 1;
  let differentiable = 1;
}

def NN_SliceOp : NN_Structural<"slice", ""> {
  let summary = "In dimension d, `sizes[d]` elements from `starts[d]` on, "
                "`steps[d]` apart.";
  let description = [{
    One entry per dimension; a step may be negative. Importers resolve ONNX's
    open ends and clamping.
  }];
  let arguments = (ins NN_Tensor:$x, DenseI64ArrayAttr:$starts,
                   DenseI64ArrayAttr:$sizes, DenseI64ArrayAttr:$steps);
  let results = (outs NN_Tensor:$y);
  let hasFolder = 1;
  let differentiable = 1;
}

def NN_ConcatOp : NN_Structural<"concat", "Concat"> {
  let summary = "Joins tensors along `axis`.";
  let arguments = (ins Variadic<NN_Tensor>:$xs, SI64Attr:$axis);
  let results = (outs NN_Tensor:$y);
  let hasFolder = 1;
  let differentiable = 1;
}

def NN_PadOp : NN_Structural<"pad", ""> {
  let summary = "Adds `low[d]` elements before and `high[d]` after dimension d.";
  let description = [{
    `mode` is `constant`, which fills with `value` (a rank 0 tensor, or 0
    without it), `edge`, `reflect` or `wrap`. A negative entry crops.
  }];
  let arguments = (ins NN_Tensor:$x, Optional<NN_Tensor>:$value,
                   DenseI64ArrayAttr:$low, DenseI64ArrayAttr:$high,
                   DefaultValuedAttr<StrAttr, "\"constant\"">:$mode);
  let results = (outs NN_Tensor:$y);
  let hasFolder = 1;
  let differentiable = 1;
}

def NN_GatherOp : NN_Structural<"gather", "Gather"> {
  let summary = "Slices of x along `axis`, selected by `indices`.";
  let description = [{
    The result's shape is x's with dimension `axis` replaced by the shape of
    `indices`. Negative indices count from the end; one out of range is
    clamped, so that no input reads outside x.
  }];
  let arguments = (ins NN_Tensor:$x, NN_IndexTensor:$indices,
                   DefaultValuedAttr<SI64Attr, "0">:$axis);
  let results = (outs NN_Tensor:$y);
  let differentiable = 1;
}

def NN_GatherElementsOp : NN_Structural<"gather_elements", "GatherElements"> {
  let summary = "For each entry of `indices`, the element of x at that index "
                "along `axis`.";
  let description = [{
    The result has the shape of `indices`; along the other dimensions an element
    keeps its index. Indices are as in `gather`.
  }];
  let arguments = (ins NN_Tensor:$x, NN_IndexTensor:$indices,
                   DefaultValuedAttr<SI64Attr, "0">:$axis);
  let results = (outs NN_Tensor:$y);
  let differentiable = 1;
}

def NN_IotaOp : NN_Structural<"iota", ""> {
  let summary = "start + i · step along `axis` of a tensor of a given shape.";
  let description = [{
    `start` and `step` are rank 0 tensors of the result's element type.
  }];
  let arguments = (ins NN_NumberTensor:$start, NN_NumberTensor:$step,
                   DenseI64ArrayAttr:$shape, I64Attr:$axis);
  let results = (outs NN_NumberTensor:$y);
  let differentiable = 1;
}

def NN_TriluOp : NN_Structural<"trilu", ""> {
  let summary = "The upper or lower triangle of the last two dimensions.";
  let description = [{
    Keeps elements with column - row >= k (`upper`) or <= k; the rest are 0.
  }];
  let arguments = (ins NN_Tensor:$x, I64Attr:$k, BoolAttr:$upper);
  let results = (outs NN_Tensor:$y);
  let vjp = [{ {TriluOp::create(b, dy.value(), getK(), getUpper())} }];
}
