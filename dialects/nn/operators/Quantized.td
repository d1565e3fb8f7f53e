//===- Quantized.td - Tensors of few bits -----------------------------------===//

include "dialects/nn/Base.td"

def NN_DequantizeOp : NN_Composite<"dequantize", ""> {
  let summary = "The matrix that codes of few bits stand for.";
  let description = [{
    Each row of `codes` has the codes of a row of the result, the first in the
    low bits of the first byte. Blocks of columns share a scale, and an offset
    if there are `offsets`; both have a column per block.

        y[i, j] = number(code[i, j]) · scales[i, b] + offsets[i, b]

    in f32, rounded once to the type `to`. `code` says what codes are: `int4`
    is a number plus 8, `int8` plus 128; `e2m1` (4 bits) and `e4m3` (8 bits) are
    floats of the OCP's formats.

    With `tiled`, codes and scales are in the order in which tensor cores read
    them (`Quantized.h`).
  }];
  let arguments = (ins RankedTensorOf<[UI8]>:$codes, NN_FloatTensor:$scales,
                   Optional<NN_FloatTensor>:$offsets, StrAttr:$code,
                   TypeAttr:$to, UnitAttr:$tiled);
  let results = (outs NN_FloatTensor:$y);
  let discrete = 1;
}

def NN_DecompressOp : NN_Composite<"decompress", ""> {
  let summary = "The matrix of which two of four neighbours of a row are kept.";
  let description = [{
    `values` are the kept numbers, in order, and `places` where each is among
    its four neighbours; the others are 0. Values are floats of type `to`, or
    codes of 8 bits, `int8` or `e4m3` as `nn.dequantize` has them, with a scale
    for each row, whose products are rounded once to `to`.

    Both are in the order in which tensor cores read them (`Sparse.h`).
  }];
  let arguments = (ins AnyTypeOf<[NN_FloatTensor,
                                  RankedTensorOf<[UI8]>]>:$values,
                   RankedTensorOf<[UI8]>:$places,
                   Optional<NN_FloatTensor>:$scales,
                   OptionalAttr<StrAttr>:$code, TypeAttr:$to);
  let results = (outs NN_FloatTensor:$y);
  let discrete = 1;
}
