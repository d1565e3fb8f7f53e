//===- AttentionKeys.cpp - Which keys an attention reads ------------------===//
//
// A range says which keys a query sees, or a mask that hides the others: by
// -inf, or a bool. Of codes, blocks of keys become numbers when their turn
// comes.
//
//===----------------------------------------------------------------------===//

#include "codegen/cpu/attention/AttentionBuilder.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

#include <limits>

using namespace mlir;
using namespace frit;
using namespace frit::cpu;

/// Keys of a block: 16 KiB of usual heads.
static constexpr int64_t kBlockKeys = 64;

Value AttentionBuilder::temporary(int64_t count, Type type) {
  return vector.pointerTo(memref::AllocOp::create(
      b, MemRefType::get({count}, type), b.getI64IntegerAttr(64)));
}

AttentionBuilder::Rows
AttentionBuilder::rowsOf(const Operand &operand, int64_t size,
                         const std::optional<CodedRows> &coded) {
  Value stored = vector.pointerTo(argumentOf(operand.argument));
  Rows rows{operand, size, stored, std::nullopt, {}};
  if (!coded)
    return rows;
  rows.numbers = temporary(kBlockKeys * size, f32);
  rows.scales = coded->scales;
  rows.codes.emplace(b, coded->code, sizes.lanes);
  rows.codes->codes = stored;
  rows.codes->scales = vector.pointerTo(argumentOf(coded->scales.argument));
  rows.codes->factor = f32;
  return rows;
}

/// Returns the place of an operand's first element for a position of a head.
Value AttentionBuilder::place(const Operand &operand, Value batch, Value head,
                              Value position) {
  Value at = mulAdd(batch, operand.strides[0], index(operand.offset));
  at = mulAdd(head, operand.strides[1], at);
  return mulAdd(position, operand.strides[2], at);
}

Value AttentionBuilder::placeOfRow(const Operand &operand, const Item &item,
                                   Value row) {
  Value head = mulAdd(item.group, sizes.sharing, divided(row, info.queries));
  return place(operand, item.batch, head, rest(row, info.queries));
}

Value AttentionBuilder::placeOfKey(const Rows &rows, const Item &item,
                                   Value block, Value key) {
  if (rows.codes)
    return times(minus(key, block), rows.size);
  return place(rows.operand, item.batch, item.group, key);
}

/// Loads the range of a row.
AttentionBuilder::Keys AttentionBuilder::storedRange(const Item &item,
                                                     Value row) {
  Value at = placeOfRow(*info.mask, item, row);
  auto load = [&](int64_t end) -> Value {
    Value place = plus(at, end * info.mask->strides[3]);
    Value one = vector.loadInteger(mask, i32, place);
    one = arith::IndexCastOp::create(b, b.getIndexType(), one);
    return least(most(one, index(0)), index(info.keys));
  };
  return {load(0), load(1)};
}

/// Returns whether keys from a place of the mask on are shown: one, or as many
/// as a vector has lanes.
Value AttentionBuilder::maskAt(Value place, bool isVector) {
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  if (maskForm == MaskForm::shown) {
    Type i8 = b.getI8Type();
    Value byte = isVector ? vector.loadBytes(mask, place)
                          : vector.loadInteger(mask, i8, place);
    Value zero = arith::ConstantOp::create(
        b, cast<TypedAttr>(b.getZeroAttr(byte.getType())));
    return arith::CmpIOp::create(b, arith::CmpIPredicate::ne, byte, zero);
  }
  // NaN is shown.
  Value x = isVector ? vector.loadFloats(mask, f32, place)
                     : vector.loadFloat(mask, f32, place);
  return arith::CmpFOp::create(b, arith::CmpFPredicate::UNE, x,
                               isVector ? vector.splat(kNever)
                                        : number(kNever));
}

/// Returns the keys of a row from the first to the last that a mask shows.
AttentionBuilder::Keys AttentionBuilder::seenByMask(const Item &item,
                                                    Value row) {
  Value at = placeOfRow(*info.mask, item, row);
  int64_t whole = info.keys / sizes.lanes * sizes.lanes;
  Value none = vector.spread(index(info.keys)), zero = vector.spread(index(0));
  SmallVector<Value> ends =
      loop(index(0), index(whole), sizes.lanes, {none, zero},
           [&](Value key, ValueRange known) -> SmallVector<Value> {
             Value shown =
                 maskAt(arith::AddIOp::create(b, at, key), /*isVector=*/true);
             Value first = arith::SelectOp::create(
                 b, shown, vector.placesFrom(key), none);
             Value last = arith::SelectOp::create(
                 b, shown, vector.placesFrom(plus(key, 1)), zero);
             return {least(known[0], first), most(known[1], last)};
           });
  auto toIndex = [&](Value x) -> Value {
    return arith::IndexCastOp::create(b, b.getIndexType(), x);
  };
  ends = {toIndex(LLVM::vector_reduce_smin::create(b, i32, ends[0])),
          toIndex(LLVM::vector_reduce_smax::create(b, i32, ends[1]))};
  ends = loop(index(whole), index(info.keys), 1, ends,
              [&](Value key, ValueRange known) -> SmallVector<Value> {
                Value shown = maskAt(arith::AddIOp::create(b, at, key),
                                     /*isVector=*/false);
                Value first = arith::SelectOp::create(b, shown, key, known[0]);
                Value last =
                    arith::SelectOp::create(b, shown, plus(key, 1), known[1]);
                return {least(known[0], first), last};
              });
  return {ends[0], ends[1]};
}

/// Stores which keys the rows of an item see, if a mask says it.
void AttentionBuilder::storeSeen(const Item &item) {
  if (!seen)
    return;
  loop(item.firstRow, item.lastRow, 1, [&](Value row) {
    Keys keys = seenByMask(item, row);
    Value at = times(minus(row, item.firstRow), 2);
    vector.storeInteger(keys.first, seen, at);
    vector.storeInteger(keys.last, seen, plus(at, 1));
  });
}

AttentionBuilder::Keys AttentionBuilder::keysOf(const Item &item, Value row) {
  if (!seen)
    return storedRange(item, row);
  Value at = times(minus(row, item.firstRow), 2);
  auto load = [&](int64_t end) -> Value {
    return arith::IndexCastOp::create(
        b, b.getIndexType(), vector.loadInteger(seen, i32, plus(at, end)));
  };
  return {load(0), load(1)};
}

/// Returns all keys that a row of the item sees.
AttentionBuilder::Keys AttentionBuilder::keysOf(const Item &item) {
  SmallVector<Value> ends =
      loop(item.firstRow, item.lastRow, 1, {index(info.keys), index(0)},
           [&](Value row, ValueRange known) -> SmallVector<Value> {
             Keys keys = keysOf(item, row);
             Value isEmpty = arith::CmpIOp::create(b, arith::CmpIPredicate::sge,
                                                   keys.first, keys.last);
             Value first =
                 arith::SelectOp::create(b, isEmpty, known[0], keys.first);
             return {least(known[0], first), most(known[1], keys.last)};
           });
  return {ends[0], ends[1]};
}

/// Stores the numbers of keys in a block, if they are codes.
void AttentionBuilder::decodeBlock(const Rows &rows, const Item &item,
                                   Value first, Value last) {
  if (!rows.codes)
    return;
  CodeNumbers codes = *rows.codes;
  loop(first, last, 1, [&](Value key) {
    // Vectors of scores may end behind the last key.
    Value read = least(key, index(info.keys - 1));
    auto factors =
        codes.loadFactors(place(rows.scales, item.batch, item.group, read));
    Value from = place(rows.operand, item.batch, item.group, read);
    Value to = placeOfKey(rows, item, first, key);
    loop(index(0), index(rows.size), sizes.lanes, [&](Value column) {
      Value at = arith::AddIOp::create(b, from, column);
      vector.store(codes.decodeVector(at, factors), rows.numbers, f32,
                   arith::AddIOp::create(b, to, column));
    });
  });
}

/// Builds loops over blocks of keys and, in each, tiles of rows. The last rows
/// of the last tile may repeat the last row.
void AttentionBuilder::forTiles(
    const Item &item, Keys keys, const Rows &read,
    llvm::function_ref<void(Value, Value, ArrayRef<Value>)> body) {
  loop(keys.first, keys.last, kBlockKeys, [&](Value key) {
    Value last = least(plus(key, kBlockKeys), keys.last);
    decodeBlock(read, item, key, last);
    loop(item.firstRow, item.lastRow, sizes.tileRows, [&](Value row) {
      SmallVector<Value> rows;
      for (int64_t i = 0; i < sizes.tileRows; ++i)
        rows.push_back(least(plus(row, i), index(sizes.rows - 1)));
      body(key, last, rows);
    });
  });
}
