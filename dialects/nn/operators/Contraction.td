//===- Contraction.td - Matrix products and convolutions -------------------===//

include "dialects/nn/Base.td"

def NN_MatmulOp : NN_Structural<"matmul", "MatMul"> {
  let summary = "Matrix product of the last two dimensions, batched.";
  let description = [{
    Leading dimensions broadcast as in NumPy. A 16-bit product is accumulated
    in f32 and rounded once. With `transpose_a` (`transpose_b`) the last two
    dimensions of `a` (`b`) are stored swapped. `tf32` allows products of f32
    operands to be rounded to TF32.
  }];
  let arguments = (ins NN_NumberTensor:$a, NN_NumberTensor:$b,
                   UnitAttr:$transpose_a, UnitAttr:$transpose_b,
                   UnitAttr:$tf32);
  let results = (outs NN_NumberTensor:$y);
  let differentiable = 1;
}

def NN_ConvOp : NN_Structural<"conv", "Conv"> {
  let summary = "Convolution (cross-correlation) over the spatial dimensions.";
  let description = [{
    `x` is n×c×spatial, `w` k×(c/group)×window, and the result n×k×spatial; with
    `channels_last` n×spatial×c, k×window×(c/group) and n×spatial×k. `bias` has
    k elements of the type of x, or of f32 for 16 bits. `strides` and
    `dilations` have an entry per spatial dimension; `pads` has two, all leading
    pads and then all trailing ones.
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_FloatTensor:$w,
                   Optional<NN_FloatTensor>:$bias,
                   DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$pads,
                   DenseI64ArrayAttr:$dilations,
                   DefaultValuedAttr<I64Attr, "1">:$group,
                   UnitAttr:$channels_last, UnitAttr:$tf32);
  let results = (outs NN_FloatTensor:$y);
  let differentiable = 1;
}

def NN_DepthwiseConvOp : NN_Structural<"depthwise_conv", ""> {
  let summary = "Convolution of every channel with its own filter.";
  let description = [{
    `x` is n×spatial×c, `w` window×c, and the result n×spatial×c. Equals a
    `conv` with `channels_last` and c groups of one channel each, except that
    `w` has the channels last too. Lists are those of `conv`.
  }];
  let arguments = (ins NN_FloatTensor:$x, NN_FloatTensor:$w,
                   DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$pads,
                   DenseI64ArrayAttr:$dilations);
  let results = (outs NN_FloatTensor:$y);
  let differentiable = 1;
}

def NN_QuantizedConvOp
    : NN_Composite<"quantized_conv", "", [AttrSizedOperandSegments]> {
  let summary = "Convolution or matrix product of quantized tensors.";
  let description = [{
    `x` is n×spatial×c, `w` k×window×(c/group) and the result n×spatial×k, with
    at most two spatial dimensions; with none it is the product of an n×c matrix
    by a transposed k×c one. Of bytes, exact in i32:

        s = conv(x - x_zero, w - w_zero) + offset
        v = s · scale + bias, in f32
        y = v,  or with y_zero  clamp(round(v) + y_zero)

    Padding is x_zero. `offset` has k elements, `bias` too; `scale` has one or
    k, and is absent if the result is `s`. Then there are neither `bias` nor
    `y_zero`, whose type is the result's. With `relu`, negative `v` become 0.

    Of floats of 8 bits, in either format, the result is `conv(x, w)`, summed in
    f32. Then there are no other operands, and no `relu`. Lists are those of
    `conv`.
  }];
  let arguments = (ins NN_CodeTensor:$x, NN_CodeTensor:$w,
                   Optional<NN_ByteTensor>:$x_zero,
                   Optional<NN_ByteTensor>:$w_zero,
                   Optional<RankedTensorOf<[I32]>>:$offset,
                   Optional<RankedTensorOf<[F32]>>:$scale,
                   Optional<RankedTensorOf<[F32]>>:$bias,
                   Optional<NN_ByteTensor>:$y_zero,
                   DenseI64ArrayAttr:$strides, DenseI64ArrayAttr:$pads,
                   DenseI64ArrayAttr:$dilations,
                   DefaultValuedAttr<I64Attr, "1">:$group, UnitAttr:$relu);
  let results = (outs NN_NumberTensor:$y);
  let discrete = 1;
}
