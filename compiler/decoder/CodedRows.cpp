//===- CodedRows.cpp - Rows of caches in 8 bits ---------------------------===//

#include "compiler/decoder/CodedRows.h"

using namespace mlir;
using namespace frit;
using namespace frit::decoder;

/// The number of the last code, and the least scale, of a row of zeros.
static constexpr double kLastInt8 = 127, kLastE4m3 = 448, kLeastScale = 1e-30;

CodedRows decoder::encodeRows(nn::NNBuilder &b, Value rows, nn::Code code) {
  bool isInteger = code == nn::Code::int8;
  Value x = b.cast(rows, b.getF32Type());
  SmallVector<int64_t> shape(nn::shapeOf(x));
  int64_t last = int64_t(shape.size()) - 1;
  shape.back() = 1;
  Value most = b.reshape(
      b.reduce(nn::AbsOp::create(b, x), nn::Combiner::max, {last}), shape);
  Value scales =
      b.mul(most, b.scalarLike(most, 1 / (isInteger ? kLastInt8 : kLastE4m3)));
  scales = nn::MaxOp::create(b, scales, b.scalarLike(scales, kLeastScale));
  Value units = b.div(x, scales);
  Type u8 = b.getIntegerType(8, /*isSigned=*/false);
  if (!isInteger) {
    units = b.cast(units, Float8E4M3FNType::get(b.getContext()));
    return {nn::BitCastOp::create(b, units, u8), scales};
  }
  units = b.add(nn::RoundOp::create(b, units), b.scalarLike(units, 128));
  return {b.cast(units, u8), scales};
}

Value decoder::decodeRows(nn::NNBuilder &b, const CodedRows &rows,
                          nn::Code code, Type element) {
  Value numbers = rows.codes;
  if (code == nn::Code::int8) {
    numbers = b.cast(numbers, b.getF32Type());
    numbers = b.sub(numbers, b.scalarLike(numbers, 128));
  } else {
    numbers = nn::BitCastOp::create(b, numbers,
                                    Float8E4M3FNType::get(b.getContext()));
    numbers = b.cast(numbers, b.getF32Type());
  }
  return b.cast(b.mul(numbers, rows.scales), element);
}
