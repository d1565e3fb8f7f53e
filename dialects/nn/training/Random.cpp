//===- Random.cpp - Random numbers ----------------------------------------===//

#include "dialects/nn/training/Random.h"

#include "dialects/nn/lowering/Loops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

#include <array>

using namespace mlir;
using namespace frit::nn;

#define GET_OP_CLASSES
#include "dialects/nn/Random.cpp.inc"

FailureOr<RankedTensorType>
RandomUniformOp::infer(Adaptor op, std::optional<Location> loc) {
  constexpr uint64_t streams = 1 << 16;
  if (op.getStream() >= streams)
    return emitOptionalError(loc, "stream ",
                             static_cast<int64_t>(op.getStream()),
                             " is not from 0 to ", streams - 1);
  return makeType(loc, op.getShape(),
                  Float32Type::get(op.getSeed().getContext()));
}

FailureOr<RankedTensorType> DropoutOp::infer(Adaptor op,
                                             std::optional<Location> loc) {
  double rate = op.getRate().convertToDouble();
  if (!(rate >= 0 && rate <= 1))
    return emitOptionalError(loc, "rate ", rate, " is not from 0 to 1");
  return tensorType(op.getX());
}

SmallVector<Value> DropoutOp::decompose(NNBuilder &) { return {getX()}; }

namespace {
/// Builds Philox4x32. Words are i32.
class Philox {
public:
  using Words = std::array<Value, 4>;

  explicit Philox(ImplicitLocOpBuilder &b) : b(b) {}

  /// Returns a word of the i64 `x`: 0 the low one, 1 the high one.
  Value word(Value x, int which) {
    if (which)
      x = arith::ShRUIOp::create(b, x, constant(b.getI64Type(), 32));
    return arith::TruncIOp::create(b, b.getI32Type(), x);
  }

  Words encrypt(Words counter, std::array<Value, 2> key) {
    constexpr int rounds = 10;
    constexpr std::array<uint32_t, 2> bumps = {0x9E3779B9, 0xBB67AE85};
    for (int round = 0; round < rounds; ++round) {
      if (round > 0)
        for (int i = 0; i < 2; ++i)
          key[i] = arith::AddIOp::create(b, key[i],
                                         constant(b.getI32Type(), bumps[i]));
      counter = encryptOnce(counter, key);
    }
    return counter;
  }

private:
  Value constant(Type type, uint32_t value) {
    unsigned bits = type.getIntOrFloatBitWidth();
    return arith::ConstantOp::create(
        b, b.getIntegerAttr(type, APInt(64, value).trunc(bits)));
  }

  Words encryptOnce(Words c, std::array<Value, 2> key) {
    Value first = multiply(c[0], 0xD2511F53);
    Value second = multiply(c[2], 0xCD9E8D57);
    return {mix(word(second, 1), c[1], key[0]), word(second, 0),
            mix(word(first, 1), c[3], key[1]), word(first, 0)};
  }

  /// Builds the 64-bit product of a word and a constant.
  Value multiply(Value x, uint32_t factor) {
    Value wide = arith::ExtUIOp::create(b, b.getI64Type(), x);
    return arith::MulIOp::create(b, wide, constant(b.getI64Type(), factor));
  }

  Value mix(Value x, Value y, Value z) {
    return arith::XOrIOp::create(b, arith::XOrIOp::create(b, x, y), z);
  }

  ImplicitLocOpBuilder &b;
};
} // namespace

/// Returns the row-major number of the loops' element, as i64.
static Value elementNumber(ImplicitLocOpBuilder &b, ArrayRef<int64_t> shape) {
  Value number = indexConstant(b, 0);
  for (auto [dim, size] : llvm::enumerate(shape))
    number = arith::AddIOp::create(b, scaleIndex(b, number, size, 0),
                                   indexOf(b, dim));
  return arith::IndexCastOp::create(b, b.getI64Type(), number);
}

Value RandomUniformOp::buildLinalg(ImplicitLocOpBuilder &b, ValueRange x) {
  auto type = loweredType(getY());
  AffineMap scalar = AffineMap::get(type.getRank(), 0, getContext());
  return buildMap(
      b, type, x, {scalar, scalar},
      [&](ImplicitLocOpBuilder &body, ValueRange e) -> Value {
        Philox philox(body);
        auto integer = [&](Type type, int64_t value) -> Value {
          return arith::ConstantOp::create(body,
                                           body.getIntegerAttr(type, value));
        };
        Type word = body.getI32Type(), wide = body.getI64Type();
        Value number = elementNumber(body, type.getShape());
        Value block = arith::ShRUIOp::create(body, number, integer(wide, 2));
        Value high = arith::OrIOp::create(
            body, block,
            integer(wide, static_cast<int64_t>(getStream() << 48)));
        Philox::Words y =
            philox.encrypt({philox.word(block, 0), philox.word(high, 1),
                            philox.word(e[1], 0), philox.word(e[1], 1)},
                           {philox.word(e[0], 0), philox.word(e[0], 1)});
        Value lane = arith::TruncIOp::create(body, word, number);
        auto bit = [&](int which) -> Value {
          Value mask = integer(word, 1 << which);
          return arith::CmpIOp::create(body, arith::CmpIPredicate::ne,
                                       arith::AndIOp::create(body, lane, mask),
                                       integer(word, 0));
        };
        Value low = arith::SelectOp::create(body, bit(0), y[1], y[0]);
        Value last = arith::SelectOp::create(body, bit(0), y[3], y[2]);
        Value bits = arith::SelectOp::create(body, bit(1), last, low);
        bits = arith::ShRUIOp::create(body, bits, integer(word, 8));
        Value all = arith::SIToFPOp::create(body, body.getF32Type(), bits);
        Value unit =
            arith::ConstantOp::create(body, body.getF32FloatAttr(0x1p-24f));
        return arith::MulFOp::create(body, all, unit);
      });
}
