//===- Quantized.cpp - Tensors of few bits --------------------------------===//

#include "dialects/nn/operators/Quantized.h"

#include "dialects/nn/Infer.h"

using namespace mlir;
using namespace frit::nn;

#define GET_OP_CLASSES
#include "dialects/nn/Quantized.cpp.inc"

//===----------------------------------------------------------------------===//
// Codes
//===----------------------------------------------------------------------===//

static constexpr std::pair<StringLiteral, Code> kCodes[] = {
    {"int4", Code::int4},
    {"int8", Code::int8},
    {"e2m1", Code::e2m1},
    {"e4m3", Code::e4m3}};

std::optional<Code> frit::nn::codeNamed(StringRef name) {
  for (const auto &[known, code] : kCodes)
    if (known == name)
      return code;
  return std::nullopt;
}

StringRef frit::nn::nameOf(Code code) {
  for (const auto &[name, known] : kCodes)
    if (known == code)
      return name;
  llvm_unreachable("a code has no name");
}

/// Returns the magnitudes of e2m1 and, after them, the negative numbers.
static DenseElementsAttr e2m1Numbers(MLIRContext *context) {
  const float numbers[] = {0,    0.5f,  1,   1.5f,  2,   3,   4,   6,
                           -0.f, -0.5f, -1., -1.5f, -2., -3., -4., -6.};
  return DenseElementsAttr::get(
      RankedTensorType::get({16}, Float32Type::get(context)),
      ArrayRef(numbers));
}

Value frit::nn::numbersOfCodes(NNBuilder &b, Value codes, Code code) {
  Type f32 = b.getF32Type();
  switch (code) {
  case Code::int4:
  case Code::int8: {
    Value plain = b.cast(codes, f32);
    return b.sub(plain, b.scalarLike(plain, code == Code::int4 ? 8 : 128));
  }
  case Code::e2m1: {
    Value table = ConstantOp::create(b, e2m1Numbers(b.getContext()), nullptr);
    return GatherOp::create(b, table, b.cast(codes, b.getI32Type()), 0);
  }
  case Code::e4m3: {
    Type e4m3 = Float8E4M3FNType::get(b.getContext());
    return b.cast(BitCastOp::create(b, codes, e4m3), f32);
  }
  }
  llvm_unreachable("no such code");
}

/// Builds a code per element of the rows of `codes`.
static Value unpack(NNBuilder &b, Value codes, Code code) {
  if (bitsOf(code) == 8)
    return codes;
  ArrayRef<int64_t> shape = shapeOf(codes);
  int64_t rows = shape[0], bytes = shape[1];
  Value low = BitwiseAndOp::create(b, codes, b.scalarLike(codes, 15));
  Value high = BitShiftOp::create(b, codes, b.scalarLike(codes, 4),
                                  b.getStringAttr("RIGHT"));
  int64_t apart[] = {rows, bytes, 1};
  Value both = ConcatOp::create(
      b, ValueRange{b.reshape(low, apart), b.reshape(high, apart)}, 2);
  return b.reshape(both, {rows, 2 * bytes});
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

Value frit::nn::tileCodes(NNBuilder &b, Value codes) {
  ArrayRef<int64_t> shape = shapeOf(codes);
  int64_t rows = shape[0] / kTileRows, chunks = shape[1] / kTileRowBytes;
  Value parts = b.reshape(codes, {rows, 2, 8, chunks, 2, 4, 4});
  Value moved = TransposeOp::create(b, parts, {0, 3, 2, 5, 1, 4, 6});
  return b.reshape(moved, {rows, chunks, kTileBytes});
}

Value frit::nn::untileCodes(NNBuilder &b, Value tiled) {
  ArrayRef<int64_t> shape = shapeOf(tiled);
  int64_t rows = shape[0], chunks = shape[1];
  Value parts = b.reshape(tiled, {rows, chunks, 8, 4, 2, 2, 4});
  Value moved = TransposeOp::create(b, parts, {0, 4, 2, 1, 5, 3, 6});
  return b.reshape(moved, {rows * kTileRows, chunks * kTileRowBytes});
}

Value frit::nn::tileScales(NNBuilder &b, Value scales) {
  ArrayRef<int64_t> shape = shapeOf(scales);
  int64_t rows = shape[0] / kTileRows, blocks = shape[1];
  Value parts = b.reshape(scales, {rows, 2, 8, blocks});
  Value moved = TransposeOp::create(b, parts, {0, 3, 2, 1});
  return b.reshape(moved, {rows, blocks, kTileRows});
}

Value frit::nn::untileScales(NNBuilder &b, Value tiled) {
  ArrayRef<int64_t> shape = shapeOf(tiled);
  int64_t rows = shape[0], blocks = shape[1];
  Value parts = b.reshape(tiled, {rows, blocks, 8, 2});
  Value moved = TransposeOp::create(b, parts, {0, 3, 2, 1});
  return b.reshape(moved, {rows * kTileRows, blocks});
}

//===----------------------------------------------------------------------===//
// nn.dequantize
//===----------------------------------------------------------------------===//

/// Checks shapes in the order of tiles and returns those of rows.
static FailureOr<SmallVector<int64_t>>
untiledShape(Value tiled, int64_t last, int64_t columns, StringRef name,
             std::optional<Location> loc) {
  ArrayRef<int64_t> shape = shapeOf(tiled);
  if (shape.size() != 3 || shape[2] != last)
    return emitOptionalError(loc, name, " have shape ", shapeText(shape),
                             ", which is not rows / 16, parts, ", last);
  return SmallVector<int64_t>{shape[0] * kTileRows, shape[1] * columns};
}

FailureOr<RankedTensorType> DequantizeOp::infer(Adaptor op,
                                                std::optional<Location> loc) {
  auto code = codeNamed(op.getCode());
  if (!code)
    return emitOptionalError(loc, "code '", op.getCode(),
                             "' is none of int4, int8, e2m1, e4m3");
  if (!isa<FloatType>(op.getTo()) || isSmall(op.getTo()))
    return emitOptionalError(loc, "'to' is no float of 16 to 64 bits");
  SmallVector<int64_t> codes(shapeOf(op.getCodes())),
      scales(shapeOf(op.getScales()));
  if (!tensorType(op.getCodes()).hasStaticShape() ||
      !tensorType(op.getScales()).hasStaticShape())
    return emitOptionalError(loc, "its shapes are not static");
  if (op.getOffsets() &&
      (shapeOf(op.getOffsets()) != ArrayRef(scales) ||
       failed(checkElementTypes(loc, {op.getScales(), op.getOffsets()}))))
    return emitOptionalError(loc, "offsets are not as scales are");
  if (op.getTiled()) {
    auto rows =
        untiledShape(op.getCodes(), kTileBytes, kTileRowBytes, "codes", loc);
    auto blocks = untiledShape(op.getScales(), kTileRows, 1, "scales", loc);
    if (failed(rows) || failed(blocks))
      return failure();
    codes = *rows;
    scales = *blocks;
  }
  if (codes.size() != 2 || scales.size() != 2 || codes[0] != scales[0])
    return emitOptionalError(loc, "codes and scales have shapes ",
                             shapeText(codes), " and ", shapeText(scales),
                             ", not rows of bytes and rows of blocks");
  int64_t columns = codes[1] * 8 / bitsOf(*code);
  if (scales[1] < 1 || columns % scales[1] != 0)
    return emitOptionalError(loc, columns, " columns do not consist of ",
                             scales[1], " blocks");
  return makeType(loc, {codes[0], columns}, op.getTo());
}

QuantizedMatrix frit::nn::describeQuantized(DequantizeOp op) {
  ArrayRef<int64_t> shape = shapeOf(op.getY());
  return {op.getCodes(),
          op.getScales(),
          op.getOffsets(),
          *codeNamed(op.getCode()),
          shape[0],
          shape[1],
          shape[1] / shapeOf(op.getScales())[1]};
}

SmallVector<Value> DequantizeOp::decompose(NNBuilder &b) {
  QuantizedMatrix matrix = describeQuantized(*this);
  if (getTiled()) {
    matrix.codes = untileCodes(b, matrix.codes);
    matrix.scales = untileScales(b, matrix.scales);
    if (matrix.offsets)
      matrix.offsets = untileScales(b, matrix.offsets);
  }
  int64_t blocks = matrix.columns / matrix.block;
  Value y =
      numbersOfCodes(b, unpack(b, matrix.codes, matrix.code), matrix.code);
  y = b.reshape(y, {matrix.rows, blocks, matrix.block});
  auto factor = [&](Value of) {
    return b.reshape(b.cast(of, b.getF32Type()), {matrix.rows, blocks, 1});
  };
  y = b.mul(y, factor(matrix.scales));
  if (matrix.offsets)
    y = b.add(y, factor(matrix.offsets));
  return {b.cast(b.reshape(y, {matrix.rows, matrix.columns}), getTo())};
}
