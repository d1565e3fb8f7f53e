//===- Verify.cpp - Guesses of the next tokens ----------------------------===//
//
//   tokens     5 7 9 4    the token that is known, then guesses
//   likeliest  7 9 3 8    the likeliest token after each
//   wrong      0 0 1 1    the last place is always wrong
//
// The first wrong place is 2: 5, 7 and 9 are kept, and 3 comes next.
//
//===----------------------------------------------------------------------===//

#include "compiler/decoder/Verify.h"

using namespace mlir;
using namespace frit;
using namespace frit::decoder;

Verified decoder::acceptGuesses(nn::NNBuilder &b, Value tokens, Value likeliest,
                                Value count) {
  int64_t batch = nn::shapeOf(tokens)[0], rows = nn::shapeOf(tokens)[1];
  Type i32 = b.getI32Type();
  auto columns = [&](Value x, int64_t first) -> Value {
    return nn::SliceOp::create(b, x, ArrayRef<int64_t>{0, first},
                               ArrayRef<int64_t>{batch, rows - 1},
                               ArrayRef<int64_t>{1, 1});
  };
  Value wrong = b.zeros(RankedTensorType::get({batch, 1}, i32));
  wrong = b.add(wrong, b.scalarLike(wrong, 1));
  if (rows > 1) {
    Value isRight =
        nn::EqualOp::create(b, columns(tokens, 1), columns(likeliest, 0));
    Value place =
        nn::IotaOp::create(b, b.scalarLike(count, 1), b.scalarLike(count, 1),
                           ArrayRef<int64_t>{1, rows - 1}, 1);
    Value counts = nn::LessOp::create(b, place, b.reshape(count, {batch, 1}));
    Value guesses =
        nn::WhereOp::create(b, nn::AndOp::create(b, isRight, counts),
                            b.scalarLike(count, 0), b.scalarLike(count, 1));
    wrong = nn::ConcatOp::create(b, ValueRange{guesses, wrong}, 1);
  }
  Value right = b.cast(nn::ArgMaxOp::create(b, wrong, 1, 1, 0), i32);
  Value next = nn::GatherElementsOp::create(b, likeliest, right, 1);
  Value kept = b.reshape(right, {batch});
  kept = b.add(kept, b.scalarLike(kept, 1));
  Value any = nn::GreaterOp::create(b, count, b.scalarLike(count, 0));
  return {nn::WhereOp::create(b, any, kept, b.scalarLike(kept, 0)), next};
}
