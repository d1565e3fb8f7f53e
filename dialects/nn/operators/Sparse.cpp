//===- Sparse.cpp - Matrices of which two of four neighbours are kept -----===//

#include "dialects/nn/operators/Sparse.h"

#include "dialects/nn/Infer.h"

using namespace mlir;
using namespace frit::nn;

int64_t frit::nn::placeOfValue(bool isCode, int64_t row, int64_t column,
                               int64_t kept) {
  int64_t upper = row / 8, lane = row % 8 * 4 + column / 4 % 4;
  int64_t step = column / 32, late = column / 16 % 2;
  if (isCode)
    return (step / 2 * 32 + lane) * 16 + step % 2 * 8 + upper * 4 + late * 2 +
           kept;
  return (step * 32 + lane) * 8 + late * 4 + upper * 2 + kept;
}

int64_t frit::nn::placeOfPlaces(int64_t row, int64_t column) {
  int64_t step = column / 32, late = column / 16 % 2;
  int64_t lane = row % 8 * 4 + step % 2 * 2 + late;
  return (lane * 2 + step / 2) * 4 + row / 8 * 2 + column / 8 % 2;
}

SparseMatrix frit::nn::describeSparse(DecompressOp op) {
  ArrayRef<int64_t> shape = shapeOf(op.getY());
  std::optional<Code> code;
  if (auto name = op.getCode())
    code = codeNamed(*name);
  return {op.getValues(), op.getPlaces(), op.getScales(),
          code,           shape[0],       shape[1]};
}

FailureOr<RankedTensorType> DecompressOp::infer(Adaptor op,
                                                std::optional<Location> loc) {
  auto values = tensorType(op.getValues()), places = tensorType(op.getPlaces());
  if (!values.hasStaticShape() || !places.hasStaticShape())
    return emitOptionalError(loc, "its shapes are not static");
  ArrayRef<int64_t> shape = values.getShape();
  if (shape.size() != 3 || shape[2] != kSparseValues)
    return emitOptionalError(loc, "values have shape ", shapeText(shape),
                             ", which is not rows / 16, columns / 128, ",
                             kSparseValues);
  if (places.getShape() != ArrayRef<int64_t>{shape[0], shape[1], kSparsePlaces})
    return emitOptionalError(loc, "places have shape ",
                             shapeText(places.getShape()), ", not ",
                             shapeText({shape[0], shape[1], kSparsePlaces}));
  int64_t rows = shape[0] * kTileRows;
  bool hasCodes = values.getElementType().isInteger(8);
  if (hasCodes != bool(op.getCode()) || hasCodes != bool(op.getScales()))
    return emitOptionalError(
        loc, "bytes need a code and scales, and numbers have none");
  if (!isa<FloatType>(op.getTo()) || isSmall(op.getTo()))
    return emitOptionalError(loc, "'to' is no float of 16 to 64 bits");
  if (hasCodes) {
    auto code = codeNamed(*op.getCode());
    if (code != Code::int8 && code != Code::e4m3)
      return emitOptionalError(loc, "code '", *op.getCode(),
                               "' is none of int8, e4m3");
    if (shapeOf(op.getScales()) != ArrayRef<int64_t>{rows})
      return emitOptionalError(loc, "scales have shape ",
                               shapeText(shapeOf(op.getScales())), ", not ",
                               rows);
  } else if (values.getElementType() != op.getTo()) {
    return emitOptionalError(loc, "'to' is not the type of the values");
  }
  return makeType(loc, {rows, shape[1] * kSparseColumns}, op.getTo());
}

/// Builds the places of kept numbers: rows × groups × 2 × 1.
static Value placesOf(NNBuilder &b, const SparseMatrix &matrix) {
  int64_t tiles = matrix.rows / kTileRows,
          chunks = matrix.columns / kSparseColumns;
  // Tile, chunk, g, odd step, late, later steps, lower row, byte.
  Value parts = b.reshape(matrix.places, {tiles, chunks, 8, 2, 2, 2, 2, 2});
  Value rows = TransposeOp::create(b, parts, {0, 6, 2, 1, 5, 3, 4, 7});
  Value bytes = b.reshape(rows, {matrix.rows, matrix.columns / 8, 1});
  SmallVector<Value> places;
  for (int bit = 0; bit < 8; bit += 2) {
    Value shifted =
        bit ? Value(BitShiftOp::create(b, bytes, b.scalarLike(bytes, bit),
                                       b.getStringAttr("RIGHT")))
            : bytes;
    places.push_back(
        BitwiseAndOp::create(b, shifted, b.scalarLike(shifted, 3)));
  }
  return b.reshape(ConcatOp::create(b, places, 2),
                   {matrix.rows, matrix.columns / kGroup, kKept, 1});
}

/// Builds the kept numbers likewise, in f32.
static Value keptOf(NNBuilder &b, const SparseMatrix &matrix) {
  int64_t tiles = matrix.rows / kTileRows,
          chunks = matrix.columns / kSparseColumns;
  Value rows;
  if (matrix.code) {
    // Tile, chunk, later steps, g, t, odd step, lower row, late, number.
    Value parts =
        b.reshape(matrix.values, {tiles, chunks, 2, 8, 4, 2, 2, 2, 2});
    rows = TransposeOp::create(b, parts, {0, 6, 3, 1, 2, 5, 7, 4, 8});
  } else {
    // Tile, chunk, step, g, t, late, lower row, number.
    Value parts = b.reshape(matrix.values, {tiles, chunks, 4, 8, 4, 2, 2, 2});
    rows = TransposeOp::create(b, parts, {0, 6, 3, 1, 2, 5, 4, 7});
  }
  Value kept =
      b.reshape(rows, {matrix.rows, matrix.columns / kGroup, kKept, 1});
  if (!matrix.code)
    return b.cast(kept, b.getF32Type());
  Value scales =
      b.reshape(b.cast(matrix.scales, b.getF32Type()), {matrix.rows, 1, 1, 1});
  return b.mul(numbersOfCodes(b, kept, *matrix.code), scales);
}

SmallVector<Value> DecompressOp::decompose(NNBuilder &b) {
  SparseMatrix matrix = describeSparse(*this);
  Value kept = keptOf(b, matrix);
  Value isHere = EqualOp::create(b, b.cast(placesOf(b, matrix), b.getI64Type()),
                                 b.iota({kGroup}, 0));
  Value apart = WhereOp::create(b, isHere, kept, b.scalarLike(kept, 0));
  Value y = b.reshape(b.reduce(apart, Combiner::sum, 2),
                      {matrix.rows, matrix.columns});
  return {b.cast(y, getTo())};
}
