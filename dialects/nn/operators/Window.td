//===- Window.td - Pooling ---------------------------------------------------===//

include "dialects/nn/Base.td"

class NN_Pool<string mnemonic> : NN_Structural<mnemonic, ""> {
  let results = (outs NN_NumberTensor:$y);
}

def NN_MaxPoolOp : NN_Pool<"max_pool"> {
  let summary = "Maximum of a sliding window over the spatial dimensions.";
  let description = [{
    `x` is n×c×spatial, or with `channels_last` n×spatial×c. Lists have an entry
    per spatial dimension; `pads` has two, all leading pads and then all
    trailing ones. Padding is never the maximum. `shape` is the spatial shape of
    the result; importers derive it from ONNX's ceil_mode.
  }];
  let arguments = (ins NN_NumberTensor:$x, DenseI64ArrayAttr:$window,
                   DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$pads,
                   DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$shape,
                   UnitAttr:$channels_last);
  let differentiable = 1;
}

def NN_AvgPoolOp : NN_Pool<"avg_pool"> {
  let summary = "Mean of a sliding window over the spatial dimensions.";
  let description = [{
    Attributes are those of `max_pool`. With `include_pad`, padding counts as
    zeros; otherwise the mean leaves it out.
  }];
  let arguments = (ins NN_FloatTensor:$x, DenseI64ArrayAttr:$window,
                   DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$pads,
                   DenseI64ArrayAttr:$dilations, DenseI64ArrayAttr:$shape,
                   UnitAttr:$include_pad, UnitAttr:$channels_last);
  let differentiable = 1;
}

def NN_MaxPoolPlacesOp : NN_Structural<"max_pool_places", ""> {
  let summary = "Position of each window's maximum.";
  let description = [{
    `y` is the result of `max_pool` on `x` with the same attributes. A position
    is the row-major index over the spatial dimensions of the first element
    equal to the maximum.
  }];
  let arguments = (ins NN_NumberTensor:$x, NN_NumberTensor:$y,
                   DenseI64ArrayAttr:$window, DenseI64ArrayAttr:$strides,
                   DenseI64ArrayAttr:$pads, DenseI64ArrayAttr:$dilations);
  let results = (outs RankedTensorOf<[I64]>:$places);
  let discrete = 1;
}
