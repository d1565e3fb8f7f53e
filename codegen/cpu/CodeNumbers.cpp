//===- CodeNumbers.cpp - Numbers of codes in registers --------------------===//

#include "codegen/cpu/CodeNumbers.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

#include <cmath>
#include <numeric>

using namespace mlir;
using namespace frit;
using namespace frit::cpu;

Value CodeNumbers::splat(VectorType type, int64_t value) {
  return arith::ConstantOp::create(
      b, DenseElementsAttr::get(
             type, b.getIntegerAttr(type.getElementType(), value)));
}

CodeNumbers::Factors CodeNumbers::loadFactors(Value block) {
  auto times = [&](Value x, float number) -> Value {
    return arith::MulFOp::create(b, x, splat(number));
  };
  Value scale = loadInAll(scales, factor, block), offset;
  if (offsets)
    offset = loadInAll(offsets, factor, block);
  if (hasTable())
    return {{}, {}, tableOf(scale, offset)};
  if (code == nn::Code::e2m1)
    scale = times(scale, 0.5f);
  // A code is a number plus this; the product is exact.
  float middle = code == nn::Code::int4 ? 8 : code == nn::Code::int8 ? 128 : 0;
  if (middle && offset)
    offset = arith::SubFOp::create(b, offset, times(scale, middle));
  else if (middle)
    offset = times(scale, -middle);
  return {scale, offset, {}};
}

/// Returns the numbers of all codes of a block.
Value CodeNumbers::tableOf(Value scale, Value offset) {
  static constexpr float kE2m1[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  SmallVector<float> numbers;
  for (int64_t i = 0; i < 16; ++i)
    numbers.push_back(code == nn::Code::int4 ? float(i - 8)
                      : i < 8                ? kE2m1[i]
                                             : -kE2m1[i - 8]);
  Value all = arith::ConstantOp::create(
      b, DenseElementsAttr::get(vectorOf(b.getF32Type()), ArrayRef(numbers)));
  if (offset)
    return mulAdd(all, scale, offset);
  return arith::MulFOp::create(b, all, scale);
}

SmallVector<int32_t> CodeNumbers::halves() {
  SmallVector<int32_t> order;
  for (int32_t i = 0; i < int32_t(lanes) / 2; ++i)
    llvm::append_values(order, i, i + int32_t(lanes) / 2);
  return order;
}

Value CodeNumbers::toHalves(Value vector) { return shuffle(vector, halves()); }

Value CodeNumbers::fromHalves(Value vector) {
  SmallVector<int32_t> order(lanes);
  for (auto [i, from] : llvm::enumerate(halves()))
    order[from] = int32_t(i);
  return shuffle(vector, order);
}

/// Loads a vector of 4-bit codes from a byte on, one in the lowest bits of each
/// lane. A word of 8 codes is copied to 8 lanes and shifted in each by one code
/// more.
Value CodeNumbers::codesOf(Value byte, int64_t vector, Order order) {
  int64_t words = lanes / 8;
  Value packed = LLVM::LoadOp::create(
      b, vectorOf(b.getI32Type(), words),
      address(
          codes, b.getI8Type(),
          arith::AddIOp::create(
              b, byte, arith::ConstantIndexOp::create(b, vector * lanes / 2))),
      /*alignment=*/1);
  SmallVector<int32_t> from, shift;
  for (int32_t i = 0; i < lanes; ++i) {
    int32_t place = order == Order::halves ? halves()[i] : i;
    from.push_back(place / 8);
    shift.push_back(place % 8 * 4);
  }
  return arith::ShRUIOp::create(
      b, shuffle(packed, from),
      arith::ConstantOp::create(
          b,
          DenseElementsAttr::get(vectorOf(b.getI32Type()), ArrayRef(shift))));
}

/// Returns twice the numbers of e2m1 codes, as signed bytes.
Value CodeNumbers::twiceE2m1(Value bytes) {
  auto type = cast<VectorType>(bytes.getType());
  // 0 1 2 3 4 6 8 12: the code itself up to 4.
  Value size = arith::AndIOp::create(b, bytes, splat(type, 7));
  auto select = [&](arith::CmpIPredicate kind, int64_t bound, Value then,
                    Value other) -> Value {
    Value holds = arith::CmpIOp::create(b, kind, size, splat(type, bound));
    return arith::SelectOp::create(b, holds, then, other);
  };
  using enum arith::CmpIPredicate;
  Value large = select(eq, 6, splat(type, 8), splat(type, 12));
  large = select(eq, 5, splat(type, 6), large);
  Value twice = select(slt, 5, size, large);
  Value sign = arith::AndIOp::create(b, bytes, splat(type, 8));
  Value isNegative = arith::CmpIOp::create(b, ne, sign, splat(type, 0));
  return arith::SelectOp::create(
      b, isNegative, arith::SubIOp::create(b, splat(type, 0), twice), twice);
}

/// Returns the numbers of e4m3 codes.
Value CodeNumbers::fromE4m3(Value bytes) {
  VectorType words = vectorOf(b.getI32Type(), lanes);
  VectorType floats = vectorOf(b.getF32Type(), lanes);
  Value bits = arith::ExtUIOp::create(b, words, bytes);
  auto shifted = [&](Value value, int64_t by) -> Value {
    return arith::ShLIOp::create(b, value, splat(words, by));
  };
  Value size = arith::AndIOp::create(b, bits, splat(words, 127));
  // The bias of f32's exponent is 120 more.
  Value normal = arith::BitcastOp::create(
      b, floats,
      arith::AddIOp::create(b, shifted(size, 20), splat(words, 120 << 23)));
  Value small = arith::MulFOp::create(
      b, arith::SIToFPOp::create(b, floats, size), splat(0x1p-9f));
  auto isNormal = arith::CmpIOp::create(b, arith::CmpIPredicate::sgt, size,
                                        splat(words, 7));
  Value number = arith::SelectOp::create(b, isNormal, normal, small);
  auto isNan = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, size,
                                     splat(words, 127));
  number = arith::SelectOp::create(b, isNan, splat(NAN), number);
  Value sign = shifted(arith::AndIOp::create(b, bits, splat(words, 128)), 24);
  Value joined =
      arith::OrIOp::create(b, arith::BitcastOp::create(b, words, number), sign);
  return arith::BitcastOp::create(b, floats, joined);
}

/// Returns the numbers of codes, one per byte, as loadFactors() expects them:
/// codes themselves of integers, and twice the numbers of e2m1.
Value CodeNumbers::numbersOf(Value bytes) {
  if (code == nn::Code::e4m3)
    return fromE4m3(bytes);
  VectorType words = vectorOf(b.getI32Type(), lanes);
  Value integers;
  if (code == nn::Code::e2m1)
    integers = arith::ExtSIOp::create(b, words, twiceE2m1(bytes));
  else
    integers = arith::ExtUIOp::create(b, words, bytes);
  return arith::SIToFPOp::create(b, vectorOf(b.getF32Type(), lanes), integers);
}

/// Returns the bytes' codes, one per byte, in vectors of kStepBytes bytes.
SmallVector<Value, 2> CodeNumbers::unpack(Value bytes) {
  if (nn::bitsOf(code) == 8)
    return {bytes};
  auto packed = cast<VectorType>(bytes.getType());
  Value low = arith::AndIOp::create(b, bytes, splat(packed, 15));
  Value high = arith::ShRUIOp::create(b, bytes, splat(packed, 4));
  SmallVector<Value, 2> parts;
  for (int32_t first : {0, 8}) {
    SmallVector<int32_t> order;
    for (int32_t i = first; i < first + 8; ++i)
      llvm::append_values(order, i, i + int32_t(kStepBytes));
    parts.push_back(LLVM::ShuffleVectorOp::create(b, low, high, order));
  }
  return parts;
}

Value CodeNumbers::scaled(Value number, const Factors &factors) {
  if (factors.offset)
    return mulAdd(number, factors.scale, factors.offset);
  return arith::MulFOp::create(b, number, factors.scale);
}

/// Selects the lanes of a vector of f32 that the lowest bits of i32 name.
static Value selectLanes(ImplicitLocOpBuilder &b, StringRef intrinsic,
                         Value vector, Value lanes) {
  return LLVM::CallIntrinsicOp::create(b, vector.getType(),
                                       b.getStringAttr(intrinsic),
                                       ValueRange{vector, lanes})
      .getResult(0);
}

/// Returns the numbers of codes of 4 bits in the lowest bits of i32.
Value CodeNumbers::numberOf(Value words, const Factors &factors) {
  if (factors.table)
    return selectLanes(b, "llvm.x86.avx512.permvar.sf.512", factors.table,
                       words);
  auto type = cast<VectorType>(words.getType());
  VectorType floats = vectorOf(b.getF32Type());
  Value number;
  if (code == nn::Code::e2m1) {
    static constexpr float kTwice[] = {0, 1, 2, 3, 4, 6, 8, 12};
    Value sizes = arith::ConstantOp::create(
        b, DenseElementsAttr::get(floats, ArrayRef(kTwice)));
    number = selectLanes(b, "llvm.x86.avx2.permps", sizes, words);
    Value sign = arith::ShLIOp::create(
        b, arith::AndIOp::create(b, words, splat(type, 8)), splat(type, 28));
    number = arith::BitcastOp::create(
        b, floats,
        arith::OrIOp::create(b, arith::BitcastOp::create(b, type, number),
                             sign));
  } else {
    number = arith::SIToFPOp::create(
        b, floats, arith::AndIOp::create(b, words, splat(type, 15)));
  }
  return scaled(number, factors);
}

Value CodeNumbers::decodeVector(Value byte, const Factors &factors) {
  Type i8 = b.getI8Type();
  return scaled(
      numbersOf(LLVM::LoadOp::create(b, vectorOf(i8), address(codes, i8, byte),
                                     /*alignment=*/1)),
      factors);
}

SmallVector<Value> CodeNumbers::decode(Value byte, const Factors &factors,
                                       Order order) {
  Type i8 = b.getI8Type();
  if (hasTable() || hasWords()) {
    SmallVector<Value> numbers;
    for (int64_t i = 0; i < 2 * kStepBytes / lanes; ++i)
      numbers.push_back(numberOf(codesOf(byte, i, order), factors));
    return numbers;
  }
  Value packed = LLVM::LoadOp::create(b, vectorOf(i8, kStepBytes),
                                      address(codes, i8, byte),
                                      /*alignment=*/1);
  SmallVector<Value> numbers;
  for (Value bytes : unpack(packed))
    for (int32_t first = 0; first < kStepBytes; first += int32_t(lanes)) {
      SmallVector<int32_t> part(lanes);
      std::iota(part.begin(), part.end(), first);
      Value some = bytes;
      if (lanes < kStepBytes)
        some = LLVM::ShuffleVectorOp::create(b, bytes, bytes, part);
      numbers.push_back(scaled(numbersOf(some), factors));
    }
  return numbers;
}
